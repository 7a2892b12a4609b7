"""The two trainings: which examples, which loss, validated how."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import transformers
from torch import distributed, nn

from simckp.errors import SimCKPError
from simckp.features.collation import ExtractionCollator, RerankingCollator
from simckp.features.examples import extraction_examples, reranking_examples
from simckp.models.extractor import new_extractor
from simckp.models.losses import is_distributed
from simckp.models.reranker import new_reranker
from simckp.params import ExtractorParams, Optimisation, RerankerParams
from simckp.records import Document, Generated, Mined
from simckp.scoring import extraction_rankings, reranking_rankings
from simckp.selection import Calibration, Ranking, calibrate
from simckp.training.trainer import TrainingResult, train


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
) -> Trained:
    """Train stage 1 (eq. 5) on documents with their candidates.

    Documents without absent keyphrases train the extractor only; ``settings.documents`` = ``with_absent`` leaves
    them out, as the authors' code does.

    Raises:
        SimCKPError: The backbone cannot be loaded, or there is nothing to learn from.
    """
    transformers.set_seed(run.seed)
    model, tokenizer = new_extractor(
        settings.backbone,
        decoder_layers=settings.decoder_layers,
        contrastive_weight=contrastive_weight,
        temperature=settings.temperature,
        reduction=settings.reduction,
    )
    examples = partial(
        extraction_examples,
        tokenizer=tokenizer,
        max_source_tokens=settings.max_source_tokens,
        max_target_tokens=settings.max_target_tokens,
    )
    read = list(examples(training))
    used = [example for example in read if settings.documents == "all" or len(example.decoder_labels)]
    collator = ExtractionCollator(tokenizer.pad_token_id)
    rank = partial(extraction_rankings, pad_token_id=tokenizer.pad_token_id)
    result = _train(model, used, list(examples(validation)), collator, rank, settings, run)
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
    model, tokenizer = new_reranker(
        settings.backbone,
        shared_encoder=settings.shared_encoder,
        temperature=settings.temperature,
        reduction=settings.reduction,
    )
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
    rank = partial(reranking_rankings, pad_token_id=tokenizer.pad_token_id)
    result = _train(model, used, list(examples(validation)), collator, rank, settings, run)
    return Trained(model, tokenizer, result, _counts(read, used))


def _train(
    model: nn.Module,
    examples: list[Any],
    validation: list[Any],
    collator: Callable[[list[Any]], dict[str, Any]],
    rank: Callable[..., list[Ranking]],
    settings: Optimisation,
    run: Run,
) -> TrainingResult:
    def validate(network: nn.Module) -> Calibration:
        return calibrate(_ranked_by_all(partial(rank, network), validation), minimum=run.minimum)

    return train(
        model,
        examples,
        collator,
        validate,
        settings,
        seed=run.seed,
        folder=run.folder,
        lengths=[len(example.input_ids) for example in examples],
        bar=run.bar,
    )


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
