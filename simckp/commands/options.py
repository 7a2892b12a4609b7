"""What several commands take: files of documents in any format."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer
from tqdm import tqdm

from simckp.documents.formats import FORMATS
from simckp.documents.readers import NAMES, RawDocument, Reading, corpus_files, read_documents

DocumentsPath = Annotated[Path, typer.Argument(help="A file or folder of documents; - for standard input.")]
Format = Annotated[str | None, typer.Option(help=f"Of the files: {', '.join(FORMATS)}; default: what the suffix says.")]
Fields = Annotated[list[str] | None, typer.Option("--field", help="title=headline: what a field is called there.")]
Encoding = Annotated[str, typer.Option(help="Of text files.")]


def given_documents(source: Path, chosen: str | None, fields: list[str] | None, encoding: str) -> Iterator[RawDocument]:
    """Read the documents that a command was given, with a bar on a terminal.

    Raises:
        BadParameter: An option makes no sense.
        InputError: A file is not as it should be.
    """
    if chosen is not None and chosen not in FORMATS:
        raise typer.BadParameter(f"{chosen!r} is none of {', '.join(FORMATS)}", param_hint="--format")
    pairs = [entry.partition("=") for entry in fields or []]
    if bad := [name for name, equals, _ in pairs if not equals or name not in NAMES]:
        raise typer.BadParameter(f"{bad[0]!r}: expected id=, title=, abstract= or keyphrases=", param_hint="--field")
    reading = Reading(format=chosen, fields={name: called for name, _, called in pairs}, encoding=encoding)
    files = corpus_files(source, chosen=chosen)
    return iter(tqdm(read_documents(files, reading), unit=" documents", disable=not sys.stderr.isatty()))
