"""`UriTemplate`: whether a URI may come from a template (RFC 6570). In time that grows with both
lengths, whatever the template is: it was written by others.
"""

from __future__ import annotations

import re
from urllib.parse import quote

import attrs

_EXPRESSION = re.compile(r"\{([+#./;?&]?)([^{}]*)\}")
_PAIR_NAME = re.compile(r"[^=&;#/?]*")
_SEPARATORS = {"?": "&", "&": "&", ";": ";"}
"""By the operators whose expansions name what they give, what stands between the pairs."""
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
            if operator in _SEPARATORS and "*" not in found[2]:
                names = {one.partition(":")[0] for one in _encoded(found[2]).split(",")}
                reached = _after_pairs(uri, reached, operator, names)
            else:
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


def _after_pairs(uri: str, places: set[int], operator: str, names: set[str]) -> set[int]:
    """Do the same for one that gives names: `?q=1&lang=no`, in any order."""
    begins, forbidden = _OPERATORS[operator]
    reached, inside, named = set(places), False, 0
    for place in range(min(places, default=len(uri)), len(uri)):
        char = uri[place]
        if (char == begins and place in places) or (inside and char == _SEPARATORS[operator]):
            found = _PAIR_NAME.match(uri, place + 1)
            inside = found is not None and found[0] in names
            named = place + 1 if found is None else found.end()
        elif char in forbidden:
            inside = False
        if inside and place + 1 >= named:
            reached.add(place + 1)
    return reached
