"""Explores the clients of the official SDKs and FastMCP, and prints what they do: a table, and each
deviation with the sentence of the specification and the command that shows it again.

    python tools/explore_clients.py                        # every client: an hour
    python tools/explore_clients.py py2 ts1-http --jobs 1  # more options go to `mcpmock explore`

`tests/e2e/clients/explored.py` and `explored.mjs` are the programs: they list tools, call one with
progress, two at once, one that takes too long, and one more. Each is recorded with the demo server
first. Cassettes and plans stay in ./explored-clients. Read what is reported: it is a false alarm,
or worth a report upstream.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.e2e import parts

MCPMOCK = [sys.executable, "-m", "mcpmock"]
PROGRAMS = Path(__file__).parents[1] / "tests" / "e2e" / "clients"
FOLDER = Path("explored-clients")
PARTS = {
    "py2": "py2",
    "py2-modern": "py2",
    "py1": "py1",
    "ts1": "npm",
    "ts2": "npm",
    "ts2-modern": "npm",
    "fastmcp": "py2",
}
"""The libraries and eras that the programs know, and the part that each is in."""
NAMES = [*PARTS, *(f"{name}-http" for name in PARTS)]
STDIO_KINDS = "wire,messages,mcp"
COLUMNS = ("runs", "ok", "odd", "broken", "unreached")


def program(library: str) -> list[str]:
    """The command of a client program, to be followed by a URL or the command of a server."""
    if PARTS[library] == "npm":
        return ["node", str(PROGRAMS / "explored.mjs"), library]
    python = parts.PARTS / PARTS[library] / "bin" / "python"
    return [str(python), str(PROGRAMS / "explored.py"), library]


def record(library: str) -> Path:
    """The program's session with the demo server."""
    cassette = FOLDER / f"{library}.jsonl"
    demo = [sys.executable, "-m", "mcpmock.demo.server"]
    recorder = [*MCPMOCK, "record", "--overwrite", "-o", str(cassette), "--", *demo]
    command = [*program(library), *recorder]
    patient = {**os.environ, "EXPLORED_TIMEOUT_S": "60"}  # a real server takes a while to start
    subprocess.run(command, check=True, timeout=120, capture_output=True, env=patient)
    return cassette


def explore(name: str, options: list[str]) -> list[dict[str, Any]]:
    """The lines that `mcpmock explore --json` prints."""
    library = name.removesuffix("-http")
    server = "{url}" if name.endswith("-http") else "{command}"
    if server == "{command}" and "--faults" not in options:
        options = ["--faults", STDIO_KINDS, *options]
    words = ["explore", str(record(library)), "--client", "--json", "-o", str(FOLDER / name)]
    command = [*MCPMOCK, *words, *options, "--", *program(library), server]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    return [json.loads(line) for line in done.stdout.splitlines()]


def row(name: str, lines: list[dict[str, Any]]) -> list[str]:
    """A row of the table."""
    verdicts = Counter(line["verdict"] for line in lines if line["type"] == "row")
    oracles = Counter(line["oracle"] for line in lines if line["type"] == "row" and line["oracle"])
    told = ", ".join(f"{oracle} {count}" for oracle, count in oracles.most_common())
    counts = [str(verdicts[verdict]) for verdict in COLUMNS[1:]]
    return [name, str(verdicts.total()), *counts, told]


def deviations(name: str, lines: list[dict[str, Any]]) -> list[str]:
    """What was found, each rule once."""
    told: dict[str, list[str]] = {}
    for line in lines:
        if line["type"] == "baseline":
            told[line["oracle"]] = [f"in the recorded order too: {line['text']}"]
        if line["type"] == "failure" and line["confirmed"]:
            text = [line["text"], line["cites"], line["shrunk"], f"again: {line['command']}"]
            told.setdefault(line["oracle"], [one for one in text if one])
    return [f"{name}: {one}\n" + "\n".join(f"    {t}" for t in text) for one, text in told.items()]


def main() -> None:
    names = [word for word in sys.argv[1:] if word in NAMES]
    options = [word for word in sys.argv[1:] if word not in names]
    FOLDER.mkdir(exist_ok=True)
    table, found = [["client", *COLUMNS, "oracles"]], []
    for name in names or NAMES:
        library = name.removesuffix("-http")
        if (reason := parts.not_installed(PARTS[library], library)) is not None:
            print(f"{name}: left out: {reason}", file=sys.stderr)
            continue
        lines = explore(name, options)
        table.append(row(name, lines))
        found += deviations(name, lines)
        print("  ".join(table[-1]), file=sys.stderr, flush=True)
    widths = [max(len(line[place]) for line in table) for place in range(len(table[0]))]
    for line in table:
        cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        print("  ".join(cells).rstrip())
    print("", *found, sep="\n")


if __name__ == "__main__":
    main()
