"""The scikit-learn transformer: a matrix of keyphrases, in pipelines and clones."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from simckp.adapters.scikit_learn import KeyphraseVectorizer
from simckp.errors import SimCKPError
from simckp.prediction.predictor import KeyphrasePredictor
from tests.prediction.test_predictor import TEXTS, make_folder


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory, tiny_bert: Path) -> str:
    return str(make_folder(tmp_path_factory.mktemp("model"), tiny_bert))


def test_the_matrix_holds_what_the_predictor_gives(model: str) -> None:
    vectorizer = KeyphraseVectorizer(model, top=4, kinds=["present"])
    matrix = vectorizer.fit_transform(TEXTS)
    expected = KeyphrasePredictor(Path(model))(TEXTS, top=4, kinds=["present"])
    assert matrix.shape == (3, len(vectorizer.vocabulary_))
    names = vectorizer.get_feature_names_out()
    for row, found in zip(matrix.toarray(), expected, strict=True):
        assert {names[column] for column in np.flatnonzero(row)} <= {p["surface"] for p in found.phrases}
        for phrase in found.phrases:
            assert row[vectorizer.vocabulary_[phrase["key"]]] == pytest.approx(phrase["score"], abs=1e-4)
    assert (vectorizer.transform(TEXTS) != matrix).nnz == 0
    assert vectorizer.transform(["Nothing of this kind was learnt."]).nnz == 0


def test_in_a_pipeline_and_cloned(model: str) -> None:
    vectorizer = KeyphraseVectorizer(model, value="binary", top=4, kinds=["present"])
    with pytest.raises(NotFittedError):
        vectorizer.transform(TEXTS)
    copied = clone(vectorizer)
    assert copied.get_params() == vectorizer.get_params()
    pipeline = make_pipeline(copied, LogisticRegression()).fit(TEXTS, [0, 1, 0])
    assert pipeline.predict(TEXTS).tolist() == [0, 1, 0]
    assert set(copied.transform(TEXTS).data) == {1.0}


@pytest.mark.parametrize(
    ("documents", "options", "message"),
    [
        ("one text", {}, "expected several texts or records, found one"),
        (pd.DataFrame({"title": TEXTS}), {}, "found a DataFrame; give one column of texts"),
        ([TEXTS[0], None], {}, "texts[1]: expected a text or a record, found None"),
        (TEXTS, {"value": "Binary"}, "value='Binary': expected one of score, binary"),
        (TEXTS, {"min_probability": float("nan")}, "min_probability=nan"),
    ],
)
def test_what_is_no_document_or_option_is_refused(
    model: str, documents: Any, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(SimCKPError) as caught:
        KeyphraseVectorizer(model, kinds=["present"], **options).fit(documents)
    assert message in str(caught.value)


def test_an_iterator_and_a_column_are_documents_too(model: str) -> None:
    expected = KeyphraseVectorizer(model, kinds=["present"]).fit_transform(TEXTS)
    for documents in (iter(TEXTS), pd.Series(TEXTS)):
        assert (KeyphraseVectorizer(model, kinds=["present"]).fit_transform(documents) != expected).nnz == 0
