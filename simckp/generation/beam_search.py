"""Beam search with the same hypotheses as the search of ``transformers``, but faster.

It is faster because the beams of a document share the encoder's keys and values, the first step has one row per
document, the best continuations are searched by blocks of the vocabulary, and finished documents leave the batch.

Shapes: B documents, K beams, W rows per document (1 at first, then K), R = B * W rows, C = 2 * K continuations,
L tokens (start token included), V vocabulary.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from simckp.generation.decoder import VOCABULARY_BLOCK, StepDecoder

# The score of what must not be chosen. It is finite because it is multiplied by masks, and 0 * -inf is NaN.
_NEVER = -1.0e9
# If a sum of exponentials is between these, no term that matters has underflowed or overflowed in float32.
_SMALLEST_SUM, _LARGEST_SUM = 1.0e-20, 1.0e30


@dataclass(frozen=True, slots=True)
class Sequence:
    """One beam: its token ids without start and end token, and its length-normalised log-probability."""

    token_ids: list[int]
    log_prob: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Search:
    """Settings of a search.

    Attributes:
        beams: Number of beams K, which is also the number of sequences returned.
        max_new_tokens: Maximum length of a sequence, including the end token.
        no_repeat_ngram: Length of the n-grams that may not occur twice in a sequence; 0 allows all.
        length_penalty: A sequence's log-probability is divided by its length to this power.
        early_stopping: Whether a document is done as soon as it has K finished sequences; otherwise, when no open beam
            can become better than the worst of them.
        start: Token that every sequence starts with.
        end: Token that ends a sequence.
    """

    beams: int
    max_new_tokens: int
    no_repeat_ngram: int
    length_penalty: float
    early_stopping: bool
    start: int
    end: int


@dataclass(slots=True)
class _Beams:
    """Tokens (B, K, L) and scores (B, K) of a set of beams; ``whole`` (B, K) is true for finished sequences."""

    tokens: Tensor
    scores: Tensor
    whole: Tensor

    def keep_best(self, tokens_BCL: Tensor, scores_BC: Tensor, whole_BC: Tensor) -> None:
        """Keep the K best of the present beams and the new ones."""
        self.scores, chosen_BK = torch.topk(torch.cat([self.scores, scores_BC], dim=1), self.scores.shape[1])
        self.whole = torch.cat([self.whole, whole_BC], dim=1).gather(1, chosen_BK)
        self.tokens = _take(torch.cat([self.tokens, tokens_BCL], dim=1), chosen_BK)

    def select(self, documents_B: Tensor) -> None:
        self.tokens, self.scores = self.tokens[documents_B], self.scores[documents_B]
        self.whole = self.whole[documents_B]


@torch.inference_mode()
def beam_search(
    hidden_BTD: Tensor, mask_BT: Tensor, decoder: StepDecoder, search: Search, *, shortlist: Tensor | None = None
) -> list[list[Sequence]]:
    """Return the K best sequences of each document, best first.

    Args:
        hidden_BTD: Hidden states of the encoder, shape (B, T, D).
        mask_BT: 1 for real tokens, shape (B, T).
        decoder: Decoder of the same network.
        search: Settings of the search.
        shortlist: The only tokens that may be chosen, sorted and without duplicates, shape (S,); start and end token
            are among them, and S is more than 2 K. None for the whole vocabulary. Probabilities are normalised over the
            shortlist, so scores are a little higher than without it.
    """
    tokens: list[int] | None = None
    if shortlist is not None:
        # Inside the search a token is its position in the shortlist.
        tokens = shortlist.tolist()
        search = replace(search, start=tokens.index(search.start), end=tokens.index(search.end))
    running = _Running(hidden_BTD, mask_BT, decoder, search, shortlist)
    if not running.to_the_end(_fast_log_sum_exp):
        running = _Running(hidden_BTD, mask_BT, decoder, search, shortlist)
        running.to_the_end(_safe_log_sum_exp)
    results = running.results()
    if tokens is None:
        return results
    return [
        [Sequence([tokens[place] for place in beam.token_ids], beam.log_prob) for beam in beams] for beams in results
    ]


class _Running:
    """A search in progress: ``documents`` has the positions of the unfinished ones.

    The host waits for a GPU once in each step, to learn which documents are done.
    """

    def __init__(
        self, hidden_BTD: Tensor, mask_BT: Tensor, decoder: StepDecoder, search: Search, shortlist: Tensor | None
    ) -> None:
        self._decoder, self._search = decoder, search
        self._state = decoder.start(
            hidden_BTD, mask_BT, length=search.max_new_tokens, beams=search.beams, shortlist=shortlist
        )
        self._scratch_RV = torch.empty(self._state.logits.shape, device=hidden_BTD.device)
        self.documents = list(range(len(hidden_BTD)))
        self._done: dict[int, tuple[Tensor, Tensor]] = {}
        shape = len(hidden_BTD), search.beams
        tokens = torch.full((*shape, search.max_new_tokens + 1), search.start, device=hidden_BTD.device)
        scores = torch.full(shape, _NEVER, device=hidden_BTD.device)
        whole = torch.zeros(shape, dtype=torch.bool, device=hidden_BTD.device)
        self._finished = _Beams(tokens, scores, whole)
        # One open beam per document: all beams begin with the start token, so K of them would do the same work K times.
        self._open = _Beams(tokens[:, :1], torch.zeros_like(scores[:, :1]), whole[:, :1])

    def to_the_end(self, log_sum_exp: "_LogSumExp") -> bool:
        """Search until all documents are done; return whether every log-sum-exp was valid."""
        valid = torch.ones((), dtype=torch.bool, device=self._scratch_RV.device)
        for position in range(self._search.max_new_tokens):
            if self.documents:
                valid &= self._advance(position, log_sum_exp)
        return bool(valid)

    def results(self) -> list[list[Sequence]]:
        """Return the sequences of each document, best first."""
        tokens_BKL, scores_BK = (
            torch.stack([self._done[document][part] for document in range(len(self._done))]).tolist() for part in (0, 1)
        )
        return [
            [_sequence(tokens, score, self._search.end) for tokens, score in zip(*beams, strict=True)]
            for beams in zip(tokens_BKL, scores_BK, strict=True)
        ]

    def _advance(self, position: int, log_sum_exp: "_LogSumExp") -> Tensor:
        """Add one token to every open beam, and set finished sequences and documents aside.

        Returns:
            Whether every log-sum-exp was valid, a scalar.
        """
        search, last = self._search, position + 1 == self._search.max_new_tokens
        logits_RV = self._decoder(self._open.tokens[..., position].flatten(), position, self._state)
        logits_RV = logits_RV.float()
        # As in transformers, repeats are banned after normalisation: banned tokens keep their share of the probability.
        total_R, valid = log_sum_exp(logits_RV, self._scratch_RV[: len(logits_RV)])
        _ban_repeats(logits_RV, self._open.tokens[..., : position + 1].flatten(0, 1), search.no_repeat_ngram)
        scores_BC, parent_BC, token_BC = _continuations(logits_RV, total_R, self._open.scores, 2 * search.beams)
        tokens_BCL = _take(self._open.tokens, parent_BC)
        tokens_BCL[..., position + 1] = token_BC
        # In the last step every sequence counts as finished, since it cannot go on.
        ends_BC = torch.ones_like(token_BC, dtype=torch.bool) if last else token_BC == search.end
        # As in transformers, a sequence finishes only if it is among the K best continuations. The search looks at
        # 2 * K of them because at most K can end (one per beam), so K are always left to go on.
        whole_BC = ends_BC.clone()
        whole_BC[:, search.beams :] = False
        length_factor = float(position + 1) ** search.length_penalty
        self._finished.keep_best(tokens_BCL, (scores_BC / length_factor).masked_fill(~whole_BC, _NEVER), whole_BC)
        self._open.scores, chosen_BK = torch.topk(scores_BC + ends_BC * _NEVER, search.beams)
        self._open.tokens = _take(tokens_BCL, chosen_BK)
        # As in transformers, a document is done once it has K finished sequences and (without early stopping) its best
        # open beam, normalised by the present length, does not score above the worst of them.
        hopeful_B = self._open.scores[:, 0] / length_factor > self._finished.scores.amin(dim=1)
        open_B = (~self._finished.whole.all(dim=1) | hopeful_B & (not search.early_stopping)) & (not last)
        width = len(logits_RV) // len(self.documents)
        first_row_B1 = torch.arange(0, len(logits_RV), width, device=open_B.device)[:, None]
        self._go_on((parent_BC.gather(1, chosen_BK) + first_row_B1), open_B, position + 1)
        return valid

    def _go_on(self, row_BK: Tensor, open_B: Tensor, length: int) -> None:
        """Give each open beam the decoder state of its parent row; finished documents leave the batch."""
        flags = open_B.tolist()
        for at, document in enumerate(self.documents):
            if not flags[at]:
                self._done[document] = self._finished.tokens[at], self._finished.scores[at]
        if not all(flags):
            self.documents = [document for document, is_open in zip(self.documents, flags, strict=True) if is_open]
            # The open ones, in their order; nonzero() would wait for the GPU to learn their number.
            still_B = torch.argsort(~open_B, stable=True)[: len(self.documents)]
            self._open.select(still_B)
            self._finished.select(still_B)
            self._state.select_documents(still_B)
            row_BK = row_BK[still_B]
        if self.documents:
            self._state.select_rows(row_BK.flatten(), length)


def _take(tokens_BCL: Tensor, chosen_BK: Tensor) -> Tensor:
    return tokens_BCL.gather(1, chosen_BK[..., None].expand(-1, -1, tokens_BCL.shape[2]))


def _continuations(logits_RV: Tensor, total_R: Tensor, scores_BW: Tensor, wanted: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return score, parent beam and token of the C best continuations of each document, best first, each (B, C).

    Args:
        logits_RV: Logits of the next token.
        total_R: Their log-sum-exp, before repeats were banned.
        scores_BW: Scores of the open beams.
        wanted: Number of continuations C.
    """
    documents, width = scores_BW.shape
    total_BW = total_R.view(documents, width)
    # The C best tokens are all in the C blocks with the best maxima: for every token of another block there are C
    # maxima at least as good. So one cheap pass finds the blocks, and topk runs on C blocks instead of W * V tokens.
    blocks_BNV = logits_RV.view(documents, -1, VOCABULARY_BLOCK)
    best_BWN = blocks_BNV.amax(dim=-1).view(documents, width, -1)
    best_BN = (best_BWN - total_BW[..., None] + scores_BW[..., None]).view(documents, -1)
    _, block_BC = torch.topk(best_BN, min(wanted, best_BN.shape[1]), sorted=False)
    inside = blocks_BNV.gather(1, block_BC[..., None].expand(-1, -1, VOCABULARY_BLOCK))
    per_row = logits_RV.shape[1] // VOCABULARY_BLOCK
    parents = block_BC // per_row
    scores = (inside - total_BW.gather(1, parents)[..., None] + scores_BW.gather(1, parents)[..., None]).flatten(1)
    scores_BC, at_BC = torch.topk(scores, wanted)
    chosen_block = at_BC // VOCABULARY_BLOCK
    parent_BC = parents.gather(1, chosen_block)
    token_BC = block_BC.gather(1, chosen_block) % per_row * VOCABULARY_BLOCK + at_BC % VOCABULARY_BLOCK
    return scores_BC, parent_BC, token_BC


