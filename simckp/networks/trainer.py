"""Train a network on ``transformers.Trainer``: checkpoints with resume, early stopping on F1@M, a log for plots."""

import json
import logging
import math
import os
import shutil
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
from torch.utils.data import Dataset, Sampler
from transformers import EarlyStoppingCallback, Trainer, TrainerCallback, TrainingArguments
from transformers.trainer import TRAINER_STATE_NAME

from simckp.errors import SimCKPError
from simckp.networks.dropout import ByteDropout
from simckp.networks.sampling import LengthGroupedSampler
from simckp.networks.throughput import matmul_peak
from simckp.params import Optimisation
from simckp.runtime.memory import return_freed_memory

_LOG = logging.getLogger(__name__)
_WEIGHTS, _LAST_WEIGHTS = "model.safetensors", "last.safetensors"
_CHECKPOINTS_KEPT = 2
GOAL = "goal"


@dataclass(frozen=True, slots=True)
class Validation:
    """What a network is worth on the validation set: ``goal`` chooses the checkpoint (higher is better)."""

    goal: float
    figures: dict[str, float]


@dataclass(frozen=True, slots=True)
class TrainingResult:
    """What a training came to.

    Attributes:
        steps: Optimiser steps done.
        best_step: Step whose weights were kept.
        best_goal: What was to be maximised on validation, at that step.
        history: One row a log entry: step, epoch, losses, learning rate, validation figures.
    """

    steps: int
    best_step: int
    best_goal: float
    history: list[dict[str, float]]


class ExampleDataset(Dataset[Any]):
    """A list of examples as the Trainer wants it."""

    def __init__(self, examples: list[Any]) -> None:
        self._examples = examples

    def __len__(self) -> int:
        """Return the number of examples."""
        return len(self._examples)

    def __getitem__(self, position: int) -> Any:
        """Return one example."""
        return self._examples[position]


