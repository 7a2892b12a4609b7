"""Keep what libraries say to their own developers out of a user's terminal."""

import sys


def quiet_transformers() -> None:
    """Leave out reports on weights that are meant to be new, and bars for milliseconds; only if it is loaded."""
    library = sys.modules.get("transformers")
    if library is not None:
        library.utils.logging.set_verbosity_error()
        library.utils.logging.disable_progress_bar()
