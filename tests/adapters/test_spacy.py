"""The spaCy component gives what the predictor gives."""

import subprocess
import sys
from pathlib import Path

import pytest
import spacy

from simckp.prediction.predictor import KeyphrasePredictor
from tests.conftest import REPOSITORY
from tests.prediction.test_predictor import TEXTS, make_folder


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory, tiny_bert: Path) -> Path:
    return make_folder(tmp_path_factory.mktemp("model"), tiny_bert)


def test_it_is_found_by_its_name_and_gives_what_the_predictor_gives(model: Path, tmp_path: Path) -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("simckp", config={"model": str(model), "top": 3})
    expected = KeyphrasePredictor(model)(TEXTS, top=3)
    for docs in ([nlp(text) for text in TEXTS], list(nlp.pipe(TEXTS, batch_size=2))):
        for doc, found in zip(docs, expected, strict=True):
            assert [k["phrase"] for k in doc._.keyphrases] == [p["surface"] for p in found.phrases]
            scores = [k["score"] for k in doc._.keyphrases]
            assert scores == pytest.approx([p["score"] for p in found.phrases], abs=1e-4)
            present = {k["phrase"].lower() for k in doc._.keyphrases if k["kind"] == "present"}
            assert {span.text.lower() for span in doc.spans["keyphrases"]} <= present
            for keyphrase in doc._.keyphrases:
                for span in keyphrase["spans"]:
                    assert doc.text[span["start"] : span["end"]].lower() == keyphrase["phrase"].lower()
    nlp.to_disk(tmp_path / "pipeline")  # the component is read again by its name and settings
    again = spacy.load(tmp_path / "pipeline")
    assert [k["phrase"] for k in again(TEXTS[0])._.keyphrases] == [p["surface"] for p in expected[0].phrases]


def test_kinds_and_wrong_settings(model: Path) -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("simckp", config={"model": str(model), "kinds": ["present"]})
    assert {k["kind"] for k in nlp(TEXTS[1])._.keyphrases} == {"present"}
    with pytest.raises(Exception, match="kinds"):
        spacy.blank("en").add_pipe("simckp", config={"model": str(model), "kinds": ["future"]})


def test_a_user_of_spacy_does_not_wait_for_our_networks() -> None:
    script = "import sys, simckp.adapters.spacy; sys.exit('transformers' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False, cwd=REPOSITORY).returncode == 0
