"""Suppress messages of libraries that do not concern users."""

import sys


def quiet_transformers() -> None:
    """Suppress messages about newly initialised weights, and progress bars, if ``transformers`` is loaded."""
    library = sys.modules.get("transformers")
    if library is not None:
        library.utils.logging.set_verbosity_error()
        library.utils.logging.disable_progress_bar()
