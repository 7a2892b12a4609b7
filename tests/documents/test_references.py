"""BibTeX and RIS: what reference managers write is read, and nothing of it is lost without a word."""

import gzip
import io
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simckp.documents.cleaning import Cleaner, is_document
from simckp.documents.latex import plain_text
from simckp.documents.readers import RawDocument, corpus_files, identified
from simckp.documents.sources import STDIN
from simckp.errors import InputError
from tests.documents.test_readers import read, refusal, write
from tests.hostile import tried

ZOTERO = r"""
@article{muller_bert_2021,
	title = {{BERT} f{\"u}r {Stra{\ss}en}: a na{\"\i}ve {$\alpha$}-test},
	volume = {7},
	abstract = {We show that 50\% of R\&D is spent on \textit{graphs}.

A second paragraph -- with a dash.},
	language = {en},
	urldate = {2021-03-04},
	journal = {J. Test},
	author = {M{\"u}ller, K. and O'Neil, A.},
	month = mar,
	year = {2021},
	keywords = {graph colouring, tabu search, {NP}-hard problems},
}
"""
JABREF = r"""% Encoding: UTF-8

@Comment{jabref-meta: databaseType:bibtex;}
@STRING{jot = "Journal of "}
@string(tests = {Tests})

@InProceedings{b,
  author       = "Ann B{\o}e",
  Title        = "On {"}quoted{"} " # jot # tests,
  ABSTRACT     = {Set notation \{a, b\}.},
  Keywords     = {Bayes, Thomas; sorting},
  year         = 1999
}
@comment{@misc{old, title = {not read}}}
"""
ENDNOTE = """TY  - JOUR
AU  - Boe, Ann
TI  - Sorting by tabu search
AB  - We sort.

  A second paragraph.
KW  - sorting
graph colouring
NP-hard problems
N1  - a note
N1  - another
ID  - 17
ER  -

"""
ZOTERO_RIS = """TY  - CONF
TI  - Only a title
T1  - Only  a title
KW  - Bayes, Thomas
KW  - sorting
ER  - \n"""


def shown(documents: list[RawDocument]) -> list[tuple[Any, ...]]:
    return [(d.row, d.id, d.title, d.abstract, d.keyphrases) for d in documents]


# LaTeX.


@pytest.mark.parametrize(
    ("latex", "text"),
    [
        (r"G{\"o}del, caf\'e, \'{e}l\`eve, na{\"\i}ve, na\"\i ve", "Gödel, café, élève, naïve, naïve"),
        (r"\c{c}a, \c ca, \v{s}, \H{o}", "ça, ça, š, ő"),
        (r"Stra{\ss}e, Stra\ss e, {\aa}, \AA ngstr\"om", "Straße, Straße, å, Ångström"),
        (r"\O re, {\L}ukasz, \ae on", "Øre, Łukasz, æon"),
        (r"{BERT} and {{GPT}}: {P}re-training", "BERT and GPT: Pre-training"),
        (r"a--b, a --- b, ``quoted'', Fig.~3, A\&B, \_ \# \$ \{x\}", "a–b, a — b, “quoted”, Fig. 3, A&B, _ # $ {x}"),
        (r"$\alpha$-cut, $O(n \log n)$, $x \leq 3$, \(y\)", "α-cut, O(n log n), x ≤ 3, y"),
        (r"$\frac{1}{2}$, $\sqrt{2}$, $\mathbb{R}^n$", "1/2, √2, R^n"),
        (r"\emph{one} {\em two} \textbf{three}", "one two three"),
        (r"\url{http://x.org/~me} \href{http://x.org}{four}", "http://x.org/~me four"),
        (r"5 \texttimes{} 4, it\textquoteright s, \textless 3", "5 × 4, it’s, <3"),
        (r"H\textsubscript{2}O, \LaTeX{}, \hspace{2cm}\vphantom{x}end", "H2O, LaTeX, end"),
        # No LaTeX, although it looks like it: nothing is lost.
        ("50% of $5 and $10, #1 & more, a_b ^c, (~90 %), $x", "50% of $5 and $10, #1 & more, a_b ^c, (~90 %), $x"),
        (r"C:\temp and \IP, {\unknown} \unknown{x}", r"C:\temp and \IP, \unknown x"),
        (r"the \"best\" \'tool\'", r"""the "best" 'tool'"""),
        ("\\", "\\"),
    ],
)  # fmt: skip
def test_latex_becomes_text(latex: str, text: str) -> None:
    assert plain_text(latex) == text


