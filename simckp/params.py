"""Typed parameters: one class a section of ``params.yaml``, read and checked in one place.

No key has a default here: what is not written in ``params.yaml`` is an error, so that every result can be traced to
parameters that stand in a file.
"""

import difflib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from simckp.errors import ParameterError
from simckp.language import LanguageCode

Positive = Annotated[int, Field(ge=1)]
Fraction = Annotated[float, Field(ge=0.0, le=1.0)]
PositiveReal = Annotated[float, Field(gt=0.0)]
LearningRate = Annotated[float, Field(gt=0.0, le=1.0)]
Reduction = Literal["mean", "sum"]
TextPooling = Literal["first", "mean", "max"]
PhrasePooling = Literal["sum", "mean", "max", "logsumexp"]

TRAIN, VALID = "train", "valid"
# Sections that change no result, or only what is shown of it.
WITHOUT_EFFECT = ("report", "execution", "baselines", "shard_rows")


class Section(BaseModel):
    """A block of ``params.yaml``: every key is required, no other is allowed, types are not coerced."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class Corpus(Section):
    """One document set: a file, or a folder of which ``files`` names those to read, in order (null: all).

    How they are read may be left out, unlike everything else: ``format`` where the suffix does not say it, ``fields``
    (what id, title, abstract and keyphrases are called in the file), ``encoding``.
    """

    path: str
    files: list[str] | None
    format: (
        Literal["jsonl", "json", "csv", "tsv", "parquet", "bibtex", "ris", "text", "lines", "one2set", "liaad"] | None
    ) = None
    fields: dict[Literal["id", "title", "abstract", "keyphrases"], str] | None = None
    encoding: str = "utf-8"


class Cleaning(Section):
    """How gold keyphrases are cleaned; test sets are never filtered.

    ``per_keyphrase`` drops unusable ones one by one; ``published`` drops a whole training or validation document with
    any character outside ``[A-Za-z0-9 '-]`` in a keyphrase, as the published data was made.
    """

    policy: Literal["per_keyphrase", "published"]


class Deduplication(Section):
    """Near-duplicates of evaluation and training documents in training: Jaccard of word bigrams, MinHash LSH."""

    threshold: Annotated[float, Field(gt=0.0, le=1.0)]
    permutations: Annotated[int, Field(ge=16, le=1024)]
    within_training: bool


class Tagger(Section):
    """The tagger: ``spacy`` (``model``), ``corenlp`` (server at ``url``) or ``nltk``."""

    name: Literal["spacy", "corenlp", "nltk"]
    model: str
    url: str | None

    @model_validator(mode="after")
    def _server_has_an_address(self) -> "Tagger":
        if self.name == "corenlp" and not self.url:
            raise ValueError("tagger.url must name the CoreNLP server, for example http://127.0.0.1:9000")
        return self


class Mining(Section):
    """Algorithm 1: ``max_words`` is its n. ``require_content_word``: see :func:`simckp.candidates.mining.mine`."""

    max_words: Annotated[int, Field(ge=1, le=20)]
    require_content_word: bool


class Optimisation(Section):
    """What both trainings share; ``evaluate_every`` counts optimiser steps, ``patience`` evaluations.

    ``batch_size`` is that of all processes together. ``group_by_length`` puts documents of similar lengths into a
    batch; ``precision`` bfloat16 is mixed precision (weights stay float32); ``gradient_checkpointing`` trades time for
    memory; ``compile`` is ``torch.compile`` of the networks. ``ema_decay`` above 0 validates and keeps the exponential
    moving average of the weights, which that share of survives a step, instead of the last ones. ``schedule`` of the
    learning rate after the warm-up. ``weight_decay`` is that of ``decayed`` weights: ``all``, or ``matrices`` (without
    biases and norms). The training stops after ``patience`` evaluations in which nothing improved: not the ``goal``
    (F1@M on validation), or neither ``goal_or_loss``. ``long_documents``: documents that are longer than the network
    reads are truncated, or left out of training and validation. ``dropout``: its rate in the backbone; null for that of
    the pretraining.
    """

    learning_rate: LearningRate
    warmup_ratio: Fraction
    batch_size: Positive
    gradient_accumulation: Positive
    epochs: Positive
    max_grad_norm: PositiveReal
    dropout: Annotated[float, Field(ge=0.0, lt=1.0)] | None
    ema_decay: Annotated[float, Field(ge=0.0, lt=1.0)]
    evaluate_every: Positive
    patience: Positive
    patience_on: Literal["goal", "goal_or_loss"]
    schedule: Literal["linear", "constant"]
    weight_decay: Annotated[float, Field(ge=0.0)]
    decayed: Literal["matrices", "all"]
    long_documents: Literal["truncate", "leave_out"]
    group_by_length: bool
    precision: Literal["float32", "bfloat16"]
    gradient_checkpointing: bool
    compile: bool


class Contrast(Section):
    """Eq. 3: its temperature, and ``mean`` over a batch's positives or ``sum`` over those of a document."""

    temperature: PositiveReal
    reduction: Reduction


class ExtractorSettings(Contrast):
    """What a network of stage 1 is; a trained one keeps this in its folder.

    ``method``: ``contrastive`` (the paper), or one of its ablation: ``binary_classification`` of phrase embeddings,
    ``sequence_labelling``, ``generation`` (no scores: the decoder learns present keyphrases too). ``negatives``: what
    eq. 3 contrasts with: the document's mined phrases (``hard``), ``random`` spans of it, or the other documents of
    the batch (``in_batch``).
    """

    method: Literal["contrastive", "binary_classification", "sequence_labelling", "generation"]
    negatives: Literal["hard", "random", "in_batch"]
    document_pooling: TextPooling
    phrase_pooling: PhrasePooling
    max_source_tokens: Annotated[int, Field(ge=8)]
    max_target_tokens: Annotated[int, Field(ge=4)]


class ExtractorParams(Optimisation, ExtractorSettings):
    """Stage 1. ``decoder_layers``: how many a decoder made of an encoder-only backbone keeps; null, all.

    ``decoder_learning_rate``: of the decoder, whose cross-attention may be untrained; null for the common one.
    ``decoder_targets``: what the decoder learns to generate, the ``absent`` keyphrases (the paper) or ``all``; a
    network that only generates learns all, whatever it says. ``training_documents``: learn from so many; null, all.
    """

    backbone: str
    decoder_layers: Positive | None
    decoder_learning_rate: LearningRate | None
    decoder_targets: Literal["absent", "all"]
    documents: Literal["all", "with_absent"]
    training_documents: Positive | None


def _tuple(value: Any) -> Any:
    """Return a list of YAML as a tuple: sections are hashable, since trained networks are cached by them."""
    return tuple(value) if isinstance(value, list) else value


class Retrieval(Section):
    """Keyphrases of similar training documents: how many ``neighbours``, and how many absent ``phrases`` of them.

    Documents with a cosine similarity above ``max_similarity`` are near-duplicates and no neighbours. ``encoder``: a
    sentence encoder, by whose vectors documents with similar titles are neighbours too; null for words alone.
    """

    neighbours: Annotated[int, Field(ge=1)]
    phrases: Annotated[int, Field(ge=1)]
    max_similarity: Fraction
    encoder: str | None


class Generation(Section):
    """Overgeneration: sequences returned = ``beams``; ``no_repeat_ngram`` 0 allows repetition.

    ``sources`` of absent keyphrases: the ``beams`` of the decoder (the paper), and the ``neighbours``, similar training
    documents (:mod:`simckp.retrieval`).

    ``early_stopping``: whether a document's search ends with its first ``beams`` finished sequences, as in BART's
    published configuration. ``shortlist``: the decoder chooses from the tokens of the text and this many of the tokens
    that are most frequent in the training data; null, from the whole vocabulary. ``precision`` of the decoder:
    ``int8`` is for the CPU, ``bfloat16`` for a GPU.
    """

    sources: Annotated[tuple[Literal["beams", "neighbours"], ...], BeforeValidator(_tuple), Field(min_length=1)]
    beams: Annotated[int, Field(ge=1, le=500)]
    max_new_tokens: Positive
    no_repeat_ngram: Annotated[int, Field(ge=0)]
    length_penalty: float
    early_stopping: bool
    shortlist: Positive | None
    precision: Literal["float32", "bfloat16", "int8"]


class RerankerSettings(Contrast):
    """What a network of stage 2 is; a trained one keeps this in its folder.

    ``method``: ``contrastive`` (the paper), or ``none``: the order of the beams. ``shared_encoder``: one encoder for
    documents and phrases. ``present_phrases``: generated phrases that are in the text are left out, or are negatives
    and candidates like the others (the authors' code).
    """

    method: Literal["contrastive", "none"]
    shared_encoder: bool
    present_phrases: Literal["leave_out", "negatives"]
    document_pooling: TextPooling
    phrase_pooling: TextPooling
    max_source_tokens: Annotated[int, Field(ge=8)]
    max_phrase_tokens: Annotated[int, Field(ge=4)]


class RerankerParams(Optimisation, RerankerSettings):
    """Stage 2, a dual encoder.

    ``positives``: correctly ``generated`` phrases (the paper), or gold ones that were not generated as well.
    ``negatives``: at most so many wrong phrases of a document are learned from, of all ranks alike; null, all.
    ``training_documents``: phrases are generated for so many training documents, and learned from; null, all.
    ``retrieved_documents``: those of neighbours for so many, with these among them; null, for no others.
    ``initial_projection``: the linear layers on the encoder begin ``random`` (the paper) or as ``identity``, which
    keeps the similarities of a sentence encoder.
    """

    backbone: str
    initial_projection: Literal["random", "identity"]
    negatives: Positive | None
    training_documents: Positive | None
    retrieved_documents: Positive | None
    positives: Literal["generated", "generated_and_gold"]


class Scoring(Section):
    """How both networks compute scores: ``precision`` is that of matrix products; on a CPU tf32 is float32."""

    precision: Literal["float32", "tf32", "bfloat16"]


class Windows(Section):
    """Documents longer than a model: windows that share ``overlap`` tokens; null truncates them, as the paper does."""

    overlap: Annotated[int, Field(ge=0)] | None


class Selection(Section):
    """From scores to keyphrases: above the threshold, and at least ``minimum`` if there are that many.

    ``evidence``: scores are the probabilities of a classifier that knows, besides the similarity, the place of a phrase
    in its text, the training corpus and the neighbours.
    ``method``: the paper's ``mean_of_best_thresholds``; ``best_global_threshold``; ``adaptive``, one for each document;
    or ``fixed``: ``value``. ``limit``: ``adaptive`` predicts at most that many times the keyphrases that it
    expects, null for no limit.
    """

    evidence: bool
    method: Literal["mean_of_best_thresholds", "best_global_threshold", "adaptive", "fixed"]
    minimum: Annotated[int, Field(ge=0)]
    limit: Annotated[float, Field(gt=0)] | None
    value: float | None

    @model_validator(mode="after")
    def _fixed_has_a_value(self) -> "Selection":
        if self.method == "fixed" and self.value is None:
            raise ValueError("selection.value must be the threshold if selection.method is fixed")
        return self


class Evaluation(Section):
    """Default profile, further profiles, and the bootstrap's resamples and confidence.

    ``semantic``: the encoder for semantic precision, recall and F1 as a further profile; null for none.
    """

    profile: Literal["simckp", "chan19", "kpg", "kpg_hard"]
    further_profiles: list[Literal["simckp", "chan19", "kpg", "kpg_hard"]]
    semantic: str | None
    resamples: Annotated[int, Field(ge=100)]
    confidence: Annotated[float, Field(gt=0.5, lt=1.0)]


class Report(Section):
    """The page: how many documents a set are shown with their keyphrases, and of which set one is drawn by t-SNE."""

    examples: Annotated[int, Field(ge=0)]
    visualised: str


class Execution(Section):
    """How the work is done; the results do not depend on it, so no stage depends on it either.

    ``engine`` maps the stages that work document by document: ``local`` processes, or a ``ray`` cluster.
    ``training_processes`` share each training, one a GPU. ``checkpoint_documents`` are overgenerated between two
    checkpoints. ``generation_batch`` texts are searched together and ``scoring_batch`` texts scored together; a batch
    for which a GPU has no memory is halved. ``report_to``: trackers that are given the log of a training.
    """

    engine: Literal["local", "ray"]
    training_processes: Positive
    checkpoint_documents: Positive
    generation_batch: Positive
    scoring_batch: Positive
    report_to: list[str]


class Params(Section):
    """All of ``params.yaml``."""

    lambda_: Annotated[float, Field(alias="lambda", ge=0.0)]
    language: LanguageCode
    seeds: Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=1)]
    limit: Positive | None
    shard_rows: Positive
    corpora: dict[str, Corpus]
    evaluated: Annotated[list[str], Field(min_length=1)]
    cleaning: Cleaning
    deduplication: Deduplication
    tagger: Tagger
    mining: Mining
    extractor: ExtractorParams
    generation: Generation
    retrieval: Retrieval
    reranker: RerankerParams
    scoring: Scoring
    windows: Windows
    selection: Selection
    baselines: list[Literal["tfidf", "yake", "keybert", "textrank"]]
    evaluation: Evaluation
    report: Report
    execution: Execution

    @model_validator(mode="after")
    def _sets_fit_together(self) -> "Params":
        for name in (TRAIN, VALID):
            if name not in self.corpora:
                raise ValueError(f"corpora.{name} is missing: training and calibration need it")
        if unknown := [name for name in self.evaluated if name not in self.corpora or name == TRAIN]:
            raise ValueError(f"evaluated: {unknown[0]!r} is none of {[n for n in self.corpora if n != TRAIN]}")
        if self.report.visualised not in self.evaluated:
            raise ValueError(f"report.visualised: {self.report.visualised!r} is none of {self.evaluated}")
        if VALID not in self.evaluated:
            raise ValueError(f"evaluated: must list {VALID!r}, on which thresholds are calibrated")
        if odd := [name for name in self.corpora if not name.replace("_", "").isalnum() or not name.isascii()]:
            raise ValueError(f"corpora: the name {odd[0]!r} may only have letters, digits and '_'")
        if self.extractor.method == "generation" and "beams" not in self.generation.sources:
            raise ValueError("generation.sources must have 'beams' if extractor.method is generation")
        for name, stage in (("extractor", self.extractor), ("reranker", self.reranker)):
            if stage.batch_size % self.execution.training_processes:
                size, processes = stage.batch_size, self.execution.training_processes
                raise ValueError(f"{name}.batch_size: {size} documents cannot be divided among {processes} processes")
        generated, retrieved = self.reranker.training_documents, self.reranker.retrieved_documents
        if retrieved is not None and (generated is None or retrieved < generated):
            least = f"reranker.training_documents: {generated or 'all'}"
            raise ValueError(f"reranker.retrieved_documents: {retrieved} is less than {least}")
        if len(set(self.seeds)) != len(self.seeds):
            raise ValueError(f"seeds: {self.seeds} names a seed twice")
        return self

    def effective(self) -> dict[str, Any]:
        """Return the parameters that some result depends on, as ``params.yaml`` has them."""
        tree = self.model_dump(by_alias=True, mode="json")
        return {name: value for name, value in tree.items() if name not in WITHOUT_EFFECT}

    @property
    def test_sets(self) -> list[str]:
        """The evaluated sets that are not the validation set."""
        return [name for name in self.evaluated if name != VALID]


