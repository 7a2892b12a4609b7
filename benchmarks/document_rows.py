"""Benchmarks of the stages that work on text (tagging, mining, features, evaluation), and of an idle ``dvc repro``."""

import random
import shutil
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import inputs
from benchmarks.baselines import evaluation as evaluation_baseline
from benchmarks.baselines import features as features_baseline
from benchmarks.baselines import mining as mining_baseline
from benchmarks.corpus import SyntheticCorpus, real_documents
from benchmarks.harness import REPEATS, Row, alternate, seconds
from simckp.candidates.mining import mine_pairs
from simckp.candidates.tagging import SpacyTagger, tag_documents
from simckp.data.datasets import AlignedDatasets, Dataset, ShardFiles, write_dataset
from simckp.data.records import Document, Predicted, PredictedPhrase
from simckp.evaluation.evaluator import Evaluator
from simckp.evaluation.profiles import PROFILES
from simckp.execution import Engine, map_pieces
from simckp.extraction.examples import extraction_examples
from simckp.networks.backbones import load_tokenizer
from simckp.networks.tokenization import Tokenizer

REPOSITORY = Path(__file__).resolve().parent.parent


def tagging(device: str) -> Row:
    """Compare our tagging in one process with spaCy's pipe with the same components."""
    documents = real_documents("kp20k_test", 400)
    settings = inputs.tagger()
    pipeline = SpacyTagger(settings.model)._pipeline
    texts = [document["text"] for document in documents]
    baseline, fast = alternate(
        lambda: [None for _ in pipeline.pipe(texts, batch_size=32)], lambda: tag_documents(documents, settings=settings)
    )
    return Row(
        name="tagging",
        baseline="spaCy's pipe, tokens and tags only",
        baseline_seconds=baseline,
        seconds=fast,
        sizes={"documents": len(documents), "documents_per_second": round(len(documents) / fast, 1)},
        bar=0.9,
    )


def tagging_two_processes(device: str) -> Row:
    """Compare our tagging in two processes with one spaCy pipe, after each process has tagged 300 documents."""
    settings, piece, warm = inputs.tagger(), 100, 3
    documents = [row for name in ("kp20k_test", "kp20k_valid") for row in real_documents(name, 1000)]
    texts = [document["text"] for document in documents[: 10 * piece]]

    def one() -> float:
        words = SpacyTagger(settings.model)._pipeline.pipe(iter(texts), batch_size=32)
        for _ in range(warm * piece):
            next(words)
        return seconds(lambda: [None for _ in words]) / (len(texts) - warm * piece)

    def two() -> float:
        with tempfile.TemporaryDirectory() as folder:
            stored = Path(folder, "documents")
            write_dataset(stored, documents, name="documents", shard_rows=piece)
            pieces = map_pieces(
                partial(tag_documents, settings=settings),
                AlignedDatasets((Dataset(stored, "documents"),)),
                files=ShardFiles("tagged"),
                piece_rows=piece,
                scratch=Path(folder, "scratch"),
                engine=Engine(workers=2),
            )
            for _ in range(2 * warm):
                next(pieces)
            start = time.perf_counter()
            rest = piece * sum(1 for _ in pieces)
            return (time.perf_counter() - start) / rest

    ones, twos = [], []
    for _ in range(REPEATS):
        ones.append(one())
        twos.append(two())
    baseline, fast = float(np.median(ones)), float(np.median(twos))
    return Row(
        name="tagging_two_processes",
        baseline="spaCy's pipe, one process",
        baseline_seconds=1000 * baseline,
        seconds=1000 * fast,
        sizes={"documents": 1000, "documents_per_second": round(1 / fast, 1)},
        bar=1.8,
    )


def mining(device: str) -> Row:
    """Measure Algorithm 1 on tagged documents, on one core."""
    documents, tagged = inputs.tagged_documents(inputs.DOCUMENTS)
    pairs = list(zip(documents, tagged, strict=True))[:100]

    def plain() -> list[Any]:
        return [mining_baseline.mine(document, words, max_words=6) for document, words in pairs]

    fast = mine_pairs(pairs, max_words=6)
    _must(fast == plain(), "mined candidates")
    baseline, ours = alternate(plain, lambda: mine_pairs(pairs, max_words=6))
    candidates = sum(len(row["phrases"]) for row in fast)
    return Row(
        name="mining",
        baseline="RegexpParser, every word stemmed anew",
        baseline_seconds=baseline,
        seconds=ours,
        sizes={
            "documents": len(pairs),
            "candidates": candidates,
            "milliseconds_per_document": round(1e3 * ours / len(pairs), 2),
        },
        bar=30,
    )


