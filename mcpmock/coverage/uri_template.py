"""`UriTemplate`: whether a URI may come from a template (RFC 6570). In time that grows with both
lengths, whatever the template is: it was written by others.
"""

from __future__ import annotations

import re
from urllib.parse import quote

import attrs

_EXPRESSION = re.compile(r"\{([+#./;?&]?)([^{}]*)\}")
_MARKS = "/:?#[]@!$&'()*+,;=-._~%{}"
_OPERATORS = {
    "": ("", "/?#"),
    "+": ("", ""),
    "#": ("#", ""),
    ".": (".", "/?#"),
    "/": ("/", "?#"),
    ";": (";", "/?#"),
    "?": ("?", "#"),
    "&": ("&", "#"),
}
"""How what an expression expands to begins, and what it cannot have behind that."""


@attrs.frozen
class UriTemplate:
    """A template. One that cannot be read has no expressions."""

    text: str

    def fits(self, uri: str) -> bool:
        """Return whether the URI may be an expansion of it."""
        uri, at, reached = _encoded(uri), 0, {0}
        for found in _EXPRESSION.finditer(self.text):
            reached = _after_literal(uri, reached, _encoded(self.text[at : found.start()]))
            # FastMCP writes `{path*}` for what takes slashes.
            operator = found[1] or "+" * found[2].endswith("*")
            reached = _after_expression(uri, reached, operator)
            at = found.end()
        return len(uri) in _after_literal(uri, reached, _encoded(self.text[at:]))


def _encoded(text: str) -> str:
    return quote(text, safe=_MARKS, errors="replace")


def _after_literal(uri: str, places: set[int], text: str) -> set[int]:
    return {place + len(text) for place in places if uri.startswith(text, place)}


def _after_expression(uri: str, places: set[int], operator: str) -> set[int]:
    """Return where an expression may end that begins at one of these places. A simple one is not
    empty; what an operator begins may be missing.
    """
    begins, forbidden = _OPERATORS[operator]
    reached = set(places) if begins else set()
    inside = False
    for place in range(min(places, default=len(uri)), len(uri)):
        if begins and place in places and uri[place] == begins:
            inside = True
        else:
            inside = (inside or (not begins and place in places)) and uri[place] not in forbidden
        if inside:
            reached.add(place + 1)
    return reached
