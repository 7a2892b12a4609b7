"""visualise: documents, scores, both models -> t-SNE of a document, its keyphrases and candidates. Argument: seed."""

from dataclasses import asdict, fields

from pipeline.runner import Stage, run
from simckp.data.files import write_csv
from simckp.evaluation.embedding_space import embedding_space, shows_most
from simckp.evaluation.figures import Point, space_figure
from simckp.scoring.networks import Networks
from simckp.thresholds.keyphrases import paired_kinds


def main(seed: str) -> None:
    """Draw one document of the set that the parameter ``report.visualised`` names."""
    with Stage("visualise", seed) as stage:
        name = stage.params.report.visualised
        rows = zip(
            stage.entry.source("documents").read(), paired_kinds(stage.entry.source("scores").read()), strict=True
        )
        row = shows_most(rows)
        points = []
        if row is not None:
            networks = Networks.load(stage.entry.path("models/extractor"), stage.entry.path("models/reranker"))
            points = embedding_space(*row, networks, seed=int(seed))
        write_csv(
            stage.entry.path("plots", ".csv"),
            [field.name for field in fields(Point)],
            [asdict(point) for point in points],
        )
        title = f"{name}: {row[0]['id']}, seed {seed}" if row else f"{name}: no documents"
        image = space_figure(points, title=title)
        stage.entry.path("plots", ".svg").write_text(image.svg, encoding="utf-8")


if __name__ == "__main__":
    run(main)
