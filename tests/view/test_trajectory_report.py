"""What is said of calls that are not as recorded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from mcpmock.matching.match_rule import MatchRules
from mcpmock.redaction.redaction_rules import NO_OWN_RULES, RedactionRules
from mcpmock.semantic_diff.trajectory import Trajectory, TrajectoryCall, live_calls
from mcpmock.view.trajectory_report import MAX_LINES, trajectory_lines

Asked = tuple[str, dict[str, Any]]
MUST = {"order": "same", "extra": "fail", "missing": "fail"}


def call(name: str, **arguments: Any) -> Asked:
    return "tools/call", {"name": name, "arguments": arguments}


def lines(
    recorded: Sequence[Asked],
    made: Sequence[Asked],
    words: Mapping[str, str] = MUST,
    redaction: RedactionRules = NO_OWN_RULES,
) -> list[str]:
    """Of calls that are recorded one after the other, from event 1."""
    calls = [TrajectoryCall(*one, n, n, n + 0.5) for n, one in enumerate(recorded, 1)]
    found = Trajectory.compare(calls, live_calls(made, "*"), MatchRules())
    return trajectory_lines(found, redaction, **{**MUST, **words})


A, B, C, READ = (
    call("a", n=1), call("b", city="Oslo"), call("c", n=3), ("resources/read", {"uri": "file:///a"}),
)  # fmt: skip
ROME = call("b", city="Rome")
CITY = '$.arguments.city: recorded "Oslo", called "Rome"'
ALLOW = "allow with ignore=['tools/call b $.arguments.city']"
MADE_C = '  tools/call c {"n":3}'
HEAD = "recorded calls made as recorded"


@pytest.mark.parametrize(
    ("recorded", "made", "expected"),
    [
        ([A, B], [A], [f"1 of 2 {HEAD}: 1 missing",
                       '  missing: event 2, tools/call b {"city":"Oslo"}',
                       "calls made:", '  tools/call a {"n":1}']),
        ([A, C], [A, C, C], [f"2 of 2 {HEAD}: 1 extra", '  extra: tools/call c {"n":3}',
                             "calls made:", '  tools/call a {"n":1}', MADE_C, MADE_C]),
        ([C], [], ["0 of 1 recorded call made as recorded: 1 missing",
                   '  missing: event 1, tools/call c {"n":3}', "calls made:", "  none"]),
        ([C, B], [C, ROME], [f"1 of 2 {HEAD}: 1 changed",
                             f"  changed: event 2, tools/call b: {CITY}; {ALLOW}",
                             "calls made:", MADE_C, '  tools/call b {"city":"Rome"}']),
        ([C, READ], [READ, C], [f"2 of 2 {HEAD}: 1 out of order",
                                "  out of order: event 2, resources/read file:///a",
                                "calls made:", "  resources/read file:///a", MADE_C]),
        ([A, B, C], [C, ROME, READ],
         [f"1 of 3 {HEAD}: 1 missing, 1 extra, 1 changed, 1 out of order",
          '  missing: event 1, tools/call a {"n":1}', "  extra: resources/read file:///a",
          f"  changed: event 2, tools/call b: {CITY}; {ALLOW}",
          '  out of order: event 3, tools/call c {"n":3}',
          "calls made:", MADE_C, '  tools/call b {"city":"Rome"}',
          "  resources/read file:///a"]),
    ],
)  # fmt: skip
def test_what_is_said(recorded: list[Asked], made: list[Asked], expected: list[str]) -> None:
    """How many there are of each kind, each of them, and all that were made."""
    assert expected == lines(recorded, made)


@pytest.mark.parametrize(
    ("recorded", "made", "said"),
    [
        (call("b", at="2026-01-01"), call("b", at="2026-02-02"),
         '$.arguments.at: recorded "2026-01-01", called "2026-02-02"; '
         "allow with like=['tools/call b $.arguments.at=date']"),
        (call("b", x=1), call("b", x=2, y=3),
         "$.arguments.x: recorded 1, called 2; $.arguments.y: recorded absent, called 3; "
         "allow with ignore=['tools/call b $.arguments.x', 'tools/call b $.arguments.y']"),
        (("prompts/get", {}), ("prompts/get", {"name": 7}), "$.name: recorded absent, called 7"),
    ],
)  # fmt: skip
def test_what_has_changed(recorded: Asked, made: Asked, said: str) -> None:
    """Each place with both values, and the rules that allow them, if any can."""
    name = recorded[1].get("name")
    of = f"event 1, {recorded[0]}{f' {name}' if name else ''}"

    assert f"  changed: {of}: {said}" == lines([recorded], [made])[1]


@pytest.mark.parametrize(
    ("made", "words", "fine"),
    [
        ([A, B], {}, True),
        ([B, A], {"order": "any"}, True),
        ([A, B, C], {"extra": "allow"}, True),
        ([A], {"missing": "allow"}, True),
        ([B, A], {"extra": "allow", "missing": "allow"}, False),
        ([A, B, C], {"order": "any", "missing": "allow"}, False),
        ([A], {"order": "any", "extra": "allow"}, False),
        ([A, ROME], {"order": "any", "extra": "allow", "missing": "allow"}, False),
        ([B, C, A], {"order": "any", "extra": "allow"}, True),
    ],
)
def test_what_is_allowed(made: list[Asked], words: dict[str, str], fine: bool) -> None:
    """Another order, more calls, fewer calls; never a changed one."""
    assert fine is (lines([A, B], made, words) == [])


def test_what_is_allowed_is_not_told() -> None:
    """Beside something else that is."""
    made = [C, B, READ]
    said = lines([A, B, C], made, {"order": "any", "extra": "allow"})

    assert [f"2 of 3 {HEAD}: 1 missing", '  missing: event 1, tools/call a {"n":1}'] == said[:2]
    assert "calls made:" == said[2]
    assert (
        f"2 of 3 {HEAD}: 1 extra, 1 out of order" == lines([A, B, C], made, {"missing": "allow"})[0]
    )


def test_secrets_and_control_characters() -> None:
    """Neither is shown, nor a secret that only a later call gives away."""
    secret = "ghp_" + "a1B2" * 9
    rules = RedactionRules.parse(key=["pin"])
    made = [call("x", text="of 8261-hush"), call("\x1b[31mred", token=secret),
            call("x", pin="8261-hush")]  # fmt: skip
    said = "\n".join(lines([A, call("x", text="no")], made, redaction=rules))

    assert secret not in said
    assert "8261-hush" not in said
    assert "\x1b" not in said
    assert "mcpmock:secret:" in said


def test_what_stands_where_a_recorded_secret_stood() -> None:
    """It is one, whatever it looks like, wherever it is repeated."""
    one, two = ("mcpmock:secret:token:1", "mcpmock:secret:token:2")
    recorded = [call("a", note=one), call("b", notes=[two], n=1)]
    made = [call("a", note="of 9f8e7d6c"), call("b", notes=["of 8e7d6c5b"], n=2),
            call("c", text="of 9f8e7d6c, of 8e7d6c5b")]  # fmt: skip
    said = "\n".join(lines(recorded, made))

    assert "9f8e7d6c" not in said
    assert "8e7d6c5b" not in said
    assert '  tools/call c {"text":"mcpmock:secret:token:1, mcpmock:secret:token:2"}' in said


def test_a_secret_that_is_another_one() -> None:
    """It is told, although both are shown alike."""
    hole = "mcpmock:secret:token:1"
    recorded = [call("a", token=hole), call("b", token=hole)]
    said = lines(recorded, [call("a", token="one-7x9Q"), call("b", token="two-8y0R")])

    assert "  changed: event 2, tools/call b: a secret is another one" == said[1]


def test_many() -> None:
    """At most twenty lines of a kind, and twenty places of a call."""
    extra = [call("x", n=n) for n in range(50)]
    wide, other = (call("a", **{f"n{n}": value for n in range(30)}) for value in (1, 2))
    changed = lines([wide], [other])[1]

    rests = [line for line in lines([A], [A, *extra]) if "more" in line]
    assert [f"  and {50 - MAX_LINES} more", f"  and {51 - MAX_LINES} more"] == rests
    assert MAX_LINES == changed.count(": recorded 1, called 2")
    assert f"; and {30 - MAX_LINES} more; allow with " in changed
