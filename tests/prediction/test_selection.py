"""What people are shown: likely phrases, each once, and no parts of better ones."""

from typing import Any

import numpy as np
import pytest

from simckp.data.records import Keyphrase, Kind, Scored, Threshold
from simckp.prediction.selection import LEAST_PROBABLE, DocumentRanking, Wish, choose, likely_count, rank
from simckp.thresholds.calibration import ADAPTIVE, ITSELF, same_for_all
from tests.conftest import make_document

TEXT = "Beam search is a search. Colour modelling by beam-search; color modeling, neural networks. A neural network."
AS_THEY_ARE: dict[str, Threshold] = {
    kind: {**same_for_all(kind, 0.5, method=ADAPTIVE), "features": list(ITSELF)} for kind in ("present", "absent")
}
THRESHOLDS = {kind: same_for_all(kind, 0.5) for kind in ("present", "absent")}


def scored(kind: Kind, *phrases: tuple[str, float, str]) -> Scored:
    """Phrases with their probabilities, and the places (separated by a bar) where they stand."""

    def spans(places: str) -> list[dict[str, int]]:
        starts = [(at, word) for word in filter(None, places.split("|")) for at in _all(word)]
        return [{"start": at, "end": at + len(word)} for at, word in sorted(starts)]

    def _all(word: str) -> list[int]:
        return [at for at in range(len(TEXT)) if TEXT.startswith(word, at)]

    rows: list[Any] = [
        {"key": f"key of {surface}", "surface": surface, "score": score, "label": False, "spans": spans(places)}
        for surface, score, places in phrases
    ]
    return Scored(id="a", kind=kind, phrases=rows, targets=0, truncated=False, unscored=0)


def ranking(present: Scored, absent: Scored, calibrations: dict[str, Threshold] = AS_THEY_ARE) -> DocumentRanking:
    similarities = {row["kind"]: {p["key"]: p["score"] / 2 for p in row["phrases"]} for row in (present, absent)}
    return rank(make_document(TEXT, []), (present, absent), similarities, calibrations)


def shown(given: DocumentRanking, calibrations: dict[str, Threshold] = AS_THEY_ARE, **wish: Any) -> list[Keyphrase]:
    return choose(given, THRESHOLDS, calibrations, Wish(**wish))[0]


PRESENT = scored(
    "present",
    ("beam search", 0.9, "Beam search|beam-search"),
    ("beam", 0.8, "Beam|beam"),
    ("search", 0.7, "search"),
    ("color modeling", 0.6, "color modeling"),
    ("Colour modelling", 0.5, "Colour modelling"),
    ("neural networks", 0.4, "neural networks|neural network"),
    ("neural", 0.05, "neural"),
)
ABSENT = scored(
    "absent", ("decoding", 0.45, ""), ("colour model", 0.4, ""), ("colour models", 0.3, ""), ("time", 0.02, "")
)


def test_a_part_of_a_better_phrase_is_left_out_unless_it_stands_alone() -> None:
    found = ranking(PRESENT, ABSENT).phrases["present"]
    assert {one.phrase["surface"]: one.part_of for one in found} == {
        "beam search": None,
        "beam": "beam search",
        "search": None,  # "is a search"
        "color modeling": None,
        "neural networks": None,
        "neural": "neural networks",
    }


def test_spellings_are_one_phrase() -> None:
    given = ranking(PRESENT, ABSENT)
    by_surface = {one.phrase["surface"]: one.phrase for one in given.phrases["present"]}
    colour = by_surface["color modeling"]
    assert (colour["variants"], len(colour["spans"]), colour["score"]) == (["Colour modelling"], 2, 0.6)
    assert colour["similarity"] == 0.3
    assert by_surface["neural networks"]["variants"] == ["neural network"]
    assert by_surface["beam search"]["variants"] == ["beam-search"]
    # What stands in the text in another spelling is not absent.
    assert [one.phrase["surface"] for one in given.phrases["absent"]] == ["decoding", "time"]


def test_the_number_is_that_of_the_highest_expected_f1_and_nothing_is_forced() -> None:
    given = ranking(PRESENT, ABSENT)
    assert [p["surface"] for p in shown(given)] == [
        "beam search",
        "search",
        "color modeling",
        "neural networks",
        "decoding",
    ]
    improbable = ranking(scored("present", ("beam", 0.09, "Beam")), scored("absent", ("x", 0.09, "")))
    phrases, warnings = choose(improbable, THRESHOLDS, AS_THEY_ARE, Wish())
    assert (phrases, warnings) == ([], ["none of 2 phrases is likely to be a keyphrase; top shows the best of them"])


@pytest.mark.parametrize(
    ("probability", "expected"),
    [([], 0), ([0.09], 0), ([0.9, 0.8, 0.2], 2), ([0.2] * 6, 6), ([0.5, 0.5, 0.01], 2), ([LEAST_PROBABLE], 1)],
)
def test_the_likely_count(probability: list[float], expected: int) -> None:
    assert likely_count(np.asarray(probability, dtype=np.float64)) == expected


def test_wishes() -> None:
    given = ranking(PRESENT, ABSENT)
    assert [p["surface"] for p in shown(given, top=2)] == ["beam search", "search"]
    assert [p["surface"] for p in shown(given, top=5)] == [
        "beam search",
        "search",
        "color modeling",
        "neural networks",
        "decoding",
    ]
    assert len(shown(given, top=50)) == 6
    assert [p["surface"] for p in shown(given, min_probability=0.45)] == [
        "beam search",
        "search",
        "color modeling",
        "decoding",
    ]
    assert [p["surface"] for p in shown(given, min_probability=0.3, top=1, kinds=("absent",))] == ["decoding"]
    assert shown(given, top=0) == []


def test_a_kind_without_probabilities_keeps_the_threshold_and_comes_last() -> None:
    only = {"present": AS_THEY_ARE["present"]}
    given = ranking(PRESENT, scored("absent", ("decoding", 0.95, ""), ("time", 0.2, "")), only)
    assert [p["surface"] for p in shown(given, only) if p["kind"] == "absent"] == ["decoding"]
    assert [p["kind"] for p in shown(given, only, top=3)] == ["present"] * 3
    assert {p["kind"] for p in shown(given, only, min_probability=0.0)} == {"present"}


def test_a_text_without_words_has_none() -> None:
    document = make_document("?! -", [])
    absent = scored("absent", ("decoding", 0.9, ""))
    given = rank(
        document, (scored("present"), absent), {"present": {}, "absent": {"key of decoding": 0.9}}, AS_THEY_ARE
    )
    assert choose(given, THRESHOLDS, AS_THEY_ARE, Wish(top=5)) == ([], ["no word in the text"])
