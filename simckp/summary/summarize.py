"""What a collection of documents is about: its most frequent keyphrases, those that set a group apart, and pairs."""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd

from simckp.prediction.concepts import concept

_MOST_PAIRED = 300  # phrases of which pairs are counted
_LEAST = 2  # documents that say something about a group or a pair; one may be chance


@dataclass(frozen=True, slots=True)
class Summary:
    """Keyphrases of a collection; a phrase counts once a document, whatever its spelling.

    Attributes:
        documents: Number of documents of each group, in the order of the groups; of one group without a name if there
            are no groups.
        frequency: One row per phrase, the most frequent first: ``phrase``, ``documents``, ``share`` of all documents,
            ``score`` (the mean), and the number of documents of each group.
        distinctive: Phrases of at least two documents of a group: ``group``, ``phrase``, ``documents`` of the group,
            ``share`` of them, ``elsewhere`` (the share of the others) and ``z``: how many standard deviations the
            logarithm of the odds is above that of the others.
        pairs: ``phrase``, ``other``, ``documents`` with both, and ``npmi``: normalised pointwise mutual information, 1
            if they stand always together, 0 if as often as by chance.
    """

    documents: pd.Series
    frequency: pd.DataFrame
    distinctive: pd.DataFrame
    pairs: pd.DataFrame


def summarize(keyphrases: pd.DataFrame, groups: pd.Series, *, most: int = 30) -> Summary:
    """Summarise the keyphrases of a collection.

    Args:
        keyphrases: Result of :func:`simckp.prediction.frames.keyphrase_frame`.
        groups: The group of every document, by the index that ``keyphrases.document`` refers to; all the same if the
            collection is not divided.
        most: Number of phrases (of a group, if they are distinctive), and of pairs.
    """
    found = keyphrases.assign(concept=keyphrases["phrase"].map(concept))
    found = found.sort_values("score", ascending=False, kind="stable").drop_duplicates(["document", "concept"])
    found["group"] = found["document"].map(groups)
    documents = groups.groupby(groups, sort=False).size().sort_index()
    names = found.groupby("concept")["phrase"].agg(_commonest)
    counts = (
        found.groupby(["concept", "group"])["document"].nunique().unstack(fill_value=0)
        .reindex(columns=documents.index, fill_value=0)
        .rename_axis(columns=None)
    )  # fmt: skip
    counts["__all"] = counts.sum(axis=1)
    scores = found.groupby("concept")["score"].mean()
    order = counts.assign(score=scores).sort_values(["__all", "score"], ascending=False, kind="stable").index
    totals = counts.pop("__all")
    frequency = pd.DataFrame(
        {
            "phrase": names[order],
            "documents": totals[order],
            "share": totals[order] / max(1, len(groups)),
            "score": scores[order],
        }
    ).join(counts)
    return Summary(
        documents,
        frequency.head(most).reset_index(drop=True),
        _distinctive(counts, documents, names, most),
        _pairs(found[found["concept"].isin(order[:_MOST_PAIRED])], names, len(groups), most),
    )


def _commonest(phrases: pd.Series) -> str:
    """Return the most frequent spelling; of equally frequent ones, the one with the fewest capitals."""
    counts = phrases.value_counts()
    names: list[str] = list(counts.index)
    return min(names, key=lambda phrase: (-counts[phrase], sum(map(str.isupper, phrase)), phrase))


def _distinctive(counts: pd.DataFrame, documents: pd.Series, names: pd.Series, most: int) -> pd.DataFrame:
    """Return the phrases with the highest log-odds ratio against the other groups, with an informative prior.

    Monroe, Colaresi and Quinn (2008), "Fightin' Words", with documents in the place of words. The prior is one document
    of the whole collection's mixture for each side: a phrase that is rare everywhere is not distinctive because one
    document of a group has it.
    """
    columns = ["group", "phrase", "documents", "share", "elsewhere", "z"]
    total, everything = counts.sum(axis=1), int(documents.sum())
    prior = (total + 0.5) / (everything + 1.0)
    rows = []
    for group in documents.index if len(documents) > 1 else ():
        inside, outside = counts[group], total - counts[group]
        without = documents[group] - inside, (everything - documents[group]) - outside
        odds, others = (
            np.log((having + prior) / (lacking + 1.0 - prior))
            for having, lacking in zip((inside, outside), without, strict=True)
        )
        z = (odds - others) / np.sqrt(1.0 / (inside + prior) + 1.0 / (outside + prior))
        best = z[(inside >= _LEAST) & (z > 0)].sort_values(ascending=False, kind="stable").index[:most]
        rows += [
            (
                group,
                names[name],
                int(inside[name]),
                inside[name] / documents[group],
                outside[name] / max(1, everything - documents[group]),
                z[name],
            )
            for name in best
        ]
    return pd.DataFrame(rows, columns=columns)


def _pairs(found: pd.DataFrame, names: pd.Series, documents: int, most: int) -> pd.DataFrame:
    together = pd.Series(
        [
            pair
            for _, concepts in found.groupby("document", sort=False)["concept"]
            for pair in combinations(sorted(concepts), 2)
        ],
        dtype=object,
    ).value_counts()
    alone = found["concept"].value_counts()
    rows = []
    for (first, second), count in together[together >= _LEAST].items():
        expected = alone[first] * alone[second] / documents
        npmi = 1.0 if count == documents else float(np.log(count / expected) / -np.log(count / documents))
        rows.append((names[first], names[second], int(count), npmi))
    table = pd.DataFrame(rows, columns=["phrase", "other", "documents", "npmi"])
    order = ["documents", "npmi", "phrase", "other"]
    return table.sort_values(order, ascending=[False, False, True, True]).head(most).reset_index(drop=True)
