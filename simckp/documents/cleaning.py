"""Turn raw records into documents: unescape entities, remove markup, compose one text, clean each keyphrase."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from typing_extensions import TypeIs

from simckp.data.records import Document, Dropped
from simckp.documents.entities import unescape_entities
from simckp.documents.readers import RawDocument
from simckp.documents.sources import writable
from simckp.errors import InputError
from simckp.text import has_letter_or_digit, scoring_key, single_spaced

Policy = Literal["per_keyphrase", "published"]

_INLINE = "a|abbr|b|big|cite|code|em|font|i|italic|kbd|mark|small|span|strike|strong|sub|sup|tt|u"
_BLOCK = "article|blockquote|body|br|dd|div|dl|dt|h[1-6]|head|hr|html|li|ol|p|pre|sec|section|table|td|th|tr|title|ul"
# Only known markup elements are removed, and only with attributes that have a value: "<digit>", "a < b" and
# "a<b and c>d" are text.
_ATTRIBUTES = r"""(?:\s+[\w:.-]+\s*=\s*(?:"[^"<>]*"|'[^'<>]*'|[^\s"'<>]+))*\s*"""
_INLINE_TAG = re.compile(rf"<(?P<end>/?)(?:[a-z]+:)?(?P<name>{_INLINE})(?P<attributes>{_ATTRIBUTES})/?>", re.IGNORECASE)
_BLOCK_TAG = re.compile(rf"</?(?:[a-z]+:)?(?:{_BLOCK}){_ATTRIBUTES}/?>", re.IGNORECASE)
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_SENTENCE_END = (".", "!", "?", "\u3002")
_PUBLISHED = re.compile(r"[A-Za-z0-9 '-]+")
NO_TEXT = "no_text"


def clean_text(text: str) -> str:
    """Unescape entities, remove markup tags and replace control characters by blanks; white space is kept.

    Entities are unescaped first because exported files contain escaped tags (``&lt;br&gt;``), some of them escaped
    twice. An element with a name of one letter is removed only if it is closed somewhere, since ``List<b>`` is no
    markup. Unpaired surrogates are replaced by U+FFFD.

    >>> clean_text("<p>R&amp;amp;D &lt;br&gt; of a &lt; b</p>").split()
    ['R&D', 'of', 'a', '<', 'b']
    >>> clean_text("List<b> of b, a<b and c>d, ?x=1&copy=2")
    'List<b> of b, a<b and c>d, ?x=1&copy=2'
    """
    text = unescape_entities(text)
    if "<" in text:
        closed = {match["name"].lower() for match in _INLINE_TAG.finditer(text) if match["end"]}
        text = _INLINE_TAG.sub(partial(_without_inline, closed=closed), text)
        text = _BLOCK_TAG.sub(" ", text)
    return without_controls(text)


def without_controls(text: str) -> str:
    r"""Replace control characters by blanks and unpaired surrogates by U+FFFD, so that no character moves.

    >>> without_controls("tabu\x00search")
    'tabu search'
    """
    return _SURROGATE.sub("\ufffd", _CONTROL.sub(" ", text))


def _without_inline(tag: re.Match[str], closed: set[str]) -> str:
    name = tag["name"].lower()
    return "" if len(name) > 1 or name in closed or tag["attributes"].strip() else tag[0]


def compose(title: str, abstract: str) -> str:
    """Return the text that the models read: ``title. abstract``; a title that ends a sentence gets no full stop."""
    title, abstract = title.strip(), abstract.strip()
    if not title or not abstract:
        return title or abstract
    return f"{title} {abstract}" if title.endswith(_SENTENCE_END) else f"{title}. {abstract}"


def split_keyphrases(given: list[Any] | str | None) -> list[Any]:
    """Return keyphrases as a list; a single string is cleaned and then split at ``;``, a list is kept as it is."""
    if given is None:
        return []
    return clean_text(given).split(";") if isinstance(given, str) else given


@dataclass(slots=True)
class Cleaner:
    """Turns the raw records of one set into documents, and reports what it drops with the reason.

    Args:
        set_name: Name of the document set; used in the records and in generated ids.
        filtered: Whether keyphrases and documents may be dropped (training and validation sets). In a test set, only
            keyphrases that are empty or not text are dropped.
        policy: See :class:`simckp.params.Cleaning`.
        limit: Maximum number of documents to keep; the others are dropped with the reason ``limit``.
    """

    set_name: str
    filtered: bool
    policy: Policy = "per_keyphrase"
    limit: int | None = None
    _rows_by_id: dict[str, tuple[str, int]] = field(default_factory=dict)
    _kept: int = 0

    def clean(self, raw_documents: Iterable[RawDocument]) -> Iterator[Document | Dropped]:
        """Yield each document, preceded by the keyphrases dropped from it; a dropped document yields a reason instead.

        Raises:
            InputError: Two records have the same id.
        """
        for number, raw in enumerate(raw_documents, start=1):
            identifier = self._identify(raw, number)
            if self.limit is not None and self._kept >= self.limit:
                yield _dropped(raw, identifier, "document", "limit", f"limit is {self.limit}")
                continue
            text = compose(clean_text(raw.title), clean_text(raw.abstract))
            kept, losses = self._clean_keyphrases(raw, identifier)
            yield from losses
            reason = self._refusal(text, kept, losses)
            if reason is not None:
                yield _dropped(raw, identifier, "document", *reason)
                continue
            self._kept += 1
            yield Document(
                id=identifier,
                title=clean_text(raw.title),
                abstract=clean_text(raw.abstract),
                text=text,
                keyphrases=kept,
                set=self.set_name,
            )

    def _identify(self, raw: RawDocument, number: int) -> str:
        identifier = raw.id if raw.id is not None else f"{self.set_name}-{number:07d}"
        if identifier in self._rows_by_id:
            file, row = self._rows_by_id[identifier]
            raise InputError(raw.file, raw.row, "id", f"{identifier!r} is the id of {file}:{row} as well")
        self._rows_by_id[identifier] = str(raw.file), raw.row
        return identifier

    def _clean_keyphrases(self, raw: RawDocument, identifier: str) -> tuple[list[str], list[Dropped]]:
        kept: list[str] = []
        losses: list[Dropped] = []
        seen: set[str] = set()
        for phrase in split_keyphrases(raw.keyphrases):
            cleaned = single_spaced(clean_text(phrase)) if isinstance(phrase, str) else ""
            reason = self._keyphrase_fault(phrase, cleaned, seen)
            if reason is None:
                kept.append(cleaned)
                seen.add(scoring_key(cleaned))
            elif phrase != "":
                losses.append(_dropped(raw, identifier, "keyphrase", reason, repr(phrase)[:200]))
        return kept, losses

    def _keyphrase_fault(self, given: object, cleaned: str, seen: set[str]) -> str | None:
        if not isinstance(given, str):
            return NO_TEXT
        if not cleaned and not (self.policy == "published" and given.strip()):
            return "empty"
        if not self.filtered:
            return None
        # First, since such a keyphrase drops its document even if it would be dropped for another reason.
        if self.policy == "published" and not _PUBLISHED.fullmatch(given):
            return "character"
        if not has_letter_or_digit(cleaned):
            return "no_letter_or_digit"
        if scoring_key(cleaned) in seen:
            return "duplicate"
        return None

    def _refusal(self, text: str, kept: list[str], losses: list[Dropped]) -> tuple[str, str] | None:
        if not self.filtered:
            return None
        if not has_letter_or_digit(text):
            return NO_TEXT, "neither title nor abstract has a letter or digit"
        unpublished = [loss["detail"] for loss in losses if loss["reason"] == "character"]
        if unpublished:
            return "keyphrase_character", f"published cleaning: {unpublished[0]}"
        return None if kept else ("no_gold", "no keyphrase to learn from")


def _dropped(raw: RawDocument, identifier: str, what: str, reason: str, detail: str) -> Dropped:
    return Dropped(id=identifier, file=writable(str(raw.file)), row=raw.row, what=what, reason=reason, detail=detail)


def is_document(row: Document | Dropped) -> TypeIs[Document]:
    """Return whether a row of :meth:`Cleaner.clean` is a document; otherwise it is something dropped."""
    return "text" in row