def read_params(path: Path) -> Params:
    """Read and check a parameter file.

    Raises:
        ParameterError: The file is missing or no YAML, or a key is unknown, missing or out of range; the message
            names every such dotted key and, for an unknown one, the nearest that exists.
    """
    try:
        # YAML 1.2, as DVC reads it: "3e-05" is a number, and a key given twice is an error.
        tree = YAML(typ="safe", pure=True).load(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ParameterError(f"{path}: there is no such parameter file") from error
    except (YAMLError, UnicodeDecodeError) as error:
        raise ParameterError(f"{path}: no valid YAML: {error}") from error
    return parse_params(tree, source=str(path))


def parse_params(tree: object, *, source: str) -> Params:
    """Check a tree of parameters; ``source`` opens the error message.

    Raises:
        ParameterError: See :func:`read_params`.
    """
    if not isinstance(tree, Mapping):
        raise ParameterError(f"{source}: expected a mapping of parameters, found {type(tree).__name__}")
    try:
        return Params.model_validate(dict(tree))
    except ValidationError as error:
        problems = [_explain(entry["loc"], entry["type"], entry["msg"], entry["input"]) for entry in error.errors()]
        raise ParameterError("\n".join(f"{source}: {problem}" for problem in problems)) from error


def _explain(location: tuple[int | str, ...], kind: str, message: str, value: object) -> str:
    dotted = ".".join(str(part) for part in location)
    if kind == "extra_forbidden":
        known = [key.replace("*", str(location[1])) if len(location) > 1 else key for key in _known_keys(Params)]
        nearest = difflib.get_close_matches(dotted, known, n=1, cutoff=0.5)
        return f"unknown parameter '{dotted}'" + (f"; did you mean '{nearest[0]}'?" if nearest else "")
    if kind == "missing":
        return f"parameter '{dotted}' is missing"
    if kind == "value_error":
        return message.removeprefix("Value error, ")
    return f"parameter '{dotted}' is {value!r}: {message[:1].lower()}{message[1:]}"


def _known_keys(section: type[BaseModel], prefix: str = "") -> Iterator[str]:
    """Yield every dotted key; names that the user chooses (of corpora) stand as ``*``."""
    for name, field in section.model_fields.items():
        dotted = prefix + (field.alias or name)
        yield dotted
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from _known_keys(field.annotation, f"{dotted}.")
        for kind in get_args(field.annotation):
            if isinstance(kind, type) and issubclass(kind, BaseModel):
                yield from _known_keys(kind, f"{dotted}.*.")
