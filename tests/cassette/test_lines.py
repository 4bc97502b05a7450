"""A cassette as lines."""

from __future__ import annotations

import hashlib

from mcpmock.cassette.lines import Sheet, take_apart
from tests.support import HEADER
from tests.support.sealed import EVENTS, ONE, TWO, sealed

BAD = b'{"n":1,oops\n'


def shape(data: bytes) -> list[tuple[bool, int, bool]]:
    """Of each sheet: has it a header, how many events, has it a footer."""
    sheets, _ = take_apart(data)
    return [(s.header is not None, len(s.events), s.footer is not None) for s in sheets]


def lost(data: bytes) -> list[int]:
    return [damage.line for damage in take_apart(data)[1]]


def test_whole_takes_come_back_byte_for_byte() -> None:
    """The sheets of an undamaged cassette, put together, are the cassette, blank lines included."""
    data = sealed() + HEADER + b"\n" + ONE + b"  \n" + TWO + sealed(HEADER)
    sheets, missing = take_apart(data)

    assert data == b"".join(sheet.data for sheet in sheets)
    assert [] == missing
    assert [(True, 2, True), (True, 2, False), (True, 0, True)] == shape(data)


def test_the_seal_is_what_the_recorder_wrote() -> None:
    """A sheet knows the digest and the count that its footer must have."""
    (sheet,), _ = take_apart(sealed())

    digest = hashlib.sha256(HEADER + EVENTS).hexdigest().encode()
    assert {"events": b"2", "sha256": b'"%b"' % digest} == sheet.seal


def test_lines_know_their_place_and_their_event() -> None:
    """A line has its number in the file and the number of its event."""
    (_, sheet), _ = take_apart(sealed() + HEADER + b"\n" + ONE + TWO)

    assert [(7, 1), (8, 2)] == [(line.number, line.n) for line in sheet.events]


def test_a_bad_line_is_lost_and_its_neighbours_are_not() -> None:
    """Damage in the middle takes only its own line."""
    data = HEADER + ONE + BAD + TWO

    assert [(True, 2, False)] == shape(data)
    assert [3] == lost(data)


def test_torn_tails_are_lost() -> None:
    """A torn line at the end, before a header, or with a header glued to it is on no sheet."""
    assert [(True, 1, False)] == shape(HEADER + ONE + TWO[:20])
    footer = sealed().splitlines()[-1]
    for torn in (TWO[:20], TWO[:20] + b"\n", HEADER[:20], HEADER[:20] + b"\n", footer[:30] + b"\n"):
        data = HEADER + ONE + torn + HEADER + ONE
        assert [(True, 1, False), (True, 1, False)] == shape(data)
        assert [3] == lost(data)


def test_a_torn_line_behind_a_footer_makes_no_take() -> None:
    """A take in which nothing was written but a torn line is none."""
    data = sealed() + TWO[:20] + b"\n" + sealed()

    assert [(True, 2, True), (True, 2, True)] == shape(data)
    assert [5] == lost(data)


def test_events_without_a_header_are_a_take_of_their_own() -> None:
    """Where a header was lost, its events are kept apart from the take before."""
    expected = [(True, 2, True), (False, 2, False)]
    for header in (b"oops\n", b'{"mcpmock":oops\n', b'{"mcpmock":1,"footer\n'):
        assert expected == shape(sealed() + header + ONE + TWO)
    assert [(False, 2, False)] == shape(b"oops\n" + ONE + TWO)


def test_counting_anew_after_a_lost_line_is_another_take() -> None:
    """In a take that was never closed, only the numbers tell that the lost line was a header."""
    assert [(True, 2, False), (False, 2, False)] == shape(HEADER + EVENTS + b"oops\n" + EVENTS)
    assert [(True, 4, False)] == shape(HEADER + EVENTS + EVENTS)


def test_of_two_footers_the_last_counts() -> None:
    """A second footer puts the first aside, as it does on loading."""
    data = sealed() + sealed().splitlines(keepends=True)[-1]

    assert [(True, 2, True)] == shape(data)
    assert [4] == lost(data)


def test_a_footer_without_a_take_is_lost() -> None:
    """Nothing at all is a cassette without takes, and a footer alone is not one either."""
    assert ([], []) == take_apart(b"")
    assert [] == shape(sealed(b""))
    assert [1] == lost(sealed(b""))


def test_a_take_of_another_format_is_left_alone() -> None:
    """The events of a format we do not know are nobody's, and the next take of ours is whole."""
    other = sealed(HEADER.replace(b":1,", b":2,", 1) + EVENTS)

    assert [(True, 2, True), (True, 2, True)] == shape(sealed() + other + sealed())
    assert [5] == lost(sealed() + other + sealed())


def test_a_sheet_without_its_header_has_a_substitute() -> None:
    """A take that lost its header can be written all the same."""
    assert b'{"mcpmock":1,"tool":"mcpmock recover"}\n' == Sheet(header=None).data
