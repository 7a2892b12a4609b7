"""Explain line by line why phrases of one document are shown to people or not, and predicted by the rule or not."""

from collections.abc import Iterator, Sequence

import numpy as np

from simckp.candidates.occurrences import explain_phrase
from simckp.data.records import KINDS, Kind, Scored
from simckp.language import speaking
from simckp.prediction.concepts import concept
from simckp.prediction.predictor import KeyphrasePredictor
from simckp.prediction.selection import LEAST_PROBABLE, DocumentRanking, Ranked
from simckp.prediction.texts import Text, as_document
from simckp.text import candidate_key, scoring_key
from simckp.thresholds.calibration import document_threshold
from simckp.thresholds.selection import count_selected

_FEATURES_SHOWN = 8


def explain_document(predictor: KeyphrasePredictor, text: Text, *, phrases: Sequence[str], most: int) -> list[str]:
    """Return the lines of the explanation.

    Of a model with evidence, the features of each given phrase that say most are shown with their values, and with what
    they add to the logarithm of its odds.

    Args:
        predictor: The model.
        text: The document.
        phrases: Phrases to explain; if there are none, the best phrases are listed.
        most: Maximum number of phrases listed of each kind.
    """
    with speaking(predictor.language):
        return list(_lines(predictor, text, phrases=phrases, most=most))


def _lines(predictor: KeyphrasePredictor, text: Text, *, phrases: Sequence[str], most: int) -> Iterator[str]:
    document = as_document(text, 0)
    (tagged,) = predictor.tag([document])
    wish = predictor.wish()
    (ranking,) = predictor.rank([document], wish)
    given = predictor.choose(ranking, wish).names
    for kind, scored in zip(KINDS, ranking.pair, strict=True):
        ranked = ranking.phrases[kind]
        threshold, predicted = _threshold(predictor, scored)
        shown = sum((kind, one.phrase["surface"]) in given for one in ranked)
        yield f"{kind}: {len(ranked)} phrases, {shown} given"
        yield (
            f"{kind}, as it is scored: {len(scored['phrases'])} candidates, threshold {threshold:.3f}, "
            f"at least {_least(predictor)}: {predicted} predicted"
        )
        for rank, one in enumerate(ranked[: 0 if phrases else most], start=1):
            yield f"{rank:5d}  {one.phrase['score']:6.3f}  {one.phrase['surface']}: {_verdict(one, given)}"
    contributions = predictor.contributions(document) if phrases else {}
    for phrase in phrases:
        yield f"{phrase!r}:"
        places = explain_phrase(phrase, tagged, **vars(predictor.settings.mining))
        for place in places:
            words = " ".join(f"{word}/{tag}" for word, tag in zip(place.words, place.tags, strict=True))
            yield f"  characters {place.start} to {place.end}: {words}: {place.verdict}"
        if not places:
            yield "  does not stand in the text"
        kind = "present" if places else "absent"
        yield f"  {_place_among(ranking, kind, phrase, given)}"
        scored, key = ranking.pair[KINDS.index(kind)], candidate_key(phrase) if places else scoring_key(phrase)
        yield f"  as it is scored: {_place_in(scored, key, _threshold(predictor, scored))}"
        parts = contributions.get(kind, {}).get(key, {})
        for name, (value, added) in sorted(parts.items(), key=lambda part: -abs(part[1][1]))[:_FEATURES_SHOWN]:
            yield f"    {added:+6.2f}  {name} = {value:.3g}"


def _place_among(ranking: DocumentRanking, kind: Kind, phrase: str, given: set[tuple[str, str]]) -> str:
    ranked = ranking.phrases[kind]
    for rank, one in enumerate(ranked, start=1):
        if concept(one.phrase["surface"]) == concept(phrase):
            score, similarity = one.phrase["score"], one.phrase["similarity"]
            return (
                f"{kind} phrase {rank} of {len(ranked)}: {score:.3f} (similarity {similarity:.3f}): "
                f"{_verdict(one, given)}"
            )
    return f"no {kind} phrase" + (": was not generated" if kind == "absent" else "")


def _verdict(one: Ranked, given: set[tuple[str, str]]) -> str:
    phrase = one.phrase
    if (phrase["kind"], phrase["surface"]) in given:
        return "given"
    if one.part_of is not None:
        return f"not given: stands only in {one.part_of!r}, which is better"
    if phrase["score"] < LEAST_PROBABLE:
        return "not given: improbable"
    return "not given: with one more the expected F1 would be lower"


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
