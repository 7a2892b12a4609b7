"""The keyphrases of all training documents, by the words of the documents.

A new document probably has keyphrases of the training documents that are most similar to it (its neighbours). This is
not in the paper; the paper's generator learns the training corpus by heart, as far as its weights allow.

Shapes: B documents that ask, N documents of the memory, V terms, P distinct keyphrases.
"""

import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer

from simckp.data.records import Document
from simckp.errors import SimCKPError
from simckp.retrieval.titles import Encode, TitleIndex, Vectors
from simckp.text import scoring_key, single_spaced, stems

_ARRAYS, _TERMS, _PHRASES, _IDS = "index.safetensors", "terms.parquet", "phrases.parquet", "ids.parquet"
# In a corpus of this size, a term that one document has connects nothing, and one that a third has tells nothing.
_LARGE, _RARE, _COMMON = 1000, 2, 0.3


# More similar titles are those of another version of the same document.
_SAME_TITLE = 0.95


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A document of the memory: its position, and its cosine similarity to the document that asks."""

    position: int
    similarity: float


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The neighbours of one document, best first: those with similar words, and those with a similar title."""

    words: list[Neighbour]
    titles: list[Neighbour]


class KeyphraseMemory:
    """An index of documents (TF-IDF of stems, sublinear; vectors of titles) with their keyphrases.

    Args:
        terms: The V terms.
        idf: Their inverse document frequencies, float32, shape (V,).
        index: The documents as unit vectors with the precision of float16, shape (V, N), in rows of terms.
        ids: The N ids.
        keys: Scoring keys of the P keyphrases.
        surfaces: Their commonest surfaces.
        phrases: Numbers of the keyphrases of each document, as a sparse matrix (N, P).
        titles: The documents by their titles, if there is an encoder for them.
    """

    def __init__(
        self,
        *,
        terms: Sequence[str],
        idf: NDArray[np.float32],
        index: sparse.csr_array,
        ids: Sequence[str],
        keys: Sequence[str],
        surfaces: Sequence[str],
        phrases: sparse.csr_array,
        titles: TitleIndex | None = None,
    ) -> None:
        self.titles = titles
        self.ids, self.keys, self.surfaces = list(ids), list(keys), list(surfaces)
        self._terms, self._idf, self._index, self._phrases = list(terms), idf, index, phrases
        self.frequencies: NDArray[np.int64] = np.bincount(phrases.indices, minlength=len(keys))
        self._vectorizer = None
        if terms:
            self._vectorizer = _vectorizer(vocabulary=list(terms))
            self._vectorizer.idf_ = idf

    def __len__(self) -> int:
        """Return the number of documents N."""
        return len(self.ids)

    @classmethod
    def of(cls, documents: Iterable[Document], *, encode: Encode | None = None) -> Self:
        """Return the memory of training documents; ``encode`` gives the vectors of titles."""
        texts: list[tuple[str, ...]] = []
        titles: list[str] = []
        ids: list[str] = []
        forms: dict[str, Counter[str]] = {}
        rows: list[list[str]] = []
        for document in documents:
            texts.append(stems(document["text"]))
            titles.append(title_of(document))
            ids.append(document["id"])
            own = {scoring_key(phrase): single_spaced(phrase) for phrase in document["keyphrases"]}
            own.pop("", None)
            for key, surface in own.items():
                forms.setdefault(key, Counter())[surface] += 1
            rows.append(list(own))
        number = {key: position for position, key in enumerate(forms)}
        numbers = np.array([number[key] for row in rows for key in row], dtype=np.int32)
        ends = np.cumsum([0, *map(len, rows)])
        shape = len(rows), len(forms)
        phrases = sparse.csr_array((np.ones(len(numbers), dtype=np.int8), numbers, ends), shape=shape)
        surfaces = [count.most_common(1)[0][0] for count in forms.values()]
        common = {"ids": ids, "keys": list(forms), "surfaces": surfaces, "phrases": phrases}
        if encode is not None and titles:
            common["titles"] = TitleIndex.of(encode(titles))
        if not any(texts):
            nothing = sparse.csr_array((0, len(texts)), dtype=np.float32)
            return cls(terms=[], idf=np.zeros(0, dtype=np.float32), index=nothing, **common)
        large = len(texts) >= _LARGE
        vectorizer = _vectorizer(min_df=_RARE if large else 1, max_df=_COMMON if large else 1.0)
        vectors = vectorizer.fit_transform(texts)
        index = sparse.csr_array(vectors.T)
        index.data = index.data.astype(np.float16).astype(np.float32)  # as they are stored
        return cls(terms=list(vectorizer.get_feature_names_out()), idf=vectorizer.idf_, index=index, **common)

    def neighbours(
        self,
        texts: Sequence[tuple[str, ...]],
        *,
        count: int,
        max_similarity: float,
        own_ids: Sequence[str] | None = None,
        titles: Vectors | None = None,
    ) -> list[Neighbours]:
        """Return the most similar documents of each text, best first; documents without a common term are none.

        Args:
            texts: The texts' stems.
            count: Maximum number of neighbours.
            max_similarity: Documents that are more similar are left out as near-duplicates, so that a training
                document finds what a new one would find.
            own_ids: Ids of the texts if they are documents of the memory; none of them finds itself.
            titles: The texts' titles as unit vectors; a zero vector has no neighbour.
        """
        if self._vectorizer is None or not texts:
            return [Neighbours([], []) for _ in texts]
        similarity_BN = (sparse.csr_array(self._vectorizer.transform(texts)) @ self._index).toarray()
        np.minimum(similarity_BN, 1.0, out=similarity_BN)  # rounding goes beyond
        alike_BN = np.zeros((len(texts), 0), dtype=np.float32)
        if titles is not None and self.titles is not None:
            alike_BN = self.titles.similarities(titles)
            similarity_BN[alike_BN > _SAME_TITLE] = 0.0
            alike_BN[(similarity_BN > max_similarity) | (alike_BN > _SAME_TITLE)] = 0.0
        similarity_BN[similarity_BN > max_similarity] = 0.0
        for row, identifier in enumerate(own_ids or ()):
            position = self._positions.get(identifier)
            if position is not None:
                similarity_BN[row, position] = 0.0
                alike_BN[row, position : position + 1] = 0.0  # there is no column without titles
        return [
            Neighbours(self._best(similarity_N, count), self._best(alike_N, count))
            for similarity_N, alike_N in zip(similarity_BN, alike_BN, strict=True)
        ]

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {identifier: position for position, identifier in enumerate(self.ids)}

    @staticmethod
    def _best(similarity_N: NDArray[np.float32], count: int) -> list[Neighbour]:
        if count < len(similarity_N):
            # All that are as similar as the last one, so that the choice does not depend on the order of partitioning.
            least = np.partition(similarity_N, -count)[-count]
            positions = np.flatnonzero(similarity_N >= max(least, np.finfo(np.float32).tiny))
        else:
            positions = np.flatnonzero(similarity_N > 0)
        order = np.lexsort((positions, -similarity_N[positions]))[:count]
        return [Neighbour(int(position), float(similarity_N[position])) for position in positions[order]]

    def fingerprint(self) -> str:
        """Return a checksum of the documents' ids and the keyphrases, by which a model knows its own memory."""
        return f"{zlib.crc32(chr(0).join((*self.ids, *self.keys)).encode()):08x}"

    def phrases_of(self, position: int) -> NDArray[np.int32]:
        """Return the numbers of a document's keyphrases among :attr:`keys`."""
        start, end = self._phrases.indptr[position], self._phrases.indptr[position + 1]
        return self._phrases.indices[start:end]  # type: ignore[no-any-return]

    def save(self, folder: Path) -> None:
        """Write the memory into a folder (safetensors and Parquet)."""
        folder.mkdir(parents=True, exist_ok=True)
        arrays = {
            "idf": self._idf.astype(np.float32),
            "values": self._index.data.astype(np.float16),
            "documents": self._index.indices.astype(np.int32),
            "terms": self._index.indptr.astype(np.int64),
            "phrases": self._phrases.indices.astype(np.int32),
            "ends": self._phrases.indptr.astype(np.int64),
        }
        if self.titles is not None:
            arrays |= {
                "title_projection": self.titles.projection.astype(np.float16),
                "title_vectors": self.titles.rounded,
                "title_scale": np.array([self.titles.scale], dtype=np.float32),
            }
        save_file(arrays, folder / _ARRAYS)
        for name, columns in (
            (_TERMS, {"term": self._terms}),
            (_PHRASES, {"key": self.keys, "surface": self.surfaces}),
            (_IDS, {"id": self.ids}),
        ):
            schema = pa.schema([pa.field(column, pa.string(), nullable=False) for column in columns])
            table = pa.table(columns, schema=schema)
            pq.write_table(table, folder / name, compression="zstd", use_dictionary=False, write_page_checksum=True)

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read the memory that :meth:`save` wrote.

        Raises:
            SimCKPError: A file is missing or damaged, or the files do not fit together.
        """
        try:
            arrays = load_file(folder / _ARRAYS)
            terms, phrases, ids = (
                pq.read_table(folder / name, page_checksum_verification=True) for name in (_TERMS, _PHRASES, _IDS)
            )
            index = (arrays["values"].astype(np.float32), arrays["documents"], arrays["terms"])
            own = (np.ones(len(arrays["phrases"]), dtype=np.int8), arrays["phrases"], arrays["ends"])
            memory = cls(
                terms=terms["term"].to_pylist(),
                idf=arrays["idf"],
                index=sparse.csr_array(index, shape=(len(terms), len(ids))),
                ids=ids["id"].to_pylist(),
                keys=phrases["key"].to_pylist(),
                surfaces=phrases["surface"].to_pylist(),
                phrases=sparse.csr_array(own, shape=(len(ids), len(phrases))),
                titles=_titles(arrays, len(ids)),
            )
            for matrix in (memory._index, memory._phrases):
                matrix.check_format(full_check=True)
        except Exception as error:  # damaged files raise many kinds of errors, and each means the same here
            raise SimCKPError(f"{folder}: not the memory of training keyphrases: {error}") from error
        return memory


def title_of(document: Document) -> str:
    """Return a document's title; of one without, the text, of which the encoder reads the beginning."""
    return document["title"] or document["text"]


def _titles(arrays: dict[str, Any], count: int) -> TitleIndex | None:
    if "title_vectors" not in arrays:
        return None
    projection, vectors = arrays["title_projection"].astype(np.float32), arrays["title_vectors"]
    if vectors.shape != (count, projection.shape[1]):
        raise ValueError(f"{vectors.shape} are not the vectors of {count} titles")
    return TitleIndex(projection, vectors, float(arrays["title_scale"][0]))


def _vectorizer(**options: Any) -> TfidfVectorizer:
    """Return the vectorizer of stems: logarithmic term frequency times idf, as unit vectors (float32)."""
    return TfidfVectorizer(analyzer=_as_it_is, sublinear_tf=True, dtype=np.float32, **options)


def _as_it_is(text: tuple[str, ...]) -> tuple[str, ...]:
    return text
