"""A stage's entry in ``dvc.yaml``, the only place that names its parameters, inputs and outputs."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from modulefinder import ModuleFinder
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from simckp.data.datasets import Dataset
from simckp.errors import SimCKPError

DVC_YAML = Path("dvc.yaml")
ROOT = Path(__file__).resolve().parent.parent
# Code that cannot change a result: it decides when and where something runs, writes logs and checks parameters (whose
# values are dependencies themselves). No stage depends on this code, so editing it reruns nothing.
WITHOUT_EFFECT = (
    "pipeline/__init__.py",
    "pipeline/entry.py",
    "pipeline/runner.py",
    "simckp/__init__.py",
    "simckp/errors.py",
    "simckp/execution.py",
    "simckp/params.py",
    "simckp/runtime/",
)
# Data sets whose folder name differs from the name of their row type.
_ROWS_OF = {"baselines": "scores", "neighbours": "generations"}
_PLACEHOLDER = re.compile(r"\$\{([\w.]+)\}")


@dataclass(frozen=True, slots=True)
class Entry:
    """The entry of one item of a stage in ``dvc.yaml``, with its placeholders filled in.

    Attributes:
        params: Dotted keys of the parameters that the result depends on.
        deps: Files and folders that the result depends on, including code.
        outs: Files and folders that the stage makes, including metrics and plots.
    """

    params: tuple[str, ...]
    deps: tuple[Path, ...]
    outs: tuple[Path, ...]

    @property
    def inputs(self) -> tuple[Path, ...]:
        """The dependencies that are not code."""
        return tuple(path for path in self.deps if path.parts[0] not in ("pipeline", "simckp"))

    def source(self, name: str, *parts: str) -> Dataset:
        """Return the data set ``name`` that the stage reads; ``parts`` select one if it reads several.

        Raises:
            SimCKPError: The entry does not list it.
        """
        return _dataset(self.inputs, name, parts, "deps")

    def target(self, name: str) -> Dataset:
        """Return the data set ``name`` that the stage writes.

        Raises:
            SimCKPError: The entry does not list it.
        """
        return _dataset(self.outs, name, (), "outs")

    def paths(self, folder: str, ending: str = "") -> list[Path]:
        """Return the files and folders directly in ``folder`` that the stage reads or writes, by their ending."""
        return [
            path for path in (*self.inputs, *self.outs) if path.parent == Path(folder) and path.name.endswith(ending)
        ]

    def path(self, folder: str, ending: str = "") -> Path:
        """Return the one file or folder directly in ``folder`` that the stage reads or writes, by its ending.

        Raises:
            SimCKPError: The entry lists none, or several.
        """
        listed = self.paths(folder, ending)
        if len(listed) != 1:
            wanted = f"{folder}/*{ending}" if ending else f"{folder}/"
            raise SimCKPError(f"{DVC_YAML}: the stage's entry lists {len(listed)} paths {wanted}, not one")
        return listed[0]


def _dataset(paths: Sequence[Path], name: str, parts: Sequence[str], section: str) -> Dataset:
    listed = [path for path in paths if path.parts[:2] == ("data", name)]
    whole = [path for path in listed if path.parts[len(path.parts) - len(parts) :] == tuple(parts)]
    if not whole:  # the entry lists the common folder of several data sets
        whole = [path.joinpath(*parts) for path in listed]
    if len(whole) != 1:
        wanted = "/".join(("data", name, *parts))
        raise SimCKPError(
            f"{DVC_YAML}: the stage's entry lists {len(whole)} data sets {wanted} under {section}, not one"
        )
    return Dataset(whole[0], _ROWS_OF.get(name, name))


def read_entry(name: str, item: Sequence[str], params: Mapping[str, Any]) -> Entry:
    """Read the entry of a stage.

    Args:
        name: Name of the stage.
        item: Arguments of its command, in the order of ``cmd``.
        params: All parameters, for placeholders that name a parameter.

    Raises:
        SimCKPError: There is no such stage, or its command takes other arguments.
    """
    stages = _read_stages()
    if name not in stages:
        raise SimCKPError(f"{DVC_YAML}: there is no stage {name!r}")
    return _filled_in(name, stages[name], item, params)


def all_outputs(params: Mapping[str, Any]) -> frozenset[Path]:
    """Return what all stages make for all sets and seeds that ``params`` name."""
    return frozenset(
        path
        for name, stage in _read_stages().items()
        for item in _items(stage, params)
        for path in _filled_in(name, stage, item, params).outs
    )


def _read_stages() -> dict[str, Any]:
    stages: dict[str, Any] = YAML(typ="safe").load(DVC_YAML.read_text(encoding="utf-8"))["stages"]
    return stages


def _items(stage: Mapping[str, Any], params: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """Yield the arguments of each of a stage's commands."""
    entry = stage.get("do", stage)
    ranges = {f"item.{name}": values for name, values in stage.get("matrix", {}).items()}
    if "foreach" in stage:
        ranges["key"] = stage["foreach"]
    arguments = _PLACEHOLDER.findall(entry["cmd"])
    named = [_PLACEHOLDER.findall(ranges[argument])[0] for argument in arguments]
    yield from product(*(map(str, dig(params, dotted)) for dotted in named))


