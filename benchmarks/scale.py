"""Measure time, memory and disk space per document for growing corpora: ``python -m benchmarks.scale 10000 100000``.

Runs the real stages (ingest, tag, mine) as processes in a separate folder, on synthetic documents, and measures the
memory of each stage with all its workers. ``--stages ingest`` runs only that stage; ``--keep FOLDER`` keeps the data.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import psutil
from ruamel.yaml import YAML

from benchmarks.corpus import SyntheticCorpus

REPOSITORY = Path(__file__).resolve().parent.parent
STAGES = {"ingest": "documents", "tag": "tagged", "mine": "candidates"}
_DISTINCT = 100_000
_SECONDS_BETWEEN_LOOKS = 0.2


def write_corpus(path: Path, count: int) -> None:
    """Write ``count`` documents; after 100,000 the texts repeat, each with a unique word added."""
    corpus = SyntheticCorpus()
    rows = [json.dumps(row) for row in corpus.raw(min(count, _DISTINCT))]
    with path.open("w", encoding="utf-8") as sink:
        for number in range(count):
            row = rows[number % _DISTINCT]
            if number >= _DISTINCT:
                again = json.loads(row)
                again["id"], again["abstract"] = str(number), f"{again['abstract']} Copia{number}."
                row = json.dumps(again)
            sink.write(row + "\n")


def prepare(folder: Path, count: int) -> None:
    """Write the corpus and the parameters of a project with one large set."""
    folder.mkdir(parents=True, exist_ok=True)
    raw = folder / "corpus.jsonl"
    if not raw.exists():
        write_corpus(raw, count)
    yaml = YAML()
    tree = yaml.load((REPOSITORY / "params.yaml").read_text(encoding="utf-8"))
    for name in tree["corpora"]:
        tree["corpora"][name] = {"path": "corpus.jsonl", "files": None}
    with (folder / "params.yaml").open("w", encoding="utf-8") as sink:
        yaml.dump(tree, sink)


def run_stage(folder: Path, stage: str) -> dict[str, Any]:
    """Run a stage and return its seconds, and the peak memory of it and its workers together in MiB."""
    environment = os.environ | {"PYTHONPATH": str(REPOSITORY), "OMP_NUM_THREADS": "1", "DVC_ROOT": str(folder)}
    start = time.perf_counter()
    command = [sys.executable, "-m", f"pipeline.{stage}", "sample"]
    process = subprocess.Popen(command, cwd=folder, env=environment, stderr=subprocess.PIPE, text=True)  # noqa: S603
    peak: list[float] = [0.0]
    watcher = threading.Thread(target=_watch, args=(process.pid, peak), daemon=True)
    watcher.start()
    _, errors = process.communicate()
    if process.returncode:
        raise SystemExit(f"{stage} failed: {errors[-2000:]}")
    return {"seconds": round(time.perf_counter() - start, 1), "mebibytes": round(peak[0])}


def _watch(pid: int, peak: list[float]) -> None:
    while True:
        try:
            family = [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]
            # Proportional set size, which counts memory shared by several processes once.
            used = sum(one.memory_full_info().pss for one in family)
        except psutil.Error:
            if not psutil.pid_exists(pid):
                return
            continue
        peak[0] = max(peak[0], used / 2**20)
        time.sleep(_SECONDS_BETWEEN_LOOKS)


def measure(folder: Path, count: int, stages: list[str]) -> dict[str, Any]:
    """Run the stages on ``count`` documents."""
    prepare(folder, count)
    results: dict[str, Any] = {
        "documents": count,
        "raw_bytes_per_document": (folder / "corpus.jsonl").stat().st_size // count,
    }
    for stage in stages:
        results[stage] = run_stage(folder, stage)
        files = (folder / "data" / STAGES[stage] / "sample").glob("*.parquet")
        results[stage] |= {
            "milliseconds_per_document": round(1e3 * results[stage]["seconds"] / count, 2),
            "bytes_per_document": sum(path.stat().st_size for path in files) // count,
        }
        sys.stderr.write(f"{count} {stage}: {results[stage]}\n")
    return results


def main() -> None:
    """Measure each size and print one JSON object per size."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__)
    parser.add_argument("counts", nargs="+", type=int, metavar="DOCUMENTS")
    parser.add_argument("--stages", nargs="+", choices=list(STAGES), default=list(STAGES))
    parser.add_argument("--keep", type=Path, help="folder for the data; a temporary one by default")
    options = parser.parse_args()
    for count in options.counts:
        with tempfile.TemporaryDirectory() as temporary:
            folder = (options.keep or Path(temporary)) / str(count)
            sys.stdout.write(json.dumps(measure(folder.resolve(), count, options.stages)) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
