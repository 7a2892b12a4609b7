"""Rewrite the code dependencies in ``dvc.yaml`` from the import graph: ``make deps``.

Only lines of a stage's ``deps`` that name a Python file of the project are replaced; data, parameters and outputs
stay as they were written.
"""

import re
from pathlib import Path

from pipeline.entry import imported_files

DVC_YAML = Path("dvc.yaml")
_STAGE = re.compile(r"^  (\w+):$")
_DEPS = re.compile(r"^\s+deps:$")
_CODE = re.compile(r"^(\s+)- (?:pipeline|simckp)/\S+\.py$")


def code_dependencies(stage: str) -> list[str]:
    """Return the project files that a stage's script imports, relative to the repository, sorted."""
    root = Path.cwd().resolve()
    return sorted(str(path.relative_to(root)) for path in imported_files(Path("pipeline", f"{stage}.py")))


def synchronised(text: str) -> str:
    """Return ``dvc.yaml`` with the code dependencies of every stage brought up to date."""
    lines: list[str] = []
    stage, pending = "", False
    for line in text.splitlines():
        if match := _STAGE.match(line):
            stage = match[1]
        if match := _CODE.match(line):
            if pending:
                lines += [f"{match[1]}- {path}" for path in code_dependencies(stage)]
                pending = False
            continue
        pending = bool(_DEPS.match(line))
        lines.append(line)
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    DVC_YAML.write_text(synchronised(DVC_YAML.read_text(encoding="utf-8")), encoding="utf-8")
