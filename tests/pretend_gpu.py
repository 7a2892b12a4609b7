"""A pretend GPU for the CPU build of torch, so that the code for GPUs is tested where there is none.

Its tensors say that they are on ``cuda:0`` and hold real values on the CPU. As on a GPU, an operation on tensors of
both devices raises, and memory can run out. Every wait of the host for the device is counted, with the line that waits.

A :class:`PretendTensor` wraps a CPU tensor. C++ sees it on ``meta``, for which every build of torch has autograd (a CPU
build has none for ``cuda``); Python sees it on ``cuda:0``. Two modes of torch do the rest: :class:`_Names` translates
the device's name in calls, and :class:`_Operations` runs each operation on the wrapped tensors.
"""

import copy
import re
import sys
import warnings
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self
from unittest import mock

import torch
from torch import nn
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_iter, tree_map, tree_map_only

CUDA, CPU, META = torch.device("cuda", 0), torch.device("cpu"), torch.device("meta", 7)
aten = torch.ops.aten
_REPOSITORY = Path(__file__).resolve().parent.parent
_GIBIBYTE = 1 << 30


class PretendTensor(torch.Tensor):
    """A tensor on the pretend GPU; ``inner`` holds its values."""

    inner: torch.Tensor
    __torch_function__ = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, real: torch.Tensor, requires_grad: bool = False) -> "PretendTensor":
        made = torch.Tensor._make_wrapper_subclass(
            cls,
            real.shape,
            strides=real.stride(),
            storage_offset=real.storage_offset(),
            dtype=real.dtype,
            layout=real.layout,
            device=META,
            requires_grad=requires_grad,
        )
        made.inner = real
        return made

    @classmethod
    def __torch_dispatch__(cls, operation: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _run(operation, args, kwargs or {}, None)

    @property
    def device(self) -> torch.device:
        return CUDA

    @property
    def is_cuda(self) -> bool:
        return True

    @property
    def is_cpu(self) -> bool:
        return False

    @property
    def is_meta(self) -> bool:
        return False

    def get_device(self) -> int:
        return 0

    def untyped_storage(self) -> torch.UntypedStorage:
        return self.inner.untyped_storage()

    def data_ptr(self) -> int:
        return self.inner.data_ptr()

    def tolist(self) -> Any:
        return self.detach().to(CPU).tolist()

    def numpy(self, **_: Any) -> Any:
        raise TypeError("can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy it first.")

    __array__ = numpy

    def __repr__(self, **_: Any) -> str:
        return f"PretendTensor({self.inner})"

    def __reduce_ex__(self, protocol: Any) -> Any:
        return PretendTensor, (self.inner, self.requires_grad)

    def __deepcopy__(self, memo: dict[int, Any]) -> "PretendTensor":
        if id(self) not in memo:
            with torch.no_grad():
                made = PretendTensor(self.inner.clone(), self.requires_grad)
            for name, value in vars(self).items():
                if name != "inner":
                    setattr(made, name, copy.deepcopy(value, memo))
            memo[id(self)] = made
        return memo[id(self)]


class PretendGPU:
    """While it is entered, ``cuda`` is the pretend GPU.

    Args:
        largest: Bytes of the largest tensor that it can hold; a larger one raises ``torch.OutOfMemoryError``.

    Attributes:
        waits: How often the host waited for the device, by what it waited for and where.
    """

    def __init__(self, largest: int | None = None) -> None:
        self.largest, self._warns = largest, False
        self.waits: Counter[tuple[str, str]] = Counter()

    def wait(self, reason: str) -> None:
        """Count a wait."""
        self.waits[reason, _place()] += 1
        if self._warns:
            warnings.warn(f"called a synchronizing CUDA operation ({reason})", stacklevel=2)

    def _set_sync_debug_mode(self, mode: str) -> None:
        self._warns = mode == "warn"

    def check_memory(self, made: torch.Tensor) -> None:
        """Raise as CUDA does if a tensor is too large."""
        size = made.numel() * made.element_size()
        if self.largest is not None and size > self.largest:
            raise torch.OutOfMemoryError(f"CUDA out of memory. Tried to allocate {size} bytes.")

    def __enter__(self) -> Self:
        self._stack = ExitStack()
        enter = self._stack.enter_context
        for name, value in _CUDA_FUNCTIONS.items():
            enter(mock.patch.object(torch.cuda, name, value, create=True))
        for name in ("get_rng_state", "set_rng_state", "get_rng_state_all", "set_rng_state_all"):
            enter(mock.patch.object(torch.cuda.random, name, _CUDA_FUNCTIONS[name]))
        enter(mock.patch.object(torch.cuda, "set_sync_debug_mode", self._set_sync_debug_mode))
        enter(mock.patch.object(torch, "Generator", _Generator))
        for name, value in _ACCELERATOR_FUNCTIONS.items():
            enter(mock.patch.object(torch.accelerator, name, value))
        enter(mock.patch.object(nn.Module, "to", _move_module))
        enter(mock.patch.object(torch.autograd, "_engine_run_backward", _run_backward))
        enter(torch.serialization.safe_globals([PretendTensor]))
        enter(_Names())
        enter(_Operations(self))
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()


class _Operations(TorchDispatchMode):
    def __init__(self, gpu: PretendGPU) -> None:
        super().__init__()
        self._gpu = gpu

    def __torch_dispatch__(self, operation: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        # In inference mode composite operations arrive whole; their parts are what is checked and counted.
        if torch._C._dispatch_has_kernel_for_dispatch_key(operation.name(), "CompositeImplicitAutograd"):
            with self:
                result = operation.decompose(*args, **kwargs)
            if result is not NotImplemented:
                return result
        return _run(operation, args, kwargs, self._gpu)


def _run(operation: Any, args: Any, kwargs: dict[str, Any], gpu: PretendGPU | None) -> Any:
    """Run an operation on the wrapped tensors and wrap its results."""
    given = [one for one in tree_iter((args, kwargs)) if isinstance(one, torch.Tensor)]
    ours = [one for one in given if isinstance(one, PretendTensor)]
    wanted = kwargs.get("device")
    to_us = wanted is not None and torch.device(wanted).type in ("meta", "cuda")
    if not ours and not to_us:
        return operation(*args, **kwargs)
    if ours:
        _refuse_other_device(operation, args, kwargs)
    if gpu is not None:
        for reason in _waits(operation, args, kwargs, to_us=to_us):
            gpu.wait(reason)
    real_args, real_kwargs = tree_map_only(PretendTensor, lambda one: one.inner, (args, kwargs))
    real_kwargs |= {"device": CPU} if wanted is not None else {}
    real_kwargs |= {"pin_memory": False} if real_kwargs.get("pin_memory") else {}
    # A view of a tensor from outside inference mode is made outside it, as its base was.
    outside = bool(ours) and torch.is_inference_mode_enabled() and not ours[0].is_inference() and _is_view(operation)
    with torch.inference_mode(False) if outside else nullcontext():
        results = operation(*real_args, **real_kwargs)
        return _wrapped(operation, given, results, gpu) if to_us or wanted is None else results


def _wrapped(operation: Any, given: list[torch.Tensor], results: Any, gpu: PretendGPU | None) -> Any:
    """Return an operation's results as tensors of the device."""
    # An operation in place returns the very tensor that it was given.
    same = {id(one.inner if isinstance(one, PretendTensor) else one): one for one in given}

    def wrapped(result: torch.Tensor) -> torch.Tensor:
        if operation._schema.is_mutable and id(result) in same:
            return same[id(result)]
        if gpu is not None and not _is_view(operation):
            gpu.check_memory(result)
        return PretendTensor(result)

    if operation in (aten._pack_padded_sequence.default, aten._pad_packed_sequence.default):
        return wrapped(results[0]), results[1]  # the sizes of the steps, and the lengths, are the host's
    return tree_map_only(torch.Tensor, wrapped, results)


def _is_view(operation: Any) -> bool:
    return any(one.alias_info is not None and not one.alias_info.is_write for one in operation._schema.returns)


_INDEXING = {aten.index.Tensor, aten._unsafe_index.Tensor}
_INDEXED_WRITING = {aten.index_put_.default, aten.index_put.default, aten._index_put_impl_.default}
# The arguments that CUDA takes from the CPU, by position.
_FROM_HOST: dict[Any, set[int]] = {
    **{operation: {1} for operation in _INDEXING | _INDEXED_WRITING},
    aten._pack_padded_sequence.default: {1},
    aten._pack_padded_sequence_backward.default: {2},
    aten._pad_packed_sequence.default: {1},
    aten.copy_.default: {0, 1},
    aten._to_copy.default: {0},
    aten.lift_fresh.default: {0},
}
# Others take numbers from the CPU (tensors without dimensions); these do not.
_NO_NUMBERS = {
    aten.mm.default,
    aten.bmm.default,
    aten.addmm.default,
    aten.cat.default,
    aten.stack.default,
    aten.gather.default,
    aten.index_select.default,
    aten.embedding.default,
    aten.native_layer_norm.default,
}


def _refuse_other_device(operation: Any, args: Any, kwargs: dict[str, Any]) -> None:
    taken = _FROM_HOST.get(operation, set())
    for position, value in [*enumerate(args), *kwargs.items()]:
        for one in tree_iter(value):
            host = isinstance(one, torch.Tensor) and not isinstance(one, PretendTensor)
            if host and position not in taken and (one.dim() or operation in _NO_NUMBERS):
                raise RuntimeError(
                    "Expected all tensors to be on the same device, but found at least two devices, "
                    f"cuda:0 and cpu! ({operation})"
                )
    if operation in _INDEXING and not isinstance(args[0], PretendTensor):
        raise RuntimeError("indices should be either on cpu or on the same device as the indexed tensor (cpu)")
    if operation is aten._pack_padded_sequence.default and isinstance(args[1], PretendTensor):
        raise RuntimeError("'lengths' argument should be a 1D CPU int64 tensor, but got 1D cuda:0 Long tensor")


_DATA_DEPENDENT = {
    aten._local_scalar_dense.default: "a number",
    aten.nonzero.default: "nonzero",
    aten.masked_select.default: "masked_select",
    aten.equal.default: "equal",
    aten._unique2.default: "unique",
    aten.unique_dim.default: "unique",
    aten.unique_consecutive.default: "unique",
}


def _waits(operation: Any, args: Any, kwargs: dict[str, Any], *, to_us: bool) -> list[str]:
    """Return for what the host waits in an operation."""
    if operation in _DATA_DEPENDENT:
        return [_DATA_DEPENDENT[operation]]
    if operation is aten.repeat_interleave.Tensor:
        return ["repeat_interleave"] if kwargs.get("output_size") is None else []
    if operation in _INDEXING | _INDEXED_WRITING:
        return [reason for index in args[1] if (reason := _wait_for_index(operation, index, args))]
    if operation is aten._to_copy.default:
        # A copy from memory that is not pinned waits even if it is asked not to.
        from_host = to_us and not isinstance(args[0], PretendTensor)
        waits = not (kwargs.get("non_blocking") and getattr(args[0], "pinned", False))
        if from_host and waits:
            return ["copy to the device"]
        to_host = kwargs.get("device") is not None and not to_us
        return ["copy to the host"] if to_host else []
    if operation is aten.copy_.default and isinstance(args[0], PretendTensor) != isinstance(args[1], PretendTensor):
        no_wait = (kwargs.get("non_blocking") or (len(args) > 2 and args[2])) and getattr(args[1], "pinned", False)
        to_device = isinstance(args[0], PretendTensor)
        return [] if no_wait or not args[1].numel() else ["copy to the device" if to_device else "copy to the host"]
    return []


def _wait_for_index(operation: Any, index: Any, args: Any) -> str | None:
    if not isinstance(index, torch.Tensor):
        return None
    if index.dtype in (torch.bool, torch.uint8):
        # Writing one number under a mask is masked_fill.
        accumulates = len(args) > 3 and args[3]
        filled = operation in _INDEXED_WRITING and args[2].numel() == 1 and not accumulates
        return None if filled else "boolean index"
    return None if isinstance(index, PretendTensor) else "copy to the device"


def _place() -> str:
    """Return the line of the project that runs, and the line of a network library below it."""
    frame: Any = sys._getframe(2)
    below = ""
    while frame is not None:
        path = frame.f_code.co_filename
        if path.startswith(f"{_REPOSITORY}/") and "/.venv/" not in path and path != __file__:
            return f"{Path(path).relative_to(_REPOSITORY)}:{frame.f_lineno}{below}"
        if not below and any(f"/{library}/" in path for library in ("transformers", "accelerate", "torchcrf")):
            below = f" ({path.rpartition('site-packages/')[2]}:{frame.f_lineno})"
        frame = frame.f_back
    return below.strip(" ()") or "?"


# What CUDA's autocast runs in the lower precision, and in float32.
_LOWER = re.findall(
    r"\w+",
    """
    linear matmul __matmul__ __rmatmul__ mm bmm addmm baddbmm addbmm mv einsum chain_matmul conv1d conv2d lstm lstm_cell
    scaled_dot_product_attention multi_head_attention_forward
    """,
)
_FULL = re.findall(
    r"\w+",
    """
    layer_norm group_norm softmax log_softmax logsumexp sum prod cumsum cumprod exp log pow __pow__ rsqrt reciprocal tan
    norm renorm dist cosine_similarity nll_loss cross_entropy binary_cross_entropy_with_logits softplus kl_div mse_loss
    l1_loss smooth_l1_loss cosine_embedding_loss
    """,
)
_FLOATS = (torch.float32, torch.bfloat16, torch.float16)


class _Names(TorchFunctionMode):
    """Translates ``cuda`` in calls, and casts under autocast as CUDA does."""

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if function is torch.Tensor.cuda:
            return args[0].to(META)
        if function is torch.Tensor.pin_memory:
            pinned = args[0].clone()
            pinned.pinned = True
            return pinned
        if function is torch.Tensor.new_tensor and isinstance(args[0], PretendTensor):
            return torch.tensor(*args[1:], **kwargs).to(args[0].dtype).to(META)
        if function is not torch.device and any(map(_is_cuda, (*args, *kwargs.values()))):
            if function in (torch.tensor, torch.as_tensor, torch.asarray):
                kept = {name: value for name, value in kwargs.items() if name not in ("device", "pin_memory")}
                return function(*args, **kept).to(META)
            args = tuple(META if _is_cuda(one) else one for one in args)
            kwargs = {name: META if _is_cuda(one) else one for name, one in kwargs.items()}
        if torch.is_autocast_enabled("cuda"):
            args, kwargs = _cast(getattr(function, "__name__", ""), args, kwargs)
        return function(*args, **kwargs)


def _is_cuda(value: Any) -> bool:
    return isinstance(value, str | torch.device) and str(value).split(":")[0] == "cuda"


def _cast(name: str, args: Any, kwargs: Any) -> Any:
    if name not in _LOWER and name not in _FULL:
        return args, kwargs
    dtype = torch.get_autocast_dtype("cuda") if name in _LOWER else torch.float32

    def cast(one: Any) -> Any:
        return one.to(dtype) if isinstance(one, PretendTensor) and one.dtype in _FLOATS else one

    return tree_map(cast, (args, kwargs))


_backward: Callable[..., Any] = torch.autograd._engine_run_backward


def _run_backward(*args: Any, **kwargs: Any) -> Any:
    # torch sets function modes aside in backward(), but a recomputed forward pass needs the device's name.
    with _Names():
        return _backward(*args, **kwargs)


class _Generator(torch._C.Generator):
    def __new__(cls, device: Any = "cpu") -> Any:
        return torch._C.Generator()  # the wrapped tensors draw on the CPU


_ACCELERATOR_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "current_accelerator": lambda **_: torch.device("cuda"),
    "current_stream": lambda *_: SimpleNamespace(is_capturing=lambda: False),
    "is_available": lambda: True,
}
_CUDA_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "_is_in_bad_fork": lambda: False,
    "_lazy_init": lambda: None,
    "current_device": lambda: 0,
    "device_count": lambda: 1,
    "empty_cache": lambda: None,
    "get_device_capability": lambda *_: (9, 0),
    "get_device_name": lambda *_: "pretend GPU",
    "get_rng_state": lambda *_: torch.get_rng_state(),
    "get_rng_state_all": list,
    "is_available": lambda: True,
    "is_bf16_supported": lambda *_, **__: True,
    "is_current_stream_capturing": lambda: False,
    "is_initialized": lambda: True,
    "manual_seed": lambda *_: None,
    "manual_seed_all": lambda *_: None,
    "max_memory_allocated": lambda *_: 0,
    "mem_get_info": lambda *_: (80 * _GIBIBYTE, 80 * _GIBIBYTE),
    "memory_allocated": lambda *_: 0,
    "reset_peak_memory_stats": lambda *_: None,
    "set_device": lambda *_: None,
    "set_rng_state": lambda state, *_: torch.set_rng_state(state),
    "set_rng_state_all": lambda *_: None,
    "synchronize": lambda *_: None,
}


