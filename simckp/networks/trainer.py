"""A ``transformers.Trainer`` for networks with several losses and a validation function of their own."""

import math
import time
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_model, save_model
from torch import nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
from torch.utils.data import Sampler
from transformers import EarlyStoppingCallback, Trainer, TrainerCallback, TrainerState
from transformers.trainer import TRAINER_STATE_NAME

from simckp.networks.distributed import as_first_process, shares_of_counts
from simckp.networks.dropout import ByteDropout
from simckp.runtime.memory import return_freed_memory

GOAL = "goal"
TOKENS = "tokens"
_WEIGHTS, _LAST_WEIGHTS = "model.safetensors", "last.safetensors"


@dataclass(frozen=True, slots=True)
class Validation:
    """Results on the validation documents; the checkpoint with the highest ``goal`` is kept."""

    goal: float
    figures: dict[str, float]


class SimCKPTrainer(Trainer):  # type: ignore[misc]
    """A Trainer for networks that return a dictionary with ``loss`` and are validated by a function.

    Batches have an entry ``counts``: the number of terms that each loss sums over, and of source tokens (``TOKENS``).

    Args:
        validate: Called with the model in evaluation mode; returns the results on the validation documents. Every
            process calls it, and all must get the same results.
        sampler: Order of the training examples; None for a random order.
        byte_dropout: Whether to use :class:`simckp.networks.dropout.ByteDropout`.
        ema_decay: Decay of an exponential moving average of the weights; the averaged weights are then validated and
            kept. 0 switches the average off.
        decay_all: Whether weight decay applies to biases and norms too.
        other_rate: A learning rate, and the parameters that use it instead of the common learning rate.
        **options: Options of ``transformers.Trainer``.
    """

    def __init__(
        self,
        *,
        validate: Callable[[nn.Module], Validation],
        sampler: Sampler[int] | None,
        byte_dropout: bool,
        ema_decay: float,
        decay_all: bool = False,
        other_rate: tuple[float, Iterable[nn.Parameter]] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self._other_rate, self._decay_all = other_rate, decay_all
        self._average: AveragedModel | None = None
        if ema_decay:
            average = get_ema_multi_avg_fn(ema_decay)  # type: ignore[no-untyped-call]
            self._average = AveragedModel(self.model, multi_avg_fn=average)
            self.add_callback(_AfterStep(partial(self._average.update_parameters, self.model)))
        self._validate, self._sampler, self._byte_dropout = validate, sampler, byte_dropout
        self._parts: dict[str, torch.Tensor] = {}
        self._steps, self._tokens_before, self._since = 0, 0, time.perf_counter()
        # The losses are already divided by the step's counts, so the Trainer must not divide them again.
        self.model_accepts_loss_kwargs = True

    def _get_train_sampler(self, train_dataset: Any = None) -> Any:
        return self._sampler or super()._get_train_sampler(train_dataset)

    def get_decay_parameter_names(self, model: nn.Module, *options: Any) -> list[str]:
        """Return the names of the weights to which weight decay applies."""
        if self._decay_all:
            return [name for name, _ in model.named_parameters()]
        return super().get_decay_parameter_names(model, *options)  # type: ignore[no-any-return]

    def create_optimizer(self, model: Any = None) -> Any:
        """Create the Trainer's optimiser, with separate groups for the parameters with another learning rate."""
        if self.optimizer is not None or self._other_rate is None:
            return super().create_optimizer(model)
        optimizer = super().create_optimizer(model)
        rate, chosen = self._other_rate[0], {id(parameter) for parameter in self._other_rate[1]}
        for group in list(optimizer.param_groups):
            parameters = group["params"]
            group["params"] = [parameter for parameter in parameters if id(parameter) not in chosen]
            others = [parameter for parameter in parameters if id(parameter) in chosen]
            optimizer.add_param_group({"params": others, "lr": rate, "weight_decay": group["weight_decay"]})
        return optimizer

    def training_step(self, *arguments: Any, **options: Any) -> torch.Tensor:
        """Run the forward and backward pass of one batch."""
        with ByteDropout() if self._byte_dropout else nullcontext():
            return super().training_step(*arguments, **options)  # type: ignore[no-any-return]

    def _get_num_items_in_batch(self, batch_samples: list[Any], device: torch.device) -> Any:
        """Replace the counts of a step's micro-batches by their totals (the mean over processes).

        Each loss is then divided as if all micro-batches and processes formed one batch. The Trainer calls this once
        per optimiser step, before the first micro-batch.
        """
        if not batch_samples:
            return None
        if not self._steps:
            self._tokens_before = self.state.num_input_tokens_seen  # not 0 in a resumed training
        self._steps += 1
        names = batch_samples[0]["counts"]
        totals = {name: sum(batch["counts"][name] for batch in batch_samples) for name in names}
        counts = shares_of_counts(totals, device)
        self.state.num_input_tokens_seen += round(counts[TOKENS] * self.args.world_size)
        for batch in batch_samples:
            batch["counts"] = counts
        return counts

    def compute_loss(self, model: nn.Module, inputs: dict[str, Any], return_outputs: bool = False, **_: Any) -> Any:
        """Return the network's loss and collect its terms for the log."""
        outputs = model(**inputs)
        for name, value in outputs.items():
            if name != "loss":
                self._parts[name] = self._parts.get(name, 0.0) + value.detach()
        return (outputs["loss"], outputs) if return_outputs else outputs["loss"]

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        """Add to the log the mean of each loss term per step since the last entry, and the source tokens per second."""
        if "loss" in logs:
            means = {name: self.accelerator.gather(part).mean() / self._steps for name, part in self._parts.items()}
            logs |= {name: float(mean) for name, mean in means.items()}
            logs["num_input_tokens_seen"] = self.state.num_input_tokens_seen
            tokens = self.state.num_input_tokens_seen - self._tokens_before
            logs["tokens_per_second"] = tokens / (time.perf_counter() - self._since)
            self._parts, self._steps = {}, 0
            return_freed_memory()
            self._since = time.perf_counter()
        super().log(logs)  # without the start time, since the speed since the last entry is already logged

    def evaluate(self, *_: Any, metric_key_prefix: str = "eval", **__: Any) -> dict[str, float]:
        """Validate the network, log the results and return them."""
        model, started = self._kept(), time.perf_counter()
        model.eval()
        validation = self._validate(model)
        model.train()
        return_freed_memory()
        self._since += time.perf_counter() - started
        figures = {GOAL: validation.goal} | validation.figures
        metrics = {f"{metric_key_prefix}_{name}": value for name, value in figures.items()}
        self.log(dict(metrics))
        self.control: Any = self.callback_handler.on_evaluate(self.args, self.state, self.control, metrics)
        return metrics

    def _kept(self) -> nn.Module:
        """Return the network that is validated and saved: the averaged one if there is an average."""
        return self.model if self._average is None else self._average.module

    def _save(self, output_dir: str | None = None, state_dict: Any = None) -> None:
        folder = Path(output_dir or self.args.output_dir)
        folder.mkdir(parents=True, exist_ok=True)
        save_model(self._kept(), str(folder / _WEIGHTS))
        if self._average is not None:
            save_model(self.model, str(folder / _LAST_WEIGHTS))

    def _load_from_checkpoint(self, resume_from_checkpoint: str, model: Any = None) -> None:
        folder = Path(resume_from_checkpoint)
        if self._average is None:
            load_model(model or self.model, str(folder / _WEIGHTS))
        else:
            load_model(model or self.model, str(folder / _LAST_WEIGHTS))
            load_model(self._average.module, str(folder / _WEIGHTS))
            self._average.n_averaged.fill_(1)  # with 0, the next update would overwrite the average

    def go_to_end(self, checkpoint: Path) -> None:
        """Take over the state of a training that had ended, and the weights of its best checkpoint."""
        self.state = TrainerState.load_from_json(str(checkpoint / TRAINER_STATE_NAME))
        self._load_best_model()

    def _load_best_model(self) -> None:
        if self.state.best_model_checkpoint is not None:
            load_model(self.model, str(Path(self.state.best_model_checkpoint) / _WEIGHTS))


class Patience(EarlyStoppingCallback):  # type: ignore[misc]
    """Early stopping once neither the goal improves nor, if it is among the figures, the loss on validation."""

    best_loss = math.inf

    def on_evaluate(self, args: Any, state: Any, control: Any, metrics: dict[str, float], **options: Any) -> None:
        """Count the evaluations without improvement, and stop the training after too many of them."""
        loss = metrics.get("eval_loss", math.inf)
        if loss < self.best_loss:
            self.best_loss, self.early_stopping_patience_counter = loss, -1  # counted up below unless the goal improves
        super().on_evaluate(args, state, control, metrics, **options)

    def state(self) -> dict[str, Any]:
        """Return what a checkpoint keeps."""
        kept: dict[str, Any] = super().state()
        kept["attributes"]["best_loss"] = self.best_loss
        return kept


class Checkpoints(TrainerCallback):  # type: ignore[misc]
    """Saves a checkpoint after so many seconds, besides those of the evaluations, which may be hours apart.

    It waits for the next entry of the log, so that the curve of a resumed training is that of an undisturbed one.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds, self._since = seconds, time.monotonic()

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Ask for a checkpoint if it is time."""
        if state.global_step % args.logging_steps == 0:
            # Their clocks differ, and a checkpoint has parts of all processes.
            control.should_save |= as_first_process(time.monotonic() - self._since >= self._seconds)

    def on_save(self, *_: Any, **__: Any) -> None:
        """Begin to wait again."""
        self._since = time.monotonic()


class History(TrainerCallback):  # type: ignore[misc]
    """Shows the log to a function whenever it grows, in the first process; also what came before a resume."""

    def __init__(self, show: Callable[[list[dict[str, float]]], None]) -> None:
        self._show = show

    def on_log(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Show the log."""
        if state.is_world_process_zero:
            self._show(log_rows(state))


def log_rows(state: TrainerState) -> list[dict[str, float]]:
    """Return the log: one row per entry."""
    return [{key: float(value) for key, value in entry.items()} for entry in state.log_history]


class _AfterStep(TrainerCallback):  # type: ignore[misc]
    """Calls a function after every optimiser step."""

    def __init__(self, call: Callable[[], None]) -> None:
        self._call = call

    def on_step_end(self, *_: Any, **__: Any) -> None:
        self._call()
