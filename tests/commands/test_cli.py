"""The command: what it prints, writes, refuses and resumes, on a tiny model."""

import csv
import errno
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from typer.testing import CliRunner, Result

from simckp import cli
from simckp.commands import display
from simckp.commands.output import open_output
from simckp.data import datasets
from simckp.errors import SimCKPError
from simckp.prediction.predictor import KeyphrasePredictor
from tests.prediction.test_predictor import TEXTS, make_folder


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory, tiny_bert: Path) -> Path:
    return make_folder(tmp_path_factory.mktemp("model"), tiny_bert)


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    rows = [{"id": f"d{n}", "title": "", "abstract": text} for n, text in enumerate(TEXTS)]
    path = tmp_path / "corpus.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def call(*arguments: Any, stdin: str | None = None) -> Result:
    return CliRunner().invoke(cli.app, [str(argument) for argument in arguments], input=stdin)


def fine(*arguments: Any, stdin: str | None = None) -> str:
    done = call(*arguments, stdin=stdin)
    assert done.exit_code == 0, done.output
    return str(done.stdout)


def test_json_lines_in_a_pipe(model: Path, corpus: Path) -> None:
    rows = [json.loads(line) for line in fine("predict", corpus, "--model", model).splitlines()]
    assert [row["id"] for row in rows] == ["d0", "d1", "d2"]
    expected = KeyphrasePredictor(model)(TEXTS)
    for row, found in zip(rows, expected, strict=True):
        assert row["text"] == found.text
        assert [p["phrase"] for p in row["phrases"]] == [p["surface"] for p in found.phrases]
        for phrase in row["phrases"]:
            for span in phrase["spans"]:
                assert row["text"][span["start"] : span["end"]] == phrase["phrase"]


def test_a_model_without_memory_needs_its_beams(model: Path, corpus: Path) -> None:
    refused = call("predict", corpus, "--model", model, "--no-beams")
    assert isinstance(refused.exception, SimCKPError)
    assert "has no memory of training documents; it needs its beams" in str(refused.exception)


def test_csv_has_a_row_a_phrase(model: Path, corpus: Path, tmp_path: Path) -> None:
    fine("predict", corpus, "--model", model, "-o", tmp_path / "out.csv", "--present-only", "--top", 2)
    with (tmp_path / "out.csv").open(encoding="utf-8", newline="") as source:
        rows = list(csv.DictReader(source))
    assert [(row["id"], row["rank"]) for row in rows] == [(f"d{n}", r) for n in range(3) for r in ("1", "2")]
    assert {row["kind"] for row in rows} == {"present"}
    start, end = map(int, rows[0]["spans"].split(";")[0].split("-"))
    assert TEXTS[0][start:end] == rows[0]["phrase"]


