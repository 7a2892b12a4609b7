"""Training documents that are left out because they are near-duplicates of others."""

from pipeline.runner import Stage


def duplicate_ids(stage: Stage) -> frozenset[str]:
    """Return the ids of the near-duplicates among the training documents."""
    return frozenset(row["id"] for row in stage.entry.source("duplicates").read())
