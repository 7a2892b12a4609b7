"""What must hold of the code as a whole: imports go one way, and ``dvc.yaml`` tells the truth about every stage."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from pipeline.entry import imported_files
from pipeline.layout import EFFECTIVE
from simckp.params import WITHOUT_EFFECT, Params
from simckp.runtime.provenance import record_path
from tests.conftest import REPOSITORY
from tools.sync_deps import synchronised

# Lower layers first; a module imports only from its own layer's package and from layers before it.
LAYERS = [
    "errors",
    "quiet",
    "hub",
    "provenance",
    "memory",
    "text",
    "records",
    "datasets",
    "params",
    "presets",
    "settings",
    "execution",
    "documents",
    "candidates",
    "selection",
    "calibration",
    "models",
    "features",
    "scoring",
    "generation",
    "training",
    "baselines",
    "prediction",
    "evaluation",
    "embedding_space",
    "model_folder",
    "model_card",
    "predictor",
    "outputs",
    "explanation",
    "service",
    "adapters",
    "commands",
    "cli",
]
STAGES = [
    "parameters",
    "ingest",
    "deduplicate",
    "tag",
    "mine",
    "train_extractor",
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
    return LAYERS.index(module.split(".")[1])


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
    helpers = {"__init__", "runner", "layout", "training", "experiments", "preset", "pictures", "check_cache"}
    assert {path.stem for path in (REPOSITORY / "pipeline").glob("*.py")} == {*STAGES, *helpers}


@pytest.mark.parametrize("stage", STAGES)
def test_dependencies_are_exactly_the_modules_that_a_stage_imports(stage: str) -> None:
    listed = {dep for dep in dvc_stages()[stage]["deps"] if dep.endswith(".py")}
    imported = {str(p.relative_to(REPOSITORY)) for p in imported_files(REPOSITORY / "pipeline" / f"{stage}.py")}
    assert listed == imported, "run `make deps`"


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
    assert package_data(stage) <= set(dvc_stages()[stage]["deps"])
    if stage == "report":
        assert len(package_data(stage)) == 2


def used_parameters(stage: str) -> set[str]:
    """Dotted parameters that a stage's own script reads: chains after ``params``."""
    found = set()
    for name in (stage, *(["training"] if stage.startswith("train_") else [])):
        for node in ast.walk(tree(REPOSITORY / "pipeline" / f"{name}.py")):
            chain: list[str] = []
            inner: ast.AST = node
            while isinstance(inner, ast.Attribute):
                chain.insert(0, inner.attr)
                inner = inner.value
            if isinstance(inner, ast.Name):
                chain.insert(0, inner.id)
            if "params" in chain[:-1]:
                found.add(".".join(chain[chain.index("params") + 1 :]).replace("lambda_", "lambda"))
    return found


@pytest.mark.parametrize("stage", STAGES)
def test_each_stage_depends_on_just_its_own_parameters(stage: str) -> None:
    listed = [entry.split(".${")[0] for entry in dvc_stages()[stage].get("params", [])]
    used = used_parameters(stage)
    used = {chain for chain in used if not any(longer.startswith(f"{chain}.") for longer in used)}
    if "effective" in used:
        assert listed == EFFECTIVE
        return
    if "params.yaml" in dvc_stages()[stage]["deps"]:
        return  # it reads the whole file
    if "data/" in str(dvc_stages()[stage].get("outs")):
        used.add("shard_rows")  # every Parquet data set is cut by it
    for entry in listed:
        assert any(f"{chain}.".startswith(f"{entry}.") for chain in used), f"{stage} does not use {entry}"
    for chain in used - {"test_sets"}:
        assert any(f"{chain}.".startswith(f"{entry}.") for entry in listed), f"{stage} uses {chain}"


@pytest.mark.parametrize("stage", STAGES)
def test_the_script_declares_the_same_parameters_as_dvc_yaml(stage: str) -> None:
    (call,) = [
        node
        for node in ast.walk(tree(REPOSITORY / "pipeline" / f"{stage}.py"))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Stage"
    ]
    constants = {
        node.value for node in ast.walk(tree(REPOSITORY / "pipeline" / f"{stage}.py")) if isinstance(node, ast.Constant)
    }
    uses = next(keyword.value for keyword in call.keywords if keyword.arg == "uses")
    if isinstance(uses, ast.Name) and uses.id == "EFFECTIVE":
        assert dvc_stages()[stage]["params"] == EFFECTIVE
        return
    for entry in dvc_stages()[stage].get("params", []):
        assert (f"{entry.split('${')[0]}" if "${" in entry else entry) in constants


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
    assert names == {*EFFECTIVE, *WITHOUT_EFFECT}
