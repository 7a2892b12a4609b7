"""Beam search that finds the hypotheses of ``transformers``' search (``early_stopping=False``), only faster.

Differences in how, none in what: the beams of a document share the encoder's keys and values; the first step has
one row a document; the best continuations are looked for block by block of the vocabulary; a document that cannot
improve any more leaves the batch.

Shapes: B documents, K beams, W rows a document (1 at first, then K), R = B * W rows, C = 2 * K continuations,
L tokens (start token included), V vocabulary.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from simckp.generation.decoder import VOCABULARY_BLOCK, StepDecoder

_NEVER = -1.0e9
# Within these no exponential that counts was lost below or above the range of float32.
_SMALLEST_SUM, _LARGEST_SUM = 1.0e-20, 1.0e30


@dataclass(frozen=True, slots=True)
class Sequence:
    """One beam: token ids without special tokens at the ends, and its length-normalised log-probability."""

    token_ids: list[int]
    log_prob: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Search:
    """How to search.

    Attributes:
        beams: K; as many sequences are returned.
        max_new_tokens: Longest sequence, the end token included.
        no_repeat_ngram: Length of the n-grams of which none may come twice in a sequence; 0 allows all.
        length_penalty: Exponent of the length by which a sequence's log-probability is divided.
        start: Token that every sequence starts with.
        end: Token that ends one.
    """

    beams: int
    max_new_tokens: int
    no_repeat_ngram: int
    length_penalty: float
    start: int
    end: int


@dataclass(slots=True)
class _Beams:
    """Tokens (B, K, L) and scores (B, K) of a set of beams; ``whole`` says which are finished sequences."""

    tokens: Tensor
    scores: Tensor
    whole: Tensor

    def keep_best(self, tokens_BCL: Tensor, scores_BC: Tensor, whole_BC: Tensor) -> None:
        """Take the K best of these and those given."""
        self.scores, chosen_BK = torch.topk(torch.cat([self.scores, scores_BC], dim=1), self.scores.shape[1])
        self.whole = torch.cat([self.whole, whole_BC], dim=1).gather(1, chosen_BK)
        self.tokens = _take(torch.cat([self.tokens, tokens_BCL], dim=1), chosen_BK)

    def select(self, documents_B: Tensor) -> None:
        self.tokens, self.scores = self.tokens[documents_B], self.scores[documents_B]
        self.whole = self.whole[documents_B]


@torch.inference_mode()
def beam_search(hidden_BTD: Tensor, mask_BT: Tensor, decoder: StepDecoder, search: Search) -> list[list[Sequence]]:
    """Return the K best sequences of each document, best first.

    Args:
        hidden_BTD: The encoder's states, shape (B, T, D).
        mask_BT: 1 for real tokens, shape (B, T).
        decoder: Of the same network.
        search: See the class.
    """
    running = _Running(hidden_BTD, mask_BT, decoder, search)
    for position in range(search.max_new_tokens):
        if running.documents:
            running.advance(position)
    return [running.results[document] for document in range(len(hidden_BTD))]


class _Running:
    """A search under way: ``documents`` are the positions of those that are not done, ``results`` has the others."""

    def __init__(self, hidden_BTD: Tensor, mask_BT: Tensor, decoder: StepDecoder, search: Search) -> None:
        self._decoder, self._search = decoder, search
        self._state = decoder.start(hidden_BTD, mask_BT, length=search.max_new_tokens, beams=search.beams)
        self._scratch_RV = torch.empty(self._state.logits.shape, device=hidden_BTD.device)
        self.documents = list(range(len(hidden_BTD)))
        self.results: dict[int, list[Sequence]] = {}
        shape = len(hidden_BTD), search.beams
        tokens = torch.full((*shape, search.max_new_tokens + 1), search.start, device=hidden_BTD.device)
        scores = torch.full(shape, _NEVER, device=hidden_BTD.device)
        whole = torch.zeros(shape, dtype=torch.bool, device=hidden_BTD.device)
        self._finished = _Beams(tokens, scores, whole)
        self._open = _Beams(tokens[:, :1], torch.zeros_like(scores[:, :1]), whole[:, :1])

    def advance(self, position: int) -> None:
        """Add one token to every open beam; finished sequences and documents are set apart."""
        search, last = self._search, position + 1 == self._search.max_new_tokens
        logits_RV = self._decoder(self._open.tokens[..., position].flatten(), position, self._state)
        scratch_RV = self._scratch_RV[: len(logits_RV)]
        scores_BC, parent_BC, token_BC = _continuations(logits_RV, scratch_RV, self._open, position, search)
        tokens_BCL = _take(self._open.tokens, parent_BC)
        tokens_BCL[..., position + 1] = token_BC
        ends_BC = torch.ones_like(token_BC, dtype=torch.bool) if last else token_BC == search.end
        whole_BC = ends_BC.clone()
        whole_BC[:, search.beams :] = False
        length_factor = float(position + 1) ** search.length_penalty
        self._finished.keep_best(tokens_BCL, (scores_BC / length_factor).masked_fill(~whole_BC, _NEVER), whole_BC)
        self._open.scores, chosen_BK = torch.topk(scores_BC + ends_BC * _NEVER, search.beams)
        self._open.tokens = _take(tokens_BCL, chosen_BK)
        # A document whose best open beam scores below its worst finished one is done.
        hopeful_B = self._open.scores[:, 0] / length_factor > self._finished.scores.amin(dim=1)
        open_B = (~self._finished.whole.all(dim=1) | hopeful_B) & (not last)
        width = len(logits_RV) // len(self.documents)
        first_row_B1 = torch.arange(0, len(logits_RV), width, device=open_B.device)[:, None]
        self._go_on((parent_BC.gather(1, chosen_BK) + first_row_B1), open_B, position + 1)

    def _go_on(self, row_BK: Tensor, open_B: Tensor, length: int) -> None:
        """Let each open beam continue the state of its row; documents that are done leave with their result."""
        flags = open_B.tolist()
        for at, document in enumerate(self.documents):
            if not flags[at]:
                finished = self._finished
                self.results[document] = _sequences(finished.tokens[at], finished.scores[at], self._search.end)
        if not all(flags):
            still_B = open_B.nonzero()[:, 0]
            self.documents = [document for document, is_open in zip(self.documents, flags, strict=True) if is_open]
            self._open.select(still_B)
            self._finished.select(still_B)
            self._state.select_documents(still_B)
            row_BK = row_BK[still_B]
        if self.documents:
            self._state.select_rows(row_BK.flatten(), length)


def _take(tokens_BCL: Tensor, chosen_BK: Tensor) -> Tensor:
    return tokens_BCL.gather(1, chosen_BK[..., None].expand(-1, -1, tokens_BCL.shape[2]))


def _continuations(
    logits_RV: Tensor, scratch_RV: Tensor, running: _Beams, position: int, search: Search
) -> tuple[Tensor, Tensor, Tensor]:
    """Return score, parent beam and token of the C best continuations of each document, best first, each (B, C).

    A block of the vocabulary whose best token is not among the C best of its kind holds none of the C best tokens.
    """
    documents, width = running.scores.shape
    logits_RV = logits_RV.float()
    total_BW = _log_sum_exp(logits_RV, scratch_RV).view(documents, width)
    _ban_repeats(logits_RV, running.tokens[..., : position + 1].flatten(0, 1), search.no_repeat_ngram)
    blocks_BNV = logits_RV.view(documents, -1, VOCABULARY_BLOCK)
    best_BWN = blocks_BNV.amax(dim=-1).view(documents, width, -1)
    best_BN = (best_BWN - total_BW[..., None] + running.scores[..., None]).view(documents, -1)
    wanted = 2 * search.beams
    _, block_BC = torch.topk(best_BN, min(wanted, best_BN.shape[1]), sorted=False)
    inside = blocks_BNV.gather(1, block_BC[..., None].expand(-1, -1, VOCABULARY_BLOCK))
    per_row = logits_RV.shape[1] // VOCABULARY_BLOCK
    parents = block_BC // per_row
    scores = (inside - total_BW.gather(1, parents)[..., None] + running.scores.gather(1, parents)[..., None]).flatten(1)
    scores_BC, at_BC = torch.topk(scores, wanted)
    chosen_block = at_BC // VOCABULARY_BLOCK
    parent_BC = parents.gather(1, chosen_block)
    token_BC = block_BC.gather(1, chosen_block) % per_row * VOCABULARY_BLOCK + at_BC % VOCABULARY_BLOCK
    return scores_BC, parent_BC, token_BC


def _log_sum_exp(logits_RV: Tensor, scratch_RV: Tensor) -> Tensor:
    """Return the logarithm of the sum of exponentials of each row, shape (R,).

    Logits of a trained network are small: then the exponentials are summed as they are, in a buffer that is there, at
    half the price of the general way.
    """
    torch.exp(logits_RV, out=scratch_RV)
    total_R = scratch_RV.sum(dim=-1)
    if bool(((total_R > _SMALLEST_SUM) & (total_R < _LARGEST_SUM)).all()):
        return total_R.log()
    return torch.logsumexp(logits_RV, dim=-1)


def _ban_repeats(logits_RV: Tensor, tokens_RL: Tensor, size: int) -> None:
    """Make every token impossible, in place, that would complete an n-gram the row already has."""
    length = tokens_RL.shape[1]
    if not size or length < size:
        return
    windows_RNS = tokens_RL.unfold(1, size, 1)
    same_RN = (windows_RNS[..., :-1] == tokens_RL[:, None, length + 1 - size :]).all(dim=-1)
    row, at = same_RN.nonzero(as_tuple=True)
    logits_RV[row, windows_RNS[row, at, -1]] = -torch.inf


def _sequences(tokens_KL: Tensor, scores_K: Tensor, end: int) -> list[Sequence]:
    found = []
    for tokens, score in zip(tokens_KL[:, 1:].tolist(), scores_K.tolist(), strict=True):
        found.append(Sequence(tokens[: tokens.index(end)] if end in tokens else tokens, score))
    return found
