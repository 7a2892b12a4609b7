"""Dropout on the CPU at a fraction of its usual price.

PyTorch draws one random number an element, on one core: a third of a training step. Here a byte decides an element,
eight from one draw. Rates are therefore multiples of 1/256 (0.1 becomes 26/256 = 0.1016), and the scale is that of
the rate applied, so that the expectation stays exact. On other devices nothing changes.
"""

import math
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch.overrides import TorchFunctionMode

_LEVELS = 256
_BYTES_A_DRAW = 8


class ByteDropout(TorchFunctionMode):
    """While active, ``dropout`` and the dropout of attention take bytes for their masks.

    Works for every network, since it stands between it and the functions that it calls. Masks come from torch's
    default generator: the seed and a checkpoint's random state govern them as before.
    """

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Replace the two functions on CPU tensors; pass on every other call."""
        kwargs = kwargs or {}
        if func is functional.dropout and args[0].device.type == "cpu":
            return _dropout(*args, **kwargs)
        drops = func is functional.scaled_dot_product_attention and kwargs.get("dropout_p", 0.0) > 0.0
        if drops and args[0].device.type == "cpu" and not kwargs.get("enable_gqa"):
            return _attention(*args, **kwargs)
        return func(*args, **kwargs)


def _dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:  # noqa: A002
    """``torch.nn.functional.dropout``; never in place."""
    return drop(input, p) if training and p > 0.0 else input


def drop(values: Tensor, rate: float) -> Tensor:
    """Return ``values`` with elements zeroed at ``rate`` (rounded to 1/256, at least one) and the others scaled."""
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
        # The one fused kernel for value * mask * scale.
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
    """``scaled_dot_product_attention`` written out, its dropout by bytes."""
    factor = 1.0 / math.sqrt(query.shape[-1]) if scale is None else scale
    weights = torch.matmul(query * factor, key.transpose(-2, -1))
    if is_causal:
        allowed = torch.ones(weights.shape[-2:], dtype=torch.bool).tril()
        weights = weights.masked_fill(~allowed, -torch.inf)
    if attn_mask is not None:
        filled = weights.masked_fill(~attn_mask, -torch.inf) if attn_mask.dtype == torch.bool else weights + attn_mask
        weights = filled
    return torch.matmul(drop(weights.softmax(dim=-1), dropout_p), value)
