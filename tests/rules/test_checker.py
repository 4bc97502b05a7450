"""The protocol's rules over cassettes."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from pathlib import Path

import pytest

from mcpmock.cassette.file import load
from mcpmock.cassette.parser import read
from mcpmock.protocol.methods import LATEST
from mcpmock.rules.checker import Found
from mcpmock.rules.report import check_cassette
from mcpmock.rules.specification import RULES
from tests.rules.violations import Planted, ask, discovered, opening, opening_http
from tests.support import (
    cassette,
    cassette_bytes,
    in_session,
    over_http,
    request,
    response,
)

MODULES = [
    import_module(f"tests.rules.{path.stem}")
    for path in sorted(Path(__file__).parent.glob("test_*.py"))
    if path.stem != "test_checker"
]
PLANTED: list[Planted] = [row for module in MODULES for row in getattr(module, "PLANTED", [])]
CASSETTES = sorted((Path(__file__).parents[2] / "cassettes").glob("*.jsonl"))
ELSEWHERE = {"session-missing"}
"""Found in what two sessions have in common."""


def places(found: Iterable[Found]) -> list[tuple[int, int, str]]:
    return [(one.take, one.event.n, one.violation.rule.name) for one in found]


@pytest.mark.parametrize("row", PLANTED, ids=str)
def test_every_planted_violation_is_found(row: Planted) -> None:
    """Exactly these rules are broken, and no others."""
    found = [one.violation.rule.name for one in check_cassette(row.cassette)]
    shapeless = [name for name in found if name != "shape" or row.rule == "shape"]

    assert sorted([row.rule, *row.also]) == sorted(shapeless)


def test_every_violation_names_a_side() -> None:
    """The side of its rule; of what both can break, the sender of the event."""
    senders = {"c2s": "client", "s2c": "server"}
    for row in PLANTED:
        for one in check_cassette(row.cassette):
            by = one.violation.rule.by
            side = senders[one.event.d or ""] if by == "either" else by
            assert (row.rule, side) == (row.rule, one.violation.by)


def test_every_rule_is_planted() -> None:
    """Each, and many in either era."""
    found = {one.violation.rule for row in PLANTED for one in check_cassette(row.cassette)}
    missed = {(rule.name, rule.since) for rule in RULES} - {(r.name, r.since) for r in found}

    assert set() == {name for name, _ in missed} - ELSEWHERE
    modern_rows = {rule.name for rule in found if rule.since == LATEST}
    assert len(modern_rows) >= 40
    assert len({rule.name for rule in found if rule.since != LATEST}) >= 40


@pytest.mark.parametrize("path", CASSETTES, ids=lambda path: path.stem)
def test_recordings_of_the_official_sdks_break_no_rule_unnamed(path: Path) -> None:
    """All that is found in them is known of the SDKs, but for calls that were meant to fail."""
    unknown = [one for one in check_cassette(load(path)) if one.violation.known is None]
    assert {"input-schema"} >= {one.violation.rule.name for one in unknown}
    assert len(unknown) <= 1


def test_what_is_known_is_found_there() -> None:
    """The shipped recordings contain these known deviations, and none is an error."""
    found = {one.violation.rule.name for path in CASSETTES for one in check_cassette(load(path))}

    assert {
        "answer-after-cancel", "capability", "logging-undeclared", "method-revision",
        "progress-after-cancel", "input-schema",
    } == found  # fmt: skip


def test_sessions_do_not_meet() -> None:
    """An answer in one session is none in another, and takes have nothing in common."""
    two = over_http(in_session(2, *opening_http()), in_session(3, *opening_http()))
    takes = cassette(("c2s", ask(1, "server/discover")), ("take", None), ("s2c", discovered(id_=1)))

    assert [] == list(check_cassette(two))
    assert [(2, 1, "answers-nothing")] == places(check_cassette(takes))


def test_a_violation_is_told_with_its_event() -> None:
    """The take from 1, and the event as it is numbered there."""
    lines = [(frame.direction.value, frame) for frame in opening()]
    recorded = cassette(*lines, ("take", None), *lines, ("c2s", request(None, "ping")))

    assert [(2, 4, "id-null")] == places(check_cassette(recorded))


def test_a_gap_in_the_recording_breaks_no_rule() -> None:
    """After a gap, where only the head of a frame was kept, and in a damaged file."""
    data = cassette_bytes(*((frame.direction.value, frame) for frame in opening()))
    answer = b'{"n":9,"t":9,"d":"s2c","m":%b}\n' % response(5)
    gap = b'{"n":5,"t":5,"gap":{"bytes":9,"events":1}}\n'
    head = b'{"n":5,"t":5,"d":"c2s","text":"{","oversize":{"bytes":9,"sha256":"x"}}\n'

    assert 1 == len(list(check_cassette(read("x", data + answer))))
    for lost in (gap, head, b"oops\n"):
        assert [] == list(check_cassette(read("x", data + lost + answer)))
