"""visualise: documents, scores, both models -> t-SNE of one document, its keyphrases and candidates. Argument: seed."""

from dataclasses import asdict, fields
from pathlib import Path

from pipeline.layout import space_path
from pipeline.runner import Stage, run, write_csv
from simckp.data import datasets
from simckp.evaluation.embedding_space import embedding_space, shows_most
from simckp.evaluation.figures import Point, space_figure
from simckp.thresholds.keyphrases import paired_kinds


def main(seed: str) -> None:
    """Draw a document of the set that ``report.visualised`` names."""
    uses = ["report.visualised", "extractor.max_source_tokens"]
    uses += ["reranker.max_source_tokens", "reranker.max_phrase_tokens"]
    models = Path("models/extractor", seed), Path("models/reranker", seed)
    with Stage("visualise", seed, uses=uses, inputs=list(models)) as stage:
        params = stage.params
        name = params.report.visualised
        documents = datasets.read_dataset(Path("data/documents", name), name="documents")
        scores = datasets.read_dataset(Path("data/scores", seed, name), name="scores")
        shown = shows_most(zip(documents, paired_kinds(scores), strict=True))
        points = (
            embedding_space(
                *shown,
                folders=models,
                max_tokens=params.extractor.max_source_tokens,
                reranker_max_tokens=params.reranker.max_source_tokens,
                max_phrase_tokens=params.reranker.max_phrase_tokens,
                seed=int(seed),
            )
            if shown
            else []
        )
        table, image = space_path(seed)
        write_csv(table, [field.name for field in fields(Point)], map(asdict, points))
        title = f"{name}: {shown[0]['id']}, seed {seed}" if shown else f"{name}: no documents"
        image.write_text(space_figure(points, title=title).svg, encoding="utf-8")


if __name__ == "__main__":
    run(main, arguments=1)
