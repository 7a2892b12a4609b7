"""Train stage 2."""

from collections.abc import Iterable
from functools import partial

import transformers

from simckp.data.records import Document, Generated
from simckp.errors import SimCKPError
from simckp.networks.training import Run, Trained, ranking_validation, settings_of, train
from simckp.params import RerankerParams, RerankerSettings
from simckp.reranking.examples import collate, reranking_examples
from simckp.reranking.reranker import new_reranker
from simckp.reranking.scoring import reranking_scores


def train_reranker(
    training: Iterable[tuple[Document, Generated]],
    validation: Iterable[tuple[Document, Generated]],
    params: RerankerParams,
    run: Run,
) -> Trained:
    """Train stage 2 (eq. 3) on documents with their generated phrases.

    Documents without a correctly generated phrase are left out, as in the paper; so are those without a wrong one. In a
    small corpus no document may be left; then set ``params.positives`` to ``generated_and_gold``, which makes every
    absent gold keyphrase a positive.

    Args:
        training: Training documents with their generated phrases.
        validation: Validation documents with their generated phrases.
        params: Hyper-parameters of the stage.
        run: Settings that are not hyper-parameters, such as seed and folder.

    Raises:
        SimCKPError: The backbone cannot be loaded, or no training document is left.
    """
    transformers.set_seed(run.seed)
    model = new_reranker(params.backbone, settings_of(params, RerankerSettings))
    examples = partial(reranking_examples, tokenizer=model.tokenizer, phrase_tokenizer=model.phrase_tokenizer)
    read = list(examples(training, with_gold=params.positives == "generated_and_gold"))
    used = [example for example in read if example.has_contrast]
    if not used:
        raise SimCKPError(
            f"none of {len(read)} training documents has a correctly generated absent keyphrase to learn from: "
            "train the extractor longer or on more documents, or set reranker.positives=generated_and_gold"
        )
    batch = partial(collate, pad_token_id=model.tokenizer.pad_token_id)
    validate = ranking_validation(reranking_scores, list(examples(validation)), run)
    result = train(model, used, batch, validate, params, run)
    return Trained.of(model, result, read=read, used=used)
