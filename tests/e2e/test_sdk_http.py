"""Real clients with real servers over HTTP: mcpmock between them, and mcpmock in the server's
place, are not to be told from the server; nor is the transport that a cassette was recorded over.

Every client, server and transport is in a row; MCPMOCK_E2E_ALL=1 runs all.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import pytest

from tests.support.every import EVERY
from tests.support.processes import record, replay, takes

from . import parts
from .http_processes import real_server, recording, replaying
from .parts import HTTP, SSE
from .test_sdk import MISSED, needs, verify

pytestmark = [pytest.mark.e2e, pytest.mark.parts]

ROWS: list[tuple[str, str, str, tuple[str, ...]]] = [
    ("py2-auto", "workshop-py2", HTTP, (HTTP,)),
    ("ts2-auto", "workshop-ts2", HTTP, (HTTP,)),
    ("ts1", "workshop-py1", SSE, ("stdio", HTTP)),
    ("fastmcp", "workshop-py2", SSE, (SSE,)),
    ("py1", "everything", SSE, (SSE,)),
]
"""Client, server, the transport that is recorded, those that are replayed."""
VERIFIED = {("py2-auto", HTTP), ("py1", SSE)}


def replayable(client: str, server: str, recorded: str) -> tuple[str, ...]:
    """The other transports over which this client says the same: fastmcp looks for the modern era,
    which these servers have, but not over SSE."""
    others = {"stdio", HTTP, SSE}
    if client == "fastmcp" and server in ("workshop-py2", "workshop-ts2"):
        others.discard(SSE)
    return tuple(sorted(others))


if EVERY:
    SERVED = [(name, how) for name, all_ in parts.HTTP_SERVERS.items() for how in all_]
    RECORDED = [*SERVED, *((name, "stdio") for name in parts.HTTP_SERVERS)]
    ROWS = [
        (client, *where, replayable(client, *where))
        for client, where in product(parts.CLIENTS, RECORDED)
    ]
EARLY = "notifications/tools/list_changed"
"""server-everything says it the moment it hears `initialized`, and whoever does not listen yet does
not hear it: the GET that listens and the POST that says `initialized` are under way at once."""


@dataclass
class Stage:
    """A folder for cassettes."""

    folder: Path

    def play(self, argv: Sequence[str]) -> tuple[bytes, bytes]:
        """A client's whole scenario: what it prints, on stdout and stderr."""
        outcome = subprocess.run(
            argv, env=parts.environment(self.folder), capture_output=True, timeout=90, check=False
        )
        assert outcome.returncode == 0, outcome.stderr.decode(errors="replace")[-8000:]
        return outcome.stdout, outcome.stderr

    def reach(self, client: str, server: str, transport: str, url: str) -> tuple[bytes, bytes]:
        """What a client prints with the server at this URL."""
        return self.play(parts.reach(client, parts.scenario(server), self.folder, transport, url))

    def directly_and_recorded(
        self, client: str, server: str, transport: str, cassette: Path
    ) -> tuple[bytes, bytes]:
        """What a client prints with a server, and then with the recorder in front of it. The server
        is still the one in the recording (`mcpmock verify`).
        """
        if transport == "stdio":
            command = parts.server(server, self.folder)
            both = (command, record(cassette, command))
            scenario = parts.scenario(server)
            direct, recorded = (
                self.play(parts.drive(client, scenario, self.folder, argv))[0] for argv in both
            )
            return direct, recorded
        with real_server(server, transport, self.folder) as real:
            direct, _ = self.reach(client, server, transport, real.url)
            with recording(cassette, real.url) as recorder:
                recorded, _ = self.reach(client, server, transport, recorder.url)
            assert recorder.exit_code == 0, recorder.stderr
            if (client, transport) in VERIFIED:
                verify(cassette, server, "--url", real.url, "--url-transport", transport)
        return direct, recorded

    def replayed(self, client: str, server: str, transport: str, cassette: Path) -> bytes:
        """What a client prints with a replay, in which nothing may be missed. That progress is
        written apart from its answer is tested in tests/channels: Node's clients lose it where a
        busy machine reads both at once (see driver.mjs).
        """
        if transport == "stdio":
            argv = parts.drive(client, parts.scenario(server), self.folder, replay(cassette))
            said, stderr = self.play(argv)
            assert MISSED not in stderr, stderr.decode(errors="replace")
        else:
            with replaying(cassette, "--transport", transport) as player:
                said, _ = self.reach(client, server, transport, player.url)
            assert player.exit_code == 0, player.stderr
        return said


@pytest.mark.parametrize(("client", "server", "recorded", "replayed"), ROWS)
def test_the_client_cannot_tell(
    client: str, server: str, recorded: str, replayed: tuple[str, ...], tmp_path: Path
) -> None:
    """Direct, recorded and replayed, over its own transport and over others, a client prints the
    same document: results, progress, log messages, notifications and questions.
    """
    needs(client, server)
    stage, cassette = Stage(tmp_path), tmp_path / "a.jsonl"
    direct, document = stage.directly_and_recorded(client, server, recorded, cassette)

    assert told(document, but=EARLY) == told(direct, but=EARLY)
    assert all(take.sealed for take in takes(cassette))
    if server.startswith("workshop"):
        asked = {question["method"] for question in json.loads(document)["asked"]}
        assert asked == {"elicitation/create", "roots/list", "sampling/createMessage"}
    for transport in replayed:
        said = stage.replayed(client, server, transport, cassette)
        assert told(said) == told(document), transport


def told(document: bytes, *, but: str = "") -> list[str]:
    """The document by lines, which pytest compares more readably, without one notification.

    Log messages are in no certain order: calls at once have a stream each.
    """
    content = json.loads(document)
    content["logs"].sort(key=json.dumps)
    content["notifications"].pop(but, None)
    return json.dumps(content, ensure_ascii=False, indent=1).splitlines()
