"""No recorded text acts on a terminal or a CI system through the report of pytest."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.hostile import loadable_and_not, offenders, planted
from tests.test_pytest_plugin import PLUGIN

SUITE = """
import subprocess
import sys

import pytest

import mcpmock
from tests.support import call, notification, request
from tests.support.hostile import HOSTILE

ASKED = [
    request(0, "initialize", {"protocolVersion": "2025-11-25", "clientInfo": {HOSTILE: 1}}),
    notification(HOSTILE),
    call(1, HOSTILE),
    call(2, "add", a="y", **{HOSTILE: HOSTILE}),
    request(3, HOSTILE, {HOSTILE: HOSTILE}),
]

def ask(server):
    lines = b"".join(raw + b"\\n" for raw in ASKED)
    subprocess.run(server.command, input=lines, capture_output=True, timeout=20)

@pytest.mark.mcpmock("good.jsonl")
def test_misses(mcpmock_server):
    ask(mcpmock_server)

@pytest.mark.mcpmock("good.jsonl", faults=["latency:latency=1ms", "drop:must_fire=true,nth=99"])
def test_fails(mcpmock_server):
    ask(mcpmock_server)
    raise ValueError

@pytest.mark.mcpmock("good.jsonl")
def test_not_called(mcpmock_server):
    ask(mcpmock_server)
    mcpmock_server.assert_called(HOSTILE, times=9)

@pytest.mark.mcpmock("good.jsonl")
def test_other_order(mcpmock_server):
    ask(mcpmock_server)
    mcpmock_server.assert_order(HOSTILE, "initialize")

def ask_little(server):
    done = subprocess.run(server.command, input=ASKED[0] + b"\\n", capture_output=True)
    assert b"result" in done.stdout

@pytest.mark.mcpmock("one.jsonl", unused="fail")
def test_unused(mcpmock_server):
    ask_little(mcpmock_server)

@pytest.mark.mcpmock("two.jsonl", unused="warn")
def test_unused_too(mcpmock_server):
    ask_little(mcpmock_server)

@pytest.mark.mcpmock("bad.jsonl")
def test_damaged(mcpmock_server):
    pass

def test_load():
    mcpmock.load("cassettes/bad.jsonl")

@pytest.mark.mcpmock("one.jsonl")
def test_client(mcpmock_client):
    mcpmock_client.drive(server=[sys.executable, "-c", HOSTILE.replace("\\0", "")])

@pytest.mark.mcpmock(HOSTILE)
def test_name(mcpmock_server):
    pass

@pytest.mark.mcpmock("good.jsonl", faults=[HOSTILE, "latency:" + HOSTILE])
def test_plan(mcpmock_server):
    pass

"""
RACES = """
import pytest
from tests.support.hostile import HOSTILE

@pytest.mark.mcpmock("good.jsonl", races={"tool": HOSTILE})
def test_races(mcpmock_server, mcpmock_races):
    pass
"""


@pytest.mark.e2e
def test_a_report_shows_no_recorded_text_as_it_is(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Misses, last messages, failed assertions, unused requests and refused cassettes."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))
    good, bad = loadable_and_not()
    cassettes = pytester.mkdir("cassettes")
    (cassettes / "good.jsonl").write_bytes(good)
    (cassettes / "bad.jsonl").write_bytes(next(iter(bad.values())))
    for name in ("one.jsonl", "two.jsonl"):
        (cassettes / name).write_bytes(dict(planted())["value (12, 'm', 'method')"])
    pytester.makepyfile(test_a=SUITE, test_b=RACES)
    result = pytester.runpytest_inprocess(*PLUGIN, "--color=no", "--continue-on-collection-errors")
    text = result.stdout.str() + result.stderr.str()

    assert [] == offenders(text)
    assert "match nothing recorded" in text
    assert 2 <= text.count(" not sent")
    result.assert_outcomes(failed=5, passed=3, errors=5)
