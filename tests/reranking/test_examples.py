"""Generated phrases become examples: only absent ones are candidates, gold ones on request."""

from pathlib import Path

from simckp.networks.backbones import load_tokenizer
from simckp.networks.tokenization import Tokenizer
from simckp.reranking.examples import reranking_examples
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
    assert example.label.tolist() == [False, True]  # the first wrong phrase, and every right one
