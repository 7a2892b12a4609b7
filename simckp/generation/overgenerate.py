"""Overgenerate absent keyphrases: collect every unique phrase of all sequences of a wide beam search (section 4.3).

Shapes: B documents, T source tokens, K beams, L new tokens.
"""

import logging
import time
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache, partial
from pathlib import Path

import torch

from simckp.data.records import BEAMS, Document, Generated, GeneratedPhrase
from simckp.execution import helpers_of_each_gpu
from simckp.extraction.extractor import ExtractorGenerator
from simckp.extraction.loading import load_extractor
from simckp.generation.beam_search import Search, Sequence, beam_search
from simckp.generation.decoder import step_decoder
from simckp.networks.backbones import best_device, refuse_for_other_backbones
from simckp.networks.batches import LengthBatches, pad
from simckp.networks.tokenization import EncodedText, Tokenizer
from simckp.params import Generation
from simckp.runtime.helpers import Helpers
from simckp.text import (
    StemmedText,
    has_letter_or_digit,
    is_present,
    rejoined,
    scoring_key,
    single_spaced,
    stems,
)

_LOG = logging.getLogger(__name__)
_SECONDS_BETWEEN_LOGS = 60.0


class Overgenerator:
    """Generates phrases with one network, whose decoder is prepared once.

    Args:
        model: A trained extractor-generator in evaluation mode.
        settings: Settings of the search, such as beams, lengths and precision.
        overlap: Number of tokens that two windows of a long document share; None truncates the document.
        batch_size: Number of texts that are searched together; it affects only speed and memory.
        helpers: Number of processes that split beams into phrases while a GPU searches the next ones.
    """

    def __init__(
        self,
        model: ExtractorGenerator,
        settings: Generation,
        *,
        overlap: int | None = None,
        batch_size: int = 1,
        helpers: int = 0,
    ) -> None:
        self._model, self._settings, self._overlap = model, settings, overlap
        self._batches = LengthBatches(batch_size, "overgeneration")
        self._split = Helpers(partial(unique_phrases, tokenizer=model.tokenizer), helpers)
        config = model.backbone.generation_config
        ends = config.eos_token_id if isinstance(config.eos_token_id, list) else [config.eos_token_id]
        self._ends = {token for token in ends if token is not None}
        start = config.decoder_start_token_id
        self._start = int(model.backbone.config.decoder_start_token_id if start is None else start)
        known = step_decoder(model.backbone, settings.precision) if len(self._ends) == 1 else None
        # The beam search looks at twice as many continuations as beams; the vocabulary must have more tokens than that.
        self._decoder = known if known is not None and len(model.tokenizer) > 2 * settings.beams else None
        self._frequent = None if settings.shortlist is None else self._frequent_tokens(settings.shortlist)
        self._speed = _SpeedLog()

    def _frequent_tokens(self, count: int) -> torch.Tensor:
        """Return the special tokens and the ``count`` tokens that are most frequent in the training data.

        Where the training data has fewer tokens, the first ones of the vocabulary are added: WordPiece and BPE number
        their tokens by frequency.
        """
        special = torch.tensor([self._start, *self._ends, self._model.tokenizer.separator_id])
        known = self._model.frequent_tokens
        others = torch.ones(len(self._model.tokenizer), dtype=torch.bool)
        others[known.long()] = False
        # The search needs more than 2 K tokens.
        count = max(count, 2 * self._settings.beams + 1)
        return torch.cat([torch.cat([known, others.nonzero()[:, 0]])[:count], special])

    def __call__(self, documents: list[Document]) -> list[Generated]:
        """Return the unique phrases in the beams of each document, in the order of the documents.

        The keyphrases of the documents are used only for the labels. The beams of a document's windows are ranked
        together.
        """
        windows = [
            (position, window)
            for position, document in enumerate(documents)
            for window in self._model.tokenizer.windows(document["text"], self._overlap)
        ]
        truncated = {position: window.truncated for position, window in windows}  # the last window's value remains
        # A network invents phrases for a text without words.
        windows = [
            (position, window)
            for position, window in windows
            if has_letter_or_digit(documents[position]["text"][window.begin : window.reach])
        ]
        beams: list[list[Sequence]] = [[] for _ in documents]
        missing = Counter(position for position, _ in windows)
        # The helpers split the beams of a document into phrases while the next batch is searched.
        phrases = {position: self._split.submit([], documents[position]) for position in set(truncated) - set(missing)}
        lengths = [len(window.input_ids) for _, window in windows]
        for at, sequences in self._batches(lengths, lambda batch: self.search([windows[at][1] for at in batch])):
            position = windows[at][0]
            beams[position] += sequences
            missing[position] -= 1
            if not missing[position]:
                own = sorted(beams[position], key=lambda beam: -beam.log_prob)
                phrases[position] = self._split.submit(own, documents[position])
        return [
            Generated(id=document["id"], phrases=phrases[position].result(), truncated=truncated[position])
            for position, document in enumerate(documents)
        ]

    @torch.inference_mode()
    def search(self, batch: list[EncodedText]) -> list[list[Sequence]]:
        """Return the K best sequences of each encoded text, best first.

        Raises:
            SimCKPError: The backbone has no fast decoder, and there is a shortlist, the precision is not float32 or
                there is only one beam.
        """
        device = next(self._model.parameters()).device
        ids_BT, mask_BT = pad([text.input_ids for text in batch], self._model.tokenizer.pad_token_id)
        shortlist = None
        if self._frequent is not None:
            shortlist = torch.unique(torch.cat([self._frequent, ids_BT.flatten()])).to(device)
        ids_BT, mask_BT = ids_BT.to(device), mask_BT.to(device)
        if self._decoder is None:
            return self._search_with_transformers(ids_BT, mask_BT)
        started = time.perf_counter()
        half = self._settings.precision == "bfloat16"
        with torch.autocast(device.type, dtype=torch.bfloat16, enabled=half):
            hidden_BTD = self._model.encode(ids_BT, mask_BT)
        search = Search(
            beams=self._settings.beams,
            max_new_tokens=self._settings.max_new_tokens,
            no_repeat_ngram=self._settings.no_repeat_ngram,
            length_penalty=self._settings.length_penalty,
            early_stopping=self._settings.early_stopping,
            start=self._start,
            end=next(iter(self._ends)),
        )
        hidden_BTD = hidden_BTD.to(torch.bfloat16 if half else torch.float32)
        sequences = beam_search(hidden_BTD, mask_BT, self._decoder, search, shortlist=shortlist)
        self._speed.add(len(batch), time.perf_counter() - started)
        return sequences

    def _search_with_transformers(self, ids_BT: torch.Tensor, mask_BT: torch.Tensor) -> list[list[Sequence]]:
        """Search with ``generate`` of ``transformers``, which supports any encoder-decoder."""
        refuse_for_other_backbones(self._settings)
        beams = self._settings.beams
        output = self._model.backbone.generate(
            input_ids=ids_BT,
            attention_mask=mask_BT,
            num_beams=beams,
            num_return_sequences=beams,
            max_new_tokens=self._settings.max_new_tokens,
            min_length=0,
            no_repeat_ngram_size=self._settings.no_repeat_ngram,
            length_penalty=self._settings.length_penalty,
            early_stopping=self._settings.early_stopping,
            forced_bos_token_id=None,
            forced_eos_token_id=None,
            do_sample=False,
            return_dict_in_generate=True,
            output_scores=True,
        )
        sequences_BKL = output.sequences.view(len(ids_BT), beams, -1).tolist()
        scores_BK = output.sequences_scores.view(len(ids_BT), beams).tolist()
        return [
            [Sequence(self._body(ids), score) for ids, score in zip(sequences, scores, strict=True)]
            for sequences, scores in zip(sequences_BKL, scores_BK, strict=True)
        ]

    def _body(self, ids: list[int]) -> list[int]:
        """Remove the start token, and everything from the end token on."""
        stop = next((index for index, token in enumerate(ids[1:], start=1) if token in self._ends), len(ids))
        return ids[1:stop]


