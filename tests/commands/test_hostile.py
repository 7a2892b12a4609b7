"""Hostile calls of the command: a result for every document, or one sentence; inputs stay as they were."""

import csv
import io
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from typer.testing import CliRunner

from simckp import cli
from simckp.documents.readers import Reading, read_documents
from simckp.errors import SimCKPError
from tests.hostile import FILES, READABLE, tried
from tests.prediction.test_predictor import make_folder

NUMBER = st.sampled_from(["0", "1", "3", "-1", "1.5", "nan", "inf", "1e400", "", "three", "٣"])
SHORT = st.text(st.characters(exclude_categories=["C"]), max_size=20)
GOOD = st.lists(READABLE, min_size=1, max_size=4).map(lambda rows: ("x.json", json.dumps(rows).encode()))
OPTIONS = st.lists(
    st.sampled_from([("--present-only",), ("--resume",), ("--no-such-option",)])
    | st.tuples(st.sampled_from(["--top", "--min-probability", "--batch-size", "--resamples", "--most"]), NUMBER)
    | st.tuples(st.just("--format"), st.sampled_from(["jsonl", "csv", "txt", "pdf", ""]))
    | st.tuples(st.just("--encoding"), st.sampled_from(["utf-8", "latin-1", "utf-16", "no-such", "rot13", ""]))
    | st.tuples(st.just("--field"), st.sampled_from(["title=id", "abstract=keywords", "title=", "=", "x=y"]) | SHORT)
    | st.tuples(st.sampled_from(["--profile", "--phrase"]), st.sampled_from(["simckp", "graph"]) | SHORT)
    | st.tuples(st.just("-o"), st.sampled_from(["out.jsonl", "out.csv", "out.parquet", "out.pdf", "no/out.csv", "."])),
    max_size=3,
)
COMMAND = st.sampled_from(["predict"] * 5 + ["evaluate", "explain", "provenance", "data inspect", "no-such-command"])


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory, tiny_bert: Path) -> Path:
    return make_folder(tmp_path_factory.mktemp("model"), tiny_bert)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@tried(60)
@given(command=COMMAND, file=FILES | GOOD, options=st.just([]) | OPTIONS)
def test_hostile_commands(
    tmp_path_factory: pytest.TempPathFactory,
    model: Path,
    command: str,
    file: tuple[str, bytes],
    options: list[tuple[str, ...]],
) -> None:
    name, content = file
    folder = tmp_path_factory.mktemp("hostile")
    path = folder / name
    path.write_bytes(content)
    words = [*command.split(), str(path)]
    if command == "evaluate":
        words.append(str(path))
    if command in ("predict", "explain"):
        words += ["--model", str(model)]
    if command == "predict":  # absent keyphrases take a second each
        words.append("--present-only")
    outputs = [folder / option[1] for option in options if option[0] == "-o"]
    for option in options:
        words += [option[0], str(folder / option[1])] if option[0] == "-o" else option
    done = CliRunner().invoke(cli.app, words)
    expected = (SystemExit, SimCKPError, OSError)
    assert done.exception is None or isinstance(done.exception, expected), (words, done.exception)
    assert path.read_bytes() == content
    assert not list(folder.glob(".*")), "an unfinished output stayed"
    if done.exit_code != 0:
        event(f"{command}: refused")
        assert str(done.exception).strip() and (done.output.strip() or not isinstance(done.exception, SystemExit))
        assert not any(output.is_file() for output in outputs) or "--resume" in words
        return
    event(f"{command}: done")
    if command == "predict":
        chosen = dict(option for option in options if len(option) == 2 and option[0] in ("--format", "--encoding"))
        reading = Reading(format=chosen.get("--format"), fields={}, encoding=chosen.get("--encoding", "utf-8"))
        count = None if "--field" in words else len(list(read_documents([path], reading)))
        found = _rows(outputs[-1]) if outputs else done.stdout.count("\n")
        assert count is None or found == count


def _rows(output: Path) -> int:
    if output.suffix == ".parquet":
        return pq.read_metadata(output).num_rows
    text = output.read_text(encoding="utf-8")
    if output.suffix == ".csv":
        return len({row["id"] for row in csv.DictReader(io.StringIO(text, newline=""))})
    return len([json.loads(line) for line in text.split("\n")[:-1]])