def _filled_in(name: str, stage: Mapping[str, Any], item: Sequence[str], params: Mapping[str, Any]) -> Entry:
    entry = stage.get("do", stage)
    arguments = _PLACEHOLDER.findall(entry["cmd"])
    if len(arguments) != len(item):
        raise SimCKPError(f"pipeline.{name}: expected {len(arguments)} arguments as in {DVC_YAML}, found {list(item)}")
    values = dict(zip(arguments, item, strict=True))
    if "foreach" in stage:  # over a mapping: ${key} is the name, ${item. ...} its value
        items = dig(params, _PLACEHOLDER.findall(stage["foreach"])[0])
        values |= {f"item.{key}": value for key, value in items[item[0]].items()}

    def filled(text: str) -> str:
        return _PLACEHOLDER.sub(
            lambda match: str(values[match[1]] if match[1] in values else dig(params, match[1])), text
        )

    sections = ("outs", "metrics", "plots")
    return Entry(
        params=tuple(filled(key) for key in entry.get("params", [])),
        deps=tuple(Path(filled(path)) for path in entry.get("deps", [])),
        outs=tuple(Path(filled(path)) for section in sections for path in _paths(entry.get(section, []))),
    )


def _paths(listed: Sequence[Any]) -> Iterator[str]:
    """Yield the paths of outputs; an output with options is a mapping with the path as key."""
    for entry in listed:
        yield next(iter(entry)) if isinstance(entry, Mapping) else entry


def dig(tree: Any, dotted: str) -> Any:
    """Return the value of a dotted key."""
    for key in dotted.split("."):
        tree = tree[key]
    return tree


class DeclaredParams:
    """Parameters that raise an error if a stage reads one that its entry in ``dvc.yaml`` does not list.

    Args:
        section: All parameters, or a section of them.
        listed: Dotted keys that may be read.
        stage: Name of the stage, for the error message.
        prefix: Dotted key of the section, with a final dot; empty for all parameters.
    """

    def __init__(self, section: Any, listed: Sequence[str], stage: str, prefix: str = "") -> None:
        self._section, self._listed, self._stage, self._prefix = section, listed, stage, prefix

    def __getattr__(self, name: str) -> Any:
        return self._read(name.rstrip("_"), getattr(self._section, name))

    def __getitem__(self, name: str) -> Any:
        return self._read(name, self._section[name])

    def _read(self, name: str, value: Any) -> Any:
        dotted = f"{self._prefix}{name}"
        if any(f"{dotted}.".startswith(f"{key}.") for key in self._listed):
            return value
        if any(key.startswith(f"{dotted}.") for key in self._listed):
            return DeclaredParams(value, self._listed, self._stage, f"{dotted}.")
        raise SimCKPError(
            f"{DVC_YAML}: stage {self._stage!r} reads {dotted}, which its entry does not list under params"
        )


def imported_files(script: Path) -> set[Path]:
    """Return the project's files that a script imports, directly or indirectly, including the script itself."""
    finder = ModuleFinder(path=[str(ROOT)])
    finder.run_script(str(script))
    files = {Path(module.__file__).resolve() for module in finder.modules.values() if module.__file__}  # type: ignore[attr-defined]
    return {file for file in files if file.is_relative_to(ROOT) and ".venv" not in file.parts}


def code_files(script: Path) -> list[Path]:
    """Return the imported files that can change the result of a stage, sorted."""
    return sorted(path for path in imported_files(script) if not str(path.relative_to(ROOT)).startswith(WITHOUT_EFFECT))
