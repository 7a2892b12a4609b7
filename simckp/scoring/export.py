"""Write the networks of both stages as ONNX graphs, for :mod:`simckp.scoring.onnx`; the decoder is left out.

The graphs are traced from the very code that scores with torch, so that no formula stands here a second time.

Shapes: B texts, T tokens, C candidates, D hidden size; S spans.
"""

import importlib
import logging
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from transformers import PreTrainedModel

from simckp.errors import SimCKPError
from simckp.extraction.examples import extraction_example, inputs
from simckp.extraction.extractor import ExtractorGenerator
from simckp.extraction.loading import load_extractor
from simckp.networks.backbones import load_encoder, load_tokenizer
from simckp.networks.padding import padded
from simckp.networks.pooling import Candidates, pool_texts
from simckp.networks.settings import EXTRACTOR_SETTINGS, RERANKER_SETTINGS, read_settings, write_settings
from simckp.networks.tokenization import TextTokenizer, Tokenizer
from simckp.params import RerankerSettings
from simckp.reranking.reranker import load_reranker
from simckp.retrieval.titles import TITLE_TOKENS
from simckp.scoring.onnx import CANDIDATES, DOCUMENTS, PHRASES, TEXTS, TOKENIZER, Graph, graph_file

OnnxPrecision = Literal["float32", "int8"]
Arrays = Mapping[str, NDArray[np.int64]]
Pool = Callable[[Tensor, Tensor], Tensor]
_LARGEST_DIFFERENCE = 1e-4
_METHODS = ("contrastive", "binary_classification")
_EXAMPLE = "Sparse graphs, and the contrastive learning of keyphrases in scientific articles of more than one length"
_PHRASES = [("Sparse graphs", 0, 13), ("contrastive learning", 23, 43), ("scientific articles", 61, 80)]


class _CandidateScores(nn.Module):
    """Stage 1: documents and candidates to similarities, shape (C,)."""

    def __init__(self, model: ExtractorGenerator) -> None:
        super().__init__()
        self.model = model

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor,
        document_S: Tensor,
        start_S: Tensor,
        end_S: Tensor,
        candidate_S: Tensor,
        document_C: Tensor,
    ) -> tuple[Tensor]:
        hidden_BTD = self.model.encode(input_ids, attention_mask)
        candidates = Candidates(document_S, start_S, end_S, candidate_S, document_C)
        return (self.model.scores(hidden_BTD, attention_mask, candidates).float(),)


