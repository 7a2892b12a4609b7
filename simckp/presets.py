"""Presets: a few parameters that differ from ``params.yaml``, in the same nested shape."""

import copy
from collections.abc import Iterator, Mapping
from io import StringIO
from typing import Any, NamedTuple

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from ruamel.yaml.representer import RoundTripRepresenter

from simckp.errors import ParameterError

Tree = Mapping[str, Any]

CORPORA = "corpora"  # its keys are names that the user chooses: two lists of sets are never mixed


class _Absent:
    """The value of a key that is not there."""

    def __repr__(self) -> str:
        return "(nothing)"


ABSENT = _Absent()


class Difference(NamedTuple):
    """A dotted key and its two values, ``ABSENT`` where it is missing."""

    key: str
    old: Any
    new: Any


def compose(base: Tree, preset: Tree) -> Tree:
    """Return ``base`` with the preset's values.

    Mappings are merged key by key, except ``corpora``; every other value, a list too, replaces the base's. The result
    has the type of ``base``, and with it the order and comments of a tree that :func:`load_tree` read.
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
    """Yield what differs between two trees, in their order; mappings that both have are compared key by key."""
    for key in {**old, **new}:
        before, after = old.get(key, ABSENT), new.get(key, ABSENT)
        if isinstance(before, Mapping) and isinstance(after, Mapping):
            yield from differences(before, after, prefix=f"{prefix}{key}.")
        elif before != after:
            yield Difference(f"{prefix}{key}", before, after)


def load_tree(text: str, *, source: str) -> Tree:
    """Read YAML with its order and comments; ``source`` opens the error message.

    Raises:
        ParameterError: The text is no YAML or no mapping.
    """
    try:
        tree = _yaml().load(text)
    except YAMLError as error:
        raise ParameterError(f"{source}: no valid YAML: {error}") from error
    if not isinstance(tree, Mapping):
        raise ParameterError(f"{source}: expected a mapping of parameters, found {type(tree).__name__}")
    return tree


def dump_tree(tree: Tree) -> str:
    """Return the YAML of a tree that :func:`load_tree` read, with its order and comments."""
    sink = StringIO()
    _yaml().dump(tree, sink)
    return sink.getvalue()


class _Representer(RoundTripRepresenter):
    """Writes ``null`` as ``null``, not as nothing."""


_Representer.add_representer(type(None), lambda self, _: self.represent_scalar("tag:yaml.org,2002:null", "null"))


def _yaml() -> YAML:
    yaml = YAML()
    yaml.Representer = _Representer
    yaml.preserve_quotes = True
    yaml.width = 4096  # breaks no line
    return yaml
