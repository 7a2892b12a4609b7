"""What a trained network of stage 1 keeps of its training data."""

from pathlib import Path
from typing import Any

import numpy as np

from simckp.extraction.examples import extraction_examples
from simckp.extraction.loading import load_extractor, new_extractor
from simckp.extraction.training import by_frequency
from tests.conftest import EXTRACTOR_SETTINGS


def test_tokens_of_targets_come_before_those_of_documents_only(pairs: Any, tiny_bert: Path, tmp_path: Path) -> None:
    model = new_extractor(str(tiny_bert), EXTRACTOR_SETTINGS, decoder_layers=1)
    examples = list(extraction_examples(pairs, tokenizer=model.tokenizer, max_target_tokens=16, generate_present=False))
    tokens = by_frequency(examples, len(model.tokenizer)).tolist()
    targets = np.concatenate([example.decoder_labels for example in examples])
    texts = np.concatenate([example.input_ids for example in examples])
    assert sorted(tokens) == sorted(set(targets.tolist()) | set(texts.tolist()))
    counts = [(int((targets == token).sum()), int((texts == token).sum())) for token in tokens]
    assert counts == sorted(counts, reverse=True)
    assert counts[0][0] > 0
    model.frequent_tokens = by_frequency(examples, len(model.tokenizer))
    model.save(tmp_path)
    assert load_extractor(tmp_path).frequent_tokens.tolist() == tokens