class _SpeedLog:
    """Logs the number of documents per second, at most once a minute."""

    def __init__(self) -> None:
        self._documents, self._seconds, self._logged = 0, 0.0, 0.0

    def add(self, documents: int, seconds: float) -> None:
        self._documents, self._seconds = self._documents + documents, self._seconds + seconds
        if time.monotonic() - self._logged > _SECONDS_BETWEEN_LOGS:
            self._logged = time.monotonic()
            _LOG.info("overgeneration: %.2f documents/s", self._documents / self._seconds)


@lru_cache(maxsize=1)
def _loaded(folder: Path, settings: Generation, overlap: int | None, batch_size: int) -> Overgenerator:
    """Cache the network of a worker process, so that it is loaded once for all pieces."""
    return Overgenerator(
        load_extractor(folder).to(best_device()),
        settings,
        overlap=overlap,
        batch_size=batch_size,
        helpers=helpers_of_each_gpu(),
    )


def overgenerate(
    documents: list[Document], *, extractor: Path, settings: Generation, overlap: int | None, batch_size: int = 1
) -> list[Generated]:
    """Overgenerate with the network in the folder ``extractor``, if beams are a source; see :class:`Overgenerator`."""
    if BEAMS not in settings.sources:
        return [Generated(id=document["id"], phrases=[], truncated=False) for document in documents]
    return _loaded(extractor, settings, overlap, batch_size)(documents)


def unique_phrases(beams: list[Sequence], document: Document, tokenizer: Tokenizer) -> list[GeneratedPhrase]:
    """Split beams at the separator and return each phrase once (compared by stems), best rank first.

    Args:
        beams: Sequences, best first.
        document: Its text decides which phrases are present, its keyphrases give the labels.
        tokenizer: Decodes token ids.
    """
    text = StemmedText(stems(document["text"]))
    gold = set(map(scoring_key, document["keyphrases"]))
    phrases: dict[str, GeneratedPhrase] = {}
    for rank, beam in enumerate(beams):
        surfaces = {scoring_key(surface): surface for surface in _surfaces(beam, tokenizer)}
        for key, surface in surfaces.items():
            if key in phrases:
                phrases[key]["beams"] += 1
            elif has_letter_or_digit(key):
                phrases[key] = GeneratedPhrase(
                    key=key,
                    surface=surface,
                    source="beams",
                    beams=1,
                    best_rank=rank,
                    log_prob=beam.log_prob,
                    neighbours=0,
                    weight=0.0,
                    present=is_present(tuple(key.split(" ")), text),
                    label=key in gold,
                )
    return list(phrases.values())


def _surfaces(beam: Sequence, tokenizer: Tokenizer) -> Iterator[str]:
    piece: list[int] = []
    for token in [*beam.token_ids, tokenizer.separator_id]:
        if token != tokenizer.separator_id:
            piece.append(token)
        elif piece:
            yield rejoined(single_spaced(tokenizer.decode(piece)))
            piece = []
