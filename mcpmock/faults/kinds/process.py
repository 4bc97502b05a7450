"""Process: a server that ends, does not start, or prints what it must not."""

from __future__ import annotations

from collections.abc import Iterable

import attrs
from attrs.converters import optional

from mcpmock.faults.chunking import end_server
from mcpmock.faults.fault import Act, Dice, Fault, MatchedMessage, frozen
from mcpmock.faults.segments import On
from mcpmock.options.units import ExitCode, Signal, Size, to_bytes, to_signal
from mcpmock.pipeline.stage import Send
from mcpmock.protocol.messages import S2C, Frame, Stderr


@frozen(kw_only=True)
class Exit(Fault, usually="server"):
    """The server ends in place of reading the message, with exit status `code` or by a `signal`.

    Toward the client it ends in place of sending the message. Before that it writes `stderr`. Over
    HTTP the session ends: open requests get 503, later ones 404, as from a server that restarted.

    >>> fault = mcpmock.faults.Exit(code=7, stderr="panic", match={"tool": "get_*", "nth": 3})
    """

    code: ExitCode = 1
    signal: Signal | None = attrs.field(default=None, converter=optional(to_signal))
    stderr: str | None = None

    def apply(self, matched: MatchedMessage, dice: Dice) -> Iterable[Act]:
        yield from end_server(self.code, self.signal, self.stderr, transport=matched.transport)


@frozen(kw_only=True)
class Down(Fault, acts_on=On.BEGIN):
    """The server does not start: it ends before its first message, with exit status `code`.

    Before that it writes `stderr`. Over HTTP every request that opens a session gets 503.

    >>> fault = mcpmock.faults.Down(code=1, stderr="no such module")
    """

    code: ExitCode = 1
    stderr: str | None = None

    def apply(self, matched: MatchedMessage, dice: Dice) -> Iterable[Act]:
        yield from end_server(self.code, None, self.stderr, transport=matched.transport)


@frozen(kw_only=True)
class StdoutNoise(Fault, usually="client", transports=("stdio",)):
    """The server prints `text` on standard output, as a line in front of the message.

    >>> fault = mcpmock.faults.StdoutNoise(text="Listening on port 8080")
    """

    text: str = "DEBUG: starting up"

    def apply(self, matched: MatchedMessage, dice: Dice) -> Iterable[Act]:
        yield Send([Frame(S2C, self.text.encode())])
        yield matched.passed()


@frozen(kw_only=True)
class StderrFlood(Fault, usually="client", transports=("stdio",)):
    """The server writes `size` bytes on standard error, in front of the message.

    >>> fault = mcpmock.faults.StderrFlood(size="1MiB")
    """

    size: Size = attrs.field(default=1 << 20, converter=to_bytes)

    def apply(self, matched: MatchedMessage, dice: Dice) -> Iterable[Act]:
        line = b"mcpmock: " + b"x" * 70 + b"\n"
        flood = (line * (self.size // len(line) + 1))[: self.size]
        yield Send([Frame(S2C, flood, b"", Stderr())])
        yield matched.passed()
