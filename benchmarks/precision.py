"""Compare recall of precisions: ``python -m benchmarks.precision models/extractor/13 data/documents/sample``.

Overgenerates for the documents of one or more data sets in float32 and in a lower precision, and prints the share of
absent gold keyphrases that the beams contain (R@50) and the seconds per document.
"""

import argparse
import json
import sys
import time
from pathlib import Path

import numpy as np

from simckp.data import datasets
from simckp.evaluation.recall import absent_recall
from simckp.extraction.loading import load_extractor
from simckp.generation.overgenerate import Overgenerator
from simckp.networks.backbones import best_device
from simckp.params import read_params


def main() -> None:
    """Print one JSON object per precision."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.precision", description=__doc__)
    parser.add_argument("extractor", type=Path)
    parser.add_argument("documents", nargs="+", type=Path)
    parser.add_argument("--precision", default="int8", choices=["int8", "bfloat16"])
    parser.add_argument("--params", type=Path, default=Path("params.yaml"))
    options = parser.parse_args()
    params = read_params(options.params)
    model = load_extractor(options.extractor).to(best_device())
    documents = [row for folder in options.documents for row in datasets.read_dataset(folder, name="documents")]
    for precision in ("float32", options.precision):
        settings = params.generation.model_copy(update={"precision": precision})
        generate = Overgenerator(model, settings)
        start = time.perf_counter()
        generated = generate(documents)
        seconds = (time.perf_counter() - start) / len(documents)
        recalls = [absent_recall(document, one) for document, one in zip(documents, generated, strict=True)]
        counted = [recall for recall in recalls if recall is not None]
        figures = {
            "precision": precision,
            "documents": len(documents),
            "documents_with_absent": len(counted),
            "R@50": round(float(np.mean(counted)), 5) if counted else 0.0,
            "phrases_per_document": round(float(np.mean([len(one["phrases"]) for one in generated])), 1),
            "seconds_per_document": round(seconds, 3),
        }
        sys.stdout.write(json.dumps(figures) + "\n")


if __name__ == "__main__":
    main()
