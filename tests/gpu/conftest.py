"""These tests pretend a GPU; where there is one, ``make gpu-check`` tries the code on it."""

import pytest
import torch


@pytest.fixture(autouse=True)
def no_real_gpu() -> None:
    """Skip the tests where CUDA is at hand."""
    if torch.cuda.is_available():
        pytest.skip("there is a real GPU")