class ContrastiveTrainer(Trainer):  # type: ignore[misc]
    """A Trainer for networks that return a dictionary with ``loss``, validated by a function of the model.

    Args:
        validate: Called with the model in evaluation mode; returns its worth on the validation set. With several
            processes, each calls it and all must get the same.
        sampler: Order of the training examples; None for a random one.
        byte_dropout: Whether dropout on the CPU may be that of :class:`simckp.networks.dropout.ByteDropout`.
        ema_decay: Of the moving average of the weights, which is then what is validated and kept; 0 for none.
        other_rate: A learning rate and the parameters that have it instead of the common one.
        **options: As of ``transformers.Trainer``.
    """

    def __init__(
        self,
        *,
        validate: Callable[[nn.Module], Validation],
        sampler: Sampler[int] | None,
        byte_dropout: bool,
        ema_decay: float,
        other_rate: tuple[float, Iterable[nn.Parameter]] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self._other_rate = other_rate
        self._average: AveragedModel | None = None
        if ema_decay:
            average = get_ema_multi_avg_fn(ema_decay)  # type: ignore[no-untyped-call]
            self._average = AveragedModel(self.model, multi_avg_fn=average)
            self.add_callback(_AfterStep(partial(self._average.update_parameters, self.model)))
        self._validate, self._sampler, self._byte_dropout = validate, sampler, byte_dropout
        self._parts: dict[str, list[torch.Tensor]] = {}
        self._tokens, self._operations, self._since = 0, 0.0, time.perf_counter()
        # The losses are means already: let the Trainer divide by the accumulation steps.
        self.model_accepts_loss_kwargs = False

    def _get_train_sampler(self, train_dataset: Any = None) -> Any:
        return self._sampler or super()._get_train_sampler(train_dataset)

    def create_optimizer(self, model: Any = None) -> Any:
        """Create the Trainer's optimiser, with groups of their own for the parameters of another learning rate."""
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
        """Take one step (forward and backward)."""
        with ByteDropout() if self._byte_dropout else nullcontext():
            return super().training_step(*arguments, **options)  # type: ignore[no-any-return]

    def compute_loss(self, model: nn.Module, inputs: dict[str, Any], return_outputs: bool = False, **_: Any) -> Any:
        """Return the network's loss and keep its parts for the log."""
        if hasattr(self.model, "operations"):
            tokens, operations = self.model.operations(inputs)
            self._tokens, self._operations = self._tokens + tokens, self._operations + 3.0 * operations
        outputs = model(**inputs)
        for name, value in outputs.items():
            if name != "loss":
                self._parts.setdefault(name, []).append(value.detach())
        return (outputs["loss"], outputs) if return_outputs else outputs["loss"]

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        """Add the mean of each loss part since the last entry, tokens a second and the share of the peak reached.

        ``mfu`` counts the operations of linear layers, three times those of the forward pass, against the product of
        large matrices measured on this machine (of each process, where there are several).
        """
        if "loss" in logs:
            means = {name: torch.stack(values).mean() for name, values in self._parts.items()}
            logs |= {name: float(self.accelerator.gather(value).mean()) for name, value in means.items()}
            logs |= self._speed()
            self._parts = {}
        super().log(logs, start_time)

    def _speed(self) -> dict[str, float]:
        seconds = time.perf_counter() - self._since
        device = self.accelerator.device.type
        peak = matmul_peak(device, torch.bfloat16 if self.args.bf16 else torch.float32)
        speed = {"tokens_per_second": self._tokens / seconds, "mfu": self._operations / seconds / peak}
        self._tokens, self._operations, self._since = 0, 0.0, time.perf_counter()
        if speed["mfu"] and self.accelerator.is_main_process:
            rate, share = speed["tokens_per_second"], 100 * speed["mfu"]
            _LOG.info("step %d: %.0f tokens/s, %.0f %% of the matrix product peak", self.state.global_step, rate, share)
        return speed

    def evaluate(self, *_: Any, metric_key_prefix: str = "eval", **__: Any) -> dict[str, float]:
        """Validate, and report what was found."""
        model, started = self._kept(), time.perf_counter()
        model.eval()
        found = self._validate(model)
        model.train()
        return_freed_memory()
        self._since += time.perf_counter() - started
        figures = {GOAL: found.goal} | found.figures
        metrics = {f"{metric_key_prefix}_{name}": value for name, value in figures.items()}
        self.log(dict(metrics))
        self.control: Any = self.callback_handler.on_evaluate(self.args, self.state, self.control, metrics)
        return metrics

    def _kept(self) -> nn.Module:
        """Return the network that is validated and kept."""
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
            self._average.n_averaged.fill_(1)  # not zero: the average goes on

    def _load_best_model(self) -> None:
        if self.state.best_model_checkpoint is not None:
            load_model(self.model, str(Path(self.state.best_model_checkpoint) / _WEIGHTS))


class _AfterStep(TrainerCallback):  # type: ignore[misc]
    """Calls a function after every optimiser step."""

    def __init__(self, call: Callable[[], None]) -> None:
        self._call = call

    def on_step_end(self, *_: Any, **__: Any) -> None:
        self._call()


def process_count() -> int:
    """Return the number of processes that train together (of ``accelerate launch``)."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def training_arguments(settings: Optimisation, *, steps: int, seed: int, folder: Path, bar: bool) -> TrainingArguments:
    """Return the Trainer's arguments.

    Evaluation comes every ``evaluate_every`` steps, or sooner if the whole training is shorter, so that there always
    is a best checkpoint.
    """
    every = min(settings.evaluate_every, steps)
    arguments = TrainingArguments(
        output_dir=str(folder),
        num_train_epochs=settings.epochs,
        per_device_train_batch_size=settings.batch_size // process_count(),
        gradient_accumulation_steps=settings.gradient_accumulation,
        learning_rate=settings.learning_rate,
        warmup_steps=math.ceil(settings.warmup_ratio * steps),
        lr_scheduler_type="linear",
        optim="adamw_torch_fused",
        bf16=settings.precision == "bfloat16",
        ddp_find_unused_parameters=False,
        use_cpu=not torch.cuda.is_available() or os.environ.get("ACCELERATE_USE_CPU") == "true",
        weight_decay=0.01,
        max_grad_norm=settings.max_grad_norm,
        eval_strategy="steps",
        eval_steps=every,
        save_strategy="steps",
        save_steps=every,
        save_total_limit=_CHECKPOINTS_KEPT,
        logging_strategy="steps",
        logging_steps=max(1, min(every, 50)),
        load_best_model_at_end=True,
        metric_for_best_model=f"eval_{GOAL}",
        greater_is_better=True,
        seed=seed,
        data_seed=seed,
        remove_unused_columns=False,
        dataloader_pin_memory=torch.cuda.is_available(),
        dataloader_drop_last=False,
        report_to=[],
        disable_tqdm=not bar,
    )
    # One process drives one GPU; the Trainer's data parallelism would cut the flat tensors of a batch anywhere.
    arguments._n_gpu = min(arguments.n_gpu, 1)
    return arguments


def _prepare(model: nn.Module, settings: Optimisation) -> None:
    """Switch gradient checkpointing and compilation on; weights and their names stay as they are."""
    for network in model.networks() if settings.gradient_checkpointing or settings.compile else ():  # type: ignore[operator]
        if settings.gradient_checkpointing:
            network.gradient_checkpointing_enable({"use_reentrant": False})
        if settings.compile:
            parts = [network.get_encoder(), network.get_decoder()] if network.config.is_encoder_decoder else [network]
            for part in parts:
                part.compile(dynamic=True)


def last_checkpoint(folder: Path) -> Path | None:
    """Return the newest whole checkpoint, or None; halves that a kill left behind are deleted.

    The Trainer writes its state last, so a checkpoint with a readable state is whole.
    """
    steps = sorted((int(path.name.rpartition("-")[2]), path) for path in folder.glob("checkpoint-*"))
    for _, path in reversed(steps):
        try:
            json.loads((path / TRAINER_STATE_NAME).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            shutil.rmtree(path)
        else:
            return path
    return None


def train(
    model: nn.Module,
    examples: list[Any],
    collator: Callable[[list[Any]], dict[str, torch.Tensor]],
    validate: Callable[[nn.Module], Validation],
    settings: Optimisation,
    *,
    seed: int,
    folder: Path,
    lengths: list[int] | None = None,
    other_rate: tuple[float, Iterable[nn.Parameter]] | None = None,
    bar: bool = False,
) -> TrainingResult:
    """Train ``model`` in place and leave the weights of its best checkpoint in it.

    Args:
        model: The network.
        examples: Training examples.
        collator: Examples to the network's keyword arguments.
        validate: See :class:`ContrastiveTrainer`.
        settings: Learning rate, epochs and so on.
        seed: Of the order of examples and of dropout.
        folder: For checkpoints; the last one found here is resumed.
        lengths: Of the examples, for batches of similar ones.
        other_rate: See :class:`ContrastiveTrainer`.
        bar: Whether to show a progress bar.

    Raises:
        SimCKPError: There is no example to learn from.
    """
    if not examples:
        raise SimCKPError("there is no training document to learn from")
    steps_per_epoch = math.ceil(math.ceil(len(examples) / settings.batch_size) / settings.gradient_accumulation)
    steps = steps_per_epoch * settings.epochs
    arguments = training_arguments(settings, steps=steps, seed=seed, folder=folder, bar=bar)
    sampler = None
    if settings.group_by_length and lengths is not None:
        sampler = LengthGroupedSampler(lengths, settings.batch_size, seed=seed)
    _prepare(model, settings)
    trainer = ContrastiveTrainer(
        model=model,
        sampler=sampler,
        # A compiled network and a recomputed forward pass do not see what stands between them and their functions.
        byte_dropout=not (settings.compile or settings.gradient_checkpointing or torch.cuda.is_available()),
        ema_decay=settings.ema_decay,
        other_rate=other_rate,
        args=arguments,
        data_collator=collator,
        train_dataset=ExampleDataset(examples),
        eval_dataset=ExampleDataset(examples[:1]),  # the Trainer wants one; `validate` has its own
        callbacks=[EarlyStoppingCallback(early_stopping_patience=settings.patience)],
        validate=validate,
    )
    checkpoint = last_checkpoint(folder)
    trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
    trainer.accelerator.wait_for_everyone()
    state = trainer.state
    best = state.best_model_checkpoint or ""
    return TrainingResult(
        steps=state.global_step,
        best_step=int(best.rpartition("-")[2] or state.global_step),
        best_goal=float(state.best_metric or 0.0),
        history=[{key: float(value) for key, value in entry.items()} for entry in state.log_history],
    )
