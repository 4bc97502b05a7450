"""Where secrets stand in text. That `suspicious` never misses what is found is in test_redactor."""

from __future__ import annotations

import pytest

from mcpmock.protocol.raw_json import Span
from mcpmock.redaction.secret_formats import assignments, formats, suspicious, without_scheme


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (b"see ghp_" + b"a" * 36, [(b"ghp_" + b"a" * 36, "github")]),
        (b"https://u:pw@h/?token=abc", [(b"pw", "userinfo"), (b"abc", "token")]),
        (b"nothing", []),
    ],
)
def test_formats(text: bytes, found: list[tuple[bytes, str]]) -> None:
    """What looks like a secret is found with its kind, a part of a text alone being looked at."""
    whole = Span(0, len(text))

    assert found == [(text[span.start : span.end], kind) for span, kind in formats(text, whole)]
    assert [] == list(formats(text, Span(0, 3)))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (b"API_KEY=abc max_tokens=5", [(b"abc", "api-key")]),
        (b'{"password": "a b"', [(b"a b", "password")]),
        (b"token='Bearer abc'", [(b"abc", "token")]),
    ],
)
def test_assignments(text: bytes, found: list[tuple[bytes, str]]) -> None:
    """What is assigned to a secret's name is found without its quotes and its scheme."""
    assert found == [(text[span.start : span.end], kind) for span, kind in assignments(text)]


def test_a_scheme_is_no_secret() -> None:
    """Of an authorization the scheme is left out, unless nothing follows."""
    assert Span(7, 10) == without_scheme(b"Bearer abc", Span(0, 10))
    assert Span(0, 7) == without_scheme(b"Bearer ", Span(0, 7))


@pytest.mark.parametrize(
    ("data", "worth"),
    [
        (b'{"password":"x"}', True),
        (b'{"password":1}', False),
        (b'{"API_KEY"  : "x"}', True),
        (b'{"text":"{\\\\\\"apiKey_\\\\\\":\\\\\\"x\\\\\\"}"}', True),
        (b'{"progressToken":1}', False),
        (b'{"progressToken":1,"token":["x"]}', True),
        (b'{"text":"in progress, the token: x"}', True),
        (b'{"a":"' + b"x" * (1 << 20) + b'","password":"x"}', True),
        (b'{"text":"the password"}', False),
    ],
)
def test_what_is_worth_a_closer_look(data: bytes, worth: bool) -> None:
    """Names of secrets with strings behind them are, wherever they stand in a long text."""
    assert worth is suspicious(data)
