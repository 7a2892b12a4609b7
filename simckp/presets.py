"""Presets: parameters that differ from ``params.yaml``, in the same nested structure."""

import copy
from collections.abc import Iterator, Mapping
from io import StringIO
from typing import Any, NamedTuple

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from ruamel.yaml.representer import RoundTripRepresenter

from simckp.errors import ParameterError

Tree = Mapping[str, Any]

CORPORA = "corpora"  # its keys are names that the user chooses, so two lists of sets are never merged


class _Absent:
    """The value of a missing key."""

    def __repr__(self) -> str:
        return "(nothing)"


ABSENT = _Absent()


class Difference(NamedTuple):
    """A dotted key and its two values; ``ABSENT`` stands for a missing key."""

    key: str
    old: Any
    new: Any


def compose(base: Tree, preset: Tree) -> Tree:
    """Return ``base`` with the preset's values.

    Mappings are merged key by key, except ``corpora``. Every other value, lists included, replaces the value in
    ``base``. The result has the type of ``base``; a tree from :func:`load_tree` keeps its order and comments.
    """
    composed: Any = copy.deepcopy(base)
    for key, value in preset.items():
        below = base.get(key)
        if isinstance(below, Mapping) and isinstance(value, Mapping) and key != CORPORA:
            composed[key] = compose(below, value)
        else:
            composed[key] = value
    return composed  # type: ignore[no-any-return]


def differences(old: Tree, new: Tree, *, prefix: str = "") -> Iterator[Difference]:
    """Yield the differences between two trees, in their order; mappings in both are compared key by key."""
    for key in {**old, **new}:
        before, after = old.get(key, ABSENT), new.get(key, ABSENT)
        if isinstance(before, Mapping) and isinstance(after, Mapping):
            yield from differences(before, after, prefix=f"{prefix}{key}.")
        elif before != after:
            yield Difference(f"{prefix}{key}", before, after)


def load_tree(text: str, *, source: str) -> Tree:
    """Read YAML with its order and comments; error messages begin with ``source``.

    Raises:
        ParameterError: The text is not valid YAML or not a mapping.
    """
    try:
        tree = _yaml().load(text)
    except YAMLError as error:
        raise ParameterError(f"{source}: no valid YAML: {error}") from error
    if not isinstance(tree, Mapping):
        raise ParameterError(f"{source}: expected a mapping of parameters, found {type(tree).__name__}")
    return tree


def dump_tree(tree: Tree) -> str:
    """Return a tree from :func:`load_tree` as YAML, with its order and comments."""
    sink = StringIO()
    _yaml().dump(tree, sink)
    return sink.getvalue()


class _Representer(RoundTripRepresenter):
    """Writes a null value as ``null`` instead of leaving it empty."""


_Representer.add_representer(type(None), lambda self, _: self.represent_scalar("tag:yaml.org,2002:null", "null"))


def _yaml() -> YAML:
    yaml = YAML()
    yaml.Representer = _Representer
    yaml.preserve_quotes = True
    yaml.width = 4096  # lines are not wrapped
    return yaml
