"""train_extractor: documents, candidates, duplicates -> models/extractor (stage 1). Argument: seed."""

from pipeline import training
from pipeline.runner import Stage, run
from pipeline.sampling import other_ids
from simckp.extraction.training import train_extractor
from simckp.networks.backbones import check_generation


def main(seed: str) -> None:
    """Train the extractor-generator with one seed."""
    training.launch("train_extractor")
    with Stage("train_extractor", seed) as stage:
        params = stage.params
        check_generation(params.extractor.backbone, stage.all_params.generation)
        unused = other_ids(stage, params.extractor.training_documents)
        trained = train_extractor(
            *training.rows(stage, "candidates", without=unused),
            params.extractor,
            training.settings(stage, seed),
            contrastive_weight=params.lambda_,
            max_words=params.mining.max_words,
        )
        training.keep(stage, trained, "extractor")


if __name__ == "__main__":
    run(main)
