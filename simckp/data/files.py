"""Small files of results: JSON and CSV, the same bytes for the same values."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any


def write_json(path: Path, value: object) -> None:
    """Write JSON with sorted keys, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.partial")
    temporary.write_text(json.dumps(value, indent=2, sort_keys=True, allow_nan=False) + "\n", encoding="utf-8")
    temporary.replace(path)


def write_csv(path: Path, columns: Sequence[str], rows: Iterable[Mapping[Any, Any]]) -> None:
    """Write rows under a header; other fields of a row are left out, missing ones are empty."""
    import pandas as pd  # not needed by most stages

    path.parent.mkdir(parents=True, exist_ok=True)
    # As objects, so that integers with gaps stay integers and floats keep all digits.
    pd.DataFrame(list(rows), columns=list(columns), dtype=object).to_csv(path, index=False, lineterminator="\n")
