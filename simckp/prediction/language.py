"""Notice a text that is plainly not in English, the language of the taggers, the stemmer and the networks."""

import importlib
import re
import unicodedata

_WORD = re.compile(r"[^\W\d_]+")
# spaCy's lists of stop words; the languages whose lists are large enough.
_OTHERS = {
    "de": "German",
    "fr": "French",
    "es": "Spanish",
    "pt": "Portuguese",
    "it": "Italian",
    "nl": "Dutch",
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
_ENGLISH, _OTHER = 0.2, 0.25


def language_warnings(text: str) -> list[str]:
    """Return a warning if a text is plainly not in English: most letters of another script, or another's stop words.

    A text of fewer than fifteen words and one without any stop words, such as a list of terms, gives none.
    """
    words = _WORD.findall(text.lower())[:_LARGEST]
    letters = "".join(words)
    if len(letters) > _SMALLEST and sum(map(_is_latin, letters)) * 2 < len(letters):
        return ["most of the text is in a script that the model does not know; it was trained on English"]
    if len(words) < _SMALLEST or _share(words, "en") >= _ENGLISH:
        return []
    shares = {language: _share(words, language) for language in _OTHERS}
    best = max(shares, key=lambda language: shares[language])
    if shares[best] < _OTHER:
        return []
    return [f"the text looks {_OTHERS[best]}; the model was trained on English"]


def _share(words: list[str], language: str) -> float:
    stop_words = importlib.import_module(f"spacy.lang.{language}.stop_words").STOP_WORDS
    return sum(word in stop_words for word in words) / len(words)


def _is_latin(letter: str) -> bool:
    return letter.isascii() or unicodedata.name(letter, "").startswith(("LATIN", "MODIFIER", "GREEK"))
