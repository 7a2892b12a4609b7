"""From scored phrases to the keyphrases that a user sees."""

from collections.abc import Collection, Iterable, Iterator, Mapping

import numpy as np

from simckp.data.records import KINDS, Predicted, PredictedPhrase, Scored, Threshold
from simckp.thresholds.calibration import document_threshold
from simckp.thresholds.selection import count_selected


def paired_kinds(rows: Iterable[Scored]) -> Iterator[tuple[Scored, Scored]]:
    """Yield the two rows of each document (present, absent) together.

    Raises:
        ValueError: The rows are not such pairs.
    """
    iterator = iter(rows)
    for present in iterator:
        absent = next(iterator, None)
        if absent is None or (present["kind"], absent["kind"]) != KINDS or present["id"] != absent["id"]:
            raise ValueError(f"the scores of document {present['id']!r} are not one present and one absent row")
        yield present, absent


def predict(
    pairs: list[tuple[Scored, Scored]],
    *,
    thresholds: Mapping[str, Threshold],
    minimum: int,
    most: int | None = None,
    kinds: Collection[str] = KINDS,
) -> list[Predicted]:
    """Choose the keyphrases of each document: above the threshold of their kind, at least the best ``minimum``.

    Args:
        pairs: Scored phrases of each document, best first: present, absent.
        thresholds: Of each kind.
        minimum: Predicted however low they score, if there are that many (the paper's best-five rule).
        most: Maximum number that is predicted of each kind; None for any number.
        kinds: What is predicted; another kind has no phrases and no warnings.

    Returns:
        Present keyphrases before absent ones, each kind best first; warnings say why there are none, or which part
        of a document was not read.
    """
    return [_predict_document(pair, thresholds, minimum, most, kinds) for pair in pairs]


def _predict_document(
    pair: tuple[Scored, Scored],
    thresholds: Mapping[str, Threshold],
    minimum: int,
    most: int | None,
    kinds: Collection[str],
) -> Predicted:
    chosen: list[PredictedPhrase] = []
    for scored in pair:
        if scored["kind"] not in kinds:
            continue
        scores = np.asarray([phrase["score"] for phrase in scored["phrases"]], dtype=np.float64)
        threshold = document_threshold(thresholds[scored["kind"]], scores)
        count = count_selected(scores, threshold=threshold, minimum=minimum)
        chosen += [
            PredictedPhrase(
                surface=phrase["surface"],
                key=phrase["key"],
                kind=scored["kind"],
                score=phrase["score"],
                spans=phrase["spans"],
            )
            for phrase in scored["phrases"][:count][:most]
        ]
    truncated = any(scored["truncated"] for scored in pair)
    warnings = reading_warnings(pair, kinds)
    count = sum(len(scored["phrases"]) for scored in pair if scored["kind"] in kinds)
    if count and not chosen:
        warnings.append(f"none of {count} scored phrases was chosen")
    return Predicted(id=pair[0]["id"], phrases=chosen, truncated=truncated, warnings=warnings)


def reading_warnings(pair: tuple[Scored, Scored], kinds: Collection[str]) -> list[str]:
    """Return why a document has no phrases of a kind, or what of it was not read."""
    present, absent = pair
    warnings = []
    if "present" in kinds and not present["phrases"] and not present["unscored"]:
        warnings.append("no candidate phrase in the text")
    if present["unscored"]:
        warnings.append(f"{present['unscored']} candidates lie beyond the length that the extractor reads")
    if "absent" in kinds and not absent["phrases"]:
        warnings.append("no absent phrase was generated")
    if absent["truncated"] or present["truncated"]:
        warnings.append("the end of the text was not read")
    return warnings
