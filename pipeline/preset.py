"""Apply presets to params.yaml; this is not a stage of the pipeline.

``python -m pipeline.preset`` lists the presets. ``python -m pipeline.preset paper`` copies the values of
presets/paper.yaml into params.yaml; of several presets, the last one takes precedence. It refuses if params.yaml has
an uncommitted change of a parameter that no named preset sets, since a forgotten change would look like a preset's.
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
EXTENDS = "extends"  # the key that names the preset to which another one adds


def listing() -> str:
    """Return the names of all presets, each with the first line of its file."""
    return "\n".join(f"{path.stem:12}{_first_line(path)}" for path in sorted(PRESETS.glob("*.yaml")))


def apply(names: list[str], *, keep: bool, dry_run: bool) -> list[Difference]:
    """Write the presets' values into ``params.yaml`` and return what changed.

    Args:
        names: Names of the presets, applied in this order.
        keep: Whether to keep changes in ``params.yaml`` that are neither committed nor from a preset.
        dry_run: Whether to leave the file unchanged.

    Raises:
        ParameterError: ``params.yaml`` or a preset has an error, or ``params.yaml`` has other uncommitted changes and
            ``keep`` is false.
    """
    read_params(PARAMS)  # after this, any error comes from a preset
    here, presets = _read(PARAMS), [part for name in names for part in _with_bases(PRESETS / f"{name}.yaml")]
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


def _with_bases(path: Path) -> list[tuple[Path, Tree]]:
    """Return a preset with its path, after the preset that it extends; only one that extends none can be extended.

    Raises:
        ParameterError: There is no such preset, or it extends another one.
    """
    preset = {**_read(path)}
    name = preset.pop(EXTENDS, None)
    if name is None:
        return [(path, preset)]
    base = path.with_name(f"{name}.yaml")
    if not base.is_file() or EXTENDS in _read(base):
        raise ParameterError(f"{path}: {EXTENDS}: {name!r} is no preset that extends none")
    return [(base, _read(base)), (path, preset)]


def _read(path: Path) -> Tree:
    return load_tree(path.read_text(encoding="utf-8"), source=str(path))


def _committed() -> Tree | None:
    """Return ``params.yaml`` of the last commit; None if no commit has it."""
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
    parser.add_argument("names", nargs="*", metavar="preset", help=f"one of {', '.join(known)}; without one, list all")
    parser.add_argument("--keep", action="store_true", help="keep changes that are neither committed nor from a preset")
    parser.add_argument("--dry-run", action="store_true", help="only print what would change")
    arguments = parser.parse_args()
    if unknown := [name for name in arguments.names if name not in known]:
        parser.error(f"there is no preset {unknown[0]!r}; {PRESETS}/ has {', '.join(known)}")
    return arguments


def main() -> None:
    """List the presets, or apply the named ones."""
    arguments = _arguments()
    try:
        if not arguments.names:
            print(listing())  # noqa: T201
        else:
            changes = apply(arguments.names, keep=arguments.keep, dry_run=arguments.dry_run)
            print(_lines(changes) or f"{PARAMS} has all of it already")  # noqa: T201
    except SimCKPError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
