"""Apply presets to params.yaml; no stage of the graph.

``python -m pipeline.preset`` lists them. ``python -m pipeline.preset paper`` sets in params.yaml what
presets/paper.yaml says; of several presets the last one wins. It refuses where params.yaml differs from the last
commit's in a parameter that no named preset sets, since a forgotten one would pass for the preset's.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Iterable
from functools import reduce
from pathlib import Path

from pipeline.runner import PARAMS
from simckp.errors import ParameterError, SimCKPError
from simckp.params import parse_params, read_params
from simckp.presets import ABSENT, Difference, Tree, compose, differences, dump_tree, load_tree

PRESETS = Path("presets")


def listing() -> str:
    """Return the names of all presets, each with the first line of its file."""
    return "\n".join(f"{path.stem:10}{_first_line(path)}" for path in sorted(PRESETS.glob("*.yaml")))


def apply(names: list[str], *, keep: bool, dry_run: bool) -> list[Difference]:
    """Write ``params.yaml`` with the presets' values and return what changed.

    Args:
        names: Of presets, applied in this order.
        keep: Whether changes of ``params.yaml`` may stay that are neither committed nor a preset's.
        dry_run: Whether the file stays as it is.

    Raises:
        ParameterError: ``params.yaml`` or a preset has a mistake, or ``params.yaml`` such a change.
    """
    read_params(PARAMS)  # what is wrong from here on is a preset's fault
    here, presets = _read(PARAMS), [(path, _read(path)) for path in (PRESETS / f"{name}.yaml" for name in names)]
    composed = here
    for path, preset in presets:
        composed = compose(composed, preset)
        parse_params(composed, source=str(path))
    if not keep and (committed := _committed()) is not None:
        expected = reduce(compose, (preset for _, preset in presets), committed)
        _refuse(differences(expected, composed))
    if not dry_run:
        temporary = PARAMS.with_name(f".{PARAMS.name}.partial")
        temporary.write_text(dump_tree(composed), encoding="utf-8")
        temporary.replace(PARAMS)
    return list(differences(here, composed))


def _refuse(strays: Iterable[Difference]) -> None:
    if lines := _lines(strays):
        raise ParameterError(
            f"{PARAMS} has changes that are not committed, and the presets say nothing about them:\n{lines}\n"
            f"commit them, undo them (git restore {PARAMS}), or keep them (--keep)"
        )


def _read(path: Path) -> Tree:
    return load_tree(path.read_text(encoding="utf-8"), source=str(path))


def _committed() -> Tree | None:
    """Return ``params.yaml`` as the last commit has it; None where there is no such commit."""
    command = ("git", "show", f"HEAD:./{PARAMS}")
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    return None if done.returncode else load_tree(done.stdout, source=f"{PARAMS} of the last commit")


def _first_line(path: Path) -> str:
    return path.read_text(encoding="utf-8").partition("\n")[0].lstrip("# ")


def _lines(changes: Iterable[Difference]) -> str:
    return "\n".join(f"  {change.key}: {_shown(change.old)} -> {_shown(change.new)}" for change in changes)


def _shown(value: object) -> str:
    return repr(value) if value is ABSENT else json.dumps(value, ensure_ascii=False)


def _arguments() -> argparse.Namespace:
    known = sorted(path.stem for path in PRESETS.glob("*.yaml"))
    parser = argparse.ArgumentParser(prog="python -m pipeline.preset", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="preset", help=f"of {', '.join(known)}; none lists them")
    parser.add_argument("--keep", action="store_true", help="keep changes that are neither committed nor a preset's")
    parser.add_argument("--dry-run", action="store_true", help="print what would change, change nothing")
    given = parser.parse_args()
    if unknown := [name for name in given.names if name not in known]:
        parser.error(f"there is no preset {unknown[0]!r}; {PRESETS}/ has {', '.join(known)}")
    return given


def main() -> None:
    """List the presets, or apply those that are named."""
    given = _arguments()
    try:
        if not given.names:
            print(listing())  # noqa: T201
        else:
            changes = apply(given.names, keep=given.keep, dry_run=given.dry_run)
            print(_lines(changes) or f"{PARAMS} has all of it already")  # noqa: T201
    except SimCKPError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
