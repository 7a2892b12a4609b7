"""The two trainings: which examples, which loss, validated how."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import torch
import transformers
from torch import distributed, nn

from simckp.candidates.random_negatives import with_random_negatives
from simckp.data.records import Document, Generated, Mined
from simckp.errors import SimCKPError
from simckp.extraction.examples import extraction_examples, reranking_examples
from simckp.extraction.extractor import new_extractor
from simckp.networks.collation import ExtractionCollator, RerankingCollator, by_length, to_device
from simckp.networks.losses import is_distributed
from simckp.networks.trainer import TrainingResult, Validation, train
from simckp.params import (
    ExtractionScoring,
    ExtractorParams,
    Optimisation,
    RerankerParams,
    RerankingScoring,
    Section,
)
from simckp.prediction.scores import extraction_rankings, reranking_rankings
from simckp.reranking.reranker import new_reranker
from simckp.thresholds.selection import Ranking, calibrate

Scoring = TypeVar("Scoring", bound=Section)
_LIKELIHOOD_BATCH = 16


@dataclass(frozen=True, slots=True)
class Trained:
    """A trained network, its tokenizer, how the training went, and how many documents it used of how many."""

    model: Any
    tokenizer: Any
    result: TrainingResult
    counts: dict[str, int]


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """What is not part of the recipe.

    Attributes:
        seed: Of weights, order and dropout.
        folder: For checkpoints; the last one found here is resumed.
        minimum: Of the best-five rule, for F1@M on validation.
        bar: Whether to show a progress bar.
    """

    seed: int
    folder: Path
    minimum: int
    bar: bool = False


def train_extractor(
    training: Iterable[tuple[Document, Mined]],
    validation: Iterable[tuple[Document, Mined]],
    settings: ExtractorParams,
    run: Run,
    *,
    contrastive_weight: float,
    max_words: int,
) -> Trained:
    """Train stage 1 (eq. 5) on documents with their candidates.

    Documents that give the decoder no target (without absent keyphrases, unless ``settings.decoder_targets`` is
    ``all``) train the extractor only; ``settings.documents`` = ``with_absent`` leaves them out, as the authors' code
    does.

    Args:
        training: Documents with their candidates.
        validation: The same of the validation set.
        settings: The recipe.
        run: What is not part of it.
        contrastive_weight: Lambda of eq. 5.
        max_words: Words of the longest random negative.

    Raises:
        SimCKPError: The backbone cannot be loaded, or there is nothing to learn from.
    """
    transformers.set_seed(run.seed)
    model, tokenizer = new_extractor(
        settings.backbone,
        scoring_of(settings, ExtractionScoring),
        decoder_layers=settings.decoder_layers,
        contrastive_weight=contrastive_weight,
    )
    examples = partial(
        extraction_examples,
        tokenizer=tokenizer,
        max_source_tokens=settings.max_source_tokens,
        max_target_tokens=settings.max_target_tokens,
        generate_present=settings.decoder_targets == "all" or not model.extracts,
    )
    if settings.negatives == "random":
        training = (
            (document, with_random_negatives(document, mined, max_words=max_words, seed=run.seed))
            for document, mined in training
        )
    read = list(examples(training))
    used = [example for example in read if settings.documents == "all" or len(example.decoder_labels)]
    collator = ExtractionCollator(tokenizer.pad_token_id)
    if model.extracts:
        validate = _validation(extraction_rankings, list(examples(validation)), tokenizer, run)
    else:
        validate = partial(_likelihood, examples=list(examples(validation)), collator=collator)
    rate = settings.decoder_learning_rate
    other_rate = (rate, model.decoder_parameters()) if rate is not None else None
    result = _train(model, used, collator, validate, settings, run, other_rate)
    return Trained(model, tokenizer, result, _counts(read, used))


def train_reranker(
    training: Iterable[tuple[Document, Generated]],
    validation: Iterable[tuple[Document, Generated]],
    settings: RerankerParams,
    run: Run,
) -> Trained:
    """Train stage 2 (eq. 3) on documents with their generated phrases.

    Documents with no correctly generated phrase are left out, as in the paper. A small corpus may have none at all;
    then ``settings.positives`` = ``generated_and_gold`` lets every absent gold keyphrase be a positive.

    Raises:
        SimCKPError: The backbone cannot be loaded, or there is nothing to learn from.
    """
    transformers.set_seed(run.seed)
    model, tokenizer = new_reranker(settings.backbone, scoring_of(settings, RerankingScoring))
    examples = partial(
        reranking_examples,
        tokenizer=tokenizer,
        max_source_tokens=settings.max_source_tokens,
        max_phrase_tokens=settings.max_phrase_tokens,
    )
    read = list(examples(training, with_gold=settings.positives == "generated_and_gold"))
    used = [example for example in read if example.teaches]
    if not used:
        raise SimCKPError(
            f"none of {len(read)} training documents has a correctly generated absent keyphrase to learn from: "
            "train the extractor longer or on more documents, or set reranker.positives=generated_and_gold"
        )
    collator = RerankingCollator(tokenizer.pad_token_id)
    validate = _validation(reranking_rankings, list(examples(validation)), tokenizer, run)
    result = _train(model, used, collator, validate, settings, run)
    return Trained(model, tokenizer, result, _counts(read, used))


def scoring_of(settings: Section, kind: type[Scoring]) -> Scoring:
    """Return the part of a stage's settings that its network keeps in its folder."""
    return kind(**{name: getattr(settings, name) for name in kind.model_fields})


