"""Programs of an SDK whose requests differ in each run: recorded, run again with fresh values, and
answered under exactly the rules that the misses propose.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.every import EVERY

pytestmark = pytest.mark.e2e

TIMEOUT_S = 60
KINDS = ["id", "path", "time", "float", "text"] if EVERY else []
"""Kinds of values that vary alone, too."""
MCPMOCK = [sys.executable, "-m", "mcpmock"]
SERVER = """
from mcp.server import MCPServer

server = MCPServer("travel")

@server.tool()
def search(query: str, id: str, at: str, file: str, lat: float) -> str:
    return f"found for {query}"

@server.tool()
def book(query: str, id: str) -> str:
    return f"booked {query}"

server.run()
"""
PROGRAM = """
import asyncio, random, sys, uuid
from datetime import datetime, timedelta
from mcp import Client, StdioServerParameters

seed, varying, shuffled, *server = sys.argv[1:]
dice = random.Random(seed)

def value(name, constant, fresh):
    return fresh if name in varying.split(",") else constant

async def main():
    queries = ["flights to Oslo", "hotels in Bergen", "cars"]
    calls = []
    for query in queries:
        id_ = value("id", "abc", str(uuid.UUID(int=dice.getrandbits(128))))
        at = datetime(2026, 1, 1) + timedelta(seconds=dice.randrange(10**7))
        arguments = {
            "query": value("text", query, f"{query}, please ({dice.randrange(1000)})"),
            "id": id_,
            "at": value("time", "2026-01-01T00:00:00", at.isoformat()),
            "file": value("path", "/tmp/x", f"/tmp/{dice.randrange(10**6)}/x"),
            "lat": value("float", 1.5, dice.random()),
        }
        calls.append(("search", arguments))
        calls.append(("book", {"query": arguments["query"], "id": id_}))
    if shuffled == "shuffled":
        dice.shuffle(calls)
    async with Client(StdioServerParameters(command=server[0], args=server[1:])) as client:
        for tool, arguments in calls:
            result = await client.call_tool(tool, arguments)
            query = next(one for one in queries if arguments["query"].startswith(one))
            print(tool, query, query in result.content[0].text)

asyncio.run(main())
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("matching")
    (made / "server.py").write_text(SERVER, "utf-8")
    (made / "program.py").write_text(PROGRAM, "utf-8")
    return made


def run(
    folder: Path, seed: int, varying: str, *server: str, shuffled: str = ""
) -> subprocess.CompletedProcess[str]:
    """The program, with this command as its server."""
    words = [sys.executable, "program.py", str(seed), varying, shuffled, *server]
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=TIMEOUT_S)


@pytest.mark.timeout(120)
@pytest.mark.parametrize("varying", ["id,time,float,text", *KINDS])
def test_a_program_runs_again_under_the_rules_that_its_misses_propose(
    folder: Path, varying: str
) -> None:
    """Every call is answered with its own answer, in another order too."""
    file = f"{varying}.jsonl"
    recording = run(
        folder, 1, varying, *MCPMOCK, "record", "-o", file, "--", sys.executable, "server.py"
    )
    assert 0 == recording.returncode, recording.stderr
    answers = sorted(recording.stdout.splitlines())
    assert all(line.endswith("True") for line in answers)

    near = run(folder, 2, varying, *MCPMOCK, "replay", "--json", "--on-miss", "nearest", file)
    told = [json.loads(line) for line in near.stderr.splitlines() if line.startswith("{")]
    rules = dict.fromkeys(rule for one in told for rule in one.get("rules", ()))
    assert rules
    words = [word for rule in rules for word in ("--like" if "=" in rule else "--ignore", rule)]

    again = run(folder, 3, varying, *MCPMOCK, "replay", file, *words, shuffled="shuffled")
    assert 0 == again.returncode, again.stderr
    assert answers == sorted(again.stdout.splitlines())
