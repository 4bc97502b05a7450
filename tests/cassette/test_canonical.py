"""Canonical form, and what can be saved of a damaged cassette."""

from __future__ import annotations

import random

import pytest

from mcpmock.cassette.canonical import canonical, recover
from mcpmock.cassette.parser import read
from mcpmock.cassette.validate import inspect
from mcpmock.errors import Level
from mcpmock.options.files import Times
from tests.cassette.test_validate import RICH
from tests.support import HEADER, cassette_bytes, request, response
from tests.support.sealed import EVENTS, ONE, TWO, sealed

CANONICAL_HEADER = b'{"mcpmock":1,"tool":"tests","transport":"stdio"}\n'


def formed(body: bytes, times: Times = "drop") -> bytes:
    """The events of an unsealed take in canonical form."""
    data = canonical(HEADER + body, times, stderr="keep").data
    return data.split(b"\n", 1)[1]


def errors(data: bytes) -> int:
    return inspect(data).count(Level.ERROR)


@pytest.mark.parametrize("times", ["drop", "round", "keep"])
@pytest.mark.parametrize("data", [b"", HEADER, sealed(), sealed(RICH) * 2, HEADER + EVENTS])
def test_form_is_reached_once(data: bytes, times: Times) -> None:
    """Formatting twice is formatting once, and what comes out is whole."""
    once = canonical(data, times).data

    assert once == canonical(once, times).data
    assert 0 == errors(once)


def test_two_recordings_of_one_session_have_one_form() -> None:
    """When, and in which pieces of standard error, a session was recorded does not show; nor what
    was logged, unless it is kept.
    """

    def recording(start: float, *pieces: str, at: bytes) -> bytes:
        events = [
            (start, "c2s", request(1, "ping")),
            *((start + 1, "stderr", piece) for piece in pieces),
            (start + 2, "s2c", response(1)),
        ]
        return sealed(cassette_bytes(*events, header=HEADER.replace(b"2026", at)))

    pieces = recording(0.1, "up\n", "and run", "ning\n", at=b"2026")
    whole = recording(0.2, "up\nand running\n", at=b"2027")
    late = recording(0.2, "up at 10:00\n", "and down\n", at=b"2028")
    one, other = canonical(pieces, stderr="keep"), canonical(whole, stderr="keep")
    logs = [canonical(data) for data in (pieces, late)]

    assert logs[0].data == logs[1].data
    assert b"stderr" not in logs[0].data
    assert [(3, 0), (2, 0)] == [(log.unlogged, log.joined) for log in logs]

    assert one.data == other.data
    assert (2, 0) == (one.joined, other.joined)
    assert (
        sealed(CANONICAL_HEADER + one.data.split(b"\n", 1)[1].rpartition(b'{"footer"')[0])
        == one.data
    )


def test_events_are_numbered_anew_in_the_order_they_stand() -> None:
    """Whatever the numbers were, they are 1, 2, 3; the order is that of the file."""
    expected = TWO.replace(b'"n":2,"t":2000000', b'"n":1') + ONE.replace(
        b'"n":1,"t":1000000', b'"n":2'
    )
    assert expected == formed(TWO + ONE)


@pytest.mark.parametrize(
    ("times", "t"),
    [("drop", b""), ("round", b',"t":1240000'), ("keep", b',"t":1236789')],
)
def test_times_are_dropped_rounded_or_kept(times: Times, t: bytes) -> None:
    """`t` goes, is rounded to 10 ms or stays; a line that has none gets none."""
    lines = b'{"n":1,"t":1236789,"d":"c2s","m":{}}\n{"n":2,"d":"c2s","m":{}}\n'

    expected = b'{"n":1%b,"d":"c2s","m":{}}\n{"n":2,"d":"c2s","m":{}}\n' % t
    assert expected == formed(lines, times)
    assert (b"recorded_at" in canonical(HEADER, times).data) is (times != "drop")


