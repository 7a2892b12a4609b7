"""Settings of trained networks: JSON files in their folders that are validated when they are read."""

from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel

from simckp.errors import SimCKPError

# Names of the files in the folders of the two stages.
EXTRACTOR_SETTINGS, RERANKER_SETTINGS = "extractor.json", "reranker.json"

Settings = TypeVar("Settings", bound=BaseModel)


def write_settings(path: Path, settings: BaseModel) -> None:
    """Write the settings of a trained network as JSON."""
    path.write_text(settings.model_dump_json(indent=2) + "\n", encoding="utf-8")


def read_settings(path: Path, kind: type[Settings]) -> Settings:
    """Read the settings that :func:`write_settings` wrote.

    Raises:
        SimCKPError: The file is missing or does not hold valid settings.
    """
    try:
        return kind.model_validate_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise SimCKPError(f"{path}: not the settings of a trained network: {error}") from error
