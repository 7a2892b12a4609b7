"""Faster dropout on the CPU.

PyTorch draws one random number per element, on one core, which takes a third of a training step. Here one random byte
decides about an element, and one draw gives eight bytes. Rates are therefore multiples of 1/256 (0.1 becomes 26/256 =
0.1016). The scale matches the applied rate, so the expectation stays exact. Other devices are not affected.

Under mixed precision, attention runs in plain operations even without dropout: on a CPU with bfloat16 units, a training
step of MiniLM then takes a fifth less time than with PyTorch's fused kernel.
"""

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.overrides import TorchFunctionMode

_LEVELS = 256
_BYTES_A_DRAW = 8
# Attributes with which modules of transformers call the function `dropout`.
_RATES = ("dropout", "attention_dropout", "activation_dropout")


class ByteDropout(TorchFunctionMode):
    """While active, ``dropout`` and the dropout in attention use random bytes for their masks.

    It works for every network because it intercepts the torch functions that a network calls. The masks come from
    torch's default generator, so seeds and the random state of checkpoints work as usual.
    """

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Replace the two functions for CPU tensors, and call every other function unchanged."""
        kwargs = kwargs or {}
        if func is functional.dropout and args[0].device.type == "cpu":
            return _dropout(*args, **kwargs)
        plain = kwargs.get("dropout_p", 0.0) > 0.0 or torch.is_autocast_enabled("cpu")
        attends = func is functional.scaled_dot_product_attention and not kwargs.get("enable_gqa")
        if attends and plain and args[0].device.type == "cpu":
            return _attention(*args, **kwargs)
        return func(*args, **kwargs)


def set_dropout(network: nn.Module, rate: float) -> None:
    """Set the rate of every dropout in a network of ``transformers``, for its training; its configuration stays."""
    for module in network.modules():
        if isinstance(module, nn.Dropout):
            module.p = rate
        for name in _RATES:
            if isinstance(getattr(module, name, None), float):
                setattr(module, name, rate)


def _dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:  # noqa: A002
    """``torch.nn.functional.dropout``, but never in place."""
    return drop(input, p) if training and p > 0.0 else input


def drop(values: Tensor, rate: float) -> Tensor:
    """Return ``values`` with elements zeroed at ``rate``, rounded to 1/256 (at least 1/256), and the others scaled."""
    dropped_levels = max(1, round(rate * _LEVELS))
    if dropped_levels >= _LEVELS:
        return values * 0.0
    draws = torch.empty(-(-values.numel() // _BYTES_A_DRAW), dtype=torch.int64).random_(-(2**63), None)
    kept = (draws.view(torch.uint8)[: values.numel()] >= dropped_levels).view(values.shape)
    dropped: Tensor = _Drop.apply(values, kept, _LEVELS / (_LEVELS - dropped_levels))  # type: ignore[no-untyped-call]
    return dropped


class _Drop(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, values: Tensor, kept: Tensor, scale: float) -> Tensor:
        context.save_for_backward(kept)
        context.scale = scale
        # The only fused kernel for value * mask * scale.
        dropped: Tensor = torch.ops.aten.native_dropout_backward(values, kept, scale)
        return dropped

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        (kept,) = context.saved_tensors
        return torch.ops.aten.native_dropout_backward(gradient, kept, context.scale), None, None


def _attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """``scaled_dot_product_attention`` in plain operations, with dropout by :func:`drop`."""
    factor = 1.0 / math.sqrt(query.shape[-1]) if scale is None else scale
    weights = torch.matmul(query * factor, key.transpose(-2, -1))
    if is_causal:
        allowed = torch.ones(weights.shape[-2:], dtype=torch.bool).tril()
        weights = weights.masked_fill(~allowed, -torch.inf)
    if attn_mask is not None:
        filled = weights.masked_fill(~attn_mask, -torch.inf) if attn_mask.dtype == torch.bool else weights + attn_mask
        weights = filled
    with torch.autocast("cpu", enabled=False):  # which would make a copy in float32; the kernel sums in float32 anyway
        shares = weights.softmax(dim=-1)
    return torch.matmul(drop(shares, dropout_p) if dropout_p > 0.0 else shares, value)
