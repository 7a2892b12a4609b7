"""What must hold of the code as a whole: imports go one way, and ``dvc.yaml`` tells the truth about every stage."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from pipeline.entry import code_files, imported_files
from simckp.params import WITHOUT_EFFECT, Params
from simckp.runtime.provenance import record_path
from tests.conftest import REPOSITORY
from tools.sync_deps import synchronised

PAGE = REPOSITORY / "docs/architecture.md"


def layers() -> list[str]:
    """The page's list, lower layers first; a module imports only from its own layer and from layers before it."""
    listed = PAGE.read_text(encoding="utf-8").split("## Layers")[1].split("\n## ")[0]
    return re.findall(r"^\d+\. `(\w+)`", listed, re.MULTILINE)


STAGES = [
    "parameters",
    "ingest",
    "deduplicate",
    "tag",
    "mine",
    "train_extractor",
    "index",
    "count_phrases",
    "retrieve",
    "overgenerate_training",
    "overgenerate",
    "train_reranker",
    "score",
    "calibrate",
    "compare_thresholds",
    "predict",
    "evaluate",
    "baseline",
    "evaluate_baseline",
    "package",
    "visualise",
    "ablations",
    "report",
]


def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield node.module or ""


def library() -> list[Path]:
    return [path for path in sorted((REPOSITORY / "simckp").rglob("*.py")) if path.name != "__init__.py"]


def layer(module: str) -> int:
    return layers().index(module.split(".")[1])


@pytest.mark.parametrize("path", library(), ids=lambda path: str(path.relative_to(REPOSITORY)))
def test_imports_go_one_way(path: Path) -> None:
    own = layer(".".join(path.relative_to(REPOSITORY).with_suffix("").parts))
    for name in imports(path):
        root = name.split(".")[0]
        assert root not in ("pipeline", "tests", "tools", "benchmarks"), f"{path} imports {name}"
        if root == "simckp" and "." in name:
            assert layer(name) <= own, f"{path} imports {name}, a higher layer"


def test_no_module_of_one_package_imports_in_a_circle() -> None:
    graph = {
        ".".join(path.relative_to(REPOSITORY).with_suffix("").parts): {
            n for n in imports(path) if n.startswith("simckp.")
        }
        for path in library()
    }

    def visit(name: str, trail: tuple[str, ...]) -> None:
        assert name not in trail, f"import circle: {' -> '.join((*trail, name))}"
        for further in graph.get(name, ()):
            visit(further, (*trail, name))

    for name in graph:
        visit(name, ())


def dvc_stages() -> dict[str, dict[str, Any]]:
    parsed = YAML(typ="safe", pure=True).load((REPOSITORY / "dvc.yaml").read_text(encoding="utf-8"))
    return {name: stage.get("do", stage) for name, stage in parsed["stages"].items()}


def test_every_stage_has_a_script_and_every_script_a_stage() -> None:
    assert list(dvc_stages()) == STAGES
    helpers = {"__init__", "runner", "entry", "training", "duplicates", "sampling", "weighing"}
    helpers |= {"experiments", "preset", "pictures", "check_cache", "parts"}
    assert {path.stem for path in (REPOSITORY / "pipeline").glob("*.py")} == {*STAGES, *helpers}


def test_the_page_lists_every_folder_and_module_once() -> None:
    names = {path.relative_to(REPOSITORY / "simckp").parts[0].removesuffix(".py") for path in library()}
    assert sorted(layers()) == sorted(names)


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_depends_on_all_code_that_can_change_its_result(stage: str) -> None:
    listed = [Path(dep) for dep in dvc_stages()[stage]["deps"] if dep.startswith(("pipeline/", "simckp/"))]
    for path in code_files(REPOSITORY / "pipeline" / f"{stage}.py"):
        relative = path.relative_to(REPOSITORY)
        if path.name != "__init__.py":
            assert any(relative.is_relative_to(entry) for entry in listed), f"{relative}: run `make deps`"


@pytest.mark.parametrize("stage", STAGES)
def test_a_folder_among_the_dependencies_is_imported_whole(stage: str) -> None:
    imported = imported_files(REPOSITORY / "pipeline" / f"{stage}.py")
    for dep in dvc_stages()[stage]["deps"]:
        if dep.startswith("simckp/") and (REPOSITORY / dep).is_dir():
            modules = {path for path in (REPOSITORY / dep).rglob("*.py") if path.name != "__init__.py"}
            assert modules <= imported, dep


def test_make_deps_would_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(REPOSITORY)
    text = (REPOSITORY / "dvc.yaml").read_text(encoding="utf-8")
    assert synchronised(text) == text


def package_data(stage: str) -> set[str]:
    """Files that a stage's modules read through ``importlib.resources``."""
    found = set()
    for path in imported_files(REPOSITORY / "pipeline" / f"{stage}.py"):
        for node in ast.walk(tree(path)):
            if (
                isinstance(node, ast.BinOp)
                and isinstance(node.right, ast.Constant)
                and "resources" in ast.dump(node.left)
            ):
                found.add(str((path.parent / node.right.value).relative_to(REPOSITORY)))
    return {name for name in found if (REPOSITORY / name).is_file()}


@pytest.mark.parametrize("stage", STAGES)
def test_files_that_modules_read_are_dependencies_too(stage: str) -> None:
    listed = [Path(dep) for dep in dvc_stages()[stage]["deps"]]
    for name in package_data(stage):
        assert any(Path(name).is_relative_to(entry) for entry in listed), name
    if stage == "report":
        assert len(package_data(stage)) == 3


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_is_one_screen(stage: str) -> None:
    text = (REPOSITORY / "pipeline" / f"{stage}.py").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 85
    functions = [
        node for node in ast.walk(tree(REPOSITORY / "pipeline" / f"{stage}.py")) if isinstance(node, ast.FunctionDef)
    ]
    assert "main" in {function.name for function in functions}


def test_every_output_is_ignored_by_git() -> None:
    ignored = (REPOSITORY / ".gitignore").read_text(encoding="utf-8").split()
    for stage in dvc_stages().values():
        plots = (next(iter(plot)) if isinstance(plot, dict) else plot for plot in stage.get("plots", []))
        for out in [*stage.get("outs", []), *stage.get("metrics", []), *plots]:
            parts = out.split("/")
            names = {f"/{'/'.join(parts[:depth])}/" for depth in (1, 2)} | {f"/{out}"}
            assert names & set(ignored), out


@pytest.mark.parametrize("stage", STAGES)
def test_every_stage_leaves_its_record(stage: str) -> None:
    entry = dvc_stages()[stage]
    item = "-".join(entry["cmd"].split()[3:])
    assert str(record_path(f"{stage}@{item}" if item else stage)) in entry["outs"]


def test_every_parameter_has_an_effect_or_is_said_to_have_none() -> None:
    names = {field.alias or name for name, field in Params.model_fields.items()}
    for stage in ("package", "ablations"):
        assert names == {*dvc_stages()[stage]["params"], *WITHOUT_EFFECT}
