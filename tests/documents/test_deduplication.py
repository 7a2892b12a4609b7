"""Near-duplicates are found by exact similarity, whatever the sketch proposes."""

from simckp.documents.deduplication import jaccard, near_duplicates, shingles
from tests.conftest import make_document

TEXT = " ".join(f"word{number}" for number in range(40))


def found(
    training: list[str], evaluated: list[str], threshold: float = 0.9, *, within: bool = False
) -> list[tuple[str, str]]:
    train = [make_document(text, [], identifier=f"t{n}") for n, text in enumerate(training)]
    other = [make_document(text, [], identifier=f"e{n}", set_name="test") for n, text in enumerate(evaluated)]
    rows = near_duplicates(train, other, threshold=threshold, permutations=128, within_training=within)
    return [(row["id"], row["duplicate_of"]) for row in rows]


def test_shingles_and_jaccard_by_hand() -> None:
    assert shingles("a b c") == {"a b", "b c"}
    assert shingles("a") == {"a"}
    assert shingles("") == frozenset()
    assert jaccard(shingles("a b c"), shingles("b c d")) == 1 / 3
    assert jaccard(frozenset(), frozenset()) == 0.0


def test_case_and_punctuation_do_not_hide_a_duplicate() -> None:
    assert found([TEXT.upper(), "something else entirely"], [TEXT]) == [("t0", "e0")]


def test_threshold_is_exact() -> None:
    # 39 bigrams. A changed last word leaves 38 shared of 40: 0.95. A changed middle word leaves 37 of 41: 0.902.
    # Two changed middle words that do not touch leave 35 of 43: 0.814.
    last = TEXT.replace("word39", "new")
    middle = TEXT.replace("word20", "new")
    two = middle.replace("word10", "newer")
    assert found([last, middle, two], [TEXT]) == [("t0", "e0"), ("t1", "e0")]
    assert found([last, middle, two], [TEXT], threshold=0.92) == [("t0", "e0")]


def test_the_most_similar_document_is_named_once() -> None:
    assert found([TEXT], [TEXT.replace("word39", "new"), TEXT]) == [("t0", "e1")]


def test_the_first_of_several_training_documents_stays() -> None:
    other = " ".join(f"term{number}" for number in range(40))
    training = [TEXT, other, TEXT.replace("word39", "new"), other.upper(), "third", TEXT]
    assert found(training, []) == []
    assert found(training, [], within=True) == [("t2", "t0"), ("t3", "t1"), ("t5", "t0")]
    # What is left out because of an evaluated document is no first one.
    assert found(training, [other], within=True) == [("t1", "e0"), ("t2", "t0"), ("t3", "e0"), ("t5", "t0")]


def test_empty_texts_are_no_duplicates() -> None:
    assert found(["", "a"], ["", ""]) == []
    assert found(["", "", "..."], [], within=True) == []
