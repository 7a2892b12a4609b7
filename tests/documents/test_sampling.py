"""The training documents that the reranker learns from."""

from pathlib import Path

import pytest

from simckp.data.datasets import Dataset
from simckp.data.records import Document, Generated
from simckp.documents.sampling import generated_for, sampled_ids
from tests.conftest import make_document


def documents(count: int) -> list[Document]:
    return [make_document("text", [], identifier=f"d{number}") for number in range(count)]


@pytest.fixture
def dataset(tmp_path: Path) -> Dataset:
    made = Dataset(tmp_path, "documents")
    made.write(documents(200), shard_rows=30)
    return made


def test_a_sample_is_part_of_a_larger_one_and_does_not_follow_the_order(dataset: Dataset) -> None:
    small, large = (sampled_ids(dataset, count=count) for count in (20, 100))
    assert (len(small), len(large)) == (20, 100) and small < large
    assert 20 < sum(int(one[1:]) < 100 for one in large) < 80
    everyone = {f"d{number}" for number in range(200)}
    assert sampled_ids(dataset, count=None) == everyone == sampled_ids(dataset, count=1000)


def test_documents_that_are_left_out_are_not_chosen(dataset: Dataset) -> None:
    first = sampled_ids(dataset, count=20)
    others = sampled_ids(dataset, count=20, without=first)
    assert len(others) == 20 and not others & first
    assert len(sampled_ids(dataset, count=None, without=first)) == 180


def test_only_the_chosen_ones_are_generated_for() -> None:
    asked: list[str] = []

    def generate(part: list[Document]) -> list[Generated]:
        asked.extend(document["id"] for document in part)
        return [Generated(id=document["id"], phrases=[], truncated=True) for document in part]

    rows = generated_for(documents(5), chosen={"d1", "d4", "elsewhere"}, generate=generate)
    assert asked == ["d1", "d4"]
    assert [(row["id"], row["truncated"]) for row in rows] == [
        ("d0", False),
        ("d1", True),
        ("d2", False),
        ("d3", False),
        ("d4", True),
    ]
