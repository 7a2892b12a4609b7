"""Read the predictions of any system, to score them under the same profiles as our own predictions."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from simckp.data.records import KINDS, Document, Predicted, PredictedPhrase
from simckp.documents.cleaning import NO_TEXT, Cleaner, is_document
from simckp.documents.formats import read_records
from simckp.documents.readers import RawDocument, identified
from simckp.errors import InputError

_RANKED = ("phrases", "predictions", "keyphrases", "keywords")
_PHRASE = "phrase"
_IN_TABLES = f" (a table has one phrase a row, under '{_PHRASE}')"
_SAME = "give documents and predictions the same ids"


def gold_documents(raw_documents: Iterable[RawDocument]) -> Iterator[Document]:
    """Yield documents with their gold keyphrases; those without an id get the same one as in prediction.

    Raises:
        InputError: Two documents have the same id, or a gold keyphrase is no text.
    """
    for row in Cleaner("", filtered=False).clean(identified(raw_documents)):
        if is_document(row):
            yield row
        elif row["reason"] == NO_TEXT:
            raise InputError(row["file"], row["row"], "keyphrases", f"expected texts, found {row['detail']}")


def read_predictions(path: Path) -> dict[str, dict[str, list[str]]]:
    """Return the predicted phrases of each document by kind, best first.

    A record has an ``id``, and either two lists ``present`` and ``absent`` or one ranked list under ``phrases``,
    ``predictions``, ``keyphrases`` or ``keywords``. The elements are texts, or records with ``phrase`` (or
    ``surface``) and optionally ``kind``. A phrase without a kind counts for both kinds; each profile then keeps it
    as present if it is in the text, and as absent otherwise.

    A record with a ``phrase`` of its own is one phrase of a document, as in the CSV output of ``simckp predict``; the
    records of a document stand best first. If the phrase is empty, the document has none.

    Raises:
        InputError: A record does not have that form, or an id occurs twice.
    """
    predictions: dict[str, dict[str, list[str]]] = {}
    for row, record in read_records(path, chosen=None, encoding="utf-8"):
        identifier = record.get("id")
        if not isinstance(identifier, str | int) or isinstance(identifier, bool) or identifier == "":
            raise InputError(path, row, "id", "expected the id of a document")
        own = _by_kind(record, path, row)
        if _PHRASE in record and str(identifier) in predictions:
            for kind, phrases in predictions[str(identifier)].items():
                phrases += own[kind]
            continue
        if str(identifier) in predictions:
            raise InputError(path, row, "id", f"{identifier!r} stands twice")
        predictions[str(identifier)] = own
    return predictions


def _by_kind(record: Mapping[str, Any], path: Path, row: int) -> dict[str, list[str]]:
    if any(kind in record for kind in KINDS):
        return {kind: [p for p, _ in _phrases(record.get(kind) or [], kind, path, row)] for kind in KINDS}
    name = next((name for name in (*_RANKED, _PHRASE) if name in record), None)
    if name is None:
        known = f"'present' and 'absent', or one of {', '.join((*_RANKED, _PHRASE))}"
        raise InputError(path, row, None, f"expected {known}; found {', '.join(sorted(map(str, record)))}")
    values = record[name] or []
    if name == _PHRASE and values:
        values = [{_PHRASE: values, "kind": record.get("kind") or None}]
    phrases = list(_phrases(values, name, path, row))
    return {kind: [phrase for phrase, own in phrases if own in (None, kind)] for kind in KINDS}


def _phrases(values: Any, name: str, path: Path, row: int) -> Iterator[tuple[str, str | None]]:
    if not isinstance(values, list):
        raise InputError(path, row, name, f"expected a list, found {type(values).__name__}{_IN_TABLES}")
    for value in values:
        phrase, kind = value, None
        if isinstance(value, Mapping):
            phrase, kind = value.get("phrase", value.get("surface")), value.get("kind")
        if not isinstance(phrase, str) or kind not in (None, *KINDS):
            raise InputError(path, row, name, f"expected phrases, found {value!r}")
        yield phrase, kind


def paired_with_gold(
    documents: Iterable[Document], predictions: Mapping[str, Mapping[str, list[str]]], path: Path
) -> Iterator[tuple[Document, Predicted]]:
    """Yield the arguments of :meth:`simckp.evaluation.evaluator.Evaluator.score`.

    Raises:
        InputError: A document has no prediction, or a prediction belongs to no document.
    """
    unused = set(predictions)
    for document in documents:
        own = predictions.get(document["id"])
        if own is None:
            raise InputError(path, None, "id", f"there is no prediction for document {document['id']!r}; {_SAME}")
        unused.discard(document["id"])
        phrases = [
            PredictedPhrase(surface=phrase, key="", kind=kind, score=0.0, spans=[])
            for kind in KINDS
            for phrase in own[kind]
        ]
        yield document, Predicted(id=document["id"], phrases=phrases, truncated=False, warnings=[])
    if unused:
        raise InputError(path, None, "id", f"{min(unused)!r} is the id of no document; {_SAME}")
