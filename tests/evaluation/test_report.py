"""Tables, curves and the page."""

import math
import re
from typing import Any

import pandas as pd
import pytest

from simckp.data.records import Predicted, PredictedPhrase
from simckp.evaluation.figures import training_curve
from simckp.evaluation.frames import metrics_frame, paper_frame, thresholds_frame
from simckp.evaluation.page import example, render_html, render_markdown, segments
from simckp.evaluation.statistics import set_statistics
from simckp.evaluation.tables import (
    html_table,
    interval_table,
    markdown_table,
    notation,
    profile_table,
    result_tables,
    statistics_table,
    threshold_table,
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


def of_one_seed(**by_set: dict[str, Any]) -> pd.DataFrame:
    return metrics_frame({name: {13: found} for name, found in by_set.items()})


def rows(table: pd.DataFrame) -> list[list[Any]]:
    return table.to_numpy().tolist()


def test_the_papers_notation() -> None:
    assert notation(0.4267) == "0.427"
    assert notation(0.427, 0.001) == "0.427_1"


def test_result_tables_stand_beside_the_paper() -> None:
    none = metrics_frame({}, "model", "set")
    present, absent = result_tables(of_one_seed(kp20k=metrics(0.3), sample=metrics(0.5)), none).values()
    assert list(present.columns) == ["model", "kp20k F1@5", "kp20k F1@M", "sample F1@5", "sample F1@M"]
    assert rows(present)[0] == ["this run", "0.300", "0.300", "0.500", "0.500"]
    assert ["SimCKP (paper)", "0.426_1", "0.427_1", "–", "–"] in rows(present)
    assert ["SimCKP (paper)", "0.073_2", "0.080_1", "–", "–"] in rows(absent)
    extracted = metrics_frame({"yake": {"sample": {"present": metrics(0.2)["present"]}}}, "model", "set")
    present, absent = result_tables(of_one_seed(sample=metrics(0.5)), extracted).values()
    assert rows(present)[1] == ["yake", "0.200", "0.200"]
    assert len(absent) == 1  # it gives no absent keyphrases
    present, _ = result_tables(of_one_seed(sample=metrics(0.5)), none).values()
    assert len(present) == 1


def test_paper_numbers_are_complete() -> None:
    ours = paper_frame().query("model == 'SimCKP (paper)'")
    for _, of_kind in ours.groupby("kind"):
        assert set(of_kind["set"]) == {"inspec", "krapivin", "nus", "semeval", "kp20k"}
    models = paper_frame().groupby("kind")["model"].nunique()
    assert models.to_dict() == {"present": 10, "absent": 10}  # as in Tables 2 and 3
    five = paper_frame().query("kind == 'present' and set == 'kp20k' and figure == 'F1@5'").set_index("model")["mean"]
    assert (five["catSeqTG-2RF1"], five["PromptKP"], five.idxmax()) == (0.321, 0.351, "SimCKP (paper)")
    (recall,) = ours.query("figure == 'R@50' and set == 'inspec'")[["mean", "std"]].to_numpy().tolist()
    assert recall == [0.144, 0.016]


def test_further_tables() -> None:
    intervals = interval_table(of_one_seed(nus=metrics(0.25)), confidence=0.95)
    assert rows(intervals) == [
        ["nus", 10, "present", 9, "0.250 (0.250 to 0.250)", "0.250 (0.250 to 0.250)", "", ""],
        ["nus", 10, "absent", 9, *["0.250 (0.250 to 0.250)"] * 3, "0.185_12"],
    ]
    profiles = profile_table(metrics_frame({"nus": {"kpg": metrics(0.1)}}, "set", "profile"))
    assert rows(profiles) == [["nus", "kpg", 0.1, 0.1, 0.1, 0.1]]


def test_statistics_by_hand() -> None:
    documents = [
        make_document("graphs of networks", ["graphs", "deep learning"]),
        make_document("caches", ["caches", "cache", "web proxy server", "a b c d"]),
    ]
    # Unique keyphrases: 2 and 3, mean 2.5, deviation 0.5; words 1, 2, 1, 3, 4; absent 3 of 5; words of texts 3 and 1.
    statistics = set_statistics(documents)
    assert statistics == pytest.approx(
        {
            "documents": 2,
            "keyphrases_mean": 2.5,
            "keyphrases_std": 0.5,
            "words_mean": 2.2,
            "absent_percent": 60.0,
            "text_words_mean": 2.0,
        }
    )
    table = statistics_table(pd.DataFrame({"nus": statistics}).T)
    assert rows(table)[0][:3] == ["nus", "2 (211)", "2.50 (10.85)"]
    assert set(set_statistics([]).values()) == {0}


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
    history = pd.DataFrame({"step": [1, 2], "loss": [2.0, 1.0], "eval_f1_at_m": [math.nan, 0.5]})
    curve = training_curve(history, title="extractor <seed>")
    html = render_html(
        tables={"<u>title": pd.DataFrame({"model": ["<script>a"], "<img src=y>": ["<script>b"]})},
        curves=[curve],
        pictures=[curve],
        examples=[shown],
        profile="simckp",
        facts={},
    )
    assert "<script" not in html
    assert "<img" not in html
    assert "<b>deep" not in html
    assert "<u>" not in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html
    assert '<mark class="hit"' in html
    assert "<svg" in html
    assert re.findall(r'(?:src|href)="(?!#)', html) == []
    assert training_curve(history, title="extractor <seed>") == curve


def test_html_cells() -> None:
    table = pd.DataFrame({"model": ["a_1"], "F1@5": ["0.427_1"], "F1@M": [0.25], "R@50": [math.nan], "gold": [3]})
    html = html_table(table)
    assert re.findall(r"<td>.*</td>", html) == [
        f"<td>{cell}</td>" for cell in ("a_1", "0.427<sub>1</sub>", "0.250", "–", "3")
    ]
    assert html.count('<th scope="col">') == 5
    assert 'class="dataframe models"' in html
    assert 'class="dataframe plain"' in html_table(table.rename(columns={"model": "set"}))


def test_markdown_cells() -> None:
    table = pd.DataFrame({"|KP|": ["a|b", "1e5"], "F1@M": ["0.427_1", "0.500"], "R@50": [0.5, math.nan]})
    # tabulate pads a header by two blanks; neither 1e5 nor 0.427_1 is read as a number.
    assert markdown_table(table).splitlines() == [
        r"| \|KP\|   |    F1@M |   R@50 |",
        r"|:---------|--------:|-------:|",
        r"| a\|b     | 0.427_1 |  0.500 |",
        r"| 1e5      |   0.500 |      – |",
    ]
    report = render_markdown({"Title": table}, profile="kpg")
    assert report.startswith("# Results\n\nProfile `kpg`.")
    assert "### Title\n\n| " in report


def test_thresholds_side_by_side() -> None:
    def by_method(value: float) -> dict[str, Any]:
        return {
            "best_global_threshold": {"0": {"F1@M": value}, "5": {"F1@M": value / 2}},
            "oracle": {"0": {"F1@M": 0.9}},
        }

    by_seed = {
        13: {"present": by_method(0.4), "absent": by_method(0.2)},
        27: {"present": by_method(0.6), "absent": by_method(0.2)},
    }
    table = threshold_table(thresholds_frame({"nus": by_seed}))
    assert list(table.columns) == ["threshold", "at least", "nus present F1@M", "nus absent F1@M"]
    # Present: mean (0.4 + 0.6) / 2, population deviation 0.1; half of both with the best-five rule.
    assert rows(table) == [
        ["best global threshold", "0", "0.500_100", "0.200_0"],
        ["best global threshold", "5", "0.250_50", "0.100_0"],
        ["oracle", "0", "0.900_0", "0.900_0"],
    ]
