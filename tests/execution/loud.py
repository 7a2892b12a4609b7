"""A function whose module loads a library that shows progress bars."""

from typing import Any

from transformers.utils import logging


def bars(rows: list[Any]) -> list[Any]:
    """Say in each title whether bars are shown."""
    return [row | {"title": str(logging.is_progress_bar_enabled())} for row in rows]
