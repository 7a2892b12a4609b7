"""t-SNE of a document in both spaces, on tiny networks."""

from pathlib import Path
from typing import Any

from simckp.data.records import Scored, ScoredPhrase
from simckp.evaluation.embedding_space import embedding_space, shows_most
from simckp.evaluation.figures import CANDIDATE, DOCUMENT, KEYPHRASE, space_figure
from simckp.extraction.ablations import PAPER_SCORING
from simckp.extraction.extractor import new_extractor
from simckp.prediction.scores import score_present
from simckp.reranking.reranker import PAPER_RERANKING, BeamOrder, new_reranker

LENGTHS = {"max_tokens": 32, "reranker_max_tokens": 32, "max_phrase_tokens": 8}


def absent(*phrases: tuple[str, bool]) -> Scored:
    rows = [ScoredPhrase(key=s, surface=s, score=0.5, label=label, spans=[]) for s, label in phrases]
    return Scored(id="d", kind="absent", phrases=rows, targets=1, truncated=False, unscored=0)


def test_points_of_both_spaces(pairs: Any, tiny_bert: Path, tmp_path: Path) -> None:
    extractor, tokenizer = new_extractor(str(tiny_bert), decoder_layers=1)
    extractor.eval().save(tmp_path / "e", tokenizer)
    reranker, second = new_reranker(str(tiny_bert))
    reranker.save(tmp_path / "r", second)
    document, _ = pairs[2]
    (present,) = score_present([pairs[2]], extractor, tokenizer, max_tokens=32)
    generated = absent(("machine learning", True), ("deep search", False), ("graph theory", False), ("a$b", False))
    folders = (tmp_path / "e", tmp_path / "r")
    points = embedding_space(document, (present, generated), folders=folders, seed=1, **LENGTHS)
    by_space = {space: [p for p in points if p.space == space] for space in ("extractor", "reranker")}
    assert len(by_space["extractor"]) == 1 + len(present["phrases"])
    assert [p.kind for p in by_space["reranker"]] == [DOCUMENT, KEYPHRASE, *[CANDIDATE] * 3]
    assert len({(p.x, p.y) for p in points}) > len(points) // 2
    assert points == embedding_space(document, (present, generated), folders=folders, seed=1, **LENGTHS)
    svg = space_figure(points, title="t").svg
    assert svg.startswith("<svg") and "xmlns" in svg[:400]


def test_of_a_long_document_the_first_window_is_shown(pairs: Any, tiny_bert: Path, tmp_path: Path) -> None:
    extractor, tokenizer = new_extractor(str(tiny_bert), decoder_layers=1)
    extractor.eval().save(tmp_path / "e", tokenizer)
    BeamOrder(PAPER_RERANKING.model_copy(update={"method": "none"})).save(tmp_path / "r")
    document, _ = pairs[2]
    (present,) = score_present([pairs[2]], extractor, tokenizer, max_tokens=32)
    lengths = LENGTHS | {"max_tokens": len(tokenizer(document["text"])["input_ids"]) - 1}
    points = embedding_space(document, (present, absent()), folders=(tmp_path / "e", tmp_path / "r"), seed=1, **lengths)
    shown = [p.text for p in points if p.kind != DOCUMENT]
    assert 3 <= len(shown) < len(present["phrases"])
    assert set(shown) < {phrase["surface"] for phrase in present["phrases"]}


def test_networks_without_a_space(pairs: Any, tiny_bert: Path, tmp_path: Path) -> None:
    chosen = PAPER_SCORING.model_copy(update={"method": "generation"})
    extractor, tokenizer = new_extractor(str(tiny_bert), chosen, decoder_layers=1)
    extractor.save(tmp_path / "e", tokenizer)
    BeamOrder(PAPER_RERANKING.model_copy(update={"method": "none"})).save(tmp_path / "r")
    folders = (tmp_path / "e", tmp_path / "r")
    generated = absent(("machine learning", True), ("deep search", False), ("graph theory", False))
    assert embedding_space(pairs[2][0], (generated, generated), folders=folders, seed=1, **LENGTHS) == []
    assert space_figure([], title="nothing").svg.startswith("<svg")


def test_the_document_that_shows_most() -> None:
    none, one, two = absent(("a", False)), absent(("a", True)), absent(("a", True), ("b", True))
    rows: Any = [("first", (two, none)), ("second", (one, one)), ("third", (two, one)), ("fourth", (two, two))]
    assert shows_most(rows) == rows[2]
    assert shows_most([]) is None
