"""`ExchangeServer` and `ExchangeClient`: what HTTP+SSE and Streamable HTTP have in common.

A server stage turns the exchanges of a client into bare messages and the messages of a server into
responses; a client stage does the reverse. Which message goes into which exchange is the affair of
`http_sse` and `streamable_http`, above; the pieces of long messages are joined here.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from math import inf

from mcpmock.pipeline.stage import Action, Send, Stage
from mcpmock.protocol.http_reply import flatten
from mcpmock.protocol.messages import (
    C2S,
    S2C,
    ExchangeEnd,
    Fragment,
    Frame,
    HttpBody,
    HttpRequest,
    ProcessExit,
    StreamEnd,
)
from mcpmock.protocol.reassembly import Reassembly
from mcpmock.protocol.transport_facts import Fact, Headers

from .headers import with_defaults

INPUT_END_TIMEOUT_S = 0.5
"""Time for open requests to be answered after the end of the client's input."""


class _ExchangeStage(Stage):
    def __init__(self) -> None:
        self._reassembly = Reassembly()
        self._to_client: list[Frame] = []
        self._to_server: list[Frame] = []

    def _take_frames(self) -> tuple[Send, Send]:
        # To the client first: a player answers at once, and its answer must follow the stream's
        # head.
        to_client, to_server = Send(self._to_client.copy()), Send(self._to_server.copy())
        self._to_client.clear()
        self._to_server.clear()
        return to_client, to_server

    def _joined(self, frame: Frame) -> bytes | None:
        """Return the message that a piece completes; None if there is none, or it is too long."""
        whole = self._reassembly.add(frame)
        return None if whole is None or whole.too_long else whole.frame.raw


class ExchangeServer(_ExchangeStage):
    """Turns C2S exchange frames into bare messages, and S2C bare messages into exchange frames."""

    def __init__(self) -> None:
        super().__init__()
        self._arriving: dict[int, HttpRequest] = {}
        self._ended = self._input_ended = False

    def feed(self, seen: Sequence[Frame], now: float) -> Iterable[Action]:  # noqa: ARG002
        for frame in seen:
            if frame.direction is C2S:
                self._take_from_client(frame)
            else:
                self._take_from_server(frame)
        return self._take_frames()

    @abstractmethod
    def _serve_request(
        self, x: int, head: HttpRequest, body: bytes, *, too_long: bool = False
    ) -> None:
        """Take a whole request."""

    @abstractmethod
    def _disconnect(self, x: int) -> None:
        """Note that the client has closed an exchange."""

    @abstractmethod
    def _route(self, raw: bytes) -> None:
        """Send a message of the server to the exchange that it belongs to."""

    @abstractmethod
    def _end_responses(self) -> None:
        """End the open responses, as the server has ended."""

    def _pass_on(self, frame: Frame) -> None:
        # An exchange (a DELETE, an event stream) and the wire both end the client's input: one
        # StreamEnd is passed.
        if isinstance(frame.fact, StreamEnd):
            if self._input_ended:
                return
            self._input_ended = True
        self._to_server.append(frame)

    def _take_from_client(self, frame: Frame) -> None:
        x = frame.exchange
        if x is None:
            self._pass_on(frame)
            return
        match frame.fact:
            case HttpRequest() as head if head.has_body:
                self._arriving[x] = head
            case HttpRequest() as head:
                self._serve_request(x, head, b"")
            case ExchangeEnd():
                self._arriving.pop(x, None)
                self._reassembly.cut(C2S, x)
                self._disconnect(x)
            case None | Fragment() | HttpBody() if x in self._arriving:
                whole = self._reassembly.add(frame)
                if whole is not None:
                    head = self._arriving.pop(x)
                    self._serve_request(x, head, whole.frame.raw, too_long=whole.too_long)
            case _:
                pass

    def _take_from_server(self, frame: Frame) -> None:
        match frame.fact:
            case None:
                self._route(flatten(frame.raw))
            case Fragment():
                if (raw := self._joined(frame)) is not None:
                    self._route(flatten(raw))
            case fact:
                if isinstance(fact, (StreamEnd, ProcessExit)):
                    self._ended = True
                    self._end_responses()
                self._to_client.append(frame)


class ExchangeClient(_ExchangeStage):
    """Turns C2S bare messages into exchange frames, and S2C exchange frames into bare messages.

    `target` is the path and query of the MCP endpoint, every request has `headers`, and each
    exchange takes its number from `numbers`.
    """

    def __init__(self, target: str, headers: Headers, numbers: Iterator[int]) -> None:
        super().__init__()
        self._target, self._headers, self._numbers = target, headers, numbers
        self._input_end: Frame | None = None
        self._deadline = inf

    def feed(self, seen: Sequence[Frame], now: float) -> Iterable[Action]:
        for frame in seen:
            if frame.direction is S2C:
                self._take_from_server(frame, now)
            elif self._input_end is None:
                self._take_from_client(frame, now)
        return self._take_actions(now)

    @abstractmethod
    def _take_from_server(self, frame: Frame, now: float) -> None:
        """Take a frame of an exchange."""

    @abstractmethod
    def _take_actions(self, now: float) -> Sequence[Action]:
        """Return what follows from the frames that were taken."""

    @abstractmethod
    def _hold_message(self, raw: bytes) -> None:
        """Take a message of the client."""

    def _take_from_client(self, frame: Frame, now: float) -> None:
        match frame.fact:
            case None:
                self._hold_message(frame.raw)
            case Fragment():
                if (raw := self._joined(frame)) is not None:
                    self._hold_message(raw)
            case StreamEnd():
                # A script closes its input behind its last request: the answer still has to come.
                self._input_end, self._deadline = frame, now + INPUT_END_TIMEOUT_S
            case _:
                self._to_server.append(frame)

    def _add_request(self, method: str, target: str, fields: Headers, body: bytes = b"") -> int:
        """Send a request. Gives the number of its exchange."""
        x = next(self._numbers)
        if body:
            length = ("Content-Length", str(len(body)))
            fields = [("Content-Type", "application/json"), length, *fields]
        head = HttpRequest(method, target, with_defaults(self._headers, fields))
        self._add_fact(x, head)
        if body:
            self._to_server.append(Frame(C2S, body, exchange=x))
        return x

    def _add_fact(self, x: int, fact: Fact) -> None:
        self._to_server.append(Frame(C2S, fact=fact, exchange=x))
