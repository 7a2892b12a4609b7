"""Write the installed versions into constraints.txt: ``python -m tools.pin``; run the tests afterwards.

Only packages that the project needs with all its extras are written; other installed packages are ignored.
"""

import re
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

CONSTRAINTS = Path("constraints.txt")
PROJECT = "simckp"


def closure(name: str, extras: frozenset[str], found: dict[str, set[frozenset[str]]]) -> None:
    """Add a package and everything that it needs to ``found``, with the extras that were asked for."""
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
    """Return ``name==version`` of all installed packages that the project needs, in alphabetical order."""
    extras = frozenset(metadata.metadata(PROJECT).get_all("Provides-Extra") or [])
    needed: dict[str, set[frozenset[str]]] = {}
    closure(PROJECT, extras, needed)
    lines = []
    for name in sorted(set(needed) - {PROJECT}):
        try:
            lines.append(f"{name}=={re.sub(r'[+].*', '', metadata.version(name))}")
        except metadata.PackageNotFoundError:
            continue
    return lines


if __name__ == "__main__":
    kept = [line for line in CONSTRAINTS.read_text(encoding="utf-8").splitlines() if line.startswith("#")]
    CONSTRAINTS.write_text("\n".join([*kept, *pins()]) + "\n", encoding="utf-8")
