"""A decoder that advances all beams by one token, with the weights of a BART or BERT decoder.

The beams of a document share the encoder's keys and values, which are computed once; only the keys and values of
self-attention are stored per beam. Both families are the same network (Vaswani et al. 2017, layer norm after each
block).

Shapes: B documents, K beams, R = B * K rows (B in the first step), N layers, T source tokens, L new tokens, H heads,
D hidden size, V vocabulary (padded to a multiple of :data:`VOCABULARY_BLOCK` with tokens of probability 0).
"""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from simckp.errors import SimCKPError

VOCABULARY_BLOCK = 64
IMPOSSIBLE = -1.0e9
Precision = Literal["float32", "bfloat16", "int8"]


class QuantisedLinear(nn.Module):
    """A linear layer with 8-bit weights (one scale per output) and activations (one scale per row), on the CPU.

    Every row is scaled by itself, so its result does not depend on the other rows.

    Raises:
        SimCKPError: This build of torch has no 8-bit product of matrices.
    """

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        weight_VD = linear.weight.detach().float()
        self.scale_V = weight_VD.abs().amax(dim=1).clamp(min=1e-8) / 127.0
        self.weight_VD = (weight_VD / self.scale_V[:, None]).round().to(torch.int8)
        self.out_features = len(weight_VD)
        self.bias_V = weight_VD.new_zeros(len(weight_VD)) if linear.bias is None else linear.bias.detach().float()
        try:
            self(weight_VD[:1])
        except (AttributeError, RuntimeError) as error:
            raise SimCKPError(f"generation.precision: this torch has no 8-bit kernels ({error})") from error

    def take(self, outputs_S: Tensor) -> "QuantisedLinear":
        """Return the layer with some of its outputs, padded to a whole number of blocks."""
        taken = copy.copy(self)  # the tensors are replaced, not changed
        padding = (0, -len(outputs_S) % VOCABULARY_BLOCK)
        taken.out_features = len(outputs_S) + padding[1]
        taken.scale_V = functional.pad(self.scale_V[outputs_S], padding)
        taken.weight_VD = functional.pad(self.weight_VD[outputs_S], (0, 0, *padding))
        taken.bias_V = functional.pad(self.bias_V[outputs_S], padding, value=IMPOSSIBLE)
        return taken

    def forward(self, input_RD: Tensor) -> Tensor:
        """Return the layer's output in float32, shape (R, V)."""
        scale_R1 = input_RD.abs().amax(dim=1, keepdim=True).clamp(min=1e-8) / 127.0
        rounded_RD = (input_RD / scale_R1).round_().to(torch.int8)
        product_RV = torch._int_mm(rounded_RD, self.weight_VD.T).float()
        return torch.addcmul(self.bias_V, product_RV.mul_(scale_R1), self.scale_V)


Linear = nn.Linear | QuantisedLinear


@dataclass(slots=True)
class State:
    """Buffers that the steps of a search share.

    Attributes:
        cross: Keys and values of the encoder states for each layer, each (B, H, T, D/H).
        cross_mask: Added to the attention scores, (B, 1, 1, T); None if no token is padding.
        own: Keys and values of the tokens so far for each layer, (N, 2, L, R, D).
        spare: A second buffer like ``own``; the two take turns, because allocating memory would cost more than the
            copy.
        logits: Buffer of the output layer, (B * K, V).
        shortlist: The only tokens that the decoder can choose, (S,); None for the whole vocabulary. With a shortlist,
            all token ids of the search are positions in it, and V is S, padded to whole blocks.
        output: The output layer for the shortlist, D to V.
    """

    cross: list[tuple[Tensor, Tensor]]
    cross_mask: Tensor | None
    own: Tensor
    spare: Tensor
    logits: Tensor
    shortlist: Tensor | None = None
    output: Linear | None = None

    def select_rows(self, rows_R: Tensor, length: int) -> None:
        """Give each row the first ``length`` tokens of the row in ``rows_R``; a row may be used many times or never."""
        if len(rows_R) != self.spare.shape[3]:
            self.spare = self.own.new_empty(*self.own.shape[:3], len(rows_R), self.own.shape[4])
        # L comes before R in the layout, so the tokens so far are one contiguous slice and the rest is not copied.
        for old, new in zip(self.own.flatten(0, 1), self.spare.flatten(0, 1), strict=True):
            torch.index_select(old[:length], 1, rows_R, out=new[:length])
        self.own, self.spare = self.spare, self.own

    def select_documents(self, documents_B: Tensor) -> None:
        """Keep only the encoder's keys and values of these documents."""
        self.cross = [(keys[documents_B], values[documents_B]) for keys, values in self.cross]
        self.cross_mask = None if self.cross_mask is None else self.cross_mask[documents_B]


