"""Run a module's ``main`` on a pretend GPU: ``python -m tests.gpu.pretended -m benchmarks.gpu_check ...``."""

import importlib
import sys

from tests.pretend_gpu import PretendGPU

COMMAND = [sys.executable, "-m", "tests.gpu.pretended"]

if __name__ == "__main__":
    assert sys.argv[1] == "-m"
    module = importlib.import_module(sys.argv[2])
    del sys.argv[1:3]
    with PretendGPU():
        sys.exit(module.main(COMMAND))
