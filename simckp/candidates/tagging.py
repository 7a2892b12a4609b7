"""Part-of-speech taggers by name: words with code point offsets and tags.

Tags are those of the Penn Treebank for English, and of Universal Dependencies for other languages.
"""

import json
import re
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, Protocol

from simckp.candidates.alignment import Word, align_words, code_point_offsets
from simckp.data.records import Document, Tagged
from simckp.errors import SimCKPError
from simckp.language import ENGLISH, spoken
from simckp.params import Tagger

_CORENLP_TIMEOUT_SECONDS = 120.0
_SPACY_BATCH = 32
_DOCUMENTS_A_VOCABULARY = 50_000
# What makes Penn's tags, and what makes universal ones.
_SPACY_COMPONENTS = {
    True: ("tok2vec", "transformer", "tagger"),
    False: ("tok2vec", "transformer", "tagger", "morphologizer", "attribute_ruler"),
}
# Longer than any word, with few exceptions; each of these has the parts that follow as words.
_LONG_RUN = re.compile(r"\S{200,}")
_PARTS_OF_RUN = re.compile(r"\w+|[^\w\s]{33,}|[^\w\s]")


class WordTagger(Protocol):
    """Turns texts into tagged words."""

    def tag(self, texts: Iterable[str]) -> Iterator[list[Word]]:
        """Yield the list of words of each text, in order; white space alone is not a word."""
        ...


class SpacyTagger:
    """spaCy's tagger; components that tagging does not need are removed.

    Raises:
        SimCKPError: The model is not installed, has no tagger, or is for another language than the documents.
    """

    def __init__(self, model: str) -> None:
        self._model, self._tagged = model, 0
        self._pipeline = _load_spacy(model)

    def tag(self, texts: Iterable[str]) -> Iterator[list[Word]]:
        """Yield the words of each text."""
        from spacy.attrs import IDX, IS_SPACE, LENGTH, POS, TAG

        kind = TAG if self._pipeline.lang == ENGLISH else POS
        names = self._pipeline.vocab.strings
        for parsed in self._pipeline.pipe(self._counted(texts), batch_size=_SPACY_BATCH):
            rows = parsed.to_array([kind, IDX, LENGTH, IS_SPACE]).tolist()
            yield [Word(names[tag], start, start + length) for tag, start, length, space in rows if not space]
        if self._tagged >= _DOCUMENTS_A_VOCABULARY:
            # spaCy stores every word it has seen, so the pipeline is loaded anew to free memory. spaCy's memory zones
            # would do that too, but make tokenisation a third slower.
            self._pipeline, self._tagged = _load_spacy(self._model), 0

    def _counted(self, texts: Iterable[str]) -> Iterator[str]:
        for text in texts:
            self._tagged += 1
            yield text


class _BoundedTokenizer:
    """spaCy's tokenizer in linear time; it alone would split 10,000 brackets in a row in 40 s, 20,000 in 160 s.

    Long runs without white space are split here: into words and single marks, with many marks in a row as one word. An
    address stays whole.
    """

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer

    def __call__(self, text: str) -> Any:
        from spacy.tokens import Doc

        if not _LONG_RUN.search(text):
            return self._tokenizer(text)
        words: list[str] = []
        blanks: list[bool] = []

        def add(start: int, end: int) -> None:
            for token in self._tokenizer(text[start:end]):
                words.append(token.text)
                blanks.append(bool(token.whitespace_))

        position = 0
        for run in _LONG_RUN.finditer(text):
            add(position, run.start())
            parts = [run[0]] if "://" in run[0] else _PARTS_OF_RUN.findall(run[0])
            words += parts
            blanks += [False] * len(parts)
            position = run.end()
        add(position, len(text))
        return Doc(self._tokenizer.vocab, words=words, spaces=blanks)


def _load_spacy(model: str) -> Any:
    import spacy

    try:
        pipeline = spacy.load(model)
    except OSError as error:
        message = f"tagger.model: the spaCy model {model!r} is not installed ({error})"
        raise SimCKPError(message) from error
    if pipeline.lang != spoken().code:
        raise SimCKPError(
            f"tagger.model: the spaCy model {model!r} is for {pipeline.lang!r}, but language is {spoken().code!r}"
        )
    if not {"tagger", "morphologizer"}.intersection(pipeline.pipe_names):
        raise SimCKPError(f"tagger.model: the spaCy model {model!r} has no tagger")
    used = _SPACY_COMPONENTS[pipeline.lang == ENGLISH]
    unused = [name for name in pipeline.pipe_names if name not in used]
    for name in unused:
        pipeline.remove_pipe(name)
    # The limit on the text length protects the memory of parser and entity recogniser, which were removed.
    pipeline.max_length = 1 << 31
    pipeline.tokenizer = _BoundedTokenizer(pipeline.tokenizer)
    return pipeline


