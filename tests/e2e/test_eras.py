"""Real clients of one era with recordings of the other: what they print is what they print with the
real server.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.every import EVERY

from . import parts
from .http_processes import real_server, recording, replaying
from .parts import HTTP
from .test_sdk import MISSED, Stage, needs
from .test_sdk_http import Stage as HttpStage

pytestmark = [pytest.mark.e2e, pytest.mark.parts]

PAIRS = [("py2-auto", "ts1", "time")]
"""Who is recorded, to whom that is replayed, with which server (each speaks both eras)."""
HTTP_PAIRS = [("ts1", "py2-modern")]
if EVERY:
    PAIRS += [("py2-auto", "py1", "git"), ("ts1", "py2-modern", "time")]
    HTTP_PAIRS.append(("py2-auto", "py1"))
ASKED_OR_OLD = {"connect", "now", "ping, which the modern era has not"}
"""The steps that differ: the handshake, a time of day, and a method of one era."""
ALIKE = ["tools", "add", "bad argument", "unknown tool", "resources", "read", "prompt"]
"""Steps of the workshop in which the server asks nothing."""


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Stage:
    """One for all tests, so that a pair is recorded once."""
    return Stage(tmp_path_factory.mktemp("stage"))


def steps(document: bytes) -> dict[str, Any]:
    """What came of each step, but for the name of the server, which only modern results have."""

    def without_server(value: dict[str, Any]) -> dict[str, Any]:
        meta = value.get("_meta", {})
        if meta.pop("io.modelcontextprotocol/serverInfo", None) and not meta:
            del value["_meta"]
        return value

    found = json.loads(document, object_hook=without_server)["steps"]
    return {step["step"]: step for step in found if step["step"] not in ASKED_OR_OLD}


@pytest.mark.parametrize(("recorded", "live", "server"), PAIRS)
def test_the_client_cannot_tell(recorded: str, live: str, server: str, stage: Stage) -> None:
    """Over stdio and over HTTP; each in its own era, and one note says that it is translated."""
    needs(recorded, live, server)
    cassette, workdir = stage.cassette(recorded, server), stage.folder / server
    expected = steps(stage.direct(live, server))

    assert expected == steps(stage.replayed(live, server, cassette))
    with replaying(cassette, "-v") as player:
        argv = parts.reach(live, parts.scenario(server), workdir, HTTP, player.url)
        said = HttpStage(workdir).play(argv)[0]
    assert expected == steps(said)
    assert (0, 1) == (player.exit_code, player.stderr.count("translated: recorded with revision"))
    assert MISSED.decode() not in player.stderr


@pytest.mark.parametrize(("recorded", "live"), HTTP_PAIRS)
def test_over_http_as_recorded(recorded: str, live: str, tmp_path: Path) -> None:
    """Exchange for exchange, the same; a call in which the server asked something is a miss that
    names both revisions.
    """
    needs(recorded, live, "workshop-py2")
    stage, cassette = HttpStage(tmp_path), tmp_path / "a.jsonl"
    with real_server("workshop-py2", HTTP, tmp_path) as real:
        direct = steps(stage.reach(live, "workshop-py2", HTTP, real.url)[0])
        with recording(cassette, real.url) as recorder:
            stage.reach(recorded, "workshop-py2", HTTP, recorder.url)
    with replaying(cassette) as player:
        replayed = steps(stage.reach(live, "workshop-py2", HTTP, player.url)[0])

    assert [] == [name for name in ALIKE if direct[name] != replayed[name]]
    assert (
        "recorded with revision"
        in replayed["all three, in rounds or one by one"]["error"]["message"]
    )
