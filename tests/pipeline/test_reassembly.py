"""Pieces of a long line put together again, within bounds."""

from __future__ import annotations

import hashlib

import pytest

from mcpmock.pipeline.reassembly import HEAD, Assembler, Pieces, Whole
from mcpmock.protocol.messages import C2S, S2C, Fragment, Frame, HttpBody
from tests.support import seen


def add(assembler: Assembler, *raws: bytes, eol: bytes = b"\n") -> Whole:
    """All pieces, the last one with the line's end; only then there is a whole."""
    for raw in raws[:-1]:
        assert None is assembler.add(Frame(C2S, raw, b"", Fragment()))
    whole = assembler.add(Frame(C2S, raws[-1], eol, Fragment(last=True)))
    assert whole is not None
    return whole


@pytest.mark.parametrize("raws", [[b"abc"], [b"a", b"b", b"c"], [b"abc", b""], [b"", b"abc"]])
@pytest.mark.parametrize("eol", [b"\n", b"\r\n", b""])
def test_pieces_become_the_frame(raws: list[bytes], eol: bytes) -> None:
    """The pieces of a line give the line, with its end, as a message again."""
    whole = add(Assembler(), *raws, eol=eol)

    assert (C2S, b"abc", eol, None) == seen(whole.frame)
    assert (3, None) == (whole.size, whole.digest)


def test_one_after_the_other() -> None:
    """The next line starts anew, also after one that was too long."""
    assembler = Assembler(limit=4)
    add(assembler, b"123", b"456")

    whole = add(assembler, b"a", b"b")
    assert (b"ab", 2, None) == (whole.frame.raw, whole.size, whole.digest)


@pytest.mark.parametrize("size", [1000, 70_000, 150_000, 299_999, 300_000])
def test_beyond_the_limit_only_the_head_stays(size: int) -> None:
    """Of a line that is too long the head is kept, with length and digest of all, however it was
    cut.
    """
    data = bytes(i % 251 for i in range(300_000))
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    whole = add(Assembler(limit=100_000), *pieces)

    assert data[:HEAD] == whole.frame.raw
    assert (len(data), hashlib.sha256(data).hexdigest()) == (whole.size, whole.digest)


def test_exactly_the_limit_is_whole() -> None:
    """A line of exactly the limit is kept whole, one byte more is not."""
    assert None is add(Assembler(limit=4), b"12", b"34").digest
    assert None is not add(Assembler(limit=4), b"12", b"345").digest


def test_pieces_of_several_messages_side_by_side() -> None:
    """Each message has its own pieces, and is forgotten when it is whole."""
    pieces = Pieces()
    one, other = (1, C2S, 7), (1, S2C, 7)
    assert None is pieces.add(one, Frame(C2S, b"a", fact=Fragment()))
    assert None is pieces.add(other, Frame(S2C, b"xyz", fact=Fragment()))
    whole = pieces.add(one, Frame(C2S, b"b", fact=Fragment(last=True)))

    assert whole is not None
    assert b"ab" == whole.frame.raw
    assert [(other, 3)] == list(pieces.sizes())


def test_what_came_of_a_message_that_was_cut_off() -> None:
    """Of a message whose last piece never came there is a body, once."""
    pieces = Pieces()
    pieces.add((1, S2C, 7), Frame(S2C, b"abc", fact=Fragment(), exchange=7))
    cut = pieces.cut((1, S2C, 7))

    assert cut is not None
    assert ((S2C, b"abc", b"\n", HttpBody()), 7, 3) == (
        seen(cut.frame),
        cut.frame.exchange,
        cut.size,
    )
    assert (None, False) == (pieces.cut((1, S2C, 7)), bool(pieces))
