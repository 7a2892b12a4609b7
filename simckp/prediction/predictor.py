"""Predict keyphrases of texts with a trained model, which is one folder."""

import logging
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import islice
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

from safetensors import SafetensorError

from simckp.candidates.mining import mine_pairs
from simckp.candidates.tagging import load_tagger, tagged_documents
from simckp.data.records import (
    BEAMS,
    KINDS,
    NEIGHBOURS,
    Document,
    Generated,
    Keyphrase,
    Kind,
    Scored,
    Tagged,
)
from simckp.errors import SimCKPError
from simckp.hub.access import hub_errors
from simckp.language import in_own_language, speaking
from simckp.networks.settings import read_settings
from simckp.prediction.language import language_warnings
from simckp.prediction.model_folder import (
    EVIDENCE,
    EXTRACTOR,
    MEMORY,
    RERANKER,
    SENTENCES,
    SETTINGS,
    STATISTICS,
    THRESHOLDS,
    PredictorSettings,
    read_thresholds,
)
from simckp.prediction.model_source import find_model
from simckp.prediction.selection import DocumentRanking, Wish, choose, rank
from simckp.prediction.terms import Terms
from simckp.prediction.texts import Text, as_document, as_texts, given_text, warn_of_paths
from simckp.retrieval.fusion import fused
from simckp.runtime.quiet import transformers_quiet
from simckp.scoring.scorer import Scorer

if TYPE_CHECKING:
    from simckp.evidence.evidence import Evidence
    from simckp.evidence.statistics import PhraseStatistics
    from simckp.retrieval.titles import Encode

_BATCH = 16
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Keyphrases:
    """The keyphrases of one text.

    Attributes:
        text: The text that the spans refer to: the input text itself, or ``title. abstract`` of a record.
        phrases: Present before absent keyphrases, each kind best first; spans are code points, ``[start, end)``. The
            score is the probability that a phrase is a keyphrase, calibrated on the validation documents; of a kind of
            which these had nothing to learn from, it is the similarity.
        truncated: Whether the end of the text was not read.
        warnings: Why there are no keyphrases, or what was not read.
    """

    text: str
    phrases: list[Keyphrase]
    truncated: bool
    warnings: list[str]

    @property
    def names(self) -> set[tuple[str, str]]:
        """Kind and surface of each keyphrase; no two have the same."""
        return {(phrase["kind"], phrase["surface"]) for phrase in self.phrases}


