"""Keyphrases of a pandas frame's texts as a tidy frame: one row per keyphrase."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any

import pandas as pd

from simckp.errors import SimCKPError
from simckp.prediction.texts import Text

_TYPES = {
    "rank": "int64",
    "phrase": "str",
    "key": "str",
    "kind": "category",
    "score": "float64",
    "similarity": "float64",
    "occurrences": "int64",
    "start": "Int64",
    "end": "Int64",
}


def keyphrase_frame(
    frame: pd.DataFrame, text: str | Sequence[str], predict: Callable[[list[Text]], Iterable[Any]]
) -> pd.DataFrame:
    """Return the keyphrases of a frame's documents.

    Args:
        frame: One document per row; a missing text is an empty one.
        text: The column of the texts, or the two of titles and abstracts.
        predict: Returns the :class:`~simckp.prediction.predictor.Keyphrases` of each text.

    Returns:
        The columns ``document`` (of the frame's index), ``rank`` (from 1, present keyphrases before absent ones),
        ``phrase``, ``key`` (its stems, by which phrases of several documents are the same), ``kind``, ``score``,
        ``similarity``, ``occurrences``, and ``start`` and ``end`` of the first of them (code points; missing for absent
        keyphrases). A document without keyphrases has no row.

    Raises:
        SimCKPError: There is no such column, or it holds something other than texts.
    """
    columns = [text] if isinstance(text, str) else list(text)
    if missing := [name for name in columns if name not in frame.columns]:
        raise SimCKPError(f"text={text!r}: the frame has no column {missing[0]!r}, only {list(frame.columns)}")
    if len(columns) > 2:
        raise SimCKPError(f"text={text!r}: expected one column of texts, or those of titles and abstracts")
    predicted = predict(_texts(frame, columns))
    rows = [row for name, found in zip(frame.index, predicted, strict=True) for row in _rows(name, found)]
    table = pd.DataFrame(rows, columns=["document", *_TYPES]).astype(_TYPES)
    table["kind"] = table["kind"].cat.set_categories(["present", "absent"])
    return table.astype({"document": frame.index.dtype})


def _texts(frame: pd.DataFrame, columns: list[str]) -> list[Text]:
    values = [frame[name].astype(object).where(frame[name].notna(), "") for name in columns]
    if len(columns) == 1:
        return list(values[0])
    return [{"title": title, "abstract": abstract} for title, abstract in zip(*values, strict=True)]


def _rows(name: Hashable, found: Any) -> Iterator[tuple[Any, ...]]:
    for rank, phrase in enumerate(found.phrases, start=1):
        spans = phrase["spans"]
        start, end = (spans[0]["start"], spans[0]["end"]) if spans else (None, None)
        words, numbers = (phrase["surface"], phrase["key"]), (phrase["score"], phrase["similarity"], len(spans))
        yield (name, rank, *words, phrase["kind"], *numbers, start, end)
