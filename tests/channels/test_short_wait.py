"""A short wait for several pipes: what is read, in which order, and what is left to the loop."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcpmock.channels.short_wait import PipeSource, ShortWait
from mcpmock.protocol.messages import Frame
from tests.support import s2c


class Source:
    """A pipe, and what a read of it gives: a frame for each capital letter."""

    def __init__(self) -> None:
        self.fd, self.other = os.pipe()

    def write(self, data: bytes) -> None:
        os.write(self.other, data)

    @property
    def piped(self) -> PipeSource:
        return PipeSource(self.fd, lambda: os.read(self.fd, 100), capitals)


def capitals(data: bytes) -> list[Frame]:
    return [s2c(bytes((byte,))) for byte in data if byte < ord("a")]


@pytest.fixture
def sources() -> Iterator[list[Source]]:
    made = [Source(), Source()]
    yield made
    for source in made:
        os.close(source.fd)
        if source.other >= 0:
            os.close(source.other)


def short_wait(sources: list[Source]) -> ShortWait:
    return ShortWait([source.piped for source in sources])


def test_each_read_in_the_order_of_the_sources(sources: list[Source]) -> None:
    """What stands in several is read in their order, as long as something comes."""
    first, second = sources
    second.write(b"B")
    first.write(b"AC")
    reads = short_wait(sources).receive()

    assert [[b"A", b"C"], [b"B"]] == [[frame.raw for frame in next(reads)] for _ in sources]
    second.write(b"x")  # no frame yet
    first.write(b"D")
    assert [[s2c(b"D")]] == list(reads)


def test_the_end_is_left_to_others(sources: list[Source]) -> None:
    """What stands before the end of a source is read; the end itself stops the wait."""
    first, second = sources
    first.write(b"A")
    os.close(first.other)
    first.other = -1
    reads = short_wait(sources).receive()

    assert [s2c(b"A")] == next(reads)
    second.write(b"B")
    assert [] == list(reads)
    assert b"B" == os.read(second.fd, 100)


def test_files_are_not_waited_for(sources: list[Source], tmp_path: Path) -> None:
    """A file, which is always readable, is left out."""
    (tmp_path / "file").write_bytes(b"A")
    fd = os.open(tmp_path / "file", os.O_RDONLY)
    try:
        sources[1].write(b"B")
        file = PipeSource(fd, lambda: os.read(fd, 100), capitals)
        waits = ShortWait([file, *(source.piped for source in sources)])
        assert [[s2c(b"B")]] == list(waits.receive())
    finally:
        os.close(fd)
