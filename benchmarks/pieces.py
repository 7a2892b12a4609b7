"""Measure what dividing a data set among workers costs: ``python -m benchmarks.pieces 1000000 10000000 --engine ray``.

Writes synthetic documents of a few words as a data set, maps them with a function that does next to nothing, and joins
the results, as a stage does. Then it does the same again with every piece finished, as after a kill at the very end.
Prints one JSON object per size: microseconds a row, and the driver's peak memory in MiB.
"""

import argparse
import json
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from simckp.data.datasets import AlignedDatasets, Dataset, ShardFiles
from simckp.data.records import Document
from simckp.execution import Engine, available_cores, map_pieces


def documents(count: int) -> Iterator[Document]:
    """Yield documents of a few words."""
    for number in range(count):
        text = f"Document {number} of many"
        yield Document(id=str(number), title=text, abstract="", text=text, keyphrases=[], set="many")


def upper(rows: list[Any]) -> list[Any]:
    """Do next to nothing."""
    return [row | {"title": row["text"].upper()} for row in rows]


def measure(folder: Path, count: int, backend: Any) -> dict[str, Any]:
    """Write, map and join so many rows, and join them once more."""
    source, target = Dataset(folder / "source", "documents"), Dataset(folder / "target", "documents")
    figures: dict[str, Any] = {"rows": count, "engine": backend}

    def timed(name: str, work: Any) -> None:
        begun = time.perf_counter()
        work()
        figures[name] = round(1e6 * (time.perf_counter() - begun) / count, 2)

    def stage() -> None:
        pieces = map_pieces(
            upper,
            AlignedDatasets((source.resolved(),)),
            files=ShardFiles(target.name),
            piece_rows=1000,
            scratch=folder / "scratch",
            engine=Engine(backend=backend, workers=available_cores()),
        )
        if target.join(pieces, shard_rows=1000) != count:
            raise SystemExit("rows were lost")

    timed("write", lambda: source.write(documents(count), shard_rows=1000))
    timed("map", stage)
    timed("again", stage)
    figures["mebibytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return figures


def main() -> None:
    """Measure each size."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pieces", description=__doc__)
    parser.add_argument("counts", nargs="+", type=int, metavar="ROWS")
    parser.add_argument("--engine", choices=["local", "ray"], default="local")
    options = parser.parse_args()
    for count in options.counts:
        with tempfile.TemporaryDirectory() as folder:
            sys.stdout.write(json.dumps(measure(Path(folder), count, options.engine)) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
