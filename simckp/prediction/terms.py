"""A vocabulary of one's own: phrases get its labels, or only those are given; and phrases that nobody wants."""

import csv
import hashlib
import json
import logging
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from simckp.documents.sources import text_lines
from simckp.errors import InputError, SimCKPError
from simckp.language import ENGLISH, speaking, spoken
from simckp.prediction.concepts import concept

_LABEL, _SYNONYMS, _SEPARATOR = "label", "synonyms", ";"
_SKOS = {".ttl": "turtle", ".rdf": "xml", ".xml": "xml", ".nt": "nt", ".jsonld": "json-ld"}
SUFFIXES = (".txt", ".csv", *_SKOS)
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Terms:
    """How phrases are named.

    Case, plural, hyphens and British or American spelling do not matter (:func:`simckp.prediction.concepts.concept`).

    Attributes:
        labels: The preferred label of each concept, its synonyms included.
        only: Whether phrases that are not in ``labels`` are left out.
        stopped: Concepts that are left out.
    """

    labels: Mapping[str, str] = field(default_factory=dict)
    only: bool = False
    stopped: Collection[str] = frozenset()

    @classmethod
    def of_files(
        cls, vocabulary: Path | None, *, only: bool = False, stop: Path | None = None, language: str = ENGLISH
    ) -> "Terms":
        """Read a vocabulary and a list of unwanted phrases; both may be None. ``language`` is that of the model.

        Raises:
            InputError: See :func:`read_vocabulary`.
            SimCKPError: Only a vocabulary is wanted, but there is none.
        """
        if only and vocabulary is None:
            raise SimCKPError("only the terms of a vocabulary are wanted, but no vocabulary is given")
        with speaking(language):
            stopped = () if stop is None else (name for _, name, _ in _entries(stop))
            labels = {} if vocabulary is None else read_vocabulary(vocabulary)
            return cls(labels, only, frozenset(map(concept, stopped)))

    def fingerprint(self) -> str:
        """Return what tells these terms from others."""
        parts = (sorted(self.labels.items()), self.only, sorted(self.stopped))
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]

    def label(self, surface: str) -> str | None:
        """Return the name that a phrase is given; None if it is left out.

        >>> terms = Terms({concept("neural network"): "Neural networks"}, stopped={concept("approach")})
        >>> terms.label("neural-network"), terms.label("graph"), terms.label("Approaches")
        ('Neural networks', 'graph', None)
        """
        name = concept(surface)
        if name in self.stopped:
            return None
        return self.labels.get(name, None if self.only else surface)


def read_vocabulary(path: Path) -> dict[str, str]:
    """Return the preferred label of each concept of a vocabulary.

    A text file has one term a line. CSV has a column ``label``, and ``synonyms`` (optional) with terms that are
    separated by ``;``. SKOS (Turtle, RDF/XML, N-Triples, JSON-LD) has ``prefLabel``, ``altLabel`` and ``hiddenLabel``,
    in the spoken language or without one. A synonym of several labels stays with the first one, and the log says so.

    Raises:
        InputError: The file cannot be read, has no term, or one label stands twice.
        SimCKPError: It is SKOS, and rdflib is not installed.
    """
    labels: dict[str, str] = {}
    synonyms: list[tuple[str, str]] = []
    for row, label, others in _entries(path):
        name = concept(label)
        if not name:
            raise InputError(path, row, _LABEL, f"expected a term, found {label!r}")
        if name in labels and labels[name] != label:
            raise InputError(path, row, _LABEL, f"{label!r} is {labels[name]!r} in another spelling; keep one of them")
        labels[name] = label
        synonyms += [(label, other) for other in others]
    if not labels:
        raise InputError(path, None, None, "there is no term in it")
    for label, synonym in synonyms:
        kept = labels.setdefault(concept(synonym), label)
        if kept != label:
            _LOG.warning("%s: %r is a synonym of %r, and stands for %r already", path, synonym, label, kept)
    return labels


def _entries(path: Path) -> Iterator[tuple[int | None, str, list[str]]]:
    """Yield row, label and synonyms of each entry."""
    if path.suffix in _SKOS:
        yield from _skos(path)
    elif path.suffix == ".csv":
        yield from _csv(path)
    elif path.suffix == ".txt":
        for row, line in enumerate(text_lines(path, "utf-8"), start=1):
            if line.strip():
                yield row, line.strip(), []
    else:
        raise InputError(path, None, None, f"expected a file {', '.join(SUFFIXES)}")


def _csv(path: Path) -> Iterator[tuple[int, str, list[str]]]:
    reader = csv.DictReader(text_lines(path, "utf-8"))
    if _LABEL not in (reader.fieldnames or []):
        raise InputError(path, 1, _LABEL, f"there is no such column, only {', '.join(reader.fieldnames or [])}")
    for record in reader:
        others = (record.get(_SYNONYMS) or "").split(_SEPARATOR)
        yield reader.line_num, (record[_LABEL] or "").strip(), [other.strip() for other in others if other.strip()]


def _skos(path: Path) -> Iterator[tuple[None, str, list[str]]]:
    try:
        from rdflib import Graph
        from rdflib.namespace import SKOS
    except ModuleNotFoundError as error:
        raise SimCKPError(f"{path}: SKOS needs rdflib (pip install 'simckp[skos]')") from error
    graph = Graph()
    try:
        graph.parse(path, format=_SKOS[path.suffix])
    except OSError as error:
        raise InputError(path, None, None, error.strerror or str(error)) from error
    except Exception as error:  # its parsers raise errors of many kinds
        raise InputError(path, None, None, f"no valid {_SKOS[path.suffix]}: {str(error).splitlines()[0]}") from error
    for subject, preferred in sorted(graph.subject_objects(SKOS.prefLabel)):
        if _is_read(preferred):
            others = sorted(
                str(other)
                for relation in (SKOS.altLabel, SKOS.hiddenLabel)
                for other in graph.objects(subject, relation)
                if _is_read(other)
            )
            yield None, str(preferred).strip(), others


def _is_read(literal: object) -> bool:
    language = getattr(literal, "language", None)
    return language is None or language.split("-")[0] == spoken().code
