"""Put examples together into the tensors that the networks take; candidates stay flat, nothing is padded for them."""

from collections.abc import Iterable, Iterator

import numpy as np
import torch
from torch import Tensor

from simckp.extraction.examples import ExtractionExample, Integers, RerankingExample
from simckp.networks.losses import IGNORED_LABEL

Batch = dict[str, Tensor]


def pad(rows: list[Integers], value: int) -> tuple[Tensor, Tensor]:
    """Return rows as one matrix padded on the right, and the mask of real entries (1), both (rows, longest)."""
    width = max((len(row) for row in rows), default=0)
    matrix = np.full((len(rows), width), value, dtype=np.int64)
    mask = np.zeros((len(rows), width), dtype=np.int64)
    for index, row in enumerate(rows):
        matrix[index, : len(row)] = row
        mask[index, : len(row)] = 1
    return torch.from_numpy(matrix), torch.from_numpy(mask)


class ExtractionCollator:
    """Batches of :class:`ExtractionExample` for :class:`simckp.extraction.extractor.ExtractorGenerator`."""

    def __init__(self, pad_token_id: int) -> None:
        self._pad_token_id = pad_token_id

    def __call__(self, examples: list[ExtractionExample]) -> Batch:
        """Return the keyword arguments of the network's ``forward``."""
        input_ids, attention_mask = pad([example.input_ids for example in examples], self._pad_token_id)
        labels, _ = pad([example.decoder_labels for example in examples], IGNORED_LABEL)
        sizes = [len(example.candidate) for example in examples]
        spans = [len(example.span_start) for example in examples]
        firsts = np.repeat(np.cumsum([0, *sizes[:-1]]), spans)
        return {
            "input_ids": input_ids,
            "attention_mask": attention_mask,
            "labels": labels,
            "candidate_label": torch.from_numpy(np.concatenate([example.label for example in examples])),
            "span_document_S": _repeated(spans),
            "span_start_S": _joined(example.span_start for example in examples),
            "span_end_S": _joined(example.span_end for example in examples),
            "span_candidate_S": _joined(example.span_candidate for example in examples) + torch.from_numpy(firsts),
            "candidate_document_C": _repeated(sizes),
        }


class RerankingCollator:
    """Batches of :class:`RerankingExample`; a phrase that several documents share is encoded once."""

    def __init__(self, pad_token_id: int) -> None:
        self._pad_token_id = pad_token_id

    def __call__(self, examples: list[RerankingExample]) -> Batch:
        """Return the keyword arguments of :meth:`simckp.reranking.reranker.Reranker.forward`."""
        distinct: dict[bytes, int] = {}
        rows: list[Integers] = []
        positions = []
        for example in examples:
            for phrase in example.phrases:
                key = phrase.tobytes()
                if key not in distinct:
                    distinct[key] = len(rows)
                    rows.append(phrase)
                positions.append(distinct[key])
        input_ids, attention_mask = pad([example.input_ids for example in examples], self._pad_token_id)
        phrase_ids, phrase_mask = pad(rows, self._pad_token_id)
        return {
            "input_ids": input_ids,
            "attention_mask": attention_mask,
            "phrase_input_ids": phrase_ids,
            "phrase_attention_mask": phrase_mask,
            "candidate_phrase": torch.tensor(positions, dtype=torch.int64),
            "candidate_document": _repeated([len(example.phrases) for example in examples]),
            "candidate_label": torch.from_numpy(np.concatenate([example.label for example in examples])),
        }


def by_length(lengths: list[int], size: int) -> Iterator[list[int]]:
    """Yield batches of positions with similar lengths, longest first; every position once."""
    order = sorted(range(len(lengths)), key=lambda position: -lengths[position])
    for start in range(0, len(order), size):
        yield order[start : start + size]


def to_device(batch: Batch, device: torch.device) -> Batch:
    """Return the batch on a device."""
    return {name: tensor.to(device) for name, tensor in batch.items()}


def _repeated(counts: list[int]) -> Tensor:
    return torch.from_numpy(np.repeat(np.arange(len(counts)), counts))


def _joined(arrays: Iterable[Integers]) -> Tensor:
    return torch.from_numpy(np.concatenate(list(arrays)).astype(np.int64))
