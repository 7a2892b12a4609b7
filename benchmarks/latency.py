"""Measure how long a user waits: ``python -m benchmarks.latency MODEL DOCUMENTS [--requests 200]``.

One warm predictor, a document at a time; then the running service under many requests at once.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from simckp.data.records import Kind
from simckp.documents.readers import Reading, corpus_files, read_documents
from simckp.prediction.predictor import KeyphrasePredictor
from simckp.runtime.quiet import quiet_transformers

MODES: dict[str, Sequence[Kind]] = {"present": ["present"], "present and absent": ["present", "absent"]}
_AT_ONCE = 32


def percentiles(seconds: list[float]) -> dict[str, float]:
    """Return the median, 95th and 99th percentile and the maximum, in seconds."""
    found = {f"p{rank}": float(np.percentile(seconds, rank)) for rank in (50, 95, 99)}
    return {name: round(value, 4) for name, value in {**found, "max": max(seconds)}.items()}


def one_by_one(model: str, records: list[dict[str, str]]) -> dict[str, Any]:
    """Return what one document takes, of each kind of request; the first one warms up and is not counted."""
    quiet_transformers()
    predictor = KeyphrasePredictor.from_pretrained(model)
    found = {}
    for name, kinds in MODES.items():
        predictor(records[0], kinds=kinds)
        seconds = []
        for record in records:
            begun = time.perf_counter()
            predictor(record, kinds=kinds)
            seconds.append(time.perf_counter() - begun)
        found[name] = percentiles(seconds)
    return found


@contextmanager
def served(model: str, *options: str) -> Iterator[str]:
    """Give the address of a running service."""
    command = [sys.executable, "-m", "simckp.cli", "serve", "--model", model, "--port", "0", *options]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)  # noqa: S603
    try:
        said = next(line for line in process.stderr or () if "running on" in line)
        yield re.findall(r"http://\S+", said)[0]
    finally:
        process.terminate()
        process.communicate()


def under_load(model: str, records: list[dict[str, str]], requests: int) -> dict[str, Any]:
    """Return answers, refusals and times of ``requests`` sent at once, and of as many sent 32 at a time."""
    found = {}
    for name, kinds in MODES.items():
        for at_once in (_AT_ONCE, requests):
            with (
                served(model) as address,
                httpx.Client(timeout=600, limits=httpx.Limits(max_connections=None)) as client,
            ):

                def call(number: int, kinds: Sequence[Kind] = kinds, address: str = address) -> tuple[int, float]:
                    begun = time.perf_counter()
                    body = {**records[number % len(records)], "kinds": kinds}
                    status = client.post(f"{address}/predict", json=body).status_code
                    return status, time.perf_counter() - begun

                call(0)
                begun = time.perf_counter()
                with ThreadPoolExecutor(at_once) as threads:
                    calls = list(threads.map(call, range(requests)))
                wall = time.perf_counter() - begun
            statuses = [status for status, _ in calls]
            answered = [seconds for status, seconds in calls if status == 200]
            found[f"{name}, {requests} requests, {at_once} at once"] = {
                "answered": len(answered),
                "refused_429": statuses.count(429),
                "other": len(calls) - len(answered) - statuses.count(429),
                "answers_per_second": round(len(answered) / wall, 2),
                **percentiles(answered),
            }
    return found


def main() -> None:
    """Print everything as JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.latency", description=__doc__)
    parser.add_argument("model", help="a model folder")
    parser.add_argument("documents", type=Path)
    parser.add_argument("--most", type=int, default=40, help="documents")
    parser.add_argument("--requests", type=int, default=200)
    options = parser.parse_args()
    reading = Reading(format=None, fields={}, encoding="utf-8")
    raws = list(read_documents(corpus_files(options.documents), reading))[: options.most]
    records = [{"title": raw.title, "abstract": raw.abstract} for raw in raws]
    threads = os.environ.get("OMP_NUM_THREADS", "all")
    found = {"documents": len(records), "threads": threads, "warm predictor": one_by_one(options.model, records)}
    print(json.dumps({**found, "service": under_load(options.model, records, options.requests)}, indent=1))  # noqa: T201


if __name__ == "__main__":
    main()
