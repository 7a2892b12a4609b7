"""Train a network, with checkpoints that can be resumed, early stopping on validation, and a log for plots."""

import importlib.util
import json
import math
import os
import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import nn
from transformers import TrainerCallback, TrainerState, TrainingArguments
from transformers.integrations import get_reporting_integration_callbacks
from transformers.trainer import TRAINER_STATE_NAME

from simckp.errors import SimCKPError
from simckp.execution import Engine, Rows, Source
from simckp.networks.batches import to_device
from simckp.networks.distributed import gather_shares, own_share
from simckp.networks.dropout import set_dropout
from simckp.networks.example_store import Example, ExampleStore, make_examples
from simckp.networks.padding import by_length
from simckp.networks.sampling import LengthGroupedSampler, SetEpoch
from simckp.networks.trainer import GOAL, TOKENS, Checkpoints, History, Patience, SimCKPTrainer, Validation, log_rows
from simckp.params import Optimisation, Section
from simckp.thresholds.selection import Ranking, calibrate

Settings = TypeVar("Settings", bound=Section)
_CHECKPOINTS_KEPT = 2
_VALIDATION_BATCH = 16
_LENGTH_STEP = 32


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """Settings of a training that are not hyper-parameters.

    Attributes:
        seed: Random seed of weights, order and dropout.
        folder: Folder for checkpoints; training resumes from the last one in it.
        minimum: Minimum number of keyphrases of the best-five rule, for F1@M on validation.
        bar: Whether to show a progress bar.
        engine: Where the examples are made.
        checkpoint_seconds: Time after which a checkpoint is saved, besides those of the evaluations.
        show: Is given the log whenever it grows, as in :class:`TrainingResult`.
        trackers: Are given the log; see :func:`trackers`.
    """

    seed: int
    folder: Path
    minimum: int
    bar: bool = False
    engine: Engine = field(default_factory=Engine)
    checkpoint_seconds: float = 600.0
    show: Callable[[list[dict[str, float]]], None] | None = None
    trackers: tuple[TrainerCallback, ...] = ()

    def examples(
        self, function: Callable[[Rows], list[Example]], source: Source, example: type[Example], name: str
    ) -> ExampleStore[Example]:
        """Make the examples of a set in this run's folder; see :func:`simckp.networks.example_store.make_examples`."""
        return make_examples(function, source, example, folder=self.folder / "examples" / name, engine=self.engine)


def trackers(names: Sequence[str], logs: Path) -> tuple[TrainerCallback, ...]:
    """Return the callbacks of trackers.

    Args:
        names: Their names in transformers.
        logs: Folder for what they write.

    Raises:
        SimCKPError: A tracker is unknown, or its package is not installed.
    """
    os.environ.setdefault("TENSORBOARD_LOGGING_DIR", str(logs))
    try:
        kinds = zip(names, get_reporting_integration_callbacks(list(names)), strict=True)
        return tuple(kind(**_options(name, logs)) for name, kind in kinds)
    except (ValueError, RuntimeError) as error:
        raise SimCKPError(f"execution.report_to: {error}") from error


def _options(name: str, logs: Path) -> dict[str, Any]:
    if name != "dvclive" or importlib.util.find_spec(name) is None:
        return {}
    # By itself it would write a dvc.yaml and an experiment of its own.
    return {"live": importlib.import_module(name).Live(dir=str(logs), dvcyaml=None, save_dvc_exp=False)}


@dataclass(frozen=True, slots=True)
class TrainingResult:
    """Outcome of a training.

    Attributes:
        steps: Number of optimiser steps.
        best_step: Step whose weights were kept.
        best_goal: The goal on validation at that step; see :class:`simckp.networks.trainer.Validation`.
        history: One row per log entry: step, epoch, losses, learning rate, validation figures.
    """

    steps: int
    best_step: int
    best_goal: float
    history: list[dict[str, float]]


@dataclass(frozen=True, slots=True)
class Trained:
    """A trained network, the outcome of its training, and the numbers of documents read, used and truncated."""

    model: Any
    result: TrainingResult
    counts: dict[str, int]

    @classmethod
    def of(
        cls, model: nn.Module, result: TrainingResult, *, read: ExampleStore[Any], used: ExampleStore[Any]
    ) -> "Trained":
        """Return the trained network with the counts of the examples that were read and used."""
        counts = {
            "documents": len(read),
            "documents_used": len(used),
            "documents_truncated": int(used.values("truncated").sum()),
        }
        return cls(model, result, counts)


