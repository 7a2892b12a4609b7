"""Options that several commands share: files of documents in any format."""

import math
import sys
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Annotated

import typer
from tqdm import tqdm

from simckp.documents.formats import FORMATS
from simckp.documents.readers import NAMES, RawDocument, Reading, corpus_files, read_documents

DocumentsPath = Annotated[Path, typer.Argument(help="A file or folder of documents; - for standard input.")]
Format = Annotated[str | None, typer.Option(help=f"File format: {', '.join(FORMATS)}; default: from the suffix.")]
Fields = Annotated[list[str] | None, typer.Option("--field", help="Name of a field in the files: title=headline.")]
Encoding = Annotated[str, typer.Option(help="Encoding of text files.")]
Vocabulary = Annotated[
    Path | None, typer.Option(help="Terms to name phrases by: .txt, .csv (label, synonyms), SKOS (.ttl, .rdf ...).")
]
OnlyVocabulary = Annotated[bool, typer.Option("--only-vocabulary", help="Give only terms of the vocabulary.")]
Stop = Annotated[Path | None, typer.Option(help="Phrases that are left out: a text file, one a line.")]
Model = Annotated[str, typer.Option(help="Model folder or hub id.")]


def finite(value: float | None) -> float | None:
    """Return the value of an option.

    Raises:
        BadParameter: It is NaN or infinite, which compares with nothing as a user expects.
    """
    if value is not None and not math.isfinite(value):
        raise typer.BadParameter(f"{value} is not a finite number")
    return value


def given_documents(source: Path, chosen: str | None, fields: list[str] | None, encoding: str) -> Iterator[RawDocument]:
    """Read the documents that a command works on; on a terminal, show a progress bar.

    The first document is read at once, so that a wrong option or header is known before a model is loaded.

    Raises:
        BadParameter: An option has an unknown format or field name.
        InputError: A file cannot be read, or a record in it is invalid.
    """
    if chosen is not None and chosen not in FORMATS:
        raise typer.BadParameter(f"{chosen!r} is none of {', '.join(FORMATS)}", param_hint="--format")
    pairs = [entry.partition("=") for entry in fields or []]
    if bad := [name for name, _, called in pairs if not called or name not in NAMES]:
        raise typer.BadParameter(
            f"{bad[0]!r}: expected id=, title=, abstract= or keyphrases= and a name", param_hint="--field"
        )
    mapped = [name for name, _, _ in pairs]
    if twice := [name for name in mapped if mapped.count(name) > 1]:
        raise typer.BadParameter(f"{twice[0]!r} is named twice", param_hint="--field")
    reading = Reading(format=chosen, fields={name: called for name, _, called in pairs}, encoding=encoding)
    files = corpus_files(source, chosen=chosen)
    documents = iter(tqdm(read_documents(files, reading), unit=" documents", disable=not sys.stderr.isatty()))
    return chain(list(islice(documents, 1)), documents)
