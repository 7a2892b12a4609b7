"""A training as torchrun starts it; the test beside it runs this in one process and in two.

Arguments: backbone folder, checkpoint folder, result file, and the step at which the last process kills itself (or 0).
"""

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import torch

from simckp.execution import Listed
from simckp.extraction.training import train_extractor
from simckp.networks import trainer
from simckp.networks.training import Run
from tests.conftest import make_pairs
from tests.networks.test_trainer import settings


def main(backbone: str, folder: str, result: str, kill_at: str) -> None:
    """Train and write the log and a weight's sum."""
    torch.set_num_threads(1)
    rank, world = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    step = trainer.SimCKPTrainer.training_step

    def killed(self: Any, *arguments: Any, **options: Any) -> Any:
        if int(kill_at) and self.state.global_step == int(kill_at) and rank == world - 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return step(self, *arguments, **options)

    trainer.SimCKPTrainer.training_step = killed  # type: ignore[method-assign]
    pairs = Listed(make_pairs())
    chosen = settings(Path(backbone))
    run = Run(seed=7, folder=Path(folder), minimum=5)
    trained = train_extractor(pairs, pairs, chosen, run, contrastive_weight=0.3, max_words=6)
    if rank == 0:
        sums = {name: float(weight.double().sum()) for name, weight in trained.model.state_dict().items()}
        Path(result).write_text(json.dumps({"history": trained.result.history, "sums": sums}), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
