"""The entry points of the stages, one module each; ``dvc.yaml`` lists their inputs and outputs."""
