"""Two processes that wrap servers of one configuration at once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

SLOW_DISK = (
    "import os, time\n"
    "flush = os.fsync\n"
    "os.fsync = lambda fd: (time.sleep(0.02), flush(fd))\n"
    "from mcpmock.cli import main\n"
    "main()\n"
)
NAMES = ("one", "two")
TEXT = json.dumps({"mcpServers": {name: {"command": name} for name in NAMES}}, indent=1)


def broken_by_pair(home: Path) -> str:
    """What two `wrap`s at once, and two `unwrap`s, made of a configuration that they should not
    have; empty if nothing is lost.
    """
    file = home / ".cursor/mcp.json"
    file.parent.mkdir()
    file.write_text(TEXT, "utf-8")
    statuses = _run_at_once(home, "wrap")
    servers = json.loads(file.read_text("utf-8"))["mcpServers"]
    if statuses != [0, 0] or any("record" not in servers[name].get("args", ()) for name in NAMES):
        return f"wrap: {statuses}: {servers}"
    statuses = _run_at_once(home, "unwrap")
    if statuses != [0, 0] or file.read_text("utf-8") != TEXT:
        return f"unwrap: {statuses}: {file.read_text('utf-8')}"
    return ""


def _run_at_once(home: Path, command: str) -> list[int]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("XDG_")}
    running = [
        subprocess.Popen(
            [sys.executable, "-c", SLOW_DISK, command, name, "--yes"],
            env={**kept, "HOME": str(home)},
            cwd=home,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for name in NAMES
    ]
    return [one.wait() for one in running]
