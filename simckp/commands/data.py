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
from simckp.hub.catalogue import PUBLIC_SETS
from simckp.hub.fetching import ask_hub, check_fetched, fetch, public_set

app = typer.Typer(no_args_is_help=True, help="List, fetch and inspect document sets.")
_PROBLEMS_SHOWN = 5


@app.command("list")
def list_sets() -> None:
    """List the public sets that can be fetched, with their citations."""
    table = Table()
    for column in ("name", "on the hub", "cite"):
        table.add_column(column, overflow="fold")
    for wanted in PUBLIC_SETS.values():
        table.add_row(wanted.name, f"{wanted.repository}/{wanted.folder}".rstrip("/"), wanted.citation)
    Console().print(table)


@app.command("fetch")
def fetch_set(
    name: Annotated[str, typer.Argument(help="Name of the set, see simckp data list.")],
    into: Annotated[Path, typer.Option(help="Parent of the set's folder.")] = Path("data/raw"),
    revision: Annotated[str | None, typer.Option(help="Commit or branch of the hub's repository.")] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before the download.")] = False,
) -> None:
    """Fetch a public set from the model hub; show size, licence and citation first, and verify the checksums."""
    wanted = public_set(name)
    folder = into / wanted.name
    if is_offline():
        for path in check_fetched(folder):
            typer.echo(f"{path}: as it was fetched")
        return
    offer = ask_hub(wanted, revision)
    typer.echo(f"{wanted.name}: {offer.wanted.repository} at {offer.revision[:12]}, {len(offer.files)} files")
    typer.echo(f"size     {offer.bytes / 1e6:,.1f} MB")
    typer.echo(f"licence  {offer.licence}")
    typer.echo(f"cite     {wanted.citation}")
    if not yes:
        typer.confirm("Download?", abort=True)
    for path in fetch(offer, folder, report=lambda file: typer.echo(f"{file}: whole, checksum as the hub names it")):
        stem = path.stem
        typer.echo(f"params.yaml, corpora:  {wanted.name.replace('-', '_')}_{stem}: {{path: {path}, files: null}}")


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
