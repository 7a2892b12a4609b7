"""Measure the latency for users: ``python -m benchmarks.latency MODEL DOCUMENTS [--requests 200]``.

First a warm predictor gets one document at a time, then the running service gets many requests at once.
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
    ranks = {f"p{rank}": float(np.percentile(seconds, rank)) for rank in (50, 95, 99)}
    return {name: round(value, 4) for name, value in {**ranks, "max": max(seconds)}.items()}


def one_by_one(model: str, records: list[dict[str, str]]) -> dict[str, Any]:
    """Return the time of one document for each kind of request; a first, uncounted request warms up."""
    quiet_transformers()
    predictor = KeyphrasePredictor.from_pretrained(model)
    results = {}
    for name, kinds in MODES.items():
        predictor(records[0], kinds=kinds)
        seconds = []
        for record in records:
            begun = time.perf_counter()
            predictor(record, kinds=kinds)
            seconds.append(time.perf_counter() - begun)
        results[name] = percentiles(seconds)
    return results


@contextmanager
def served(model: str, *options: str) -> Iterator[str]:
    """Start the service, yield its address, and stop it afterwards."""
    command = [sys.executable, "-m", "simckp.cli", "serve", "--model", model, "--port", "0", *options]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)  # noqa: S603
    try:
        said = next(line for line in process.stderr or () if "running on" in line)
        yield re.findall(r"http://\S+", said)[0]
    finally:
        process.terminate()
        process.communicate()


def under_load(model: str, records: list[dict[str, str]], requests: int) -> dict[str, Any]:
    """Return answers, refusals and times of ``requests`` requests sent 32 at a time, and of as many sent at once."""
    results = {}
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
            results[f"{name}, {requests} requests, {at_once} at once"] = {
                "answered": len(answered),
                "refused_429": statuses.count(429),
                "other": len(calls) - len(answered) - statuses.count(429),
                "answers_per_second": round(len(answered) / wall, 2),
                **percentiles(answered),
            }
    return results


def main() -> None:
    """Print all measurements as JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.latency", description=__doc__)
    parser.add_argument("model", help="a model folder")
    parser.add_argument("documents", type=Path)
    parser.add_argument("--most", type=int, default=40, help="maximum number of documents")
    parser.add_argument("--requests", type=int, default=200)
    options = parser.parse_args()
    reading = Reading(format=None, fields={}, encoding="utf-8")
    raws = list(read_documents(corpus_files(options.documents), reading))[: options.most]
    records = [{"title": raw.title, "abstract": raw.abstract} for raw in raws]
    threads = os.environ.get("OMP_NUM_THREADS", "all")
    results = {"documents": len(records), "threads": threads, "warm predictor": one_by_one(options.model, records)}
    print(json.dumps({**results, "service": under_load(options.model, records, options.requests)}, indent=1))  # noqa: T201


if __name__ == "__main__":
    main()
