"""Chunks, plain ones and those that h11 reads."""

from __future__ import annotations

import h11
import pytest

from mcpmock.channels.http import chunked
from mcpmock.channels.http.chunked import Chunks, chunk

BODIES = {
    "plain": b"1\r\na\r\n0a\r\nbcdefghijk\r\n0\r\n\r\n",
    "nothing": b"0\r\n\r\n",
    "an extension": b"1;x=y\r\na\r\n0A\r\nbcdefghijk\r\n0\r\n\r\n",
    "zeros": b"000001\r\na\r\n000000000A\r\nbcdefghijk\r\n00\r\n\r\n",
    "trailers": b"1\r\na\r\n0a\r\nbcdefghijk\r\n0\r\nX: 1\r\n\r\n",
    "line ends": b"4\r\n\r\n\r\n\r\n3\r\n0\r\n\r\n0\r\n\r\n",
}
BAD = {
    "no number": b"x\r\na\r\n",
    "a sign": b"+1\r\na\r\n",
    "another sign": b"-1\r\n\r\n",
    "a bare LF behind the number": b"5\n12345\r\n0\r\n\r\n" + b" " * 64,
    "a bare LF behind the data": b"5\r\n12345\n0\r\n\r\n",
    "a prefix": b"0x1\r\na\r\n",
    "a space in front": b" 1\r\na\r\n",
    "too long": b"1\r\nab\r\n0\r\n\r\n",
    "too short": b"2\r\na\r\n0\r\n\r\n",
    "an endless number": b"1" * 30 + b"\r\n",
    "a line break in an extension": b"1;a\nb\r\na\r\n",
}


def by_h11(data: bytes) -> tuple[bytes, bool, bytes]:
    """What h11 alone makes of it."""
    parser = h11.Connection(h11.SERVER)
    parser.receive_data(b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + data)
    parser.next_event()
    found = b""
    while isinstance(event := parser.next_event(), h11.Data):
        found += event.data
    done = isinstance(event, h11.EndOfMessage)
    return found, done, parser.trailing_data[0] if done else b""


@pytest.mark.parametrize("name", BODIES)
def test_chunks_read_as_h11_reads_them(name: str) -> None:
    """However they are split, and as far as they came; what is behind stays."""
    whole = BODIES[name] + b"NEXT"
    for size in range(len(BODIES[name])):
        assert by_h11(whole[:size])[1:] == (False, b"")
    expected = by_h11(whole)
    for one in range(len(whole) + 1):
        for other in (one, *range(one, min(len(whole), one + 4))):
            chunks, found, behind = Chunks(), b"", b""
            for data in (whole[:one], whole[one:other], whole[other:]):
                if chunks.done:
                    behind += data
                    continue
                found += b"".join(chunks.feed(data))
                behind = chunks.behind

            assert expected == (found, chunks.done, behind)


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("before", [b"", b"1\r\na\r\n"])
def test_what_is_no_chunk(name: str, before: bytes) -> None:
    """Is an error, here as with h11, and what was there before it comes."""
    with pytest.raises(h11.RemoteProtocolError):
        by_h11(before + BAD[name])
    chunks, found = Chunks(), list[bytes]()
    with pytest.raises(ValueError):
        found += chunks.feed(before + BAD[name])

    assert not chunks.done
    assert b"".join(found).startswith(before[3:4])


def test_plain_chunks_need_no_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor does nothing at all."""
    monkeypatch.delattr(chunked, "h11")
    chunks = Chunks()

    assert [] == list(chunks.feed(b""))
    assert [b"a"] == list(chunks.feed(b"1\r\na\r\n"))
    assert [b"bcdefghijk"] == list(chunks.feed(b"A\r\nbcdefghijk\r\n0\r\n\r\n"))
    assert chunks.done


def test_writing() -> None:
    """An empty chunk would be the end, so nothing is written for nothing."""
    assert b"2\r\n{}\r\n" == chunk(b"{}", last=False)
    assert b"a\r\n0123456789\r\n0\r\n\r\n" == chunk(b"0123456789", last=True)
    assert (b"", b"0\r\n\r\n") == (chunk(b"", last=False), chunk(b"", last=True))
