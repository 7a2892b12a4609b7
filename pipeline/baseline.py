"""baseline: documents -> scores of an unsupervised extractor. Arguments: baseline, set."""

from functools import partial
from pathlib import Path

from pipeline.runner import Stage, run
from simckp.evaluation.baselines import score_baseline
from simckp.params import TRAIN

DOCUMENTS = Path("data/documents")


def main(name: str, set_name: str) -> None:
    """Score one document set with one baseline."""
    source, training = DOCUMENTS / set_name, DOCUMENTS / TRAIN
    with Stage("baseline", name, set_name, uses=["shard_rows", "tagger.model"], inputs=[source, training]) as stage:
        stage.transform(
            partial(score_baseline, name=name, training=training.resolve(), spacy_model=stage.params.tagger.model),
            [(source, "documents")],
            Path("data/baselines", name, set_name),
            name="scores",
            work="cpu",
        )


if __name__ == "__main__":
    run(main, arguments=2)
