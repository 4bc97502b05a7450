"""Values back in the place of placeholders, in the spelling that they had."""

from __future__ import annotations

from base64 import b64encode
from urllib.parse import quote

import pytest

from mcpmock.redaction import placeholders
from mcpmock.redaction.json_escapes import StringSpelling, spelling_of

TOKEN, NUMBER = "mcpmock:secret:token:1", "mcpmock:secret:n-number:1"


@pytest.mark.parametrize(
    ("raw", "filled"),
    [
        (b64encode(f"see {TOKEN}".encode()), b64encode(b"see x")),
        (f'{{"a":"{NUMBER}"}}'.encode(), b'{"a":7.5}'),
        (rf'{{"a":"{{\"b\":\"{NUMBER}\"}}"}}'.encode(), rb'{"a":"{\"b\":7.5}"}'),
        (b'{"a":"mcpmock:secret:n-number:2"}', b'{"a":0}'),
        (quote(f'x="{NUMBER}"', safe="=").encode(), b"x=7.5"),
        (quote(f"x={TOKEN}", safe="=").encode(), b"x=x"),
        (quote(f"x={TOKEN}7", safe="=").encode(), quote(f"x={TOKEN}7", safe="=").encode()),
        (quote("x=mcpmock:secret:n-number:2", safe="=").encode(), b"x=0"),
    ],
)
def test_encoded_values_and_numbers(raw: bytes, filled: bytes) -> None:
    """A value is encoded as its placeholder is, and a number has no quotes."""
    assert filled == placeholders.fill(raw, {TOKEN: "x", NUMBER: "7.5"})


@pytest.mark.parametrize(
    ("text", "decoded"),
    [
        (f"\u00e9 {quote(TOKEN, safe='')} \u00e9", f"\u00e9 {TOKEN} \u00e9"),
        (f"\u00e9 {b64encode(TOKEN.encode()).decode()} \u00e9", f"\u00e9 {TOKEN} \u00e9"),
        (f"{quote(TOKEN, safe='')} {b64encode(TOKEN.encode()).decode()}", f"{TOKEN} {TOKEN}"),
        (f"{b64encode(TOKEN.encode()).decode()} {quote(TOKEN, safe='')}", f"{TOKEN} {TOKEN}"),
        (r"mcpmock:secret:t\u006fken:1", TOKEN),
    ],
)
def test_encoded_placeholders_in_a_text(text: str, decoded: str) -> None:
    """They are decoded in their places, whatever letters stand around them."""
    assert decoded == placeholders.decode_placeholders(text)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f"{TOKEN}, {NUMBER}", [TOKEN, NUMBER]),
        (r"mcpmock:secret:t\u006fken\u003a1", [TOKEN]),
        (quote(f"{TOKEN}&{NUMBER}", safe="&"), [TOKEN, NUMBER]),
        (quote(f'x="{NUMBER}"', safe="="), [NUMBER]),
        (b64encode(f"see {TOKEN} and {NUMBER}".encode()).decode(), [TOKEN, NUMBER]),
        (f"{b64encode(TOKEN.encode()).decode()} {NUMBER}", [NUMBER, TOKEN]),
        ("mcpmock:secret", []),
    ],
)
def test_which_placeholders_there_are(text: str, found: list[str]) -> None:
    """Encoded or not, those that are last."""
    assert found == [one.decode() for one in placeholders.placeholders_in(text.encode())]


@pytest.mark.parametrize(
    ("spelling", "spelled"),
    [
        (StringSpelling(), "a/\u00e9<'"),
        (StringSpelling(slashes=True), "a\\/\u00e9<'"),
        (StringSpelling("x"), r"a/\u00e9<'"),
        (StringSpelling("X", slashes=True), r"a\/\u00E9<'"),
        (StringSpelling(html=True), "a/\u00e9\\u003c'"),
        (StringSpelling("X", html=True), r"a/\u00E9\u003C\u0027"),
    ],
)
def test_spellings(spelling: StringSpelling, spelled: str) -> None:
    """A text is spelled as a writer of JSON did, which is read from what it wrote, and which the
    placeholder tells.
    """
    assert spelled == spelling.spell("a/\u00e9<'")
    assert spelling == spelling_of(spelled.encode())
    hole = placeholders.spelled(TOKEN.encode(), spelling)
    assert TOKEN.encode() == placeholders.unspelled(hole)
    assert "a/\u00e9<'" == placeholders.read_value(hole, spelled)
    assert spelling == StringSpelling() or placeholders.read_value(hole, '"') is None


@pytest.mark.parametrize("spelling", [StringSpelling("X"), StringSpelling(html=True)])
def test_the_spelling_in_an_inner_text_stays(spelling: StringSpelling) -> None:
    """A string of JSON around it says nothing of what has no such letter any more."""
    inner = placeholders.spelled(TOKEN.encode(), spelling).replace(b"\\", b"\\\\")

    assert inner == placeholders.spelled(inner, spelling)
