"""Explores the real servers of `tools/e2e_parts.sh`: nothing may be reported that is no deviation.

    python tools/explore_parts.py                       # every server, a minute each
    python tools/explore_parts.py memory time --for 5m  # more options go to `mcpmock explore`
    python tools/explore_parts.py --http                # those with a URL, over HTTP

Each server is recorded with the official Python SDK's client first. Read what is reported: it is a
false alarm, or worth a report upstream.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.e2e import parts
from tests.e2e.http_processes import real_server

MCPMOCK = [sys.executable, "-m", "mcpmock"]
RECORDED_WITH = "py2-legacy"


def explore(name: str, options: list[str], *, http: bool) -> int:
    """Records and explores one server."""
    if (reason := parts.missing(name) or parts.missing(RECORDED_WITH)) is not None:
        print(f"{name}: left out: {reason}")
        return 0
    with TemporaryDirectory() as folder:
        workdir, cassette = Path(folder) / "work", Path(folder) / f"{name}.jsonl"
        parts.prepare(name, workdir)
        server, environment = parts.server(name, workdir), parts.environment(workdir)
        recorder = [*MCPMOCK, "record", "-o", str(cassette), "--", *server]
        client = parts.drive(RECORDED_WITH, parts.scenario(name), workdir, recorder)
        subprocess.run(client, env=environment, check=True, timeout=120, capture_output=True)
        parts.prepare(name, workdir)
        print(f"== {name}", flush=True)
        command = [*MCPMOCK, "explore", str(cassette), "-o", f"{folder}/found", *options]
        if not http:
            return subprocess.run([*command, "--", *server], env=environment).returncode
        with real_server(name, parts.HTTP, workdir) as served:
            return subprocess.run([*command, "--url", served.url]).returncode


def main() -> None:
    words = sys.argv[1:]
    http = "--http" in words
    known = parts.HTTP_SERVERS if http else {**parts.SERVERS, **parts.WORKSHOPS}
    names = [word for word in words if word in known]
    options = [word for word in words if word not in (*names, "--http")] or ["--for", "60s"]
    statuses = [explore(name, options, http=http) for name in names or known]
    sys.exit(max(statuses))


if __name__ == "__main__":
    main()
