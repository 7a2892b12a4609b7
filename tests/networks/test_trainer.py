"""Training for real on tiny networks: it learns, resumes, stops early, keeps the best weights."""

import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModel, AutoTokenizer

from simckp.errors import SimCKPError
from simckp.execution import Listed
from simckp.extraction import training as extraction_training
from simckp.extraction.training import train_extractor
from simckp.networks import trainer, training
from simckp.networks.trainer import Validation
from simckp.networks.training import Run, trackers, train
from simckp.params import ExtractorParams

OPTIMISATION = {
    "backbone": "",
    "max_source_tokens": 32,
    "temperature": 0.1,
    "reduction": "mean",
    "learning_rate": 3e-3,
    "warmup_ratio": 0.0,
    "batch_size": 2,
    "gradient_accumulation": 1,
    "epochs": 4,
    "max_grad_norm": 1.0,
    "dropout": None,
    "evaluate_every": 3,
    "patience": 10,
    "patience_on": "goal",
    "schedule": "linear",
    "weight_decay": 0.01,
    "decayed": "matrices",
    "long_documents": "truncate",
    "group_by_length": True,
    "precision": "float32",
    "gradient_checkpointing": False,
    "compile": False,
    "ema_decay": 0.0,
    "method": "contrastive",
    "document_pooling": "first",
}
EXTRACTOR = OPTIMISATION | {
    "negatives": "hard",
    "phrase_pooling": "sum",
    "decoder_layers": 1,
    "decoder_learning_rate": None,
    "decoder_targets": "absent",
    "max_target_tokens": 16,
    "documents": "all",
    "training_documents": None,
}


def settings(folder: Path, **changes: Any) -> ExtractorParams:
    return ExtractorParams(**(EXTRACTOR | {"backbone": str(folder)} | changes))


def fit(pairs: Any, tiny_bert: Path, folder: Path, **changes: Any) -> Any:
    run = Run(seed=7, folder=folder, minimum=5)
    rows = Listed(pairs)
    return train_extractor(rows, rows, settings(tiny_bert, **changes), run, contrastive_weight=0.3, max_words=6)


def test_losses_fall_and_the_curve_is_logged(pairs: Any, tiny_bert: Path, tmp_path: Path) -> None:
    trained = fit(pairs, tiny_bert, tmp_path, epochs=12)
    losses = [row for row in trained.result.history if "extraction" in row]
    assert losses[-1]["extraction"] < losses[0]["extraction"]
    assert losses[-1]["mle"] < losses[0]["mle"]
    assert losses[0]["loss"] == pytest.approx(losses[0]["mle"] + 0.3 * losses[0]["extraction"], rel=1e-3)
    assert trained.result.steps == 36
    assert trained.counts == {"documents": 6, "documents_used": 6, "documents_truncated": 0}


def test_the_curve_is_shown_while_it_grows(pairs: Any, tiny_bert: Path, tmp_path: Path) -> None:
    shown: list[list[dict[str, float]]] = []
    run = Run(seed=7, folder=tmp_path, minimum=5, show=lambda history: shown.append(list(history)))
    rows = Listed(pairs)
    trained = train_extractor(rows, rows, settings(tiny_bert), run, contrastive_weight=0.3, max_words=6)
    lengths = [len(history) for history in shown]
    assert lengths == sorted(set(lengths)) and lengths[0] == 1
    assert shown[-1] == trained.result.history


