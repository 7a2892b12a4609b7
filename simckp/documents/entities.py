"""Entities of HTML and XML, such as ``&amp;``, which exported texts contain."""

import html.entities
import re

_MOST_TIMES = 3
# Without a semicolon, "&copy=2" is a part of an address.
_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")


def unescape_entities(text: str) -> str:
    """Replace each entity that ends with a semicolon by its character, also if it was escaped twice or three times.

    >>> unescape_entities("R&amp;D, &amp;lt;, AT&T; ?x=1&copy=2")
    'R&D, <, AT&T; ?x=1&copy=2'
    """
    for _ in range(_MOST_TIMES if "&" in text else 0):
        unescaped = _ENTITY.sub(_unescaped, text)
        if unescaped == text:
            break
        text = unescaped
    return text


def _unescaped(entity: re.Match[str]) -> str:
    known = entity[0].startswith("&#") or entity[0][1:] in html.entities.html5
    return html.unescape(entity[0]) if known else entity[0]