def ranking_validation(
    score: Callable[[Any, list[Any]], list[list[float]]], examples: list[Any], run: Run
) -> Callable[[nn.Module], Validation]:
    """Return the validation of a network that scores candidates, which computes two kinds of F1@M.

    They are F1@M at the calibrated threshold (the goal), and at the best threshold of each document.

    Args:
        score: Maps a network and examples to the scores of each example's candidates. If there are several processes,
            each scores its share.
        examples: Validation examples, with the attributes ``label`` and ``targets``.
        run: Settings of the training; ``minimum`` is used.
    """

    def validate(network: nn.Module) -> Validation:
        scores = gather_shares(score(network, own_share(examples)), len(examples))
        rankings = [
            Ranking.of(values, example.label.tolist(), example.targets)
            for values, example in zip(scores, examples, strict=True)
        ]
        calibration = calibrate(rankings, minimum=run.minimum)
        figures = {
            "f1_at_m": calibration.f1_at_m,
            "oracle_f1_at_m": calibration.oracle_f1_at_m,
            "threshold": calibration.threshold,
        }
        return Validation(goal=calibration.f1_at_m, figures=figures)

    return validate


@torch.no_grad()
def validated_with_loss(
    validate: Callable[[nn.Module], Validation], examples: list[Any], collate: Callable[[list[Any]], dict[str, Any]]
) -> Callable[[nn.Module], Validation]:
    """Return the validation with the mean training loss on the examples (batches of similar lengths) as a figure."""

    def with_loss(network: nn.Module) -> Validation:
        device = next(network.parameters()).device
        total = 0.0
        for positions in by_length([len(example.input_ids) for example in examples], _VALIDATION_BATCH):
            batch = collate([examples[position] for position in positions])
            total += len(positions) * float(network(**to_device(batch, device))["loss"])
        validation = validate(network)
        return Validation(validation.goal, validation.figures | {"loss": total / max(len(examples), 1)})

    return with_loss


def settings_of(params: Section, settings_class: type[Settings]) -> Settings:
    """Return the part of a stage's parameters that is saved with its network."""
    return settings_class(**{name: getattr(params, name) for name in settings_class.model_fields})


def fitting(examples: ExampleStore[Example], settings: Optimisation) -> ExampleStore[Example]:
    """Return the examples of documents that are used: with ``long_documents: leave_out``, those that fit whole."""
    return examples if settings.long_documents == "truncate" else examples.where(~examples.values("truncated"))


def length_multiple(settings: Optimisation, *limits: int) -> int:
    """Return the multiple to which a batch's lengths are rounded up; they stay within the limits.

    In bfloat16 on a CPU, oneDNN compiles a kernel for each new shape of a product, which takes longer than the product.
    """
    rounded = settings.precision == "bfloat16" and not any(limit % _LENGTH_STEP for limit in limits)
    return _LENGTH_STEP if rounded else 1


def process_count() -> int:
    """Return the number of processes that share a training."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def training_arguments(settings: Optimisation, run: Run, *, steps: int) -> TrainingArguments:
    """Return the Trainer's arguments.

    The network is validated every ``evaluate_every`` steps, or at the end if the training is shorter, so there is
    always a best checkpoint.
    """
    every = min(settings.evaluate_every, steps)
    arguments = TrainingArguments(
        output_dir=str(run.folder),
        num_train_epochs=settings.epochs,
        per_device_train_batch_size=settings.batch_size // process_count(),
        gradient_accumulation_steps=settings.gradient_accumulation,
        learning_rate=settings.learning_rate,
        warmup_steps=math.ceil(settings.warmup_ratio * steps),
        lr_scheduler_type="constant_with_warmup" if settings.schedule == "constant" else "linear",
        optim="adamw_torch_fused",
        bf16=settings.precision == "bfloat16",
        ddp_find_unused_parameters=False,
        use_cpu=not torch.cuda.is_available(),
        weight_decay=settings.weight_decay,
        max_grad_norm=settings.max_grad_norm,
        eval_strategy="steps",
        eval_steps=every,
        save_strategy="steps",
        save_steps=every,
        save_total_limit=_CHECKPOINTS_KEPT,
        logging_strategy="steps",
        logging_steps=max(1, min(every, 50)),
        load_best_model_at_end=True,
        restore_callback_states_from_checkpoint=True,
        metric_for_best_model=f"eval_{GOAL}",
        greater_is_better=True,
        seed=run.seed,
        data_seed=run.seed,
        remove_unused_columns=False,
        dataloader_pin_memory=torch.cuda.is_available(),
        dataloader_drop_last=False,
        report_to="none",
        # Otherwise the host would wait for the GPU in every step: to copy a batch, and to see whether a loss is finite.
        accelerator_config={"non_blocking": torch.cuda.is_available()},
        logging_nan_inf_filter=False,
        disable_tqdm=not run.bar,
    )
    # One process uses one GPU. The Trainer's data parallelism would split the flat tensors of a batch within documents.
    arguments._n_gpu = min(arguments.n_gpu, 1)
    return arguments


def _prepare(model: nn.Module, settings: Optimisation) -> None:
    """Set dropout, gradient checkpointing and compilation as chosen; weights and their names stay the same."""
    if settings.dropout is not None:
        set_dropout(model, settings.dropout)
    for network in model.backbones() if settings.gradient_checkpointing or settings.compile else ():  # type: ignore[operator]
        if settings.gradient_checkpointing:
            network.gradient_checkpointing_enable({"use_reentrant": False})
        if settings.compile:
            parts = [network.get_encoder(), network.get_decoder()] if network.config.is_encoder_decoder else [network]
            for part in parts:
                part.compile(dynamic=True)


def last_checkpoint(folder: Path) -> Path | None:
    """Return the newest complete checkpoint, or None; newer incomplete checkpoints are deleted.

    The Trainer writes its state last, so a checkpoint with a readable state is complete.
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


