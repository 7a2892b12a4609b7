"""Measuring a machine leaves a training's random numbers alone."""

import torch

from benchmarks.arithmetic import linear_weights, matmul_peak


def test_the_peak_is_measured_without_the_global_generator() -> None:
    matmul_peak.cache_clear()
    torch.manual_seed(5)
    before = torch.get_rng_state()
    assert matmul_peak("cpu", torch.float32) > 1e8
    assert torch.equal(torch.get_rng_state(), before)


def test_linear_weights() -> None:
    assert linear_weights(torch.nn.Sequential(torch.nn.Linear(3, 5), torch.nn.Embedding(7, 2))) == 15
