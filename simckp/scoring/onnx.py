"""The networks of both stages on ONNX Runtime, without torch or transformers; no decoder is among them.

:mod:`simckp.scoring.export` writes what is read here.

Shapes: B texts, T tokens, W windows of one document, C candidates, N phrases, D hidden size.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import tokenizers
from numpy.typing import NDArray

from simckp.data.records import Document, Generated, Mined, Scored
from simckp.errors import SimCKPError
from simckp.extraction.examples import ExtractionExample, inputs
from simckp.extraction.preparation import Prepared as PreparedPresent
from simckp.extraction.preparation import scored_candidates
from simckp.networks.padding import by_length, padded
from simckp.networks.settings import EXTRACTOR_SETTINGS, RERANKER_SETTINGS, read_settings
from simckp.networks.tokenization import Integers, TextTokenizer
from simckp.params import ExtractorSettings, RerankerSettings
from simckp.reranking.examples import RerankingExample
from simckp.reranking.preparation import AbsentPreparation, VectorCache, scored_phrases
from simckp.retrieval.titles import TITLE_TOKENS
from simckp.runtime.cancellation import go_on
from simckp.scoring.scorer import Preparation, Scorer

# Outputs of graphs, and names of the graphs; one for all texts has the outputs of documents and of phrases.
CANDIDATES, DOCUMENTS, PHRASES, TEXTS = "candidates", "documents", "phrases", "texts"
TOKENIZER = "tokenizer.json"
_PHRASE_BATCH = 64
_BATCH = 4  # a CPU gains nothing from more documents at once, and loses by padding them

Vectors = NDArray[np.float32]


class Graph:
    """A network as an ONNX graph.

    Args:
        path: The file.

    Raises:
        SimCKPError: ONNX Runtime is not installed, or the file is missing or damaged.
    """

    def __init__(self, path: Path) -> None:
        try:
            import onnxruntime
        except ModuleNotFoundError as error:
            raise SimCKPError(f"{path}: this model needs ONNX Runtime (pip install 'simckp[onnx]')") from error
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3  # errors
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        try:
            self._session: Any = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # its errors have no common class
            raise SimCKPError(f"{path}: its network is missing or damaged: {str(error).splitlines()[0]}") from error
        self._inputs = [one.name for one in self._session.get_inputs()]

    def __call__(self, arrays: Mapping[str, NDArray[np.int64]], output: str) -> Vectors:
        """Return an output by its name; arrays that the graph does not need are left out."""
        (found,) = self._session.run([output], {name: arrays[name] for name in self._inputs})
        return np.asarray(found, dtype=np.float32)


class TextEncoder:
    """An output of a graph that turns rows of tokens into vectors, (B, T) to (B, D)."""

    def __init__(self, graph: Graph, output: str, pad_token_id: int) -> None:
        self._graph, self._output, self._pad_token_id = graph, output, pad_token_id

    def vectors(self, rows: list[Integers], batch_size: int) -> Iterator[tuple[int, Vectors]]:
        """Yield each position with its vector, in batches of similar lengths."""
        for positions in by_length([len(row) for row in rows], batch_size):
            go_on()
            ids_BT, mask_BT = padded([rows[position] for position in positions], self._pad_token_id)
            arrays = {"input_ids": ids_BT, "attention_mask": mask_BT}
            yield from zip(positions, self._graph(arrays, self._output), strict=True)


class OnnxReranker:
    """The dual encoder of stage 2."""

    def __init__(self, folder: Path, settings: RerankerSettings) -> None:
        self.settings, self.tokenizer = settings, read_tokenizer(folder, settings.max_source_tokens)
        if settings.shared_encoder:
            documents = phrases = Graph(graph_file(folder, TEXTS))
        else:
            documents, phrases = (Graph(graph_file(folder, name)) for name in (DOCUMENTS, PHRASES))
        self._documents = TextEncoder(documents, DOCUMENTS, self.tokenizer.pad_token_id)
        of_phrases = TextEncoder(phrases, PHRASES, self.tokenizer.pad_token_id)
        self._vectors = VectorCache(lambda rows: of_phrases.vectors(rows, _PHRASE_BATCH))

    def scores(self, examples: list[RerankingExample], batch_size: int) -> list[list[float]]:
        """Return the similarity of each phrase to its document: the maximum over the document's windows."""
        self._vectors.add([phrase for example in examples for phrase in example.phrases])
        owners = [position for position, example in enumerate(examples) if example.phrases for _ in example.windows]
        windows = [window for example in examples if example.phrases for window in example.windows]
        vectors: list[list[Vectors]] = [[] for _ in examples]
        for at, vector in self._documents.vectors(windows, min(batch_size, _BATCH)):
            vectors[owners[at]].append(vector)
        return [
            _cosines(np.stack(own), np.stack(self._vectors.of(example.phrases))).max(axis=0).tolist() if own else []
            for own, example in zip(vectors, examples, strict=True)
        ]


