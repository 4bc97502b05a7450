"""Whether a cassette is whole."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from mcpmock.cassette import HEADER_START
from mcpmock.cassette.parser import read
from mcpmock.cassette.validate import Finding, Inspection, inspect
from mcpmock.errors import Level
from tests.support import HEADER, INITIALIZE, batch, cassette_bytes, request, response
from tests.support.sealed import ONE, TWO, sealed

RICH = cassette_bytes(
    ("c2s", INITIALIZE),
    ("s2c", response(0, {"text": "zw\u00f6lf"})),
    ("stderr", "up\n"),
    ("s2c", b"a banner"),
    ("s2c", b"\xff\xfe"),
    ("c2s", batch(request(1, "ping"), request("a", "tools/list"))),
    ("end", {"d": "c2s"}),
    ("end", {"exit": 0}),
)


def told(data: bytes) -> list[tuple[int, str, str]]:
    return [(found.line, found.level.value, found.text) for found in inspect(data).findings]


def errors(data: bytes) -> list[int]:
    return [found.line for found in inspect(data).findings if found.level is Level.ERROR]


def test_there_is_nothing_to_say_about_what_was_recorded() -> None:
    """A closed recording has no findings, however many takes it has; nothing at all has none
    either.
    """
    assert Inspection(2, 10, ()) == inspect(sealed(RICH) + sealed())
    empty = Finding(0, Level.NOTICE, "is empty: it holds no recording")
    assert Inspection(0, 0, (empty,)) == inspect(b"")


def test_what_was_not_closed_is_noticed() -> None:
    """A take without a footer and a torn tail are notices."""
    found = inspect(HEADER + ONE + TWO[:-1])

    assert [(1, Level.NOTICE), (3, Level.NOTICE)] == [(f.line, f.level) for f in found.findings]
    assert "torn line dropped" in found.findings[1].text
    assert (0, 2) == (found.count(Level.ERROR), found.count(Level.NOTICE))


def test_damage_is_an_error() -> None:
    """A line in the middle that is no event is an error with its line and the reason."""
    assert (3, "error", "not an event: not JSON at column 1: invalid character") in told(
        HEADER + ONE + b"oops\n" + TWO
    )


def test_an_edit_is_an_error() -> None:
    """A digest that does not fit, which loading only warns of, is an error at the footer."""
    edited = sealed().replace(b"ping", b"pong")

    assert [4] == errors(edited)
    assert "the digest in the footer differs" in told(edited)[0][2]


def test_a_second_footer_is_an_error() -> None:
    """A take is closed once."""
    expected = [(4, "error", "another footer follows")]
    assert expected == told(sealed() + sealed().splitlines(keepends=True)[-1])


def test_a_footer_that_counts_otherwise_is_an_error() -> None:
    """The number of events in the footer is that of the events above it."""
    expected = [(4, "error", "the footer counts 3 events, there are 2")]
    assert expected == told(sealed(events=3))


def test_events_out_of_sequence_are_errors() -> None:
    """Each number is higher than the one before, and in each take they begin anew."""
    assert [(3, "error", "event 1 comes after event 2")] == told(sealed(HEADER + TWO + ONE))
    assert [] == told(sealed() + sealed())
    assert [2] == errors(sealed(HEADER + b'{"n":0,"stderr":""}\n'))


def test_a_format_that_nobody_knows_yet_is_an_error() -> None:
    """A take of another major version is an error, wherever it stands."""
    other = HEADER.replace(b":1,", b":2,", 1)

    assert [5] == errors(sealed() + sealed(other))
    assert "has format 2, this mcpmock reads 1" in told(sealed() + sealed(other))[0][2]


def test_what_the_recorder_could_not_keep_is_noticed() -> None:
    """Gaps and frames of which only the head was kept are notices."""
    lines = (
        b'{"n":1,"t":0,"gap":{"bytes":9,"events":2,"reason":"disk full"}}\n'
        b'{"n":2,"t":0,"d":"c2s","text":"a","oversize":{"bytes":99,"sha256":""}}\n'
        b'{"n":3,"t":0,"d":"c2s","m":{"gap":1,"oversize":2}}\n'
    )

    assert [
        (2, "notice", "not recorded: 2 events, 9 bytes: disk full"),
        (3, "notice", "only the head of a frame of 99 bytes"),
    ] == told(sealed(HEADER + lines))


def test_a_recording_cut_anywhere_is_a_prefix_of_itself() -> None:
    """Cut at any byte, a cassette holds the first of its events, and nothing is more than noticed
    but a torn footer or header.
    """
    data = sealed(RICH)
    whole = [event.n for event in read("", data).takes[0].events]
    for size in range(len(data)):
        takes = read("", data[:size]).takes
        kept = [event.n for take in takes for event in take.events]
        found = inspect(data[:size])

        assert whole[: len(kept)] == kept
        assert 0 == found.count(Level.ERROR)
        assert size == 0 or found.findings or size < len(HEADER)


def test_no_flipped_bit_goes_unnoticed() -> None:
    """Whichever bit of a sealed take flips, there is a finding, or it is no cassette any more."""
    data = sealed(RICH)
    covered = data.rindex(b'{"footer"') * 8
    dice = random.Random(20261120)
    for _ in range(2_000):
        bit = dice.randrange(covered)
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << bit % 8

        assert inspect(bytes(flipped)).findings, f"bit {bit}"


def test_flips_in_the_footer_stop_nobody() -> None:
    """A footer is read whatever became of it, and its digest and count are found out."""
    data = sealed(RICH)
    start = data.rindex(b'"events"')
    for bit in range(start * 8, data.rindex(b',"redacted"') * 8):
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << bit % 8

        assert inspect(bytes(flipped)).findings, f"bit {bit}"


def test_lines_in_any_disorder_stop_nobody() -> None:
    """Lines of cassettes cut, doubled and shuffled are inspected without a complaint of ours."""
    for seed in range(20):
        print("seed", seed)
        dice = random.Random(seed)
        lines = [
            *(sealed(RICH) + sealed()).splitlines(keepends=True),
            b"\n",
            b"oops\n",
            HEADER_START,
        ]
        lines += [line[: dice.randrange(len(line))] for line in lines]
        for _ in range(100):
            inspect(b"".join(dice.choices(lines, k=12)))


CRLF = "line ends were changed (CR LF): `mcpmock fmt` mends them; "


@pytest.mark.parametrize(
    "changed",
    [
        lambda data: data.replace(b"\n", b"\r\n"),
        lambda data: data.replace(b"\n", b"\r\n", 1),
        lambda data: data.replace(b"\n", b"\r\n", 3),
        lambda data: b"\r\n".join(data.rsplit(b"\n", 1)),
        lambda data: b"\r\n".join(data.rsplit(b"\n", 2)),
        lambda data: data.replace(b"\n", b"\r\n") + sealed(),
    ],
    ids=["all", "the header", "some", "the footer", "the last two", "the first take"],
)
def test_line_ends_that_were_changed(changed: Callable[[bytes], bytes]) -> None:
    """They are noticed once, and are no edit; the messages are what was recorded."""
    data = changed(sealed(RICH) + sealed())
    [found] = inspect(data).findings
    assert (0, Level.NOTICE) == (found.line, found.level)
    assert found.text.startswith(CRLF)
    plain = inspect(data.replace(b"\r\n", b"\n"))
    assert plain.cassette.takes == inspect(data).cassette.takes


def test_line_ends_hide_no_edit() -> None:
    """An edited take is found as ever."""
    data = sealed(RICH).replace(b"banner", b"bAnner").replace(b"\n", b"\r\n")
    assert [Level.NOTICE, Level.ERROR] == [found.level for found in inspect(data).findings]
