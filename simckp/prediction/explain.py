"""Explain line by line why phrases of one document were or were not predicted."""

from collections.abc import Iterator, Sequence

import numpy as np

from simckp.candidates.occurrences import explain_phrase
from simckp.data.records import Kind, Scored
from simckp.prediction.predictor import KeyphrasePredictor
from simckp.prediction.texts import Text, as_document
from simckp.text import candidate_key, scoring_key
from simckp.thresholds.calibration import document_threshold
from simckp.thresholds.selection import count_selected

_FEATURES_SHOWN = 8


def explain_document(predictor: KeyphrasePredictor, text: Text, *, phrases: Sequence[str], most: int) -> Iterator[str]:
    """Yield the lines of the explanation.

    Of a model with evidence, the features of each given phrase that say most are shown with their values, and with what
    they add to the logarithm of its odds.

    Args:
        predictor: The model.
        text: The document.
        phrases: Phrases to explain; if there are none, the best candidates are listed.
        most: Maximum number of candidates listed of each kind.
    """
    document = as_document(text, 0)
    (tagged,) = predictor.tag([document])
    ((present, absent),) = predictor.score([document])
    for scored in (present, absent):
        threshold, predicted = _threshold(predictor, scored)
        rule = f"{len(scored['phrases'])} candidates, threshold {threshold:.3f}, at least {_least(predictor)}"
        yield f"{scored['kind']}: {rule}: {predicted} predicted"
        for rank, candidate in enumerate(scored["phrases"][: 0 if phrases else most], start=1):
            verdict = "predicted" if rank <= predicted else "not predicted"
            yield f"{rank:5d}  {candidate['score']:7.3f}  {verdict:<9}  {candidate['surface']}"
    contributions = predictor.contributions(document) if phrases else {}
    for phrase in phrases:
        yield f"{phrase!r}:"
        places = explain_phrase(phrase, tagged, **vars(predictor.settings.mining))
        for place in places:
            words = " ".join(f"{word}/{tag}" for word, tag in zip(place.words, place.tags, strict=True))
            yield f"  characters {place.start} to {place.end}: {words}: {place.verdict}"
        if not places:
            yield "  does not stand in the text"
        scored, key = (present, candidate_key(phrase)) if places else (absent, scoring_key(phrase))
        yield f"  {_place_in(scored, key, _threshold(predictor, scored))}"
        kind: Kind = "present" if places else "absent"
        parts = contributions.get(kind, {}).get(key, {})
        for name, (value, added) in sorted(parts.items(), key=lambda part: -abs(part[1][1]))[:_FEATURES_SHOWN]:
            yield f"    {added:+6.2f}  {name} = {value:.3g}"


def _least(predictor: KeyphrasePredictor) -> int:
    return predictor.settings.selection.minimum


def _threshold(predictor: KeyphrasePredictor, scored: Scored) -> tuple[float, int]:
    """Return the document's threshold of a kind, and the number of predicted phrases."""
    scores = np.asarray([phrase["score"] for phrase in scored["phrases"]], dtype=np.float64)
    threshold = document_threshold(predictor.thresholds[scored["kind"]], scores)
    return threshold, count_selected(scores, threshold=threshold, minimum=_least(predictor))


def _place_in(scored: Scored, key: str, rule: tuple[float, int]) -> str:
    threshold, predicted = rule
    for rank, candidate in enumerate(scored["phrases"], start=1):
        if candidate["key"] == key:
            why = "above the threshold" if candidate["score"] > threshold else "not above the threshold"
            if rank <= predicted and candidate["score"] <= threshold:
                why += ", but among the best that are always predicted"
            end = "predicted" if rank <= predicted else "not predicted"
            return (
                f"{scored['kind']} candidate {rank} of {len(scored['phrases'])}: {candidate['score']:.3f}, {why}: {end}"
            )
    return f"no {scored['kind']} candidate" + (": was not generated" if scored["kind"] == "absent" else "")
