"""Look at every object of DVC's cache and delete what is damaged: python -m pipeline.check_cache.

DVC trusts an object that it has once written; a disk does not always deserve that. What is deleted comes back by
``dvc pull`` or, where no remote has it, by ``dvc repro``.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from simckp.runtime.provenance import md5_of


def damaged(cache: Path) -> Iterator[Path]:
    """Yield the objects whose content has not the MD5 that they are named by."""
    for path in sorted((cache / "files/md5").glob("??/*")):
        if md5_of(path) != f"{path.parent.name}{path.name.removesuffix('.dir')}":
            yield path


def forget_records(cache: Path, lost: set[str]) -> int:
    """Delete the run cache's records of results that are lost; return how many."""
    records = [path for path in (cache / "runs").glob("*/*/*") if lost & set(_hashes(path))]
    for path in records:
        path.unlink()
    return len(records)


def _hashes(record: Path) -> Iterator[str]:
    for line in record.read_text(encoding="utf-8").splitlines():
        key, _, value = line.strip().removeprefix("- ").partition(": ")
        if key == "md5":
            yield value


def main() -> int:
    """Print what is damaged and delete it; 1 if there was something."""
    asked = subprocess.run(["dvc", "cache", "dir"], capture_output=True, text=True, check=True)  # noqa: S607
    cache = Path(asked.stdout.strip())
    found = list(damaged(cache))
    for path in found:
        print(f"damaged, deleted: {path.parent.name}{path.name}")  # noqa: T201
        path.unlink()
    if found:
        lost = {f"{path.parent.name}{path.name}" for path in found}
        records = forget_records(cache, lost)
        print(json.dumps({"objects": len(found), "records": records}))  # noqa: T201
        print("now: dvc pull (if a remote has them), then dvc repro")  # noqa: T201
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
