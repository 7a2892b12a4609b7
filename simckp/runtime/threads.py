"""How torch's threads wait for one another; to be called before torch is imported."""

import os

# Iterations of GNU OpenMP's busy waiting before a thread sleeps. Its default, without end as long as there are no more
# threads than cores, takes the time that a thread on a busy core needs; none at all costs 8 % on an idle machine.
_SPINS = "2000"


def wait_politely() -> None:
    """Let idle threads sleep soon, so that training beside other work keeps its share of the cores.

    A user's own ``GOMP_SPINCOUNT`` or ``OMP_WAIT_POLICY`` is left alone.
    """
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", _SPINS)
