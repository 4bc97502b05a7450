"""The rows that are compared. A row is a server with or without a program in front of it, or a
player of what another row recorded.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from bench_parts.client import Session
from bench_parts.over_http import HttpSession
from bench_parts.over_pipes import PipeSession

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
_CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
_PARTS = Path(os.environ.get("MCPMOCK_E2E_PARTS") or _CACHE / "mcpmock-e2e")
_PEERS = _PARTS / "peers" / "bin"
_FILE, _FREE_PORT = "{file}", "{port}"
"""Placeholders in a row's command: the cassette to record or to play, and a port to listen at."""
_CASSETTE_RECORD = ["record", "--cassette", _FILE]
# Without the option mcp-cassette does not recognize a repeated call that has a progress token.
_CASSETTE_SERVE = ["serve", "--ignore-param", "/params/_meta", _FILE]
_ANY_PORT = ["--listen", "127.0.0.1:0"]
_IDLE_PLAN = [
    *("--fault", "latency:latency=1s,tool=get_*"),
    *("--fault", "error:code=-32002,message=gone,method=resources/read,probability=0.5"),
    *("--fault", "drop:tool=delete_file,nth=2"),
]
"""Faults that match none of the messages of the benchmark."""
_LAUNCHER = """#!{python}
import sys
sys.path[0] = {root!r}
from mcpmock.cli import main
if __name__ == "__main__":
    sys.exit(main())
"""


class Workshop:
    """A folder for the files of a run, with the compiled server and relay and the `mcpmock` of a
    checkout.
    """

    def __init__(self, folder: Path, bodies: Path, checkout: Path = ROOT) -> None:
        self.folder, self.log = folder, folder / "stderr.txt"
        # The environment of a user: without PYTHONDONTWRITEBYTECODE and its like, so that compiled
        # modules are kept and used.
        env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        self.env = {**env, "MCP_REC_NO_NOTICE": "1"}
        launcher = folder / "mcpmock"
        launcher.write_text(_LAUNCHER.format(python=sys.executable, root=str(checkout)))
        self.mcpmock = [sys.executable, str(launcher)]
        self.server = [self._compile("echo"), str(bodies)]
        self.http_server = [*self.server, "0"]
        self.relay = self._compile("relay")
        modules = [sys.executable, "-m", "compileall", "-q", str(checkout / "mcpmock")]
        subprocess.run(modules, env=self.env, check=False)

    def _compile(self, name: str) -> str:
        # In C, so that the server costs next to nothing beside what is measured.
        cc, program = shutil.which("cc"), self.folder / name
        if cc is None:
            sys.exit("bench: a C compiler is needed (cc, for the server and the relay)")
        subprocess.run([cc, "-O2", "-o", program, HERE / f"{name}.c"], check=True)
        return str(program)


@dataclass(frozen=True)
class Row:
    """`plays` is the row whose recording this one plays; `peer` the program, if it is not ours."""

    name: str
    command: list[str]
    plays: str | None = None
    peer: str | None = None

    @property
    def http(self) -> bool:
        return self.name.startswith("http-")

    @property
    def peer_role(self) -> str | None:
        """What a peer's row does, which ours are compared with: `record` or `replay`."""
        return self.peer and ("replay" if self.plays else "record")

    @property
    def streams(self) -> bool:
        """Whether it is asked for streams of events."""
        # mcp-recorder plays the first event of a stream as the answer.
        return self.http and self.name != "http-mcp-recorder-replay"

    @property
    def missing(self) -> bool:
        return self.peer is not None and not (_PEERS / self.peer).exists()

    def open(self, file: Path, shop: Workshop) -> Session:
        program = [str(_PEERS / self.peer)] if self.peer else []
        filled = {_FILE: str(file), _FREE_PORT: str(_free_port())}
        command = program + [filled.get(word, word) for word in self.command]
        if self.http:
            return HttpSession(command, shop.env)
        return PipeSession(command, shop.env, shop.log)


def stdio_rows(shop: Workshop) -> list[Row]:
    """In the order in which they run and are shown."""
    server = shop.server
    record, target = [*shop.mcpmock, "record"], ["-o", _FILE, "--", *server]
    replay = [*shop.mcpmock, "replay"]
    return [
        Row("direct", server),
        Row("relay", [shop.relay, *server]),
        Row("trio", [sys.executable, str(HERE / "trio_relay.py"), *server]),
        Row("record", [*record, *target]),
        Row("record-faults", [*record, *_IDLE_PLAN, *target]),
        Row("replay", [*replay, _FILE], "record"),
        Row("replay-faults", [*replay, *_IDLE_PLAN, _FILE], "record"),
        Row("mcp-rec", ["record", *target], peer="mcp-rec"),
        Row("mcp-cassette", [*_CASSETTE_RECORD, "--", *server], peer="mcp-cassette"),
        Row("mcp-rec-replay", ["replay", _FILE], "mcp-rec", "mcp-rec"),
        Row("mcp-cassette-replay", _CASSETTE_SERVE, "mcp-cassette", "mcp-cassette"),
    ]


def http_rows(shop: Workshop, port: int) -> list[Row]:
    """In the order in which they run and are shown; all recorders stand before the server at
    `port`.
    """
    origin = f"http://127.0.0.1:{port}"
    url = ["--url", f"{origin}/mcp"]
    record = [*shop.mcpmock, "record", *url, *_ANY_PORT, "-o", _FILE]
    replay = [*shop.mcpmock, "replay", *_ANY_PORT, _FILE]
    # mcp-recorder names a port in its output only if --port named it.
    recorder = ["record", "--port", _FREE_PORT, "--target", origin]
    player = ["replay", "--port", _FREE_PORT, "--cassette", _FILE]
    return [
        Row("http-direct", shop.http_server),
        Row("http-relay", [sys.executable, str(HERE / "http_relay.py"), str(port)]),
        Row("http-record", record),
        Row("http-record-faults", [*record, *_IDLE_PLAN]),
        Row("http-replay", replay, "http-record"),
        Row("http-replay-workers", [*replay, "--order", "any", "--workers", "2"], "http-record"),
        Row("http-replay-faults", [*replay, *_IDLE_PLAN], "http-record"),
        # By default mcp-cassette redacts progress tokens, and cannot play such a recording.
        Row(
            "http-mcp-cassette",
            [*_CASSETTE_RECORD, "--no-default-redactions", *url],
            peer="mcp-cassette",
        ),
        Row("http-mcp-cassette-replay", _CASSETTE_SERVE, "http-mcp-cassette", "mcp-cassette"),
        Row("http-mcp-recorder", [*recorder, "--output", _FILE], peer="mcp-recorder"),
        Row("http-mcp-recorder-replay", player, "http-mcp-recorder", "mcp-recorder"),
    ]


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
        return port
