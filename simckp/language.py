"""The language of the documents: how its words are stemmed, and which of them name nothing.

English is the language of the paper. A language is spoken within :func:`speaking`; everything that stems a word or
compares phrases asks for the one that is spoken.
"""

import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache, partial, wraps
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, ParamSpec, TypeVar

LanguageCode = Literal["en", "de", "fr", "es", "pt", "it", "nl"]
ENGLISH: LanguageCode = "en"
NAMES: dict[str, str] = {
    "en": "English",
    "de": "German",
    "fr": "French",
    "es": "Spanish",
    "pt": "Portuguese",
    "it": "Italian",
    "nl": "Dutch",
}

# English words of the open tag sets of Algorithm 1 that name nothing.
_NAMING_NOTHING = (
    "am are be been being is was were 'm 're 's has have had having 've 'd do does did doing done can could may "
    "might must shall should will would 'll wo n't not cannot never ever also again almost already always as even far "
    "here hence how however indeed instead just less least likewise maybe merely more moreover most much namely "
    "nearly nor now often once only otherwise perhaps quite rather really same so somehow sometimes soon still "
    "such then there thereby therefore thus together too usually very well when where whereas whereby while why "
    "yet else etc few many further furthermore first second third last next other others own several able due "
    "get gets got let lets like make makes made via e.g i.e eg ie et - ' . , "
    "don't doesn't didn't isn't aren't wasn't weren't haven't hasn't hadn't can't couldn't won't wouldn't shouldn't"
)
_MARKS = frozenset("-'.,")

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Language:
    """A language.

    Attributes:
        code: Its code (ISO 639-1).
        stem: Returns the stem of a lower-case word; cached over the vocabulary. Porter's stemmer in NLTK's default mode
            for English, Snowball's for others.
    """

    code: str
    stem: Callable[[str], str] = field(compare=False)

    @property
    def name(self) -> str:
        """Its English name."""
        return NAMES[self.code]

    @property
    def folds_accents(self) -> bool:
        """Whether accents are ignored, as English tokenizers do; elsewhere they tell words apart ("ano", "año")."""
        return self.code == ENGLISH

    @cached_property
    def function_words(self) -> frozenset[str]:
        """Words that name nothing: a list of our own for English, spaCy's stop words for others."""
        if self.code == ENGLISH:
            return frozenset(_NAMING_NOTHING.split())
        return frozenset(stop_words(self.code)) | _MARKS


def stop_words(code: str) -> set[str]:
    """Return spaCy's stop words of a language."""
    found: set[str] = importlib.import_module(f"spacy.lang.{code}.stop_words").STOP_WORDS
    return found


@cache
def language(code: str) -> Language:
    """Return a language by its code."""
    return Language(code, lru_cache(maxsize=1 << 20)(_stemmer(code)))


def _stemmer(code: str) -> Callable[[str], str]:
    if code == ENGLISH:
        porter: Callable[[str], str] = _porter_module().PorterStemmer().stem
        return porter
    from nltk.stem.snowball import SnowballStemmer

    snowball: Callable[[str], str] = SnowballStemmer(NAMES[code].lower()).stem
    return snowball


def _porter_module() -> Any:
    """Import ``nltk.stem.porter`` without the package ``nltk``.

    The package's own import loads scipy, scikit-learn and pandas for parts that nothing here uses: 1.3 s for each
    process, fifty times what the stemmer takes. Empty packages stand in for ``nltk`` and ``nltk.stem`` while the
    stemmer is loaded; a later ``import nltk`` finds no trace of them.
    """
    name = "nltk.stem.porter"
    found = importlib.util.find_spec("nltk")
    if "nltk" in sys.modules or found is None or found.origin is None:
        return importlib.import_module(name)
    for package in ("nltk", "nltk.stem"):
        stand_in = ModuleType(package)
        stand_in.__path__ = [str(Path(found.origin).parent.joinpath(*package.split(".")[1:]))]
        sys.modules[package] = stand_in
    try:
        return importlib.import_module(name)
    finally:
        for loaded in [module for module in sys.modules if module.split(".")[0] == "nltk"]:
            del sys.modules[loaded]


_SPOKEN: ContextVar[Language] = ContextVar("spoken")
_ENGLISH = language(ENGLISH)


def spoken() -> Language:
    """Return the language that is spoken here and now; English unless somebody says otherwise."""
    return _SPOKEN.get(_ENGLISH)


def speak(code: str) -> None:
    """Speak a language from here on, in a process that knows only one."""
    _SPOKEN.set(language(code))


@contextmanager
def speaking(code: str) -> Iterator[None]:
    """Speak a language within the block."""
    token = _SPOKEN.set(language(code))
    try:
        yield
    finally:
        _SPOKEN.reset(token)


def spoken_there(function: Callable[..., Result]) -> Callable[..., Result]:
    """Return a picklable function that speaks, wherever it is called, what is spoken here."""
    return partial(_in_language, function, spoken().code)


def _in_language(function: Callable[..., Result], code: str, *arguments: Any, **options: Any) -> Result:
    with speaking(code):
        return function(*arguments, **options)


def in_own_language(method: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Let a method speak the language that its object has as ``language``; it must not be a generator."""

    @wraps(method)
    def speaking_it(*arguments: Arguments.args, **options: Arguments.kwargs) -> Result:
        owner: Any = arguments[0]
        with speaking(owner.language):
            return method(*arguments, **options)

    return speaking_it
