"""Baselines: unsupervised keyphrase extractors from maintained libraries.

Each ranks the phrases of a text; thresholds, best-five rule and evaluation are the same as for the networks.
"""

import importlib
import math
import re
from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

from simckp.data import datasets
from simckp.data.records import Document, Scored, ScoredPhrase, Span
from simckp.errors import SimCKPError
from simckp.language import ENGLISH, spoken, stop_words
from simckp.text import StemmedText, scoring_key, single_spaced, split_by_presence, stems

Ranked = list[tuple[str, float]]
Ranker = Callable[[list[str]], list[Ranked]]
_KEPT = 50
_MAX_WORDS = 3


def score_baseline(documents: list[Document], *, name: str, training: Path, spacy_model: str) -> list[Scored]:
    """Return two rows of the ``scores`` data set per document: the present phrases, and an empty row of absent ones.

    Args:
        documents: The documents; their keyphrases give the labels.
        name: ``tfidf``, ``yake``, ``keybert`` or ``textrank``.
        training: Folder of the training documents; ``tfidf`` uses their document frequencies.
        spacy_model: spaCy pipeline that ``textrank`` uses.

    Raises:
        SimCKPError: The baseline's library is not installed.
    """
    ranked = _ranker(name, training, spacy_model)([document["text"] for document in documents])
    return [row for document, phrases in zip(documents, ranked, strict=True) for row in _scored(document, phrases)]


def _scored(document: Document, ranked: Ranked) -> list[Scored]:
    text = StemmedText(stems(document["text"]))
    present_gold, absent_gold = split_by_presence(document["keyphrases"], text)
    gold = {scoring_key(phrase) for phrase in present_gold}
    score_of = dict(reversed(ranked))  # if a phrase is listed twice, the first score counts
    present, _ = split_by_presence((surface for surface, _ in ranked), text)
    phrases = [
        ScoredPhrase(
            key=key,
            surface=single_spaced(surface),
            score=score_of[surface],
            label=key in gold,
            spans=_occurrences(surface, document["text"]),
        )
        for surface in present[:_KEPT]
        for key in (scoring_key(surface),)
    ]
    kinds: list[tuple[str, list[ScoredPhrase], int]] = [
        ("present", phrases, len(present_gold)),
        ("absent", [], len(absent_gold)),
    ]
    return [
        Scored(id=document["id"], kind=kind, phrases=scored, targets=targets, truncated=False, unscored=0)
        for kind, scored, targets in kinds
    ]


def _occurrences(surface: str, text: str) -> list[Span]:
    """Return the spans of a phrase in a text; case, and white space between words, are ignored."""
    pattern = r"\s+".join(map(re.escape, surface.split()))
    matches = re.finditer(rf"(?<!\w){pattern}(?!\w)", text, re.IGNORECASE)
    return [{"start": match.start(), "end": match.end()} for match in matches]


@lru_cache(maxsize=4)
def _ranker(name: str, training: Path, spacy_model: str) -> Ranker:
    """Cache a ranker of a worker process, so that it is made once for all pieces."""
    if name == "tfidf":
        return _tfidf(training)
    if name == "textrank":
        return _textrank(spacy_model)
    return {"yake": _yake, "keybert": _keybert}[name]()


def _library(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise SimCKPError(f"baselines: {module} is not installed (pip install 'simckp[baselines]')") from error


def _stop_words() -> str | list[str]:
    """Return scikit-learn's own list for English, and spaCy's for other languages."""
    return "english" if spoken().code == ENGLISH else sorted(stop_words(spoken().code))


def _tfidf(training: Path) -> Ranker:
    """TF-IDF of word n-grams without stop words (scikit-learn), with document frequencies of the training set.

    An n-gram that is not in the training set has document frequency 0.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer

    texts = [row["text"] for row in datasets.read_dataset(training, name="documents")]
    vectorizer = TfidfVectorizer(ngram_range=(1, _MAX_WORDS), stop_words=_stop_words()).fit(texts)
    known = dict(zip(vectorizer.get_feature_names_out().tolist(), vectorizer.idf_.tolist(), strict=True))
    unknown, n_grams = math.log(1 + len(texts)) + 1.0, vectorizer.build_analyzer()

    def rank(text: str) -> Ranked:
        counts = Counter(n_grams(text))
        weights = ((phrase, (1.0 + math.log(n)) * known.get(phrase, unknown)) for phrase, n in counts.items())
        return sorted(weights, key=lambda pair: (-pair[1], pair[0]))

    return lambda batch: list(map(rank, batch))


def _yake() -> Ranker:
    """YAKE (Campos et al. 2020) with its default settings; scores are negated, since lower ones are better in YAKE."""
    extractor = _library("yake").KeywordExtractor(lan=spoken().code, n=_MAX_WORDS, top=_KEPT)
    return lambda batch: [[(phrase, -float(score)) for phrase, score in extractor.extract_keywords(t)] for t in batch]


def _keybert() -> Ranker:
    """KeyBERT (Grootendorst 2020): cosine similarity of n-grams and text, both embedded by the packaged MiniLM."""
    from simckp.networks.backbones import PACKAGED, locate  # imports torch, which the other baselines do not need

    encoder = _library("sentence_transformers").SentenceTransformer(locate(PACKAGED))
    model = _library("keybert").KeyBERT(encoder)

    def rank(batch: list[str]) -> list[Ranked]:
        return [
            model.extract_keywords(text, keyphrase_ngram_range=(1, _MAX_WORDS), stop_words=_stop_words(), top_n=_KEPT)
            if text.strip()
            else []
            for text in batch
        ]

    return rank


def _textrank(spacy_model: str) -> Ranker:
    """TextRank (Mihalcea and Tarau 2004) as in pytextrank: noun chunks ranked by a graph of their lemmas."""
    _library("pytextrank")
    pipeline = _library("spacy").load(spacy_model)
    pipeline.add_pipe("textrank")
    return lambda batch: [
        [(phrase.text, float(phrase.rank)) for phrase in parsed._.phrases] for parsed in pipeline.pipe(batch)
    ]
