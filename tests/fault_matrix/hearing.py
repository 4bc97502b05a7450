"""What came over one way, as its bytes came: the pieces with their times, and the end."""

from __future__ import annotations

from collections.abc import Iterator

import attrs
import h11

Timed = tuple[float, bytes]


@attrs.define
class Way:
    """All that one side received over one stream: standard output, one HTTP response, one
    connection.
    """

    pieces: list[Timed] = attrs.field(factory=list)
    ended: tuple[float, str] | None = None
    _reader: _Reader | None = attrs.field(default=None, init=False, eq=False, repr=False)

    @property
    def bytes(self) -> bytes:
        return b"".join(data for _, data in self.pieces)

    def lines(self) -> list[Timed]:
        """Its lines, each with the time when it was whole; what is behind the last one too."""
        found, rest = [], b""
        for at, data in self.pieces:
            *whole, rest = (rest + data).split(b"\n")
            found += [(at, line) for line in whole]
        return found + ([(self.pieces[-1][0], rest)] if rest else [])

    def answer(self) -> Answer:
        """As the response to a request. What was read once is not read again."""
        if self._reader is None or self._reader.ended not in (None, self.ended):
            self._reader = _Reader()
        return self._reader.read(self)

    def messages(self) -> list[Timed]:
        """The messages in a response, each with the time when it was whole."""
        return self.answer().messages


@attrs.define
class Answer:
    """A response as its client understands it."""

    status: int = 0
    headers: dict[str, str] = attrs.field(factory=dict)
    body: list[Timed] = attrs.field(factory=list)
    whole: bool = False
    broken: bool = False
    """Whether it is no HTTP from some byte on."""

    def feed(self, parser: h11.Connection, at: float, data: bytes) -> None:
        """Take what came; empty data is the end."""
        if self.whole or self.broken:
            return
        try:
            parser.receive_data(data)
            while (event := parser.next_event()) not in (h11.NEED_DATA, h11.PAUSED):
                match event:
                    case h11.Response():
                        self.status = event.status_code
                        self.headers = {n.decode(): v.decode() for n, v in event.headers}
                    case h11.Data():
                        self.body.append((at, bytes(event.data)))
                    case h11.EndOfMessage():
                        self.whole = True
                        return
                    case _:
                        return
        except h11.RemoteProtocolError:
            self.broken = True

    @property
    def streams(self) -> bool:
        return self.headers.get("content-type", "").startswith("text/event-stream")

    @property
    def blocks(self) -> list[Timed]:
        """The events of a stream as they came, each with the time when it was whole."""
        found, rest = [], b""
        for at, data in self.body:
            *whole, rest = (rest + data).split(b"\n\n")
            found += [(at, block) for block in whole]
        return found

    @property
    def messages(self) -> list[Timed]:
        if not self.streams:
            data = b"".join(data for _, data in self.body)
            return [(self.body[-1][0], data)] if data and self.whole else []
        return [(at, data) for at, block in self.blocks for data in _data(block)]


class _Reader:
    """Reads a response as it comes."""

    def __init__(self) -> None:
        self.ended: tuple[float, str] | None = None
        self._answer, self._count = Answer(), 0
        self._parser = h11.Connection(h11.CLIENT)
        self._parser.send(h11.Request(method="POST", target="/", headers=[("Host", "x")]))
        self._parser.send(h11.EndOfMessage())

    def read(self, way: Way) -> Answer:
        """Take what came since the last time."""
        for at, data in way.pieces[self._count :]:
            self._answer.feed(self._parser, at, data)
        self._count = len(way.pieces)
        if way.ended and self.ended is None:
            self.ended = way.ended
            self._answer.feed(self._parser, way.ended[0], b"")
        return self._answer


def _data(block: bytes) -> Iterator[bytes]:
    fields = [line.partition(b": ") for line in block.split(b"\n")]
    if any(name == b"event" and value != b"message" for name, _, value in fields):
        return
    data = [value for name, _, value in fields if name == b"data"]
    if data:
        yield b"\n".join(data)


@attrs.define
class Run:
    """All that was heard in one run, by each side of each session. Over stdio the client's way is
    `stdout`, over HTTP each request has one, by its name (`conversation.named`); the first of
    several requests of a name has it alone, others have a number behind it.
    """

    client: list[dict[str, Way]] = attrs.field(factory=list)
    """For each session, the ways of its client."""
    server: list[list[Timed]] = attrs.field(factory=list)
    """For each session, the messages that its server got; empty for a replay."""
    arrived: list[Way] = attrs.field(factory=list)
    """The connections to the server, as bytes."""
    stderr: list[Timed] = attrs.field(factory=list)
    status: int | None = None
    over: float = 0.0
    """When the mode was done."""
    summary: list[str] = attrs.field(factory=list)
    said: list[str] = attrs.field(factory=list)
    cassette: bytes = b""