@given(st.text(alphabet="ab1 ~\\\"'`^cv{}$-&%\n()[]é", max_size=40))
def test_any_latex_becomes_some_text_and_no_word_is_lost(latex: str) -> None:
    text = plain_text(latex)
    assert text.count("1") == latex.count("1")
    assert not {"{", "}"} & set(text) or "\\" in latex
    if not set("\\{}$~-`'") & set(latex):
        assert text == latex


@pytest.mark.parametrize(
    "piece",
    ["{", "$", "\\", "\\c ", "a~", "-", "\\href{", "\\frac{", "$x", "$$x ", "\\alpha   ", "word \\'e {x} ", "}"],
)
def test_latex_takes_time_in_proportion_to_its_length(piece: str) -> None:
    plain_text("\\'e\\alpha")  # loads the tables
    start = time.perf_counter()
    plain_text(piece * 100_000)
    assert time.perf_counter() - start < 5  # a tenth of a second; in proportion to the square, hours


# BibTeX.


def test_a_file_of_zotero_and_one_of_jabref(tmp_path: Path) -> None:
    (found,) = read(write(tmp_path, ZOTERO, "z.bib"))
    assert (found.row, found.id) == (2, "muller_bert_2021")
    assert found.title == "BERT für Straßen: a naïve α-test"
    assert found.abstract == "We show that 50% of R&D is spent on graphs.\n\nA second paragraph – with a dash."
    assert found.keyphrases == ["graph colouring", "tabu search", "NP-hard problems"]
    found = read(write(tmp_path, JABREF, "j.bib"))[0]
    assert (found.row, found.id) == (7, "b")
    assert found.title == 'On "quoted" Journal of Tests'
    assert found.abstract == "Set notation {a, b}."
    assert found.keyphrases == "Bayes, Thomas; sorting"
    assert len(read(tmp_path / "j.bib")) == 1


@pytest.mark.parametrize(
    ("keywords", "phrases"),
    [
        ("a b, c d", ["a b", "c d"]),
        ("a b; c, d; e", ["a b", "c, d", "e"]),
        ("Bayes, Thomas;", ["Bayes, Thomas"]),
        ("R&amp;D, search &amp;amp; rescue", ["R&D", "search & rescue"]),
        ("R&amp;D; search, rescue", ["R&D", "search, rescue"]),
        ("1,2-dichloroethane,\n   N,N-dimethylformamide", ["1,2-dichloroethane", "N,N-dimethylformamide"]),
        ("semantic\n\t\t networks,, graphs,", ["semantic networks", "graphs"]),
        ("", []),
    ],
)
def test_keywords_are_separated_by_semicolons_or_else_by_commas(
    tmp_path: Path, keywords: str, phrases: list[str]
) -> None:
    path = write(tmp_path, f"@misc{{a, title={{T}}, keywords={{{keywords}}}}}", "k.bib")
    (document,) = [row for row in Cleaner("s", filtered=False).clean(read(path)) if is_document(row)]
    assert document["keyphrases"] == phrases
    path = write(tmp_path, f"@misc{{a, title={{T}}, mesh={{{keywords}}}}}", "k.bib")
    (mapped,) = list(Cleaner("s", filtered=False).clean(read(path, fields={"keyphrases": "MeSH"})))
    assert is_document(mapped) and mapped["keyphrases"] == phrases


