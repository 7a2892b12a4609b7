"""Phrases of beams and neighbours as one list."""

from simckp.data.records import Generated, GeneratedPhrase
from simckp.retrieval.fusion import fused, of_source


def phrase(key: str, source: str, rank: int) -> GeneratedPhrase:
    beams = source == "beams"
    return GeneratedPhrase(
        key=key,
        surface=f"{key} ({source})",
        source=source,
        beams=int(beams),
        best_rank=rank,
        log_prob=-float(rank) if beams else None,
        neighbours=0 if beams else 3,
        weight=0.0 if beams else 1.0 / (1 + rank),
        present=False,
        label=False,
    )


def generated(source: str, *keys: str, truncated: bool = False) -> Generated:
    phrases = [phrase(key, source, rank) for rank, key in enumerate(keys)]
    return Generated(id="d", phrases=phrases, truncated=truncated)


def test_what_both_have_comes_first_and_keeps_the_fields_of_both() -> None:
    found = fused(generated("beams", "a", "b", "c", truncated=True), generated("neighbours", "d", "c"))
    # 1/62 + 1/61 for c, 1/60 for a and d (the beams' first), 1/61 for b.
    assert [one["key"] for one in found["phrases"]] == ["c", "a", "d", "b"]
    assert found["truncated"]
    both = found["phrases"][0]
    assert (both["source"], both["surface"], both["log_prob"], both["neighbours"]) == (
        "both",
        "c (neighbours)",
        -2.0,
        3,
    )
    assert [one["key"] for one in of_source(found["phrases"], "beams")] == ["a", "b", "c"]
    assert [one["key"] for one in of_source(found["phrases"], "neighbours")] == ["d", "c"]


def test_one_source_alone_stays_as_it_is() -> None:
    beams, neighbours = generated("beams", "a", "b"), generated("neighbours", "c")
    assert fused(beams, generated("neighbours"))["phrases"] == beams["phrases"]
    assert fused(generated("beams"), neighbours)["phrases"] == neighbours["phrases"]
