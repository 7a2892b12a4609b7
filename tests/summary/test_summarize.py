"""A collection's keyphrases are counted by document, by group and in pairs."""

import math

import pandas as pd
import pytest

from simckp.summary.page import summary_page
from simckp.summary.summarize import summarize

FOUND = [
    ("a", "tabu search", 0.9),
    ("a", "graph colouring", 0.8),
    ("b", "Tabu-search", 0.7),
    ("b", "graph coloring", 0.6),
    ("b", "networks", 0.5),
    ("b", "tabu searches", 0.1),  # once a document
    ("c", "neural network", 0.9),
    ("c", "networks", 0.4),
    ("d", "neural networks", 0.9),
    ("d", "a <b> & $c$", 0.2),
]
GROUPS = pd.Series({"a": "2019", "b": "2019", "c": "2020", "d": "2020", "e": "2020"})


def frame(rows: list[tuple[str, str, float]]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["document", "phrase", "score"])


def test_a_phrase_counts_once_a_document_whatever_its_spelling() -> None:
    found = summarize(frame(FOUND), GROUPS)
    assert found.documents.to_dict() == {"2019": 2, "2020": 3}
    rows = found.frequency.set_index("phrase")
    assert rows.index[0] == "neural network"
    assert rows.loc["tabu search"].to_dict() == {"documents": 2, "share": 0.4, "score": 0.8, "2019": 2, "2020": 0}
    assert list(rows["documents"]) == [2, 2, 2, 2, 1]
    assert len(summarize(frame(FOUND), GROUPS, most=2).frequency) == 2


def test_what_sets_a_group_apart() -> None:
    found = summarize(frame(FOUND), GROUPS).distinctive
    first = found[found["group"] == "2019"].iloc[0]
    assert first["phrase"] in ("tabu search", "graph coloring", "graph colouring")
    assert (first["documents"], first["share"], first["elsewhere"]) == (2, 1.0, 0.0)
    prior = 2.5 / 6
    odds, others = math.log((2 + prior) / (1 - prior)), math.log(prior / (3 + 1 - prior))
    assert first["z"] == pytest.approx((odds - others) / math.sqrt(1 / (2 + prior) + 1 / prior))
    # One document of each group has "networks": it sets none apart.
    assert "networks" not in set(found["phrase"])
    assert found["documents"].min() == 2
    assert summarize(frame(FOUND), GROUPS.map(lambda _: "")).distinctive.empty


def test_pairs() -> None:
    (pair,) = summarize(frame(FOUND), GROUPS).pairs.to_dict("records")
    assert {pair["phrase"].replace("our", "or"), pair["other"].replace("our", "or")} == {
        "tabu search",
        "graph coloring",
    }
    assert (pair["documents"], pair["npmi"]) == (2, pytest.approx(1.0))
    chance = frame(
        [(name, phrase, 0.5) for name in "abcd" for phrase in ("x", "y")] + [("a", "z", 0.5), ("b", "z", 0.5)]
    )
    rows = summarize(chance, pd.Series(dict.fromkeys("abcd", ""))).pairs
    assert {(row["phrase"], row["other"]): round(row["npmi"], 6) for row in rows.to_dict("records")} == {
        ("x", "y"): 1.0,
        ("x", "z"): 0.0,
        ("y", "z"): 0.0,
    }


def test_a_collection_without_keyphrases() -> None:
    found = summarize(frame([]), GROUPS)
    assert found.frequency.empty and found.pairs.empty and found.distinctive.empty
    assert "No document has a keyphrase" in summary_page(found, title="x", by="year")


def test_the_page_is_whole_and_escaped() -> None:
    page = summary_page(summarize(frame(FOUND), GROUPS), title="<i>Papers</i>", by="year")
    assert "<h1>&lt;i&gt;Papers&lt;/i&gt;</h1>" in page
    assert not any(loaded in page for loaded in ("<script", "src=", "<link", "@import", "url(h"))
    assert "a &lt;b&gt; &amp; $c$" in page
    assert page.count("<svg") == 1 and "What sets each year apart" in page and "2 (40 %)" in page
    alone = summary_page(summarize(frame(FOUND), GROUPS.map(lambda _: "")), title="Papers", by=None)
    assert "<svg" not in alone and "apart" not in alone
