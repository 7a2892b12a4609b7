"""Train stage 2."""

from functools import partial
from typing import Any

import numpy as np
import transformers

from simckp.errors import SimCKPError
from simckp.execution import Rows, Source
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
from simckp.params import TRAIN, VALID, RerankerParams, RerankerSettings
from simckp.reranking.collation import collate
from simckp.reranking.examples import RerankingExample, reranking_examples
from simckp.reranking.reranker import Reranker, new_reranker
from simckp.reranking.scoring import reranking_scores
from simckp.retrieval.fusion import fused


def train_reranker(
    training: Source,
    validation: Source,
    params: RerankerParams,
    run: Run,
) -> Trained:
    """Train stage 2 (eq. 3) on documents with their generated phrases.

    Documents without a correctly generated phrase are left out, as in the paper; so are those without a wrong one. In a
    small corpus no document may be left; then set ``params.positives`` to ``generated_and_gold``, which makes every
    absent gold keyphrase a positive.

    Args:
        training: Training documents with the phrases of their beams and of their neighbours: a
            :class:`simckp.data.records.Document` and two :class:`simckp.data.records.Generated` each.
        validation: Validation documents, likewise.
        params: Hyper-parameters of the stage.
        run: Settings that are not hyper-parameters, such as seed and folder.

    Raises:
        SimCKPError: The backbone cannot be loaded, or no training document is left.
    """
    transformers.set_seed(run.seed)
    identity = params.initial_projection == "identity"
    model = new_reranker(params.backbone, settings_of(params, RerankerSettings), identity=identity)
    examples = partial(
        _examples,
        tokenizer=model.tokenizer,
        phrase_tokenizer=model.phrase_tokenizer,
        with_present=params.present_phrases == "negatives",
    )
    of_training = partial(examples, with_gold=params.positives == "generated_and_gold", negatives=params.negatives)
    read = run.examples(of_training, training, RerankingExample, TRAIN)
    used = fitting(read, params)
    used = used.where(np.array([example.has_contrast for example in used], dtype=np.bool_))
    if not len(used):
        raise SimCKPError(
            f"none of {len(read)} training documents has a correctly generated absent keyphrase to learn from: "
            "train the extractor longer or on more documents, or set reranker.positives=generated_and_gold"
        )
    multiple = length_multiple(params, params.max_source_tokens)
    batch = partial(collate, pad_token_id=model.tokenizer.pad_token_id, multiple=multiple)
    held_out = list(fitting(run.examples(examples, validation, RerankingExample, VALID), params))
    validate = ranking_validation(_scores_that_count, held_out, run)
    if params.patience_on == "goal_or_loss":
        validate = validated_with_loss(validate, held_out, batch)
    result = train(model, used, batch, validate, params, run)
    return Trained.of(model, result, read=read, used=used)


def _scores_that_count(model: Reranker, examples: list[RerankingExample]) -> list[list[float]]:
    """Return the scores of documents with a right phrase; in the others no order is better than another."""
    found = iter(reranking_scores(model, [example for example in examples if example.label.any()]))
    return [next(found) if example.label.any() else [0.0] * len(example.label) for example in examples]


def _examples(rows: Rows, **options: Any) -> list[RerankingExample]:
    united = ((document, fused(beams, neighbours)) for document, beams, neighbours in rows)
    return list(reranking_examples(united, **options))
