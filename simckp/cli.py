"""The command line ``simckp``."""

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import tee
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.console import Console
from rich.table import Table

from simckp.commands import data
from simckp.commands.display import provenance_tree, show_keyphrases
from simckp.commands.options import (
    DocumentsPath,
    Encoding,
    Fields,
    Format,
    Model,
    OnlyVocabulary,
    Stop,
    Vocabulary,
    finite,
    given_documents,
)
from simckp.commands.output import check_output, discard_output, open_output, write_utf8
from simckp.data.records import KINDS, Kind
from simckp.documents.readers import RawDocument, corpus_files, identified, identifier
from simckp.errors import SimCKPError
from simckp.evaluation.evaluator import Evaluator
from simckp.evaluation.external import gold_documents, paired_with_gold, read_predictions
from simckp.evaluation.profiles import PROFILES
from simckp.language import ENGLISH, NAMES, speaking
from simckp.prediction import DEFAULT_MODEL
from simckp.runtime.provenance import trace
from simckp.runtime.quiet import quiet_transformers
from simckp.runtime.threads import wait_politely

app = typer.Typer(add_completion=False, no_args_is_help=True, help="Predict keyphrases of documents.")
app.add_typer(data.app, name="data")

_LOCAL = "127.0.0.1"
_FORMATS_OUT = (".jsonl", ".csv", ".parquet")
_SUMMARIES = (".html", ".csv")
_NEVER_WRAPPED = 10_000
_EVALUATED, _CONFIDENCE = "evaluated", 0.95


@app.command()
def predict(
    source: DocumentsPath,
    model: Model = DEFAULT_MODEL,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help=f"Output file: {', '.join(_FORMATS_OUT)}.")
    ] = None,
    format: Format = None,  # noqa: A002
    field: Fields = None,
    encoding: Encoding = "utf-8",
    top: Annotated[int | None, typer.Option(min=0, help="The best so many of both kinds together.")] = None,
    min_probability: Annotated[
        float | None, typer.Option(min=0, max=1, help="All that are at least so probable.")
    ] = None,
    present_only: Annotated[bool, typer.Option(help="Predict no absent keyphrases; much faster.")] = False,
    no_beams: Annotated[
        bool, typer.Option("--no-beams", help="Absent keyphrases from the memory of training documents alone; faster.")
    ] = False,
    vocabulary: Vocabulary = None,
    only_vocabulary: OnlyVocabulary = False,
    stop: Stop = None,
    batch_size: Annotated[int, typer.Option(min=1, help="Documents per batch.")] = 16,
    resume: Annotated[bool, typer.Option(help="Resume an unfinished Parquet output.")] = False,
) -> None:
    """Predict the keyphrases of documents: as a table on a terminal, as JSON lines in a pipe, or into a file."""
    from simckp.prediction.model_folder import model_language
    from simckp.prediction.model_source import find_model, fingerprint
    from simckp.prediction.outputs import write_csv, write_jsonl, write_parquet
    from simckp.prediction.predictor import KeyphrasePredictor
    from simckp.prediction.terms import Terms

    if output is not None and output.suffix not in _FORMATS_OUT:
        raise typer.BadParameter(f"{output}: expected one of {', '.join(_FORMATS_OUT)}", param_hint="--output")
    if resume and (output is None or output.suffix != ".parquet"):
        raise typer.BadParameter("only a Parquet output can be resumed", param_hint="--resume")
    raws = identified(given_documents(source, format, field, encoding))
    check_output(output, corpus_files(source, chosen=format))
    folder = find_model(model)
    kinds: Sequence[Kind] = ("present",) if present_only else KINDS
    terms = Terms.of_files(vocabulary, only=only_vocabulary, stop=stop, language=model_language(folder))
    wish: dict[str, Any] = {"top": top, "min_probability": min_probability, "kinds": kinds}
    options = {**wish, "terms": terms}
    quiet_transformers()

    # The model is loaded when the output is open, so that no time is lost on one that cannot be written.
    @cache
    def predictor() -> KeyphrasePredictor:
        return KeyphrasePredictor(folder, kinds=kinds, beams=not no_beams)

    def records(batch: Iterable[RawDocument]) -> Iterator[dict[str, str]]:
        return ({"title": raw.title, "abstract": raw.abstract} for raw in batch)

    if output is not None and output.suffix == ".parquet":
        write_parquet(
            raws,
            lambda batch: predictor()(list(records(batch)), batch_size=batch_size, **options),
            output,
            piece_rows=max(batch_size, 64),
            made_with={"model": fingerprint(folder), **wish, "beams": not no_beams, "terms": terms.fingerprint()},
            resume=resume,
        )
        return
    names, texts = tee(raws)
    with open_output(output) as sink:
        predicted = zip(
            map(identifier, names), predictor()(records(texts), batch_size=batch_size, **options), strict=True
        )
        if output is None and sys.stdout.isatty():
            show_keyphrases(predicted)
        else:
            (write_csv if output is not None and output.suffix == ".csv" else write_jsonl)(predicted, sink)


