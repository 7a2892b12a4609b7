"""``simckp data``: list, fetch and inspect document sets."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from simckp.commands.options import DocumentsPath, Encoding, Fields, Format, given_documents
from simckp.data.records import Document, Dropped
from simckp.documents.cleaning import Cleaner, is_document
from simckp.errors import SimCKPError
from simckp.hub.access import is_offline
from simckp.hub.archives import fetch_archive
from simckp.hub.catalogue import PUBLIC_SETS, PublicArchive
from simckp.hub.fetching import ask_hub, check_fetched, fetch, public_set

app = typer.Typer(no_args_is_help=True, help="List, fetch and inspect document sets.")
_PROBLEMS_SHOWN = 5


@app.command("list")
def list_sets() -> None:
    """List the public sets that can be fetched, with their citations."""
    table = Table()
    for column in ("name", "repository", "cite"):
        table.add_column(column, overflow="fold")
    for wanted in PUBLIC_SETS.values():
        table.add_row(wanted.name, wanted.place, wanted.citation)
    Console().print(table)


@app.command("fetch")
def fetch_set(
    name: Annotated[str, typer.Argument(help="Name of the set, see simckp data list.")],
    into: Annotated[Path, typer.Option(help="Parent of the set's folder.")] = Path("data/raw"),
    revision: Annotated[str | None, typer.Option(help="Commit or branch of the hub's repository.")] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before the download.")] = False,
) -> None:
    """Fetch a public set; show size, licence and citation first, and verify the checksums."""
    wanted = public_set(name)
    folder = into / wanted.name
    if is_offline():
        for path in check_fetched(folder):
            typer.echo(f"{path}: as it was fetched")
        return
    corpus = wanted.name.replace("-", "_")
    if isinstance(wanted, PublicArchive):
        if revision not in (None, wanted.revision):
            raise SimCKPError(f"{name}: only {wanted.revision} can be verified; leave out --revision")
        _show(
            f"{name}: {wanted.place} at {wanted.revision[:12]}", wanted.size, wanted.licence, wanted.citation, yes=yes
        )
        fetch_archive(wanted, folder, report=typer.echo)
        typer.echo(f"params.yaml, corpora:  {corpus}: {{path: {folder}, files: null, format: bibtex}}")
        return
    offer = ask_hub(wanted, revision)
    title = f"{name}: {wanted.repository} at {offer.revision[:12]}, {len(offer.files)} files"
    _show(title, f"{offer.bytes / 1e6:,.1f} MB", offer.licence, wanted.citation, yes=yes)
    for path in fetch(offer, folder, report=lambda file: typer.echo(f"{file}: whole, checksum as the hub names it")):
        typer.echo(f"params.yaml, corpora:  {corpus}_{path.stem}: {{path: {path}, files: null}}")


def _show(title: str, size: str, licence: str, citation: str, *, yes: bool) -> None:
    """Print what is to be downloaded and ask for consent."""
    typer.echo(f"{title}\nsize     {size}\nlicence  {licence}\ncite     {citation}")
    if not yes:
        typer.confirm("Download?", abort=True)


@app.command("inspect")
def inspect(
    source: DocumentsPath,
    format: Format = None,  # noqa: A002
    field: Fields = None,
    encoding: Encoding = "utf-8",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Print the statistics of the paper's Table 1 for the files, and the first problems found in them."""
    from simckp.evaluation.statistics import set_statistics

    cleaner = Cleaner("inspected", filtered=True)
    lost: list[Dropped] = []
    problems: list[str] = []

    def kept() -> Iterator[Document]:
        try:
            for row in cleaner.clean(given_documents(source, format, field, encoding)):
                if is_document(row):
                    yield row
                else:
                    lost.append(row)
        except SimCKPError as error:
            problems.append(str(error))

    statistics = set_statistics(kept())
    reasons = Counter(f"{row['what']}: {row['reason']}" for row in lost)
    if as_json:
        typer.echo(json.dumps({"statistics": statistics, "dropped": reasons, "problems": problems}, indent=1))
    else:
        for name, value in statistics.items():
            typer.echo(f"{name:<20} {value:10.2f}")
        for reason, count in sorted(reasons.items()):
            typer.echo(f"{'dropped':<20} {count:10d}  {reason}")
        for row in lost[:_PROBLEMS_SHOWN]:
            typer.echo(f"{row['file']}:{row['row']}: {row['what']} {row['reason']} {row['detail']}")
        for problem in problems:
            typer.echo(problem)
    if problems:
        raise typer.Exit(1)
