"""Score candidates with trained networks: mined ones with the extractor's encoder, generated ones with the reranker."""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch

from simckp.data.records import Document, Generated, Kind, Mined, Scored, ScoredPhrase
from simckp.extraction.examples import (
    ExtractionExample,
    Integers,
    RerankingExample,
    absent_phrases,
    reranking_examples,
    window_examples,
)
from simckp.extraction.extractor import ExtractorGenerator, load_extractor
from simckp.networks.backbones import best_device
from simckp.networks.collation import ExtractionCollator, by_length, pad, to_device
from simckp.networks.pooling import Candidates
from simckp.reranking.reranker import Reranker, load_reranker, similarities
from simckp.text import StemmedText, candidate_key, has_content_word, split_by_presence, stems
from simckp.thresholds.selection import Ranking

# Batch sizes change nothing but speed and memory.
_DOCUMENT_BATCH = 16
_PHRASE_BATCH = 256


@torch.inference_mode()
def extraction_scores(
    model: ExtractorGenerator, examples: list[ExtractionExample], *, pad_token_id: int
) -> list[list[float]]:
    """Return the score of every candidate of every example; only the encoder runs."""
    device = next(model.parameters()).device
    collate = ExtractionCollator(pad_token_id)
    scores: list[list[float]] = [[] for _ in examples]
    for positions in by_length([len(example.input_ids) for example in examples], _DOCUMENT_BATCH):
        batch = to_device(collate([examples[position] for position in positions]), device)
        hidden = model.encode(batch["input_ids"], batch["attention_mask"])
        spans = {name: value for name, value in batch.items() if name.endswith(("_S", "_C"))}
        values = model.scores(hidden, batch["attention_mask"], Candidates(**spans)).float().cpu()
        sizes = [len(examples[position].candidate) for position in positions]
        for position, part in zip(positions, torch.split(values, sizes), strict=True):
            scores[position] = part.tolist()
    return scores


def extraction_rankings(
    model: ExtractorGenerator, examples: list[ExtractionExample], *, pad_token_id: int
) -> list[Ranking]:
    """Return the candidates of each example ranked by score."""
    scores = extraction_scores(model, examples, pad_token_id=pad_token_id)
    return [
        Ranking.of(values, example.label.tolist(), example.targets)
        for values, example in zip(scores, examples, strict=True)
    ]


class PhraseVectors:
    """Vectors of phrases: each distinct phrase is encoded once (they do not depend on the document)."""

    def __init__(self, model: Reranker, *, pad_token_id: int) -> None:
        self._model = model
        self._pad_token_id = pad_token_id
        self._vectors: dict[bytes, torch.Tensor] = {}

    @torch.inference_mode()
    def add(self, phrases: list[Integers]) -> None:
        """Encode the phrases (token ids) that are not known yet, sorted by length."""
        new = {key: phrase for phrase in phrases if (key := phrase.tobytes()) not in self._vectors}
        keys, rows = list(new), list(new.values())
        device = next(self._model.parameters()).device
        for positions in by_length([len(row) for row in rows], _PHRASE_BATCH):
            ids, mask = pad([rows[position] for position in positions], self._pad_token_id)
            vectors = self._model.embed_phrases(ids.to(device), mask.to(device))
            self._vectors.update((keys[position], vector) for position, vector in zip(positions, vectors, strict=True))

    def stack(self, phrases: list[Integers]) -> torch.Tensor:
        """Return the vectors of known phrases, shape (N, D)."""
        return torch.stack([self._vectors[phrase.tobytes()] for phrase in phrases])


@torch.inference_mode()
def reranking_scores(model: Reranker, examples: list[RerankingExample], *, pad_token_id: int) -> list[list[float]]:
    """Return the similarity of every generated phrase of every example to its document, or its best window."""
    device = next(model.parameters()).device
    vectors = PhraseVectors(model, pad_token_id=pad_token_id)
    vectors.add([phrase for example in examples for phrase in example.phrases])
    scores: list[list[float]] = [[] for _ in examples]
    windows = [
        (position, window) for position, example in enumerate(examples) if example.phrases for window in example.windows
    ]
    for batch in by_length([len(window) for _, window in windows], _DOCUMENT_BATCH):
        ids, mask = pad([windows[index][1] for index in batch], pad_token_id)
        documents = model.embed_documents(ids.to(device), mask.to(device))
        for index, document in zip(batch, documents, strict=True):
            position = windows[index][0]
            found = similarities(document, vectors.stack(examples[position].phrases))
            scores[position] = list(map(max, found, scores[position])) if scores[position] else found
    return scores


def reranking_rankings(model: Reranker, examples: list[RerankingExample], *, pad_token_id: int) -> list[Ranking]:
    """Return the generated phrases of each example ranked by similarity."""
    scores = reranking_scores(model, examples, pad_token_id=pad_token_id)
    return [
        Ranking.of(values, example.label.tolist(), example.targets)
        for values, example in zip(scores, examples, strict=True)
    ]


@lru_cache(maxsize=1)
def _loaded(extractor: Path, reranker: Path) -> tuple[tuple[ExtractorGenerator, Any], tuple[Reranker, Any] | None]:
    """Keep the networks of a worker process from piece to piece."""
    model, tokenizer = load_extractor(extractor)
    second = load_reranker(reranker)
    return (model.to(best_device()), tokenizer), second and (second[0].to(best_device()), second[1])


