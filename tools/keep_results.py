"""Save the figures of a finished run in one file, without any document text: ``python -m tools.keep_results FILE``.

Run it in the folder of the run. The keys are the names of the metrics files, and ``parameters`` and ``comparisons``
(the tables of experiments) if their stages were run.
"""

import json
import sys
from pathlib import Path
from typing import Any

METRICS, PARAMETERS, COMPARISONS = Path("metrics"), Path("data/parameters.json"), Path("data/comparisons.json")


def figures() -> dict[str, Any]:
    """Return the contents of all metrics files of the current folder by name, with parameters and comparisons."""
    contents = {
        str(path.relative_to(METRICS).with_suffix("")): json.loads(path.read_text(encoding="utf-8"))
        for path in sorted(METRICS.rglob("*.json"))
    }
    for path in filter(Path.exists, (PARAMETERS, COMPARISONS)):
        contents[path.stem] = json.loads(path.read_text(encoding="utf-8"))
    return contents


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(figures(), indent=1, sort_keys=True) + "\n", encoding="utf-8")