def test_a_tracker_gets_the_log_and_no_other_writes(
    pairs: Any, tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TENSORBOARD_LOGGING_DIR", raising=False)
    monkeypatch.chdir(tmp_path)
    made = trackers(["tensorboard"], tmp_path / "logs")
    run = Run(seed=7, folder=tmp_path / "run", minimum=5, trackers=made)
    rows = Listed(pairs)
    train_extractor(rows, rows, settings(tiny_bert), run, contrastive_weight=0.3, max_words=6)
    (written,) = (tmp_path / "logs").iterdir()
    assert written.name.startswith("events.") and b"eval/f1_at_m" in written.read_bytes()
    fit(pairs, tiny_bert, tmp_path / "other")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["logs", "other", "run"]
    monkeypatch.delenv("TENSORBOARD_LOGGING_DIR")


@pytest.mark.parametrize(
    ("name", "message"), [("pencil", "report_to: pencil is not supported"), ("swanlab", "report_to: .*swanlab")]
)
def test_a_tracker_that_is_not_there(tmp_path: Path, name: str, message: str) -> None:
    with pytest.raises(SimCKPError, match=message):
        trackers([name], tmp_path)


def test_linear_decay_to_zero_without_warm_up(pairs: Any, tiny_bert: Path, tmp_path: Path) -> None:
    rates = [row["learning_rate"] for row in fit(pairs, tiny_bert, tmp_path).result.history if "learning_rate" in row]
    # Twelve steps: the rate logged after step s is that of step s, 3e-3 * (12 - (s - 1)) / 12.
    assert rates == pytest.approx([3e-3 * (12 - (s - 1)) / 12 for s in (3, 6, 9, 12)])


def test_fewer_steps_than_the_evaluation_interval_still_keep_a_checkpoint(
    pairs: Any, tiny_bert: Path, tmp_path: Path
) -> None:
    trained = fit(pairs, tiny_bert, tmp_path, evaluate_every=5000, epochs=1)
    assert trained.result.steps == trained.result.best_step == 3
    assert (tmp_path / "checkpoint-3/model.safetensors").is_file()


def test_a_killed_training_goes_on_from_its_last_checkpoint(
    pairs: Any, tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = fit(pairs, tiny_bert, tmp_path / "whole")
    seen: list[int] = []
    evaluate = trainer.SimCKPTrainer.evaluate

    def killed(self: Any, *arguments: Any, **options: Any) -> Any:
        seen.append(self.state.global_step)
        if self.state.global_step == 9 and seen.count(9) == 1:
            raise KeyboardInterrupt
        return evaluate(self, *arguments, **options)

    monkeypatch.setattr(trainer.SimCKPTrainer, "evaluate", killed)
    with pytest.raises(KeyboardInterrupt):
        fit(pairs, tiny_bert, tmp_path / "killed")
    resumed = fit(pairs, tiny_bert, tmp_path / "killed")
    assert seen == [3, 6, 9, 9, 12]  # not from zero
    assert resumed.result.best_goal == pytest.approx(whole.result.best_goal)
    for column in ("mle", "extraction"):  # means over the steps since the last entry, resumed or not
        logged = [[row[column] for row in one.result.history if column in row] for one in (whole, resumed)]
        assert logged[1] == pytest.approx(logged[0], rel=1e-5)
    for name, weight in whole.model.state_dict().items():
        torch.testing.assert_close(resumed.model.state_dict()[name], weight, msg=name)


def test_between_evaluations_a_checkpoint_is_saved_by_time(
    pairs: Any, tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments, step_of = training.training_arguments, trainer.SimCKPTrainer.training_step
    killed_at: list[int] = []

    def logging_often(*given: Any, **options: Any) -> Any:
        made = arguments(*given, **options)
        made.logging_steps = 2
        return made

    def killed(self: Any, *given: Any, **options: Any) -> Any:
        if self.state.global_step == 8 and not killed_at:
            killed_at.append(8)
            raise KeyboardInterrupt
        return step_of(self, *given, **options)

    def run(name: str, seconds: float) -> Any:
        run = Run(seed=7, folder=tmp_path / name, minimum=5, checkpoint_seconds=seconds)
        rows = Listed(pairs)
        chosen = settings(tiny_bert, evaluate_every=6, ema_decay=0.5)
        return train_extractor(rows, rows, chosen, run, contrastive_weight=0.3, max_words=6)

    monkeypatch.setattr(training, "training_arguments", logging_often)
    whole = run("whole", 1e6)
    assert {path.name for path in (tmp_path / "whole").glob("checkpoint-*")} == {"checkpoint-6", "checkpoint-12"}
    monkeypatch.setattr(trainer.SimCKPTrainer, "training_step", killed)
    with pytest.raises(KeyboardInterrupt):
        run("killed", 0.0)
    assert {path.name for path in (tmp_path / "killed").glob("checkpoint-*")} == {"checkpoint-6", "checkpoint-8"}
    resumed = run("killed", 0.0)
    rows = [[row for row in one.result.history if "train_runtime" not in row] for one in (whole, resumed)]
    for first, second in zip(*rows, strict=True):
        timeless = [{k: v for k, v in row.items() if k != "tokens_per_second"} for row in (first, second)]
        assert timeless[1] == pytest.approx(timeless[0], rel=1e-5)
    for name, weight in whole.model.state_dict().items():
        torch.testing.assert_close(resumed.model.state_dict()[name], weight, msg=name)


GOALS = {2: 0.1, 4: 0.5, 6: 0.4, 8: 0.3, 10: 0.6, 12: 0.2, 14: 0.2, 16: 0.5}


def test_a_training_killed_at_any_evaluation_stops_where_an_undisturbed_one_does(
    pairs: Any, tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed_after: list[int] = []
    evaluate, save = trainer.SimCKPTrainer.evaluate, trainer.SimCKPTrainer._save_checkpoint

    def with_given_goal(self: Any, *arguments: Any, **options: Any) -> Any:
        self._validate = lambda _: Validation(goal=GOALS[self.state.global_step], figures={})
        return evaluate(self, *arguments, **options)

    def kill(self: Any, *arguments: Any, **options: Any) -> None:
        save(self, *arguments, **options)
        if [self.state.global_step] == killed_after:
            killed_after.clear()
            raise KeyboardInterrupt

    monkeypatch.setattr(trainer.SimCKPTrainer, "evaluate", with_given_goal)
    monkeypatch.setattr(trainer.SimCKPTrainer, "_save_checkpoint", kill)

    def run(name: str) -> Any:
        return fit(pairs, tiny_bert, tmp_path / name, epochs=10, evaluate_every=2, patience=3)

    whole = run("whole")
    assert (whole.result.steps, whole.result.best_step, whole.result.best_goal) == (16, 10, 0.6)
    for step in (2, 10, 14, 16):  # before and at the best one, while patience runs out, at the stop
        killed_after.append(step)
        with pytest.raises(KeyboardInterrupt):
            run(str(step))
        resumed = run(str(step))
        assert (resumed.result.steps, resumed.result.best_step) == (16, 10), step
        rows = [[row for row in one.result.history if "train_runtime" not in row] for one in (whole, resumed)]
        assert [row["step"] for row in rows[0]] == [row["step"] for row in rows[1]]
        for name, weight in whole.model.state_dict().items():
            torch.testing.assert_close(resumed.model.state_dict()[name], weight, msg=f"{name} killed at {step}")


@pytest.mark.parametrize(("patience_on", "steps"), [("goal", 8), ("goal_or_loss", 16)])
def test_patience_can_be_on_the_loss_too(
    pairs: Any, tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, patience_on: str, steps: int
) -> None:
    losses = {2: 5.0, 4: 4.0, 6: 4.5, 8: 4.5, 10: 3.0, 12: 3.5, 14: 3.5, 16: 3.5}
    step = [0]
    evaluate = trainer.SimCKPTrainer.evaluate

    def noted(self: Any, *arguments: Any, **options: Any) -> Any:
        step[0] = self.state.global_step
        return evaluate(self, *arguments, **options)

    def constant(score: Any, examples: Any, run: Any) -> Any:
        return lambda _: Validation(goal=0.5, figures={})

    def with_given_loss(validate: Any, examples: Any, collate: Any) -> Any:
        # The real function is called for its side: that a loss can be computed at all.
        real = training.validated_with_loss(validate, examples, collate)
        return lambda network: Validation(0.5, {"loss": losses[step[0]] + 0.0 * real(network).figures["loss"]})

    monkeypatch.setattr(trainer.SimCKPTrainer, "evaluate", noted)
    monkeypatch.setattr(extraction_training, "ranking_validation", constant)
    monkeypatch.setattr(extraction_training, "validated_with_loss", with_given_loss)
    trained = fit(pairs, tiny_bert, tmp_path, epochs=10, evaluate_every=2, patience=3, patience_on=patience_on)
    # The goal improves once, at step 2. The loss improves at 4 and 10.
    assert trained.result.steps == steps


@pytest.mark.parametrize("decayed", ["matrices", "all"])
def test_weight_decay_and_schedule_are_as_set(
    pairs: Any, tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, decayed: str
) -> None:
    seen: dict[str, Any] = {}
    train_for_real = trainer.SimCKPTrainer.train

    def watched(self: Any, **options: Any) -> Any:
        done = train_for_real(self, **options)
        names = {id(parameter): name for name, parameter in self.model.named_parameters()}
        for group in self.optimizer.param_groups:
            for parameter in group["params"]:
                seen[names[id(parameter)]] = group["weight_decay"]
        return done

    monkeypatch.setattr(trainer.SimCKPTrainer, "train", watched)
    trained = fit(
        pairs, tiny_bert, tmp_path, epochs=2, schedule="constant", weight_decay=0.25, decayed=decayed, warmup_ratio=0.0
    )
    assert set(seen.values()) == ({0.25} if decayed == "all" else {0.0, 0.25})
    assert all((value == 0.25) == (decayed == "all") for name, value in seen.items() if name.endswith(".bias"))
    rates = [row["learning_rate"] for row in trained.result.history if "learning_rate" in row]
    assert rates == [rates[0]] * len(rates) and rates[0] > 0


def test_long_documents_can_be_left_out(pairs: Any, tiny_bert: Path, tmp_path: Path) -> None:
    longer = [({**document, "text": document["text"] + " graph" * 40}, mined) for document, mined in pairs[:2]]
    whole = fit([*longer, *pairs[2:]], tiny_bert, tmp_path / "a", epochs=1)
    fitting = fit([*longer, *pairs[2:]], tiny_bert, tmp_path / "b", epochs=1, long_documents="leave_out")
    assert whole.counts == {"documents": 6, "documents_used": 6, "documents_truncated": 2}
    assert fitting.counts == {"documents": 6, "documents_used": 4, "documents_truncated": 0}


def test_half_a_checkpoint_is_not_resumed(pairs: Any, tiny_bert: Path, tmp_path: Path) -> None:
    whole = fit(pairs, tiny_bert, tmp_path)
    assert training.last_checkpoint(tmp_path) == tmp_path / "checkpoint-12"
    (tmp_path / "checkpoint-12/trainer_state.json").write_text('{"global_st', encoding="utf-8")
    found = training.last_checkpoint(tmp_path)
    assert found is not None
    assert found.name != "checkpoint-12"
    assert not (tmp_path / "checkpoint-12").exists()
    assert fit(pairs, tiny_bert, tmp_path).result.best_goal == pytest.approx(whole.result.best_goal)
    assert training.last_checkpoint(tmp_path / "none") is None


def test_the_same_seed_gives_the_same_weights(pairs: Any, tiny_bert: Path, tmp_path: Path) -> None:
    first, second = (fit(pairs, tiny_bert, tmp_path / name).model.state_dict() for name in "ab")
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_accumulation_equals_the_larger_batch(
    pairs: Any, tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Scalar(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.tensor(1.0))

        def forward(self, values: torch.Tensor, counts: Any, **_: Any) -> dict[str, torch.Tensor]:
            return {"loss": (self.weight * values).sum() / counts["loss"]}

        def loss_counts(self, batch: Any) -> dict[str, int]:
            return {"loss": len(batch["values"])}

        def backbones(self) -> list[Any]:
            return []

    def run(size: int, accumulation: int) -> float:
        model = Scalar()
        train(
            model,
            [1.0, 2.0, 3.0, 4.0],
            lambda rows: {"values": torch.tensor(rows), "attention_mask": torch.ones(len(rows), 1)},
            lambda _: Validation(0.5, {}),
            settings(
                tiny_bert,
                batch_size=size,
                gradient_accumulation=accumulation,
                epochs=1,
                max_grad_norm=1e9,
                group_by_length=False,
            ),
            Run(seed=1, folder=tmp_path / f"{size}-{accumulation}", minimum=5),
        )
        return float(model.weight)

    assert run(1, 4) == pytest.approx(run(4, 1), abs=1e-6)


def test_early_stopping_keeps_the_best_weights(tiny_bert: Path, tmp_path: Path) -> None:
    class Scalar(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.tensor(0.0))

        def forward(self, values: torch.Tensor, counts: Any, **_: Any) -> dict[str, torch.Tensor]:
            return {"loss": -self.weight * values.sum() / counts["loss"]}

        def loss_counts(self, batch: Any) -> dict[str, int]:
            return {"loss": len(batch["values"])}

        def backbones(self) -> list[Any]:
            return []

    quality = iter([0.1, 0.9, 0.5, 0.4, 0.3, 0.2])
    weights = []

    def validate(model: Any) -> Validation:
        weights.append(float(model.weight))
        return Validation(next(quality), {})

    model = Scalar()
    result = train(
        model,
        [1.0] * 4,
        lambda rows: {"values": torch.tensor(rows), "attention_mask": torch.ones(len(rows), 1)},
        validate,
        settings(tiny_bert, batch_size=4, epochs=50, evaluate_every=1, patience=2, group_by_length=False),
        Run(seed=1, folder=tmp_path, minimum=5),
    )
    assert (result.steps, result.best_step, result.best_goal) == (4, 2, 0.9)
    assert float(model.weight) == pytest.approx(weights[1])


def test_only_documents_with_absent_keyphrases_on_request(pairs: Any, tiny_bert: Path, tmp_path: Path) -> None:
    trained = fit(pairs, tiny_bert, tmp_path, documents="with_absent", epochs=1)
    assert trained.counts["documents_used"] == 3


def test_nothing_to_learn_from(tiny_bert: Path, tmp_path: Path) -> None:
    with pytest.raises(SimCKPError, match="no training document"):
        fit([], tiny_bert, tmp_path)
    shutil.rmtree(tmp_path)


def losses(trained: Any) -> list[float]:
    return [row["loss"] for row in trained.result.history if "loss" in row]


def test_gradient_checkpointing_changes_memory_only(
    pairs: Any, tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compute = trainer.SimCKPTrainer.__init__

    def without_byte_dropout(self: Any, **options: Any) -> None:
        compute(self, **(options | {"byte_dropout": False}))

    monkeypatch.setattr(trainer.SimCKPTrainer, "__init__", without_byte_dropout)
    plain = fit(pairs, tiny_bert, tmp_path / "plain")
    saving = fit(pairs, tiny_bert, tmp_path / "saving", gradient_checkpointing=True)
    assert losses(saving) == pytest.approx(losses(plain), abs=1e-4)


def test_mixed_precision_trains_float32_weights(pairs: Any, tiny_bert: Path, tmp_path: Path) -> None:
    plain = fit(pairs, tiny_bert, tmp_path / "plain")
    mixed = fit(pairs, tiny_bert, tmp_path / "mixed", precision="bfloat16")
    assert losses(mixed) == pytest.approx(losses(plain), rel=0.05)
    assert losses(mixed) != losses(plain)
    assert {weight.dtype for weight in mixed.model.parameters()} == {torch.float32}


def test_compiled_networks_train_alike(
    pairs: Any, tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled_parts = []

    def traced(self: Any, **options: Any) -> None:
        compiled_parts.append(type(self).__name__)
        self._compiled_call_impl = torch.compile(self._call_impl, backend="eager", **options)  # no C++ compiler needed

    plain = fit(pairs, tiny_bert, tmp_path / "plain", epochs=1)
    monkeypatch.setattr(torch.nn.Module, "compile", traced)
    compiled = fit(pairs, tiny_bert, tmp_path / "compiled", epochs=1, compile=True)
    assert compiled_parts == ["BertModel", "BertLMHeadModel"]
    assert losses(compiled) == pytest.approx(losses(plain), rel=0.1)  # other dropout masks
    assert set(compiled.model.state_dict()) == set(plain.model.state_dict())


def test_speed_stands_in_the_log(pairs: Any, tiny_bert: Path, tmp_path: Path) -> None:
    entries = [row for row in fit(pairs, tiny_bert, tmp_path, epochs=1).result.history if "loss" in row]
    assert all(row["tokens_per_second"] > 0 for row in entries)


@pytest.mark.parametrize("size", [2, 3])
def test_accumulated_documents_are_one_batch(pairs: Any, tiny_bert: Path, tmp_path: Path, size: int) -> None:
    """Micro-batches of one document differ in candidates and targets; averaging their means would give other losses."""
    steady = tmp_path / "steady"
    model = AutoModel.from_pretrained(tiny_bert)
    model.config.hidden_dropout_prob = model.config.attention_probs_dropout_prob = 0.0
    model.save_pretrained(steady)
    AutoTokenizer.from_pretrained(tiny_bert).save_pretrained(steady)
    options = {"epochs": 1, "evaluate_every": 1, "group_by_length": False}
    whole = fit(pairs, steady, tmp_path / "whole", batch_size=size, **options)
    parts = fit(pairs, steady, tmp_path / "parts", batch_size=1, gradient_accumulation=size, **options)
    for column in ("loss", "mle", "extraction"):
        columns = [[row[column] for row in trained.result.history if column in row] for trained in (whole, parts)]
        assert len(columns[0]) == 6 // size
        assert columns[1] == pytest.approx(columns[0], abs=1e-5), column


def test_the_average_of_the_weights_is_kept(
    pairs: Any, tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    averages: list[dict[str, torch.Tensor]] = []
    evaluate = trainer.SimCKPTrainer.evaluate

    def recorded(self: Any, *arguments: Any, **options: Any) -> Any:
        last = {name: weight.clone() for name, weight in self.model.state_dict().items()}
        before = averages[-1] if averages else last
        averages.append({name: 0.5 * before[name] + 0.5 * weight for name, weight in last.items()})
        return evaluate(self, *arguments, **options)

    monkeypatch.setattr(trainer.SimCKPTrainer, "evaluate", recorded)
    trained = fit(pairs, tiny_bert, tmp_path, ema_decay=0.5, epochs=1, evaluate_every=1)
    expected = averages[trained.result.best_step - 1]
    for name, weight in trained.model.state_dict().items():
        torch.testing.assert_close(weight, expected[name], msg=name)


def test_a_killed_training_goes_on_with_its_average(pairs: Any, tiny_bert: Path, tmp_path: Path) -> None:
    whole = fit(pairs, tiny_bert, tmp_path / "whole", ema_decay=0.9)
    fit(pairs, tiny_bert, tmp_path / "part", ema_decay=0.9)
    shutil.rmtree(tmp_path / "part/checkpoint-12")
    resumed = fit(pairs, tiny_bert, tmp_path / "part", ema_decay=0.9)
    for name, weight in whole.model.state_dict().items():
        torch.testing.assert_close(resumed.model.state_dict()[name], weight, msg=name)


@pytest.mark.parametrize("method", ["binary_classification", "sequence_labelling"])
def test_the_ablations_learn(pairs: Any, tiny_bert: Path, tmp_path: Path, method: str) -> None:
    trained = fit(pairs, tiny_bert, tmp_path, method=method)
    found = [row["extraction"] for row in trained.result.history if "extraction" in row]
    assert found[-1] < found[0]
    assert trained.model.settings.method == method


@pytest.mark.parametrize("negatives", ["random", "in_batch"])
def test_other_negatives(pairs: Any, tiny_bert: Path, tmp_path: Path, negatives: str) -> None:
    trained = fit(pairs, tiny_bert, tmp_path / "other", negatives=negatives)
    hard = fit(pairs, tiny_bert, tmp_path / "hard")
    assert losses(trained)[-1] < losses(trained)[0]
    assert losses(trained) != losses(hard)


def test_the_decoder_can_learn_all_keyphrases_beside_the_scorer(pairs: Any, tiny_bert: Path, tmp_path: Path) -> None:
    used = {
        targets: fit(pairs, tiny_bert, tmp_path / targets, decoder_targets=targets, documents="with_absent")
        for targets in ("absent", "all")
    }
    without_absent = sum(not mined["absent_targets"] for _, mined in pairs)
    assert without_absent > 0
    assert used["absent"].counts["documents_used"] == len(pairs) - without_absent
    assert used["all"].counts["documents_used"] == len(pairs)  # each has a keyphrase of either kind
    for part in ("mle", "extraction"):
        curve = [row[part] for row in used["all"].result.history if part in row]
        assert curve[-1] < curve[0]


def test_a_generator_alone_learns_present_keyphrases_too(pairs: Any, tiny_bert: Path, tmp_path: Path) -> None:
    trained = fit(pairs, tiny_bert, tmp_path, method="generation", documents="with_absent")
    assert trained.counts["documents_used"] == 6  # each has a keyphrase of either kind
    curve = [row["eval_log_likelihood"] for row in trained.result.history if "eval_log_likelihood" in row]
    assert curve[-1] > curve[0]
    assert trained.result.best_goal == max(curve)
    assert not any(name.startswith("scorer") for name in trained.model.state_dict())


def test_the_decoder_has_its_own_learning_rate(
    pairs: Any, tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    groups: list[Any] = []
    create = trainer.SimCKPTrainer.create_optimizer

    def recorded(self: Any, model: Any = None) -> Any:
        made = create(self, model)
        groups[:] = [
            (group["initial_lr"] if "initial_lr" in group else group["lr"], group) for group in made.param_groups
        ]
        return made

    monkeypatch.setattr(trainer.SimCKPTrainer, "create_optimizer", recorded)
    trained = fit(pairs, tiny_bert, tmp_path / "a", decoder_learning_rate=9e-3, epochs=1)
    decoder = {id(weight) for weight in trained.model.decoder_parameters()}
    for rate, group in groups:
        assert {id(weight) in decoder for weight in group["params"]} <= {rate == 9e-3}
    every = [id(weight) for _, group in groups for weight in group["params"]]
    assert sorted(every) == sorted(id(weight) for weight in trained.model.parameters())
    assert losses(trained) != losses(fit(pairs, tiny_bert, tmp_path / "b", epochs=1))
