"""Write predictions as JSON lines, as CSV, or as Parquet that can be resumed."""

import csv
import hashlib
import json
import logging
import shutil
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import IO, Any

import pyarrow.parquet as pq

from simckp.data import datasets
from simckp.data.files import write_json
from simckp.data.records import ShownKeyphrases, schema
from simckp.documents.readers import RawDocument, identifier
from simckp.errors import SimCKPError
from simckp.prediction.predictor import Keyphrases

NamedKeyphrases = tuple[str, Keyphrases]
_LOG = logging.getLogger(__name__)
_PARTS, _MADE_WITH = ".parts", "made-with.json"
_CSV_COLUMNS = ("id", "rank", "kind", "phrase", "score", "similarity", "spans", "variants")


def write_jsonl(predicted: Iterable[NamedKeyphrases], sink: IO[str]) -> None:
    """Write one object per document: id, text (the spans refer to it), phrases, truncated, warnings."""
    for name, keyphrases in predicted:
        row = {
            "id": name,
            "text": keyphrases.text,
            "phrases": [
                {
                    "phrase": phrase["surface"],
                    "kind": phrase["kind"],
                    "score": round(phrase["score"], 6),
                    "similarity": round(phrase["similarity"], 6),
                    "spans": phrase["spans"],
                    "variants": phrase["variants"],
                }
                for phrase in keyphrases.phrases
            ],
            "truncated": keyphrases.truncated,
            "warnings": keyphrases.warnings,
        }
        sink.write(json.dumps(row, ensure_ascii=False) + "\n")
        sink.flush()


def write_csv(predicted: Iterable[NamedKeyphrases], sink: IO[str]) -> None:
    """Write one row per keyphrase; spans are ``start-end``, separated by ``;`` as are the variants.

    A document without keyphrases has one row with rank 0.
    """
    writer = csv.writer(sink)
    writer.writerow(_CSV_COLUMNS)
    for name, keyphrases in predicted:
        for rank, phrase in enumerate(keyphrases.phrases, start=1):
            spans = ";".join(f"{span['start']}-{span['end']}" for span in phrase["spans"])
            numbers = (f"{phrase[column]:.6f}" for column in ("score", "similarity"))
            writer.writerow(
                [name, rank, phrase["kind"], phrase["surface"], *numbers, spans, ";".join(phrase["variants"])]
            )
        if not keyphrases.phrases:
            writer.writerow([name, 0, *[""] * (len(_CSV_COLUMNS) - 2)])
        sink.flush()


def write_parquet(
    raws: Iterable[RawDocument],
    predict: Callable[[list[RawDocument]], Iterable[Keyphrases]],
    target: Path,
    *,
    piece_rows: int,
    made_with: dict[str, Any],
    resume: bool,
) -> int:
    """Write the ``keyphrases`` data set as one file.

    Finished pieces are kept in a folder next to the file until it is complete, so that a run can be resumed. If there
    are some when the run fails, the log says where they are.

    Args:
        raws: The documents.
        predict: Predicts the keyphrases of a list of documents.
        target: The file.
        piece_rows: Number of documents per piece.
        made_with: Settings that the result depends on, the model's fingerprint among them; pieces made with other
            settings are refused.
        resume: Whether existing pieces are used.

    Returns:
        The number of documents.

    Raises:
        SimCKPError: There are pieces made with other settings, or there are pieces and ``resume`` is false.
    """
    parts = target.with_name(target.name + _PARTS)
    _claim(parts, made_with, resume=resume)
    try:
        pieces = list(_finished_pieces(raws, predict, parts, piece_rows))
        count = _join(pieces, target)
    except BaseException:
        if any(parts.glob("piece-*.parquet")):
            _LOG.warning("%s: what is finished is kept here; --resume goes on from it", parts)
        else:
            shutil.rmtree(parts)
        raise
    shutil.rmtree(parts)
    return count


def _finished_pieces(
    raws: Iterable[RawDocument],
    predict: Callable[[list[RawDocument]], Iterable[Keyphrases]],
    parts: Path,
    piece_rows: int,
) -> Iterator[Path]:
    """Yield the files of the pieces in order; those that are not there yet are predicted and written."""
    waiting = iter(raws)
    for number, batch in enumerate(iter(lambda: list(islice(waiting, piece_rows)), [])):
        piece = parts / f"piece-{number:06d}-{_digest(batch)}.parquet"
        if not datasets.is_whole(piece, name="keyphrases"):
            rows = [
                ShownKeyphrases(id=identifier(raw), phrases=k.phrases, truncated=k.truncated, warnings=k.warnings)
                for raw, k in zip(batch, predict(batch), strict=True)
            ]
            datasets.write_shard(piece, rows, name="keyphrases")
        yield piece


def _join(pieces: Iterable[Path], target: Path) -> int:
    partial = target.with_name(f".{target.name}.partial")
    count = 0
    try:
        with pq.ParquetWriter(partial, schema("keyphrases"), compression="zstd", write_page_checksum=True) as writer:
            for piece in pieces:
                table = pq.read_table(piece)
                writer.write_table(table)
                count += table.num_rows
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
    return count


def _claim(parts: Path, made_with: dict[str, Any], *, resume: bool) -> None:
    note = parts / _MADE_WITH
    if parts.exists() and any(parts.iterdir()):
        if not note.is_file():
            raise SimCKPError(f"{parts}: holds no unfinished run, but its place is needed; move or delete it")
        if not resume:
            raise SimCKPError(f"{parts}: an unfinished run; go on with --resume, or delete the folder")
        before, now = (json.loads(text) for text in (note.read_text(encoding="utf-8"), json.dumps(made_with)))
        if changed := [name for name in now if name not in before or before[name] != now[name]]:
            message = f"an unfinished run with another model or other options (changed: {', '.join(changed)})"
            raise SimCKPError(f"{parts}: {message}; delete the folder to begin anew")
    write_json(note, made_with)


def _digest(batch: list[RawDocument]) -> str:
    digest = hashlib.sha256()
    for raw in batch:
        digest.update(repr((identifier(raw), raw.title, raw.abstract)).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()[:16]
