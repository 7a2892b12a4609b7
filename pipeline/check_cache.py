"""Check every object in DVC's cache and delete the damaged ones: ``python -m pipeline.check_cache``.

DVC does not check an object again after writing it, although a disk may damage it later. Restore deleted objects with
``dvc pull`` or, if no remote has them, with ``dvc repro``.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from simckp.runtime.provenance import md5_of


def damaged(cache: Path) -> Iterator[Path]:
    """Yield the objects whose content does not have the MD5 in their name."""
    for path in sorted((cache / "files/md5").glob("??/*")):
        if md5_of(path) != f"{path.parent.name}{path.name.removesuffix('.dir')}":
            yield path


def forget_records(cache: Path, lost: set[str]) -> int:
    """Delete the run cache's records that mention lost results, and return their number."""
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
    """Print and delete the damaged objects; return 1 if there was one, otherwise 0."""
    asked = subprocess.run(["dvc", "cache", "dir"], capture_output=True, text=True, check=True)  # noqa: S607
    cache = Path(asked.stdout.strip())
    objects = list(damaged(cache))
    for path in objects:
        print(f"damaged, deleted: {path.parent.name}{path.name}")  # noqa: T201
        path.unlink()
    if objects:
        lost = {f"{path.parent.name}{path.name}" for path in objects}
        records = forget_records(cache, lost)
        print(json.dumps({"objects": len(objects), "records": records}))  # noqa: T201
        print("now: dvc pull (if a remote has them), then dvc repro")  # noqa: T201
    return 1 if objects else 0


if __name__ == "__main__":
    sys.exit(main())
