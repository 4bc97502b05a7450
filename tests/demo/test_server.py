"""The server's loop: order, concurrency, cancelling, ending; and the real process."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import mcp
import pytest
import trio
from mcp import types

from tests.demo.talking import call, modern_call, talk, welcome
from tests.support import INITIALIZE, INITIALIZED, batch, cancelled, request, response

SERVER = [sys.executable, "-m", "mcpmock.demo.server"]


def test_unknown_method() -> None:
    """A method that there is not is refused by its name."""
    told = (talk(INITIALIZE, INITIALIZED, request(1, "no/such"))).last["error"]

    assert (-32601, {"method": "no/such"}) == (told["code"], told["data"])


def test_noise() -> None:
    """What is no request is passed over in silence, and what comes after it is answered."""
    noise = [b"", b"not json", b'{"id":1}', b"[]", b"\xff", response(9, {}), cancelled(9)]

    assert [1] == (talk(*noise, request(1, "ping"))).ids


def test_batch() -> None:
    """The calls of a batch are answered like calls of their own."""
    assert [1, 2] == (talk(batch(request(1, "ping"), request(2, "ping")))).ids


def test_ids() -> None:
    """An id comes back as it is, be it a text, a number or equal to another's number."""
    assert ["1", 1, None] == (talk(*(request(i, "ping") for i in ("1", 1, None)))).ids


def test_at_once_in_order() -> None:
    """Calls that come in one read and need no waiting are answered in their order."""
    many = batch(*(call(i, "echo", message=str(i)) for i in range(100)))

    assert list(range(100)) == (talk(many)).ids


def test_overtaking() -> None:
    """A slow call holds up nobody."""
    heard = talk(call(1, "slow", seconds=5), call(2, "slow", seconds=3), request(3, "ping"), 9)

    assert ([3, 2, 1], [0.0, 3.0, 5.0]) == (heard.ids, heard.times)


def test_cancel() -> None:
    """After a cancel nothing more is said about the call, and others go on."""
    heard = talk(
        call(1, "countdown", steps=9, pause=1, token="t"),
        call(2, "slow", seconds=4),
        2.5,
        cancelled(1),
        90,
    )

    assert [1.0, 2.0, 4.0] == heard.times
    assert [2] == heard.ids


def test_cancel_a_question() -> None:
    """A cancelled call does not mind that the client answers its question all the same."""
    heard = talk(
        welcome(sampling={}),
        call(1, "ask", question="?"),
        cancelled(1),
        response(1, {}),
        request(2, "ping"),
    )

    assert [0, 2] == heard.ids


def test_modern_cancel() -> None:
    """A modern call is cancelled as a legacy one."""
    assert [] == (talk(modern_call(1, "slow", {"seconds": 3}), cancelled(1), 9)).ids


def test_end() -> None:
    """The end of the input ends the server at once, even if a call still waits."""
    heard = talk(call(1, "slow", seconds=3600), 1)

    assert (None, []) == (heard.status, heard.messages)


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
