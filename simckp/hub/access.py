"""Turn errors of the model hub into one sentence."""

from collections.abc import Iterator
from contextlib import contextmanager

from simckp.errors import SimCKPError


def is_offline() -> bool:
    """Return whether the user has switched off access to the hub (``HF_HUB_OFFLINE``)."""
    from huggingface_hub import constants

    return bool(constants.HF_HUB_OFFLINE)


@contextmanager
def hub_errors(failure: str) -> Iterator[None]:
    """Turn exceptions of the hub's library into one sentence that begins with ``failure``.

    Raises:
        SimCKPError: The hub refuses the request, does not have the item, or cannot be reached.
    """
    from huggingface_hub import errors

    # errors.HTTPError is the class of the HTTP library in use, which differs between versions.
    possible = (errors.HTTPError, errors.HFValidationError, OSError)  # type: ignore[attr-defined]
    try:
        yield
    except errors.OfflineModeIsEnabled as error:
        raise SimCKPError(f"{failure}: HF_HUB_OFFLINE forbids to ask the hub") from error
    except possible as error:
        reason = str(error).strip().splitlines() or [type(error).__name__]
        raise SimCKPError(f"{failure}: {reason[0]}") from error
