"""The published ways of scoring, by name; numbers of different profiles are not comparable."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Literal

from simckp.text import stem, stems

K = 5
_LEADING, _TRAILING = "([{\"'", ".,;:!?)]}\"'"


@dataclass(frozen=True, kw_only=True, slots=True)
class Profile:
    """One way of scoring.

    Attributes:
        name: Name of the profile.
        stems: Maps a text to its stemmed tokens.
        precision_at_k: ``k`` divides by K always, ``min`` by the number of predictions if that is smaller.
        corpus_f1: ``of_means`` is F1 of mean precision and mean recall, ``mean`` is the mean of the documents' F1.
        without_targets: Documents without a gold keyphrase of the kind are ``left_out``, or count as ``zero``.
        pooled: Whether present and absent predictions are pooled and then split by whether they are in the text;
            otherwise a phrase predicted under the wrong kind is dropped.
        drops_marks: Whether phrases with a token "," or "." are dropped.
    """

    name: str
    stems: Callable[[str], tuple[str, ...]]
    precision_at_k: Literal["k", "min"]
    corpus_f1: Literal["of_means", "mean"]
    without_targets: Literal["left_out", "zero"]
    pooled: bool
    drops_marks: bool


def white_space_stems(text: str) -> tuple[str, ...]:
    """Return the stems of white-space tokens; punctuation at the edges of a word is split off, inside it is kept.

    The published scripts that split at white space expect text whose punctuation was already separated; on such text
    this is a plain split.
    """
    return tuple(chain.from_iterable(map(_split_edges, text.lower().split())))


@lru_cache(maxsize=1 << 18)
def _split_edges(word: str) -> tuple[str, ...]:
    start = len(word) - len(word.lstrip(_LEADING))
    end = max(start, len(word.rstrip(_TRAILING)))
    return tuple(map(stem, [*word[:start], *filter(None, [word[start:end]]), *word[end:]]))


PROFILES = {
    profile.name: profile
    for profile in (
        Profile(
            name="simckp",
            stems=stems,
            precision_at_k="k",
            corpus_f1="of_means",
            without_targets="left_out",
            pooled=False,
            drops_marks=False,
        ),
        Profile(
            name="chan19",
            stems=white_space_stems,
            precision_at_k="k",
            corpus_f1="of_means",
            without_targets="zero",
            pooled=True,
            drops_marks=True,
        ),
        Profile(
            name="kpg",
            stems=stems,
            precision_at_k="min",
            corpus_f1="mean",
            without_targets="zero",
            pooled=True,
            drops_marks=False,
        ),
        Profile(
            name="kpg_hard",
            stems=stems,
            precision_at_k="k",
            corpus_f1="mean",
            without_targets="zero",
            pooled=True,
            drops_marks=False,
        ),
    )
}
