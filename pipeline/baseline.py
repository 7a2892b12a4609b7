"""baseline: documents -> scores of an unsupervised extractor. Arguments: baseline, set."""

from functools import partial

from pipeline.runner import Stage, run
from simckp.evaluation.baselines import score_baseline
from simckp.params import TRAIN


def main(name: str, set_name: str) -> None:
    """Score one document set with one baseline."""
    with Stage("baseline", name, set_name) as stage:
        training = stage.entry.source("documents", TRAIN).folder.resolve()
        stage.transform(
            partial(score_baseline, name=name, training=training, spacy_model=stage.params.tagger.model),
            [stage.entry.source("documents", set_name)],
            stage.entry.target("baselines"),
            work="cpu",
        )


if __name__ == "__main__":
    run(main)
