"""The events of a take, decoded from the bytes of the file each time that they are read."""

from __future__ import annotations

import pickle

import pytest

from mcpmock.cassette.model import EventLines, numbered
from mcpmock.cassette.parser import read
from tests.support import HEADER

_LINES = [
    b'{"n":1,"t":1,"d":"c2s","m":{"id":1}}\n',
    b'{"n":2,"t":2,"s":2,"d":"s2c","m":{"id":2},"eol":"\\r\\n"}\n',
    b'{"n":3,"t":3,"d":"s2c","text":"a banner"}\n',
    b'{"n":4,"t":4,"s":2,"stderr":"up\\n"}\n',
    b'{"d":"c2s","m":{"big":"%b"},"t":5,"n":5}\n' % (b"x" * 100_000),
    b'{"n":6,"t":6,"d":"c2s","m":%b}\n' % (b"[" * 5000 + b"]" * 5000),
    b'{"n":7,"t":7,"x":3,"d":"s2c","m":{"id":7}}\r\n',
]
_BETWEEN = {
    "nothing": b"",
    "a blank line": b"\n",
    "damage": b"oops\n",
    "another event": b'{"n":0}\n',
}


def events_of(data: bytes) -> EventLines:
    events = read("a.jsonl", data).takes[0].events
    assert isinstance(events, EventLines)
    return events


@pytest.mark.parametrize("between", _BETWEEN.values(), ids=_BETWEEN)
def test_they_are_the_same_however_they_are_read(between: bytes) -> None:
    """One after another, by index from either end, in slices, by session and as frames."""
    events = events_of(HEADER + between.join([b"", *_LINES, b""]))
    alone = [events_of(HEADER + line)[0] for line in _LINES]

    assert [1, 2, 3, 4, 5, 6, 7] == [event.n for event in events]
    assert list(events) == alone == [events[place] for place in range(7)] == events[:]
    assert (alone[-1], alone[2:5], alone[::-2]) == (events[-1], events[2:5], events[::-2])
    assert {1: [1, 3, 5, 6, 7], 2: [2, 4]} == {
        session: [event.n for event in own] for session, own in events.of_sessions().items()
    }
    assert [event.frame for event in alone] == [events.frame(place) for place in range(7)]
    assert [events.frame(place) for place in (5, 0)] == events.frames((5, 0))
    assert [True, False] == [events.may_hold(text) for text in (b'"id":1', b"elsewhere")]
    assert events == pickle.loads(pickle.dumps(events)) == alone
    with pytest.raises(IndexError):
        _ = events[7]


def test_their_lines_are_those_of_the_file() -> None:
    """What stands between them counts, and so does a take before."""
    first = HEADER + _LINES[0]
    cassette = read("a.jsonl", first + HEADER + _LINES[0] + b"\n\n" + _LINES[1] + _LINES[2])

    assert [[2], [4, 7, 8]] == [[line for line, _ in numbered(take)] for take in cassette.takes]