def test_keywords_of_authors(tmp_path: Path) -> None:
    entry = "@misc{a, title={T}, %s, keywords-plus={of the database}, mendeley-tags={unread}}"
    for name in ("author_keywords", "Author-Keywords"):
        (found,) = read(write(tmp_path, entry % f"{name} = {{x, y}}", "a.bib"))
        assert found.keyphrases == ["x", "y"]
    path = write(tmp_path, entry % "author_keywords = {x; y}, keywords = {of the database}", "b.bib")
    (found,) = read(path, fields={"keyphrases": "author_keywords"})
    assert found.keyphrases == "x; y"


def test_entries_of_any_shape(tmp_path: Path) -> None:
    text = (
        "A comment by someone@example.org\n"
        '@misc{10.1145/1.2,title="T1",year=2000}@MISC(b, title = {T2 (x)} , )\n'
        "@misc{, title={T3}, booktitle = unknownmacro, month = feb # \" ~12\"}\n"
        "@comment a line\n"
        "@preamble{ \"\\newcommand{\\x}{y}\" }\n"
        "@inproceedings{x, abstract={@home and foo@bar.org}, note={}}\n"
        '@misc{y, title = {A} # " and " # "{B} {"}C{"}" # 2}\n'
    )  # fmt: skip
    assert shown(read(write(tmp_path, text, "a.bib"))) == [
        (2, "10.1145/1.2", "T1", "", None),
        (2, "b", "T2 (x)", "", None),
        (3, None, "T3", "", None),
        (6, "x", "", "@home and foo@bar.org", None),
        (7, "y", 'A and B "C"2', "", None),
    ]
    assert [document.id for document in identified(read(tmp_path / "a.bib"))][2] == "a.bib:3"
    (third,) = read(write(tmp_path, text.splitlines()[2], "b.bib"), fields={"title": "BookTitle", "id": "Month"})
    assert (third.id, third.title) == ("Feb ~12", "unknownmacro")


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("@misc{a, title={T}, year=1}\n@misc{b, title={U {x}}\n@misc{c, title={V}}", "f.bib:5: no valid BibTeX: "),
        ("@misc{a, title={T {x}, year=1}", "f.bib:4: no valid BibTeX: Unexpectedly reached end of file"),
        ("@misc{a, title={T}}, abstract={lost}}", "f.bib:4: no valid BibTeX: a brace closes nothing; is there one too"),
        ("@misc{a, title={T}\n abstract={U}}", "f.bib:4:title: the value goes on with 'abstract={U}'; is there a"),
        ("@misc{a, year=1 title={U}}", "f.bib:4:year: the value goes on with 'title={U}'; is there a comma missing"),
        ("@misc{a title={T}}", "f.bib:4: no valid BibTeX: Expected comma after entry key, but found =, in '@misc{a ti"),
        ("@misc{title={T}}", "f.bib:4: no valid BibTeX: Expected comma after entry key"),
        ("@misc{a, title={T}, TITLE={U}}", "f.bib:4:title: stands twice in the entry 'a'; keep one of them"),
        ("@misc{a, title={T}, keywords={x}, Keyword={y}}", "f.bib:4:keyword: keyphrases stand under 'keywords'"),
        ("@misc{a, title={T}, keyword={x}, author_keywords={y}}", "4:author_keywords: keyphrases stand under 'key"),
        ("@misc{a, title={T}, author_keywords=graphs}", "f.bib:4:author_keywords: no @string before it defines"),
        ("@misc{a, title=Graphs}", "f.bib:4:title: no @string before it defines 'Graphs'; put a text into braces"),
        ("@misc{a, title=late}\n@string{late={x}}", "f.bib:4:title: no @string before it defines 'late'"),
        ("@misc{a, title=}", "f.bib:4:title: expected a value in braces or quotes, found ''"),
        ("@misc{a, title={T} # }", "f.bib:4:title: expected a value in braces or quotes, found ''"),
        ('@misc{a, title="T } x"}', "f.bib:4:title: the braces do not match in '\"T } x\"'"),
        ("@misc{a, ={T}}", "f.bib:4: a field has no name"),
        ("@misc a, title={T}}", "f.bib:4: expected an entry such as '@article{key, ', found '@misc a, title={T}}'"),
        ("misc{a, title={T}}", "f.bib:4: expected an entry such as '@article{key, ', found 'misc{a, title={T}}'"),
        ("@misc{a, note={n}}", "f.bib:4: expected the fields 'title' and 'abstract', found id, note"),
        ("@misc{a, abstracts={n}}", "f.bib:4: expected the fields"),
        ("@misc{a, title={T}, keywrds={n}}", "f.bib:4:keywrds: unknown field; did you mean 'keywords'?"),
        ("@misc{a, title={T}, keywords={x | y}}", "f.bib:4:keywords: expected keyphrases separated by ';' or ','"),
        ("@misc{a, title={T}, keywords={['x', 'y']}}", "f.bib:4:keywords: expected keyphrases separated by ';', found"),
    ],
)  # fmt: skip
def test_a_fault_in_bibtex_names_its_line(tmp_path: Path, entry: str, message: str) -> None:
    text = f"@misc{{fine, title={{First}},\n  year={{1}}}}\n\n{entry}\n\n@misc{{last, title={{Last}}}}\n"
    if "end of file" in message:
        text = text.partition("\n\n@misc{last")[0]
    assert message in refusal(write(tmp_path, text, "f.bib"))


