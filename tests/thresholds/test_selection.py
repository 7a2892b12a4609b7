"""Thresholds and the best-five rule, against numbers derived by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simckp.thresholds.selection import Ranking, best_threshold, calibrate, count_selected, f1_at_m, f1_of_means


def test_best_threshold_by_hand() -> None:
    # One given: P 1, R 1/2, F1 2/3. Two: P 1/2, R 1/2. Three: P 2/3, R 1, F1 4/5, the best. Four: F1 2/3.
    ranking = Ranking.of([0.2, 0.9, 0.5, 0.7], [False, True, True, False], 2)
    assert ranking.scores.tolist() == [0.9, 0.7, 0.5, 0.2]
    assert ranking.f1_by_count() == pytest.approx([2 / 3, 1 / 2, 4 / 5, 2 / 3])
    assert best_threshold(ranking) == pytest.approx((0.5 + 0.2) / 2)


def test_gold_that_was_not_mined_counts_as_a_target() -> None:
    # Three targets, one of them among two candidates: F1 is 2*1/(1+3) = 1/2, then 2*1/(2+3) = 2/5.
    assert Ranking.of([0.9, 0.1], [True, False], 3).f1_by_count() == pytest.approx([1 / 2, 2 / 5])


def test_of_equal_cuts_the_smallest_is_taken() -> None:
    # Counts 1 and 4 both give F1 2/3: 2*1/(1+2), 2*2/(4+2).
    assert best_threshold(Ranking.of([0.9, 0.7, 0.5, 0.3], [True, False, False, True], 2)) == pytest.approx(0.8)


def test_no_gold_candidate_has_no_best_threshold() -> None:
    assert best_threshold(Ranking.of([0.9], [False], 1)) is None
    assert best_threshold(Ranking.of([], [], 1)) is None


def test_equal_scores_are_given_together() -> None:
    threshold = best_threshold(Ranking.of([0.9, 0.9, 0.1], [True, False, False], 1))
    assert threshold == pytest.approx(0.5)


@given(
    st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=1, max_size=8),
    st.integers(0, 3),
)
def test_best_threshold_equals_trying_every_threshold(candidates: list[tuple[int, bool]], unmined: int) -> None:
    scores = [score / 7 for score, _ in candidates]
    labels = [label for _, label in candidates]
    ranking = Ranking.of(scores, labels, sum(labels) + unmined)
    threshold = best_threshold(ranking)
    if not any(labels):
        assert threshold is None
        return

    def f1(threshold: float) -> float:
        given_labels = [label for score, label in zip(scores, labels, strict=True) if score > threshold]
        return 2 * sum(given_labels) / (len(given_labels) + ranking.targets)

    assert threshold is not None
    assert f1(threshold) == pytest.approx(max(f1(score - 1e-9) for score in scores))


@pytest.mark.parametrize(
    ("scores", "threshold", "minimum", "expected"),
    [
        ([0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3], 0.35, 5, 6),  # above the threshold
        ([0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3], 0.75, 5, 5),  # best five
        ([0.9, 0.8], 0.95, 5, 2),  # what exists
        ([0.9, 0.8], 0.8, 0, 1),  # strictly above
        ([], 0.5, 5, 0),
    ],
)
def test_count_selected(scores: list[float], threshold: float, minimum: int, expected: int) -> None:
    assert count_selected(np.asarray(scores), threshold=threshold, minimum=minimum) == expected


def test_threshold_is_the_mean_of_best_thresholds() -> None:
    first = Ranking.of([0.9, 0.5], [True, False], 1)  # best threshold 0.7
    second = Ranking.of([0.4, 0.2], [True, False], 1)  # best threshold 0.3
    without = Ranking.of([0.8], [False], 0)  # does not count
    found = calibrate([first, second, without], minimum=0)
    assert found.threshold == pytest.approx(0.5)
    assert found.documents == 2
    # At 0.5: P 1, R 1 for the first; nothing for the second. Means 1/2 and 1/2.
    assert found.f1_at_m == pytest.approx(0.5)
    assert found.oracle_f1_at_m == pytest.approx(1.0)


def test_without_any_gold_only_the_minimum_is_given() -> None:
    found = calibrate([Ranking.of([0.9, 0.8], [False, False], 1)], minimum=1)
    assert (found.threshold, found.documents, found.f1_at_m) == (1.0, 0, 0.0)


def test_f1_is_that_of_the_means() -> None:
    # Means: P 0.5, R 0.75; 2 * 0.375 / 1.25 = 0.6. The mean of the two F1 would be (1 + 0) / 2.
    assert f1_of_means([1.0, 0.0], [1.0, 0.5]) == pytest.approx(0.6)
    assert f1_of_means([], []) == 0.0
    assert f1_at_m([Ranking.of([0.9], [True], 0)], lambda _: 0.0, minimum=0) == 0.0
