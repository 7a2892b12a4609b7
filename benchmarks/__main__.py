"""Measure the benchmarks: ``python -m benchmarks [--only NAME ...] [--device cuda] [--json] [--out FILE]``."""

import argparse
import importlib
import json
import logging
import sys
import traceback
from pathlib import Path
from typing import Any

import torch
import transformers

from benchmarks.harness import Row

# The module of each row. Modules are imported on demand, since a GPU machine may lack the packages of the text rows.
CPU_ROWS = {
    "tagging": "document_rows",
    "tagging_two_processes": "document_rows",
    "mining": "document_rows",
    "features": "document_rows",
    "contrastive_head": "network_rows",
    "training_step": "network_rows",
    "overgeneration": "network_rows",
    "overgeneration_int8": "network_rows",
    "extraction": "network_rows",
    "reranking": "network_rows",
    "prediction": "network_rows",
    "evaluation": "document_rows",
    "no_op_repro": "document_rows",
}
GPU_ROWS = dict.fromkeys(
    ("contrastive_head", "training_step", "overgeneration", "overgeneration_float32_gpu", "extraction", "reranking"),
    "network_rows",
)


def table(rows: list[dict[str, Any]]) -> str:
    """Return the rows as a Markdown table."""
    lines = ["| row | baseline | baseline s | s | ratio | bar | sizes |", "| --- | --- | --- | --- | --- | --- | --- |"]
    for row in rows:
        sizes = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in row["sizes"].items())
        baseline = "" if row["baseline_seconds"] is None else f"{row['baseline_seconds']:.4g}"
        ratio = "" if row["ratio"] is None else f"{row['ratio']:.2f}"
        bar = "" if row["bar"] is None else f"{row['bar']:g}"
        lines.append(
            f"| {row['name']} | {row['baseline']} | {baseline} | {row['seconds']:.4g} | {ratio} | {bar} | {sizes} |"
        )
    return "\n".join(lines)


def measured(name: str, device: str) -> dict[str, Any]:
    """Measure a row and return it as in the result file."""
    module = (GPU_ROWS if device == "cuda" else CPU_ROWS)[name]
    row: Row = getattr(importlib.import_module(f"benchmarks.{module}"), name)(device)
    return row.json(device)


def main() -> int:
    """Measure the requested rows; return 1 if one of them could not be measured, otherwise 0."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--only", nargs="+", metavar="NAME", help=f"rows: {', '.join({**CPU_ROWS, **GPU_ROWS})}")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--json", action="store_true", help="print one JSON object per row instead of a table")
    parser.add_argument("--out", type=Path, help="also write the rows to a JSON file")
    options = parser.parse_args()
    known = GPU_ROWS if options.device == "cuda" else CPU_ROWS
    if unknown := [name for name in options.only or [] if name not in known]:
        parser.error(f"no row {unknown[0]!r} on {options.device}; there are {', '.join(known)}")
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    logging.basicConfig(level=logging.WARNING)
    rows, failed = [], 0
    for name in options.only or known:
        try:
            result = measured(name, options.device)
        except Exception:
            failed = 1
            sys.stderr.write(f"{name}: could not be measured\n{traceback.format_exc()}")
            continue
        rows.append(result)
        if options.json:
            sys.stdout.write(json.dumps(result) + "\n")
        else:
            sys.stderr.write(
                f"{name}: ratio {result['ratio'] and round(result['ratio'], 2)}, {result['seconds']:.4g} s\n"
            )
        sys.stdout.flush()
        if options.device == "cuda":
            torch.cuda.empty_cache()
        if options.out:
            options.out.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
    if not options.json:
        sys.stdout.write(table(rows) + "\n")
    return failed


if __name__ == "__main__":
    sys.exit(main())