def test_nothing_is_printed_about_a_broken_entry(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    refusal(write(tmp_path, "@misc{a, title={T\n" * 3, "f.bib"))
    assert capfd.readouterr() == ("", "")


def test_two_entries_with_one_key_are_refused_as_elsewhere(tmp_path: Path) -> None:
    path = write(tmp_path, "@misc{a, title={T}}\n@misc{a, title={U}}\n", "d.bib")
    assert [document.title for document in read(path)] == ["T", "U"]
    with pytest.raises(InputError, match=r"d\.bib:2:id: 'a' is the id of .*d\.bib:1 as well"):
        list(identified(read(path)))


@pytest.mark.parametrize(
    "text", ["", "\n\n", "% Encoding: UTF-8\n", "@comment{jabref-meta: x}\ntext\n", "@string{a={b}}"]
)
def test_a_bibtex_file_without_entries(tmp_path: Path, text: str) -> None:
    assert read(write(tmp_path, text, "e.bib")) == []


@pytest.mark.parametrize(("name", "wanted"), [("x.bib", "'@article{key, '"), ("x.ris", "'TY  - JOUR'")])
def test_another_file_under_that_name_is_refused(tmp_path: Path, name: str, wanted: str) -> None:
    message = refusal(write(tmp_path, "<html>\nNot found.\n</html>\n", name))
    assert "there is text in it, but no" in message and wanted in message


# RIS.


def test_a_file_of_endnote_and_one_of_zotero(tmp_path: Path) -> None:
    (found,) = read(write(tmp_path, "Provider: someone\n\n" + ENDNOTE, "e.ris"))
    keywords = "sorting;graph colouring;NP-hard problems"
    assert shown([found]) == [(3, "17", "Sorting by tabu search", "We sort.\n\nA second paragraph.", keywords)]
    (found,) = read(write(tmp_path, ZOTERO_RIS, "z.ris"))
    assert shown([found]) == [(1, None, "Only a title", "", "Bayes, Thomas;sorting")]
    (found,) = read(write(tmp_path, "TY  - BOOK\nT2  - Series\nTI  - T\nKW  - a, b\nN2  - A\nER  -", "one.ris"))
    assert (found.title, found.abstract, found.keyphrases) == ("T", "A", ["a", "b"])
    (found,) = read(tmp_path / "one.ris", fields={"title": "t2", "abstract": "TI"})
    assert (found.title, found.abstract) == ("Series", "T")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("TY  - JOUR\nTI  - T\n", "f.ris:4: the reference has no end: expected a line 'ER  - '"),
        ("TY  - JOUR\nTI  - T\nTY  - JOUR\nTI  - U\nER  - ", "f.ris:6:TY: the reference of line 4 has no end"),
        ("TI  - T\nER  - ", "f.ris:4:TI: stands in no reference: expected a line as 'TY  - JOUR' before"),
        ("TY  - JOUR\nTI  - T\nAB  - A\nAB  - B\nER  - ", "f.ris:7:AB: stands twice in the reference of line 4"),
        ("TY  - JOUR\nTI  - T\nT1  - U\nER  - ", "f.ris:4:T1: has another text than 'TI'; keep one of them, or map"),
        ("TY  - JOUR\nAU  - A\nER  - ", "f.ris:4: expected the fields 'TI' and 'AB', found AU, TY"),
    ],
)
def test_a_fault_in_ris_names_its_line(tmp_path: Path, lines: str, message: str) -> None:
    assert message in refusal(write(tmp_path, f"TY  - JOUR\nTI  - T\nER  - \n{lines}", "f.ris"))


