"""Tables, curves and the page."""

import re
from typing import Any

import pytest

from simckp.data.records import Predicted, PredictedPhrase
from simckp.evaluation.figures import training_curve
from simckp.evaluation.page import example, render_html, render_markdown, segments
from simckp.evaluation.statistics import set_statistics
from simckp.evaluation.tables import (
    cut_table,
    figure,
    interval_table,
    paper,
    profile_table,
    result_tables,
    statistics_table,
)
from tests.conftest import make_document


def metrics(value: float) -> dict[str, Any]:
    kind = {f"{name}{end}": value for name in ("F1@5", "F1@M") for end in ("", "_low", "_high")}
    kind |= {"documents_with_gold": 9}
    return {
        "present": kind,
        "absent": kind | {"R@50": value, "R@50_low": value, "R@50_high": value},
        "set": {"documents": 10},
    }


def test_the_papers_notation() -> None:
    assert figure([0.4267]) == "0.427"
    # Mean 0.427, deviation 0.001.
    assert figure([0.426, 0.428]) == "0.427_1"


def test_result_tables_stand_beside_the_paper() -> None:
    present, absent = result_tables({"kp20k": [metrics(0.3)], "sample": [metrics(0.5)]})
    assert present.header == ["model", "kp20k F1@5", "kp20k F1@M", "sample F1@5", "sample F1@M"]
    assert present.rows[0] == ["this run", "0.300", "0.300", "0.500", "0.500"]
    assert ["SimCKP (paper)", "0.426_1", "0.427_1", "–", "–"] in present.rows
    assert ["SimCKP (paper)", "0.073_2", "0.080_1", "–", "–"] in absent.rows
    extracted = {"yake": {"sample": {"present": metrics(0.2)["present"]}}}
    present, absent = result_tables({"sample": [metrics(0.5)]}, extracted)
    assert present.rows[1] == ["yake", "0.200", "0.200"]
    assert len(absent.rows) == 1  # it gives no absent keyphrases
    (only, _) = result_tables({"sample": [metrics(0.5)]})
    assert len(only.rows) == 1


def test_paper_numbers_are_complete() -> None:
    for kind in ("present", "absent"):
        ours = paper()["results"][kind]["SimCKP (paper)"]
        assert set(ours) == {"inspec", "krapivin", "nus", "semeval", "kp20k"}
    assert paper()["recall_at_50"]["inspec"] == [0.144, 0.016]


def test_further_tables() -> None:
    intervals = interval_table({"nus": [metrics(0.25)]}, confidence=0.95)
    assert intervals.rows[1] == [
        "nus",
        "10",
        "absent",
        "9",
        "0.250 (0.250 to 0.250)",
        "0.250 (0.250 to 0.250)",
        "0.250 (0.250 to 0.250)",
        "0.185_12",
    ]
    assert profile_table({"nus": {"kpg": metrics(0.1)}}).rows == [["nus", "kpg", "0.100", "0.100", "0.100", "0.100"]]


def test_statistics_by_hand() -> None:
    documents = [
        make_document("graphs of networks", ["graphs", "deep learning"]),
        make_document("caches", ["caches", "cache", "web proxy server", "a b c d"]),
    ]
    # Unique keyphrases: 2 and 3, mean 2.5, deviation 0.5; words 1, 2, 1, 3, 4; absent 3 of 5; words of texts 3 and 1.
    found = set_statistics(documents)
    assert found == pytest.approx(
        {
            "documents": 2,
            "keyphrases_mean": 2.5,
            "keyphrases_std": 0.5,
            "words_mean": 2.2,
            "absent_percent": 60.0,
            "text_words_mean": 2.0,
        }
    )
    assert statistics_table({"nus": found}).rows[0][:3] == ["nus", "2 (211)", "2.50 (10.85)"]
    assert set_statistics([])["documents"] == 0


def test_overlapping_marks_are_cut_where_they_start_and_end() -> None:
    pieces = segments("abcdef", [(0, 4, 0.5, False), (2, 6, 0.4, True)])
    assert [(piece.text, piece.score, piece.correct) for piece in pieces] == [
        ("ab", 0.5, False),
        ("cdef", 0.4, True),
    ]
    assert "".join(piece.text for piece in segments("abc", [])) == "abc"


def test_the_page_escapes_documents_and_loads_nothing() -> None:
    text = "<script>alert(1)</script> graphs"
    document = make_document(text, ["graphs", "<img src=x>"])
    start = text.index("graphs")
    phrases = [
        PredictedPhrase(
            surface="graphs", key="graph", kind="present", score=0.9, spans=[{"start": start, "end": len(text)}]
        ),
        PredictedPhrase(surface="<b>deep</b>", key="deep", kind="absent", score=0.1, spans=[]),
    ]
    shown = example(document, Predicted(id="d", phrases=phrases, truncated=False, warnings=["<i>"]))
    rows = [{"step": "1", "loss": "2.0", "eval_f1_at_m": ""}, {"step": "2", "loss": "1.0", "eval_f1_at_m": "0.5"}]
    curve = training_curve(rows, title="extractor <seed>")
    html = render_html(
        tables=result_tables({"kp20k": [metrics(0.3)]}),
        curves=[curve],
        pictures=[curve],
        examples=[shown],
        profile="simckp",
        facts={},
    )
    assert "<script" not in html
    assert "<img" not in html
    assert "<b>deep" not in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html
    assert '<mark class="hit"' in html
    assert "<svg" in html
    assert re.findall(r'(?:src|href)="(?!#)', html) == []
    assert training_curve(rows, title="extractor <seed>") == curve


def test_markdown() -> None:
    text = render_markdown(result_tables({"sample": [metrics(0.5)]}), profile="simckp")
    assert "| model | sample F1@5 | sample F1@M |\n| :-- | --: | --: |\n| this run | 0.500 | 0.500 |" in text


def test_thresholds_side_by_side() -> None:
    def by_method(value: float) -> dict[str, Any]:
        return {"best_global_cut": {"0": {"F1@M": value}, "5": {"F1@M": value / 2}}, "oracle": {"0": {"F1@M": 0.9}}}

    seeds = [
        {"present": by_method(0.4), "absent": by_method(0.2)},
        {"present": by_method(0.6), "absent": by_method(0.2)},
    ]
    table = cut_table({"nus": seeds})
    assert table.header == ["threshold", "at least", "nus present F1@M", "nus absent F1@M"]
    assert table.rows == [
        ["best global cut", "0", "0.500_100", "0.200_0"],
        ["best global cut", "5", "0.250_50", "0.100_0"],
        ["oracle", "0", "0.900_0", "0.900_0"],
    ]
