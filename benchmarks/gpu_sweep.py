"""Measure GPU time: batch sizes of the training step (with and without compilation) and of the beam search.

``python -m benchmarks.gpu_sweep`` prints one line per setting and a profile of the search; the rows of the benchmark
table are measured by ``python -m benchmarks``.
"""

import sys
import time
from collections.abc import Iterator
from typing import Any

import torch

from benchmarks import inputs
from benchmarks.network_rows import _batch, _Generation


def training(size: int, *, compile_network: bool) -> str:
    """Return a line with the milliseconds of a training step in bfloat16, and the peak memory."""
    model = inputs.extractor("base", "cuda").train()
    if compile_network:
        model.backbone.get_encoder().compile(dynamic=True)
        model.backbone.get_decoder().compile(dynamic=True)
    examples = sorted(inputs.examples(size * 12), key=lambda example: len(example.input_ids))
    batches = [_batch(examples[start : start + size], "cuda") for start in range(0, len(examples), size)]
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=True)

    def epoch() -> None:
        for batch in batches:
            optimiser.zero_grad(set_to_none=True)
            with torch.autocast("cuda", dtype=torch.bfloat16):
                loss = model(**batch)["loss"]
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
        torch.cuda.synchronize()

    epoch()
    start = time.perf_counter()
    epoch()
    milliseconds = 1e3 * (time.perf_counter() - start) / len(batches)
    memory = torch.cuda.max_memory_allocated() / 2**30
    return f"training batch {size} compile {compile_network}: {milliseconds:.1f} ms a step, {memory:.1f} GiB"


def search(work: Any, precision: Any, size: int) -> str:
    """Return a line with the milliseconds per document of the search, and the peak memory."""
    torch.cuda.reset_peak_memory_stats()
    work.ours(precision, size)
    torch.cuda.synchronize()
    start = time.perf_counter()
    work.ours(precision, size)
    torch.cuda.synchronize()
    milliseconds = 1e3 * (time.perf_counter() - start) / len(work.rows)
    memory = torch.cuda.max_memory_allocated() / 2**30
    return f"search {precision} batch {size}: {milliseconds:.2f} ms a document, {memory:.1f} GiB"


def lines() -> Iterator[str]:
    """Yield a line for each setting."""
    work = _Generation("base", "cuda", documents=256, new_tokens=40)
    for precision in ("bfloat16", "float32"):
        for size in (16, 64, 128):
            yield search(work, precision, size)
    for compile_network in (False, True):
        for size in (8, 32):
            yield training(size, compile_network=compile_network)


def main() -> None:
    """Print all measurements."""
    for line in lines():
        sys.stdout.write(line + "\n")
    work = _Generation("base", "cuda", documents=256, new_tokens=40)
    activities = [torch.profiler.ProfilerActivity.CUDA, torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=activities) as profiler:
        work.ours("bfloat16", 64)
        torch.cuda.synchronize()
    events = profiler.key_averages()
    sys.stdout.write(events.table(sort_by="self_device_time_total", row_limit=14, max_name_column_width=44) + "\n")


if __name__ == "__main__":
    main()
