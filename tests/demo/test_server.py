"""The demo server as a process, and with the official SDK's client."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import mcp
import pytest
import trio
from mcp import types

from tests.demo.talking import call
from tests.support import INITIALIZE

SERVER = [sys.executable, "-m", "mcpmock.demo.server"]


def answers(lines: Sequence[bytes]) -> tuple[int, bytes, bytes]:
    """Exit status, output and error output of the real server for these lines."""
    stdin = b"".join(line + b"\n" for line in lines)
    done = subprocess.run(SERVER, input=stdin, capture_output=True, timeout=30, check=False)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.e2e
def test_process() -> None:
    """The real process answers on stdout, logs one line, and ends with its input."""
    status, out, err = answers([INITIALIZE, call(1, "echo", message="a"), b"noise"])

    assert (0, b"mcpmock demo server ready\n") == (status, err)
    assert [b'{"jsonrpc":"2.0","id":%d,' % id_ for id_ in (0, 1)] == [
        line[:24] for line in out.splitlines()
    ]


@pytest.mark.e2e
def test_process_crash() -> None:
    """The real process ends with the status that the crash tool is given."""
    assert (7, b"") == answers([call(1, "crash", code=7)])[:2]


@pytest.mark.e2e
def test_long_line() -> None:
    """A message longer than one that is held in one piece is answered."""
    _, out, _ = answers([call(1, "echo", message="x" * (3 << 20))])

    assert b"x" * (3 << 20) in out


async def sample(context: Any, params: Any) -> types.CreateMessageResult:
    content = types.TextContent(type="text", text="42")
    return types.CreateMessageResult(role="assistant", content=content, model="m")


async def elicit(context: Any, params: Any) -> types.ElicitResult:
    return types.ElicitResult(action="accept", content={"sure": True})


async def roots(context: Any) -> types.ListRootsResult:
    return types.ListRootsResult.model_validate({"roots": [{"uri": "file:///demo"}]})


@pytest.mark.e2e
@pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning")
@pytest.mark.parametrize(("mode", "version"), [("auto", "2026-07-28"), ("legacy", "2025-11-25")])
async def test_official_client(mode: Any, version: str) -> None:
    """The official SDK's client uses the server in both eras, questions to it included."""
    server = mcp.StdioServerParameters(command=SERVER[0], args=SERVER[1:])
    progress: list[float] = []

    async def on_progress(done: float, _total: float | None, _message: str | None) -> None:
        progress.append(done)

    with trio.fail_after(30):
        async with mcp.Client(
            server,
            mode=mode,
            sampling_callback=sample,
            elicitation_callback=elicit,
            list_roots_callback=roots,
        ) as client:

            async def text(name: str, arguments: dict[str, Any], **more: Any) -> str:
                (content,) = (await client.call_tool(name, arguments, **more)).content
                assert isinstance(content, types.TextContent)
                return content.text

            assert version == client.protocol_version
            assert "the model says: 42" == await text("ask", {"question": "?"})
            assert "confirmed: go" == await text("confirm", {"action": "go"})
            assert "file:///demo" == await text("roots", {})
            assert "lift-off" == await text("countdown", {}, progress_callback=on_progress)
            assert "42" == await text("add", {"a": 40, "b": 2})
            assert "greeting" == (await client.list_resources()).resources[0].name
            assert "greet" == (await client.list_prompts()).prompts[0].name
            assert "Hello" in str((await client.read_resource("demo://greeting")).contents[0])
            assert "Greet Ada" in str((await client.get_prompt("greet", {"name": "Ada"})).messages)

    assert [1, 2, 3] == progress
