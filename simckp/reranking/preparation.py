"""What stage 2 scores, and what becomes of the scores: everything around the network, without the network."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from simckp.data.records import Document, Generated, Scored, ScoredPhrase
from simckp.networks.tokenization import Integers, TextTokenizer
from simckp.params import RerankerSettings
from simckp.reranking.examples import RerankingExample, reranked_phrases, reranking_examples

Vector = TypeVar("Vector")


class HasTokenizer(Protocol):
    """A reranker of any runtime."""

    settings: RerankerSettings

    @property
    def tokenizer(self) -> TextTokenizer:
        """The tokenizer of documents."""
        ...


@dataclass(frozen=True, slots=True)
class AbsentPreparation:
    """Makes examples for scoring; see :func:`simckp.reranking.examples.reranking_examples`."""

    tokenizer: TextTokenizer
    phrase_tokenizer: TextTokenizer
    with_present: bool
    overlap: int | None

    @classmethod
    def of(cls, model: HasTokenizer, *, overlap: int | None) -> "AbsentPreparation":
        """Return the preparation for a network."""
        with_present = model.settings.present_phrases == "negatives"
        phrase_tokenizer = model.tokenizer.with_max_tokens(model.settings.max_phrase_tokens)
        return cls(model.tokenizer, phrase_tokenizer, with_present, overlap)

    def __call__(self, rows: list[tuple[Document, Generated]]) -> list[RerankingExample]:
        """Return one example a document."""
        return list(
            reranking_examples(
                rows, self.tokenizer, self.phrase_tokenizer, with_present=self.with_present, overlap=self.overlap
            )
        )


class VectorCache(Generic[Vector]):
    """Vectors of phrases; each distinct phrase is encoded once, since its vector does not depend on the document.

    Neighbours' phrases recur in many documents, so the vectors are kept for the next ones.

    Args:
        encode: Yields the position of each phrase (token ids) with its vector; it must not change.
        most: Number of vectors that are kept. With more, all are forgotten, and those that are needed made again.
    """

    def __init__(
        self, encode: Callable[[list[Integers]], Iterable[tuple[int, Vector]]], *, most: int = 200_000
    ) -> None:
        self._encode, self._most = encode, most
        self._vectors: dict[bytes, Vector] = {}

    def add(self, phrases: list[Integers]) -> None:
        """Encode the phrases that were not encoded before."""
        if len(self._vectors) > self._most:
            self._vectors.clear()
        new = {key: phrase for phrase in phrases if (key := phrase.tobytes()) not in self._vectors}
        keys = list(new)
        for position, vector in self._encode(list(new.values())):
            self._vectors[keys[position]] = vector

    def of(self, phrases: list[Integers]) -> list[Vector]:
        """Return the vectors of phrases that were added before."""
        return [self._vectors[phrase.tobytes()] for phrase in phrases]


def scored_phrases(
    rows: list[tuple[Document, Generated]],
    examples: list[RerankingExample],
    scores: Iterable[list[float]],
    *,
    with_present: bool,
) -> Iterator[Scored]:
    """Yield the generated phrases of each document that are not in its text, with their scores, best first.

    Args:
        rows: Documents with their generated phrases.
        examples: The result of :class:`AbsentPreparation`.
        scores: The scores of each document's phrases.
        with_present: Whether the phrases in the text were scored too.
    """
    for (document, generated), example, own in zip(rows, examples, scores, strict=True):
        scored = [
            ScoredPhrase(key=phrase["key"], surface=phrase["surface"], score=score, label=phrase["label"], spans=[])
            for phrase, score in zip(reranked_phrases(generated, with_present=with_present), own, strict=True)
        ]
        yield Scored(
            id=document["id"],
            kind="absent",
            phrases=sorted(scored, key=lambda phrase: -phrase["score"]),
            targets=example.targets,
            truncated=example.truncated,
            unscored=0,
        )
