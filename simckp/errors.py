"""The two exceptions that users meet."""

from pathlib import Path


class SimCKPError(Exception):
    """A mistake outside the program: in a file, a parameter or the environment. Shown without a traceback."""


class InputError(SimCKPError):
    """A fault in a data file.

    Args:
        path: The file.
        row: Line or row, counted from 1, or None if the whole file is meant.
        field: The field's name, or None if the whole row is meant.
        problem: What was found and what was expected.
    """

    def __init__(self, path: Path | str, row: int | None, field: str | None, problem: str) -> None:
        where = ":".join(str(part) for part in (path, row, field) if part is not None)
        super().__init__(f"{where}: {problem}")
        self.path, self.row, self.field, self.problem = Path(path), row, field, problem


class ParameterError(SimCKPError):
    """A fault in ``params.yaml``; the message names the dotted key."""
