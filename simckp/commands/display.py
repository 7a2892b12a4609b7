"""What commands show on a terminal."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.tree import Tree


def show_keyphrases(found: Iterable[tuple[str, Any]]) -> None:
    """Print a table of keyphrases for each document; square brackets of documents are no colours."""
    console = Console()
    for name, keyphrases in found:
        table = Table(title=name, title_justify="left")
        for column in ("keyphrase", "kind", "score", "occurrences"):
            table.add_column(column, justify="left" if column in ("keyphrase", "kind") else "right")
        for phrase in keyphrases.phrases:
            colour, times = "green" if phrase["kind"] == "present" else "magenta", len(phrase["spans"])
            shown = f"[{colour}]{escape(phrase['surface'])}[/]"
            table.add_row(shown, phrase["kind"], f"{phrase['score']:.3f}", str(times or ""))
        console.print(table)
        for warning in keyphrases.warnings:
            console.print(f"[yellow]{escape(warning)}[/]")


def provenance_tree(found: Mapping[str, Any], seen: set[str]) -> Tree:
    """Draw the chain; a stage that was drawn already is only named."""
    title = f"[bold]{escape(found.get('path', found.get('stage', '')))}[/]"
    if "hash" in found:
        title += f"  md5 {found['hash']}" + ("" if found["unchanged"] else "  [red]changed since[/]")
    tree = Tree(title if "stage" in found else f"{title}  (raw)")
    if "stage" not in found:
        return tree
    if found["stage"] in seen:
        tree.add(f"by {found['stage']}, see above")
        return tree
    seen.add(found["stage"])
    note = found.get("record")
    if note:
        state = {None: "no Git", True: "with changes that were not committed", False: "clean"}[note["dirty"]]
        tree.add(f"by {found['stage']} at {note['ended']}, {note['seconds']} s, commit {note['commit']} ({state})")
        tree.add(f"parameters {escape(json.dumps(note['parameters']))}")
        tree.add(f"python {note['python']}, " + ", ".join(f"{n} {v}" for n, v in note["packages"].items()))
        tree.add(escape(", ".join(f"{name} {value}" for name, value in note["hardware"].items())))
    else:
        tree.add(f"by {found['stage']} (its record is not here: dvc pull)")
    if found.get("code"):
        tree.add(f"code {len(found['code'])} files")
    for entry in found["inputs"]:
        tree.add(provenance_tree(entry, seen))
    return tree
