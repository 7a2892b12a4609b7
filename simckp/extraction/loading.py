"""Create and load the networks of stage 1: the paper's network and those of its ablations."""

from pathlib import Path

from transformers import AutoModelForSeq2SeqLM

from simckp.extraction.ablations import BinaryClassifier, GeneratorAlone, SequenceLabeller
from simckp.extraction.extractor import ExtractorGenerator
from simckp.networks.backbones import check_length, load_seq2seq, load_tokenizer, load_trained
from simckp.networks.settings import EXTRACTOR_SETTINGS, read_settings
from simckp.networks.tokenization import Tokenizer
from simckp.params import ExtractorSettings

METHODS: dict[str, type[ExtractorGenerator]] = {
    "contrastive": ExtractorGenerator,
    "binary_classification": BinaryClassifier,
    "sequence_labelling": SequenceLabeller,
    "generation": GeneratorAlone,
}


def new_extractor(
    backbone: str,
    settings: ExtractorSettings,
    *,
    decoder_layers: int | None,
    contrastive_weight: float = 0.3,
) -> ExtractorGenerator:
    """Return an untrained network of stage 1 with a pretrained backbone.

    Args:
        backbone: A hub id, a local folder, or ``minilm``.
        settings: Method, pooling, temperature, negatives, lengths.
        decoder_layers: See :func:`simckp.networks.backbones.load_seq2seq`.
        contrastive_weight: Lambda of eq. 5.

    Raises:
        SimCKPError: The backbone cannot be loaded, or reads fewer than ``settings.max_source_tokens`` tokens.
    """
    tokenizer = load_tokenizer(backbone)
    network = load_seq2seq(backbone, tokenizer, decoder_layers=decoder_layers)
    check_length("extractor.max_source_tokens", settings.max_source_tokens, network.get_encoder())
    return METHODS[settings.method](
        network, Tokenizer(tokenizer, settings.max_source_tokens), settings, contrastive_weight=contrastive_weight
    )


def load_extractor(folder: Path) -> ExtractorGenerator:
    """Return a trained network of stage 1 that :meth:`ExtractorGenerator.save` wrote, in evaluation mode.

    Raises:
        SimCKPError: The folder does not hold the settings or tokenizer of such a network.
    """
    settings = read_settings(folder / EXTRACTOR_SETTINGS, ExtractorSettings)
    tokenizer = Tokenizer(load_tokenizer(str(folder)), settings.max_source_tokens)
    model = METHODS[settings.method](load_trained(folder, AutoModelForSeq2SeqLM), tokenizer, settings)
    model.load_heads(folder)
    return model.eval()