class _Vectors(nn.Module):
    """Texts to vectors, (B, T) to (B, D) each, by an encoder and functions of its states and the mask."""

    def __init__(self, encoder: nn.Module, *pools: Pool, heads: nn.Module | None = None) -> None:
        super().__init__()
        self.encoder, self.pools, self.heads = encoder, pools, heads

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> tuple[Tensor, ...]:
        hidden_BTD = self.encoder(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        return tuple(pool(hidden_BTD, attention_mask) for pool in self.pools)


def export_extractor(source: Path, folder: Path, *, precision: OnnxPrecision) -> None:
    """Write the encoder and heads of stage 1.

    Args:
        source: Folder of a trained network.
        folder: Where to write it.
        precision: Of the weights; int8 is smaller and faster, and its similarities differ.

    Raises:
        SimCKPError: The source cannot be loaded, its network scores no candidates, or a package is missing.
    """
    _need_packages()
    model = load_extractor(source)
    if model.settings.method not in _METHODS:
        raise SimCKPError(f"{source}: extractor.method is {model.settings.method}; only {_METHODS} run on ONNX Runtime")
    _write_tokenizer(model.tokenizer, folder)
    write_settings(folder / EXTRACTOR_SETTINGS, model.settings)
    arrays = _example_inputs(model.tokenizer)
    axes = {"input_ids": {0: "B", 1: "T"}, "attention_mask": {0: "B", 1: "T"}, "document_C": {0: "C"}}
    spans = {name: {0: "S"} for name in arrays if name not in axes}
    _export(_CandidateScores(model), arrays, axes | spans, [CANDIDATES], graph_file(folder, CANDIDATES), precision)


def export_reranker(source: Path, folder: Path, *, precision: OnnxPrecision) -> None:
    """Write the two encoders of stage 2, or only the settings if there is no network; see :func:`export_extractor`."""
    model = load_reranker(source)
    if model is None:
        folder.mkdir(parents=True)
        write_settings(folder / RERANKER_SETTINGS, read_settings(source / RERANKER_SETTINGS, RerankerSettings))
        return
    _write_tokenizer(model.tokenizer, folder)
    write_settings(folder / RERANKER_SETTINGS, model.settings)
    pools = {DOCUMENTS: model.document_vectors, PHRASES: model.phrase_vectors}
    if model.settings.shared_encoder:
        graphs = {TEXTS: (model.document_encoder, pools)}
    else:
        encoders = {DOCUMENTS: model.document_encoder, PHRASES: model.phrase_encoder}
        graphs = {name: (encoder, {name: pools[name]}) for name, encoder in encoders.items()}
    for name, (encoder, own) in graphs.items():
        module = _Vectors(encoder, *own.values(), heads=model.heads)
        _export_texts(module, list(own), model.tokenizer, graph_file(folder, name), precision)


def export_sentence_encoder(backbone: str, folder: Path, *, precision: OnnxPrecision) -> None:
    """Write the encoder of titles; see :func:`export_extractor`."""
    backbone_tokenizer = load_tokenizer(backbone)
    tokenizer, model = Tokenizer(backbone_tokenizer, TITLE_TOKENS), load_encoder(backbone, backbone_tokenizer).eval()
    _write_tokenizer(tokenizer, folder)

    def pool(hidden_BTD: Tensor, attention_mask_BT: Tensor) -> Tensor:
        return nn.functional.normalize(pool_texts(hidden_BTD, attention_mask_BT, "mean"), dim=-1)

    _export_texts(_Vectors(model, pool), [TEXTS], tokenizer, graph_file(folder, TEXTS), precision)


def _example_inputs(tokenizer: TextTokenizer) -> Arrays:
    phrases = [
        {"key": surface, "surface": surface, "label": False, "spans": [{"start": start, "end": end}]}
        for surface, start, end in _PHRASES
    ]
    nothing = np.zeros(0, dtype=np.int32)
    examples = [
        extraction_example(encoded, phrases[: count + 2], targets=0, decoder_labels=nothing)  # type: ignore[arg-type]
        for count, encoded in enumerate(tokenizer([_EXAMPLE, _EXAMPLE[:50]]))
    ]
    return inputs(examples, pad_token_id=tokenizer.pad_token_id)


def _export_texts(
    module: _Vectors, outputs: list[str], tokenizer: TextTokenizer, path: Path, precision: OnnxPrecision
) -> None:
    ids_BT, mask_BT = padded(tokenizer.ids([_EXAMPLE, _EXAMPLE[:50]]), tokenizer.pad_token_id)
    arrays = {"input_ids": ids_BT, "attention_mask": mask_BT}
    _export(module, arrays, {name: {0: "B", 1: "T"} for name in arrays}, outputs, path, precision)


def _export(
    module: nn.Module,
    arrays: Arrays,
    axes: Mapping[str, dict[int, str]],
    outputs: list[str],
    path: Path,
    precision: OnnxPrecision,
) -> None:
    tensors = {name: torch.from_numpy(array) for name, array in arrays.items()}
    with _quietly(), torch.inference_mode():
        module.eval()
        expected = module(**tensors)
        for part in module.modules():
            if isinstance(part, PreTrainedModel):
                part.set_attn_implementation("eager")  # of which ONNX Runtime makes the fastest graph
        program: Any = torch.onnx.export(
            module,
            kwargs=tensors,
            dynamo=True,
            dynamic_shapes=dict(axes),
            input_names=list(tensors),
            output_names=outputs,
            verbose=False,
        )
        program.save(path, external_data=False)
    graph = Graph(path)
    for name, output in zip(outputs, expected, strict=True):
        difference = float(np.abs(graph(arrays, name) - output.numpy()).max())
        if difference > _LARGEST_DIFFERENCE:
            raise SimCKPError(f"{path}: the graph's output differs by {difference:.1e} from that of the network")
    if precision == "int8":
        _quantize(path)


def _quantize(path: Path) -> None:
    """Replace the weights of a graph by eight-bit integers."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    whole = path.with_suffix(".float32")
    path.rename(whole)
    with _quietly():
        quantize_dynamic(whole, path, weight_type=QuantType.QInt8, per_channel=True)
    whole.unlink()


def _write_tokenizer(tokenizer: Tokenizer, folder: Path) -> None:
    folder.mkdir(parents=True)
    backend = tokenizer.backend
    backend.no_truncation()
    backend.enable_padding(pad_id=tokenizer.pad_token_id, pad_token=tokenizer.backbone_tokenizer.pad_token)
    backend.save(str(folder / TOKENIZER))
    backend.no_padding()


def _need_packages() -> None:
    for name in ("onnxscript", "onnxruntime"):
        try:
            importlib.import_module(name)
        except ModuleNotFoundError as error:
            raise SimCKPError(f"export to ONNX needs {name} (pip install 'simckp[export]')") from error


@contextmanager
def _quietly() -> Iterator[None]:
    """Keep the exporter's notes about itself from people."""
    level = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(level)
