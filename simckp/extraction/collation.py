"""Batches of examples of stage 1 as tensors."""

import numpy as np
import torch

from simckp.extraction.examples import ExtractionExample, inputs
from simckp.networks.batches import Batch, pad
from simckp.networks.losses import IGNORED_LABEL
from simckp.networks.pooling import Candidates


def collate(examples: list[ExtractionExample], *, pad_token_id: int, multiple: int = 1) -> Batch:
    """Return a batch in the form of the arguments of :meth:`simckp.extraction.extractor.ExtractorGenerator.forward`.

    See :func:`simckp.extraction.examples.inputs`. The decoder runs only for the documents that have a target; if none
    has, for the first one with one ignored token, so that the optimiser and all processes see a gradient in every step.
    """
    labelled = [position for position, example in enumerate(examples) if len(example.decoder_labels)]
    targets = [examples[position].decoder_labels for position in labelled] or [np.array([IGNORED_LABEL], np.int32)]
    labels, _ = pad(targets, IGNORED_LABEL, multiple=multiple)
    arrays = inputs(examples, pad_token_id=pad_token_id, multiple=multiple)
    tensors = {name: torch.from_numpy(array) for name, array in arrays.items()}
    return {
        "input_ids": tensors.pop("input_ids"),
        "attention_mask": tensors.pop("attention_mask"),
        "labels": labels,
        "labelled": torch.tensor(labelled or [0]),
        "candidates": Candidates(**tensors),
        "gold": torch.from_numpy(np.concatenate([example.label for example in examples])),
    }