class OnnxNetworks(Scorer):
    """The networks of a model folder.

    Args:
        extractor: Folder of stage 1.
        reranker: Folder of stage 2; None if it is not needed.

    Raises:
        SimCKPError: ONNX Runtime is not installed, or a file is missing or damaged.
    """

    extracts = True

    def __init__(self, extractor: Path, reranker: Path | None) -> None:
        settings = read_settings(extractor / EXTRACTOR_SETTINGS, ExtractorSettings)
        self._tokenizer = read_tokenizer(extractor, settings.max_source_tokens)
        self._candidates = Graph(graph_file(extractor, CANDIDATES))
        self._reranker = None if reranker is None else _reranker(reranker)

    def preparation(self, *, overlap: int | None) -> Preparation:
        """Return what prepares rows; see :meth:`Scorer.preparation`."""
        absent = None if self._reranker is None else AbsentPreparation.of(self._reranker, overlap=overlap)
        return Preparation(self._tokenizer, absent, overlap)

    def _present(
        self, rows: list[tuple[Document, Mined]], prepared: list[PreparedPresent], batch_size: int
    ) -> Iterator[Scored]:
        windows = [window for row in prepared for window in row.windows]
        return scored_candidates(rows, prepared, self._candidate_scores(windows, batch_size))

    def _candidate_scores(self, windows: list[ExtractionExample], batch_size: int) -> list[list[float]]:
        scores: list[list[float]] = [[] for _ in windows]
        wanted = [position for position, window in enumerate(windows) if len(window.candidate)]
        lengths = [len(windows[position].input_ids) for position in wanted]
        for batch in by_length(lengths, min(batch_size, _BATCH)):
            go_on()
            positions = [wanted[at] for at in batch]
            chosen = [windows[position] for position in positions]
            score_C = self._candidates(inputs(chosen, pad_token_id=self._tokenizer.pad_token_id), CANDIDATES)
            ends = np.cumsum([len(window.candidate) for window in chosen])[:-1]
            for position, own in zip(positions, np.split(score_C, ends), strict=True):
                scores[position] = own.tolist()
        return scores

    def _absent(
        self, rows: list[tuple[Document, Generated]], prepared: list[RerankingExample], batch_size: int
    ) -> Iterable[Scored]:
        if self._reranker is None:
            raise ValueError("phrases were prepared for a reranker that is not there")
        scores = self._reranker.scores(prepared, batch_size)
        with_present = self._reranker.settings.present_phrases == "negatives"
        return scored_phrases(rows, prepared, scores, with_present=with_present)


class OnnxSentenceEncoder:
    """Unit vectors of short texts; the counterpart of :class:`simckp.retrieval.sentences.SentenceEncoder`."""

    def __init__(self, folder: Path) -> None:
        self._tokenizer = read_tokenizer(folder, TITLE_TOKENS)
        self._encoder = TextEncoder(Graph(graph_file(folder, TEXTS)), TEXTS, self._tokenizer.pad_token_id)

    def __call__(self, texts: list[str]) -> Vectors:
        """Return the vectors of texts, shape (B, D)."""
        found = dict(self._encoder.vectors(self._tokenizer.ids(texts), _PHRASE_BATCH))
        return np.stack([found[position] for position in range(len(texts))])


def graph_file(folder: Path, name: str) -> Path:
    """Return where a graph is in a network's folder."""
    return folder / f"{name}.onnx"


def read_tokenizer(folder: Path, max_tokens: int) -> TextTokenizer:
    """Return the tokenizer of a network's folder.

    Raises:
        SimCKPError: It is missing or damaged.
    """
    path = folder / TOKENIZER
    try:
        backend = tokenizers.Tokenizer.from_str(path.read_text(encoding="utf-8"))
        pad_token_id = int((backend.padding or {})["pad_id"])
    except Exception as error:  # the library raises nothing more special
        raise SimCKPError(f"{path}: not the tokenizer of a network: {str(error).splitlines()[0]}") from error
    return TextTokenizer(backend, max_tokens, pad_token_id=pad_token_id)


def _reranker(folder: Path) -> OnnxReranker | None:
    settings = read_settings(folder / RERANKER_SETTINGS, RerankerSettings)
    return None if settings.method == "none" else OnnxReranker(folder, settings)


def _cosines(document_WD: Vectors, phrase_ND: Vectors) -> Vectors:
    """Return the cosine similarity of each window to each phrase, shape (W, N)."""
    unit_WD, unit_ND = (
        vector / np.maximum(np.linalg.norm(vector, axis=1, keepdims=True), np.finfo(np.float32).eps)
        for vector in (document_WD, phrase_ND)
    )
    return np.asarray(unit_WD @ unit_ND.T)
