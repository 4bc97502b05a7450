"""The calls that clients made, held against a recording."""

from __future__ import annotations

from typing import Any

import pytest

from mcpmock.cassette import FORMAT
from mcpmock.cassette.model import Header, Take, event_line
from mcpmock.cassette.parser import read
from mcpmock.matching.match_rule import MatchRules
from mcpmock.protocol.messages import C2S, S2C, Frame, encode
from mcpmock.redaction.redaction_rules import NO_OWN_RULES
from mcpmock.semantic_diff.trajectory import (
    MAX_LINES,
    USUAL_METHODS,
    Trajectory,
    live_calls,
    recorded_calls,
    trajectory_lines,
)

Asked = tuple[str, dict[str, Any]]


def call(name: str, **arguments: Any) -> Asked:
    return "tools/call", {"name": name, "arguments": arguments, "_meta": {"progressToken": 7}}


def takes(*steps: str | Asked) -> list[Take]:
    """A take in which each call is answered at once; a text opens (`>1`) or answers (`<1`) the
    call with this number of `A`.
    """
    frames: list[Frame] = []
    for number, step in enumerate(steps, 100):
        if isinstance(step, str):
            id_ = int(step[1:])
            if step[0] == ">":
                frames.append(request(id_, call("a", n=id_)))
            else:
                frames.append(answer(id_))
        else:
            frames += [request(number, step), answer(number)]
    lines = [encode(Header(mcpmock=FORMAT, transport="stdio")) + b"\n"]
    lines += [event_line(n, n, frame, session=1) for n, frame in enumerate(frames, 1)]
    return read("t", b"".join(lines)).takes


def request(id_: int, asked: Asked) -> Frame:
    value = {"jsonrpc": "2.0", "id": id_, "method": asked[0], "params": asked[1]}
    return Frame(C2S, encode(value))


def answer(id_: int) -> Frame:
    return Frame(S2C, encode({"jsonrpc": "2.0", "id": id_, "result": {}}))


def lines(
    recorded: list[Take],
    made: list[Asked],
    rules: MatchRules = MatchRules(),  # noqa: B008 (frozen)
    methods: tuple[str, ...] = USUAL_METHODS,
    words: dict[str, str] | None = None,
) -> list[str]:
    found = Trajectory.compare(recorded_calls(recorded, methods), live_calls(made, methods), rules)
    given = {"order": "same", "extra": "fail", "missing": "fail", **(words or {})}
    return trajectory_lines(found, NO_OWN_RULES, **given)


A, B, C = call("a", n=1), call("b", city="Oslo"), call("c", text="snow in Oslo")
PROMPT: Asked = ("prompts/get", {"name": "greet"})
READ: Asked = ("resources/read", {"uri": "file:///a"})
HELLO: Asked = ("initialize", {"protocolVersion": "2025-11-25"})


@pytest.mark.parametrize(
    ("recorded", "made"),
    [
        ([A, B, C], [A, B, C]),
        ([A, PROMPT, READ], [A, PROMPT, READ]),
        ([HELLO, A], [A, ("tools/list", {}), ("ping", {})]),
        ([A, A, B], [A, A, B]),
        ([call("a", n=1.0)], [call("a", n=1)]),
        ([PROMPT], [(PROMPT[0], {**PROMPT[1], "_meta": {"io.modelcontextprotocol/x": 1}})]),
        ([], []),
        ([">1", ">2", "<1", "<2"], [call("a", n=2), call("a", n=1)]),
        ([">1", ">2", "<2", ">3", "<1", "<3"],
         [call("a", n=2), call("a", n=3), call("a", n=1)]),
    ],
)  # fmt: skip
def test_as_recorded(recorded: list[str | Asked], made: list[Asked]) -> None:
    """What overlapped has no order; `_meta`, lists and handshakes do not count."""
    assert [] == lines(takes(*recorded), made)