def _ran_out_of_patience(checkpoint: Path, patience: int) -> bool:
    """Return whether a training was killed after early stopping had ended it; the Trainer would train on."""
    state = TrainerState.load_from_json(str(checkpoint / TRAINER_STATE_NAME))
    stored = state.stateful_callbacks.get(Patience.__name__, {})
    return int(stored.get("attributes", {}).get("early_stopping_patience_counter", 0)) >= patience


def train(
    model: Any,
    examples: ExampleStore[Any],
    collate: Callable[[list[Any]], dict[str, Any]],
    validate: Callable[[nn.Module], Validation],
    settings: Optimisation,
    run: Run,
    *,
    other_rate: tuple[float, Iterable[nn.Parameter]] | None = None,
) -> TrainingResult:
    """Train ``model`` in place; afterwards it has the weights of its best checkpoint.

    Args:
        model: A network with the methods ``loss_counts`` and ``backbones``.
        examples: Training examples, with the attribute ``input_ids``; batches are grouped by its length.
        collate: Maps examples to the network's keyword arguments, without ``counts``.
        validate: See :class:`SimCKPTrainer`.
        settings: Hyper-parameters such as learning rate and epochs.
        run: Seed, folder for checkpoints, progress bar.
        other_rate: See :class:`SimCKPTrainer`.

    Raises:
        SimCKPError: There is no training example, or the GPU has not enough memory.
    """
    if not examples:
        raise SimCKPError("there is no training document to learn from")
    steps_per_epoch = math.ceil(math.ceil(len(examples) / settings.batch_size) / settings.gradient_accumulation)
    steps = steps_per_epoch * settings.epochs
    arguments = training_arguments(settings, run, steps=steps)
    sampler = None
    if settings.group_by_length:
        lengths = [len(example.input_ids) for example in examples]
        sampler = LengthGroupedSampler(lengths, settings.batch_size, seed=run.seed)
    _prepare(model, settings)
    trainer = SimCKPTrainer(
        model=model,
        sampler=sampler,
        # ByteDropout cannot intercept the functions of a compiled network or of a recomputed forward pass.
        byte_dropout=not (settings.compile or settings.gradient_checkpointing or torch.cuda.is_available()),
        ema_decay=settings.ema_decay,
        other_rate=other_rate,
        args=arguments,
        data_collator=partial(_with_counts, collate, model),
        train_dataset=examples,
        eval_dataset=examples[:1],  # the Trainer requires one; `validate` has its own examples
        decay_all=settings.decayed == "all",
        callbacks=[
            Patience(early_stopping_patience=settings.patience),
            Checkpoints(run.checkpoint_seconds),
            *run.trackers,
        ],
        validate=validate,
    )
    if sampler is not None:
        trainer.add_callback(SetEpoch(sampler))
    if run.show is not None:
        trainer.add_callback(History(run.show))
    checkpoint = last_checkpoint(run.folder)
    if checkpoint is not None and _ran_out_of_patience(checkpoint, settings.patience):
        trainer.go_to_end(checkpoint)
    else:
        try:
            trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
        except torch.OutOfMemoryError as error:
            raise SimCKPError(
                f"the GPU has not enough memory for this training with batch_size={settings.batch_size}: "
                "choose a smaller batch_size with more gradient_accumulation, or gradient_checkpointing: true"
            ) from error
    trainer.accelerator.wait_for_everyone()
    state = trainer.state
    best = state.best_model_checkpoint or ""
    return TrainingResult(
        steps=state.global_step,
        best_step=int(best.rpartition("-")[2] or state.global_step),
        best_goal=float(state.best_metric or 0.0),
        history=log_rows(state),
    )


def _with_counts(collate: Callable[[list[Any]], dict[str, Any]], model: Any, examples: list[Any]) -> dict[str, Any]:
    batch = collate(examples)
    return batch | {"counts": model.loss_counts(batch) | {TOKENS: int(batch["attention_mask"].sum())}}