def test_the_very_bytes_of_values_and_unknown_keys_survive() -> None:
    """Keys are put in the order of the format with unknown ones behind; values stay as written."""
    message = b'{ "id": 1.0,"x":"\\u00e9", "id":12345678901234567890123 }'
    line = (
        b' {"new": [1, 2],"m":%b,"d":"c2s","s":1 , "n": 5, "eol":"\\n","redacted":true}\n' % message
    )
    header = HEADER.replace(b'"transport"', b'"future":{"a": 1},"transport"')
    data = canonical(header + line).data

    assert b'{"n":1,"d":"c2s","m":%b,"redacted":true,"new":[1, 2]}\n' % message in data
    assert data.startswith(CANONICAL_HEADER[:-2] + b',"future":{"a": 1}}\n')


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        (b'"new":1,"new":2', b'"new":1,"new":2'),
        (b'"new":1, "new" : 1', b'"new":1,"new":1'),
        (b'"new":1,"a":{},"new":[ 2],"new":null', b'"new":1,"new":[ 2],"new":null,"a":{}'),
        (b'"n\\u0065w":1,"new":2', b'"new":1,"new":2'),
        ('"é":1,"é":2'.encode(), '"é":1,"é":2'.encode()),
        (b'"":1,"":2', b'"":1,"":2'),
    ],
)
def test_unknown_keys_of_one_name(written: bytes, kept: bytes) -> None:
    """Each is kept, in an event, a header and a footer. Of a known one the last counts."""
    header = HEADER.replace(b'"transport"', b'%b,"transport"' % written)
    line = b'{"n":1,"d":"s2c","d":"c2s",%b,"m":{}}\n' % written
    whole = sealed(header + line).replace(b'{"footer":{', b'{"footer":{%b,' % written)
    data = b"%b,%b}\n" % (whole.removesuffix(b"}\n"), written)
    once = canonical(data).data
    first, event, last = once.splitlines()

    assert first == CANONICAL_HEADER[:-2] + b",%b}" % kept
    assert event == b'{"n":1,"d":"c2s","m":{},%b}' % kept
    assert last.startswith(b'{"footer":{"events":1,"sha256":')
    assert last.endswith(b",%b},%b}" % (kept, kept))
    assert once == canonical(once).data


def test_sessions_and_exchanges_are_numbered_by_first_appearance() -> None:
    """However many came between, the same conversation has the same numbers; session 1 stays."""
    lines = (
        b'{"n":1,"x":31,"d":"c2s","end":"eof"}\n{"n":2,"s":9,"x":40,"d":"c2s","end":"eof"}\n'
        b'{"n":3,"s":4,"x":32,"d":"c2s","end":"eof"}\n{"n":4,"s":9,"stderr":"a"}\n'
        b'{"n":5,"s":9,"x":31,"d":"c2s","end":"eof"}\n'
    )
    expected = (
        b'{"n":1,"x":1,"d":"c2s","end":"eof"}\n{"n":2,"s":2,"x":2,"d":"c2s","end":"eof"}\n'
        b'{"n":3,"s":3,"x":3,"d":"c2s","end":"eof"}\n{"n":4,"s":2,"stderr":"a"}\n'
        b'{"n":5,"s":2,"x":1,"d":"c2s","end":"eof"}\n'
    )
    assert expected == formed(lines)
    assert expected == formed(expected)


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        (b'[["A", "1"],["Date","x"],["date","y"],["B","2"]]', b'[["A", "1"],["B","2"]]'),
        (b'[["DATE","x"]]', b"[]"),
        (b'[["A", "Date"], ["Dated","x"]]', b'[["A", "Date"], ["Dated","x"]]'),
        (b"[]", b"[]"),
    ],
)
def test_the_date_of_a_head_goes(headers: bytes, expected: bytes) -> None:
    """`Date` differs each time; every other field stays as it is written."""
    line = b'{"n":1,"x":1,"d":"s2c","http":{"status":200,"new": 1,"reason":"","headers":%b}}\n'

    assert line % expected == formed(line % headers)


def test_a_deep_message_is_no_obstacle() -> None:
    """Nesting that no decoder takes is kept like any other message."""
    deep = b"[" * 50_000 + b"]" * 50_000

    assert b'{"n":1,"d":"c2s","m":%b}\n' % deep == formed(b'{"n":9,"d":"c2s","m":%b}\n' % deep)


