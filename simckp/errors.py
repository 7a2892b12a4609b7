"""The exceptions that are shown to users as one sentence."""

from pathlib import Path


class SimCKPError(Exception):
    """An error outside the program: in a file, a parameter or the environment. It is shown without a traceback."""


class InputError(SimCKPError):
    """An error in a data file.

    Args:
        path: The file.
        row: Line or row, counted from 1; None if the error concerns the whole file.
        field: Name of the field; None if the error concerns the whole row.
        problem: What is wrong with it.
    """

    def __init__(self, path: Path | str, row: int | None, field: str | None, problem: str) -> None:
        where = ":".join(str(part) for part in (path, row, field) if part is not None)
        super().__init__(f"{where}: {problem}")
        self.path, self.row, self.field, self.problem = Path(path), row, field, problem


class ParameterError(SimCKPError):
    """An error in ``params.yaml``; the message names the dotted key."""
