"""Scores are the same alone, together and in any order; predictions follow the rules."""

from pathlib import Path
from typing import Any

import pytest
import torch

from simckp.data.records import Generated, Scored, ScoredPhrase, Threshold
from simckp.extraction.loading import new_extractor
from simckp.extraction.scoring import score_present
from simckp.params import Scoring
from simckp.reranking.reranker import BeamOrder, new_reranker
from simckp.scoring.networks import score_documents
from simckp.scoring.scorer import beam_scores
from simckp.thresholds.calibration import same_for_all
from simckp.thresholds.keyphrases import paired_kinds, predict
from tests.conftest import EXTRACTOR_SETTINGS, RERANKER_SETTINGS, make_document, make_generated


@pytest.fixture
def generations(pairs: Any) -> list[Any]:
    surfaces = ["graph theory", "machine learning", "deep networks", "sparse graphs"]

    def of(document: Any, number: int) -> Generated:
        phrases = (
            {"surface": s, "present": s in document["text"], "label": s in document["keyphrases"]}
            for s in surfaces[: 1 + number % 4]
        )
        return make_generated(*phrases, identifier=document["id"])

    return [(document, of(document, number)) for number, (document, _) in enumerate(pairs)]


def reading(model: Any, max_tokens: int) -> Any:
    """The network with another length."""
    model.tokenizer = model.tokenizer.with_max_tokens(max_tokens)
    return model


def assert_same(first: list[Scored], second: list[Scored]) -> None:
    by_id = {row["id"]: row for row in second}
    for row in first:
        other = by_id[row["id"]]
        assert [p["key"] for p in row["phrases"]] == [p["key"] for p in other["phrases"]]
        assert [p["score"] for p in row["phrases"]] == pytest.approx([p["score"] for p in other["phrases"]], abs=1e-4)


def test_present_scores_do_not_depend_on_company_or_order(pairs: Any, tiny_bert: Path) -> None:
    torch.manual_seed(1)
    model = new_extractor(str(tiny_bert), EXTRACTOR_SETTINGS, decoder_layers=1)
    model.eval()
    together = list(score_present(pairs, model))
    alone = [row for pair in pairs for row in score_present([pair], model)]
    assert_same(together, alone)
    assert_same(together, list(score_present(pairs[::-1], model)))
    for row, (_, mined) in zip(together, pairs, strict=True):
        assert len(row["phrases"]) == len(mined["phrases"])
        scores = [phrase["score"] for phrase in row["phrases"]]
        assert scores == sorted(scores, reverse=True)
        assert (row["truncated"], row["unscored"]) == (False, 0)


def test_candidates_beyond_the_length_are_counted_and_not_scored(pairs: Any, tiny_bert: Path) -> None:
    model = reading(new_extractor(str(tiny_bert), EXTRACTOR_SETTINGS, decoder_layers=1), 5)
    rows = list(score_present(pairs, model.eval()))
    assert all(row["truncated"] for row in rows)
    for row, (_, mined) in zip(rows, pairs, strict=True):
        assert len(row["phrases"]) + row["unscored"] == len(mined["phrases"])
        assert row["unscored"] > 0
    (predicted,) = predict([(rows[0], absent_row("d0"))], thresholds=thresholds(1.0, 1.0), minimum=5)
    assert predicted["truncated"]
    assert f"{rows[0]['unscored']} candidates lie beyond the length that the extractor reads" in predicted["warnings"]


def scored(kind: str, *scores: float, labels: tuple[bool, ...] = ()) -> Scored:
    flags = labels or (False,) * len(scores)
    phrases = [
        ScoredPhrase(key=f"k{n}", surface=f"s{n}", score=score, label=flag, spans=[])
        for n, (score, flag) in enumerate(zip(scores, flags, strict=True))
    ]
    return Scored(id="d0", kind=kind, phrases=phrases, targets=sum(flags), truncated=False, unscored=0)


def thresholds(present: float, absent: float) -> dict[str, Threshold]:
    return {kind: same_for_all(kind, value) for kind, value in (("present", present), ("absent", absent))}


def absent_row(identifier: str) -> Scored:
    row = scored("absent")
    row["id"] = identifier
    return row


def test_predictions_above_the_threshold_or_the_best_five() -> None:
    present = scored("present", 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3)
    absent = scored("absent", 0.6, 0.2)
    (predicted,) = predict([(present, absent)], thresholds=thresholds(0.35, 0.5), minimum=5)
    kinds = [phrase["kind"] for phrase in predicted["phrases"]]
    assert kinds == ["present"] * 6 + ["absent"] * 2  # six above, and both that exist
    (predicted,) = predict([(present, absent)], thresholds=thresholds(0.85, 0.5), minimum=0)
    assert [phrase["score"] for phrase in predicted["phrases"]] == [0.9, 0.6]


def test_an_empty_document_gives_nothing_and_says_why() -> None:
    (predicted,) = predict([(scored("present"), scored("absent"))], thresholds=thresholds(0.0, 0.0), minimum=5)
    assert predicted["phrases"] == []
    assert predicted["warnings"] == ["no candidate phrase in the text", "no absent phrase was generated"]


def test_kinds_come_in_pairs() -> None:
    rows = [scored("present"), scored("absent")]
    assert list(paired_kinds(rows)) == [(rows[0], rows[1])]
    with pytest.raises(ValueError, match="not one present and one absent row"):
        list(paired_kinds(rows[::-1]))


