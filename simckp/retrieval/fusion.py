"""One list of phrases from two sources: the beams and the neighbours."""

from simckp.data.records import Generated, GeneratedPhrase

# Of reciprocal rank fusion (Cormack, Clarke and Buettcher 2009).
_RANK_OFFSET = 60


def fused(beams: Generated, neighbours: Generated) -> Generated:
    """Return the phrases of both sources, each once, by reciprocal rank fusion.

    A phrase of both has the fields of both, and the surface of the neighbours, which people wrote.
    """
    ranked: dict[str, float] = {}
    phrases: dict[str, GeneratedPhrase] = {}
    for generated in (beams, neighbours):
        for rank, phrase in enumerate(generated["phrases"]):
            key = phrase["key"]
            ranked[key] = ranked.get(key, 0.0) + 1.0 / (_RANK_OFFSET + rank)
            phrases[key] = _of_both(phrases[key], phrase) if key in phrases else phrase
    order = sorted(ranked, key=lambda key: -ranked[key])
    return Generated(
        id=beams["id"],
        phrases=[phrases[key] for key in order],
        truncated=beams["truncated"],
    )


def _of_both(beam: GeneratedPhrase, neighbour: GeneratedPhrase) -> GeneratedPhrase:
    return {
        **beam,
        "surface": neighbour["surface"],
        "source": "both",
        "neighbours": neighbour["neighbours"],
        "weight": neighbour["weight"],
    }