@app.command()
def evaluate(
    gold: Annotated[Path, typer.Argument(help="Documents with gold keyphrases.")],
    predictions: Annotated[
        Path, typer.Argument(help="One record per document: id, and present and absent or one list.")
    ],
    profile: Annotated[list[str] | None, typer.Option(help=f"One of {', '.join(PROFILES)}; default: all.")] = None,
    format: Format = None,  # noqa: A002
    field: Fields = None,
    encoding: Encoding = "utf-8",
    language: Annotated[str, typer.Option(help=f"Of the documents: {', '.join(NAMES)}.")] = ENGLISH,
    resamples: Annotated[int, typer.Option(min=100, help="Number of bootstrap resamples.")] = 1000,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Score the predictions of any system as the published scripts do, with 95 % confidence intervals."""
    from simckp.evaluation.tables import FIGURES, with_interval

    if unknown := [name for name in profile or [] if name not in PROFILES]:
        raise typer.BadParameter(f"{unknown[0]!r} is none of {', '.join(PROFILES)}", param_hint="--profile")
    if language not in NAMES:
        raise typer.BadParameter(f"{language!r} is none of {', '.join(NAMES)}", param_hint="--language")
    names = profile or list(PROFILES)
    with speaking(language):
        documents = gold_documents(given_documents(gold, format, field, encoding))
        evaluator = Evaluator(_EVALUATED, 0, names)
        for _ in evaluator.score(paired_with_gold(documents, read_predictions(predictions), predictions)):
            pass
    by_profile = {name: evaluator.metrics(name, resamples=resamples, confidence=_CONFIDENCE) for name in names}
    if as_json:
        typer.echo(json.dumps(by_profile, indent=1))
        return
    table = Table(title=f"{evaluator.documents} documents", title_justify="left")
    for column in ("profile", "kind", "with gold", "F1@5", "F1@M"):
        table.add_column(column, justify="left" if column in ("profile", "kind") else "right")
    for name, metrics in by_profile.items():
        for kind in KINDS:
            values = metrics[kind]
            cells = [with_interval(values, label) for label in FIGURES]
            table.add_row(name, kind, str(values["documents_with_gold"]), *cells)
    Console().print(table)


@app.command()
def explain(
    source: DocumentsPath,
    phrase: Annotated[list[str] | None, typer.Option("--phrase", "-p", help="Phrase to explain.")] = None,
    model: Model = DEFAULT_MODEL,
    format: Format = None,  # noqa: A002
    field: Fields = None,
    encoding: Encoding = "utf-8",
    most: Annotated[int, typer.Option(min=1, help="Maximum number of candidates shown per kind.")] = 20,
) -> None:
    """Explain why a phrase of one document was or was not predicted: words, tags, rule, score, threshold."""
    from simckp.prediction.explain import explain_document
    from simckp.prediction.predictor import KeyphrasePredictor

    quiet_transformers()
    raws = given_documents(source, format, field, encoding)
    raw = next(raws, None)
    if raw is None:
        raise SimCKPError(f"{source}: there is no document in it")
    if next(raws, None) is not None:
        typer.echo(f"{source}: only the first of its documents is explained", err=True)
    predictor = KeyphrasePredictor.from_pretrained(model)
    record = {"title": raw.title, "abstract": raw.abstract}
    for line in explain_document(predictor, record, phrases=phrase or [], most=most):
        typer.echo(line)


@app.command()
def summarize(
    source: DocumentsPath,
    by: Annotated[str | None, typer.Option(help="Field of the files that divides the documents: year.")] = None,
    model: Model = DEFAULT_MODEL,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help=f"Output file: {', '.join(_SUMMARIES)}.")
    ] = None,
    format: Format = None,  # noqa: A002
    field: Fields = None,
    encoding: Encoding = "utf-8",
    most: Annotated[int, typer.Option(min=1, help="Number of keyphrases and pairs shown.")] = 30,
    min_probability: Annotated[
        float | None, typer.Option(min=0, max=1, help="Count all that are at least so probable.")
    ] = None,
    with_absent: Annotated[bool, typer.Option(help="Count absent keyphrases too; much slower.")] = False,
    vocabulary: Vocabulary = None,
    only_vocabulary: OnlyVocabulary = False,
    stop: Stop = None,
    batch_size: Annotated[int, typer.Option(min=1, help="Documents per batch.")] = 16,
) -> None:
    """Say what a collection is about: frequent keyphrases, those that set groups apart, and pairs."""
    from simckp.commands.summary import summary_of, write_summary
    from simckp.prediction.model_folder import model_language
    from simckp.prediction.model_source import find_model
    from simckp.prediction.terms import Terms

    if output is not None and output.suffix not in _SUMMARIES:
        raise typer.BadParameter(f"{output}: expected one of {', '.join(_SUMMARIES)}", param_hint="--output")
    raws = identified(given_documents(source, format, field, encoding))
    check_output(output, corpus_files(source, chosen=format))
    quiet_transformers()
    kinds: Sequence[Kind] = KINDS if with_absent else ("present",)
    folder = find_model(model)
    terms = Terms.of_files(vocabulary, only=only_vocabulary, stop=stop, language=model_language(folder))
    options: dict[str, Any] = {"min_probability": min_probability, "batch_size": batch_size, "terms": terms}
    summary = summary_of(raws, model=folder, by=by, kinds=kinds, most=most, **options)
    write_summary(summary, output, title=source.name if source.name != "-" else "Documents", by=by)


@app.command()
def export(
    folder: Annotated[Path, typer.Argument(help="Model folder to write.")],
    onnx: Annotated[
        bool, typer.Option("--onnx", help="For ONNX Runtime: no torch, no transformers, no decoder.")
    ] = False,
    model: Model = DEFAULT_MODEL,
    precision: Annotated[Literal["float32", "int8"], typer.Option(help="Of the weights.")] = "float32",
) -> None:
    """Write a model for machines that only predict: on ONNX Runtime, absent keyphrases from the memory alone."""
    from simckp.prediction.export import export_onnx
    from simckp.prediction.model_source import find_model

    if not onnx:
        raise typer.BadParameter("say what the model is for: --onnx", param_hint="FOLDER")
    export_onnx(find_model(model), folder, precision=precision)


@app.command()
def provenance(
    path: Annotated[Path, typer.Argument(help="A file or folder that a stage made, or a model folder.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Trace a result back to the raw files: stages, commits, parameters, packages, hardware, inputs."""
    traced = trace(path)
    if as_json:
        typer.echo(json.dumps(traced, indent=1))
    else:
        wide = None if sys.stdout.isatty() else _NEVER_WRAPPED
        Console(width=wide).print(provenance_tree(traced))


@app.command()
def serve(
    model: Model = DEFAULT_MODEL,
    host: Annotated[str, typer.Option(help="Any other address opens the service to other machines.")] = _LOCAL,
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free port.")] = 8000,
    max_bytes: Annotated[int, typer.Option(min=1, help="Maximum size of a request body in bytes.")] = 1_000_000,
    timeout: Annotated[
        float, typer.Option(min=0.001, callback=finite, help="Maximum seconds from request to answer.")
    ] = 60.0,
    max_waiting: Annotated[int, typer.Option(min=1, help="Maximum number of waiting requests; more get 429.")] = 64,
    max_batch: Annotated[int, typer.Option(min=1, help="Maximum number of requests per batch.")] = 8,
    vocabulary: Vocabulary = None,
    only_vocabulary: OnlyVocabulary = False,
    stop: Stop = None,
) -> None:
    """Serve keyphrases over HTTP, with a page to try it: /, /predict, /health, /metrics, /openapi.json."""
    try:
        import uvicorn

        from simckp.service.app import Limits, create_app
    except ImportError as error:
        raise SimCKPError(f"the service needs pip install 'simckp[serve]' ({error})") from error
    from simckp.prediction.predictor import KeyphrasePredictor
    from simckp.prediction.terms import Terms

    quiet_transformers()
    limits = Limits(body_bytes=max_bytes, seconds=timeout, waiting=max_waiting, batch=max_batch)
    predictor = KeyphrasePredictor.from_pretrained(model)
    terms = Terms.of_files(vocabulary, only=only_vocabulary, stop=stop, language=predictor.language)
    app = create_app(predictor, model=model, limits=limits, terms=terms)
    uvicorn.run(app, host=host, port=port)


def main() -> None:
    """Run the command line; a user error gives one sentence and exit code 1, wrong arguments give exit code 2."""
    wait_politely()
    write_utf8()
    try:
        try:
            app()
        finally:
            sys.stdout.flush()
    except SimCKPError as error:
        typer.echo(f"error: {error}", err=True)
    except BrokenPipeError:
        discard_output()
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        typer.echo(f"error: {place}{error.strerror or error}", err=True)
        discard_output()
    sys.exit(1)


if __name__ == "__main__":
    main()
