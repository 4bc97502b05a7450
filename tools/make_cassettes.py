"""Records the cassettes that are shipped: real clients, real servers, the scenarios of the e2e
tests.

    tools/e2e_parts.sh && .venv/bin/python tools/make_cassettes.py

Parts and work are reached through neutral paths under /tmp, so that no cassette holds a path of the
machine that made it. What each is for: cassettes/README.md.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
NEUTRAL = Path("/tmp/mcpmock-cassettes")
os.environ["MCPMOCK_E2E_PARTS"] = str(NEUTRAL / "parts")
sys.path.insert(0, str(ROOT))

MADE = {
    "everything": "ts1",
    "git": "fastmcp",
    "memory": "py1",
    "time": "ts2-auto",
}
"""Server -> the client that uses it."""


def main() -> int:
    real = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    shutil.rmtree(NEUTRAL, ignore_errors=True)
    NEUTRAL.mkdir()
    (NEUTRAL / "parts").symlink_to(Path(real) / "mcpmock-e2e")
    from tests.e2e import parts

    for server, client in MADE.items():
        reason = parts.missing(server) or parts.missing(client)
        if reason is not None:
            print(f"{server}: {reason}")
            return 1
        work = NEUTRAL / "work"
        parts.prepare(server, work)
        output = ROOT / "cassettes" / f"{server}.jsonl"
        output.unlink(missing_ok=True)
        mcpmock = [sys.executable, "-m", "mcpmock", "record", "-o", str(output), "--"]
        argv = parts.drive(client, server, work, [*mcpmock, *parts.server(server, work)])
        environment = {**parts.environment(work), "PYTHONPATH": str(ROOT)}
        subprocess.run(argv, env=environment, check=True, stdout=subprocess.DEVNULL, timeout=120)
        output.chmod(0o644)
        print(f"{output.relative_to(ROOT)}: {output.stat().st_size} bytes")
    shutil.rmtree(NEUTRAL)
    return 0


if __name__ == "__main__":
    sys.exit(main())
