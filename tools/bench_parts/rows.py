"""What is compared: each row is a way to stand between client and server, or no way at all."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench_parts.client import Session
from bench_parts.over_http import HttpSession
from bench_parts.over_pipes import PipeSession

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
_CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
_PARTS = Path(os.environ.get("MCPMOCK_E2E_PARTS") or _CACHE / "mcpmock-e2e")
PEERS = _PARTS / "peers" / "bin"
CASSETTE_SERVE = ["serve", "--ignore-param", "/params/_meta"]
"""As it comes it does not know a call again that has a progress token."""
NO_COMPILER = "there is no C compiler"
IDLE_PLAN = [
    *("--fault", "latency:latency=1s,tool=get_*"),
    *("--fault", "error:code=-32002,message=gone,method=resources/read,probability=0.5"),
    *("--fault", "drop:tool=delete_file,nth=2"),
]
"""Faults that are for nothing of what is said here."""
_LAUNCHER = """#!{python}
import sys
sys.path[0] = {root!r}
from mcpmock.cli import main
if __name__ == "__main__":
    sys.exit(main())
"""

Command = Callable[[Path], list[str]]
"""From the cassette to record to, or to play, to what is started."""


@dataclass(frozen=True)
class Row:
    """`plays` is the row whose recording this one replays; `missing` why it cannot run here."""

    name: str
    command: Command
    records: bool = False
    plays: str | None = None
    peer: bool = False
    missing: str | None = None
    http: bool = False
    streams: bool = False
    """Whether it can be asked for streams of events."""

    def open(self, file: Path, shop: Workshop) -> Session:
        command = self.command(file)
        if self.http:
            return HttpSession(command, shop.env)
        return PipeSession(command, shop.env, shop.log)


@dataclass(frozen=True)
class Workshop:
    """A folder for what a run leaves behind, with the programs that it needs."""

    folder: Path
    server: list[str]
    http_server: list[str] | None
    relay: Path | None
    mcpmock: list[str]

    @property
    def env(self) -> dict[str, str]:
        """The environment of an ordinary user: compiled modules are kept and used."""
        env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        return {**env, "MCP_REC_NO_NOTICE": "1"}

    @property
    def log(self) -> Path:
        return self.folder / "stderr.txt"


def set_up(folder: Path, bodies: Path) -> Workshop:
    """Compiles the C programs where there is a compiler, and our own modules."""
    echo, http_echo = _compile("echo", folder), _compile("http_echo", folder)
    launcher = folder / "mcpmock"
    launcher.write_text(_LAUNCHER.format(python=sys.executable, root=str(ROOT)))
    server = [str(echo)] if echo else [sys.executable, str(HERE / "echo_server.py")]
    workshop = Workshop(
        folder=folder,
        server=[*server, str(bodies)],
        http_server=[str(http_echo), str(bodies)] if http_echo else None,
        relay=_compile("relay", folder),
        mcpmock=[sys.executable, str(launcher)],
    )
    compiled = [sys.executable, "-m", "compileall", "-q", str(ROOT / "mcpmock")]
    subprocess.run(compiled, env=workshop.env, check=False)
    return workshop


def _compile(name: str, folder: Path) -> Path | None:
    cc = shutil.which("cc")
    if cc is None:
        return None
    built = subprocess.run([cc, "-O2", "-o", folder / name, HERE / f"{name}.c"], check=False)
    return folder / name if built.returncode == 0 else None


def stdio_rows(shop: Workshop) -> list[Row]:
    """In the order in which they are run and shown."""
    relay = str(shop.relay)
    trio_relay = [sys.executable, str(HERE / "trio_relay.py")]
    no_relay = None if shop.relay else NO_COMPILER
    return [
        Row("direct", lambda _: shop.server),
        Row("relay", lambda _: [relay, *shop.server], missing=no_relay),
        Row("trio", lambda _: [*trio_relay, *shop.server]),
        Row(
            "record",
            lambda file: [*shop.mcpmock, "record", "-o", str(file), "--", *shop.server],
            records=True,
        ),
        Row(
            "record-faults",
            lambda file: [*shop.mcpmock, "record", *IDLE_PLAN, "-o", str(file), "--", *shop.server],
        ),
        Row("replay", lambda file: [*shop.mcpmock, "replay", str(file)], plays="record"),
        Row(
            "replay-faults",
            lambda file: [*shop.mcpmock, "replay", *IDLE_PLAN, str(file)],
            plays="record",
        ),
        peer("mcp-rec", lambda file: ["record", "-o", str(file), "--", *shop.server]),
        peer("mcp-cassette", lambda file: ["record", "--cassette", str(file), "--", *shop.server]),
        peer("mcp-rec", lambda file: ["replay", str(file)], plays="mcp-rec"),
        peer("mcp-cassette", lambda file: [*CASSETTE_SERVE, str(file)], plays="mcp-cassette"),
    ]


def peer(name: str, arguments: Command, *, plays: str | None = None) -> Row:
    """A program of that name that others made."""
    program = PEERS / name
    return Row(
        name if plays is None else f"{plays}-replay",
        lambda file: [str(program), *arguments(file)],
        records=plays is None,
        plays=plays,
        peer=True,
        missing=None if program.exists() else "not installed; tools/e2e_parts.sh peers",
    )