_LogSumExp = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]


def _fast_log_sum_exp(logits_RV: Tensor, scratch_RV: Tensor) -> tuple[Tensor, Tensor]:
    """Return the log-sum-exp of each row, shape (R,), and whether all of them are valid, a scalar.

    The logits of a trained network are small enough to sum their exponentials directly, without subtracting the
    maximum. With a preallocated buffer this takes half the time.
    """
    torch.exp(logits_RV, out=scratch_RV)
    total_R = scratch_RV.sum(dim=-1)
    return total_R.log(), ((total_R > _SMALLEST_SUM) & (total_R < _LARGEST_SUM)).all()


def _safe_log_sum_exp(logits_RV: Tensor, scratch_RV: Tensor) -> tuple[Tensor, Tensor]:
    """Return the log-sum-exp of each row, shape (R,), for logits of any size."""
    return torch.logsumexp(logits_RV, dim=-1), torch.ones((), dtype=torch.bool, device=logits_RV.device)


def _ban_repeats(logits_RV: Tensor, tokens_RL: Tensor, size: int) -> None:
    """Set the logits of tokens that would repeat an n-gram of their row to ``-inf``, in place."""
    length = tokens_RL.shape[1]
    if not size or length < size:
        return
    windows_RNS = tokens_RL.unfold(1, size, 1)
    same_RN = (windows_RNS[..., :-1] == tokens_RL[:, None, length + 1 - size :]).all(dim=-1)
    # Adding 0 leaves the other tokens as they are; nonzero() would wait for the GPU.
    penalty_RN = torch.zeros(same_RN.shape, device=logits_RV.device).masked_fill_(same_RN, -torch.inf)
    logits_RV.scatter_add_(1, windows_RNS[..., -1], penalty_RN)


def _sequence(tokens: list[int], score: float, end: int) -> Sequence:
    del tokens[0]  # the start token
    return Sequence(tokens[: tokens.index(end)] if end in tokens else tokens, score)
