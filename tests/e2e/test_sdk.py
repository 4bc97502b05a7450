"""Real clients with real servers: mcpmock between them, and mcpmock in the server's place, are not
to be told from the server; nothing that a server says is taken for a secret, and a recording is
held against the server that it was made with (`mcpmock verify`).

Every SDK meets a server, and every server a client; over HTTP, and FastMCP, in `test_sdk_http`. All
pairs are run with MCPMOCK_E2E_ALL=1.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from tests.support.every import EVERY
from tests.support.processes import MCPMOCK, record, replay, takes

from . import parts
from .raw_client import Answer, Close, Spoken, Step, line, talk

pytestmark = [pytest.mark.e2e, pytest.mark.parts]

PAIRS = [
    ("py2-auto", "everything"),
    ("ts1", "filesystem"),
    ("py1", "memory"),
    ("ts2-auto", "time"),
    ("ts1", "git"),
]
CROSSINGS = [("py2-auto", "ts1", "everything")]
"""Recorded with the first, replayed to the second."""
SPEAKING = [*parts.SERVERS, *parts.AGENT]
"""Servers of which every byte is compared."""
if EVERY:
    PAIRS = list(product(parts.CLIENTS, parts.SERVERS))
    CROSSINGS += [("ts1", "py1", "everything"), ("py1", "ts1", "filesystem")]
    CROSSINGS += [("fastmcp", "py2-auto", "git")]
    SPEAKING += parts.WORKSHOPS.keys() - parts.MOVED.keys()
VERIFIED = 5 if EVERY else 1
"""How often."""
VERIFY_TIMEOUT_S = 120.0
RULES: dict[str, list[str]] = {
    "everything": [
        "tools/call get-resource-reference $.result.content[1].resource.text",
        "resources/read $.result.contents[*].text",
        "prompts/get resource-prompt $.result.messages[1].content.resource.text",
        "notifications/message $.params",
    ],
    "filesystem": ["tools/call get_file_info $.result"],
    "time": ["tools/call get_current_time $.result"],
}
"""What is never the same twice, by server: times, and log lines at random levels."""
CHANGING = {"filesystem", "time"}
"""Their clients print a time."""
CLIENTS_OWN = "sampling, refused by the user"
"""A step that clients themselves do not agree about: they refuse with codes of their own."""
MISSED = b"nothing recorded in"


@dataclass
class Stage:
    """Where clients and servers meet: a folder for each server, and the recordings so far."""

    folder: Path
    recorded: dict[tuple[str, str], bytes] = field(default_factory=dict)

    def play(self, client: str, server: str, stand_in: Sequence[str]) -> Any:
        """A client's whole scenario with this command as its server: what it prints."""
        workdir = self.folder / server
        parts.prepare(server, workdir)
        return subprocess.run(
            parts.drive(client, server, workdir, list(stand_in)),
            env=parts.environment(workdir),
            capture_output=True,
            timeout=90,
            check=True,
        )

    def direct(self, client: str, server: str) -> bytes:
        said: bytes = self.play(client, server, parts.server(server, self.folder / server)).stdout
        return said

    def cassette(self, client: str, server: str) -> Path:
        """The recording of this pair, made when it is first asked for."""
        path = self.folder / f"{client}.{server}.jsonl"
        if (client, server) not in self.recorded:
            argv = record(path, parts.server(server, self.folder / server))
            self.recorded[client, server] = self.play(client, server, argv).stdout
        return path

    def replayed(self, client: str, server: str, cassette: Path) -> bytes:
        """What a client prints with a replay, in which nothing may be missed."""
        outcome = self.play(client, server, replay(cassette))
        assert MISSED not in outcome.stderr
        said: bytes = outcome.stdout
        return said


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Stage:
    """One for all tests, so that a pair is recorded once."""
    return Stage(tmp_path_factory.mktemp("stage"))


def needs(*names: str) -> None:
    """Skips a test whose parts are not here, with the reason."""
    for name in names:
        if reason := parts.missing(name):
            pytest.skip(reason)


def test_the_rules_are_in_the_manual() -> None:
    """Whoever tests such a server finds them there."""
    topic = (Path(__file__).parents[2] / "mcpmock/help/diff.md").read_text(encoding="utf-8")

    assert [] == [rule for rules in RULES.values() for rule in rules if f"'{rule}'" not in topic]


