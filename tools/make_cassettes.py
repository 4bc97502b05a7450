"""Records the cassettes that are shipped: real clients, real servers, the scenarios of the e2e
tests.

    tools/e2e_parts.sh && .venv/bin/python tools/make_cassettes.py [NAME]..

Parts and work are reached through neutral paths under /tmp, so that no cassette holds a path of the
machine that made it. Without a name all of them are made. What each is for: cassettes/README.md.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
NEUTRAL = Path("/tmp/mcpmock-cassettes")
PATIENCE = 120.0
"""Seconds that a client may take."""
os.environ["MCPMOCK_E2E_PARTS"] = str(NEUTRAL / "parts")
os.environ["PYTHONPATH"] = str(ROOT)
sys.path.insert(0, str(ROOT))

from tests.e2e import parts  # noqa: E402 (it asks at once where the parts are)
from tests.e2e.http_processes import real_server, recording  # noqa: E402
from tests.support.processes import record  # noqa: E402


class Made(NamedTuple):
    """How a cassette is made."""

    server: str
    client: str
    scenario: str
    transport: str = "stdio"


MADE = {
    "everything": Made("everything", "ts1", "everything"),
    "git": Made("git", "fastmcp", "git"),
    "memory": Made("memory", "py1", "memory"),
    "time": Made("time", "ts2-auto", "time"),
    "everything-http": Made("everything", "ts1", "everything-in-short", parts.HTTP),
    "everything-sse": Made("everything", "py1", "everything-in-short", parts.SSE),
    "workshop-sessions": Made("workshop-py1", "ts2-legacy", "workshop", parts.HTTP),
    "workshop-stateless": Made("workshop-ts2", "py2-auto", "workshop", parts.HTTP),
}
"""By the name of the file."""


def main(names: list[str]) -> int:
    real = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    shutil.rmtree(NEUTRAL, ignore_errors=True)
    NEUTRAL.mkdir()
    (NEUTRAL / "parts").symlink_to(Path(real) / "mcpmock-e2e")
    for name in names or MADE:
        made = MADE[name]
        reason = parts.missing(made.server) or parts.missing(made.client)
        if reason is not None:
            print(f"{name}: {reason}")
            return 1
        output = ROOT / "cassettes" / f"{name}.jsonl"
        output.unlink(missing_ok=True)
        make = make_over_stdio if made.transport == "stdio" else make_over_http
        make(made, output, NEUTRAL / "work")
        output.chmod(0o644)
        print(f"{output.relative_to(ROOT)}: {output.stat().st_size} bytes")
    shutil.rmtree(NEUTRAL)
    return 0


def make_over_stdio(made: Made, output: Path, work: Path) -> None:
    parts.prepare(made.server, work)
    command = record(output, parts.server(made.server, work))
    run(parts.drive(made.client, made.scenario, work, command), work)


def make_over_http(made: Made, output: Path, work: Path) -> None:
    with (
        real_server(made.server, made.transport, work) as server,
        recording(output, server.url) as recorder,
    ):
        run(parts.reach(made.client, made.scenario, work, made.transport, recorder.url), work)


def run(client: list[str], work: Path) -> None:
    environment = parts.environment(work)
    subprocess.run(client, env=environment, check=True, stdout=subprocess.DEVNULL, timeout=PATIENCE)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
