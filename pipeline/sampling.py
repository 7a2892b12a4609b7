"""The training documents that the trainings learn from."""

from pipeline.duplicates import duplicate_ids
from pipeline.runner import Stage
from simckp.documents.sampling import sampled_ids
from simckp.params import TRAIN


def learned_ids(stage: Stage, count: int | None) -> frozenset[str]:
    """Return the ids of the ``count`` training documents that a training learns from (all for None)."""
    return sampled_ids(stage.entry.source("documents", TRAIN), count=count, without=duplicate_ids(stage))


def unranked_ids(stage: Stage) -> frozenset[str]:
    """Return the ids of the training documents that the reranker does not learn from."""
    return other_ids(stage, _reranked_count(stage))


def other_ids(stage: Stage, count: int | None) -> frozenset[str]:
    """Return the ids of the training documents that it does not learn from."""
    return sampled_ids(stage.entry.source("documents", TRAIN), count=None, without=learned_ids(stage, count))


def overgenerated_ids(stage: Stage) -> frozenset[str]:
    """Return the ids of the training documents for which phrases are generated."""
    return learned_ids(stage, stage.params.reranker.training_documents)


def reranked_ids(stage: Stage) -> frozenset[str]:
    """Return the ids of the training documents that the reranker learns from, those overgenerated for among them."""
    return learned_ids(stage, _reranked_count(stage))


def _reranked_count(stage: Stage) -> int | None:
    settings = stage.params.reranker
    count: int | None = settings.retrieved_documents or settings.training_documents
    return count