def _move_module(module: nn.Module, *args: Any, **kwargs: Any) -> nn.Module:
    """``Module.to``: every parameter stays the same object, so that tied weights stay tied."""
    device, dtype, _, _ = torch._C._nn._parse_to(*args, **kwargs)
    here = device is not None and device.type in ("meta", "cuda")
    recurrent = [part for part in module.modules() if isinstance(part, nn.RNNBase)]
    for part in recurrent:
        part._flat_weight_refs = []  # weak references, which cannot be swapped
    own = [one for part in module.modules() for one in (*part._parameters.values(), *part._buffers.values())]
    for one in {id(one): one for one in own}.values():
        if one is not None:
            _move_tensor(one, here=isinstance(one, PretendTensor) if device is None else here, dtype=dtype)
    for part in recurrent:
        part._init_flat_weights()
    return module


def _move_tensor(one: torch.Tensor, *, here: bool, dtype: torch.dtype | None) -> None:
    was_here = isinstance(one, PretendTensor)
    real = one.inner if isinstance(one, PretendTensor) else one.detach()
    real = real.to(dtype) if dtype is not None and real.is_floating_point() else real
    if here == was_here and real.dtype == one.dtype:
        return
    made: torch.Tensor = PretendTensor(real if was_here else real.clone()) if here else real
    if isinstance(one, nn.Parameter):
        made = nn.Parameter(made, one.requires_grad) if not here else made.requires_grad_(one.requires_grad)
        if here:
            made._is_param = True  # type: ignore[attr-defined]
    made.grad = one.grad
    torch.utils.swap_tensors(one, made)
