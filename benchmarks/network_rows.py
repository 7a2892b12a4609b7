"""Benchmarks of the networks: contrastive head, training step, overgeneration, extraction, reranking, prediction."""

import random
from functools import partial
from typing import Any

import numpy as np
import torch

from benchmarks import inputs
from benchmarks.arithmetic import linear_weights, matmul_peak
from benchmarks.baselines import mining as mining_baseline
from benchmarks.baselines import scoring as scoring_baseline
from benchmarks.baselines import training as training_baseline
from benchmarks.harness import Row, alternate, peak_memory, seconds, wait
from simckp.extraction.collation import collate
from simckp.extraction.examples import ExtractionExample
from simckp.extraction.scoring import extraction_scores
from simckp.generation.beam_search import Search, beam_search
from simckp.generation.decoder import Precision, step_decoder
from simckp.networks.batches import Batch, to_device
from simckp.networks.dropout import ByteDropout
from simckp.networks.losses import IGNORED_LABEL
from simckp.networks.sampling import LengthGroupedSampler
from simckp.reranking.examples import RerankingExample
from simckp.reranking.scoring import reranking_scores

PAD = inputs.PAD


def _batch(part: list[ExtractionExample], device: str) -> Batch:
    return to_device(collate(part, pad_token_id=PAD), torch.device(device))


def operations(model: Any, batch: Batch) -> float:
    """Return the floating-point operations of the linear layers in a forward pass over a batch's real tokens."""
    source, target = int(batch["attention_mask"].sum()), int((batch["labels"] != IGNORED_LABEL).sum())
    encoder = linear_weights(model.backbone.get_encoder())
    return 2.0 * (source * encoder + target * (linear_weights(model.backbone) - encoder))


def contrastive_head(device: str) -> Row:
    """Measure pooling and loss, forward and backward, with BART-base's width on eight documents."""
    model = inputs.extractor("base", device).train()
    batch = _batch(inputs.examples(8), device)
    shape = *batch["input_ids"].shape, 768
    hidden = torch.randn(shape, generator=torch.Generator().manual_seed(0)).to(device).requires_grad_()
    masks = training_baseline.dense_masks(batch, shape[0], shape[1])

    def ours() -> torch.Tensor:
        return model.extraction_loss(hidden, batch["attention_mask"], batch["candidates"], batch["gold"])

    def run(loss: Any) -> torch.Tensor:
        hidden.grad = None
        loss().backward()
        return hidden.grad  # type: ignore[return-value]

    def dense() -> torch.Tensor:
        return training_baseline.head_loss(model, hidden, masks)

    torch.testing.assert_close(run(ours), run(dense), atol=2e-5, rtol=2e-3)
    baseline, fast = alternate(lambda: run(dense), lambda: run(ours), device=device)
    product = seconds(
        lambda: training_baseline.head_loss(model, hidden, masks, by_product=True).backward(), device=device
    )
    memory = [peak_memory(partial(run, form), device=device) for form in (dense, ours)]
    return Row(
        name="contrastive_head",
        baseline="dense mask of candidates and tokens, loop over documents",
        baseline_seconds=baseline,
        seconds=fast,
        sizes={
            "documents": shape[0],
            "tokens": shape[1],
            "candidates": len(batch["candidates"]),
            "seconds_with_mask_as_matrix_product": round(product, 4),
            "baseline_mebibytes": round(memory[0] / 2**20, 1),
            "mebibytes": round(memory[1] / 2**20, 1),
            "memory_ratio": round(memory[0] / memory[1], 1),
        },
        bar=5,
    )


