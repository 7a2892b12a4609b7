"""Generated phrases become examples: only absent ones are candidates, gold ones on request."""

from pathlib import Path

from simckp.networks.backbones import load_tokenizer
from simckp.networks.tokenization import Tokenizer
from simckp.reranking.examples import reranking_examples, with_fewer_negatives
from tests.conftest import make_document, make_generated


def test_reranking_examples(tiny_bert: Path) -> None:
    tokenizer = load_tokenizer(str(tiny_bert))

    document = make_document("we study graphs", ["graphs", "deep search", "theory"])
    row = make_generated({"surface": "graph", "present": True}, {"surface": "theori", "label": True}, "random")
    tokenizers = Tokenizer(tokenizer, 16), Tokenizer(tokenizer, 8)
    (example,) = reranking_examples([(document, row)], *tokenizers)
    assert example.label.tolist() == [True, False]  # the present phrase is no candidate
    assert example.targets == 2
    assert example.has_contrast
    (example,) = reranking_examples([(document, row)], *tokenizers, with_gold=True)
    assert example.label.tolist() == [True, False, True]  # "deep search" was not generated
    row["phrases"] = row["phrases"][:2]
    (example,) = reranking_examples([(document, row)], *tokenizers)
    assert not example.has_contrast  # no negative
    row = make_generated("random", "deep", {"surface": "theori", "label": True}, "new")
    (example,) = reranking_examples([(document, row)], *tokenizers, negatives=1)
    assert sorted(example.label.tolist()) == [False, True]  # one wrong phrase, and every right one


def test_fewer_negatives_are_of_all_ranks_alike() -> None:
    phrases = make_generated(*(f"phrase {n}" for n in range(100)), {"surface": "right", "label": True})["phrases"]
    chosen = [
        [phrase["surface"] for phrase in with_fewer_negatives(phrases, 10, str(document))] for document in range(200)
    ]
    assert all(len(one) == 11 and one[-1] == "right" for one in chosen)
    assert chosen[0] == [phrase["surface"] for phrase in with_fewer_negatives(phrases, 10, "0")]
    assert chosen[0] == [surface for surface in (p["surface"] for p in phrases) if surface in chosen[0]]  # their order
    ranks = [int(surface.split()[1]) for one in chosen for surface in one[:-1]]
    assert 45 < sum(ranks) / len(ranks) < 54
    assert len(set(ranks)) == 100
    few = make_generated("a", {"surface": "right", "label": True})["phrases"]
    assert with_fewer_negatives(few, 10, "0") == few
