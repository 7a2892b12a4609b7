"""Terminal output of the commands."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.tree import Tree


def show_keyphrases(predicted: Iterable[tuple[str, Any]]) -> None:
    """Print a table of keyphrases for each document; square brackets in phrases are printed as they are."""
    console = Console()
    for name, keyphrases in predicted:
        table = Table(title=escape(name), title_justify="left")
        for column in ("keyphrase", "kind", "score", "occurrences", "variants"):
            table.add_column(column, justify="right" if column in ("score", "occurrences") else "left")
        for phrase in keyphrases.phrases:
            colour, times = "green" if phrase["kind"] == "present" else "magenta", len(phrase["spans"])
            shown = f"[{colour}]{escape(phrase['surface'])}[/]"
            variants = escape(", ".join(phrase["variants"]))
            table.add_row(shown, phrase["kind"], f"{phrase['score']:.2f}", str(times or ""), variants)
        console.print(table)
        for warning in keyphrases.warnings:
            console.print(f"[yellow]{escape(warning)}[/]")


def provenance_tree(traced: Mapping[str, Any]) -> Tree:
    """Draw the result of :func:`simckp.runtime.provenance.trace` as a tree."""
    return _branch(traced, traced["path"], set())


def _branch(traced: Mapping[str, Any], path: str, seen: set[str]) -> Tree:
    """Draw a file and its origins; of a stage that was already drawn (in ``seen``), only the name is shown."""
    file = traced["files"][path]
    title = f"[bold]{escape(path)}[/]"
    if file["hash"]:
        title += f"  md5 {file['hash']}" + ("" if file["unchanged"] else "  [red]changed since[/]")
    name = file["stage"]
    if name is None:
        return Tree(f"{title}  (raw)")
    tree = Tree(title)
    if name in seen:
        tree.add(f"by {name}, see above")
        return tree
    seen.add(name)
    stage = traced["stages"][name]
    if note := stage["record"]:
        state = {None: "no Git", True: "with changes that were not committed", False: "clean"}[note["dirty"]]
        tree.add(f"by {name} at {note['ended']}, {note['seconds']} s, commit {note['commit']} ({state})")
        tree.add(f"parameters {escape(json.dumps(note['parameters']))}")
        tree.add(f"python {note['python']}, " + ", ".join(f"{n} {v}" for n, v in note["packages"].items()))
        tree.add(escape(", ".join(f"{name} {value}" for name, value in note["hardware"].items())))
    elif file["hash"]:
        tree.add(f"by {name} (its record is not here: dvc pull)")
    else:
        tree.add(f"by {name}")
    if stage["code"]:
        tree.add(f"code {len(stage['code'])} files")
    for entry in stage["inputs"]:
        tree.add(_branch(traced, entry, seen))
    return tree
