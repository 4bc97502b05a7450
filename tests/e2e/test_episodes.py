"""Real clients with a cassette that ends in the middle of their session, and the real server behind
it: the client cannot tell, and what was missing is recorded, so that the next run needs no server.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcpmock.cassette.file import load
from mcpmock.cassette.model import Take
from mcpmock.protocol.correlation import Correlation
from mcpmock.protocol.messages import C2S, Request, parse_items
from tests.support.every import EVERY
from tests.support.processes import MCPMOCK

from . import parts
from .http_processes import proxying, real_server
from .parts import HTTP
from .test_sdk import MISSED, Stage, needs

pytestmark = [pytest.mark.e2e, pytest.mark.parts]

SESSIONS = [("ts1", "everything", 0.1)]
SERVED = [("ts2-auto", "workshop-ts2", HTTP)]
if EVERY:
    SESSIONS += [
        ("py2-auto", "time", 0.5),
        ("py1", "everything", 0.2),
        ("ts2-legacy", "everything", 0.8),
        ("fastmcp", "time", 0.5),
    ]
    SERVED += [
        ("ts1", "workshop-py1", "stdio"),
        ("py1", "workshop-py1", HTTP),
        ("py2-auto", "workshop-py2", "stdio"),
        ("py2-auto", "workshop-py2", HTTP),
        ("ts2-legacy", "workshop-py2", HTTP),
    ]
"""Servers whose answers do not depend on what they were asked before: that the real one was not."""


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Stage:
    """One for all tests, so that a pair is recorded once."""
    return Stage(tmp_path_factory.mktemp("stage"))


def cuts(take: Take) -> Iterator[int]:
    """How many events were there before each request that was made while nothing was open."""
    session, asked = Correlation(), False
    for number, event in enumerate(take.events):
        frame = event.frame
        for message in parse_items(frame.raw) if frame and frame.fact is None else ():
            assert frame is not None
            if frame.direction is C2S and isinstance(message, Request):
                if asked and not session.open_calls(C2S):
                    yield number
                asked = True
            session.note(frame.direction, message, number)


def cut(cassette: Path, part: float, file: Path) -> int:
    """Writes the first part of a recording, up to a place where nothing is open; gives how many
    takes it has.
    """
    [*_, take] = load(cassette).takes
    places = list(cuts(take))
    lines = cassette.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(lines[: take.line + places[int(len(places) * part)]]))
    return len(load(file).takes)


def proxy(file: Path, mode: str, *server: str) -> list[str]:
    return [*MCPMOCK, "proxy", "--cassette", str(file), "--mode", mode, *server]


@pytest.mark.parametrize(("client", "server", "part"), SESSIONS)
def test_a_session_that_goes_on(
    client: str, server: str, part: float, stage: Stage, tmp_path: Path
) -> None:
    """Questions of the server, progress and cancels included. What the real server says on its own
    when it is greeted comes once more, so the steps are compared.
    """
    needs(client, server)
    cassette, file = stage.cassette(client, server), tmp_path / "a.jsonl"
    takes = cut(cassette, part, file)
    behind = parts.server(server, stage.folder / server)

    extended = stage.play(client, server, proxy(file, "new_episodes", "--", *behind)).stdout
    assert json.loads(extended)["steps"] == json.loads(stage.recorded[client, server])["steps"]
    assert takes + 1 == len(load(file).takes)
    assert load(file).takes[-1].sealed
    before = file.read_bytes()
    again = stage.play(client, server, proxy(file, "new_episodes", "--", "no-such-server"))
    assert MISSED not in again.stderr
    assert again.stdout == extended
    assert before == file.read_bytes()


@pytest.mark.parametrize(("client", "server", "front"), SERVED)
def test_a_server_at_a_url(client: str, server: str, front: str, tmp_path: Path) -> None:
    """Over HTTP the rules of the transport make the handshake, where the era has one; clients on
    stdio and over HTTP.
    """
    needs(client, server)
    workdir, file = tmp_path / "workshop", tmp_path / "a.jsonl"
    with real_server(server, HTTP, workdir) as real:
        recorded = says(client, workdir, front, file, "once", real.url)
        whole = file.rename(tmp_path / "whole.jsonl")
        cut(whole, 0.5, file)
        extended = says(client, workdir, front, file, "new_episodes", real.url)

    assert json.loads(extended) == json.loads(recorded)
    assert 2 == len(load(file).takes)
    assert says(client, workdir, front, file, "none", "http://127.0.0.1:9/mcp") == extended


def says(client: str, workdir: Path, front: str, file: Path, mode: str, url: str) -> bytes:
    """What a client prints with a proxy in this mode, which nothing is missed by."""
    options = ["--cassette", str(file), "--mode", mode, "--url", url]
    if front == "stdio":
        argv = parts.drive(client, "workshop", workdir, [*MCPMOCK, "proxy", *options])
        return _run(argv, workdir)
    with proxying(*options) as served:
        said = _run(parts.reach(client, "workshop", workdir, HTTP, served.url), workdir)
    assert served.exit_code == 0
    return said


def _run(argv: list[str], workdir: Path) -> bytes:
    done = subprocess.run(
        argv, env=parts.environment(workdir), capture_output=True, timeout=90, check=True
    )
    assert MISSED not in done.stderr
    return done.stdout