def features(device: str) -> Row:
    """Measure the mapping of candidates to token spans, with tokenisation."""
    documents, tagged = inputs.tagged_documents(inputs.DOCUMENTS)
    pairs = list(zip(documents, tagged, strict=True))[:200]
    rows = list(zip(documents, mine_pairs(pairs, max_words=6), strict=False))
    tokenizer = Tokenizer(load_tokenizer("minilm"), 512)

    def fast() -> list[Any]:
        return list(extraction_examples(rows, tokenizer, max_target_tokens=64))

    def sets(example: Any) -> list[set[int]]:
        tokens: list[set[int]] = [set() for _ in example.candidate]
        spans = zip(example.span_start, example.span_end, example.span_candidate, strict=True)
        for start, end, candidate in spans:
            tokens[candidate] |= set(range(start, end))
        return tokens

    def plain() -> list[Any]:
        return features_baseline.token_sets(rows, tokenizer.backbone_tokenizer, max_tokens=512)

    _must([sets(example) for example in fast()] == plain(), "token spans")
    baseline, ours = alternate(plain, fast)
    return Row(
        name="features",
        baseline="every token looked at for every occurrence",
        baseline_seconds=baseline,
        seconds=ours,
        sizes={"documents": len(rows), "documents_per_second": round(len(rows) / ours, 1)},
    )


def evaluation(device: str) -> Row:
    """Measure all profiles with intervals; the baseline has a twentieth of the documents and of the resamples."""
    count, resamples = 20_000, 1000
    documents = SyntheticCorpus().documents(count)
    predictions = _predictions(documents)
    small, few = documents[: count // 20], resamples // 20

    def fast(size: int, times: int) -> dict[str, float]:
        evaluator = Evaluator("synthetic", 0, list(PROFILES))
        for _ in evaluator.score(zip(documents[:size], predictions[:size], strict=True)):
            pass
        figures = {}
        for profile in PROFILES:
            metrics = evaluator.metrics(profile, resamples=times, confidence=0.95)
            for kind in ("present", "absent"):
                for name in ("F1@5", "F1@M"):
                    figures[f"{profile} {kind} {name}"] = metrics[kind][name]
        return figures

    def plain(times: int) -> dict[str, float]:
        return evaluation_baseline.evaluate(small, predictions[: len(small)], resamples=times, seed=0)

    expected = {name: round(value, 6) for name, value in plain(1).items() if not name.endswith("low")}
    _must(fast(len(small), 100) == expected, "figures")
    ours = float(np.median([seconds(lambda: fast(count, resamples)) for _ in range(REPEATS)]))
    loops, once = (float(np.median([seconds(partial(plain, times)) for _ in range(3)])) for times in (few + 1, 1))
    # The time has a part linear in documents, and a part linear in documents times resamples.
    baseline = 20 * once + 20 * 20 * (loops - once)
    return Row(
        name="evaluation",
        baseline="loops over documents and resamples, every word stemmed anew (a twentieth of each, extrapolated)",
        baseline_seconds=baseline,
        seconds=ours,
        sizes={"documents": count, "profiles": len(PROFILES), "resamples": resamples},
        bar=10,
    )


def _predictions(documents: list[Document]) -> list[Predicted]:
    """Return made-up predictions, some of which are correct."""
    generator = random.Random(0)  # noqa: S311
    predictions = []
    for document in documents:
        words = document["text"].split()
        spans = [words[at : at + generator.randint(1, 3)] for at in generator.choices(range(len(words)), k=12)]
        present = [" ".join(span) for span in spans]
        absent = [" ".join(generator.choices(words, k=2)) for _ in range(8)]
        right = [phrase for phrase in document["keyphrases"] if generator.random() < 0.3]
        phrases = [
            PredictedPhrase(surface=surface, key=surface, kind=kind, score=0.0, spans=[])
            for kind, surfaces in (("present", present + right), ("absent", absent + right))
            for surface in surfaces
        ]
        predictions.append(Predicted(id=document["id"], phrases=phrases, truncated=False, warnings=[]))
    return predictions


def no_op_repro(device: str) -> Row:
    """Measure ``dvc repro`` in this checkout when nothing has to be done; there is no baseline."""
    dvc = shutil.which("dvc", path=str(Path(sys.executable).parent)) or "dvc"

    def repro() -> None:
        done = subprocess.run([dvc, "repro"], cwd=REPOSITORY, capture_output=True, text=True, check=False)  # noqa: S603
        if "Running stage" in done.stdout:
            raise SystemExit("no_op_repro: there was something to do; run `dvc repro` first")

    repro()
    return Row(
        name="no_op_repro",
        baseline="",
        baseline_seconds=None,
        seconds=float(np.median([seconds(repro) for _ in range(REPEATS)])),
    )


def _must(equal: bool, what: str) -> None:
    if not equal:
        raise AssertionError(f"baseline and fast path give different {what}")
