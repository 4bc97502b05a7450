"""`mcpmock proxy --url` in front of real servers that are killed and started again: its client goes
on as if nothing had happened.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from mcpmock.cassette.file import load
from tests.support.every import EVERY
from tests.support.processes import END, MCPMOCK

from . import parts
from .http_processes import Served, free_port, server_on
from .parts import HTTP
from .test_sdk import needs

pytestmark = [pytest.mark.e2e, pytest.mark.parts]

RENEWED = "the server had forgotten the session"
NAMES = ["workshop-ts2", "everything"]
if EVERY:
    NAMES += ["workshop-py1", "workshop-py2"]


@dataclass
class Bridge:
    """The bridge as a process, and its client, which asks one thing after the other, or many."""

    process: subprocess.Popen[bytes]
    unasked: list[str] = field(default_factory=list)
    """The methods that the server sent."""
    _id: int = 0

    def say(self, method: str, params: Any = None, **more: Any) -> None:
        message = {"jsonrpc": "2.0", **more, "method": method, "params": params or {}}
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, *asked: tuple[str, Any]) -> list[Any]:
        """The answers, in the order of the requests."""
        first = self._id + 1
        for method, params in asked:
            self._id += 1
            self.say(method, params, id=self._id)
        answers: dict[int, Any] = {}
        assert self.process.stdout is not None
        while len(answers) < len(asked):
            message = json.loads(self.process.stdout.readline())
            if "method" in message:
                self.unasked.append(message["method"])
            else:
                assert message["id"] not in answers
                answers[message["id"]] = message
        return [answers[first + place] for place in range(len(asked))]

    def call(self, tool: str, **arguments: Any) -> tuple[str, Any]:
        return "tools/call", {"name": tool, "arguments": arguments}


@contextmanager
def bridging(url: str, cassette: Path) -> Iterator[Bridge]:
    command = [*MCPMOCK, "proxy", "--url", url, "--record", str(cassette)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        bridge = Bridge(process)
        info = {"name": "e2e", "version": "1"}
        opening = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info}
        [welcome] = bridge.ask(("initialize", opening))
        assert "result" in welcome
        bridge.say("notifications/initialized")
        yield bridge
        _, stderr = process.communicate(timeout=END)
        assert process.returncode == 0, stderr


class Restarted:
    """A server on one port, killed and started again on demand."""

    def __init__(self, name: str, workdir: Path) -> None:
        self._name, self._workdir, self._port = name, workdir, free_port()
        self._stack = ExitStack()

    def __enter__(self) -> Restarted:
        parts.prepare(self._name, self._workdir)
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def start(self) -> None:
        server = server_on(self._port, self._name, HTTP, self._workdir)
        self.served: Served = self._stack.enter_context(server)

    def kill(self) -> None:
        self.served.process.kill()
        self.served.process.wait()


@pytest.mark.parametrize("name", NAMES)
def test_restarts(name: str, tmp_path: Path) -> None:
    """Calls one by one and many at once, after each of two restarts, and one to a server that is
    away: the answers are the same, each call is answered once, nothing else is told, and the
    recording notes each renewal and holds each message once.
    """
    needs("py1", name)
    cassette = tmp_path / "bridge.jsonl"
    tool = {"everything": ("echo", {"message": "hi"})}.get(name, ("add", {"a": 1, "b": 2}))
    with Restarted(name, tmp_path) as server, bridging(server.served.url, cassette) as bridge:
        one = bridge.call(tool[0], **tool[1])
        [tools] = bridge.ask(("tools/list", None))
        [answer] = bridge.ask(one)
        assert "result" in answer
        told = list(bridge.unasked)

        server.kill()
        [lost] = bridge.ask(one)
        assert "cannot reach" in lost["error"]["message"]
        for count in (1, 5):
            server.start()
            answers = bridge.ask(*[one] * count)
            assert [answer["result"]] * count == [one["result"] for one in answers]
            server.kill()
        server.start()
        [again] = bridge.ask(("tools/list", None))
        assert tools["result"] == again["result"]

    assert "notifications/tools/list_changed" not in bridge.unasked[len(told) :] or (
        name == "everything"  # it says so at every start
    )
    [take] = load(cassette).takes
    payloads = [json.loads(event.payload) for event in take.events if event.payload]
    assert [1] == [one["id"] for one in payloads if one.get("method") == "initialize"]
    notes = [event.stderr for event in take.events if isinstance(event.stderr, str)]
    assert 3 == sum(RENEWED in note for note in notes)
