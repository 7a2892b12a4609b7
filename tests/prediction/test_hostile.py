"""Hostile calls of the predictor: keyphrases of every text, or one sentence."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from simckp.errors import SimCKPError
from simckp.prediction.predictor import KeyphrasePredictor
from tests.hostile import GIVEN, NUMBER, SERIES, VALUE, tried
from tests.prediction.test_predictor import make_folder


@pytest.fixture(scope="module")
def predictor(tmp_path_factory: pytest.TempPathFactory, tiny_bert: Path) -> KeyphrasePredictor:
    return KeyphrasePredictor(make_folder(tmp_path_factory.mktemp("model"), tiny_bert), kinds=["present"])


@pytest.mark.slow
@pytest.mark.timeout(1800)
@tried(150)
@given(
    given_texts=GIVEN | st.lists(GIVEN, max_size=3) | SERIES,
    options=st.fixed_dictionaries(
        {},
        optional={
            "batch_size": NUMBER,
            "top": NUMBER,
            "min_probability": NUMBER,
            "kinds": st.just(["present"]) | VALUE,
        },
    ),
)
def test_hostile_calls(predictor: KeyphrasePredictor, given_texts: Any, options: dict[str, Any]) -> None:
    try:
        found = predictor(given_texts, **({"kinds": ["present"]} | options))
    except SimCKPError:
        event("refused")
        return
    event("predicted")
    alone = isinstance(given_texts, str | dict)
    assert len([found] if alone else found) == (1 if alone else len(given_texts))
    for text, keyphrases in zip([given_texts] if alone else given_texts, [found] if alone else found, strict=True):
        assert not isinstance(text, str) or keyphrases.text == text
        for phrase in keyphrases.phrases:
            assert not set("\0\ud800") & set(phrase["surface"])
