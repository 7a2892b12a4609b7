"""Batches of examples of stage 2 as tensors."""

import numpy as np
import torch

from simckp.networks.batches import Batch, pad
from simckp.networks.padding import repeated
from simckp.networks.tokenization import Integers
from simckp.reranking.examples import RerankingExample


def collate(examples: list[RerankingExample], *, pad_token_id: int, multiple: int = 1) -> Batch:
    """Return a batch in the form of the arguments of :meth:`simckp.reranking.reranker.Reranker.forward`.

    A phrase that several documents share is in the batch once. Documents' lengths are rounded up to a ``multiple``.
    """
    position_of: dict[bytes, int] = {}
    distinct: list[Integers] = []
    positions = []
    for example in examples:
        for phrase in example.phrases:
            key = phrase.tobytes()
            if key not in position_of:
                position_of[key] = len(distinct)
                distinct.append(phrase)
            positions.append(position_of[key])
    input_ids, attention_mask = pad([example.input_ids for example in examples], pad_token_id, multiple=multiple)
    phrase_ids, phrase_mask = pad(distinct, pad_token_id)
    return {
        "input_ids": input_ids,
        "attention_mask": attention_mask,
        "phrase_input_ids": phrase_ids,
        "phrase_attention_mask": phrase_mask,
        "candidate_phrase": torch.tensor(positions, dtype=torch.int64),
        "candidate_document": torch.from_numpy(repeated([len(example.phrases) for example in examples])),
        "gold": torch.from_numpy(np.concatenate([example.label for example in examples])),
    }
