"""Other languages: stems, candidates by universal tags, spellings, and warnings of a text in another one."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from simckp.candidates.alignment import Word, align_words
from simckp.candidates.mining import mine
from simckp.candidates.tagging import load_tagger, tagged_documents
from simckp.cli import app
from simckp.data.records import Mined, Tagged
from simckp.errors import SimCKPError
from simckp.execution import Engine, Listed, map_pieces
from simckp.language import NAMES, speaking, spoken, spoken_there
from simckp.networks.settings import read_settings, write_settings
from simckp.params import Tagger
from simckp.prediction.concepts import concept
from simckp.prediction.language import language_warnings
from simckp.prediction.model_folder import PredictorSettings
from simckp.prediction.predictor import KeyphrasePredictor
from simckp.prediction.terms import Terms
from simckp.runtime.helpers import Helpers
from simckp.text import StemmedText, candidate_key, has_content_word, scoring_key, split_by_presence, stems
from tests.conftest import make_document
from tests.prediction.test_predictor import make_folder

FRENCH = (
    "Apprentissage contrastif pour l'extraction de mots-clés. Nous étudions l'apprentissage contrastif de "
    "représentations dans les réseaux de neurones. Un réseau de neurones choisit les phrases qui résument un document, "
    "et la recherche en faisceau propose celles que le texte ne contient pas."
)
TEXTS = {
    "en": "We study neural networks that choose the phrases which summarise a document, and a beam search that "
    "proposes those which are not in its text.",
    "fr": FRENCH,
    "de": "Wir untersuchen neuronale Netze, die aus einem Text die Wörter auswählen, mit denen man ein Dokument "
    "zusammenfassen kann, und eine Suche, die auch solche vorschlägt, die nicht darin stehen.",
    "es": "Estudiamos las redes neuronales que eligen las frases de un documento que mejor lo resumen, y una búsqueda "
    "en haz que propone las que no están en el texto porque nadie las escribió.",
    "pt": "Estudamos as redes neurais que escolhem as frases de um documento que melhor o resumem, e uma busca em "
    "feixe que propõe as que não estão no texto porque ninguém as escreveu.",
    "it": "Studiamo le reti neurali che scelgono le frasi di un documento che meglio lo riassumono, e una ricerca che "
    "propone quelle che non sono nel testo perché nessuno le ha scritte.",
    "nl": "Wij onderzoeken neurale netwerken die uit een tekst de woorden kiezen waarmee men een document kan "
    "samenvatten, en een zoektocht die ook woorden voorstelt die er niet in staan.",
}


@pytest.mark.parametrize(
    ("code", "first", "second"),
    [
        ("de", "tiefe Netze", "tiefen Netzen"),
        ("fr", "réseau de neurones", "réseaux de neurones"),
        ("es", "red neuronal", "redes neuronales"),
        ("pt", "rede treinada", "Redes treinados"),
        ("it", "rete neurale", "reti neurali"),
        ("nl", "sterk netwerk", "sterke netwerken"),
    ],
)
def test_the_forms_of_a_phrase_are_one(code: str, first: str, second: str) -> None:
    assert candidate_key(first) != candidate_key(second)
    with speaking(code):
        assert candidate_key(first) == candidate_key(second)
        assert concept(first) == concept(second)
    assert spoken().code == "en"


@pytest.mark.parametrize(("code", "words"), [("fr", "pêche péché"), ("es", "ano año"), ("pt", "avó avô")])
def test_accents_tell_words_apart_but_not_in_english(code: str, words: str) -> None:
    first, second = words.split()
    assert scoring_key(first) == scoring_key(second)
    with speaking(code):
        assert scoring_key(first) != scoring_key(second)


def tagged(words: str) -> tuple[str, Tagged]:
    """Return a text and its words, which are given as ``word/TAG``."""
    text, found = "", []
    for pair in words.split():
        word, tag = pair.rsplit("/", 1)
        found.append(Word(tag, len(text), len(text) + len(word)))
        text += f"{word} "
    joined = align_words(text, found)
    return text, Tagged(
        id="d",
        words=[text[word.start : word.end] for word in joined],
        tags=[word.tag for word in joined],
        starts=[word.start for word in joined],
        ends=[word.end for word in joined],
    )


def surfaces(mined: Mined) -> set[str]:
    return {phrase["surface"] for phrase in mined["phrases"]}


@pytest.mark.parametrize(
    ("code", "words", "gold", "found", "never"),
    [
        (
            "de",
            "Wir/PRON lernen/VERB Merkmale/NOUN tiefer/ADJ neuronaler/ADJ Netze/NOUN für/ADP die/DET "
            "Bilderkennung/NOUN ./PUNCT Ein/DET neuronales/ADJ Netz/NOUN ist/AUX so/ADV nicht/PART nötig/ADJ ./PUNCT",
            ["neuronale Netze", "Bildverarbeitung"],
            {"tiefer neuronaler Netze", "Netze für die Bilderkennung", "Ein neuronales Netz"},
            {"Wir", "ist", "so", "Bilderkennung .", "für", "die"},
        ),
        (
            "pt",
            "O/DET aprendizado/NOUN de/ADP máquina/NOUN e/CCONJ a/DET teoria/NOUN da/ADP decisão/NOUN são/AUX "
            "úteis/ADJ ,/PUNCT mas/CCONJ não/ADV sempre/ADV ./PUNCT",
            ["aprendizados de máquina", "mineração de dados"],
            {"aprendizado de máquina", "teoria da decisão", "úteis"},
            {"são", "não", "e", "de"},
        ),
    ],
)
def test_universal_tags_give_the_candidates(
    code: str, words: str, gold: list[str], found: set[str], never: set[str]
) -> None:
    text, words_of = tagged(words)
    with speaking(code):
        mined = mine(make_document(text, gold), words_of, max_words=6, require_content_word=True)
    assert found <= surfaces(mined)
    assert not never & surfaces(mined)
    assert (mined["present_targets"], mined["absent_targets"], mined["missed_targets"]) == (gold[:1], gold[1:], [])


def french() -> Tagger:
    return Tagger(name="spacy", model="fr_core_news_sm", url=None)


def test_a_french_text_from_words_to_candidates() -> None:
    document = make_document(FRENCH, ["réseaux de neurones", "Apprentissage contrastif", "fouille de textes"])
    with speaking("fr"):
        mined = mine(document, *tagged_documents([document], load_tagger(french())), max_words=6)
    labelled = {phrase["surface"]: len(phrase["spans"]) for phrase in mined["phrases"] if phrase["label"]}
    assert labelled == {"réseaux de neurones": 2, "Apprentissage contrastif": 2}
    assert mined["absent_targets"] == ["fouille de textes"]
    assert {"extraction de mots-clés", "recherche en faisceau"} <= surfaces(mined)
    assert "Nous" not in surfaces(mined)


def test_a_tagger_of_another_language_is_refused() -> None:
    with pytest.raises(SimCKPError, match=r"'fr_core_news_sm' is for 'fr', but language is 'en'"):
        load_tagger(french())
    with speaking("de"), pytest.raises(SimCKPError, match="NLTK's tagger knows English alone"):
        load_tagger(Tagger(name="nltk", model="", url=None))


def test_function_words_name_nothing() -> None:
    for code, nothing, something in (("fr", "dans les", "les graphes"), ("de", "nicht auch", "nicht linear")):
        with speaking(code):
            assert not has_content_word(nothing)
            assert has_content_word(something)


@pytest.mark.parametrize("code", list(NAMES))
def test_a_text_in_another_language_is_noticed(code: str) -> None:
    with speaking(code):
        for other, text in TEXTS.items():
            expected = (
                [] if other == code else [f"the text looks {NAMES[other]}; the model was trained on {NAMES[code]}"]
            )
            assert language_warnings(text) == expected
        assert language_warnings("Мы изучаем нейронные сети и поиск лучом в тексте") == [
            f"most of the text is in a script that the model does not know; it was trained on {NAMES[code]}"
        ]


class Files:
    """Files of pieces."""

    suffix = ".json"

    def write(self, path: Path, rows: list[Any]) -> None:
        path.write_text(json.dumps(rows), encoding="utf-8")

    def is_whole(self, path: Path) -> bool:
        return path.exists()


def _stems(rows: list[str]) -> list[str]:
    return [" ".join(stems(row)) for row in rows]


def test_workers_and_helpers_speak_the_language_of_their_parent(tmp_path: Path) -> None:
    with speaking("fr"):
        expected = _stems(["généralités", "réseaux"])
        assert expected != spoken_there(_stems)([]) + _in_english(["généralités", "réseaux"])
        pieces = map_pieces(
            _stems,
            Listed(["généralités", "réseaux"]),
            files=Files(),
            piece_rows=1,
            scratch=tmp_path / "scratch",
            engine=Engine(workers=2),
        )
        assert [json.loads(path.read_text(encoding="utf-8"))[0] for path in pieces] == expected
        assert list(Helpers(_stems, 1).map([["généralités", "réseaux"]])) == [expected]


def _in_english(rows: list[str]) -> list[str]:
    with speaking("en"):
        return _stems(rows)


def test_a_model_speaks_its_own_language_whatever_is_spoken_around_it(tmp_path: Path, tiny_bert: Path) -> None:
    english = KeyphrasePredictor(make_folder(tmp_path / "en", tiny_bert), kinds=["present"])
    folder = make_folder(tmp_path / "fr", tiny_bert)
    settings = read_settings(folder / "simckp.json", PredictorSettings)
    write_settings(folder / "simckp.json", settings.model_copy(update={"language": "fr", "tagger": french()}))
    predictor = KeyphrasePredictor(folder, kinds=["present"])
    before = english(TEXTS["en"], top=50)
    found = predictor(FRENCH, top=50)
    assert not any("looks" in warning for warning in found.warnings)
    keys = {phrase["key"] for phrase in found.phrases}
    with speaking("fr"):
        assert candidate_key("réseaux de neurones") in keys
    assert predictor(TEXTS["en"]).warnings[-1] == "the text looks English; the model was trained on French"
    assert english(TEXTS["en"], top=50) == before
    assert english(FRENCH).warnings[-1] == "the text looks French; the model was trained on English"
    (tmp_path / "stop.txt").write_text("Réseau de neurones\n", encoding="utf-8")
    terms = Terms.of_files(None, stop=tmp_path / "stop.txt", language=predictor.language)
    names = {phrase["surface"].lower() for phrase in predictor(FRENCH, top=50, terms=terms).phrases}
    assert not {"réseau de neurones", "réseaux de neurones"} & names


PHRASE = "réseau de neurones"


def test_predictions_are_scored_in_their_language(tmp_path: Path) -> None:
    gold = {
        "id": "1",
        "title": "Sur les réseaux",
        "abstract": "Les réseaux de neurones.",
        "keyphrases": ["réseau de neurones"],
    }
    (tmp_path / "gold.jsonl").write_text(json.dumps(gold), encoding="utf-8")
    (tmp_path / "theirs.jsonl").write_text(
        json.dumps({"id": "1", "present": ["réseaux de neurones"], "absent": []}), encoding="utf-8"
    )
    command = ["evaluate", str(tmp_path / "gold.jsonl"), str(tmp_path / "theirs.jsonl"), "--json", "--profile", "kpg"]
    found = {}
    for code in ("en", "fr"):
        result = CliRunner().invoke(app, [*command, "--language", code])
        assert result.exit_code == 0, result.output
        found[code] = json.loads(result.output)["kpg"]["present"]["documents_with_gold"]
    assert found == {"en": 0, "fr": 1}
    wrong = CliRunner().invoke(app, [*command, "--language", "xx"])
    assert wrong.exit_code == 2
    with speaking("fr"):
        text = StemmedText(stems(gold["title"] + ". " + str(gold["abstract"])))
        assert split_by_presence([PHRASE], text) == ([PHRASE], [])