class Layer(nn.Module):
    """A decoder layer.

    Args:
        parts: The layer's modules by name. Self-attention (``own_``) and cross-attention (``cross_``) have ``query``,
            ``key``, ``value``, ``out`` and ``norm``; the feed-forward network has ``inner``, ``activation``, ``outer``
            and ``last_norm``.
        heads: Number of attention heads.
        convert: Replaces a linear layer by one of another precision.
    """

    def __init__(self, parts: dict[str, Any], heads: int, convert: Callable[[nn.Linear], Linear]) -> None:
        super().__init__()
        self.heads = heads
        # Not converted to 8 bits: it runs only once per document, so that would save little time.
        self.cross_kv = _joined(parts["cross_key"], parts["cross_value"])
        # One product for query, key and value: with few rows, three separate calls would take longer.
        self.own_qkv = convert(_joined(*(parts[f"own_{name}"] for name in ("query", "key", "value"))))
        self.own_out, self.own_norm = convert(parts["own_out"]), parts["own_norm"]
        self.cross_query = convert(parts["cross_query"])
        self.cross_out, self.cross_norm = convert(parts["cross_out"]), parts["cross_norm"]
        self.feed_forward = nn.Sequential(convert(parts["inner"]), parts["activation"], convert(parts["outer"]))
        self.last_norm = parts["last_norm"]

    def cross_keys_values(self, hidden_BTD: Tensor) -> tuple[Tensor, Tensor]:
        """Return the keys and values that all beams of a document share, each (B, H, T, D/H)."""
        keys, values = self.cross_kv(hidden_BTD).chunk(2, dim=-1)
        return self._by_head(keys).contiguous(), self._by_head(values).contiguous()

    def forward(self, hidden_RD: Tensor, state: State, index: int, position: int) -> Tensor:
        """Return the layer's output for the token at ``position`` of every row, shape (R, D)."""
        query_RD, key_RD, value_RD = self.own_qkv(hidden_RD).chunk(3, dim=-1)
        keys_LRD, values_LRD = state.own[index].unbind()
        keys_LRD[position], values_LRD[position] = key_RD, value_RD
        keys_RHLd, values_RHLd = (
            self._by_head(past_LRD[: position + 1].transpose(0, 1)) for past_LRD in (keys_LRD, values_LRD)
        )
        own_RD = self._attend(query_RD[:, None], keys_RHLd, values_RHLd, None)[:, 0]
        hidden_RD = self.own_norm(hidden_RD + self.own_out(own_RD))

        # The beams of a document are K queries to the same keys, which therefore need not be repeated K times.
        keys_BHTd, values_BHTd = state.cross[index]
        query_BKD = self.cross_query(hidden_RD).view(len(keys_BHTd), -1, hidden_RD.shape[1])
        cross_RD = self._attend(query_BKD, keys_BHTd, values_BHTd, state.cross_mask).flatten(0, 1)
        hidden_RD = self.cross_norm(hidden_RD + self.cross_out(cross_RD))
        last: Tensor = self.last_norm(hidden_RD + self.feed_forward(hidden_RD))
        return last

    def _by_head(self, states_BTD: Tensor) -> Tensor:
        return states_BTD.reshape(*states_BTD.shape[:2], self.heads, -1).transpose(1, 2)

    def _attend(self, query_BQD: Tensor, keys_BHTd: Tensor, values_BHTd: Tensor, mask: Tensor | None) -> Tensor:
        query_BHQd = self._by_head(query_BQD)
        mixed = functional.scaled_dot_product_attention(query_BHQd, keys_BHTd, values_BHTd, attn_mask=mask)
        return mixed.transpose(1, 2).flatten(2)


