"""Write the versions that are installed here into constraints.txt: ``python -m tools.pin``, then run the tests.

Only what the project with all its extras needs is written, whatever else is installed.
"""

import re
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

CONSTRAINTS = Path("constraints.txt")
PROJECT = "simckp"


def closure(name: str, extras: frozenset[str], found: dict[str, set[frozenset[str]]]) -> None:
    """Add all that a package needs to ``found``."""
    key = canonicalize_name(name)
    if extras in found.setdefault(key, set()):
        return
    found[key].add(extras)
    try:
        requires = metadata.requires(name) or []
    except metadata.PackageNotFoundError:
        return  # not needed on this system
    for line in requires:
        wanted = Requirement(line)
        contexts = [{"extra": extra} for extra in extras] or [{"extra": ""}]
        if wanted.marker is None or any(wanted.marker.evaluate(context) for context in contexts):
            closure(wanted.name, frozenset(wanted.extras), found)


def pins() -> list[str]:
    """Return ``name==version`` of everything, in alphabetical order."""
    extras = frozenset(metadata.metadata(PROJECT).get_all("Provides-Extra") or [])
    found: dict[str, set[frozenset[str]]] = {}
    closure(PROJECT, extras, found)
    lines = []
    for name in sorted(set(found) - {PROJECT}):
        try:
            lines.append(f"{name}=={re.sub(r'[+].*', '', metadata.version(name))}")
        except metadata.PackageNotFoundError:
            continue
    return lines


if __name__ == "__main__":
    kept = [line for line in CONSTRAINTS.read_text(encoding="utf-8").splitlines() if line.startswith("#")]
    CONSTRAINTS.write_text("\n".join([*kept, *pins()]) + "\n", encoding="utf-8")
