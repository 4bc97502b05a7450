"""Whole cassettes as HAR."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mcpmock.cassette.parser import read
from mcpmock.convert.har import cookies, har, query, started
from tests.support import call, cassette, response
from tests.support.hostile import loadable_and_not

CASSETTES = sorted((Path(__file__).parents[2] / "cassettes").glob("*.jsonl"))


@pytest.mark.parametrize("path", CASSETTES, ids=lambda path: path.stem)
def test_shipped_cassettes_hold_what_the_format_demands(path: Path) -> None:
    """Every member that HAR 1.2 calls mandatory, times that add up, sizes that are those of the
    bodies.
    """
    made = har(read("x", path.read_bytes()))
    log = json.loads(made.data)["log"]

    assert {"version", "creator", "entries"} <= log.keys()
    assert 0 < made.entries == len(log["entries"])
    assert made.made_up in (0, made.entries)
    for entry in log["entries"]:
        asked, answered, times = entry["request"], entry["response"], entry["timings"]
        assert {
            "startedDateTime",
            "time",
            "request",
            "response",
            "cache",
            "timings",
        } <= entry.keys()
        assert {"method", "url", "httpVersion", "cookies", "headers", "queryString"} <= asked.keys()
        assert {"headersSize", "bodySize"} <= asked.keys()
        assert {"status", "statusText", "httpVersion", "cookies", "headers"} <= answered.keys()
        assert {"content", "redirectURL", "headersSize", "bodySize"} <= answered.keys()
        assert {"send", "wait", "receive"} == times.keys()
        assert 0 <= min(times.values())
        assert entry["time"] == pytest.approx(sum(times.values()))
        assert len(asked.get("postData", {"text": ""})["text"].encode()) == asked["bodySize"]


def test_takes_of_all_transports_are_in_one_log() -> None:
    """And what is in none of its entries is counted."""
    found = cassette(
        ("c2s", call(1, "a")),
        ("stderr", "up\n"),
        ("s2c", b"a banner"),
        ("take", None),
        ("c2s", call(1, "b")),
        ("s2c", response(1)),
        ("end", {"exit": 0}),
    )
    made = har(found)
    entries = json.loads(made.data)["log"]["entries"]

    assert (2, 2, 2) == (made.entries, made.made_up, made.left_out)
    assert [(1, "a"), (2, "b")] == [
        (entry["_mcpmock"]["take"], entry["_mcpmock"]["messages"][0]["tool"]) for entry in entries
    ]


def test_nothing_is_an_empty_log() -> None:
    """A cassette without calls is no error."""
    assert 0 == har(cassette()).entries


def test_hostile_recordings_are_only_json() -> None:
    """Whatever stands in a cassette, the file is JSON without a control character in it."""
    made = har(read("x", loadable_and_not()[0]))

    assert json.loads(made.data)["log"]["version"] == "1.2"
    assert not {*range(32)} & {*made.data} - {10}


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


def _pairs(found: list[dict[str, str]]) -> list[tuple[str, str]]:
    return [(pair["name"], pair["value"]) for pair in found]


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
