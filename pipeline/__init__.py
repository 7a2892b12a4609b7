"""The entry points of the stages, one module each; ``dvc.yaml`` lists their inputs and outputs."""

from simckp.runtime.threads import wait_politely

wait_politely()  # before any stage imports torch
