"""The calls that clients made, held against a recording."""

from __future__ import annotations

from typing import Any

import pytest

from mcpmock.cassette import FORMAT
from mcpmock.cassette.model import Header, Take
from mcpmock.cassette.parser import read
from mcpmock.matching.match_rule import MatchRules
from mcpmock.protocol.messages import encode
from mcpmock.semantic_diff.trajectory import (
    USUAL_METHODS,
    Trajectory,
    live_calls,
    recorded_calls,
)
from tests.support import (
    LOG,
    Line,
    answers,
    c,
    cassette,
    in_session,
    over_http,
    post,
    progress,
    replies,
    request,
    response,
    s,
    says,
)

Asked = tuple[str, dict[str, Any]]
Step = Line | str | Asked
NO_RULES = MatchRules()


def call(name: str, **arguments: Any) -> Asked:
    return "tools/call", {"name": name, "arguments": arguments, "_meta": {"progressToken": 7}}


def takes(*steps: Step) -> list[Take]:
    """Takes in which each call is answered at once; a text opens (`>1`) or answers (`<1`) the call
    with this number of `A`, or begins the next take (`|`).
    """
    lines: list[Line] = []
    for number, step in enumerate(steps, 100):
        match step:
            case str() if step == "|":
                lines.append(("take", None))
            case str():
                id_ = int(step[1:])
                asked = c(request(id_, *call("a", n=id_)))
                lines.append(asked if step[0] == ">" else s(response(id_)))
            case ("c2s" | "s2c", _):
                lines.append(step)
            case (method, params):
                lines += [c(request(number, method, params)), s(response(number))]
    return cassette(*lines).takes


def compared(
    recorded: list[Take],
    made: list[Asked],
    rules: MatchRules = NO_RULES,
    methods: tuple[str, ...] = USUAL_METHODS,
) -> Trajectory:
    return Trajectory.compare(recorded_calls(recorded, methods), live_calls(made, methods), rules)


def differing(found: Trajectory) -> dict[str, Any]:
    """What is not as recorded, by the numbers of the calls."""
    kinds = ("missing", "extra", "changed", "moved")
    return {kind: told for kind in kinds if (told := getattr(found, kind))}


A, B, C = call("a", n=1), call("b", city="Oslo"), call("c", text="snow in Oslo")
ROME, BERN = call("b", city="Rome"), call("b", city="Bern")
PROMPT: Asked = ("prompts/get", {"name": "greet"})
READ: Asked = ("resources/read", {"uri": "file:///a"})
HELLO: Asked = ("initialize", {"protocolVersion": "2025-11-25"})
ONE, TWO, THREE = (call("a", n=n) for n in (1, 2, 3))
QUESTION = s(request(1, "tools/call", {"name": "of the server"})), c(response(1))


@pytest.mark.parametrize(
    ("recorded", "made"),
    [
        ([A, B, C], [A, B, C]),
        ([A, PROMPT, READ], [A, PROMPT, READ]),
        ([HELLO, A], [A, ("tools/list", {}), ("ping", {})]),
        ([A, A, B], [A, A, B]),
        ([call("a", n=1.0)], [call("a", n=1)]),
        ([PROMPT], [(PROMPT[0], {**PROMPT[1], "_meta": {"io.modelcontextprotocol/x": 1}})]),
        ([c(request(1, "prompts/get"))], [("prompts/get", {})]),
        ([], []),
        ([A, "|", B], [A, B]),
        # What overlapped has no order: other messages answer nothing.
        ([">1", ">2", "<1", "<2"], [TWO, ONE]),
        ([">1", ">2", "<2", ">3", "<1", "<3"], [TWO, THREE, ONE]),
        ([">1", B], [B, ONE]),
        ([">1", s(progress(7)), s(LOG), s(response(9)), ">2", "<1", "<2"], [TWO, ONE]),
        ([">1", *QUESTION, ">2", "<1", "<2"], [TWO, ONE]),
        ([">1", ("s2c", b"noise"), ">2", "<1"], [TWO, ONE]),
    ],
)  # fmt: skip
def test_as_recorded(recorded: list[Step], made: list[Asked]) -> None:
    """What overlapped has no order; `_meta`, lists, handshakes and the server's requests do not
    count.
    """
    found = compared(takes(*recorded), made)

    assert {} == differing(found)
    assert len(found.recorded) == len(found.live) == len(found.equal)