class KeyphrasePredictor:
    """Predicts keyphrases of texts.

    Scores are those of the pipeline with the same networks. What is shown of them is likely to be a keyphrase, while
    the pipeline's predictions follow the rule by which the method is scored (:mod:`simckp.prediction.selection`).

    Args:
        folder: A model folder: networks as safetensors, everything else as JSON; nothing in it is executed.
        kinds: Kinds of keyphrases that it can predict. Only what they need is loaded: with ``present`` alone, neither
            the beam search nor the reranker.
        beams: Whether absent keyphrases come from the generator's beams too, or from the memory of training documents
            alone, which is faster (and as good, where the memory is large: docs/results).

    Raises:
        SimCKPError: The folder is not a model folder or is damaged, the tagger's model is not installed, a kind is
            unknown, or the model has nothing but its beams.
    """

    def __init__(self, folder: Path, *, kinds: Sequence[Kind] = KINDS, beams: bool = True) -> None:
        self._folder, self.kinds, self._beams = folder, kinds, beams
        if not _are_kinds(kinds, KINDS):
            raise SimCKPError(f"kinds={kinds!r}: expected some of {list(KINDS)}")
        self.settings = read_settings(folder / SETTINGS, PredictorSettings)
        self.thresholds, self.calibrations = read_thresholds(folder / THRESHOLDS, self.settings.selection.method)
        try:
            self._networks = self._load()
        except (OSError, SafetensorError) as error:
            reason = str(error).splitlines() or [type(error).__name__]
            raise SimCKPError(f"{folder}: its networks are missing or damaged: {reason[0]}") from error
        if not beams and not (self._networks.extracts and NEIGHBOURS in self.settings.generation.sources):
            raise SimCKPError(f"{folder}: this model has no memory of training documents; it needs its beams")
        self._evidence = _read_evidence(folder) if self.settings.selection.evidence else None
        with speaking(self.language):
            self._tagger = load_tagger(self.settings.tagger)

    def _load(self) -> Scorer:
        reranker = self._folder / RERANKER if "absent" in self.kinds else None
        if self.settings.runtime == "onnx":
            from simckp.scoring.onnx import OnnxNetworks

            return OnnxNetworks(self._folder / EXTRACTOR, reranker)
        try:
            from simckp.scoring.networks import Networks
        except ModuleNotFoundError as error:
            raise SimCKPError(f"{self._folder}: this model needs {error.name} (pip install 'simckp[torch]')") from error
        with transformers_quiet():
            return Networks.load(self._folder / EXTRACTOR, reranker, self.settings.scoring)

    @property
    def language(self) -> str:
        """The code of the language that the model was trained on."""
        return self.settings.language

    @cached_property
    def _overgenerator(self) -> Callable[[list[Document]], list[Generated]]:
        from simckp.generation.overgenerate import Overgenerator
        from simckp.networks.backbones import best_device
        from simckp.networks.padding import SCORING_BATCH

        # A CPU gains nothing from several texts at once.
        batch_size = 1 if best_device().type == "cpu" else SCORING_BATCH
        overlap = self.settings.windows.overlap
        network = self._networks.generator
        return Overgenerator(network, self.settings.generation, overlap=overlap, batch_size=batch_size)

    @cached_property
    def _retrieve(self) -> Callable[[list[Document]], Iterable[Generated]]:
        """Return the function that gives the phrases of neighbours; without a memory it gives none."""
        if NEIGHBOURS not in self.settings.generation.sources:
            return lambda documents: map(_nothing, documents)
        from simckp.retrieval.memory import KeyphraseMemory
        from simckp.retrieval.retrieve import retrieve

        try:
            memory = KeyphraseMemory.load(self._folder / MEMORY)
            if self.settings.memory not in (None, memory.fingerprint()):
                raise SimCKPError(f"{self._folder / MEMORY}: not the memory with which the model was calibrated")
        except SimCKPError as error:
            lost = "absent keyphrases come from the decoder alone"
            if self._evidence is not None:
                lost += ", and no probability counts similar documents"
            _LOG.warning("%s; %s", error, lost)
            return lambda documents: map(_nothing, documents)
        encode = None if memory.titles is None else self._sentence_encoder()
        return partial(retrieve, memory=memory, settings=self.settings.retrieval, encode=encode)

    def _sentence_encoder(self) -> "Encode | None":
        if self.settings.retrieval.encoder is None:
            return None
        if self.settings.runtime == "onnx":
            from simckp.scoring.onnx import OnnxSentenceEncoder

            return OnnxSentenceEncoder(self._folder / SENTENCES)
        from simckp.retrieval.sentences import SentenceEncoder

        with transformers_quiet():
            return SentenceEncoder(self.settings.retrieval.encoder)

    @classmethod
    def from_pretrained(
        cls, name: str | Path, *, revision: str | None = None, kinds: Sequence[Kind] = KINDS, beams: bool = True
    ) -> "KeyphrasePredictor":
        """Return the model in a folder, or a model of the hub by its id; ``kinds`` and ``beams`` as for the class.

        Raises:
            SimCKPError: See :func:`simckp.prediction.model_source.find_model` and the class.
        """
        return cls(find_model(name, revision=revision), kinds=kinds, beams=beams)

    def save_pretrained(self, folder: str | Path) -> None:
        """Copy the model folder.

        Raises:
            SimCKPError: The copy cannot be written.
        """
        if Path(folder).resolve() == self._folder.resolve():
            return
        try:
            shutil.copytree(self._folder, folder, dirs_exist_ok=True)
        except OSError as error:
            raise SimCKPError(f"{folder}: the model cannot be written there: {error}") from error

    def push_to_hub(self, repository: str, *, private: bool = True, revision: str | None = None) -> str:
        """Upload the model folder to the hub with the token of the user's login; return the address of the commit.

        Raises:
            SimCKPError: The hub refuses the upload, or cannot be reached.
        """
        from huggingface_hub import HfApi

        api = HfApi()
        with hub_errors(f"{repository!r} cannot be written"):
            api.create_repo(repository, private=private, exist_ok=True)
            return str(api.upload_folder(repo_id=repository, folder_path=self._folder, revision=revision))

    def __call__(
        self,
        texts: Iterable[Text],
        *,
        batch_size: int = _BATCH,
        top: int | None = None,
        min_probability: float | None = None,
        kinds: Sequence[Kind] | None = None,
        terms: Terms | None = None,
    ) -> Any:
        """Return the keyphrases of each text, in order: a list of :class:`Keyphrases`, or an iterator for an iterator.

        Args:
            texts: Texts, or records with ``title`` and ``abstract`` (cleaned as in the pipeline). For a single text
                or record, its :class:`Keyphrases` are returned. A string is always a text: the name of a file is not
                opened (there is a warning); the command ``simckp predict`` reads files.
            batch_size: Number of texts per batch; it affects only speed and memory.
            top: Maximum number of keyphrases of both kinds together; without ``min_probability``, the best ``top`` are
                given, however improbable they are. By default, the number with the highest expected F1, none of them
                improbable.
            min_probability: All phrases that are at least so probable are given, from 0 to 1.
            kinds: ``present``, ``absent`` or both; by default all that were loaded. Without ``absent``, the slow
                generation is skipped.
            terms: A vocabulary of one's own, and unwanted phrases: ``Terms.of_files("terms.csv")``.

        Raises:
            SimCKPError: An option is not valid, or one of ``texts`` is neither a text nor a record with texts.
        """
        wish = self.wish(top=top, min_probability=min_probability, kinds=kinds, batch_size=batch_size, terms=terms)
        alone = isinstance(texts, str | Mapping)
        several = as_texts([texts] if alone else texts)
        stream = self._stream(several, batch_size, wish)
        if alone:
            return next(stream)
        return stream if isinstance(texts, Iterator) else list(stream)

    def predict_frame(self, frame: Any, *, text: str | Sequence[str], **options: Any) -> Any:
        """Return the keyphrases of a pandas frame's documents, one row each.

        See :func:`simckp.prediction.frames.keyphrase_frame` for the columns and errors.

        Args:
            frame: One document per row.
            text: The column of the texts, or the two of titles and abstracts.
            options: As for :meth:`__call__`.
        """
        from simckp.prediction.frames import keyphrase_frame

        return keyphrase_frame(frame, text, partial(self, **options))

    def wish(
        self,
        *,
        top: int | None = None,
        min_probability: float | None = None,
        kinds: Collection[Kind] | None = None,
        batch_size: int = 1,
        terms: Terms | None = None,
    ) -> Wish:
        """Return the options of :meth:`__call__` after a check; ``kinds`` are by default all that were loaded.

        Raises:
            SimCKPError: An option is not valid.
        """
        wanted = self.kinds if kinds is None else kinds
        if not (
            _is_count(batch_size, 1)
            and (top is None or _is_count(top, 0))
            and (min_probability is None or _is_share(min_probability))
            and _are_kinds(wanted, self.kinds)
        ):
            values = f"batch_size={batch_size!r}, top={top!r}, min_probability={min_probability!r}, kinds={wanted!r}"
            raise SimCKPError(f"{values}: {_POSSIBLE} {' and '.join(self.kinds)}")
        return Wish(tuple(wanted), top, min_probability, Terms() if terms is None else terms)

    def _stream(self, texts: Iterator[Text], batch_size: int, wish: Wish) -> Iterator[Keyphrases]:
        numbered = enumerate(texts)
        while batch := list(islice(numbered, batch_size)):
            warn_of_paths(text for _, text in batch)
            documents = [as_document(text, number) for number, text in batch]
            for (_, text), ranking in zip(batch, self.rank(documents, wish), strict=True):
                yield replace(self.choose(ranking, wish), text=given_text(text, ranking.document))

    @in_own_language
    def tag(self, documents: list[Document]) -> list[Tagged]:
        """Return the words and tags of each document."""
        return tagged_documents(documents, self._tagger)

    @in_own_language
    def score(self, documents: list[Document], *, kinds: Collection[Kind] | None = None) -> list[tuple[Scored, Scored]]:
        """Return all scored candidates of each document, present and absent.

        Generation is skipped if ``kinds`` lacks ``absent``, unless the model predicts present keyphrases by generation.

        Raises:
            SimCKPError: ``kinds`` has one that was not loaded.
        """
        return [pair for pair, _ in self._scored(documents, kinds)]

    @in_own_language
    def rank(self, documents: list[Document], wish: Wish) -> list[DocumentRanking]:
        """Return all phrases of each document, of the wished kinds and in the wished terms, best first."""
        return [
            rank(document, pair, similarities, self.calibrations, wish.terms)
            for document, (pair, similarities) in zip(documents, self._scored(documents, wish.kinds), strict=True)
        ]

    @in_own_language
    def choose(self, ranking: DocumentRanking, wish: Wish) -> Keyphrases:
        """Return what is shown of a document."""
        document, truncated = ranking.document, any(scored["truncated"] for scored in ranking.pair)
        phrases, warnings = choose(ranking, self.thresholds, self.calibrations, wish)
        return Keyphrases(document["text"], phrases, truncated, [*warnings, *language_warnings(document["text"])])

    def _scored(
        self, documents: list[Document], kinds: Collection[Kind] | None
    ) -> list[tuple[tuple[Scored, Scored], dict[str, dict[str, float]]]]:
        """Return the scored phrases of each document, and their similarities by kind and key."""
        rows = self._similarities(documents, self.wish(kinds=kinds).kinds)
        similarities = [
            {scored["kind"]: {phrase["key"]: phrase["score"] for phrase in scored["phrases"]} for scored in pair}
            for _, pair, _, _ in rows
        ]
        if self._evidence is None:
            return list(zip((pair for _, pair, _, _ in rows), similarities, strict=True))
        from simckp.evidence.evidence import weigh

        return list(zip(weigh(rows, *self._evidence), similarities, strict=True))

    @in_own_language
    def contributions(self, document: Document) -> dict[Kind, dict[str, dict[str, tuple[float, float]]]]:
        """Return what speaks for each phrase of a document, by kind, key and feature; empty without evidence.

        Each feature has its value, and what it adds to the logarithm of the odds that the phrase is a keyphrase.
        """
        if self._evidence is None:
            return {}
        from simckp.evidence.evidence import NAMES, features

        evidence, statistics = self._evidence
        ((_, pair, beams, neighbours),) = self._similarities([document], self.kinds)
        found = features(document, pair, beams, neighbours, statistics)
        said: dict[Kind, dict[str, dict[str, tuple[float, float]]]] = {}
        for kind, scored in zip(KINDS, pair, strict=True):
            added = evidence.contributions(kind, found[kind])
            if added is not None:
                said[kind] = {
                    phrase["key"]: dict(zip(NAMES[kind], zip(values, parts, strict=True), strict=True))
                    for phrase, values, parts in zip(
                        scored["phrases"], found[kind].tolist(), added.tolist(), strict=True
                    )
                }
        return said

    def _similarities(
        self, documents: list[Document], kinds: Collection[Kind]
    ) -> list[tuple[Document, tuple[Scored, Scored], Generated, Generated]]:
        """Return each document with its scored phrases, and the phrases of its beams and of its neighbours."""
        settings = self.settings
        tagged = self.tag(documents)
        mined = mine_pairs(list(zip(documents, tagged, strict=True)), **vars(settings.mining))
        extracts = self._networks.extracts
        generates = "absent" in kinds or not extracts
        beams = neighbours = found = list(map(_nothing, documents))
        if (
            generates
            and self._beams
            and self._networks.generator is not None
            and (BEAMS in settings.generation.sources or not extracts)
        ):
            beams = self._overgenerator(documents)
        if generates or self._evidence is not None:
            found = list(self._retrieve(documents))
        if generates:
            neighbours = found
        generated = map(fused, beams, neighbours)
        rows = list(zip(documents, mined, generated, strict=True))
        pairs = self._networks.score(rows, overlap=settings.windows.overlap)
        return list(zip(documents, pairs, beams, found, strict=True))


def _read_evidence(folder: Path) -> tuple["Evidence", "PhraseStatistics"]:
    """Return what turns similarities into probabilities.

    Raises:
        SimCKPError: The folder's evidence is missing or damaged.
    """
    from simckp.evidence.evidence import Evidence
    from simckp.evidence.statistics import PhraseStatistics

    return Evidence.load(folder / EVIDENCE), PhraseStatistics.load(folder / STATISTICS)


_POSSIBLE = (
    "batch_size must be a whole number from 1, top from 0, min_probability between 0 and 1, kinds of what was loaded:"
)


def _is_count(value: Any, least: int) -> bool:
    return not isinstance(value, bool) and isinstance(value, Integral) and int(value) >= least


def _is_share(value: Any) -> bool:
    return not isinstance(value, bool) and isinstance(value, Real) and 0.0 <= float(value) <= 1.0


def _are_kinds(kinds: Any, possible: Sequence[Kind]) -> bool:
    return isinstance(kinds, Collection) and not isinstance(kinds, str) and all(kind in possible for kind in kinds)


def _nothing(document: Document) -> Generated:
    return Generated(id=document["id"], phrases=[], truncated=False)
