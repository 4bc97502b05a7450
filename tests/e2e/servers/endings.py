"""A server with one tool, which ends in one of several ways, and notes how.

    endings.py WAY LOG [TEXT]

Without another word in `WAYS` it answers at once, ends with its input, and any signal ends it. TEXT
is what a grandchild says at its end.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time
from dataclasses import dataclass, field
from types import FrameType
from typing import Any


@dataclass(frozen=True)
class Way:
    """How a server ends."""

    late: float = 0.0
    """Seconds until it answers a call; it hears nothing meanwhile."""
    lingers: float = 0.0
    """Seconds that it needs to end, from the end of its input."""
    on_signal: str = "ends"
    """`ends` at once, as any process; `lingers` from then on; or is `deaf`."""
    grandchild: bool = False
    """Whether a process with its pipes outlives it by a second."""
    status: int = 0


WAYS = {
    "quick": Way(status=3),
    "late": Way(late=4.0),
    "slow": Way(lingers=5.5, on_signal="lingers", status=4),
    "deaf": Way(lingers=3.0, on_signal="deaf", status=7),
    "grandchild": Way(grandchild=True),
}


@dataclass
class Server:
    """One session on standard input and output."""

    way: Way
    log: int
    ends_at: float | None = None
    rest: bytes = field(default=b"")

    def note(self, text: str) -> None:
        os.write(self.log, text.encode() + b"\n")

    def hear_signal(self, number: int, _frame: FrameType | None) -> None:
        self.note(signal.Signals(number).name)
        if self.way.on_signal == "lingers":
            self.ends_at = time.monotonic() + self.way.lingers

    def run(self) -> None:
        heard = [0]
        while self.ends_at is None or time.monotonic() < self.ends_at:
            left = None if self.ends_at is None else max(0.0, self.ends_at - time.monotonic())
            if not select.select(heard, [], [], left)[0]:
                continue
            data = os.read(0, 1 << 16)
            if not data:
                self.note("end of input")
                heard, self.ends_at = [], time.monotonic() + self.way.lingers
            *lines, self.rest = (self.rest + data).split(b"\n")
            for line in lines:
                self.take(json.loads(line))

    def take(self, message: dict[str, Any]) -> None:
        if "id" not in message:
            return
        match message["method"]:
            case "initialize":
                result: dict[str, Any] = {
                    "protocolVersion": "2025-06-18",
                    "capabilities": {"tools": {}, "logging": {}},
                    "serverInfo": {"name": "endings", "version": "1"},
                }
            case "tools/list":
                result = {"tools": [{"name": "work", "inputSchema": {"type": "object"}}]}
            case "tools/call":
                self.note("called")
                say(log_message("called"))
                select.select([], [], [], self.way.late)
                result = {"content": [{"type": "text", "text": "done"}]}
            case _:
                say({"id": message["id"], "error": {"code": -32601, "message": "unknown"}})
                return
        say({"id": message["id"], "result": result})


def say(message: dict[str, Any]) -> None:
    """Write a message. Nobody may read it: a client that was killed reads no more, and a recorder
    in its place still does.
    """
    try:
        os.write(1, json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
    except BrokenPipeError:
        pass


def log_message(text: str) -> dict[str, Any]:
    return {"method": "notifications/message", "params": {"level": "info", "data": text}}


def outlive(last: list[str]) -> int:
    """Start a process that ends a second after this one. Return its id."""
    alive, parent = os.pipe()
    if child := os.fork():
        os.close(alive)
        return child
    os.close(parent)
    os.read(alive, 1)
    select.select([], [], [], 1)
    for text in last:
        say(log_message(text))
    os._exit(0)


def main() -> int:
    way = WAYS[sys.argv[1]]
    server = Server(way, os.open(sys.argv[2], os.O_WRONLY | os.O_CREAT | os.O_APPEND))
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL if way.on_signal == "ends" else server.hear_signal)
    pids = [os.getpid(), *([outlive(sys.argv[3:])] if way.grandchild else [])]
    server.note(json.dumps(pids))
    server.run()
    server.note(f"status {way.status}")
    return way.status


if __name__ == "__main__":
    sys.exit(main())
