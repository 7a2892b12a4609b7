"""Train stage 1."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np
import torch
import transformers
from torch import Tensor, nn

from simckp.candidates.random_negatives import with_random_negatives
from simckp.execution import Rows, Source
from simckp.extraction.collation import collate
from simckp.extraction.examples import ExtractionExample, extraction_examples
from simckp.extraction.loading import new_extractor
from simckp.extraction.scoring import extraction_scores
from simckp.networks.batches import to_device
from simckp.networks.padding import by_length
from simckp.networks.trainer import Validation
from simckp.networks.training import (
    Run,
    Trained,
    fitting,
    length_multiple,
    ranking_validation,
    settings_of,
    train,
    validated_with_loss,
)
from simckp.params import TRAIN, VALID, ExtractorParams, ExtractorSettings

_LIKELIHOOD_BATCH = 16


def train_extractor(
    training: Source,
    validation: Source,
    params: ExtractorParams,
    run: Run,
    *,
    contrastive_weight: float,
    max_words: int,
) -> Trained:
    """Train stage 1 (eq. 5) on documents with their candidates.

    Documents without a target of the decoder (those without absent keyphrases, unless ``params.decoder_targets`` is
    ``all``) train only the extractor. With ``params.documents`` = ``with_absent`` they are left out, as in the authors'
    code.

    Args:
        training: Training documents with their candidates, pairs of :class:`simckp.data.records.Document` and
            :class:`simckp.data.records.Mined`.
        validation: Validation documents with their candidates, likewise.
        params: Hyper-parameters of the stage.
        run: Settings that are not hyper-parameters, such as seed and folder.
        contrastive_weight: Lambda of eq. 5.
        max_words: Maximum number of words in a random negative.

    Raises:
        SimCKPError: The backbone cannot be loaded, or there is no training document.
    """
    transformers.set_seed(run.seed)
    model = new_extractor(
        params.backbone,
        settings_of(params, ExtractorSettings),
        decoder_layers=params.decoder_layers,
        contrastive_weight=contrastive_weight,
    )
    examples = partial(
        _examples,
        tokenizer=model.tokenizer,
        max_target_tokens=params.max_target_tokens,
        generate_present=params.decoder_targets == "all" or not model.extracts,
    )
    of_training = partial(examples, random_words=max_words, seed=run.seed) if params.negatives == "random" else examples
    read = run.examples(of_training, training, ExtractionExample, TRAIN)
    used = fitting(read, params)
    if params.documents == "with_absent":
        used = used.where(used.lengths("decoder_labels") > 0)
    model.frequent_tokens = by_frequency(used, len(model.tokenizer))
    multiple = length_multiple(params, params.max_source_tokens, params.max_target_tokens)
    batch = partial(collate, pad_token_id=model.tokenizer.pad_token_id, multiple=multiple)
    held_out = list(
        fitting(run.examples(partial(examples, evaluated=True), validation, ExtractionExample, VALID), params)
    )
    if model.extracts:
        validate = ranking_validation(extraction_scores, held_out, run)
        if params.patience_on == "goal_or_loss":
            validate = validated_with_loss(validate, held_out, batch)
    else:
        validate = partial(_likelihood, examples=held_out, batch=batch)
    rate = params.decoder_learning_rate
    other_rate = (rate, model.decoder_parameters()) if rate is not None else None
    result = train(model, used, batch, validate, params, run, other_rate=other_rate)
    return Trained.of(model, result, read=read, used=used)


def _examples(rows: Rows, *, random_words: int | None = None, seed: int = 0, **options: Any) -> list[ExtractionExample]:
    """Return the examples of documents; with ``random_words``, negatives are random phrases of up to so many words."""
    if random_words is not None:
        rows = [
            (document, with_random_negatives(document, mined, max_words=random_words, seed=seed))
            for document, mined in rows
        ]
    return list(extraction_examples(rows, **options))


def by_frequency(examples: Iterable[ExtractionExample], vocabulary: int) -> Tensor:
    """Return the tokens of training examples, int32: those of targets before those of documents only, frequent first.

    Args:
        examples: Training examples.
        vocabulary: Number of tokens that the tokenizer knows.
    """
    in_targets, in_documents = np.zeros((2, vocabulary), dtype=np.int64)
    for example in examples:
        np.add.at(in_targets, example.decoder_labels, 1)
        np.add.at(in_documents, example.input_ids, 1)
    order = np.lexsort((-in_documents, -in_targets))  # the last key is the first to decide
    return torch.from_numpy(order[(in_targets + in_documents)[order] > 0]).int()


@torch.inference_mode()
def _likelihood(
    network: nn.Module, examples: list[ExtractionExample], batch: Callable[[list[Any]], dict[str, Any]]
) -> Validation:
    """Validate a network that only generates: the mean of eq. 4 over documents, with the sign reversed."""
    device = next(network.parameters()).device
    total, count = 0.0, 0
    for positions in by_length([len(example.input_ids) for example in examples], _LIKELIHOOD_BATCH):
        with_target = [examples[position] for position in positions if len(examples[position].decoder_labels)]
        if with_target:
            total -= len(with_target) * float(network(**to_device(batch(with_target), device))["mle"])
            count += len(with_target)
    value = total / max(count, 1)
    return Validation(goal=value, figures={"log_likelihood": value})
