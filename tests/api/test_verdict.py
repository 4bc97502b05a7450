"""What `serve`, `replay` and `connect` say at the end of their block."""

from __future__ import annotations

import subprocess
import warnings
from pathlib import Path
from typing import Any

import pytest
import trio

import mcpmock
from tests.support import INITIALIZE, c2s, request
from tests.support.weather import HELLO

MISS = request(5, "prompts/list")
ONE = r"(?m)^1 request matches nothing recorded in .*weather\.jsonl: prompts/list$"


def ask(server: mcpmock.ReplayServer, *lines: bytes) -> bytes:
    words = b"\n".join([INITIALIZE, *lines, b""])
    return subprocess.run(server.command, input=words, capture_output=True, timeout=20).stdout


@pytest.mark.e2e
def test_a_miss_in_serve(weather: Path) -> None:
    """It raises at the end, with the report as notes; the misses are there."""
    with pytest.raises(mcpmock.MissError, match=ONE) as raised, mcpmock.serve(weather) as server:
        assert b"-31999" in ask(server, MISS)

    assert isinstance(raised.value, mcpmock.McpMockError | AssertionError)
    assert ["prompts/list"] == [miss.method for miss in raised.value.misses]
    assert f"nothing recorded in {weather} answers prompts/list" in raised.value.__notes__


@pytest.mark.e2e
def test_a_miss_that_is_allowed(weather: Path) -> None:
    """It is in `misses`."""
    with mcpmock.serve(weather, misses="allow") as server:
        assert HELLO in ask(server, MISS)

    assert 1 == len(server.misses)


@pytest.mark.e2e
def test_an_error_of_the_block(weather: Path) -> None:
    """It comes first, with a note: the misses are often its reason."""

    def block() -> None:
        with mcpmock.serve(weather) as server:
            ask(server, MISS)
            raise KeyError

    with pytest.raises(KeyError) as raised:
        block()

    assert raised.value.__notes__[0].startswith("1 request matches nothing recorded in ")


def test_a_miss_in_replay(weather: Path) -> None:
    """Under trio, too."""

    async def main() -> None:
        async with mcpmock.replay(weather) as server:
            session = server.open()
            await session.send([c2s(MISS)])
            await session.receive()

    with pytest.raises(mcpmock.MissError, match=ONE):
        trio.run(main)


@pytest.mark.parametrize(("how", "raises"), [({}, True), ({"misses": "allow"}, False)])
def test_a_miss_in_connect(weather: Path, how: dict[str, Any], raises: bool) -> None:
    """It raises when the client leaves: nobody else can look at it."""
    mcp = pytest.importorskip("mcp")

    async def main() -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            async with mcp.Client(mcpmock.connect(weather, **how), mode="legacy") as client:
                with pytest.raises(mcp.MCPError):
                    await client.list_prompts()

    if not raises:
        trio.run(main)
        return
    with pytest.raises(BaseException) as raised:
        trio.run(main)
    error: BaseException = raised.value
    while isinstance(error, BaseExceptionGroup):
        [error] = error.exceptions
    assert isinstance(error, mcpmock.MissError)


@pytest.mark.parametrize("call", [mcpmock.serve, mcpmock.connect])
def test_a_wrong_word(weather: Path, call: Any) -> None:
    """It is said at once."""
    with pytest.raises(mcpmock.McpMockError, match="misses 'no': choose fail or allow"):
        call(weather, misses="no").__enter__()


def test_a_fault_that_never_fired(weather: Path) -> None:
    """It is a warning at the line of the block, and only where the block raised nothing."""
    faults = ["drop", "corrupt:tool=x"]
    with (
        pytest.warns(UserWarning, match="never fired: no client sent") as caught,
        mcpmock.serve(weather, faults=faults),
    ):
        pass

    assert [__file__] * 2 == [one.filename for one in caught]
    with pytest.raises(KeyError), mcpmock.serve(weather, faults="drop"):
        raise KeyError


@pytest.mark.e2e
def test_a_fault_that_fired(weather: Path) -> None:
    """It is none, also after it was removed."""
    with mcpmock.serve(weather, faults="error") as server:
        assert b'"error"' in ask(server)
        server.faults.clear()
