"""A frame becomes a line and a frame again, byte for byte."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpmock.cassette.model import Event, Gap, Header, embeddable, event_line, payload_parts
from mcpmock.cassette.parser import read
from mcpmock.protocol.messages import (
    C2S,
    S2C,
    Direction,
    Frame,
    ProcessExit,
    Stderr,
    StopSignal,
    StreamEnd,
)
from tests.support import (
    HEADER,
    INITIALIZE,
    cassette,
    exits,
    hangs_up,
    logs,
    notification,
    request,
    response,
    seen,
)

DEEP = b"[" * 100_000 + b"]" * 100_000
ODD = {
    "message": request(1, "ping"),
    "batch": b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]',
    "unknown members and order": b'{"foo":1,"id":1.0,"method":"x","jsonrpc":"2.0"}',
    "empty line": b"",
    "banner": b"listening on 3000",
    "torn": b'{"jsonrpc":"2.0","id":1,"res',
    "invalid utf-8": b'{"a":"\xff\xfe"}',
    "invalid utf-8 in an array": b'[{"method":"n","params":"\xff"}]',
    "bom": b"\xef\xbb\xbf{}",
    "nul": b'{"a":"\x00"}',
    "escaped nul": b'{"a":"\\u0000"}',
    "line separators": '{"a":"\u2028\u2029\u0085"}'.encode(),
    "line separators in text": "banner \u2028\u0085 end".encode(),
    "deep": b'{"a":' + DEEP + b"}",
    "990 deep": b"[" * 990 + b"]" * 990,
    "995 deep": b"[" * 995 + b"]" * 995,
    "digits": b'{"id":1,"result":' + b"9" * 5000 + b"}",
    "nan": b'{"a":NaN}',
    "infinity": b'{"a":1e400}',
    "lone surrogate": b'{"a":"\\ud800"}',
    "duplicate keys": b'{"a":1,"a":2}',
    "minus zero": b'{"a":-0,"b":0.60000000000000009}',
    "pretty": b'{ "a" : [ 1 , 2 ] }',
    "spaces around": b'  {"a":1}\t ',
    "space before": b' {"a":1}',
    "carriage return inside": b'{"a":\r1}',
    "cr at the end": b'{"a":1}\r',
    "line feed inside": b'{"a":\n1}',
    "control character": b'{"a":"\x01\x1f\x7f"}',
    "bad escape": b'{"a":"\\x"}',
    "trailing comma": b'{"a":1,}',
    "two documents": b'{"a":1}{"b":2}',
    "scalar": b"42",
    "string": b'"text"',
    "looks like a header": b'{"mcpmock":1,"tool":"x"}',
    "looks like a footer": b'{"footer":{"events":1,"sha256":""}}',
    "looks like an event": b'{"n":1,"t":0,"d":"c2s","m":{}}',
    "closes the line": b'{}}\n{"mcpmock":1}',
    "long": b'{"a":"' + b"x" * 2_000_000 + b'"}',
}


def loaded(line: bytes) -> Event:
    """The event that a loader reads from a line."""
    found = read("t.jsonl", HEADER + line)
    assert [] == found.damage
    assert 1 == len(found.takes)
    [event] = found.takes[0].events
    return event


@pytest.mark.parametrize("eol", [b"\n", b"\r\n", b""])
@pytest.mark.parametrize("direction", [C2S, S2C])
@pytest.mark.parametrize("raw", ODD.values(), ids=ODD.keys())
def test_frame_to_line_to_frame(raw: bytes, direction: Direction, eol: bytes) -> None:
    """Whatever crossed the wire is rebuilt from its line, byte for byte."""
    frame = Frame(direction, raw, eol)
    found = loaded(event_line(1, 5, frame)).frame
    assert found is not None

    assert seen(frame) == seen(found)


@pytest.mark.parametrize("raw", ODD.values(), ids=ODD.keys())
def test_every_line_is_one_line_of_json(raw: bytes) -> None:
    """Any JSON tool reads every line: it is valid UTF-8, one line, and one JSON object."""
    line = event_line(1, 5, Frame(C2S, raw)).decode()

    assert line.endswith("\n")
    assert 1 == line.count("\n")
    value = json.loads(line, parse_int=str)
    assert [1, 5, "c2s"] == [int(value["n"]), int(value["t"]), value["d"]]


@pytest.mark.parametrize(
    ("raw", "field"),
    [
        (request(1, "ping"), "m"),
        (b"[]", "m"),
        (b"{}", "m"),
        (b'{ "a" : 1 }', "m"),
        (b'{"a":1,"a":2}', "m"),
        (b"banner", "text"),
        (b"", "text"),
        (b"42", "text"),
        (b'{"a":NaN}', "text"),
        (b' {"a":1}', "text"),
        (b'{"a":1} ', "text"),
        (b'{"a":\r1}', "text"),
        (b'{"a":\n1}', "text"),
        (b'{"a":1', "text"),
        (b"\xef\xbb\xbf{}", "text"),
        (b"\xff", "b64"),
        (b'{"a":"\xff"}', "b64"),
    ],
)
def test_payloads(raw: bytes, field: str) -> None:
    """JSON is embedded verbatim, other text is text, and the rest base64."""
    assert b"".join(payload_parts(raw)).startswith(b'"%b":' % field.encode())
    assert (field == "m") is embeddable(raw)


def test_embedded_messages_are_verbatim() -> None:
    """A message stands in its line as the very bytes."""
    raw = b'{"id":1.0, "method":"x","params":{"b":1,"a":-0}}'

    assert b'{"n":7,"t":41210,"d":"c2s","m":%b}\n' % raw == event_line(7, 41210, Frame(C2S, raw))


def test_key_order_and_modifiers() -> None:
    """Keys come in the format's order, and modifiers only where they are not the default."""
    frame = Frame(S2C, b"banner", b"\r\n", None, 7)
    line = event_line(3, 9, frame, session=2, redacted=True)

    expected = (
        b'{"n":3,"t":9,"s":2,"x":7,"d":"s2c","text":"banner","eol":"\\r\\n","redacted":true}\n'
    )
    assert expected == line


