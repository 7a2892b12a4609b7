"""How often each phrase is a candidate, and a keyphrase, of the training documents.

Shapes: P phrases, N phrases that are looked up.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Self

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file

from simckp.data.datasets import Dataset
from simckp.data.records import PhraseCount
from simckp.errors import SimCKPError
from simckp.text import candidate_key

COUNTS = ("candidates", "present", "absent")
_LEAST = 2  # documents that must have a phrase that is nobody's keyphrase
_LEAVES = (
    "id",
    "phrases.list.element.key",
    "phrases.list.element.label",
    "absent_targets.list.element",
    "missed_targets.list.element",
)


def count_phrases(candidates: Dataset, *, without: Collection[str] = ()) -> Iterator[PhraseCount]:
    """Yield the rows of the ``phrases`` data set, sorted by key; one shard of candidates is held in memory.

    A phrase that is nobody's keyphrase and a candidate of a single document is left out: most phrases are, and they
    tell as much as those that no document has.

    Args:
        candidates: The mined candidates of the training documents.
        without: Ids of documents that are not counted.
    """
    left_out = pa.array(list(without), pa.string())
    parts = [_table([])]
    for shard in candidates.columns(*_LEAVES):
        kept = shard.filter(pc.invert(pc.is_in(shard["id"], left_out)))
        phrases = pc.list_flatten(kept["phrases"]).combine_chunks()
        mined = _table(phrases.field("key"), candidates=1)
        gold = _table(phrases.field("key").filter(phrases.field("label")), present=1)
        missed, absent = (
            _table(list(map(candidate_key, pc.list_flatten(kept[name]).to_pylist())), **{kind: 1})
            for name, kind in (("missed_targets", "present"), ("absent_targets", "absent"))
        )
        parts += [_summed([mined, gold, missed, absent])]
        # Summed when as many rows came as there were: each row is summed a few times, and memory stays that of the sum.
        if sum(map(len, parts[1:])) > len(parts[0]):
            parts = [_summed(parts)]
    total = _summed(parts)
    telling = pc.or_(
        pc.greater_equal(total["candidates"], _LEAST), pc.greater(pc.add(total["present"], total["absent"]), 0)
    )
    for batch in total.filter(telling).sort_by("key").to_batches():
        yield from batch.to_pylist()


def _table(keys: pa.Array | Sequence[str], **counts: int) -> pa.Table:
    """Return a table with the same counts for all keys; those that are not given are 0."""
    column = pa.array(keys, pa.string())
    return pa.table({"key": column} | {name: np.full(len(column), counts.get(name, 0), np.int32) for name in COUNTS})


def _summed(tables: list[pa.Table]) -> pa.Table:
    sums = pa.concat_tables(tables).group_by("key").aggregate([(name, "sum") for name in COUNTS])
    return pa.table({"key": sums["key"]} | {name: pc.cast(sums[f"{name}_sum"], pa.int32()) for name in COUNTS})


class PhraseStatistics:
    """The counts of all phrases, found by a hash of 64 bits of their keys.

    Args:
        hashes: Of the P keys, ascending, uint64, shape (P,).
        counts: Their counts in the order of :data:`COUNTS`, int32, shape (P, 3).
    """

    def __init__(self, hashes: NDArray[np.uint64], counts: NDArray[np.int32]) -> None:
        self._hashes, self._counts = hashes, counts

    def __len__(self) -> int:
        """Return the number of phrases P."""
        return len(self._hashes)

    @classmethod
    def of(cls, rows: Iterable[PhraseCount]) -> Self:
        """Return the statistics of the rows of a ``phrases`` data set."""
        frame = pd.DataFrame(rows, columns=["key", *COUNTS])
        hashes = _hashes(frame["key"].tolist())
        order = np.argsort(hashes)
        return cls(hashes[order], frame[list(COUNTS)].to_numpy(np.int32)[order])

    def counts(self, keys: Sequence[str]) -> NDArray[np.int32]:
        """Return the counts of phrases by their candidate keys, shape (N, 3); zeros for unknown ones."""
        if not len(self._hashes) or not keys:
            return np.zeros((len(keys), len(COUNTS)), np.int32)
        wanted = _hashes(keys)
        places = np.minimum(np.searchsorted(self._hashes, wanted), len(self._hashes) - 1)
        found = self._hashes[places] == wanted
        return np.where(found[:, None], self._counts[places], 0).astype(np.int32)

    def save(self, path: Path) -> None:
        """Write the statistics as safetensors."""
        path.parent.mkdir(parents=True, exist_ok=True)
        save_file({"hashes": self._hashes, "counts": self._counts}, path)

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read what :meth:`save` wrote.

        Raises:
            SimCKPError: The file is missing or damaged.
        """
        try:
            arrays = load_file(path)
            hashes, counts = arrays["hashes"], arrays["counts"]
            if hashes.dtype != np.uint64 or counts.shape != (len(hashes), len(COUNTS)):
                raise ValueError("hashes and counts do not fit together")
        except Exception as error:  # damaged files raise many kinds of errors, and each means the same here
            raise SimCKPError(f"{path}: not the statistics of phrases: {error}") from error
        return cls(hashes, counts)


def _hashes(keys: Sequence[str]) -> NDArray[np.uint64]:
    hashes: NDArray[np.uint64] = pd.util.hash_array(np.asarray(keys, dtype=object), categorize=False)
    return hashes
