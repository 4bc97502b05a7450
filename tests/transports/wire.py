"""The vocabulary of tests about HTTP exchanges: exchanges as frames, and frames as short tuples."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mcpmock.pipeline.pipeline import Pipeline
from mcpmock.pipeline.stage import Stage
from mcpmock.protocol.messages import (
    C2S,
    S2C,
    Direction,
    ExchangeEnd,
    Fact,
    Frame,
    HttpBody,
    HttpRequest,
    HttpResponse,
    SseMeta,
)

JSON = ("Content-Type", "application/json")
ACCEPT = ("Accept", "application/json, text/event-stream")
EVENTS = ("Content-Type", "text/event-stream")

Told = tuple[int | None, str | bytes]


def fact(direction: Direction, x: int | None, what: Fact) -> Frame:
    return Frame(direction, fact=what, exchange=x)


def get(x: int, *fields: tuple[str, str], target: str = "/mcp") -> list[Frame]:
    head = HttpRequest("GET", target, [("Accept", "text/event-stream"), *fields])
    return [fact(C2S, x, head)]


def delete(x: int, *fields: tuple[str, str]) -> list[Frame]:
    return [fact(C2S, x, HttpRequest("DELETE", "/mcp", list(fields)))]


def post(
    x: int, body: bytes, *fields: tuple[str, str], target: str = "/mcp", plain: bool = False
) -> list[Frame]:
    """A POST as the SDKs send it; `plain`: with just these fields."""
    usual = [] if plain else [JSON, ACCEPT]
    head = HttpRequest("POST", target, [*usual, *fields])
    return [fact(C2S, x, head), Frame(C2S, body, exchange=x)]


def leaves(x: int, how: str = "closed") -> list[Frame]:
    return [fact(C2S, x, ExchangeEnd(how))]


def answers(x: int, status: int, reason: str, *frames: Frame, kind: str = "") -> list[Frame]:
    """A whole response."""
    fields = [("Content-Type", kind)] if kind else []
    return [
        fact(S2C, x, HttpResponse(status, reason, fields)),
        *frames,
        fact(S2C, x, ExchangeEnd()),
    ]


def json(x: int, raw: bytes, status: int = 200, reason: str = "OK") -> list[Frame]:
    return answers(x, status, reason, Frame(S2C, raw, exchange=x), kind="application/json")


def stream(x: int, *fields: tuple[str, str]) -> list[Frame]:
    """The head of an event stream."""
    return [fact(S2C, x, HttpResponse(200, "OK", [EVENTS, *fields]))]


def event(
    x: int, data: bytes | None, id_: str | None = None, retry: int | None = None
) -> list[Frame]:
    """One event; without data the id alone."""
    meta = [] if id_ is None and retry is None else [fact(S2C, x, SseMeta(id=id_, retry=retry))]
    return meta if data is None else [*meta, Frame(S2C, data, exchange=x)]


def over(x: int, how: str = "eof") -> list[Frame]:
    return [fact(S2C, x, ExchangeEnd(how))]


class Wire:
    """A row of stages, and what leaves it at either end as short tuples."""

    def __init__(self, *stages: Stage) -> None:
        self.pipeline = Pipeline(stages)
        self.began = self._told(self.pipeline.begin(0.0))

    def client(self, *frames: Frame | Sequence[Frame], now: float = 0.0) -> list[Told]:
        """These come from the client's side, all at once."""
        flat = [f for given in frames for f in ([given] if isinstance(given, Frame) else given)]
        return self._told(self.pipeline.enter(flat, now))

    server = client

    def at(self, now: float) -> list[Told]:
        """Time passes."""
        return self._told(self.pipeline.advance(now))

    def _told(self, batches: Iterable[Sequence[Frame]]) -> list[Told]:
        return [told(frame) for frames in batches for frame in frames]


def told(frame: Frame) -> Told:
    """The exchange, and what the frame says in a word or the message itself."""
    match frame.fact:
        case None:
            return frame.exchange, frame.raw
        case HttpRequest(method, target):
            return frame.exchange, f"{method} {target}"
        case HttpResponse() as head:
            return frame.exchange, f"{head.status} {head.media_type}".strip()
        case SseMeta(id=id_):
            return frame.exchange, "event" if id_ is None else f"event {id_}"
        case HttpBody():
            return frame.exchange, f"text {frame.raw.decode()}"
        case ExchangeEnd(how):
            return frame.exchange, "end" if how == "eof" else f"end {how}"
        case other:
            return frame.exchange, type(other).__name__
