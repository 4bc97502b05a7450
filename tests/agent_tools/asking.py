"""A client of the server of `mcpmock mcp`, in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs
import msgspec

from mcpmock.agent_tools.folder import CassetteFolder
from mcpmock.agent_tools.tools import AgentServer, make_stub
from mcpmock.agent_tools.workers import Workers
from mcpmock.pipeline.pipeline import Pipeline
from mcpmock.protocol.messages import C2S, Frame
from mcpmock.stubs.server import StubServer
from tests.support import INITIALIZE, notification, request


class Agent:
    """Asks one thing after the other. The clock jumps to what is due next."""

    def __init__(self, folder: Path, *, allow_replay: bool = False) -> None:
        at_once = Workers(start=lambda work: work())
        self.server = attrs.evolve(AgentServer.over(CassetteFolder(folder)), workers=at_once)
        stub = make_stub(self.server, allow_replay=allow_replay)
        self.pipeline = Pipeline([StubServer(stub.script)])
        self.sent: list[bytes] = []
        """All that the server has sent."""
        self._now = 0.0
        self.pipeline.begin(0.0)
        self._until_answer(INITIALIZE)
        self.pipeline.enter([Frame(C2S, notification("notifications/initialized"))], 0.0)

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """The answer: its result, or the whole error."""
        answer = self._until_answer(request(len(self.sent) + 10, method, params))
        result: dict[str, Any] = answer.get("result") or answer
        return result

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The result of a tool that does not fail."""
        result = self.ask("tools/call", name=tool, arguments=arguments)
        assert "isError" not in result, result
        return result

    def page(self, tool: str, **arguments: Any) -> dict[str, Any]:
        structured: dict[str, Any] = self.call(tool, **arguments)["structuredContent"]
        return structured

    def refusal(self, tool: str, **arguments: Any) -> str:
        """What a tool says that fails."""
        result = self.ask("tools/call", name=tool, arguments=arguments)
        assert result["isError"] is True
        text: str = result["content"][0]["text"]
        return text

    def _until_answer(self, message: bytes) -> dict[str, Any]:
        id_ = msgspec.json.decode(message)["id"]
        batches = self.pipeline.enter([Frame(C2S, message)], self._now)
        while True:
            for frame in (frame for batch in batches for frame in batch):
                self.sent.append(frame.raw)
                found: dict[str, Any] = msgspec.json.decode(frame.raw)
                if found.get("id") == id_:
                    return found
            due = self.pipeline.next_due
            assert due is not None, "the server waits for nothing"
            self._now = due
            batches = self.pipeline.advance(due)