def training_step(device: str) -> Row:
    """Measure training steps of stage 1 with BART-base's dimensions: forward, backward, clipping, AdamW."""
    size, count = 8, (24 if device == "cpu" else 256)
    examples = inputs.examples(count)
    model = inputs.extractor("base", device)
    _check_losses(model, examples[:size], device)
    model.train()
    grouped = list(LengthGroupedSampler([len(example.input_ids) for example in examples], size, seed=1))
    order = random.Random(0).sample(range(count), count)  # noqa: S311
    half = device == "cuda"
    optimisers = [torch.optim.AdamW(model.parameters(), lr=1e-5, fused=fused) for fused in (False, True)]

    def epoch(fast: bool) -> None:
        positions = grouped if fast else order
        for start in range(0, count, size):
            batch = _batch([examples[at] for at in positions[start : start + size]], device)
            optimisers[fast].zero_grad(set_to_none=True)
            if fast and device == "cpu":
                with ByteDropout():
                    loss = model(**batch)["loss"]
            elif fast:
                with torch.autocast("cuda", dtype=torch.bfloat16, enabled=half):
                    loss = model(**batch)["loss"]
            else:
                loss = training_baseline.loss(model, batch)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimisers[fast].step()

    baseline, fast = alternate(lambda: epoch(False), lambda: epoch(True), device=device)
    used = sum(3 * operations(model, _batch([example], device)) for example in examples)
    peak = matmul_peak(device, torch.bfloat16 if half else torch.float32)
    steps = count // size
    return Row(
        name="training_step",
        baseline="dense candidate masks, random batches, float32, PyTorch's dropout and AdamW",
        baseline_seconds=baseline / steps,
        seconds=fast / steps,
        sizes={
            "documents_a_step": size,
            "steps": steps,
            "tokens_per_second": round(sum(len(example.input_ids) for example in examples) / fast),
            "share_of_peak": round(used / fast / peak, 3),
            "teraflops_peak": round(peak / 1e12, 2),
            "kp20k_hours_an_epoch": round(530_809 * fast / count / 3600, 2),
        },
        bar=1.3 if device == "cpu" else 4,
    )


def _check_losses(model: Any, examples: list[ExtractionExample], device: str) -> None:
    """Check that both paths give the same loss without dropout, on documents that all have a target."""
    batch = _batch([example for example in examples if len(example.decoder_labels)], device)
    model.eval()
    with torch.no_grad():
        ours, theirs = model(**batch)["loss"], training_baseline.loss(model, batch)
    torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-4)


class _Generation:
    """A network with documents and both beam searches."""

    def __init__(self, size: str, device: str, *, documents: int, new_tokens: int) -> None:
        self.device, self.model = device, inputs.bart(size).eval().to(device)
        generator = torch.Generator().manual_seed(2)
        self.rows = [
            torch.randint(5, 50000, (len(example.input_ids),), generator=generator)
            for example in inputs.examples(documents)
        ]
        config = self.model.generation_config
        self.search = Search(
            beams=50,
            max_new_tokens=new_tokens,
            no_repeat_ngram=2,
            length_penalty=1.0,
            early_stopping=False,
            start=self.model.config.decoder_start_token_id,
            end=config.eos_token_id,
        )

    def _batches(self, size: int) -> Any:
        order = sorted(range(len(self.rows)), key=lambda at: -len(self.rows[at]))
        for start in range(0, len(order), size):
            part = [self.rows[at] for at in order[start : start + size]]
            ids = torch.nn.utils.rnn.pad_sequence(part, batch_first=True, padding_value=PAD).to(self.device)
            yield ids, (ids != PAD).long()

    def transformers(
        self, size: int, *, count: int | None = None, scores: bool = False
    ) -> list[dict[tuple[int, ...], float]]:
        """Search with ``generate``; return the scores by token ids for each document, longest document first.

        Without ``scores`` they are 0, since ``generate`` would also return the scores of every step and token.
        """
        hypotheses = []
        for ids, mask in self._batches(size):
            output = self.model.generate(
                input_ids=ids,
                attention_mask=mask,
                num_beams=50,
                num_return_sequences=50,
                max_new_tokens=self.search.max_new_tokens,
                min_length=0,
                no_repeat_ngram_size=2,
                length_penalty=1.0,
                early_stopping=False,
                forced_bos_token_id=None,
                forced_eos_token_id=None,
                do_sample=False,
                return_dict_in_generate=True,
                output_scores=scores,
            )
            sums = output.sequences_scores if scores else torch.zeros(len(output.sequences))
            for sequences, values in zip(
                output.sequences.view(len(ids), 50, -1).tolist(), sums.view(-1, 50).tolist(), strict=True
            ):
                hypotheses.append({self._body(tokens): value for tokens, value in zip(sequences, values, strict=True)})
            if count is not None and len(hypotheses) >= count:
                break
        return hypotheses

    def _body(self, tokens: list[int]) -> tuple[int, ...]:
        end = self.search.end
        return tuple(tokens[1 : tokens.index(end, 1)] if end in tokens[1:] else tokens[1:])

    @torch.inference_mode()
    def ours(self, precision: Precision, size: int) -> list[dict[tuple[int, ...], float]]:
        """Search with our beam search; return the scores as :meth:`transformers` does."""
        decoder = self.decoder(precision)
        half = precision == "bfloat16"
        hypotheses = []
        for ids, mask in self._batches(size):
            with torch.autocast(self.device, dtype=torch.bfloat16, enabled=half):
                hidden = self.model.get_encoder()(input_ids=ids, attention_mask=mask).last_hidden_state
            hidden = hidden.to(torch.bfloat16 if half else torch.float32)
            for beams in beam_search(hidden, mask, decoder, self.search):
                hypotheses.append({tuple(one.token_ids): one.log_prob for one in beams})
        return hypotheses

    def decoder(self, precision: Precision) -> Any:
        """Return the decoder in a precision; the last one is cached."""
        if getattr(self, "_precision", None) != precision:
            self._decoder, self._precision = step_decoder(self.model, precision), precision
        return self._decoder

    def operations(self) -> float:
        """Return the operations of the linear layers for all documents, assuming that no search ends early."""
        encoder = linear_weights(self.model.get_encoder())
        per_step = linear_weights(self.model) - encoder
        return 2.0 * sum(len(row) * encoder + 50 * self.search.max_new_tokens * per_step for row in self.rows)