# Both.


@pytest.mark.parametrize(("name", "text"), [("x.bib", JABREF), ("x.ris", ENDNOTE)])
def test_line_ends_encodings_compression_and_standard_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str
) -> None:
    text = text.replace("Boe, Ann", "Bøe, Ann").replace("second", "zwölfter").replace("quoted", "gemünzt")
    expected = shown(read(write(tmp_path, text, name)))
    assert "ö" in str(expected) or "ü" in str(expected)
    assert shown(read(write(tmp_path, "\ufeff" + text.replace("\n", "\r\n"), name))) == expected
    latin = write(tmp_path, text.encode("latin-1"), name)
    assert shown(read(latin, encoding="latin-1")) == expected
    assert "no utf-8: byte 0xf" in refusal(latin)
    for packed in (gzip.compress(text.encode()), pa.compress(text.encode(), "zstd", asbytes=True)):
        suffix = ".gz" if packed.startswith(b"\x1f\x8b") else ".zst"
        assert shown(read(write(tmp_path, packed, name + suffix))) == expected
    assert [path.name for path in corpus_files(tmp_path)] == [name, f"{name}.gz", f"{name}.zst"]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode()), encoding="utf-8"))
    assert shown(read(STDIN, format="bibtex" if name == "x.bib" else "ris")) == expected


@pytest.mark.parametrize("name", ["many.bib", "many.ris"])
def test_twenty_thousand_references(tmp_path: Path, name: str) -> None:
    abstract = "We study the colouring of sparse graphs with tabu search. " * 10
    if name == "many.bib":
        entry = "@article{{k{0},\n  title = {{T{0}}},\n  abstract = {{{1}}}\n}}\n\n"
    else:
        entry = "TY  - JOUR\nID  - k{0}\nTI  - T{0}\nAB  - {1}\nER  - \n\n"
    path = write(tmp_path, "".join(entry.format(n, abstract) for n in range(20_000)), name)
    start = time.perf_counter()
    found = read(path)
    assert time.perf_counter() - start < 60  # 5 seconds
    assert [(d.id, d.title) for d in found] == [(f"k{n}", f"T{n}") for n in range(20_000)]
    lines = 5 if name == "many.bib" else 6
    assert (found[-1].row, found[-1].abstract.strip()) == (19_999 * lines + 1, abstract.strip())


# A writer of each format: all comes back.

LATEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "%": r"\%", "#": r"\#", "_": r"\_",
    "~": r"\textasciitilde{}", "^": r"\^{}", "-": "-{}", "`": "`{}", "'": "'{}", '"': '{"}', "@": "{@}",
    "ö": r'{\"o}', "é": r"\'{e}", "ß": r"{\ss}", "å": r"\aa{}", "–": "--{}", "ç": r"\c{c}", "α": r"{$\alpha$}",
}  # fmt: skip
WORDS = st.text(alphabet=[*LATEX, *"ab1 ,;=.()\n\t漢"], max_size=30).map(lambda text: " ".join(text.split(" ")))
KEY = st.text(alphabet="abc:/.-_+1", min_size=1, max_size=6)
PHRASE = st.text(alphabet="ab cö-1", min_size=1, max_size=8).map(str.strip).filter(bool)
REFERENCES = st.lists(st.tuples(KEY, WORDS, WORDS, st.lists(PHRASE, max_size=4)), min_size=1, max_size=4)


