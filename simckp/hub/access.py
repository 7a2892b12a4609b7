"""What can go wrong with the model hub, said in one sentence."""

from collections.abc import Iterator
from contextlib import contextmanager

from simckp.errors import SimCKPError


def is_offline() -> bool:
    """Say whether the user forbids to ask the hub (``HF_HUB_OFFLINE``)."""
    from huggingface_hub import constants

    return bool(constants.HF_HUB_OFFLINE)


@contextmanager
def hub_errors(failure: str) -> Iterator[None]:
    """Turn what the hub's library raises into one sentence that begins with ``failure``.

    Raises:
        SimCKPError: The hub refuses, does not have it, or cannot be reached.
    """
    from huggingface_hub import errors

    # HTTPError is that of the HTTP library in use, which differs between versions.
    possible = (errors.HTTPError, errors.HFValidationError, OSError)  # type: ignore[attr-defined]
    try:
        yield
    except errors.OfflineModeIsEnabled as error:
        raise SimCKPError(f"{failure}: HF_HUB_OFFLINE forbids to ask the hub") from error
    except possible as error:
        reason = str(error).strip().splitlines() or [type(error).__name__]
        raise SimCKPError(f"{failure}: {reason[0]}") from error
