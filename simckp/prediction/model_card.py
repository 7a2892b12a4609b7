"""The model card, which the hub shows as the page of a model."""

from collections.abc import Mapping
from importlib import resources
from typing import Any

from huggingface_hub import EvalResult, ModelCardData
from jinja2 import Environment, StrictUndefined

from simckp.language import ENGLISH

_TASK = "text2text-generation"


def model_card(*, parameters: Mapping[str, Any], metrics: Mapping[str, Mapping[str, Any]], seed: str) -> str:
    """Return the text of README.md, with YAML metadata for the hub; the hub is not contacted.

    Args:
        parameters: Sections of ``params.yaml`` by name.
        metrics: Metrics of each evaluated set under the default profile.
        seed: Seed of the networks.
    """
    metadata = ModelCardData(
        language=str(parameters.get("language", ENGLISH)),
        library_name="simckp",
        license="other",
        license_name="see-the-section-licences",
        pipeline_tag=_TASK,
        tags=["keyphrase-extraction", "keyphrase-generation", "contrastive-learning", "simckp"],
        model_name="simckp",
        eval_results=[
            EvalResult(
                task_type=_TASK,
                task_name="Keyphrase prediction",
                dataset_type=name,
                dataset_name=name,
                metric_type="f1",
                metric_name=f"{kind} {figure}",
                metric_value=values[kind][figure],
            )
            for name, values in metrics.items()
            for kind in ("present", "absent")
            for figure in ("F1@5", "F1@M")
        ],
    )
    source = (resources.files("simckp.prediction") / "model_card.md.jinja").read_text(encoding="utf-8")
    # The result is Markdown, not HTML, and only names and numbers of parameters are inserted, so nothing is escaped.
    # ModelCard.from_template is not used because it would leave a missing parameter empty.
    environment = Environment(undefined=StrictUndefined, autoescape=False)  # noqa: S701
    environment.trim_blocks = environment.lstrip_blocks = environment.keep_trailing_newline = True
    template = environment.from_string(source)
    return template.render(card_data=metadata.to_yaml(), parameters=parameters, metrics=metrics, seed=seed)
