"""Suppress messages of libraries that do not concern users."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager


def quiet_transformers() -> None:
    """Suppress messages about newly initialised weights, and progress bars, if ``transformers`` is loaded."""
    library = sys.modules.get("transformers")
    if library is not None:
        library.utils.logging.set_verbosity_error()
        library.utils.logging.disable_progress_bar()


@contextmanager
def transformers_quiet() -> Iterator[None]:
    """Suppress these messages within the block; afterwards, the user's own settings apply again."""
    from transformers.utils import logging

    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    quiet_transformers()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()
