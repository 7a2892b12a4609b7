"""The training documents that the reranker learns from."""

from pipeline.duplicates import duplicate_ids
from pipeline.runner import Stage
from simckp.params import TRAIN
from simckp.reranking.sampling import sampled_ids


def reranked_ids(stage: Stage) -> frozenset[str]:
    """Return the ids of the training documents that the reranker learns from."""
    documents, count = stage.entry.source("documents", TRAIN), stage.params.reranker.training_documents
    return sampled_ids(documents, count=count, without=duplicate_ids(stage))


def other_ids(stage: Stage) -> frozenset[str]:
    """Return the ids of the training documents that the reranker does not learn from."""
    return sampled_ids(stage.entry.source("documents", TRAIN), count=None, without=reranked_ids(stage))