@pytest.mark.parametrize(
    ("recorded", "made", "expected"),
    [
        ([A, B], [A], {"missing": [1]}),
        ([A], [A, A], {"extra": [1]}),
        ([A], [B], {"missing": [0], "extra": [0]}),
        ([B], [ROME], {"changed": [(0, 0)]}),
        ([B], [ROME, BERN], {"changed": [(0, 0)], "extra": [1]}),
        ([B, ROME], [BERN], {"changed": [(0, 0)], "missing": [1]}),
        ([B, ROME], [BERN, BERN], {"changed": [(0, 0), (1, 1)]}),
        ([call("b", x=1, y=1), call("b", x=2, y=2)], [call("b", x=2, y=3), call("b", x=1, y=3)],
         {"changed": [(1, 0), (0, 1)], "moved": [(1, 0)]}),
        ([READ], [("resources/read", {"uri": "file:///b"})], {"changed": [(0, 0)]}),
        ([A, B], [B, A], {"moved": [(1, 0)]}),
        ([A, B, C, READ], [A, READ, B, C], {"moved": [(3, 1)]}),
        ([A, B, C], [B, C, A], {"moved": [(0, 2)]}),
        ([">1", ">2", "<2", ">3", "<1", "<3"], [THREE, ONE, TWO], {"moved": [(2, 0)]}),
        ([">1", "|", B], [B, ONE], {"moved": [(1, 0)]}),
        ([A, "|", B], [B, A], {"moved": [(1, 0)]}),
    ],
)  # fmt: skip
def test_what_differs(recorded: list[Step], made: list[Asked], expected: dict[str, Any]) -> None:
    """Of what is out of order, the fewest; what is never answered ends with its take."""
    assert expected == differing(compared(takes(*recorded), made))


def test_ids_outside_of_sessions() -> None:
    """They belong to one exchange: calls of several clients have the same."""
    one, two = (request(1, *call("a", n=n)) for n in (1, 2))
    first, second = post(1, one), post(2, two)
    recorded = over_http(
        in_session(0, first, second, replies(1, 200, "text/event-stream"), says(1, response(1)),
                   answers(2, response(1)))
    )  # fmt: skip

    assert {} == differing(compared(recorded.takes, [TWO, ONE]))


def test_rules() -> None:
    """They decide what is equal, pair by pair."""
    rules = MatchRules.parse(["tools/call b $.arguments.city"], ["$.arguments.at=date"])
    recorded = takes(call("b", city="Oslo"), call("a", at="2026-01-01"), call("a", at="x"))
    made = [ROME, call("a", at="2026-03-03"), call("a", at="x")]

    assert {} == differing(compared(recorded, made, rules))
    assert {"changed": [(0, 0), (1, 1)]} == differing(compared(recorded, made))


def test_other_methods() -> None:
    """Globs say which count."""
    recorded = takes(HELLO, ("tools/list", {}), A, ("ping", {}))
    methods = ("tools/*", "ping")

    assert {} == differing(
        compared(recorded, [("tools/list", {}), A, ("ping", {})], methods=methods)
    )
    assert {"missing": [0, 2]} == differing(compared(recorded, [A], methods=methods))


TOKEN = "mcpmock:secret:token:1"


@pytest.mark.parametrize("rules", [NO_RULES, MatchRules.parse(["$.arguments.n"])])
def test_a_secret_that_is_another_one(rules: MatchRules) -> None:
    """It is a change, also where the call with the first one differs otherwise by a rule."""
    n = 2 if rules else 1
    recorded = takes(call("a", token=TOKEN, n=1), call("b", token=TOKEN))
    same, other = ([call("a", token="one-7x9Q", n=n), call("b", token=token)]
                   for token in ("one-7x9Q", "two-8y0R"))  # fmt: skip

    assert {} == differing(compared(recorded, same, rules))
    assert {"changed": [(1, 1)]} == differing(compared(recorded, other, rules))


def test_what_is_no_message() -> None:
    """It is passed over."""
    header = encode(Header(mcpmock=FORMAT, transport="stdio"))
    receipt = b'{"n":1,"t":0,"d":"c2s","fault":{"kind":"drop"}}'

    assert {} == differing(compared(read("t", b"%b\n%b\n" % (header, receipt)).takes, []))


def test_many() -> None:
    """A recording of thousands in a moment; what is equal is found however far it is."""
    long = [call("a", n=n) for n in range(2000)]
    far = [call("a", n=n) for n in range(150)]

    assert {} == differing(compared(takes(*long), long))
    assert 150 == len(compared(takes(*far), far[::-1]).equal)
