"""Rewrite the code dependencies in ``dvc.yaml`` from the import graph: ``make deps``.

Only lines of a stage's ``deps`` that name Python files or folders of the project are replaced; data, parameters and
outputs are not changed. If a stage imports all modules of a folder, the folder is listed instead.
"""

import re
from pathlib import PurePosixPath

from pipeline.entry import DVC_YAML, ROOT, code_files

_STAGE = re.compile(r"^  (\w+):$")
_DEPS = re.compile(r"^(\s+)deps:$")
_CODE = re.compile(r"^\s+- (?:pipeline|simckp)(?:/\w+)*(?:\.py)?$")
# Dependencies that imports do not show: the stage that checks all parameters depends on the code of the checks.
_FURTHER = {"parameters": ["simckp/params.py"]}


def code_dependencies(stage: str) -> list[str]:
    """Return the files and whole folders of code that can change a stage's result, relative to the repository."""
    files = {str(path.relative_to(ROOT)) for path in code_files(ROOT / "pipeline" / f"{stage}.py")}
    names: set[str] = set(_FURTHER.get(stage, []))
    for name in files:
        folder = PurePosixPath(name).parent
        modules = {str(path.relative_to(ROOT)) for path in (ROOT / folder).rglob("*.py") if path.name != "__init__.py"}
        if folder.parts[0] == "simckp" and len(folder.parts) > 1 and modules <= files:
            names.add(str(folder))
        elif not name.endswith("/__init__.py"):
            names.add(name)
    return sorted(names)


def synchronised(text: str) -> str:
    """Return the text of ``dvc.yaml`` with updated code dependencies of every stage."""
    lines: list[str] = []
    stage = ""
    for line in text.splitlines():
        if match := _STAGE.match(line):
            stage = match[1]
        if _CODE.match(line):
            continue
        lines.append(line)
        if match := _DEPS.match(line):
            lines += [f"{match[1]}  - {path}" for path in code_dependencies(stage)]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    DVC_YAML.write_text(synchronised(DVC_YAML.read_text(encoding="utf-8")), encoding="utf-8")