def score_documents(
    rows: list[tuple[Document, Mined, Generated]],
    *,
    folders: tuple[Path, Path],
    max_tokens: int,
    reranker_max_tokens: int,
    max_phrase_tokens: int,
    overlap: int | None = None,
) -> list[Scored]:
    """Return two rows a document, present and absent.

    Without an extractor that scores, present phrases are the generated ones that stand in the text; without a
    reranker, generated phrases have the score of their best beam.

    Args:
        rows: Documents with their candidates and generated phrases.
        folders: Extractor and reranker.
        max_tokens: Length that the extractor reads.
        reranker_max_tokens: Length that the reranker reads.
        max_phrase_tokens: Longest phrase.
        overlap: Tokens that two windows of a long document share; None cuts it.
    """
    extracting, reranking = _loaded(*folders)
    return score_with(
        rows,
        extracting,
        reranking,
        max_tokens=max_tokens,
        reranker_max_tokens=reranker_max_tokens,
        max_phrase_tokens=max_phrase_tokens,
        overlap=overlap,
    )


def score_with(
    rows: list[tuple[Document, Mined, Generated]],
    extracting: tuple[ExtractorGenerator, Any],
    reranking: tuple[Reranker, Any] | None,
    *,
    max_tokens: int,
    reranker_max_tokens: int,
    max_phrase_tokens: int,
    overlap: int | None,
) -> list[Scored]:
    """Return what :func:`score_documents` does, with networks (and their tokenizers) that are loaded."""
    generated = [(document, generated) for document, _, generated in rows]
    if extracting[0].extracts:
        mined = [(document, mined) for document, mined, _ in rows]
        present = score_present(mined, *extracting, max_tokens=max_tokens, overlap=overlap)
    else:
        present = (beam_scores(*row, kind="present") for row in rows)
    if reranking:
        absent = score_absent(
            generated,
            *reranking,
            max_tokens=reranker_max_tokens,
            max_phrase_tokens=max_phrase_tokens,
            overlap=overlap,
        )
    else:
        absent = (beam_scores(*row, kind="absent") for row in rows)
    return [row for pair in zip(present, absent, strict=True) for row in pair]


def beam_scores(document: Document, mined: Mined, generated: Generated, *, kind: Kind) -> Scored:
    """Return the generated phrases of one kind in the order of the beams.

    The score is the log-probability of the best sequence that holds a phrase; phrases of one sequence share it and
    keep their order in it. A present phrase has the spans of the mined candidate with its key, if there is one.
    """
    spans = {phrase["key"]: phrase["spans"] for phrase in mined["phrases"]} if kind == "present" else {}
    present, absent = split_by_presence(document["keyphrases"], StemmedText(stems(document["text"])))
    return Scored(
        id=document["id"],
        kind=kind,
        phrases=_best_first(
            ScoredPhrase(
                key=phrase["key"],
                surface=phrase["surface"],
                score=phrase["log_prob"],
                label=phrase["label"],
                spans=spans.get(candidate_key(phrase["surface"]), []),
            )
            for phrase in generated["phrases"]
            if phrase["present"] == (kind == "present")
        ),
        targets=len(present if kind == "present" else absent),
        truncated=generated["truncated"],
        unscored=0,
    )


def score_present(
    rows: list[tuple[Document, Mined]],
    model: ExtractorGenerator,
    tokenizer: Any,
    *,
    max_tokens: int,
    overlap: int | None = None,
) -> Iterator[Scored]:
    """Yield the mined candidates of each document with their score, best first.

    Candidates without a content word ("is", "also") are no keyphrases and left out. Of a document in several windows a
    candidate has its best score over the windows that hold it whole. Without an overlap candidates beyond the model's
    length are left out; ``truncated`` and ``unscored`` say so.
    """
    documents = list(window_examples(rows, tokenizer, max_source_tokens=max_tokens, overlap=overlap))
    windows = [window for document in documents for window in document]
    values = iter(extraction_scores(model, windows, pad_token_id=tokenizer.pad_token_id))
    for (_, mined), document in zip(rows, documents, strict=True):
        best: dict[int, float] = {}
        for window in document:
            for position, score in zip(window.candidate.tolist(), next(values), strict=True):
                best[position] = max(score, best.get(position, score))
        phrases = mined["phrases"]
        yield Scored(
            id=mined["id"],
            kind="present",
            phrases=_best_first(
                ScoredPhrase(
                    key=phrases[position]["key"],
                    surface=phrases[position]["surface"],
                    score=score,
                    label=phrases[position]["label"],
                    spans=phrases[position]["spans"],
                )
                for position, score in sorted(best.items())
                if has_content_word(phrases[position]["surface"])
            ),
            targets=document[0].targets,
            truncated=document[-1].truncated,
            unscored=len(phrases) - len(best),
        )


def score_absent(
    rows: list[tuple[Document, Generated]],
    model: Reranker,
    tokenizer: Any,
    *,
    max_tokens: int,
    max_phrase_tokens: int,
    overlap: int | None = None,
) -> Iterator[Scored]:
    """Yield the generated phrases of each document that are not in its text, with their similarity, best first.

    Of a document in several windows a phrase has its best similarity to any of them.
    """
    examples = list(
        reranking_examples(
            rows, tokenizer, max_source_tokens=max_tokens, max_phrase_tokens=max_phrase_tokens, overlap=overlap
        )
    )
    scores = reranking_scores(model, examples, pad_token_id=tokenizer.pad_token_id)
    for (document, generated), example, values in zip(rows, examples, scores, strict=True):
        yield Scored(
            id=document["id"],
            kind="absent",
            phrases=_best_first(
                ScoredPhrase(key=p["key"], surface=p["surface"], score=value, label=p["label"], spans=[])
                for p, value in zip(absent_phrases(generated), values, strict=True)
            ),
            targets=example.targets,
            truncated=example.truncated,
            unscored=0,
        )


def _best_first(phrases: Iterable[ScoredPhrase]) -> list[ScoredPhrase]:
    return sorted(phrases, key=lambda phrase: -phrase["score"])