def test_parquet_goes_on_where_it_was_killed(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus, out = tmp_path / "many.jsonl", tmp_path / "out.parquet"
    corpus.write_text("".join(json.dumps({"abstract": f"{TEXTS[0]} {n}"}) + "\n" for n in range(150)), encoding="utf-8")
    options = ("predict", corpus, "--model", model, "-o", out, "--present-only", "--batch-size", 8)
    fine(*options)
    whole = datasets.read_shard(out, name="keyphrases")
    assert [row["id"] for row in whole] == [f"many.jsonl:{n + 1}" for n in range(150)]
    out.unlink()
    calls: list[int] = []
    predict = KeyphrasePredictor.__call__

    def killed(self: Any, texts: Any, **keywords: Any) -> Any:
        calls.append(len(texts))
        if len(calls) == 2:
            raise KeyboardInterrupt
        return predict(self, texts, **keywords)

    monkeypatch.setattr(KeyphrasePredictor, "__call__", killed)
    assert call(*options).exit_code != 0
    assert not out.exists()
    refused = call(*options)
    assert "unfinished run; go on with --resume" in str(refused.exception)
    other = call(*options, "--top", 3, "--resume")
    assert "with another model or other options (changed: top)" in str(other.exception)
    thresholds = (model / "thresholds.json").read_text(encoding="utf-8")
    (model / "thresholds.json").write_text(thresholds.replace("4.0", "3.0"), encoding="utf-8")
    retrained = call(*options, "--resume")
    (model / "thresholds.json").write_text(thresholds, encoding="utf-8")
    assert "(changed: model); delete the folder to begin anew" in str(retrained.exception)
    calls[:] = [0, 0]
    fine(*options, "--resume")
    assert calls[2:] == [64, 22]  # not the first piece again
    assert datasets.read_shard(out, name="keyphrases") == whole
    assert sorted(path.name for path in tmp_path.iterdir()) == ["many.jsonl", "out.parquet"]


@pytest.fixture
def unloaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test fails if it loads a model."""

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("the model was loaded")

    monkeypatch.setattr(KeyphrasePredictor, "__init__", refuse)


@pytest.mark.usefixtures("unloaded")
@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".parquet"])
def test_an_output_that_cannot_be_written_is_known_first(
    model: Path, corpus: Path, tmp_path: Path, suffix: str
) -> None:
    folder = tmp_path / f"folder{suffix}"
    folder.mkdir()
    same = tmp_path / f"same{suffix}"
    same.hardlink_to(corpus)
    for output, message in (
        (tmp_path / "none" / f"x{suffix}", "there is no folder"),
        (folder, "is a folder; name a file in it"),
        (same, "is an input as well; name another output"),
    ):
        done = call("predict", corpus, "--model", model, "-o", output)
        assert isinstance(done.exception, SimCKPError)
        assert f"{output}: {message}" in str(done.exception)
    unknown = call("predict", corpus, "--model", model, "-o", tmp_path / f"x{suffix}", "--encoding", "utf-9")
    assert "there is no encoding 'utf-9'" in str(unknown.exception)
    missing = call("predict", corpus, "--model", tmp_path / "no-model", "-o", tmp_path / f"x{suffix}")
    assert "there is no such model folder" in str(missing.exception)
    long = tmp_path / f"{'x' * 250}{suffix}"
    assert isinstance(call("predict", corpus, "--model", model, "-o", long).exception, OSError)
    assert len(corpus.read_text(encoding="utf-8").splitlines()) == len(TEXTS)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["corpus.jsonl", f"folder{suffix}", f"same{suffix}"]


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".parquet"])
def test_a_run_that_fails_leaves_nothing_or_says_what(
    model: Path, corpus: Path, tmp_path: Path, suffix: str, caplog: pytest.LogCaptureFixture
) -> None:
    options = ("--model", model, "-o", tmp_path / f"out{suffix}", "--present-only")
    with corpus.open("a", encoding="utf-8") as sink:
        sink.write("{\n")
    assert "corpus.jsonl:4: no valid JSON" in str(call("predict", corpus, *options).exception)
    assert [path.name for path in tmp_path.iterdir()] == ["corpus.jsonl"]
    if suffix != ".parquet":
        return
    corpus.write_text('{"title": "graphs"}\n' * 70 + "{\n", encoding="utf-8")
    call("predict", corpus, *options)
    parts = tmp_path / "out.parquet.parts"
    assert caplog.messages == [f"{parts}: what is finished is kept here; --resume goes on from it"]
    (parts / "made-with.json").unlink()
    other = call("predict", corpus, *options)
    assert "holds no unfinished run, but its place is needed" in str(other.exception)


def test_an_interrupted_run_leaves_no_part_of_a_file(
    model: Path, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: Any, **__: Any) -> None:
        assert (tmp_path / ".out.jsonl.partial").exists()
        raise KeyboardInterrupt

    monkeypatch.setattr(KeyphrasePredictor, "__call__", interrupted)
    assert call("predict", corpus, "--model", model, "-o", tmp_path / "out.jsonl").exit_code != 0
    assert [path.name for path in tmp_path.iterdir()] == ["corpus.jsonl"]


def test_a_full_disk_is_one_sentence(tmp_path: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full")
    command = [sys.executable, "-m", "simckp.cli", "data", "list"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "error: No space left on device\n")


def test_an_output_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No space left on device") as caught, open_output(tmp_path / "x.jsonl"):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert caught.value.filename == tmp_path / "x.jsonl"
    assert list(tmp_path.iterdir()) == []


def test_a_table_in_colour_keeps_brackets(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = KeyphrasePredictor(model)(["the array a[red] of graphs"], kinds=["present"], top=50)
    display.show_keyphrases([("[bold]x[/].txt", found[0])])
    printed = capsys.readouterr().out
    assert "[bold]x[/].txt" in printed
    assert "graphs" in printed
    assert "occurrences" in printed


def test_standard_input_and_other_formats(model: Path) -> None:
    out = fine("predict", "-", "--model", model, "--format", "lines", "--present-only", stdin="\n".join(TEXTS))
    assert [json.loads(line)["id"] for line in out.splitlines()] == ["-:1", "-:2", "-:3"]
    mapped = fine(
        "predict",
        "-",
        "--model",
        model,
        "--format",
        "csv",
        "--field",
        "abstract=body",
        "--present-only",
        stdin="body\nsparse graphs\n",
    )
    assert json.loads(mapped)["text"] == "sparse graphs"


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["predict", "x.jsonl", "-o", "x.docx"], 2, "expected one of .jsonl, .csv, .parquet"),
        (["predict", "x.jsonl", "-o", "x.csv", "--resume"], 2, "only a Parquet output can be resumed"),
        (["predict", "x.jsonl", "--format", "pdf"], 2, "'pdf' is none of jsonl"),
        (["predict", "x.jsonl", "--field", "body"], 2, "expected id=, title=, abstract= or keyphrases= and a name"),
        (["predict", "x.jsonl", "--field", "title="], 2, "expected id=, title=, abstract= or keyphrases= and a name"),
        (["predict", "x.jsonl", "--field", "id=a", "--field", "id=b"], 2, "'id' is named twice"),
        (["predict", "x.jsonl", "--min-probability", "nan"], 2, "should be less than or equal to 1"),
        (["predict", "x.jsonl", "--min-probability", "1.5"], 2, "should be less than or equal to 1"),
        (["serve", "--timeout", "inf"], 2, "inf is not a finite number"),
        (["predict", "x" * 5000], 1, "File name too long"),
        (["predict", "nowhere.jsonl"], 1, "error: nowhere.jsonl: there is no such file or folder"),
    ],
)
def test_mistakes_have_a_sentence_and_a_code(
    arguments: list[str], code: int, message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["simckp", *arguments])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == code
    printed = " ".join(capsys.readouterr().err.replace("│", " ").split())
    assert message in printed
    assert "Traceback" not in printed


def test_inspect(corpus: Path, tmp_path: Path) -> None:
    path = tmp_path / "some.jsonl"
    lines = [
        {
            "title": "Sparse graphs",
            "abstract": "We colour graphs.",
            "keywords": ["sparse graphs", "tabu search", "- ."],
        },
        {"title": "Nothing", "abstract": "to learn", "keywords": None},
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    found = json.loads(fine("data", "inspect", path, "--json"))
    assert (found["statistics"]["documents"], found["statistics"]["keyphrases_mean"]) == (1, 2.0)
    assert found["statistics"]["absent_percent"] == 50.0
    assert found["dropped"] == {"keyphrase: no_letter_or_digit": 1, "document: no_gold": 1}
    with path.open("a", encoding="utf-8") as sink:
        sink.write("{\n")
    done = call("data", "inspect", path)
    assert done.exit_code == 1
    assert "some.jsonl:3: no valid JSON" in done.stdout
    assert "document no_gold" in done.stdout


def test_the_command_as_a_process(model: Path, corpus: Path) -> None:
    with corpus.open("a", encoding="utf-8") as sink:
        sink.write('{"abstract": "\u6f22\u5b57 \u2192 graphs"}\n')
    command = [sys.executable, "-m", "simckp.cli", "predict", str(corpus), "--model", str(model), "--present-only"]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONIOENCODING": "cp1252"}
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=True, env=environment)
    assert len(done.stdout.splitlines()) == 4
    assert json.loads(done.stdout.splitlines()[3])["text"] == "\u6f22\u5b57 \u2192 graphs"
    assert done.stderr == ""  # no bar and no library's chatter in a pipe


def test_evaluate_scores_any_system(tmp_path: Path) -> None:
    gold, theirs = tmp_path / "gold.jsonl", tmp_path / "theirs.jsonl"
    document = {
        "id": "a",
        "title": "Caching",
        "abstract": "A cache policy for web caches.",
        "keywords": ["cache policy"],
    }
    gold.write_text(json.dumps(document) + "\n", encoding="utf-8")
    predicted = ["cache policy", "Cache Policies", "cache  policy", "web cache"]
    theirs.write_text(json.dumps({"id": "a", "keyphrases": predicted}) + "\n", encoding="utf-8")
    found = json.loads(fine("evaluate", gold, theirs, "--profile", "simckp", "--json"))
    present = found["simckp"]["present"]
    assert (present["P@M"], present["R@M"], present["F1@M"]) == (0.5, 1.0, pytest.approx(2 / 3, abs=1e-6))
    assert "R@50" not in found["simckp"]["absent"]
    printed = fine("evaluate", gold, theirs)
    for name in ("simckp", "chan19", "kpg", "kpg_hard"):
        assert name in printed
    assert call("evaluate", gold, theirs, "--profile", "mine").exit_code == 2


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".parquet"])
def test_what_predict_writes_is_what_evaluate_reads(model: Path, tmp_path: Path, suffix: str) -> None:
    gold, out = tmp_path / "gold.jsonl", tmp_path / f"out{suffix}"
    rows = [{"abstract": text, "keyphrases": ["tabu search"]} for text in TEXTS]  # without ids
    gold.write_text("".join(json.dumps(row) + "\n" for row in [*rows, {"abstract": ""}]), encoding="utf-8")
    fine("predict", gold, "--model", model, "-o", out)
    found = json.loads(fine("evaluate", gold, out, "--profile", "simckp", "--json"))
    assert found["simckp"]["set"]["documents"] == 4
    assert found["simckp"]["present"]["R@M"] > 0


def test_two_documents_of_one_id_are_not_predicted(model: Path, tmp_path: Path) -> None:
    path = tmp_path / "twice.jsonl"
    path.write_text(
        '{"id": "a", "title": "x"}\n{"id": "b", "title": "x"}\n{"id": "a", "title": "y"}\n', encoding="utf-8"
    )
    done = call("predict", path, "--model", model, "--present-only")
    assert "twice.jsonl:3:id: 'a' is the id of" in str(done.exception)


BIBTEX = r"""@article{boe2020,
  title = {Tabu search of {Sparse} graphs},
  abstract = {We study the colouring of sparse graphs in {\"O}rebro.},
  keywords = {tabu search, sparse graphs}
}
@misc{title-only, Title = "Nothing"}
"""
RIS = "TY  - JOUR\nID  - r1\nTI  - Tabu search\nAB  - We study sparse graphs.\nKW  - graphs\nKW  - tabu\nER  - \n"


def test_references_of_bibtex_and_ris(model: Path, tmp_path: Path) -> None:
    (tmp_path / "x.bib").write_text(BIBTEX, encoding="utf-8")
    (tmp_path / "x.ris").write_text(RIS, encoding="utf-8")
    options = ("--model", model, "--present-only")
    found = {p: fine("predict", tmp_path / p, *options).splitlines() for p in ("x.bib", "x.ris")}
    assert [json.loads(line)["id"] for line in found["x.bib"]] == ["boe2020", "title-only"]
    first = json.loads(found["x.bib"][0])
    assert first["text"] == "Tabu search of Sparse graphs. We study the colouring of sparse graphs in Örebro."
    assert first["phrases"]
    assert [json.loads(line)["id"] for line in found["x.ris"]] == ["r1"]
    assert fine("predict", "-", "--format", "bibtex", *options, stdin=BIBTEX).splitlines() == found["x.bib"]
    inspected = json.loads(fine("data", "inspect", tmp_path / "x.bib", "--json"))
    assert inspected["statistics"]["documents"] == 1  # in training, a document without keyphrases is dropped
    assert inspected["dropped"] == {"document: no_gold": 1} and inspected["problems"] == []
    (tmp_path / "x.bib").write_text(BIBTEX.replace("},\n  keywords", "}\n  keywords"), encoding="utf-8")
    for command in (("predict", tmp_path / "x.bib", *options), ("data", "inspect", tmp_path / "x.bib")):
        done = call(*command)
        assert done.exit_code == 1
        assert "x.bib:1:abstract: the value goes on with 'keywords" in done.stdout + str(done.exception)
    no_text = "@misc{a, note = {n}}"
    assert "expected the fields 'title' and 'abstract'" in str(
        call("predict", "-", "--format", "bibtex", *options, stdin=no_text).exception
    )


def test_explain(model: Path, tmp_path: Path) -> None:
    path = tmp_path / "doc.txt"
    path.write_text("We study the tabu search of sparse graphs.", encoding="utf-8")
    printed = fine("explain", path, "--model", model)
    assert "present: " in printed
    assert "tabu search" in printed
    asked = fine("explain", path, "--model", model, "-p", "tabu search", "-p", "of sparse", "-p", "deep learning")
    assert "tabu/" in asked
    assert ": candidate" in asked
    assert "'of' (IN) may not start a phrase" in asked
    assert "no present candidate" in asked
    assert "does not stand in the text" in asked
    two = call("explain", path, "--model", model, "--format", "lines")
    assert "only the first" not in two.stderr
    path.write_text("We study tabu search.\nWe study graphs.", encoding="utf-8")
    assert (
        "only the first of its documents is explained"
        in call("explain", path, "--model", model, "--format", "lines").stderr
    )


def loaded(*arguments: Any) -> set[str]:
    """Run the command in a process of its own and return the modules that it loaded."""
    code = (
        "import sys\n"
        "from simckp.cli import app\n"
        "try: app()\n"
        "except SystemExit as end: assert not end.code, end.code\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    command = [sys.executable, "-c", code, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, "TERM": "dumb"})
    return set(done.stderr.splitlines()[-1].split())


def test_help_loads_little() -> None:
    modules = loaded("--help")
    assert len(modules) < 600  # 542; torch alone has 1,500
    assert not modules & {"torch", "transformers", "spacy", "nltk", "scipy", "sklearn", "pandas", "matplotlib"}
    assert not modules & {"bibtexparser", "pylatexenc", "huggingface_hub"}


def test_present_keyphrases_need_no_generation(model: Path, corpus: Path) -> None:
    modules = loaded("predict", corpus, "--model", model, "--present-only")
    ours = {name for name in modules if name.startswith("simckp.")}
    assert {"simckp.extraction.extractor", "simckp.candidates.mining"} <= ours
    assert not {name for name in ours if name.startswith(("simckp.generation", "simckp.reranking"))}
    assert not {name for name in ours if name.endswith(("training", "trainer"))}
    unused = {"nltk", "sklearn", "pandas", "matplotlib", "dvc", "fastapi", "bibtexparser", "pylatexenc"}
    assert modules & unused == set()
    assert len(modules) < 4600


def test_a_predictor_of_present_keyphrases_has_no_others(model: Path) -> None:
    predictor = KeyphrasePredictor.from_pretrained(model, kinds=["present"])
    both = KeyphrasePredictor(model)
    assert predictor(TEXTS) == both(TEXTS, kinds=["present"])
    with pytest.raises(SimCKPError, match="kinds of what was loaded: present"):
        predictor(TEXTS, kinds=["absent"])
    with pytest.raises(SimCKPError, match="kinds of what was loaded: present"):
        predictor.score([], kinds=["absent"])
    with pytest.raises(SimCKPError, match="expected some of"):
        KeyphrasePredictor(model, kinds=["both"])  # type: ignore[list-item]


def test_a_collection_is_summarised(model: Path, tmp_path: Path) -> None:
    corpus = tmp_path / "papers.csv"
    years = [*[("", TEXTS[0])] * 2, *[("2019", TEXTS[1])] * 2, *[("2020", TEXTS[2])] * 2]
    rows = [f'{n},{year},On graphs,"{text}"' for n, (year, text) in enumerate(years)]
    corpus.write_text("\n".join(["id,year,title,abstract", *rows]) + "\n", encoding="utf-8")
    options = ("--model", model, "--min-probability", 0.3)
    shown = fine("summarize", corpus, *options, "--by", "year")
    assert "6 documents: most frequent keyphrases" in shown and "what sets each year apart" in shown
    assert "graphs" in shown and "unknown" in shown and "together" in shown
    fine("summarize", corpus, *options, "-o", tmp_path / "out.csv", "--most", 5)
    table = pd.read_csv(tmp_path / "out.csv")
    assert list(table.columns)[:4] == ["phrase", "documents", "share", "score"] and len(table) == 5
    assert table["documents"].max() == 6
    fine("summarize", corpus, *options, "--by", "year", "-o", tmp_path / "out.html")
    assert "<h1>papers.csv</h1>" in (tmp_path / "out.html").read_text(encoding="utf-8")
    refused = call("summarize", corpus, *options, "--by", "journal")
    assert "no document has this field; the fields are abstract, id, title, year" in str(refused.exception)
    assert "expected one of .html, .csv" in call("summarize", corpus, "-o", tmp_path / "out.pdf").stderr


def test_a_vocabulary_of_ones_own(model: Path, tmp_path: Path) -> None:
    note, terms, stop = (tmp_path / name for name in ("note.txt", "terms.csv", "stop.txt"))
    note.write_text(TEXTS[0], encoding="utf-8")
    options = ("predict", note, "--model", model, "--top", 50, "--present-only")
    before = json.loads(fine(*options))["phrases"]
    first, second = before[0]["phrase"], before[1]["phrase"]
    terms.write_text(f'label,synonyms\nMy Label,"{first.upper()}"\n', encoding="utf-8")
    stop.write_text(f"{second}\n", encoding="utf-8")
    named = [row["phrase"] for row in json.loads(fine(*options, "--vocabulary", terms, "--stop", stop))["phrases"]]
    assert named[0] == "My Label" and not {first, second} & set(named)
    (only,) = json.loads(fine(*options, "--vocabulary", terms, "--only-vocabulary"))["phrases"]
    assert (only["phrase"], only["variants"], only["spans"]) == ("My Label", [first], before[0]["spans"])
    assert "no vocabulary is given" in str(call(*options, "--only-vocabulary").exception)
