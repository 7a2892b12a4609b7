"""Notice a text that is plainly not in the language of the tagger, the stemmer and the networks."""

import re
import unicodedata

from simckp.language import ENGLISH, NAMES, spoken, stop_words

_WORD = re.compile(r"[^\W\d_]+")
# The languages whose lists of stop words are large enough.
_LANGUAGES = NAMES | {
    "sv": "Swedish",
    "da": "Danish",
    "nb": "Norwegian",
    "pl": "Polish",
    "fi": "Finnish",
    "tr": "Turkish",
    "id": "Indonesian",
}
_SMALLEST, _LARGEST = 15, 400  # words that are looked at
# English abstracts have 0.35 to 0.55 of their words in spaCy's list; other languages up to 0.1.
_OWN, _OTHER = 0.2, 0.25
# Of another language than English, a relative has many of the words: Spanish and Portuguese share "de", "que", "para".
_RELATIVE = 0.1


def language_warnings(text: str) -> list[str]:
    """Return a warning if a text is plainly not in the spoken language: other letters, or another's stop words.

    A text of fewer than fifteen words and one without any stop words, such as a list of terms, gives none.
    """
    language = spoken()
    words = _WORD.findall(text.lower())[:_LARGEST]
    letters = "".join(words)
    if len(letters) > _SMALLEST and sum(map(_is_latin, letters)) * 2 < len(letters):
        return [f"most of the text is in a script that the model does not know; it was trained on {language.name}"]
    if len(words) < _SMALLEST:
        return []
    own = _share(words, language.code)
    if language.code == ENGLISH and own >= _OWN:
        return []
    shares = {other: _share(words, other) for other in _LANGUAGES if other != language.code}
    best = max(shares, key=lambda other: shares[other])
    if shares[best] < _OTHER or (own >= _OWN and shares[best] < own + _RELATIVE):
        return []
    return [f"the text looks {_LANGUAGES[best]}; the model was trained on {language.name}"]


def _share(words: list[str], code: str) -> float:
    known = stop_words(code)
    return sum(word in known for word in words) / len(words)


def _is_latin(letter: str) -> bool:
    return letter.isascii() or unicodedata.name(letter, "").startswith(("LATIN", "MODIFIER", "GREEK"))
