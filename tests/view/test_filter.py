"""Choosing rows by an expression."""

from __future__ import annotations

import pytest

from mcpmock.cassette.parser import read
from mcpmock.view.filter import Filter
from mcpmock.view.timeline import timeline
from tests.support import HEADER, cassette, error, request, response

ROWS = timeline(
    cassette(
        ("c2s", request(1, "tools/call", {"name": "get_time"})),
        ("s2c", response(1, {"content": [{"type": "text", "text": "zw\u00f6lf"}]})),
        ("c2s", request("a", "ping")),
        ("s2c", error("a", -1, "not today")),
        ("s2c", b"a banner"),
        ("stderr", "up"),
        ("end", {"exit": 0}),
        ("take", None),
        ("c2s", request(1, "tools/list")),
    )
)
"""Events 1 to 7 of take 1, and 8 for the one of take 2."""


@pytest.mark.parametrize(
    ("expression", "kept"),
    [
        ("", [1, 2, 3, 4, 5, 6, 7, 8]),
        ("method=tools/*", [1, 2, 8]),
        ("method=tools", []),
        ("tool=get_*", [1, 2]),
        ("kind=request", [1, 3, 8]),
        ("kind=response", [2, 4]),
        ("kind=error", [4]),
        ("kind=opaque", [5]),
        ("kind=stderr", [6]),
        ("kind=end", [7]),
        ("dir=c2s", [1, 3, 8]),
        ("!dir=c2s", [2, 4, 5, 6, 7]),
        ("id=1", [1, 2, 8]),
        ("id=a", [3, 4]),
        ('id="a"', [3, 4]),
        ("take=2", [8]),
        ("text=banner", [5]),
        ("text=not?today", [4]),
        ("text=zw\u00f6lf", [2]),
        ("kind=request id=1 !take=2", [1]),
        ("!method=*", [5, 6, 7]),
    ],
)
def test_all_terms_must_hold(expression: str, kept: list[int]) -> None:
    """A row is kept if every term holds for it, and a negated term holds if it would not."""
    wanted = Filter.parse(expression)

    assert kept == [place for place, row in enumerate(ROWS, 1) if wanted.keeps(row)]


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("tool=x bogus=1", "unknown term bogus=1; known terms: method=, tool=, kind="),
        ("method", "unknown term method; known terms:"),
        ("!", "unknown term !"),
        ("kind=requests", "no such kind: requests; there are request, response"),
        ("dir=up", "no such dir: up; there are c2s, s2c"),
    ],
)
def test_an_invalid_term_is_refused(expression: str, words: str) -> None:
    """An unknown key or kind is an error that names the known ones."""
    with pytest.raises(ValueError) as caught:
        Filter.parse(expression)

    assert str(caught.value).startswith(words)


def test_a_pattern_cannot_take_for_ever() -> None:
    """Many stars over a long text are matched in linear time."""
    wanted = Filter.parse("text=" + "a*" * 30 + "b")
    (row,) = timeline(cassette(("s2c", b"a" * 100_000)))

    assert not wanted.keeps(row)


HTTP = timeline(
    read(
        "http",
        b"".join(
            (
                HEADER,
                b'{"n":1,"s":2,"x":7,"d":"c2s","http":{"method":"GET","target":"/",'
                b'"headers":[["A","needle"]]}}\n',
                b'{"n":2,"s":2,"x":7,"d":"s2c","http":{"status":404,"reason":"","headers":[]}}\n',
                b'{"n":3,"s":2,"x":7,"d":"s2c","body":"<html>"}\n',
                b'{"n":4,"x":17,"d":"s2c","http":{"status":200,"reason":"","headers":[]}}\n',
                b'{"n":5,"stderr":"up"}\n',
            )
        ),
    )
)


@pytest.mark.parametrize(
    ("expression", "kept"),
    [
        ("status=404", [1, 2, 3]),
        ("status=4?? kind=http", [1, 2]),
        ("x=7", [1, 2, 3]),
        ("x=17", [4]),
        ("!x=*", [5]),
        ("s=2", [1, 2, 3]),
        ("s=1", [4, 5]),
        ("kind=body", [3]),
        ("text=A:?needle", [1]),
        ("text=html", [3]),
    ],
)
def test_terms_for_http(expression: str, kept: list[int]) -> None:
    """Exchanges are chosen by number and status, sessions by number; heads are text too."""
    wanted = Filter.parse(expression)

    assert kept == [row.event.n for row in HTTP if wanted.keeps(row)]
