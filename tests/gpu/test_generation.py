"""Generation and scoring on a pretend GPU give the CPU's results, and rarely make the host wait."""

from pathlib import Path
from typing import Any

import pytest
import torch

from simckp.extraction.loading import new_extractor
from simckp.extraction.scoring import score_present
from simckp.generation.overgenerate import Overgenerator
from simckp.params import Scoring
from simckp.reranking.reranker import new_reranker
from simckp.reranking.scoring import score_absent
from simckp.scoring import networks as scores
from tests.conftest import EXTRACTOR_SETTINGS, RERANKER_SETTINGS, make_document, make_generated
from tests.generation.test_beam_search import TEXTS, settings
from tests.pretend_gpu import PretendGPU

# A step of the search waits once, to learn which documents are done.
STEP_WAITS = 1


def untied(model: Any, *, end: float = 3.0) -> Any:
    """Return the network with output weights by which no two beams are equally good, and some end early."""
    head = model.backbone.get_output_embeddings()
    with torch.no_grad():
        head.weight += 0.02 * torch.randn(head.weight.shape, generator=torch.Generator().manual_seed(1))
        head.weight[model.backbone.generation_config.eos_token_id] *= end
    return model


def searched(model: Any, *, with_transformers: bool = False, **changes: Any) -> list[Any]:
    generator = Overgenerator(model, settings(**changes))
    if with_transformers:
        generator._decoder = None
    return generator.search(list(model.tokenizer(TEXTS)))


def assert_same(found: list[Any], expected: list[Any], *, tolerance: float) -> None:
    for mine, reference in zip(found, expected, strict=True):
        assert [beam.token_ids for beam in mine] == [beam.token_ids for beam in reference]
        right = [beam.log_prob for beam in reference]
        assert [beam.log_prob for beam in mine] == pytest.approx(right, abs=tolerance)


@pytest.mark.parametrize(
    "changes",
    [{}, {"shortlist": 40}, {"early_stopping": True}, {"no_repeat_ngram": 3}, {"with_transformers": True}],
    ids=str,
)
def test_the_search_finds_what_it_finds_on_the_cpu(extractor: Any, changes: Any) -> None:
    model = untied(extractor)
    expected = searched(model, **changes)
    with PretendGPU():
        found = searched(model.to("cuda"), **changes)
        model.to("cpu")
    assert_same(found, expected, tolerance=1e-4)


def test_the_search_in_bfloat16(extractor: Any) -> None:
    model = untied(extractor)
    with PretendGPU():
        found = searched(model.to("cuda"), precision="bfloat16")
        model.to("cpu")
    # The two devices round at different places, so beams that are nearly as good may change places.
    exact = searched(model)
    for mine, reference in zip(found, exact, strict=True):
        assert mine[0].log_prob == pytest.approx(reference[0].log_prob, abs=0.05)
        common = {tuple(beam.token_ids) for beam in mine} & {tuple(beam.token_ids) for beam in reference}
        assert len(common) >= len(reference) // 2


@pytest.mark.slow
def test_helpers_split_the_beams_while_the_gpu_searches(tiny_bert: Path) -> None:
    torch.manual_seed(0)
    model = untied(new_extractor(str(tiny_bert), EXTRACTOR_SETTINGS, decoder_layers=1).eval())
    documents = [make_document(text, ["graph theory"], identifier=text) for text in (*TEXTS, "", "...")]
    expected = Overgenerator(model, settings(), overlap=4)(documents)
    assert [len(row["phrases"]) > 0 for row in expected] == [True, True, True, False, False]
    with PretendGPU():
        found = Overgenerator(model.to("cuda"), settings(), overlap=4, batch_size=2, helpers=1)(documents)
        model.to("cpu")
    for mine, reference in zip(found, expected, strict=True):
        assert [phrase["key"] for phrase in mine["phrases"]] == [phrase["key"] for phrase in reference["phrases"]]


@pytest.mark.parametrize("early_stopping", [False, True])
def test_the_host_waits_once_in_a_step(extractor: Any, early_stopping: bool) -> None:
    model, waits = untied(extractor, end=1.0), []
    with PretendGPU() as gpu:
        model.to("cuda")
        for length in (4, 12):
            gpu.waits.clear()
            searched(model, max_new_tokens=length, beams=5, early_stopping=early_stopping)
            waits.append(gpu.waits.copy())
        model.to("cpu")
    many = waits[1]
    many.subtract(waits[0])
    assert 0 < sum(many.values()) <= STEP_WAITS * 8, +many


def test_present_candidates_are_scored_as_on_the_cpu(extractor: Any, pairs: Any) -> None:
    expected = list(score_present(pairs, extractor))
    with PretendGPU() as gpu:
        found = list(score_present(pairs, extractor.to("cuda")))
        extractor.to("cpu")
    assert_scores(found, expected)
    # The batch (two matrices, five columns of candidates), the mask of transformers, and the scores.
    assert sum(gpu.waits.values()) <= 12, gpu.waits


def test_sequence_labelling_scores_as_on_the_cpu(tiny_bert: Path, pairs: Any) -> None:
    torch.manual_seed(0)
    labelling = EXTRACTOR_SETTINGS.model_copy(update={"method": "sequence_labelling"})
    model = new_extractor(str(tiny_bert), labelling, decoder_layers=1).eval()
    expected = list(score_present(pairs, model))
    with PretendGPU():
        found = list(score_present(pairs, model.to("cuda")))
    assert_scores(found, expected)


def test_absent_phrases_are_scored_as_on_the_cpu(tiny_bert: Path, pairs: Any) -> None:
    torch.manual_seed(0)
    model = new_reranker(str(tiny_bert), RERANKER_SETTINGS).eval()
    phrases = ("graph theory", "deep", "new support vector method")  # of several lengths, so that there is padding
    rows = [(document, make_generated(*phrases, identifier=document["id"])) for document, _ in pairs]
    expected = list(score_absent(rows, model))
    with PretendGPU():
        found = list(score_absent(rows, model.to("cuda")))
    assert_scores(found, expected)


@pytest.mark.slow
def test_helpers_prepare_what_the_gpu_scores(
    tiny_bert: Path, pairs: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.manual_seed(0)
    new_extractor(str(tiny_bert), EXTRACTOR_SETTINGS, decoder_layers=1).save(tmp_path / "extractor")
    new_reranker(str(tiny_bert), RERANKER_SETTINGS).save(tmp_path / "reranker")
    rows = [
        (
            document,
            mined,
            make_generated("graph theory", "deep search", identifier=document["id"]),
            make_generated("new method", identifier=document["id"]),
        )
        for document, mined in pairs
    ]
    folders: dict[str, Any] = {"extractor": tmp_path / "extractor", "reranker": tmp_path / "reranker", "overlap": 4}
    folders["scoring"] = Scoring(precision="float32")
    expected = scores.score_documents(rows, **folders)
    scores._loaded.cache_clear()
    monkeypatch.setattr(scores, "_PREPARED_ROWS", 2)
    with PretendGPU():
        found = scores.score_documents(rows, **folders)
        assert scores._loaded(*folders.values())[1]._pool is not None
        scores._loaded.cache_clear()
    assert [row["kind"] for row in found] == [row["kind"] for row in expected]
    assert_scores(found, expected)


def assert_scores(found: list[Any], expected: list[Any]) -> None:
    for mine, reference in zip(found, expected, strict=True):
        right = {phrase["key"]: phrase["score"] for phrase in reference["phrases"]}
        assert {phrase["key"]: phrase["score"] for phrase in mine["phrases"]} == pytest.approx(right, abs=1e-5)
