"""The parts of a HAR entry."""

from __future__ import annotations

import msgspec
import pytest

from mcpmock.convert.har_model import (
    HarPair,
    HarTimings,
    content,
    cookies,
    event,
    posted,
    query,
    started,
    timings,
)


def test_bodies_are_text_or_base64() -> None:
    """Both names of the encoding are as the format and its users have them."""
    assert b'{"mimeType":"a/b","text":"\xe2\x98\x83"}' == msgspec.json.encode(
        posted("☃".encode(), "a/b")
    )
    assert b'{"mimeType":"a/b","text":"/w==","_encoding":"base64"}' == msgspec.json.encode(
        posted(b"\xff", "a/b")
    )
    assert b'{"size":1,"mimeType":"a/b","text":"/w==","encoding":"base64"}' == msgspec.json.encode(
        content(b"\xff", "a/b")
    )
    assert b'{"size":0,"mimeType":"x-unknown"}' == msgspec.json.encode(content(b"", ""))


def test_cookies_come_without_their_attributes() -> None:
    """A request has many in one field, a response one in each of many."""
    asked = [("Cookie", "a=1; b=2=3; c"), ("X", "d=4")]
    answered = [("set-cookie", "a=1; Path=/"), ("Set-Cookie", "b=2")]

    assert [("a", "1"), ("b", "2=3"), ("c", "")] == _pairs(cookies(asked, "cookie"))
    assert [("a", "1"), ("b", "2")] == _pairs(cookies(answered, "set-cookie"))


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("/mcp", []),
        ("/mcp?a=1&b&a=%C3%A9#x?y=1", [("a", "1"), ("b", ""), ("a", "é")]),
        ("http://[::1/?q=%ff", [("q", "�")]),
    ],
)
def test_queries_are_taken_apart(target: str, expected: list[tuple[str, str]]) -> None:
    """Also of targets that are no URLs."""
    assert expected == _pairs(query(target))


def _pairs(found: list[HarPair]) -> list[tuple[str, str]]:
    return [(pair.name, pair.value) for pair in found]


@pytest.mark.parametrize(
    ("began", "t", "expected"),
    [
        ("2026-11-20T10:00:00.000Z", 1_500_000, "2026-11-20T10:00:01.500Z"),
        ("2026-11-20T10:00:00+02:00", 0, "2026-11-20T08:00:00.000Z"),
        (None, 2000, "1970-01-01T00:00:00.002Z"),
        ("yesterday", 0, "1970-01-01T00:00:00.000Z"),
        (None, 10**30, "1970-01-01T00:00:00.000Z"),
        ("0001-01-01T00:00:00+10:00", 0, "1970-01-01T00:00:00.000Z"),
    ],
)
def test_moments_are_those_of_a_wall_clock(began: str | None, t: int, expected: str) -> None:
    """What says no time, or an impossible one, counts from 1970."""
    assert expected == started(began, t)


def test_the_whole_time_is_the_sum_of_its_parts() -> None:
    """The format wants it so, and nothing takes less than no time."""
    assert (9.0, HarTimings(1.0, 3.0, 5.0)) == timings(1000, 2000, 5000, 10_000)
    assert (4.0, HarTimings(0.0, 4.0, 0.0)) == timings(1000, 500, 5000, 2000)


def test_an_event_is_written_as_it_is_sent() -> None:
    """Each line of the data has its own; one without data has none."""
    assert b"id: 1\ndata: a\ndata: b\n\n" == event(b"a\r\nb", b"id: 1\n")
    assert b"retry: 5\n\n" == event(b"", b"retry: 5\n")