def overgeneration(device: str) -> Row:
    """Measure 50 beams in float32 (on a GPU, bfloat16) against ``generate`` with its best batch size of 1, 4 and 8."""
    return _overgeneration("overgeneration", device, "float32" if device == "cpu" else "bfloat16")


def overgeneration_int8(device: str) -> Row:
    """Measure the same with 8-bit weights; docs/benchmarks.md has their effect on R@50 of a trained network."""
    return _overgeneration("overgeneration_int8", "cpu", "int8")


def overgeneration_float32_gpu(device: str) -> Row:
    """Measure 50 beams on a GPU in float32, and check that the hypotheses are those of ``generate``."""
    return _overgeneration("overgeneration_float32_gpu", "cuda", "float32")


def _overgeneration(name: str, device: str, precision: Precision) -> Row:
    on_gpu = device == "cuda"
    work = _Generation("base" if on_gpu else "small", device, documents=8 if on_gpu else 4, new_tokens=40)
    many = _Generation("base", device, documents=128, new_tokens=40) if on_gpu else work
    if precision == "float32":
        for mine, reference in zip(work.ours(precision, 2), work.transformers(1, scores=True), strict=True):
            same = mine.keys() & reference.keys()
            # A GPU adds up in another order, so hypotheses with almost equal scores may swap at the last rank.
            if len(same) < (49 if on_gpu else 50) or max(abs(mine[one] - reference[one]) for one in same) > 1e-4:
                raise AssertionError(f"the hypotheses differ: {len(same)} of 50 are the same")
    by_size = {size: seconds(partial(work.transformers, size), device=device) for size in (1, 4, 8)}
    best = min(by_size, key=lambda size: by_size[size])
    ours_size = 64 if on_gpu else 2
    baseline, fast = alternate(
        lambda: work.transformers(best),
        lambda: many.ours(precision, ours_size),
        device=device,
        repeats=3 if on_gpu else 5,
    )
    baseline, fast = baseline / len(work.rows), fast / len(many.rows)
    memory = [
        peak_memory(lambda: work.transformers(best, count=best), device=device) / best,
        peak_memory(lambda: many.ours(precision, ours_size), device=device) / ours_size,
    ]
    peak = matmul_peak(device, torch.bfloat16 if precision == "bfloat16" else torch.float32)
    return Row(
        name=name,
        baseline=f"transformers generate, float32, batch {best}",
        baseline_seconds=baseline,
        seconds=fast,
        sizes={
            "network": "BART-base" if on_gpu else "BART, width 256, 3 + 3 layers",
            "precision": precision,
            "beams": 50,
            "new_tokens": 40,
            "batch_size": ours_size,
            "baseline_seconds_by_batch_size": {
                size: round(value / len(work.rows), 3) for size, value in by_size.items()
            },
            "baseline_mebibytes_a_document": round(memory[0] / 2**20, 1),
            "mebibytes_a_document": round(memory[1] / 2**20, 1),
            "share_of_peak": round(many.operations() / (fast * len(many.rows)) / peak, 3),
            "kp20k_hours": round(530_809 * fast / 3600, 1),
        },
        bar={"float32": 4, "int8": 6, "bfloat16": 10}[precision],
    )


