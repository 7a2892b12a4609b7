"""Put the figures of a finished run into one file, without any text of its documents: ``python -m tools.keep_results``.

Run it in the run's folder with the file to write as argument. Keys are the metrics files' names; ``parameters`` and
``comparisons`` (the tables of experiments) stand beside them.
"""

import json
import sys
from pathlib import Path
from typing import Any

METRICS, PARAMETERS, COMPARISONS = Path("metrics"), Path("data/parameters.json"), Path("data/comparisons.json")


def figures() -> dict[str, Any]:
    """Return every metrics file of the current folder by its name."""
    found = {
        str(path.relative_to(METRICS).with_suffix("")): json.loads(path.read_text(encoding="utf-8"))
        for path in sorted(METRICS.rglob("*.json"))
    }
    for path in (PARAMETERS, COMPARISONS):
        found[path.stem] = json.loads(path.read_text(encoding="utf-8"))
    return found


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(figures(), indent=1, sort_keys=True) + "\n", encoding="utf-8")
