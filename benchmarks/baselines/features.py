"""Token spans by checking every token of a document for every occurrence of every candidate."""

from collections.abc import Iterable
from typing import Any

from simckp.data.records import Document, Mined


def token_sets(rows: Iterable[tuple[Document, Mined]], tokenizer: Any, *, max_tokens: int) -> list[list[set[int]]]:
    """Return the tokens of all occurrences of each candidate within the model's length, for each document."""
    documents = []
    for document, mined in rows:
        encoded = tokenizer(document["text"], truncation=True, max_length=max_tokens, return_offsets_mapping=True)
        offsets = encoded["offset_mapping"]
        reach = max((end for _, end in offsets), default=0)
        truncated = len(offsets) >= max_tokens
        candidates = []
        for phrase in mined["phrases"]:
            union: set[int] = set()
            for span in phrase["spans"]:
                inside = {
                    number
                    for number, (start, end) in enumerate(offsets)
                    if start < end and start < span["end"] and end > span["start"]
                }
                if inside and (not truncated or span["end"] <= reach):
                    union |= set(range(min(inside), max(inside) + 1))  # includes tokens of white space in between
            if union:
                candidates.append(union)
        documents.append(candidates)
    return documents
