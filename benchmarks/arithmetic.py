"""Estimate how much of a machine's peak performance a network reaches: measured peak, operations of the network."""

import time
from functools import lru_cache

import torch
from torch import nn

_SIZES = {"cpu": 2048, "cuda": 8192}
_REPEATS = 5


@lru_cache(maxsize=8)
def matmul_peak(device_type: str, dtype: torch.dtype) -> float:
    """Return the floating-point operations per second of a large matrix product on this machine, best of six runs."""
    size = _SIZES.get(device_type, 2048)
    # A separate generator, so that measuring does not change the random numbers of a training.
    generator = torch.Generator(device_type).manual_seed(0)
    first, second = (torch.randn(size, size, generator=generator, device=device_type, dtype=dtype) for _ in range(2))
    best = float("inf")
    for _ in range(_REPEATS + 1):
        _wait(device_type)
        start = time.perf_counter()
        torch.mm(first, second)
        _wait(device_type)
        best = min(best, time.perf_counter() - start)
    return 2.0 * size**3 / best


def linear_weights(module: nn.Module) -> int:
    """Return the number of weights in linear layers; each needs two operations per token in a forward pass."""
    return sum(part.weight.numel() for part in module.modules() if isinstance(part, nn.Linear))


def _wait(device_type: str) -> None:
    if device_type == "cuda":
        torch.cuda.synchronize()