def in_latex(text: str) -> str:
    return "".join(LATEX.get(letter, letter) for letter in text)


@st.composite
def bibtex_values(draw: st.DrawFn, text: str) -> str:
    """A text in braces, in quotes, or as two parts with a #."""
    cut = draw(st.integers(0, len(text)))
    parts = [text] if draw(st.booleans()) else [text[:cut], text[cut:]]
    return " # ".join(draw(st.sampled_from(["{%s}", '"%s"'])) % in_latex(part) for part in parts)


@st.composite
def bibtex_files(draw: st.DrawFn) -> tuple[list[tuple[Any, ...]], str]:
    references = draw(REFERENCES)
    blocks = []
    for key, title, abstract, phrases in references:
        fields = {"title": title, "Abstract": abstract, "KEYWORDS": "; ".join([*phrases, ""])}
        lines = [f"  {name} = {draw(bibtex_values(text))}" for name, text in fields.items()]
        before, after = draw(st.sampled_from(["{}", "()"]))
        blocks.append(f"@article{before}{key},\n" + ",\n".join(lines) + f"\n{after}\n")
    return references, draw(st.sampled_from(["", "% a comment\n", "@string{x = {y}}\n"])) + "\n".join(blocks)


@st.composite
def ris_files(draw: st.DrawFn) -> tuple[list[tuple[Any, ...]], str]:
    references = draw(REFERENCES)
    lines = []
    for key, title, abstract, phrases in references:
        tag = draw(st.sampled_from(["TI", "T1"]))
        lines += ["TY  - JOUR", f"ID  - {key}", f"{tag}  - {title}", f"AB  - {abstract}"]
        lines += [f"KW  - {phrase}" for phrase in [*phrases, ";"]]
        lines += ["ER  - ", ""]
    return references, "\n".join(lines)


def lines_of(text: str) -> list[str]:
    return [line.strip() for line in text.strip().split("\n")]


def cleaned(keyphrases: Any) -> list[str]:
    listed = keyphrases if isinstance(keyphrases, list) else keyphrases.split(";")
    return [phrase.strip() for phrase in listed if phrase.strip()]


@given(bibtex_files() | ris_files())
def test_what_was_written_comes_back(
    tmp_path_factory: pytest.TempPathFactory, file: tuple[list[tuple[Any, ...]], str]
) -> None:
    references, text = file
    found = read(write(tmp_path_factory.mktemp("written"), text, "x.ris" if "TY  - " in text else "x.bib"))
    assert [(d.id, lines_of(d.title), lines_of(d.abstract), cleaned(d.keyphrases)) for d in found] == [
        (key, lines_of(title), lines_of(abstract), phrases) for key, title, abstract, phrases in references
    ]


@tried(200)
@given(
    file=bibtex_files() | ris_files(), place=st.integers(0, 10_000), put=st.sampled_from(["", "{", "}", '"', "@", "\n"])
)
def test_a_damaged_file_keeps_its_documents_or_is_refused(
    tmp_path_factory: pytest.TempPathFactory, file: tuple[list[tuple[Any, ...]], str], place: int, put: str
) -> None:
    references, text = file
    name = "x.ris" if "TY  - " in text else "x.bib"
    place %= len(text)
    path = write(tmp_path_factory.mktemp("damaged"), text[:place] + put + text[place + 1 :], name)
    try:
        assert len(read(path)) == len(references)
    except InputError as error:
        assert str(error).startswith(str(path))
    try:
        read(write(path.parent, text[:place], name))
    except InputError as error:
        assert str(error).startswith(str(path))


@given(
    text=st.text(alphabet="@ab{}()=,#\"\\\n -'$%", max_size=60)
    | st.lists(st.sampled_from(["TY  - J", "ER  - ", "TI  - a", "KW  - ", "x", ""]), max_size=9).map("\n".join),
    name=st.sampled_from(["x.bib", "x.ris"]),
)
def test_any_text_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, text: str, name: str) -> None:
    path = write(tmp_path_factory.mktemp("any"), text, name)
    try:
        read(path)
    except InputError as error:
        assert str(error).startswith(str(path))
