"""Try everything on a GPU in under ten minutes, and write a report: ``make gpu-check``.

``python -m benchmarks.gpu_check [--out FILE] [--device cpu] [--size small] [--parts NAME ...]``. A part that fails is
reported with its error, the others go on, and the exit status is 1.
"""

import argparse
import copy
import os
import signal
import statistics
import subprocess
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
import transformers
from transformers import BartForConditionalGeneration

from benchmarks import gpu_sweep, inputs
from benchmarks.__main__ import GPU_ROWS, measured, table
from benchmarks.arithmetic import matmul_peak
from benchmarks.harness import machine, wait
from benchmarks.network_rows import operations
from simckp.extraction.collation import collate
from simckp.extraction.examples import ExtractionExample
from simckp.extraction.extractor import ExtractorGenerator
from simckp.extraction.loading import METHODS, new_extractor
from simckp.extraction.scoring import extraction_scores
from simckp.generation.beam_search import Search, beam_search
from simckp.generation.decoder import step_decoder
from simckp.networks.batches import to_device
from simckp.networks.trainer import Validation
from simckp.networks.training import Run, last_checkpoint, train
from simckp.params import read_params

_SEED = 5
# The parts of the pipeline's two families of networks, and every variant of stage 1.
_VARIANTS: tuple[dict[str, Any], ...] = (
    {},
    {"negatives": "in_batch"},
    {"document_pooling": "mean"},
    {"document_pooling": "max"},
    {"phrase_pooling": "mean"},
    {"phrase_pooling": "max"},
    {"phrase_pooling": "logsumexp"},
    {"reduction": "sum"},
    *({"method": method} for method in ("binary_classification", "sequence_labelling", "generation")),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Check:
    """What is tried where.

    Attributes:
        device: ``cuda``, or ``cpu`` to try the check itself.
        width: Hidden size of the BART with random weights.
        layers: Number of its layers in encoder and decoder.
        vocabulary: Number of its tokens.
        tokens: Length of a document.
        batch: Documents in a training step.
        steps: Training steps.
        documents: Documents that are overgenerated.
        new_tokens: Length of a beam.
        beams: Number of beams.
        rows: Rows of the benchmark table.
        sweep: Whether batch sizes are swept.
    """

    device: str
    width: int = 768
    layers: int = 6
    vocabulary: int = 50265
    tokens: int = 256
    batch: int = 32
    steps: int = 100
    documents: int = 100
    new_tokens: int = 40
    beams: int = 50
    rows: tuple[str, ...] = tuple(GPU_ROWS)
    sweep: bool = True

    @classmethod
    def small(cls, device: str) -> "Check":
        """Return a check of seconds, with a network that learns and finds nothing."""
        return cls(
            device=device,
            width=32,
            layers=1,
            vocabulary=300,
            tokens=24,
            batch=4,
            steps=6,
            documents=6,
            new_tokens=6,
            beams=4,
            rows=(),
            sweep=False,
        )

    def bart(self) -> BartForConditionalGeneration:
        """Return the network, with the same random weights in every call."""
        return inputs.random_bart(self.width, self.layers, self.vocabulary)

    def extractor(self, **changes: Any) -> ExtractorGenerator:
        """Return an extractor-generator with the network, on the CPU."""
        settings = inputs.EXTRACTOR_SETTINGS.model_copy(update=changes)
        return METHODS[settings.method](self.bart(), inputs.NO_TOKENIZER, settings)

    def examples(self, count: int, vocabulary: int | None = None) -> list[ExtractionExample]:
        """Return documents of random tokens, each with candidates, two thirds of them with a target."""
        draw = np.random.default_rng(_SEED)
        made = []
        for number in range(count):
            length = int(draw.integers(self.tokens // 2, self.tokens + 1))
            ids = draw.integers(10, vocabulary or self.vocabulary, length).astype(np.int32)
            starts = np.arange(1, length - 3, 4, dtype=np.int32)
            target = draw.integers(10, vocabulary or self.vocabulary, 8 if number % 3 else 0).astype(np.int32)
            made.append(
                ExtractionExample(
                    input_ids=ids,
                    span_start=starts,
                    span_end=starts + 2,
                    span_candidate=np.arange(len(starts), dtype=np.int32),
                    candidate=np.arange(len(starts), dtype=np.int32),
                    label=np.arange(len(starts)) % 5 == 0,
                    targets=1,
                    decoder_labels=target,
                    truncated=False,
                    unscored=0,
                )
            )
        return made


@contextmanager
def waits_counted(device: str) -> Iterator[list[str]]:
    """Collect the places at which the host waits for the GPU, as torch warns of them."""
    found: list[str] = []
    if device != "cuda":
        yield found
        return
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        torch.cuda.set_sync_debug_mode("warn")
        try:
            yield found
        finally:
            torch.cuda.set_sync_debug_mode("default")
    found += [f"{one.filename}:{one.lineno}" for one in caught if "synchroniz" in str(one.message)]


def versions(check: Check) -> Iterator[str]:
    """Name the machine and the libraries."""
    yield f"{machine(check.device)}, transformers {transformers.__version__}, Python {sys.version.split()[0]}"
    if check.device == "cuda":
        free, total = torch.cuda.mem_get_info()
        yield f"CUDA {torch.version.cuda}, {free / 2**30:.0f} of {total / 2**30:.0f} GiB free"


def paths(check: Check) -> Iterator[str]:
    """Compare losses, gradients, scores and beams with the CPU's."""
    yield "| path | largest difference | allowed |"
    yield "| --- | --: | --: |"
    for changes in _VARIANTS:
        yield from _compared(check, f"BART {changes or 'as published'}", check.extractor(**changes), check.vocabulary)
    settings = inputs.EXTRACTOR_SETTINGS.model_copy(update={"max_source_tokens": 256})
    yield from _compared(check, "MiniLM", new_extractor("minilm", settings, decoder_layers=2), 30000)
    for family, model in (
        ("BART", check.bart()),
        ("BERT", new_extractor("minilm", settings, decoder_layers=1).backbone),
    ):
        expected, found = (_best_beams(check, copy.deepcopy(model).to(device)) for device in ("cpu", check.device))
        differences = [abs(mine - theirs) for mine, theirs in zip(found, expected, strict=True)]
        yield _line(f"beams of {family}, log-probability of the best", max(differences), 1e-3)


def _line(what: str, difference: float, allowed: float) -> str:
    if not difference <= allowed:
        raise AssertionError(f"{what}: {difference:.2g} from the CPU's, where {allowed:.0e} is allowed")
    return f"| {what} | {difference:.1e} | {allowed:.0e} |"


def _compared(check: Check, what: str, model: ExtractorGenerator, vocabulary: int) -> Iterator[str]:
    examples = check.examples(4, vocabulary)
    batch = collate(examples, pad_token_id=inputs.PAD)
    results = []
    for device in ("cpu", check.device):
        network = copy.deepcopy(model).eval().to(device)
        losses = network(**to_device(batch, torch.device(device)))
        losses["loss"].backward()
        values = [loss.detach().cpu() for loss in losses.values()]
        values += [weight.grad.cpu() for weight in network.parameters() if weight.grad is not None]
        scores = extraction_scores(network, examples) if network.extracts else []
        results.append(values + [torch.tensor(row) for row in scores])
    differences = [
        float((mine - theirs).abs().max() / theirs.abs().max().clamp(min=1.0))
        for mine, theirs in zip(results[1], results[0], strict=True)
        if theirs.numel()
    ]
    yield _line(f"{what}: losses, gradients, scores", max(differences), 2e-3)


def _search(check: Check, model: Any) -> Search:
    return Search(
        beams=check.beams,
        max_new_tokens=check.new_tokens,
        no_repeat_ngram=2,
        length_penalty=1.0,
        early_stopping=False,
        start=int(model.generation_config.decoder_start_token_id or model.config.decoder_start_token_id),
        end=int(model.generation_config.eos_token_id),
    )


@torch.inference_mode()
def _best_beams(check: Check, model: Any) -> list[float]:
    device = next(model.parameters()).device
    batch = to_device(collate(check.examples(2, 300), pad_token_id=inputs.PAD), device)
    model.eval()
    hidden = model.get_encoder()(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]).last_hidden_state
    decoder = step_decoder(model, "float32")
    found = beam_search(hidden, batch["attention_mask"], decoder, _search(check, model))
    return [beams[0].log_prob for beams in found]


def training(check: Check) -> Iterator[str]:
    """Train stage 1 with the project's Trainer: speed, share of the peak, memory, and the waits of a step."""
    model, examples = check.extractor(), check.examples(check.batch * check.steps)
    with TemporaryDirectory() as folder, waits_counted(check.device) as waits:
        wait(check.device)
        begun = time.perf_counter()
        result = _train(check, model, examples, Path(folder))
        wait(check.device)
        seconds = time.perf_counter() - begun
    tokens = sum(len(example.input_ids) for example in examples)
    used = 3 * sum(operations(model, collate([example], pad_token_id=inputs.PAD)) for example in examples)
    peak = matmul_peak(check.device, torch.bfloat16)
    yield f"{result.steps} steps of {check.batch} documents in bfloat16: {seconds / result.steps * 1e3:.1f} ms a step, "
    yield f"{tokens / seconds:,.0f} source tokens a second, {used / seconds / peak:.1%} of the peak of "
    yield f"{peak / 1e12:.1f} teraflops (operations of the linear layers, start and end of the training included)."
    if check.device == "cuda":
        yield f"{len(waits) / result.steps:.1f} waits a step; {torch.cuda.max_memory_allocated() / 2**30:.1f} GiB."


def _train(check: Check, model: Any, examples: list[ExtractionExample], folder: Path) -> Any:
    changes = {
        "batch_size": check.batch,
        "epochs": 1,
        "precision": "bfloat16" if check.device == "cuda" else "float32",
        "evaluate_every": max(1, check.steps // 2),
        "ema_decay": 0.99,
    }
    settings = read_params(Path("params.yaml")).extractor.model_copy(update=changes)
    batched = partial(collate, pad_token_id=inputs.PAD)
    run = Run(seed=_SEED, folder=folder, minimum=0)
    return train(model, examples, batched, lambda _: Validation(0.0, {}), settings, run)  # type: ignore[arg-type]


def overgeneration(check: Check) -> Iterator[str]:
    """Search with all beams in bfloat16: speed, memory, and the waits of a step."""
    model = check.bart().eval().to(check.device)
    decoder, search = step_decoder(model, "bfloat16"), _search(check, model)
    examples = sorted(check.examples(check.documents), key=lambda example: -len(example.input_ids))
    batches = [
        to_device(collate(examples[at : at + 32], pad_token_id=inputs.PAD), torch.device(check.device))
        for at in range(0, len(examples), 32)
    ]

    @torch.inference_mode()
    def run() -> None:
        for batch in batches:
            with torch.autocast(check.device, dtype=torch.bfloat16):
                states = model.get_encoder()(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"])
            hidden = states.last_hidden_state.to(torch.bfloat16)
            beam_search(hidden, batch["attention_mask"], decoder, search)

    run()
    seconds = []
    for _ in range(3):
        wait(check.device)
        begun = time.perf_counter()
        run()
        wait(check.device)
        seconds.append(time.perf_counter() - begun)
    with waits_counted(check.device) as waits:
        run()
    rate = len(examples) / statistics.median(seconds)
    yield f"{len(examples)} documents, {check.beams} beams of {check.new_tokens} tokens: {rate:.1f} documents a second."
    if check.device == "cuda":
        steps = len(batches) * check.new_tokens
        yield f"{len(waits) / steps:.2f} waits a step; {torch.cuda.max_memory_allocated() / 2**30:.1f} GiB."


def kill(check: Check, python: list[str]) -> Iterator[str]:
    """Kill a training and start it again: its curve is that of one that was left alone."""
    at = check.steps * 3 // 4
    with TemporaryDirectory() as folder:
        whole, killed = Path(folder) / "whole", Path(folder) / "killed"
        command = [*python, "-m", "benchmarks.gpu_check", "--train", str(killed), "--device", check.device]
        command += ["--kill-at", str(at), *([] if check.rows else ["--size", "small"])]
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
        if done.returncode != -signal.SIGKILL:
            raise AssertionError(f"the training was not killed: {done.stderr[-2000:]}")
        if last_checkpoint(killed) is None:
            raise AssertionError("the killed training left no checkpoint")
        curves = [_losses(check, part) for part in (whole, killed)]
    difference = max(abs(mine - theirs) for mine, theirs in zip(*curves, strict=True))
    yield "| path | largest difference | allowed |"
    yield "| --- | --: | --: |"
    yield _line(f"loss of a training that was killed at step {at}", difference, 5e-2)


def _losses(check: Check, folder: Path) -> list[float]:
    """Train, from the checkpoint in the folder if there is one, and return the logged losses."""
    result = _train(check, check.extractor(), check.examples(check.batch * check.steps), folder)
    return [row["loss"] for row in result.history if "loss" in row]


def _die_in_training(check: Check, folder: Path, kill_at: int) -> None:
    """Train, and end without warning at a step."""
    from simckp.networks.trainer import SimCKPTrainer

    step = SimCKPTrainer.training_step

    def deadly(trainer: Any, *arguments: Any, **options: Any) -> Any:
        if trainer.state.global_step == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)
        return step(trainer, *arguments, **options)

    SimCKPTrainer.training_step = deadly  # type: ignore[method-assign]
    _losses(check, folder)


def rows(check: Check) -> Iterator[str]:
    """Measure the rows of the benchmark table."""
    found = [measured(name, check.device) for name in check.rows]
    yield table(found) if found else "none at this size"


def sweep(check: Check) -> Iterator[str]:
    """Measure batch sizes."""
    yield from (f"- {line}" for line in gpu_sweep.lines()) if check.sweep else ["not at this size"]


def report(check: Check, parts: list[str], python: list[str]) -> tuple[str, int]:
    """Return the report as Markdown, and the number of parts that failed."""
    known: dict[str, Callable[[], Iterator[str]]] = {
        part.__name__: partial(part, check) for part in (versions, paths, training, overgeneration, rows, sweep)
    }
    known["kill"] = partial(kill, check, python)
    text, failed = ["# GPU check", ""], 0
    for name in parts or known:
        begun = time.perf_counter()
        try:
            lines = list(known[name]())
        except Exception:
            lines, failed = ["**failed**", "", "```", traceback.format_exc().strip(), "```"], failed + 1
        sys.stderr.write(f"{name}: {time.perf_counter() - begun:.0f} s\n")
        text += [f"## {name.capitalize()}", "", *lines, "", f"({time.perf_counter() - begun:.0f} s)", ""]
    return "\n".join(text), failed


def main(python: list[str] | None = None) -> int:
    """Write the report and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu_check", description=__doc__)
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--size", choices=["base", "small"], default="base")
    parser.add_argument("--parts", nargs="+", default=[], metavar="NAME")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--train", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--kill-at", type=int, default=0, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.device == "cuda" and not torch.cuda.is_available():
        parser.error("torch sees no GPU (nvidia-smi? a CPU build of torch?); --device cpu tries the check itself")
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    check = Check.small(options.device) if options.size == "small" else Check(device=options.device)
    if options.train:
        _die_in_training(check, options.train, options.kill_at)
        return 0
    text, failed = report(check, options.parts, python or [sys.executable])
    if options.out:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(text, encoding="utf-8")
    sys.stdout.write(text + "\n")
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main())