class StepDecoder(nn.Module):
    """A decoder that advances all rows by one token.

    Args:
        embed: Maps tokens (R,) and their position to hidden states (R, D).
        layers: The decoder's layers.
        transform: Maps the last hidden states to the input of the output layer.
        output: The output layer, D to V.
        bridge: Maps the encoder's states to the input of cross-attention.
        convert: Replaces a linear layer by one of another precision.
    """

    def __init__(
        self,
        *,
        embed: nn.Module,
        layers: list[Layer],
        transform: nn.Module,
        output: nn.Linear,
        bridge: nn.Module,
        convert: Callable[[nn.Linear], Linear],
    ) -> None:
        super().__init__()
        self.embed, self.layers, self.transform, self.bridge = embed, nn.ModuleList(layers), transform, bridge
        self.output: Linear = convert(output)
        self.vocabulary = output.out_features
        # Tokens from here on only fill up the last block. If all other biases are zero, none is added: the forward pass
        # then sets the logits of the filling tokens, which saves a pass over all logits.
        self.real = int((output.bias > IMPOSSIBLE).sum())
        self.biased = bool(output.bias[: self.real].any())

    def start(
        self, hidden_BTD: Tensor, mask_BT: Tensor, *, length: int, beams: int, shortlist: Tensor | None = None
    ) -> State:
        """Return the state before the first of at most ``length`` tokens, with one row per document."""
        hidden_BTD = self.bridge(hidden_BTD)
        mask = None
        if not mask_BT.all():
            lowest = torch.finfo(hidden_BTD.dtype).min
            mask = hidden_BTD.new_zeros(mask_BT.shape).masked_fill(mask_BT == 0, lowest)[:, None, None, :]
        own = hidden_BTD.new_empty(len(self.layers), 2, length, len(hidden_BTD), hidden_BTD.shape[2])
        output: Linear | None = None
        if shortlist is not None:
            output = self.output
            if isinstance(output, QuantisedLinear):
                output = output.take(shortlist)
            else:
                output = _filled_up(output.weight[shortlist], output.bias[shortlist])
        return State(
            cross=[layer.cross_keys_values(hidden_BTD) for layer in self.layers],  # type: ignore[operator]
            cross_mask=mask,
            own=own,
            spare=own.new_empty(0, 2, 0, 0, 0),
            logits=own.new_empty(len(hidden_BTD) * beams, (output or self.output).out_features),
            shortlist=shortlist,
            output=output,
        )

    def forward(self, tokens_R: Tensor, position: int, state: State) -> Tensor:
        """Return the logits of the tokens that follow ``tokens_R``, which are at ``position``; shape (R, V).

        They are valid until the next call, which may reuse the buffer.
        """
        hidden_RD = self.embed(tokens_R if state.shortlist is None else state.shortlist[tokens_R], position)
        for index, layer in enumerate(self.layers):
            hidden_RD = layer(hidden_RD, state, index, position)
        hidden_RD = self.transform(hidden_RD)
        output = self.output if state.output is None else state.output
        if not isinstance(output, nn.Linear):
            return output(hidden_RD)  # type: ignore[no-any-return]
        logits_RV = state.logits[: len(hidden_RD)]
        if self.biased or state.output is not None:
            return torch.addmm(output.bias, hidden_RD, output.weight.T, out=logits_RV)
        torch.mm(hidden_RD, output.weight.T, out=logits_RV)
        logits_RV[:, self.real :] = IMPOSSIBLE
        return logits_RV


def step_decoder(backbone: Any, precision: Precision) -> StepDecoder | None:
    """Return the decoder of a network as a :class:`StepDecoder`, or None if its architecture is not supported.

    Args:
        backbone: A ``transformers`` encoder-decoder in evaluation mode.
        precision: Precision of the weights; ``int8`` works on the CPU only.

    Raises:
        SimCKPError: ``int8`` is chosen and the network is not on the CPU, or this torch has no 8-bit kernels.
    """
    parts = _PARTS.get(type(getattr(backbone, "decoder", None)).__name__) or _PARTS.get(type(backbone).__name__)
    if parts is None:
        return None
    if precision == "int8" and backbone.device.type != "cpu":
        raise SimCKPError("generation.precision: int8 is for the CPU; use bfloat16 on a GPU")
    decoder = parts(backbone, QuantisedLinear if precision == "int8" else _unchanged)
    # Most weights are shared with the backbone, so they are copied before they are converted in place.
    return copy.deepcopy(decoder).to(torch.bfloat16) if precision == "bfloat16" else decoder


class _BartEmbedding(nn.Module):
    def __init__(self, decoder: Any) -> None:
        super().__init__()
        self.tokens, self.positions, self.norm = (
            decoder.embed_tokens,
            decoder.embed_positions,
            decoder.layernorm_embedding,
        )

    def forward(self, tokens_R: Tensor, position: int) -> Tensor:
        place = self.positions.weight[position + self.positions.offset]
        return self.norm(self.tokens(tokens_R) + place)  # type: ignore[no-any-return]