def extraction(device: str) -> Row:
    """Measure scoring of mined candidates with BART-base: the encoder alone against the whole network."""
    examples = inputs.examples(32 if device == "cpu" else 512)
    model = inputs.extractor("base", device).eval()
    ours = extraction_scores(model, examples)
    plain = scoring_baseline.extraction_scores(model, examples, pad_token_id=PAD, device=device)
    for mine, reference in zip(ours, plain, strict=True):
        np.testing.assert_allclose(mine, reference, atol=1e-3 if device == "cuda" else 2e-4)
    baseline, fast = alternate(
        lambda: scoring_baseline.extraction_scores(model, examples, pad_token_id=PAD, device=device),
        lambda: extraction_scores(model, examples),
        device=device,
    )
    return Row(
        name="extraction",
        baseline="encoder, decoder and output layer, dense masks",
        baseline_seconds=baseline,
        seconds=fast,
        sizes={"documents": len(examples), "documents_per_second": round(len(examples) / fast, 1)},
        bar=4,
    )


def reranking(device: str) -> Row:
    """Measure reranking of 1,000 documents with sixty candidates each; the baseline is extrapolated from a tenth."""
    examples, share = _reranking_examples(1000), 10
    tenth = examples[: len(examples) // share]
    model = inputs.reranker(device)
    ours = reranking_scores(model, tenth)
    plain = scoring_baseline.reranking_scores(model, tenth, pad_token_id=0, device=device)
    for mine, reference in zip(ours, plain, strict=True):
        np.testing.assert_allclose(mine, reference, atol=1e-3 if device == "cuda" else 2e-4)
    baseline, fast = alternate(
        lambda: scoring_baseline.reranking_scores(model, tenth, pad_token_id=0, device=device),
        lambda: reranking_scores(model, examples),
        device=device,
        warm=0,
    )
    distinct = len({phrase.tobytes() for example in examples for phrase in example.phrases})
    return Row(
        name="reranking",
        baseline="each document with its own phrases, padded to 32 tokens (a tenth, extrapolated)",
        baseline_seconds=share * baseline,
        seconds=fast,
        sizes={
            "documents": len(examples),
            "phrases": sum(len(example.phrases) for example in examples),
            "distinct_phrases": distinct,
            "documents_per_second": round(len(examples) / fast, 1),
        },
        bar=5,
    )


def _reranking_examples(count: int) -> list[RerankingExample]:
    """Return documents with 60 phrases each; gold keyphrases stand for the phrases of a trained generator."""
    generator, pool = np.random.default_rng(0), inputs.keyphrases()
    reranked = []
    for example in inputs.examples(count):
        phrases = [pool[int(at)] for at in generator.choice(len(pool), 60, replace=False)]
        labels = np.zeros(len(phrases), dtype=np.bool_)
        reranked.append(
            RerankingExample(windows=[example.input_ids], phrases=phrases, label=labels, targets=0, truncated=False)
        )
    return reranked


def prediction(device: str) -> Row:
    """Measure the way from texts to scored candidates with MiniLM: tag, mine, map to tokens, encode, score."""
    from simckp.candidates.mining import mine_pairs
    from simckp.candidates.tagging import tag_documents
    from simckp.extraction.loading import new_extractor
    from simckp.extraction.scoring import score_present

    documents = inputs.tagged_documents(inputs.DOCUMENTS)[0][:64]
    torch.manual_seed(0)
    model = new_extractor("minilm", inputs.EXTRACTOR_SETTINGS, decoder_layers=2).to(device).eval()
    settings = inputs.tagger()

    def ours() -> list[Any]:
        pairs = list(zip(documents, tag_documents(documents, settings=settings), strict=True))
        mined = mine_pairs(pairs, max_words=6)
        return list(score_present(list(zip(documents, mined, strict=True)), model))

    def plain() -> list[Any]:
        scored = []
        for document in documents:
            tagged = tag_documents([document], settings=settings)[0]
            mined = mining_baseline.mine(document, tagged, max_words=6)
            scored += list(score_present([(document, mined)], model))
        return scored

    for mine, reference in zip(ours(), plain(), strict=True):
        scores = {phrase["key"]: phrase["score"] for phrase in reference["phrases"]}
        for phrase in mine["phrases"]:
            if abs(scores[phrase["key"]] - phrase["score"]) > 1e-4:
                raise AssertionError("the scores differ")
    baseline, fast = alternate(plain, ours, device=device)
    wait(device)
    return Row(
        name="prediction",
        baseline="one document at a time, plain mining",
        baseline_seconds=baseline,
        seconds=fast,
        sizes={"documents": len(documents), "documents_per_second": round(len(documents) / fast, 1)},
    )
