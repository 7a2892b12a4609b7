"""A frame of documents gives a tidy frame of keyphrases."""

from typing import Any

import pandas as pd
import pytest

from simckp.errors import SimCKPError
from simckp.prediction.predictor import KeyphrasePredictor
from tests.prediction.test_predictor import TEXTS, predictor  # noqa: F401

COLUMNS = ["document", "rank", "phrase", "key", "kind", "score", "similarity", "occurrences", "start", "end"]


def test_one_row_per_keyphrase(predictor: KeyphrasePredictor) -> None:  # noqa: F811
    frame = pd.DataFrame({"body": [*TEXTS, None]}, index=["a", "b", "c", "none"])
    found = predictor.predict_frame(frame, text="body", top=6)
    assert list(found.columns) == COLUMNS
    assert set(found["document"]) == {"a", "b", "c"}
    for name, expected in zip("abc", predictor(TEXTS, top=6), strict=True):
        rows = found[found["document"] == name]
        assert list(rows["phrase"]) == [p["surface"] for p in expected.phrases]
        assert list(rows["rank"]) == list(range(1, len(expected.phrases) + 1))
        assert list(rows["occurrences"]) == [len(p["spans"]) for p in expected.phrases]
    present = found[found["kind"] == "present"]
    cut = [frame.loc[row.document, "body"][row.start : row.end] for row in present.itertuples()]
    assert [text.lower() for text in cut] == [phrase.lower() for phrase in present["phrase"]]
    absent = found[found["kind"] == "absent"]
    assert len(absent) and absent["start"].isna().all() and absent["end"].isna().all()


def test_titles_and_abstracts(predictor: KeyphrasePredictor) -> None:  # noqa: F811
    frame = pd.DataFrame({"Title": ["On graphs", "Tabu"], "Abstract": [TEXTS[0], float("nan")]}, index=[7, 7])
    found = predictor.predict_frame(frame, text=["Title", "Abstract"], kinds=["present"], top=3)
    expected = predictor([{"title": "On graphs", "abstract": TEXTS[0]}, {"title": "Tabu"}], kinds=["present"], top=3)
    assert list(found["phrase"]) == [p["surface"] for one in expected for p in one.phrases]
    assert found["document"].dtype == "int64"


def test_no_documents(predictor: KeyphrasePredictor) -> None:  # noqa: F811
    found = predictor.predict_frame(pd.DataFrame({"text": []}), text="text")
    assert list(found.columns) == COLUMNS and len(found) == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("body", "the frame has no column 'body', only ['text', 'number']"),
        (["text", "x"], "has no column 'x'"),
        (["text"] * 3, "expected one column of texts, or those of titles and abstracts"),
        ("number", "texts[0]: expected a text or a record, found int"),
    ],
)
def test_wrong_columns(predictor: KeyphrasePredictor, text: Any, message: str) -> None:  # noqa: F811
    frame = pd.DataFrame({"text": ["a"], "number": [1]})
    with pytest.raises(SimCKPError) as caught:
        predictor.predict_frame(frame, text=text)
    assert message in str(caught.value)
