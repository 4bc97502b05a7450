"""Messages in pieces put together again, within bounds."""

from __future__ import annotations

import hashlib

import pytest

from mcpmock.protocol.messages import C2S, S2C, Fragment, Frame, HttpBody
from mcpmock.protocol.reassembly import EXCERPT_BYTES, Reassembly, WholeFrame
from tests.support import seen


def add(reassembly: Reassembly, *raws: bytes, eol: bytes = b"\n") -> WholeFrame:
    """Adds all pieces, the last one with the line's end, which alone completes the message."""
    for raw in raws[:-1]:
        assert None is reassembly.add(Frame(C2S, raw, b"", Fragment()))
    whole = reassembly.add(Frame(C2S, raws[-1], eol, Fragment(last=True)))
    assert whole is not None
    return whole


@pytest.mark.parametrize("raws", [[b"abc"], [b"a", b"b", b"c"], [b"abc", b""], [b"", b"abc"]])
@pytest.mark.parametrize("eol", [b"\n", b"\r\n", b""])
def test_pieces_become_the_frame(raws: list[bytes], eol: bytes) -> None:
    """The pieces of a line give the line, with its end, as a message again."""
    whole = add(Reassembly(), *raws, eol=eol)

    assert (C2S, b"abc", eol, None) == seen(whole.frame)
    assert (3, None) == (whole.size, whole.digest)


@pytest.mark.parametrize("fact", [None, HttpBody()])
@pytest.mark.parametrize("max_bytes", [2, 3])
def test_a_frame_in_one_piece(fact: HttpBody | None, max_bytes: int) -> None:
    """A frame that is not a fragment is whole, and the bound applies to it too."""
    frame = Frame(C2S, b"abc", fact=fact, exchange=7)
    whole = Reassembly(max_bytes).add(frame)

    assert whole is not None
    assert (C2S, b"abc", b"\n", fact) == seen(whole.frame)
    assert (7, 3, max_bytes < 3) == (whole.frame.exchange, whole.size, whole.too_long)


def test_one_after_the_other() -> None:
    """The next line starts anew, also after one that was too long."""
    reassembly = Reassembly(4)
    add(reassembly, b"123", b"456")

    whole = add(reassembly, b"a", b"b")
    assert (b"ab", 2, None) == (whole.frame.raw, whole.size, whole.digest)


@pytest.mark.parametrize("size", [1000, 70_000, 150_000, 299_999, 300_000])
def test_beyond_the_bound_only_the_beginning_stays(size: int) -> None:
    """Of a line that is too long the beginning is kept, with length and digest of all, however it
    was cut.
    """
    data = bytes(i % 251 for i in range(300_000))
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    whole = add(Reassembly(100_000), *pieces)

    assert data[:EXCERPT_BYTES] == whole.frame.raw
    assert (len(data), hashlib.sha256(data).hexdigest()) == (whole.size, whole.digest)


def test_exactly_the_bound_is_whole() -> None:
    """A line of exactly the bound is kept whole, one byte more is not."""
    assert not add(Reassembly(4), b"12", b"34").too_long
    assert add(Reassembly(4), b"12", b"345").too_long


def test_several_messages_side_by_side() -> None:
    """Each direction of each exchange of each session has its own pieces, which are forgotten when
    they are whole.
    """
    reassembly = Reassembly()
    assert None is reassembly.add(Frame(C2S, b"a", fact=Fragment(), exchange=7))
    assert None is reassembly.add(Frame(S2C, b"xyz", fact=Fragment(), exchange=7))
    assert None is reassembly.add(Frame(C2S, b"other", fact=Fragment(), exchange=7), session=2)
    end = Frame(C2S, b"b", fact=Fragment(last=True), exchange=7)
    begun = reassembly.has_begun(end)
    whole = reassembly.add(end)

    assert whole is not None
    assert b"ab" == whole.frame.raw
    assert (True, False) == (begun, reassembly.has_begun(end))
    assert [(1, 3), (2, 5)] == list(reassembly.sizes())


def test_what_came_of_a_message_that_was_cut_off() -> None:
    """The bytes of a message whose last piece never came are given once, as a body."""
    reassembly = Reassembly()
    reassembly.add(Frame(S2C, b"abc", fact=Fragment(), exchange=7))
    cut = reassembly.cut(S2C, 7)

    assert cut is not None
    assert (S2C, b"abc", b"\n", HttpBody()) == seen(cut.frame)
    assert (7, 3) == (cut.frame.exchange, cut.size)
    assert (None, 0) == (reassembly.cut(S2C, 7), len(reassembly))
