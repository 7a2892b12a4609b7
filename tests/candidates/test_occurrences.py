"""Each rule of Algorithm 1 gives its own sentence."""

import pytest

from simckp.candidates.mining import mine
from simckp.candidates.occurrences import explain_phrase
from simckp.text import candidate_key
from tests.conftest import make_document, make_tagged

TEXT = "the new search of graphs is fast - sparse graphs of very many large fast new old things"
TAGS = "DT JJ NN IN NNS VBZ JJ HYPH JJ NNS IN RB JJ JJ JJ JJ JJ NNS"


@pytest.mark.parametrize(
    ("phrase", "verdicts"),
    [
        ("new search", ["candidate"]),
        ("the new search", ["candidate"]),
        ("graph", ["candidate", "candidate"]),
        ("search of graphs", ["candidate"]),
        ("the", ["'the' (DT) is no phrase alone"]),
        ("of graphs", ["'of' (IN) may not start a phrase"]),
        ("search of", ["'of' (IN) may not end a phrase"]),
        ("fast sparse graphs", ["candidate"]),  # the hyphen between has no key
        ("sparse graphs of very many large fast", ["7 words are more than mining.max_words = 6"]),
        ("tabu search", []),
    ],
)
def test_verdicts(phrase: str, verdicts: list[str]) -> None:
    found = explain_phrase(phrase, make_tagged(TEXT, TAGS), max_words=6)
    assert [place.verdict for place in found] == verdicts
    for place in found:
        assert TEXT[place.start : place.end].split() == place.words


def test_a_word_outside_all_tag_sets() -> None:
    (place,) = explain_phrase("study we", make_tagged("study we", "VB PRP"), max_words=6)
    assert place.verdict == "'we' (PRP) is in no tag set: it ends a phrase"


def test_a_phrase_of_function_words() -> None:
    tagged = make_tagged("it is also fast", "PRP VBZ RB JJ")
    for flag, verdict in ((True, "has no content word (mining.require_content_word)"), (False, "candidate")):
        (place,) = explain_phrase("is also", tagged, max_words=6, require_content_word=flag)
        assert place.verdict == verdict


@pytest.mark.parametrize("content", [False, True])
def test_candidates_are_exactly_what_is_mined(content: bool) -> None:
    tagged = make_tagged(TEXT, TAGS)
    row = mine(make_document(TEXT, []), tagged, max_words=6, require_content_word=content)
    mined = {phrase["key"] for phrase in row["phrases"]}
    assert ("is" in mined) is not content
    words = TEXT.split()
    for first in range(len(words)):
        for last in range(first + 1, min(first + 8, len(words) + 1)):
            places = explain_phrase(" ".join(words[first:last]), tagged, max_words=6, require_content_word=content)
            if places:
                key = " ".join(word for word in words[first:last] if word != "-")
                is_candidate = any(place.verdict == "candidate" for place in places)
                assert is_candidate == (candidate_key(key) in mined), key
