"""What a predictor may be given: texts, or records with a title and an abstract."""

import warnings
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from simckp.data.records import Document
from simckp.documents.cleaning import clean_text, compose, without_controls
from simckp.documents.readers import kind_of, read_texts, refuse_near_names
from simckp.errors import InputError, SimCKPError

Text = str | Mapping[str, str]
_READ = ("title", "abstract")
_LONGEST_PATH = 4096


def as_document(text: Text, number: int) -> Document:
    """Return a text or record as a document for the networks.

    Nothing in a text moves, so that spans refer to it as it was given; only control characters and unpaired
    surrogates are replaced. A record is cleaned and composed as in the pipeline.

    Raises:
        InputError: It is neither, or a record has other fields; the message names its position, ``number``.
    """
    place = Path(f"texts[{number}]")
    if isinstance(text, str):
        title, abstract, whole = "", "", without_controls(str.__str__(text))
    elif isinstance(text, Mapping):
        title, abstract = map(clean_text, read_texts(text, place, None))
        refuse_near_names(text, _READ, place, None)
        whole = compose(title, abstract)
    else:
        raise InputError(place, None, None, f"expected a text or a record, found {kind_of(text)}")
    return Document(id=str(number), title=title, abstract=abstract, text=whole, keyphrases=[], set="")


def as_texts(texts: Any) -> Iterator[Text]:
    """Return an iterator over texts.

    Raises:
        SimCKPError: They cannot be iterated over, or a table was given, which would yield the names of its columns.
    """
    if hasattr(texts, "columns"):
        raise SimCKPError(
            f"texts: expected texts or records, found a {type(texts).__name__}; give one column of texts, or the rows "
            "as records, for example frame.to_dict('records')"
        )
    try:
        if isinstance(texts, bytes | bytearray):
            raise TypeError
        return iter(texts)
    except TypeError as error:
        raise SimCKPError(f"texts: expected texts or records, found {kind_of(texts)}") from error


def given_text(text: Text, document: Document) -> str:
    """Return what the spans of a document refer to: the text as it was given, or the composed text of a record."""
    return str.__str__(text) if isinstance(text, str) else document["text"]


def warn_of_paths(texts: Iterable[Any]) -> None:
    """Warn of a text that is the name of a file: whoever gives it may expect that the file is read."""
    for text in texts:
        if isinstance(text, str) and _is_file(text):
            warnings.warn(f"{text!r} is a file; its name is read as the text, not its content", stacklevel=2)


def _is_file(text: str) -> bool:
    try:
        return len(text) <= _LONGEST_PATH and Path(text).is_file()
    except (OSError, ValueError):
        return False