def _train(
    model: nn.Module,
    examples: list[Any],
    collator: Callable[[list[Any]], dict[str, Any]],
    validate: Callable[[nn.Module], Validation],
    settings: Optimisation,
    run: Run,
    other_rate: tuple[float, list[nn.Parameter]] | None = None,
) -> TrainingResult:
    return train(
        model,
        examples,
        collator,
        validate,
        settings,
        seed=run.seed,
        folder=run.folder,
        lengths=[len(example.input_ids) for example in examples],
        other_rate=other_rate,
        bar=run.bar,
    )


def _validation(
    rank: Callable[..., list[Ranking]], examples: list[Any], tokenizer: Any, run: Run
) -> Callable[[nn.Module], Validation]:
    """Return the validation of a network that scores: F1@M at the calibrated threshold, and with each best cut."""

    def validate(network: nn.Module) -> Validation:
        ranked = _ranked_by_all(partial(rank, network, pad_token_id=tokenizer.pad_token_id), examples)
        found = calibrate(ranked, minimum=run.minimum)
        return Validation(
            goal=found.f1_at_m,
            figures={
                "f1_at_m": found.f1_at_m,
                "oracle_f1_at_m": found.oracle_f1_at_m,
                "threshold": found.threshold,
            },
        )

    return validate


@torch.inference_mode()
def _likelihood(network: nn.Module, examples: list[Any], collator: Callable[[list[Any]], dict[str, Any]]) -> Validation:
    """Validate a network that only generates: the mean log-likelihood a token of the targets (eq. 4)."""
    device = next(network.parameters()).device
    total, count = 0.0, 0
    for positions in by_length([len(example.input_ids) for example in examples], _LIKELIHOOD_BATCH):
        batch = [examples[position] for position in positions if len(examples[position].decoder_labels)]
        if batch:
            total -= len(batch) * float(network(**to_device(collator(batch), device))["mle"])
            count += len(batch)
    value = total / max(count, 1)
    return Validation(goal=value, figures={"log_likelihood": value})


def _ranked_by_all(rank: Callable[..., list[Ranking]], examples: list[Any]) -> list[Ranking]:
    """Return the ranking of every example; with several processes each ranks its share and all get all."""
    if not is_distributed():
        return rank(examples=examples)
    first, step = distributed.get_rank(), distributed.get_world_size()
    shares: list[Any] = [None] * step
    distributed.all_gather_object(shares, rank(examples=examples[first::step]))
    found: list[Any] = [None] * len(examples)
    for number, share in enumerate(shares):
        found[number::step] = share
    return found


def _counts(read: list[Any], used: list[Any]) -> dict[str, int]:
    return {
        "documents": len(read),
        "documents_used": len(used),
        "documents_truncated": sum(example.truncated for example in used),
    }
