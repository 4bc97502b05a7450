"""Secrets in the recordings of real processes: in no file, on no terminal; and what is replaced is
verified and replayed.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.redaction.canaries import leaks
from tests.support.processes import END, MCPMOCK

from .http_processes import recording, serving

pytestmark = pytest.mark.e2e

SERVER = (sys.executable, str(Path(__file__).parent / "servers" / "secretive.py"))
CANARIES = {
    "argument": "arg-c4n/Ry+1x",
    "late": "late-c4n'Ry+2x",
    "environment": "env-c4n/Ry+3x",
    "argv": "argv-c4nRy-4x",
    "server": "srv-0wn/t0ken+7",
    "header": "head-c4n.Ry.5x",
    "query": "query-c4nRy-6x",
}
WELCOME = {
    "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}
}  # fmt: skip


def said(**values: str) -> list[bytes]:
    """What a client says that names `late` only after it was sent."""
    calls = [
        {"name": "login", "arguments": {"text": values["late"]}},
        {"name": "login", "arguments": {"password": values["argument"]}},
        {"name": "login", "arguments": {"api_key": values["late"]}},
    ]
    asked = [("initialize", WELCOME), *[("tools/call", call) for call in calls]]
    return [
        json.dumps({"jsonrpc": "2.0", "id": n, "method": method, "params": params}).encode()
        for n, (method, params) in enumerate(asked)
    ]


def run(*words: str | Path, lines: Sequence[bytes] = ()) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*MCPMOCK, *map(str, words)],
        input=b"".join(line + b"\n" for line in lines),
        capture_output=True,
        timeout=END,
        env={**os.environ, "DEMO_API_KEY": CANARIES["environment"]},
        check=False,
    )


def left_in(folder: Path, *texts: bytes) -> list[str]:
    """Which canaries are in a file of the folder or in a text, in any spelling."""
    data = [path.read_bytes() for path in folder.rglob("*") if path.is_file()]
    return [
        name for name, secret in CANARIES.items() if any(leaks(d, secret) for d in [*data, *texts])
    ]


def test_stdio(tmp_path: Path) -> None:
    """Arguments, results, standard error, environment and command line; the unchanged server then
    verifies without a difference, and a client with other secrets gets its own back.
    """
    cassette = tmp_path / "s.jsonl"
    server = (*SERVER, "--token", CANARIES["argv"])
    recorded = run("record", "-o", cassette, "--", *server, lines=said(**CANARIES))
    scanned = run("scan", cassette)
    verified = run("verify", cassette, "--", *server)

    assert 0 == recorded.returncode
    assert 4 == len(recorded.stdout.splitlines())
    assert [] == left_in(tmp_path, scanned.stdout, scanned.stderr, verified.stdout)
    assert (0, 0) == (scanned.returncode, verified.returncode), verified.stdout

    others = {"late": "0ther.late.x1", "argument": "0ther/arg+x2"}
    replayed = run("replay", cassette, lines=said(**others))
    answer = json.loads(replayed.stdout.splitlines()[2])["result"]

    [values, *_] = answer["structuredContent"]["values"]
    assert [others["argument"]] * 2 == [values["plain"], json.loads(values["json"])["v"]]
    assert leaks(values["base64"].encode(), others["argument"])
    assert leaks(values["percent"].encode(), others["argument"])


def test_a_recording_without_redaction_is_scanned_and_redacted(tmp_path: Path) -> None:
    """`scan` names no value, and after `redact` nothing is left; it replays as if it had been
    recorded so.
    """
    cassette = tmp_path / "s.jsonl"
    run("record", "--no-redact", "-o", cassette, "--", *SERVER, lines=said(**CANARIES))
    scanned = run("scan", "-v", cassette)
    redacted = run("redact", cassette)

    assert (1, 0) == (scanned.returncode, redacted.returncode)
    known = {"argument", "late", "server"}
    printed = scanned.stdout + scanned.stderr + redacted.stdout + redacted.stderr
    assert set() == known & {*left_in(tmp_path, printed)}
    assert 0 == run("scan", cassette).returncode
    assert b'"error"' not in run("replay", cassette, lines=said(**CANARIES)).stdout


def test_http(tmp_path: Path) -> None:
    """Heads, queries, bodies and event streams of an HTTP server."""
    cassette = tmp_path / "s.jsonl"
    command = [*MCPMOCK, "proxy", "--listen", "127.0.0.1:0", "--", *SERVER]
    env = {"DEMO_API_KEY": CANARIES["environment"]}
    with (
        serving(command, env={**os.environ, **env}) as server,
        recording(cassette, server.url) as r,
    ):
        session = None
        for line in said(**CANARIES):
            heads = {
                "Content-Type": "application/json",
                "Accept": "application/json, text/event-stream",
                "Authorization": f"Bearer {CANARIES['header']}",
                **({} if session is None else {"Mcp-Session-Id": session}),
            }
            url = f"{r.url}?access_token={CANARIES['query']}"
            with urllib.request.urlopen(
                urllib.request.Request(url, line, heads), timeout=END
            ) as got:
                assert got.read()
                session = session or got.headers["Mcp-Session-Id"]

    assert [] == left_in(tmp_path, r.stderr.encode())
    assert b"mcpmock:secret:" in cassette.read_bytes()
    assert 0 == run("scan", cassette).returncode
    assert not leaks(cassette.read_bytes(), session or "none")


def test_a_miss_names_no_secret(tmp_path: Path) -> None:
    """A live secret is neither on standard error nor in the error for the client."""
    cassette = tmp_path / "s.jsonl"
    run("record", "-o", cassette, "--", *SERVER, lines=said(**CANARIES))
    others = {"late": "0ther-late.x1", "argument": "live-c4nRy.x2"}
    first, _, call, _ = said(**others)
    miss = call.replace(b'"login"', b'"logout"')
    replayed = run("replay", "-v", cassette, lines=[first, miss])

    assert b"-31999" in replayed.stdout
    assert not leaks(replayed.stdout + replayed.stderr, others["argument"])


def test_shipped_cassettes_have_no_secrets() -> None:
    """Nor has any cassette that comes with mcpmock."""
    scanned = run("scan", "-v", *(Path(__file__).parents[2] / "cassettes").glob("*.jsonl"))

    assert 0 == scanned.returncode, scanned.stdout


def test_what_cannot_be_replaced_is_said(tmp_path: Path) -> None:
    """A recording ends with one line on a value that stands in it as a number."""
    cassette = tmp_path / "s.jsonl"
    lines = [b'{"id":1,"method":"a","params":{"n":48219377}}',
             b'{"id":2,"method":"a","params":{"password":"48219377"}}']  # fmt: skip
    done = run("record", "-o", cassette, "--", "cat", lines=lines)

    assert b"the value of a secret is left in event 1" in done.stderr
    assert b"48219377" not in done.stderr


def test_skills_whose_files_were_redacted_are_said(tmp_path: Path) -> None:
    """`record` and `redact` say so in one line, `check` that their digests are not checked, and
    `replay -v` that it sends others.
    """
    uri = "skill://refunds/SKILL.md"
    text = f"---\\nname: refunds\\ndescription: How\\n---\\npassword: {'hunter2' * 3}\\n"
    content = json.loads(f'"{text}"').encode()
    digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
    front = '{"name":"refunds","description":"How"}'
    files = f'[{{"uri":"{uri}","digest":"{digest}","size":{len(content)}}}]'
    entry = f'{{"uri":"{uri}","frontmatter":{front},"resources":{files}}}'
    said = (f'"skills":[{entry}]', f'"contents":[{{"uri":"{uri}","text":"{text}"}}]')
    lines = [b'{"jsonrpc":"2.0","id":1,"result":{%b}}' % one.encode() for one in said]
    cassette, plain = tmp_path / "s.jsonl", tmp_path / "plain.jsonl"
    told = f"redacted in skills, so that their digests no longer fit: {uri}\n".encode()

    done = run("record", "-o", cassette, "--", "cat", lines=lines)
    assert f"{cassette}: ".encode() + told in done.stderr
    run("record", "--no-redact", "-o", plain, "--", "cat", lines=lines)
    done = run("redact", plain)
    assert f"{plain}: ".encode() + told in done.stderr
    assert 1 == done.stderr.count(uri.encode())
    replayed = run("replay", "-v", cassette, lines=[])
    assert f"digest and size are those of the redacted content: {uri}\n".encode() in replayed.stderr