class CoreNLPTagger:
    """A Stanford CoreNLP server, the paper's tagger.

    The server is asked for offsets in code points (``tokenize.codepoint``); if it returns only UTF-16 offsets, they are
    converted. Words are cut from the text by offset, so a bracket stays a bracket and does not become ``-LRB-``.

    Raises:
        SimCKPError: The address is not http or https, the server cannot be reached, or its answer is not CoreNLP's
            JSON.
    """

    def __init__(self, url: str) -> None:
        properties = json.dumps(
            {"annotators": "tokenize,ssplit,pos", "outputFormat": "json", "tokenize.codepoint": "true"}
        )
        self._url = url
        self._request_url = f"{url.rstrip('/')}/?{urllib.parse.urlencode({'properties': properties})}"
        if urllib.parse.urlsplit(url).scheme not in ("http", "https"):
            raise SimCKPError(f"tagger.url: {url!r} is no http or https address")

    def tag(self, texts: Iterable[str]) -> Iterator[list[Word]]:
        """Yield the words of each text, with one request per text; no request is sent for an empty text."""
        for text in texts:
            yield self._words(text, self._annotate(text)) if text.strip() else []

    def _annotate(self, text: str) -> dict[str, Any]:
        request = urllib.request.Request(  # noqa: S310 (the scheme was checked)
            self._request_url, data=text.encode("utf-8"), headers={"Content-Type": "text/plain; charset=utf-8"}
        )
        try:
            with urllib.request.urlopen(request, timeout=_CORENLP_TIMEOUT_SECONDS) as response:  # noqa: S310
                answer = json.load(response)
        except urllib.error.HTTPError as error:
            detail = error.read(300).decode("utf-8", "replace").strip()
            raise SimCKPError(f"CoreNLP at {self._url} answered {error.code}: {detail}") from error
        except (OSError, json.JSONDecodeError, UnicodeDecodeError) as error:
            raise SimCKPError(f"CoreNLP at {self._url} cannot be used: {error}") from error
        if not isinstance(answer, dict) or not isinstance(answer.get("sentences"), list):
            raise SimCKPError(f"CoreNLP at {self._url} answered JSON without 'sentences'")
        return answer

    def _words(self, text: str, answer: dict[str, Any]) -> list[Word]:
        tokens = [token for sentence in answer["sentences"] for token in sentence.get("tokens", [])]
        try:
            if tokens and "codepointOffsetBegin" in tokens[0]:
                starts = [int(token["codepointOffsetBegin"]) for token in tokens]
                ends = [int(token["codepointOffsetEnd"]) for token in tokens]
            else:
                starts = code_point_offsets(text, [int(token["characterOffsetBegin"]) for token in tokens])
                ends = code_point_offsets(text, [int(token["characterOffsetEnd"]) for token in tokens])
            tags = [str(token["pos"]) for token in tokens]
        except (KeyError, ValueError) as error:
            raise SimCKPError(f"CoreNLP at {self._url} gave a token without usable offsets or tag: {error}") from error
        words = [Word(tag, start, end) for tag, start, end in zip(tags, starts, ends, strict=True)]
        return [word for word in words if word.start < word.end]


class NltkTagger:
    """NLTK's Treebank tokenizer and averaged perceptron tagger.

    Raises:
        SimCKPError: The tagger's data is not installed.
    """

    def __init__(self) -> None:
        from nltk.tag.perceptron import PerceptronTagger
        from nltk.tokenize import NLTKWordTokenizer

        try:
            self._tagger = PerceptronTagger()
        except LookupError as error:
            message = "tagger.name: NLTK's data 'averaged_perceptron_tagger_eng' is not installed (nltk.download)"
            raise SimCKPError(message) from error
        self._tokenizer = NLTKWordTokenizer()

    def tag(self, texts: Iterable[str]) -> Iterator[list[Word]]:
        """Yield the words of each text."""
        for text in texts:
            spans = list(self._tokenizer.span_tokenize(text))
            tagged = self._tagger.tag([text[start:end] for start, end in spans])
            yield [Word(str(tag), start, end) for (start, end), (_, tag) in zip(spans, tagged, strict=True)]


def load_tagger(settings: Tagger) -> WordTagger:
    """Return the tagger that the parameters name.

    Raises:
        SimCKPError: The tagger cannot be used; the message says what is missing.
    """
    if settings.name == "spacy":
        return SpacyTagger(settings.model)
    if settings.name == "nltk" and spoken().code != ENGLISH:
        raise SimCKPError(f"tagger.name: NLTK's tagger knows English alone, but language is {spoken().code!r}")
    if settings.name == "corenlp":
        return CoreNLPTagger(settings.url or "")
    return NltkTagger()


@lru_cache(maxsize=1)
def _loaded(settings: Tagger, language: str) -> WordTagger:
    """Cache the tagger of a worker process, so that it is loaded once for all pieces."""
    return load_tagger(settings)


def tag_documents(documents: list[Document], *, settings: Tagger) -> list[Tagged]:
    """Tag documents with the tagger that the settings name; see :func:`tagged_documents`."""
    return tagged_documents(documents, _loaded(settings, spoken().code))


def tagged_documents(documents: list[Document], tagger: WordTagger) -> list[Tagged]:
    """Tag documents and align the words with the text (see :mod:`simckp.candidates.alignment`)."""
    texts = [document["text"] for document in documents]
    tagged = []
    for document, text, words in zip(documents, texts, tagger.tag(texts), strict=True):
        joined = align_words(text, words)
        tagged.append(
            Tagged(
                id=document["id"],
                words=[text[word.start : word.end] for word in joined],
                tags=[word.tag for word in joined],
                starts=[word.start for word in joined],
                ends=[word.end for word in joined],
            )
        )
    return tagged
