"""Phrases that share their stems, but not their words, are several for readers."""

import pytest

from simckp.data.records import Scored
from simckp.prediction.predictor import KeyphrasePredictor
from simckp.prediction.texts import as_document
from simckp.prediction.word_forms import by_word_form, word_form
from simckp.text import scoring_key, stem
from tests.prediction.test_predictor import predictor  # noqa: F401

ONE_WORD = [
    ("university", "universities"),
    ("plan", "plans", "planning", "planned"),
    ("cache", "caches", "caching", "cached"),
    ("process", "processes", "processing", "processed"),
    ("query", "queries", "querying", "queried"),
    ("class", "classes"),
    ("embedding", "embeddings"),
]
OTHER_WORDS = [("universe", "university"), ("general", "generation"), ("organ", "organization"), ("logic", "logical")]


@pytest.mark.parametrize("words", ONE_WORD)
def test_inflected_forms_are_one_word(words: tuple[str, ...]) -> None:
    assert len(set(map(word_form, words))) == 1


@pytest.mark.parametrize("words", OTHER_WORDS)
def test_derived_words_are_others(words: tuple[str, ...]) -> None:
    assert len(set(map(word_form, words))) == 2


def scored(text: str, *phrases: str) -> Scored:
    """Every occurrence of each phrase's surfaces in the text."""

    def spans(surface: str) -> list[dict[str, int]]:
        places = [i for i in range(len(text)) if text.startswith(surface, i)]
        return [{"start": place, "end": place + len(surface)} for place in places]

    rows = [
        {
            "key": scoring_key(forms.split("|")[0]),
            "surface": forms.split("|")[0],
            "score": 0.5,
            "label": False,
            "spans": sorted((s for form in forms.split("|") for s in spans(form)), key=lambda span: span["start"]),
        }
        for forms in phrases
    ]
    return Scored(id="a", kind="present", phrases=rows, targets=0, truncated=False, unscored=0)  # type: ignore[typeddict-item]


def test_a_phrase_is_split_by_its_words() -> None:
    text = "Universities of the universe: a university, the Universe; university. Graph planning plans graph plan."
    given = scored(text, "university|Universities|universe|Universe", "planning|plans")
    parts = by_word_form(text, given["phrases"])
    assert [(p["surface"], len(p["spans"])) for p in parts] == [("university", 3), ("universe", 2), ("planning", 2)]
    assert [p["key"] for p in parts] == [stem("university")] * 2 + [stem("plan")]
    assert sorted(s["start"] for p in parts[:2] for s in p["spans"]) == [
        s["start"] for s in given["phrases"][0]["spans"]
    ]


def test_hyphens_and_case_make_no_other_word() -> None:
    text = "Real-time systems, real time system, REAL-TIME Systems"
    given = scored(text, "Real-time systems|real time system|REAL-TIME Systems")
    assert by_word_form(text, given["phrases"]) == given["phrases"]


def test_the_predictor_gives_both(predictor: KeyphrasePredictor) -> None:  # noqa: F811
    text = "The university has a model of the universe. Universities differ; the university wins."
    (ranking,) = predictor.rank([as_document(text, 0)], predictor.wish(kinds=["present"]))
    spans = {
        one.phrase["surface"]: len(one.phrase["spans"])
        for one in ranking.phrases["present"]
        if one.phrase["key"] == stem("university")
    }
    assert spans == {"university": 3, "universe": 1}
    assert len(predictor(text, top=1).phrases) == 1