@pytest.mark.parametrize(("client", "server"), PAIRS)
def test_the_client_cannot_tell(client: str, server: str, stage: Stage) -> None:
    """Direct, recorded and replayed, a client prints the same document, byte for byte. The
    recording has no secrets, and the server is still the one in it.
    """
    needs(client, server)
    cassette = stage.cassette(client, server)
    recorded, workdir = stage.recorded[client, server], stage.folder / server

    if server not in CHANGING:
        assert recorded == stage.direct(client, server)
    # Nothing was taken for a secret: ids, hashes, cursors, images, the text of files.
    recordings = {(take.sealed, take.footer and take.footer.redacted) for take in takes(cassette)}
    assert {(True, 0)} == recordings
    assert recorded == stage.replayed(client, server, cassette)
    for _ in range(VERIFIED):
        parts.prepare(server, workdir)
        verify(cassette, server, "--", *parts.server(server, workdir))


def verify(cassette: Path, name: str, *server: str) -> None:
    """Holds a recording against its server: nothing differs but what the rules let pass."""
    rules = [argument for rule in RULES.get(name, []) for argument in ("--ignore", rule)]
    command = [*MCPMOCK, "verify", str(cassette), *rules, *server]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=VERIFY_TIMEOUT_S, check=False,
        env=parts.environment(cassette.parent),
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(("recorded", "replayed", "server"), CROSSINGS)
def test_another_client_is_answered_too(
    recorded: str, replayed: str, server: str, stage: Stage
) -> None:
    """A recording of one client serves another: no misses, and the results that it has directly."""
    needs(recorded, replayed, server)
    cassette = stage.cassette(recorded, server)
    said = stage.replayed(replayed, server, cassette)

    assert common(said) == common(stage.direct(replayed, server))


def common(document: bytes) -> Any:
    """The document without the steps that no two clients have in common."""
    content = json.loads(document)
    content["steps"] = [step for step in content["steps"] if step["step"] != CLIENTS_OWN]
    return content


TOOL = {
    "everything": ("echo", {"message": "naïve ☃ \u2028"}),
    "filesystem": ("list_allowed_directories", {}),
    "memory": ("read_graph", {}),
    "git": ("git_log", {"repo_path": "$WORKDIR/repo"}),
}


LISTS = ("tools/list", "prompts/list", "resources/list", "resources/templates/list")


def conversation(server: str, workdir: Path) -> list[Step]:
    """The same bytes for every server: all that it declares, and a call of a tool where one always
    says the same.
    """
    hello = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "bytes", "version": "1"},
    }
    asked: list[tuple[str, dict[str, Any]]] = [
        ("initialize", hello),
        *((method, {}) for method in LISTS),
        ("ping", {}),
        ("no/such/method", {}),
    ]
    if server in TOOL:
        name, arguments = TOOL[server]
        given = {key: value.replace("$WORKDIR", str(workdir)) for key, value in arguments.items()}
        asked.append(("tools/call", {"name": name, "arguments": given}))
    steps: list[Step] = []
    for id_, (method, params) in enumerate(asked):
        steps += [
            line({"jsonrpc": "2.0", "id": id_, "method": method, "params": params}),
            Answer(id_),
        ]
    steps.insert(2, line({"jsonrpc": "2.0", "method": "notifications/initialized"}))
    return [*steps, Close()]


@pytest.mark.parametrize("server", sorted(SPEAKING))
def test_not_a_byte_differs(server: str, tmp_path: Path) -> None:
    """The same conversation gives the same stdout, stderr and exit code with us and without: no
    example in a description or a schema is taken for a secret.
    """
    needs(server)
    workdir = tmp_path / "work"
    command = parts.server(server, workdir)
    cassette = tmp_path / "a.jsonl"

    def outcome(argv: list[str]) -> Spoken:
        parts.prepare(server, workdir)
        return talk(argv, conversation(server, workdir), env=parts.environment(workdir))

    direct = outcome(command)
    assert outcome(record(cassette, command)) == direct
    assert outcome(replay(cassette)) == direct
