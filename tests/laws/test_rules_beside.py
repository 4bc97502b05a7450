"""The rules beside a cassette hold wherever it is played or compared: nothing above adds them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import mcpmock
from mcpmock.batch.diff import compare_cassettes
from mcpmock.playback.session_selection import PlayerOptions
from mcpmock.semantic_diff.ignore_rules import IgnoreRules
from mcpmock.sessions.replay import Replay
from tests.support import c, call, cassette, response, s

RECORDED = cassette(
    c(call(1, "w", city="Oslo")),
    s(response(1)),
    header=b'{"mcpmock":1,"transport":"stdio","match":{"ignore":["$.arguments.city"]}}\n',
)
ROOT = Path(mcpmock.__file__).parent
CALLED_IN = {
    # What is made or called, and the only modules that do.
    "SessionSelection": {"sessions/replay.py", "sessions/http_front.py", "sessions/workers.py"},
    "rules_beside": {
        "batch/match_rules.py",
        "batch/diff.py",
        "api/trajectory.py",  # compares calls, not cassettes
        "cli/report.py",  # pages are drawn by a room below
        "testing/failure.py",
        "cli/verify.py",  # which reads them before the session
    },
    "with_rules_beside": {"sessions/replay.py"},
}


@pytest.mark.parametrize("name", CALLED_IN)
def test_rules_are_added_in_one_place(name: str) -> None:
    """A player takes its options from `Replay`, a comparison is `compare_cassettes`."""
    called = re.compile(rf"(?<!def )\b{name}\(")
    files = (path for path in ROOT.rglob("*.py") if called.search(path.read_text("utf-8")))

    assert CALLED_IN[name] == {path.relative_to(ROOT).as_posix() for path in files}


@pytest.mark.parametrize(
    ("given", "rules"),
    [({}, ["$.arguments.city"]), ({"no_rules": True}, []), ({"mute": True}, ["$.arguments.city"])],
)
def test_a_replay_has_them(given: dict[str, bool], rules: list[str]) -> None:
    """Those of the headers, unless the options say no."""
    replay = Replay(RECORDED, PlayerOptions(**given), print)  # type: ignore[arg-type]

    found = replay.options.rules
    assert rules == ([] if found is None else [rule.text for rule in found.rules])


def test_a_comparison_has_them() -> None:
    """Unless it is told to leave them out."""
    other = cassette(c(call(1, "w", city="Bergen")), s(response(1)))

    assert not compare_cassettes(RECORDED, other, IgnoreRules())
    assert compare_cassettes(RECORDED, other, IgnoreRules(), no_rules=True)
