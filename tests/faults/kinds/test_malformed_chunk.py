"""`malformed_chunk`: bad chunks."""

from __future__ import annotations

from mcpmock.channels.http.http1 import ResponseWriter
from mcpmock.faults.kinds.http import MalformedChunk
from tests.faults.faulty import CALL, faulty
from tests.support import post


def written(fault: MalformedChunk) -> bytes:
    """The bytes that the client reads."""
    writer = ResponseWriter("POST")
    out = faulty(fault, transport="streamable-http").pipeline.enter(post(1, CALL), 0)
    return b"".join(writer.write(frames) for frames in out)


def test_a_length_that_is_none() -> None:
    """Behind a chunk that is one."""
    head, _, chunks = written(MalformedChunk()).partition(b"\r\n\r\n")

    assert b"Transfer-Encoding: chunked" in head
    assert b"1\r\n{\r\nmcpmock\r\n{}\r\n" == chunks


def test_a_length_that_breaks_off() -> None:
    """Inside the header of a chunk."""
    assert written(MalformedChunk(cut=True)).endswith(b"1\r\n{\r\n1")
