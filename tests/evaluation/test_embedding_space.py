"""t-SNE of a document in both spaces, on tiny networks."""

from pathlib import Path
from typing import Any

from simckp.data.records import Scored, ScoredPhrase
from simckp.evaluation.embedding_space import embedding_space, shows_most
from simckp.evaluation.figures import CANDIDATE, DOCUMENT, KEYPHRASE, space_figure
from simckp.extraction.loading import new_extractor
from simckp.extraction.scoring import score_present
from simckp.reranking.reranker import new_reranker
from simckp.scoring.networks import Networks
from tests.conftest import EXTRACTOR_SETTINGS, RERANKER_SETTINGS


def tiny_extractor(backbone: Path, **changes: Any) -> Any:
    return new_extractor(str(backbone), EXTRACTOR_SETTINGS.model_copy(update=changes), decoder_layers=1).eval()


def absent(*phrases: tuple[str, bool]) -> Scored:
    rows = [ScoredPhrase(key=s, surface=s, score=0.5, label=label, spans=[]) for s, label in phrases]
    return Scored(id="d", kind="absent", phrases=rows, targets=1, truncated=False, unscored=0)


def test_points_of_both_spaces(pairs: Any, tiny_bert: Path) -> None:
    networks = Networks(tiny_extractor(tiny_bert), new_reranker(str(tiny_bert), RERANKER_SETTINGS).eval())
    document, _ = pairs[2]
    (present,) = score_present([pairs[2]], networks.extractor)
    generated = absent(("machine learning", True), ("deep search", False), ("graph theory", False), ("a$b", False))
    points = embedding_space(document, (present, generated), networks, seed=1)
    by_space = {space: [p for p in points if p.space == space] for space in ("extractor", "reranker")}
    assert len(by_space["extractor"]) == 1 + len(present["phrases"])
    assert [p.role for p in by_space["reranker"]] == [DOCUMENT, KEYPHRASE, *[CANDIDATE] * 3]
    assert len({(p.x, p.y) for p in points}) > len(points) // 2
    assert points == embedding_space(document, (present, generated), networks, seed=1)
    svg = space_figure(points, title="t").svg
    assert svg.startswith("<svg") and "xmlns" in svg[:400]


def test_of_a_long_document_the_first_window_is_shown(pairs: Any, tiny_bert: Path) -> None:
    extractor = tiny_extractor(tiny_bert)
    document, _ = pairs[2]
    (present,) = score_present([pairs[2]], extractor)
    (whole,) = extractor.tokenizer([document["text"]])
    extractor.tokenizer = extractor.tokenizer.with_max_tokens(len(whole.input_ids) - 1)
    points = embedding_space(document, (present, absent()), Networks(extractor, None), seed=1)
    shown = [p.text for p in points if p.role != DOCUMENT]
    assert 3 <= len(shown) < len(present["phrases"])
    assert set(shown) < {phrase["surface"] for phrase in present["phrases"]}


def test_networks_without_a_space(pairs: Any, tiny_bert: Path) -> None:
    networks = Networks(tiny_extractor(tiny_bert, method="generation"), None)
    generated = absent(("machine learning", True), ("deep search", False), ("graph theory", False))
    assert embedding_space(pairs[2][0], (generated, generated), networks, seed=1) == []
    assert space_figure([], title="nothing").svg.startswith("<svg")


def test_the_document_that_shows_most() -> None:
    none, one, two = absent(("a", False)), absent(("a", True)), absent(("a", True), ("b", True))
    rows: Any = [("first", (two, none)), ("second", (one, one)), ("third", (two, one)), ("fourth", (two, two))]
    assert shows_most(rows) == rows[2]
    assert shows_most([]) is None
