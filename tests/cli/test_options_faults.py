"""`--faults`, `--fault` and `--seed`, and what is told at the end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mcpmock.cassette.file import load
from mcpmock.channels.channel import MemoryChannel
from tests.cli.conftest import Run, heard
from tests.cli.test_replay import OSLO, says
from tests.support import OPENING, cassette_bytes, error, response

PLAN = """
seed = 3
[[fault]]
name = "no weather"
kind = "error"
match = { tool = "weather" }
code = -1
message = "no"
[[fault]]
kind = "drop"
match = { method = "nothing/like" }
must_fire = true
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.jsonl"
    path.write_bytes(cassette_bytes(*OPENING, ("c2s", OSLO), ("s2c", response(1))))
    return path


def test_a_plan(run: Run, file: Path, client: MemoryChannel) -> None:
    """What it says goes wrong, it is told, and what must have fired and has not fails the run."""
    plan = file.with_name("plan.toml")
    plan.write_text(PLAN)
    says(client, OSLO)

    status, _, err = run("replay", file, "--faults", plan)
    assert (1, [error(1, -1)]) == (status, heard(client))
    assert [
        "mcpmock: fault no weather (error): fired 1 of 1 times that it matched",
        "mcpmock: fault drop: never fired, and it must: neither side sent nothing/like",
    ] == err.splitlines()


def test_one_fault(run: Run, file: Path, client: MemoryChannel, tmp_path: Path) -> None:
    """On the command line; a recording has the receipt."""
    says(client, OSLO)
    out = tmp_path / "out.jsonl"
    fault = "error:code=-1,message=no,tool=weather"

    status, _, err = run("replay", file, "--fault", fault, "--seed", 5, "--record", out, "--json")
    assert (0, [error(1, -1)]) == (status, heard(client))
    assert ("fault", 1) == tuple(json.loads(err)[key] for key in ("type", "fired"))
    [receipt] = [e.fault for e in load(out).takes[0].events if isinstance(e.fault, dict)]
    assert ("error", "tools/call") == (receipt["kind"], receipt["method"])


def test_quiet(run: Run, file: Path, client: MemoryChannel) -> None:
    """Only what should have fired and did not."""
    says(client, OSLO)

    assert (0, "", "") == run("replay", file, "--fault", "drop:tool=weather", "-q")


def test_latency_delays_what_is_last(run: Run, file: Path, client: MemoryChannel) -> None:
    """A client that has said all still gets what is held for it."""
    says(client, OSLO)

    assert 0 == run("replay", file, "--fault", "latency:latency=50ms,method=tools/call", "-q")[0]
    assert [response(1)] == heard(client)


def test_mistakes(run: Run, file: Path) -> None:
    """All of them, each on a line, and nothing is started."""
    plan = file.with_name("plan.toml")
    plan.write_text('[[fault]]\nkind = "eror"\n[[fault]]\nkind = "drop"\nmatch = { nth = 0 }\n')

    for command in (["replay", file], ["record", "-o", file, "--"], ["proxy", "--"]):
        more = [] if command[0] == "replay" else ["no-such-command"]
        given = [command[0], "--faults", plan, *command[1:], *more]
        status, _, err = run(*given)
        assert (3, 2) == (status, len(err.splitlines()))
        assert f"{plan}: fault[0].kind: unknown kind 'eror'; did you mean error" in err
        assert f"{plan}: fault[1].match.nth: expected a whole number from 1, not 0" in err


@pytest.mark.parametrize("content", [None, b"\xff"])
def test_a_plan_that_cannot_be_read(run: Run, file: Path, content: bytes | None) -> None:
    """It is said which, and why."""
    plan = file.with_name("plan.toml")
    if content is not None:
        plan.write_bytes(content)

    status, _, err = run("replay", file, "--faults", plan)
    assert (3, True) == (status, err.startswith(f"mcpmock: {plan}: "))


def test_latencies_of_a_recording(run: Run, file: Path, client: MemoryChannel) -> None:
    """A plan names it from where it stands itself."""
    plan = file.with_name("plan.toml")
    plan.write_text(
        '[[fault]]\nkind = "latency"\ndistribution = "empirical"\ncassette = "b.jsonl"\n'
    )
    quick = ((0, "c2s", OSLO), (0.01, "s2c", response(1)))
    file.with_name("b.jsonl").write_bytes(cassette_bytes(*quick))
    says(client, OSLO)

    status, _, err = run("replay", file, "--faults", plan)
    assert (0, True) == (status, "fault latency: fired 2 of 2" in err)
    file.with_name("b.jsonl").unlink()
    assert 3 == run("replay", file, "--faults", plan)[0]