def _bart(backbone: Any, convert: Callable[[nn.Linear], Linear]) -> StepDecoder:
    decoder = backbone.model.decoder
    layers = []
    for layer in decoder.layers:
        own, cross = layer.self_attn, layer.encoder_attn
        parts = {
            **{f"own_{name}": getattr(own, f"{name[0]}_proj") for name in ("query", "key", "value")},
            **{f"cross_{name}": getattr(cross, f"{name[0]}_proj") for name in ("query", "key", "value")},
            "own_out": own.out_proj,
            "cross_out": cross.out_proj,
            "inner": layer.fc1,
            "outer": layer.fc2,
            "own_norm": layer.self_attn_layer_norm,
            "cross_norm": layer.encoder_attn_layer_norm,
            "last_norm": layer.final_layer_norm,
            "activation": layer.activation_fn,
        }
        layers.append(Layer(parts, decoder.config.decoder_attention_heads, convert))
    return StepDecoder(
        embed=_BartEmbedding(decoder),
        layers=layers,
        transform=nn.Identity(),
        output=_filled_up(backbone.lm_head.weight, backbone.final_logits_bias[0]),
        bridge=nn.Identity(),
        convert=convert,
    )


class _BertEmbedding(nn.Module):
    def __init__(self, embeddings: Any) -> None:
        super().__init__()
        self.tokens, self.positions = embeddings.word_embeddings, embeddings.position_embeddings
        self.kinds, self.norm = embeddings.token_type_embeddings, embeddings.LayerNorm

    def forward(self, tokens_R: Tensor, position: int) -> Tensor:
        place = self.positions.weight[position] + self.kinds.weight[0]
        return self.norm(self.tokens(tokens_R) + place)  # type: ignore[no-any-return]


def _bert(backbone: Any, convert: Callable[[nn.Linear], Linear]) -> StepDecoder:
    decoder = backbone.decoder
    layers = []
    for layer in decoder.bert.encoder.layer:
        own, cross = layer.attention, layer.crossattention
        parts = {
            **{f"own_{name}": getattr(own.self, name) for name in ("query", "key", "value")},
            **{f"cross_{name}": getattr(cross.self, name) for name in ("query", "key", "value")},
            "own_out": own.output.dense,
            "cross_out": cross.output.dense,
            "inner": layer.intermediate.dense,
            "outer": layer.output.dense,
            "own_norm": own.output.LayerNorm,
            "cross_norm": cross.output.LayerNorm,
            "last_norm": layer.output.LayerNorm,
            "activation": layer.intermediate.intermediate_act_fn,
        }
        layers.append(Layer(parts, decoder.config.num_attention_heads, convert))
    last = decoder.cls.predictions
    transform = last.transform
    return StepDecoder(
        embed=_BertEmbedding(decoder.bert.embeddings),
        layers=layers,
        transform=nn.Sequential(convert(transform.dense), transform.transform_act_fn, transform.LayerNorm),
        output=_filled_up(last.decoder.weight, last.decoder.bias),
        bridge=getattr(backbone, "enc_to_dec_proj", None) or nn.Identity(),
        convert=convert,
    )


_PARTS = {"BartForConditionalGeneration": _bart, "BertLMHeadModel": _bert}


def _unchanged(linear: nn.Linear) -> Linear:
    return linear


def _linear(weight: Tensor, bias: Tensor | None) -> nn.Linear:
    linear = nn.Linear(weight.shape[1], weight.shape[0], bias=bias is not None, device="meta")
    linear.weight = nn.Parameter(weight, requires_grad=False)
    if bias is not None:
        linear.bias = nn.Parameter(bias, requires_grad=False)
    return linear


def _joined(*linears: nn.Linear) -> nn.Linear:
    biases = [linear.bias for linear in linears if linear.bias is not None]
    weight = torch.cat([linear.weight.detach() for linear in linears])
    return _linear(weight, torch.cat([bias.detach() for bias in biases]) if biases else None)


def _filled_up(weight_VD: Tensor, bias_V: Tensor) -> nn.Linear:
    """Return the output layer, padded with tokens of probability 0 to a whole number of blocks."""
    missing = -len(weight_VD) % VOCABULARY_BLOCK
    weight = functional.pad(weight_VD.detach(), (0, 0, 0, missing))
    return _linear(weight, functional.pad(bias_V.detach(), (0, missing), value=IMPOSSIBLE))