def test_standard_error_is_joined_byte_for_byte() -> None:
    """A character cut in two is whole again; other sessions and unknown keys keep pieces apart."""
    cut = '{"n":1,"stderr":"\ufffd","raw":"ww=="}\n'.encode()
    halves = b'{"n":1,"stderr":"a?","raw":"YcM="}\n{"n":2,"stderr":"?b","raw":"tmI="}\n'
    apart = (
        b'{"n":1,"stderr":"a"}\n{"n":2,"s":2,"stderr":"b"}\n{"n":3,"s":2,"stderr":"c","new":1}\n'
    )

    assert '{"n":1,"stderr":"a\u00f6b"}\n'.encode() == formed(halves)
    assert apart == formed(apart)
    assert cut == formed(cut)
    assert b'{"n":1,"stderr":"ab","redacted":true}\n' == formed(
        b'{"n":1,"stderr":"a"}\n{"n":2,"stderr":"b","redacted":true}\n'
    )


def test_an_edited_take_is_sealed_again_and_an_open_one_stays_open() -> None:
    """A take gets a footer that fits if it had one; what else stood in the footer is kept."""
    edited = sealed().replace(b"ping", b"pong").replace(b'"gaps":0', b'"new":1,"gaps":4')
    done = canonical(edited + HEADER + ONE)

    assert 1 == inspect(edited).count(Level.ERROR)
    assert 0 == errors(done.data)
    assert b'"redacted":0,"gaps":4,"new":1}}\n' in done.data
    assert (2, 3, 1) == (done.takes, done.events, done.sealed)
    assert read("", done.data).takes[1].footer is None


def test_a_torn_tail_is_left_out_and_said() -> None:
    """What was never written to its end goes; a last line that only lacks its line break stays."""
    torn = canonical(HEADER + ONE + TWO[:20])

    assert (1, [3]) == (torn.events, [damage.line for damage in torn.torn])
    assert canonical(HEADER + ONE + TWO).data == canonical(HEADER + ONE + TWO[:-1]).data


def test_recovering_what_is_whole_changes_nothing() -> None:
    """An undamaged cassette is saved byte for byte."""
    data = sealed(RICH) + HEADER + ONE
    saved = recover(data)

    assert data == saved.data
    assert (2, 9, (), 0, 0, 0) == (saved.takes, saved.events, saved.lost, *marks(data))


def marks(data: bytes) -> tuple[int, int, int]:
    saved = recover(data)
    return saved.headers, saved.footers, saved.renumbered


def test_good_lines_around_a_bad_one_are_saved_as_they_are() -> None:
    """The bad line goes and with it the footer that no longer fits; other takes are untouched."""
    data = sealed(HEADER + ONE + b"oops\n" + TWO) + sealed()
    saved = recover(data)

    assert HEADER + ONE + TWO + sealed() == saved.data
    assert [(3, "not an event: not JSON at column 1: invalid character")] == [
        (d.line, d.reason) for d in saved.lost
    ]
    assert (0, 1, 0) == marks(data)


def test_events_that_lost_their_header_get_a_substitute() -> None:
    """Rather than losing a take with its header, a new header is put above its events."""
    data = sealed() + b"oops\n" + EVENTS
    saved = recover(data)

    assert sealed() + b'{"mcpmock":1,"tool":"mcpmock recover"}\n' + EVENTS == saved.data
    assert (1, 0, 0) == marks(data)


def test_events_out_of_sequence_are_numbered_anew() -> None:
    """Saving does not leave what `check` would fail on; only the numbers change."""
    saved = recover(HEADER + TWO + ONE)

    swapped = TWO.replace(b'"n":2', b'"n":1') + ONE.replace(b'"n":1', b'"n":2')
    assert HEADER + swapped == saved.data
    assert 1 == saved.renumbered


def test_of_nothing_nothing_is_saved() -> None:
    """Where no line is good there is no take."""
    assert (0, b"") == (recover(b"").takes, recover(b"").data)
    assert (0, b"") == (recover(b"oops\nmore\n").takes, recover(b"oops\nmore\n").data)


def test_whatever_was_recovered_is_whole() -> None:
    """Of lines cut, doubled and shuffled, with flipped bits, what is saved passes `check` and is
    stable.
    """
    for seed in range(20):
        print("seed", seed)
        dice = random.Random(seed)
        lines = [*(sealed(RICH) + sealed()).splitlines(keepends=True), b"\n", b"oops\n"]
        lines += [line[: dice.randrange(len(line))] for line in lines]
        for _ in range(20):
            data = bytearray(b"".join(dice.choices(lines, k=12)))
            if data:
                data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
            saved = recover(bytes(data))

            assert 0 == errors(saved.data)
            assert saved.data == recover(saved.data).data
            assert canonical(saved.data).data == canonical(canonical(saved.data).data).data
