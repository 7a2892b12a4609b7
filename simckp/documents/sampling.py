"""A sample of the training documents: generating for all of them would take longer than training."""

import zlib
from collections.abc import Callable, Collection
from heapq import nsmallest

from simckp.data.datasets import Dataset
from simckp.data.records import Document, Generated


def sampled_ids(documents: Dataset, *, count: int | None, without: Collection[str] = ()) -> frozenset[str]:
    """Return the ids of ``count`` documents, or of all of them.

    They are chosen by a hash of their ids, so a larger sample holds a smaller one, and other documents that come or go
    change it little.

    Args:
        documents: A ``documents`` data set.
        count: Number of documents; None for all.
        without: Ids that are not chosen.
    """
    ids = (identifier for table in documents.columns("id") for identifier in table["id"].to_pylist())
    possible = (identifier for identifier in ids if identifier not in without)
    return frozenset(possible if count is None else nsmallest(count, possible, key=_place))


def generated_for(
    documents: list[Document], *, chosen: Collection[str], generate: Callable[[list[Document]], list[Generated]]
) -> list[Generated]:
    """Return what ``generate`` gives for the chosen documents, and nothing for each of the others."""
    found = iter(generate([document for document in documents if document["id"] in chosen]))
    return [
        next(found) if document["id"] in chosen else Generated(id=document["id"], phrases=[], truncated=False)
        for document in documents
    ]


def _place(identifier: str) -> tuple[int, str]:
    return zlib.crc32(identifier.encode()), identifier
