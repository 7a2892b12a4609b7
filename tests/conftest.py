"""Fixtures: tiny random networks (no download), a few documents, and the real documents where they are at hand.

torch and transformers are imported by the fixtures that need them: worker processes import this module with the
functions of a test.
"""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

from simckp.candidates.alignment import Word
from simckp.candidates.mining import mine
from simckp.data.records import Document, Generated, GeneratedPhrase, Mined, Tagged
from simckp.params import ExtractorSettings, RerankerSettings

if TYPE_CHECKING:
    from simckp.extraction.extractor import ExtractorGenerator

# Networks are tiny and test processes run side by side; torch reads this when it is imported.
os.environ["OMP_NUM_THREADS"] = "1"

# The paper's, with lengths for tiny networks.
EXTRACTOR_SETTINGS = ExtractorSettings(
    method="contrastive",
    negatives="hard",
    document_pooling="first",
    phrase_pooling="sum",
    temperature=0.1,
    reduction="mean",
    max_source_tokens=32,
    max_target_tokens=32,
)
RERANKER_SETTINGS = RerankerSettings(
    method="contrastive",
    shared_encoder=True,
    present_phrases="leave_out",
    document_pooling="first",
    phrase_pooling="first",
    temperature=0.1,
    reduction="mean",
    max_source_tokens=32,
    max_phrase_tokens=8,
)

# The first call of a property may load a library; machines are noisy.
settings.register_profile("project", deadline=None)
settings.load_profile("project")

REPOSITORY = Path(__file__).resolve().parent.parent
SHARED = REPOSITORY.parent / "shared"
VOCABULARY = [
    *("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"),
    *"abcdefghijklmnopqrstuvwxyz.,-0123456789",
    *(f"##{letter}" for letter in "abcdefghijklmnopqrstuvwxyz0123456789"),
    *("graph", "graphs", "network", "networks", "neural", "sparse", "learning", "machine", "the", "of", "we", "study"),
    *("colour", "##ing", "deep", "theory", "random", "search", "tabu", "support", "vector", "method", "new"),
]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files that take minutes, so that no process waits for them at the end."""
    items.sort(key=lambda item: "pipeline" not in item.path.parts)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real documents; tests that need it are skipped without it."""
    if not SHARED.is_dir():
        pytest.skip("the folder of real documents is not here")
    return SHARED


@pytest.fixture(scope="session")
def tiny_bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """See :func:`make_tiny_bert`."""
    return make_tiny_bert(tmp_path_factory.mktemp("tiny-bert"))


def make_tiny_bert(folder: Path) -> Path:
    """Write a random two-layer BERT of width 16 and its tokenizer into a folder."""
    import torch
    from transformers import BertConfig, BertModel, BertTokenizerFast

    vocabulary = {token: index for index, token in enumerate(VOCABULARY)}
    tokenizer = BertTokenizerFast(vocab=vocabulary, do_lower_case=True)
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(VOCABULARY),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=64,
    )
    BertModel(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def tiny_bart(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a random BART of width 16 and a byte-level tokenizer (BART's kind)."""
    import torch
    from tokenizers import ByteLevelBPETokenizer
    from transformers import BartConfig, BartForConditionalGeneration, BartTokenizerFast

    folder = tmp_path_factory.mktemp("tiny-bart")
    trainer = ByteLevelBPETokenizer()
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    trainer.train_from_iterator(
        ["we study sparse graphs and neural networks"] * 3, vocab_size=300, special_tokens=special
    )
    trainer.save_model(str(folder))
    tokenizer = BartTokenizerFast.from_pretrained(folder)
    torch.manual_seed(0)
    config = BartConfig(
        vocab_size=len(tokenizer),
        d_model=16,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=32,
        decoder_ffn_dim=32,
        max_position_embeddings=64,
    )
    BartForConditionalGeneration(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(params=["bert", "bart"])
def extractor(request: pytest.FixtureRequest, tiny_bert: Path, tiny_bart: Path) -> "ExtractorGenerator":
    """An untrained extractor of each kind of backbone, in evaluation mode."""
    import torch

    from simckp.extraction.loading import new_extractor

    torch.manual_seed(0)
    if request.param == "bert":
        return new_extractor(str(tiny_bert), EXTRACTOR_SETTINGS, decoder_layers=1).eval()
    return new_extractor(str(tiny_bart), EXTRACTOR_SETTINGS, decoder_layers=None).eval()


def make_document(text: str, keyphrases: list[str], *, identifier: str = "d", set_name: str = "train") -> Document:
    """A document without a title."""
    return Document(id=identifier, title="", abstract=text, text=text, keyphrases=keyphrases, set=set_name)


def make_generated(*phrases: str | dict[str, Any], identifier: str = "d", truncated: bool = False) -> Generated:
    """Return phrases of the beams in the order of their ranks: a surface, or a mapping with it and other fields."""
    usual = {"source": "beams", "neighbours": 0, "weight": 0.0, "beams": 1, "log_prob": -1.0}
    usual |= {"present": False, "label": False}
    rows = []
    for rank, phrase in enumerate(phrases):
        fields = {"surface": phrase} if isinstance(phrase, str) else phrase
        rows.append(GeneratedPhrase(**{**usual, "best_rank": rank, "key": fields["surface"], **fields}))  # type: ignore[typeddict-item]
    return Generated(id=identifier, phrases=rows, truncated=truncated)


def make_tagged(text: str, tags: str, *, identifier: str = "d") -> Tagged:
    """Words split at white space, with the tags given in one string."""
    words: list[Word] = []
    position = 0
    for token, tag in zip(text.split(), tags.split(), strict=True):
        start = text.index(token, position)
        position = start + len(token)
        words.append(Word(tag, start, position))
    return Tagged(
        id=identifier,
        words=[text[word.start : word.end] for word in words],
        tags=[word.tag for word in words],
        starts=[word.start for word in words],
        ends=[word.end for word in words],
    )


@pytest.fixture
def pairs() -> list[tuple[Document, Mined]]:
    """See :func:`make_pairs`."""
    return make_pairs()


def make_pairs() -> list[tuple[Document, Mined]]:
    """Six short documents with their candidates; half of them have an absent keyphrase."""
    texts: list[tuple[str, str, list[str]]] = [
        ("we study sparse graphs", "PRP VBP JJ NNS", ["sparse graphs", "graph theory"]),
        ("neural networks of deep learning", "JJ NNS IN JJ NN", ["neural networks", "deep learning"]),
        ("the new support vector method", "DT JJ NN NN NN", ["support vector method", "machine learning"]),
        ("tabu search of random graphs", "NN NN IN JJ NNS", ["tabu search"]),
        ("machine learning of graph colouring", "NN NN IN NN NN", ["graph colouring", "deep networks"]),
        ("we study random search", "PRP VBP JJ NN", ["random search"]),
    ]
    found: list[Any] = []
    for number, (text, tags, keyphrases) in enumerate(texts):
        document = make_document(text, keyphrases, identifier=f"d{number}")
        found.append((document, mine(document, make_tagged(text, tags, identifier=f"d{number}"), max_words=6)))
    return found
