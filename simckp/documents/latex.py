r"""Turn the LaTeX of a BibTeX field into plain Unicode text; accents and symbols are those of ``pylatexenc``.

``pylatexenc`` itself parses whole documents: it takes a second for 25,000 characters, raises ``RecursionError`` for
deep groups, and drops what it does not know, as in ``C:\temp`` or ``$5 and $10``. Here it translates single commands.
"""

import re
import unicodedata
from functools import lru_cache
from typing import Any

_SPECIAL = re.compile(r"[\\{}$~]|--|``|''")
# A letter that an accent may stand on; the dotless i and j are commands.
_LETTER = r"\\[ij](?![A-Za-z])\s*|[^\W\d_]"
_TOKEN = re.compile(
    rf"""\\(?P<accent>[`'^"~=.]|[cvuHkrbd](?![A-Za-z]))
           (?:\s*\{{\s*(?P<grouped>{_LETTER})?\s*\}}|(?:(?<=[cvuHkrbd])\s+)?(?P<bare>{_LETTER}))
       |\\(?:begin|end)\s*\{{[A-Za-z]*\*?\}}
       |\\(?:href\s*\{{[^{{}}]*\}}\s*(?=\{{)|(?:[hv]space\*?|[hv]phantom|label|textcolor)\s*(?:\{{[^{{}}]*\}}|\\[{{}}]))
       |\\[dt]?frac\s*\{{(?P<over>[^{{}}]*)\}}\s*\{{(?P<under>[^{{}}]*)\}}
       |\\(?P<name>[A-Za-z]+)(?P<blank>\s*)(?P<group>\{{\}}|(?=\{{))?
       |\\(?P<sign>[^A-Za-z])
       |\$\$?(?=[^\s$])(?P<formula>(?:\\.|[^$\\])++)(?<=\S)\$\$?(?!\d)
       |(?<=[^\s~/=([{{<"'])(?P<tie>~)(?=[^\s~])
       |(?P<dash>(?<!-)---?(?!-))
       |(?P<quote>``|'')
       |[{{}}]""",
    re.VERBOSE | re.DOTALL,
)
_ITSELF = "&%_#${}"
_ACCENTS = "`'^\"~=."
_BLANKS = "\\,;: \n\r\t"
_NOTHING = "!-/()[]@"
_DASHES = {"--": "–", "---": "—"}
_QUOTES = {"``": "“", "''": "”"}
# What pylatexenc lacks, translates into something else than text, or sets as space only.
_OWN = {"LaTeX": "LaTeX", "TeX": "TeX", "BibTeX": "BibTeX", "textless": "<", "textgreater": ">", "textbar": "|"}
_OWN |= {
    "textunderscore": "_",
    "textquotesingle": "'",
    "textquotedbl": '"',
    "textasciicircum": "^",
    "textellipsis": "…",
}
_OWN |= {"sqrt": "√", "copyright": "©"}
_OWN |= dict.fromkeys(("par", "newline", "linebreak"), "\n") | dict.fromkeys(("item", "quad", "qquad", "space"), " ")
_NOT_TEXT = {"today", "ref", "autoref", "cref", "Cref", "eqref", "cite", "citet", "citep", "hspace", "vspace", "id"}
# Commands without an argument that change only the look.
_SWITCHES = {
    "cal",
    "em",
    "it",
    "bf",
    "rm",
    "sc",
    "sf",
    "sl",
    "tt",
    "itshape",
    "bfseries",
    "scshape",
    "rmfamily",
    "upshape",
}
_SWITCHES |= {"tiny", "small", "normalsize", "large", "noindent", "left", "right", "displaystyle", "protect", "relax"}
_LETTERS = {"aa", "AA", "ae", "AE", "oe", "OE", "o", "O", "l", "L", "ss", "i", "j", "dh", "DH", "th", "TH", "dj", "DJ"}


def plain_text(latex: str) -> str:
    r"""Return the text that LaTeX would print, in time proportional to its length.

    Accents and symbols become characters; braces, ``$`` around a formula and commands that change the look vanish, and
    their content stays. A command that is not known stays as it is, unless a group follows, since ``C:\temp`` is no
    LaTeX. A ``$`` is a currency unless it stands at a formula as in pandoc: no blank within, no digit behind. A ``%``
    is a percent sign.

    >>> plain_text(r"{BERT} for G{\"o}del's na{\"\i}ve $\alpha$-\emph{beta}, 50% of R\&D -- $5 or $10 in C:\temp")
    "BERT for Gödel's naïve α-beta, 50% of R&D – $5 or $10 in C:\\temp"
    """
    return _TOKEN.sub(_printed, latex) if _SPECIAL.search(latex) else latex


def _printed(token: re.Match[str]) -> str:
    if token["accent"]:
        return _accented(token["accent"], (token["grouped"] or token["bare"] or "").strip(), bare=bool(token["bare"]))
    if token["name"]:
        return _command(token)
    if token["sign"]:
        return _sign(token["sign"])
    if token["formula"]:
        return _TOKEN.sub(_printed, token["formula"])
    if token["over"] is not None:
        return "/".join(_TOKEN.sub(_printed, part) for part in token.group("over", "under"))
    if token["tie"]:
        return " "
    if token["dash"]:
        return _DASHES[token["dash"]]
    if token["quote"]:
        return _QUOTES[token["quote"]]
    return " " if token[0].startswith(("\\begin", "\\end")) else ""


@lru_cache(maxsize=4096)
def _accented(accent: str, letter: str, *, bare: bool) -> str:
    r"""Return the letter with its accent; ``\"b`` is no accent but a quotation mark that a program escaped."""
    from pylatexenc.latex2text import LatexNodes2Text

    if not letter:
        return "" if accent.isalpha() else accent
    text = unicodedata.normalize("NFC", str(LatexNodes2Text().latex_to_text(f"\\{accent}{{{letter}}}")))
    return accent + letter if bare and len(text) > 1 and not accent.isalpha() else text


def _command(token: re.Match[str]) -> str:
    name, blank, group = token["name"], token["blank"], token["group"]
    symbol = _symbol(name)
    if symbol is not None:
        # TeX skips blanks behind every command; behind a symbol that is no letter, they are meant.
        return symbol if group or name in _LETTERS or name.startswith("text") else symbol + blank
    if name in _SWITCHES or group == "":
        return ""
    return token[0]


@lru_cache(maxsize=4096)
def _symbol(name: str) -> str | None:
    """Return the character that a command without an argument prints, or None."""
    if name in _OWN:
        return _OWN[name]
    spec = _specifications().get_macro_spec(name)
    text = getattr(spec, "simplify_repl", None)
    return text if isinstance(text, str) and "%" not in text and name not in _NOT_TEXT else None


@lru_cache(maxsize=1)
def _specifications() -> Any:
    from pylatexenc.latex2text import get_default_latex_context_db

    return get_default_latex_context_db()


def _sign(sign: str) -> str:
    if sign in _ITSELF or sign in _ACCENTS:
        return sign
    if sign in _BLANKS:
        return " "
    return "" if sign in _NOTHING else f"\\{sign}"
