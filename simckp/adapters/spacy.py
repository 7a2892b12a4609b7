"""A component for spaCy pipelines: ``nlp.add_pipe("simckp", config={"model": "models/simckp"})``."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.util import minibatch

from simckp.data.records import KINDS, Kind
from simckp.prediction import DEFAULT_MODEL

if TYPE_CHECKING:  # spaCy imports this module to list its factories; that must not load the networks
    from simckp.prediction.predictor import KeyphrasePredictor, Keyphrases

NAME = "simckp"
DEFAULTS = {"model": DEFAULT_MODEL, "top": None, "min_probability": None, "kinds": list(KINDS)}


class KeyphraseComponent:
    """Sets ``doc._.keyphrases`` (records of phrase, kind, score, character spans) and ``doc.spans["keyphrases"]``.

    ``doc.spans`` has only the spans that begin and end at token boundaries of the document; the records have all
    spans. The tags of the spaCy pipeline are not used, since the model needs the tagger that it was trained with.

    Args:
        predictor: Predicts the keyphrases.
        top: See :meth:`~simckp.prediction.predictor.KeyphrasePredictor.__call__`.
        min_probability: See the same method.
        kinds: See the same method.
    """

    def __init__(
        self, predictor: "KeyphrasePredictor", *, top: int | None, min_probability: float | None, kinds: Sequence[Kind]
    ) -> None:
        self._predictor = predictor
        self._options: dict[str, Any] = {"top": top, "min_probability": min_probability, "kinds": kinds}
        if not Doc.has_extension("keyphrases"):
            Doc.set_extension("keyphrases", default=[])

    def __call__(self, doc: Doc) -> Doc:
        """Set the keyphrases of one document."""
        return _set(doc, self._predictor(doc.text, **self._options))

    def pipe(self, stream: Iterator[Doc], *, batch_size: int) -> Iterator[Doc]:
        """Set the keyphrases of many documents, ``batch_size`` at a time."""
        for docs in minibatch(stream, size=batch_size):
            predicted = self._predictor([doc.text for doc in docs], batch_size=batch_size, **self._options)
            for doc, keyphrases in zip(docs, predicted, strict=True):
                yield _set(doc, keyphrases)


@Language.factory(NAME, default_config=DEFAULTS, assigns=["doc._.keyphrases", "doc.spans"])  # type: ignore[untyped-decorator]
def make_component(
    nlp: Language, name: str, model: str, top: int | None, min_probability: float | None, kinds: list[Kind]
) -> KeyphraseComponent:
    """Return the component with a model from a folder or from the hub."""
    from simckp.prediction.predictor import KeyphrasePredictor

    predictor = KeyphrasePredictor.from_pretrained(model)
    return KeyphraseComponent(predictor, top=top, min_probability=min_probability, kinds=kinds)


def _set(doc: Doc, keyphrases: "Keyphrases") -> Doc:
    doc._.keyphrases = [
        {"phrase": phrase["surface"], "kind": phrase["kind"], "score": phrase["score"], "spans": phrase["spans"]}
        for phrase in keyphrases.phrases
    ]
    spans: list[Span | None] = [
        doc.char_span(span["start"], span["end"], label="keyphrase") for p in keyphrases.phrases for span in p["spans"]
    ]
    doc.spans["keyphrases"] = sorted(filter(None, spans), key=lambda span: (span.start, span.end))
    return doc