@pytest.mark.parametrize(
    ("frame", "expected"),
    [
        (logs("listening\n"), b'{"n":1,"t":0,"stderr":"listening\\n"}\n'),
        (hangs_up(C2S), b'{"n":1,"t":0,"d":"c2s","end":"eof"}\n'),
        (hangs_up(S2C, "closed"), b'{"n":1,"t":0,"d":"s2c","end":"closed"}\n'),
        (exits(0), b'{"n":1,"t":0,"end":{"exit":0}}\n'),
        (Frame(C2S, b"", b"", StopSignal(2)), b'{"n":1,"t":0,"d":"c2s","end":{"signal":2}}\n'),
        (Frame(S2C, b"", b"", ProcessExit(signal=9)), b'{"n":1,"t":0,"end":{"signal":9}}\n'),
    ],
)
def test_facts(frame: Frame, expected: bytes) -> None:
    """What happened to the transport has lines of its own, and comes back from them."""
    line = event_line(1, 0, frame)
    found = loaded(line).frame
    assert found is not None

    assert expected == line
    assert seen(frame) == seen(found)


@pytest.mark.parametrize("raw", [b"plain\n", b"", b"\xff\x00half \xc3", "\u2028é".encode()])
def test_standard_error_keeps_its_bytes(raw: bytes) -> None:
    """Standard error comes back byte for byte, also where it is no text."""
    frame = Frame(S2C, raw, b"", Stderr())
    found = loaded(event_line(1, 0, frame)).frame
    assert found is not None

    assert seen(frame) == seen(found)


def test_the_first_event_has_its_time() -> None:
    """A receipt at the very beginning of a take has a `t` like any other event."""
    assert b'{"n":1,"t":0,"d":"c2s","fault":{"kind":"down"}}' == msgspec.json.encode(
        Event(n=1, d="c2s", fault={"kind": "down"})
    )


def test_what_is_no_frame() -> None:
    """A gap is in the cassette and never crossed the wire."""
    assert None is Event(n=1, gap=Gap(bytes=5, events=1, reason="x")).frame


SCRAPS = (
    b'"', b"\\", b"{", b"}", b"\r", b"\x00", b"\xff", b"\xe2\x80\xa8", b"1", b",", b":", b"[", b"]",
    b" ", b"u",
)  # fmt: skip


@given(st.lists(st.sampled_from(SCRAPS), max_size=30).map(b"".join) | st.binary(max_size=30))
def test_any_bytes_round_trip(raw: bytes) -> None:
    """Whatever crossed is read from the cassette as it was."""
    found = loaded(event_line(1, 0, Frame(S2C, raw))).frame
    assert found is not None

    assert raw == found.raw


def test_episodes_are_the_sessions_of_all_takes() -> None:
    """Each session of each take is an episode, in the order they began, with its own events."""
    take = HEADER + b"".join(
        event_line(n, 0, Frame(C2S, INITIALIZE), session=session)
        for n, session in enumerate((1, 2, 1), 1)
    )
    found = read("t.jsonl", take + take).episodes()

    assert [[1, 3], [2], [1, 3], [2]] == [[event.n for event in one.events] for one in found]
    assert [1, 1, 5, 5] == [one.take.line for one in found]


@pytest.mark.parametrize(
    ("end", "fact"),
    [
        ({"exit": 3}, ProcessExit(3)),
        ({"signal": 15}, ProcessExit(signal=15)),
        ("reset", StreamEnd("reset")),
    ],
)
def test_ends(end: Any, fact: object) -> None:
    """An end is the process's or the stream's."""
    frame = Event(n=1, d="s2c", end=end).frame
    assert frame is not None

    assert fact == frame.fact


def test_the_builder_of_these_tests() -> None:
    """The tests' own cassettes hold what they were told, a second apart unless said otherwise."""
    built = cassette(
        ("c2s", INITIALIZE),
        (1.5, "s2c", response(0)),
        ("stderr", "x"),
        ("end", {"exit": 1}),
        ("take", None),
        ("c2s", notification("n")),
    )

    assert [[1_000_000, 1_500_000, 2_500_000, 3_500_000], [1_000_000]] == [
        [event.t for event in take.events] for take in built.takes
    ]


def test_a_header_needs_only_its_version() -> None:
    """A header says no more than it knows."""
    assert None is Header(mcpmock=1).target
