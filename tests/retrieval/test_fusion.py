"""Phrases of beams and neighbours as one list."""

from typing import Any

from simckp.data.records import Generated
from simckp.retrieval.fusion import fused
from tests.conftest import make_generated


def generated(source: str, *keys: str, truncated: bool = False) -> Generated:
    def phrase(key: str, rank: int) -> dict[str, Any]:
        common = {"key": key, "surface": f"{key} ({source})", "source": source}
        if source == "beams":
            return {**common, "log_prob": -float(rank)}
        return {**common, "beams": 0, "log_prob": None, "neighbours": 3, "weight": 1.0 / (1 + rank)}

    return make_generated(*(phrase(key, rank) for rank, key in enumerate(keys)), truncated=truncated)


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


def test_one_source_alone_stays_as_it_is() -> None:
    beams, neighbours = generated("beams", "a", "b"), generated("neighbours", "c")
    assert fused(beams, generated("neighbours"))["phrases"] == beams["phrases"]
    assert fused(generated("beams"), neighbours)["phrases"] == neighbours["phrases"]