def test_beam_order_keeps_ranks_and_gives_spans_of_mined_candidates(pairs: Any) -> None:
    document, mined = pairs[0]  # "we study sparse graphs", gold: sparse graphs, graph theory
    phrases = (
        {"surface": k, "best_rank": rank, "log_prob": p, "present": here, "label": label}
        for k, rank, p, here, label in [
            ("sparse graphs", 0, -0.1, True, True),
            ("graph theory", 0, -0.1, False, True),
            ("study graphs", 1, -0.5, False, False),
            ("we", 2, -0.9, True, False),
        ]
    )
    generated = make_generated(*phrases, identifier="d0", truncated=True)
    present = beam_scores(document, mined, generated, kind="present")
    absent = beam_scores(document, mined, generated, kind="absent")
    assert [(p["key"], p["score"]) for p in present["phrases"]] == [("sparse graphs", -0.1), ("we", -0.9)]
    (span,) = present["phrases"][0]["spans"]
    assert document["text"][span["start"] : span["end"]] == "sparse graphs"
    assert present["phrases"][1]["spans"] == []  # Algorithm 1 does not mine a pronoun
    assert [(p["key"], p["label"]) for p in absent["phrases"]] == [("graph theory", True), ("study graphs", False)]
    assert (present["targets"], absent["targets"], absent["truncated"]) == (1, 1, True)


@pytest.mark.parametrize("method", ["contrastive", "binary_classification", "sequence_labelling", "generation"])
@pytest.mark.parametrize("reranking", ["contrastive", "none"])
def test_every_pair_of_methods_scores(
    generations: Any, pairs: Any, tiny_bert: Path, tmp_path: Path, method: str, reranking: str
) -> None:
    chosen = EXTRACTOR_SETTINGS.model_copy(update={"method": method})
    new_extractor(str(tiny_bert), chosen, decoder_layers=1).save(tmp_path / "extractor")
    settings = RERANKER_SETTINGS.model_copy(update={"method": reranking})
    if reranking == "none":
        BeamOrder(settings).save(tmp_path / "reranker")
    else:
        new_reranker(str(tiny_bert), settings).save(tmp_path / "reranker")
    rows = [(document, mined, made) for (document, mined), (_, made) in zip(pairs, generations, strict=True)]
    with_none = [(*row, {**row[2], "phrases": []}) for row in rows]
    found = score_documents(with_none, extractor=tmp_path / "extractor", reranker=tmp_path / "reranker", overlap=None)
    assert [row["kind"] for row in found] == ["present", "absent"] * len(rows)
    in_beams = [sum(p["present"] for p in made["phrases"]) for *_, made in rows]
    mined_counts = [len(mined["phrases"]) for _, mined, _ in rows]
    expected = in_beams if method == "generation" else mined_counts
    assert [len(row["phrases"]) for row in found[::2]] == expected
    below_zero = [p["score"] for row in found[1::2] for p in row["phrases"]]
    assert (set(below_zero) == {-1.0}) == (reranking == "none")


def test_a_lower_precision_gives_nearly_the_same_scores(
    generations: Any, pairs: Any, tiny_bert: Path, tmp_path: Path
) -> None:
    new_extractor(str(tiny_bert), EXTRACTOR_SETTINGS, decoder_layers=1).save(tmp_path / "extractor")
    new_reranker(str(tiny_bert), RERANKER_SETTINGS).save(tmp_path / "reranker")
    none = {"phrases": []}
    rows = [
        (document, mined, made, made | none) for (document, mined), (_, made) in zip(pairs, generations, strict=True)
    ]

    def scored(precision: str) -> dict[tuple[str, str, str], float]:
        found = score_documents(
            rows,
            extractor=tmp_path / "extractor",
            reranker=tmp_path / "reranker",
            overlap=None,
            scoring=Scoring.model_validate({"precision": precision}),
        )
        return {(row["id"], row["kind"], phrase["key"]): phrase["score"] for row in found for phrase in row["phrases"]}

    full, half = scored("float32"), scored("bfloat16")
    assert {kind for _, kind, _ in full} == {"present", "absent"}
    assert half == pytest.approx(full, abs=0.03)
    assert half != pytest.approx(full, abs=1e-5)
    assert scored("tf32") == full  # on a CPU


LONG = "filler words go on and on here. " * 40 + "We apply quantum annealing to scheduling."


def test_a_phrase_at_the_end_of_a_long_document_is_scored(tiny_bert: Path) -> None:
    document = make_document(LONG, ["quantum annealing"])
    start = LONG.index("quantum annealing")
    phrases = [
        {"key": key, "surface": key, "label": key.startswith("quantum"), "spans": [{"start": at, "end": at + len(key)}]}
        for key, at in (("quantum annealing", start), ("filler words", 0))
    ]
    mined: Any = {
        "id": "d",
        "phrases": phrases,
        "present_targets": ["quantum annealing"],
        "absent_targets": [],
        "missed_targets": [],
    }
    model = reading(new_extractor(str(tiny_bert), EXTRACTOR_SETTINGS, decoder_layers=1), 48)
    model.eval()
    (start,) = score_present([(document, mined)], model)
    assert ([p["key"] for p in start["phrases"]], start["truncated"], start["unscored"]) == (["filler words"], True, 1)
    (whole,) = score_present([(document, mined)], model, overlap=16)
    assert {p["key"] for p in whole["phrases"]} == {"quantum annealing", "filler words"}
    assert (whole["truncated"], whole["unscored"], whole["targets"]) == (False, 0, 1)
    by_key = {p["key"]: p["score"] for p in whole["phrases"]}
    assert by_key["filler words"] == pytest.approx(start["phrases"][0]["score"], abs=1e-5)
