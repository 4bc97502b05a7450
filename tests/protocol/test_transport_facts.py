"""Events of a transport, and the fields of heads."""

from __future__ import annotations

import pytest

from mcpmock.protocol.transport_facts import HttpRequest, HttpResponse, ProcessExit

FIELDS = [
    ("Accept", " \ta\xa0\t "),
    ("X", ""),
    ("ACCEPT", "b"),
    ("content-Type", "Text/HTML ; charset=x"),
]


def test_headers_are_found_in_any_case() -> None:
    """The first field of a name counts, without the spaces and tabs around its value."""
    head = HttpRequest("GET", "/", FIELDS)
    found = [head.header(name) for name in ("accept", "x", "y", "Content-TYPE")]

    assert ["a\xa0", "", None, "Text/HTML ; charset=x"] == found
    assert ["a\xa0", "b"] == [*head.values("ACCEPT")]
    assert [] == [*HttpResponse(200, "OK", FIELDS).values("y")]


def test_heads_as_keys() -> None:
    """Equal heads are one key, in whichever list their fields stand."""
    one, same = (HttpRequest("GET", "/", [*FIELDS]) for _ in range(2))

    assert {one: 1, HttpRequest("GET", "/", FIELDS[:1]): 2}[same] == 1
    assert {HttpResponse(200, "OK", FIELDS)} == {HttpResponse(200, "OK", [*FIELDS])}


def test_media_types() -> None:
    """Without parameters, in lower case; empty where there is none."""
    assert "text/html" == HttpResponse(200, "OK", FIELDS).media_type
    assert "" == HttpResponse(200, "OK", []).media_type


def test_paths() -> None:
    """The path ends at the first question mark."""
    paths = [HttpRequest("GET", target, []).path for target in ("/a?b?c", "/a", "*", "?x")]

    assert ["/a", "/a", "*", ""] == paths


@pytest.mark.parametrize(
    ("method", "fields", "expected"),
    [
        ("POST", [], True),
        ("PUT", [("Content-Length", "0")], True),
        ("GET", [], False),
        ("GET", [("Content-Length", "0")], False),
        ("GET", [("content-length", "7")], True),
        ("DELETE", [("Transfer-Encoding", "chunked")], True),
    ],
)
def test_bodies(method: str, fields: list[tuple[str, str]], expected: bool) -> None:
    """The methods that send something have one, be it empty; others if they say so."""
    assert expected == HttpRequest(method, "/", fields).has_body


@pytest.mark.parametrize(
    ("exit_", "status"),
    [(ProcessExit(0), 0), (ProcessExit(7), 7), (ProcessExit(signal=9), 137), (ProcessExit(), 0)],
)
def test_exit_status(exit_: ProcessExit, status: int) -> None:
    """As a shell counts."""
    assert status == exit_.status
