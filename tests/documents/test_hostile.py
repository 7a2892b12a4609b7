"""Hostile files over the whole path: read or refused by name, every row accounted for, no traceback."""

import gzip
import json
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from typer.testing import CliRunner

from simckp import cli
from simckp.documents.cleaning import Cleaner, is_document
from simckp.documents.readers import RawDocument, Reading, read_documents
from simckp.errors import InputError
from simckp.prediction.predictor import KeyphrasePredictor
from tests.hostile import FILES, tried
from tests.prediction.test_predictor import make_folder


@pytest.fixture(scope="module")
def predictor(tmp_path_factory: pytest.TempPathFactory, tiny_bert: Path) -> KeyphrasePredictor:
    return KeyphrasePredictor(make_folder(tmp_path_factory.mktemp("model"), tiny_bert))


@pytest.mark.slow
@pytest.mark.timeout(1800)
@tried(150)
@given(file=FILES, packed=st.sampled_from(["", "", "", ".gz", ".zst"]), cut=st.booleans())
def test_hostile_files(
    tmp_path_factory: pytest.TempPathFactory,
    predictor: KeyphrasePredictor,
    file: tuple[str, bytes],
    packed: str,
    cut: bool,
) -> None:
    name, content = file
    if packed and not name.endswith(".parquet"):
        name += packed
        content = gzip.compress(content) if packed == ".gz" else pa.compress(content, codec="zstd", asbytes=True)
        content = content[: len(content) // 2] if cut else content
    path = tmp_path_factory.mktemp("hostile") / name
    path.write_bytes(content)
    raws: list[RawDocument] = []
    try:
        raws = list(read_documents([path], Reading(format=None, fields={}, encoding="utf-8")))
        event("read")
    except InputError as error:
        assert str(error).startswith(str(path))
        event("refused")
    kept = -1
    try:
        rows = list(Cleaner("hostile", filtered=True).clean(raws))
    except InputError as error:
        assert str(error).startswith(str(path)) and "is the id of" in str(error)
        event("one id twice")
    else:
        kept = sum(map(is_document, rows))
        assert kept + sum(not is_document(row) and row["what"] == "document" for row in rows) == len(raws)
    records = [{"title": raw.title, "abstract": raw.abstract} for raw in raws]
    found = predictor(records, kinds=["present"])
    assert len(found) == len(raws)
    for keyphrases in found:
        assert keyphrases.phrases or keyphrases.warnings
        for phrase in keyphrases.phrases:
            for span in phrase["spans"]:
                assert 0 <= span["start"] < span["end"] <= len(keyphrases.text)
    done = CliRunner().invoke(cli.app, ["data", "inspect", str(path), "--json"])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    if done.exit_code == 0:
        assert json.loads(done.stdout)["statistics"]["documents"] == kept
