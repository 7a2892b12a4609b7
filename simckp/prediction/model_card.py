"""The page that a model folder shows on a hub."""

from collections.abc import Mapping
from importlib import resources
from typing import Any

from jinja2 import Environment, StrictUndefined


def model_card(*, parameters: Mapping[str, Any], metrics: Mapping[str, Mapping[str, Any]], seed: str) -> str:
    """Return README.md with the hub's YAML metadata.

    Args:
        parameters: All of ``params.yaml``.
        metrics: The default profile's figures of each evaluated set.
        seed: Of the networks.
    """
    source = (resources.files("simckp.prediction") / "model_card.md.jinja").read_text(encoding="utf-8")
    # Markdown, not HTML: what comes in are names and numbers of parameters.
    environment = Environment(undefined=StrictUndefined, autoescape=False)  # noqa: S701
    environment.trim_blocks = environment.lstrip_blocks = environment.keep_trailing_newline = True
    return environment.from_string(source).render(parameters=parameters, metrics=metrics, seed=seed)