@pytest.mark.parametrize(
    ("recorded", "made", "expected"),
    [
        ([A, B], [A], ['  missing: event 3, tools/call b {"city":"Oslo"}']),
        ([A], [A, A], ['  extra: tools/call a {"n":1}']),
        ([A], [B], ['  missing: event 1, tools/call a {"n":1}',
                    '  extra: tools/call b {"city":"Oslo"}']),
        ([B], [call("b", city="Rome")],
         ['  changed: event 1, tools/call b: $.arguments.city: recorded "Oslo", called "Rome"; '
          "allow with ignore=['tools/call b $.arguments.city']"]),
        ([B], [call("b", city="Rome"), call("b", city="Bern")],
         ['  extra: tools/call b {"city":"Bern"}',
          '  changed: event 1, tools/call b: $.arguments.city: recorded "Oslo", called "Rome"; '
          "allow with ignore=['tools/call b $.arguments.city']"]),
        ([call("b", at="2026-01-01"), B], [call("b", at="2026-02-02"), B],
         ['  changed: event 1, tools/call b: $.arguments.at: recorded "2026-01-01", called '
          "\"2026-02-02\"; allow with like=['tools/call b $.arguments.at=date']"]),
        ([A, B], [B, A], ['  out of order: event 3, tools/call b {"city":"Oslo"}']),
        ([A, B, C, READ], [A, READ, B, C], ['  out of order: event 7, resources/read file:///a']),
        ([A, B, C], [B, C, A], ['  out of order: event 1, tools/call a {"n":1}']),
        ([">1", ">2", "<2", ">3", "<1", "<3"],
         [call("a", n=3), call("a", n=1), call("a", n=2)],
         ['  out of order: event 4, tools/call a {"n":3}']),
        ([READ], [("resources/read", {"uri": "file:///b"})],
         ['  changed: event 1, resources/read: $.uri: recorded "file:///a", called "file:///b"; '
          "allow with like=['resources/read $.uri=path']"]),
    ],
)  # fmt: skip
def test_what_is_said(recorded: list[str | Asked], made: list[Asked], expected: list[str]) -> None:
    """A line for each call; one changed argument is one line."""
    said = lines(takes(*recorded), made)

    assert expected == [line for line in said[1:] if line in expected or ": event" in line]
    assert "calls made:" in said


@pytest.mark.parametrize(
    ("made", "words", "fine"),
    [
        ([B, A], {"order": "any"}, True),
        ([A, B, C], {"extra": "allow"}, True),
        ([A], {"missing": "allow"}, True),
        ([A], {"extra": "allow"}, False),
        ([A, call("b", city="Rome")], {"extra": "allow", "missing": "allow"}, False),
        ([B, C, A], {"order": "any", "extra": "allow"}, True),
    ],
)
def test_what_is_allowed(made: list[Asked], words: dict[str, str], fine: bool) -> None:
    """Another order, more calls, fewer calls; never a changed one."""
    assert fine is (lines(takes(A, B), made, words=words) == [])


def test_rules() -> None:
    """They decide what is equal, pair by pair."""
    rules = MatchRules.parse(["tools/call b $.arguments.city"], ["$.arguments.at=date"])
    recorded = takes(call("b", city="Oslo"), call("a", at="2026-01-01"), call("a", at="x"))
    made = [call("b", city="Rome"), call("a", at="2026-03-03"), call("a", at="x")]

    assert [] == lines(recorded, made, rules)
    assert [] != lines(recorded, made)


def test_other_methods() -> None:
    """Globs say which count."""
    recorded = takes(HELLO, ("tools/list", {}), A)

    assert [] == lines(recorded, [("tools/list", {}), A], methods=("tools/*",))
    assert "  missing: event 3, tools/list" in lines(recorded, [A], methods=("tools/*",))


def test_a_secret_that_is_another_one() -> None:
    """It is told, although both are shown alike."""
    hole = "mcpmock:secret:token:1"
    recorded = takes(call("a", token=hole), call("b", token=hole))
    said = lines(recorded, [call("a", token="one-7x9Q"), call("b", token="two-8y0R")])

    assert "  changed: event 3, tools/call b: a secret is another one" in said


def test_secrets_and_control_characters() -> None:
    """Neither is shown."""
    secret = "ghp_" + "a1B2" * 9
    said = "\n".join(lines(takes(A), [call("x", token=secret, text="\x1b[31mred")]))

    assert secret not in said
    assert "\x1b" not in said
    assert "mcpmock:secret:" in said


def test_what_is_no_message() -> None:
    """It is passed over."""
    header = encode(Header(mcpmock=FORMAT, transport="stdio"))
    receipt = b'{"n":1,"t":0,"d":"c2s","fault":{"kind":"drop"}}'

    assert [] == lines(read("t", b"%b\n%b\n" % (header, receipt)).takes, [])


def test_many() -> None:
    """At most twenty lines of a kind, and a recording of thousands in a moment."""
    said = lines(takes(A), [A, *(call("x", n=n) for n in range(50))])
    assert f"  and {50 - MAX_LINES} more" in said

    long = [call("a", n=n) for n in range(2000)]
    assert [] == lines(takes(*long), long)
