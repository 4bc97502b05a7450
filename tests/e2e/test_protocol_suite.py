"""Our own protocol tests against real servers: directly, through `record`, and against `replay` of
what was recorded they have the same transcripts, in any order and any number of times."""

from __future__ import annotations

import json
import os
import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path

import pytest

from tests.support.every import EVERY
from tests.support.processes import takes

from .http_processes import Served, real_server, recording, replaying, serving
from .parts import HTTP, SSE
from .protocol_streams import COUNTDOWN, come_back, leave, rest
from .protocol_suite import Talk, Transcript, all_tests, run
from .test_sdk import needs

pytestmark = pytest.mark.e2e

REAL = [("workshop-py2", HTTP), ("workshop-ts2", HTTP)]
if EVERY:
    REAL += [("workshop-py2", SSE), ("workshop-py1", HTTP), ("workshop-py1", SSE)]
ODD = "oddities"
"""A server of our own, that needs no parts."""
PARTS = [pytest.param(served, marks=pytest.mark.parts) for served in REAL]
SERVERS = [*PARTS, (ODD, HTTP), (ODD, SSE)]
RESUMABLE = [param for served, param in zip(REAL, PARTS, strict=True) if HTTP in served]
SEED = int(os.environ.get("MCPMOCK_E2E_SEED") or random.SystemRandom().randrange(10**6))
"""Of the shuffled order; in the name of the test that uses it."""


@dataclass
class Suite:
    """What a server says to all tests, and what it says with the recorder in front."""

    kind: str
    direct: dict[str, Transcript]
    recorded: dict[str, Transcript]
    cassette: Path
    exit_code: int | None


Suites = dict[tuple[str, str], Suite]


@pytest.fixture(scope="module")
def suites() -> Suites:
    """The suites that have been run so far, one for each server."""
    return {}


@pytest.fixture(params=SERVERS, ids="-".join)
def suite(
    request: pytest.FixtureRequest, suites: Suites, tmp_path_factory: pytest.TempPathFactory
) -> Suite:
    """All tests against a server, directly and through the recorder."""
    name, transport = request.param
    if (name, transport) not in suites:
        folder = tmp_path_factory.mktemp("suite")
        suites[name, transport] = _suite(name, transport, folder)
    return suites[name, transport]


def _suite(name: str, transport: str, folder: Path) -> Suite:
    cassette = folder / "a.jsonl"
    kind = f"odd {transport}" if name == ODD else transport
    with started(name, transport, folder) as server:
        direct = all_of(kind, server.url)
    with (
        started(name, transport, folder) as server,
        recording(cassette, server.url) as recorder,
    ):
        recorded = all_of(kind, recorder.url)
    return Suite(kind, direct, recorded, cassette, recorder.exit_code)


@contextmanager
def started(name: str, transport: str, folder: Path) -> Iterator[Served]:
    """A server of SERVERS, fresh."""
    if name == ODD:
        script = Path(__file__).parent / "servers" / "oddities.py"
        with serving([sys.executable, str(script), transport]) as server:
            yield server
    else:
        needs(name)
        with real_server(name, transport, folder) as server:
            yield server


def all_of(kind: str, url: str, names: list[str] | None = None) -> dict[str, Transcript]:
    """The transcripts of all tests, or of these in this order; an error is a transcript too."""
    found = all_tests(kind)
    return {name: _safely(name, kind, url) for name in names or found}


def _safely(name: str, kind: str, url: str) -> Transcript:
    try:
        return run(all_tests(kind)[name], url)
    except Exception as error:  # noqa: BLE001 -- the other tests have their say all the same
        return [{"failed": f"{type(error).__name__}: {error}"}]


def different(one: dict[str, Transcript], two: dict[str, Transcript]) -> dict[str, list[str]]:
    """The tests whose transcripts differ, with the lines that do."""
    return {name: _lines(one[name], two[name]) for name in two if one[name] != two[name]}


def in_canonical_order(transcripts: dict[str, Transcript]) -> dict[str, Transcript]:
    """The transcripts without what a cassette does not hold: the order of an event's fields, and
    bodies that are none of MCP's."""
    copy: dict[str, Transcript] = json.loads(json.dumps(transcripts, sort_keys=True))
    for entry in [entry for said in copy.values() for entry in said]:
        entry.pop("unkept", None)
        for event in entry.get("events", []):
            event["fields"].sort()
    return copy


def differs_from_replayed(suite: Suite, replayed: dict[str, Transcript]) -> dict[str, list[str]]:
    """The tests that a replay does not answer as the server did."""
    return different(in_canonical_order(suite.direct), in_canonical_order(replayed))


def _lines(one: Transcript, two: Transcript) -> list[str]:
    first, second = (json.dumps(it, indent=1, ensure_ascii=False).splitlines() for it in (one, two))
    return list(unified_diff(first, second, lineterm=""))[:60]


def test_every_test_has_a_transcript(suite: Suite) -> None:
    """The tests themselves do not fail against the real server."""
    assert [name for name, said in suite.direct.items() if "failed" in said[0]] == []


def test_the_recorder_is_transparent(suite: Suite) -> None:
    """Through the recorder all transcripts are what they are directly, and it ends with 0."""
    assert different(suite.direct, suite.recorded) == {}
    assert suite.exit_code == 0
    assert all(take.sealed for take in takes(suite.cassette))


def test_the_replay_is_the_server(suite: Suite) -> None:
    """A replay of the recording has the same transcripts, in the order of the recording; a second
    run against the same process has them, too.
    """
    with replaying(suite.cassette) as player:
        replayed = all_of(suite.kind, player.url)
        again = all_of(suite.kind, player.url)

    assert differs_from_replayed(suite, replayed) == {}
    assert differs_from_replayed(suite, again) == {}
    assert player.exit_code == 0, player.stderr


def test_in_another_order(suite: Suite) -> None:
    """Each test finds its own part of the recording, whatever came before it."""
    names = list(all_tests(suite.kind))
    random.Random(SEED).shuffle(names)
    with replaying(suite.cassette) as player:
        replayed = all_of(suite.kind, player.url, names)

    assert differs_from_replayed(suite, replayed) == {}, f"MCPMOCK_E2E_SEED={SEED}"


def test_one_by_one(suite: Suite) -> None:
    """A test alone, against a replay of its own, has its transcript: a sample of them."""
    names = list(all_tests(suite.kind))
    if not EVERY:
        names = random.Random(SEED).sample(names, min(3, len(names)))
    replayed: dict[str, Transcript] = {}
    for name in names:
        with replaying(suite.cassette) as player:
            replayed |= all_of(suite.kind, player.url, [name])

    assert differs_from_replayed(suite, replayed) == {}, f"MCPMOCK_E2E_SEED={SEED}"


@pytest.mark.parametrize("suite", RESUMABLE, indirect=True, ids="-".join)
def test_cut_where_the_recording_was_not(suite: Suite) -> None:
    """Of an answer that was recorded whole, a replay gives the rest behind any of its events."""
    name = "progress_and_logging"
    whole = suite.direct[name][0]["events"]
    for at in range(1, len(whole)) if EVERY else (1, len(whole) - 1):
        with replaying(suite.cassette) as player, Talk(name, player.url) as talk:
            talk.begin()
            last = leave(talk, talk.post(COUNTDOWN), at)
            rest(talk, come_back(talk, last), talk.said[-1], 1)

        cut = talk.told()[0]["events"]
        assert [event["data"] for event in cut] == [
            event["data"] for event in whole if event["data"] != ""
        ]
        assert len({event["id"] for event in cut}) == len(cut)
