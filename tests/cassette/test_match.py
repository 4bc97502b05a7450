"""Which recorded event answers a live message, and the near misses."""

from __future__ import annotations

from time import process_time
from typing import Any

import pytest

from mcpmock.cassette.keys import asked_of
from mcpmock.cassette.match import Matcher, NearMiss
from mcpmock.cassette.variables import Difference, compare, same, unify
from tests.helpers import Line, batch, c2s, hangs_up, notification, request, response, score

HOLE, OTHER_HOLE = "mcpmock:secret:token:1", "mcpmock:secret:token:2"


def matcher(*lines: bytes | Line, strict: bool = False, tiers: int = 2) -> Matcher:
    """A matcher of an episode in which the client said this."""
    events: list[Line] = [("c2s", line) if isinstance(line, bytes) else line for line in lines]
    return Matcher(score(*events, strict=strict), strict, tiers)


def index(found: Matcher, raw: bytes) -> int | None:
    match = found.find(c2s(raw))
    if match is None:
        return None
    found.take(match)
    return match.event.index


def test_the_nth_call_gets_the_nth_event() -> None:
    """Equal calls use up the recorded ones in order, and then there are none."""
    found = matcher(request(1, "a"), request(2, "b"), request(3, "a"))

    assert [0, 2, None, 1] == [index(found, request(9, name)) for name in "aaab"]


def test_finding_uses_nothing_up() -> None:
    """Only what was taken is used."""
    found = matcher(request(1, "a"))

    assert found.find(c2s(request(1, "a"))) == found.find(c2s(request(1, "a")))


def test_opaque_frames_match_by_their_bytes() -> None:
    """Noise stands for noise of the same bytes only, each once."""
    found = matcher(b"noise", b"{}", b"noise")

    assert [0, 2, None, 1, None] == [
        index(found, raw) for raw in (b"noise", b"noise", b"noise", b"{}", b"{ }")
    ]


def test_the_end_of_the_input() -> None:
    """The end of the client's input stands for the recorded one."""
    found = matcher(request(1, "a"), ("end", {"d": "c2s"}))
    match = found.find(hangs_up(c2s(b"").direction))
    assert match is not None

    assert 1 == match.event.index


def test_strict_takes_only_the_next() -> None:
    """In strict order only the very next client event is found."""
    found = matcher(request(1, "a"), notification("n"), request(2, "b"), strict=True)

    steps = [request(2, "b"), request(1, "a"), request(2, "b"), notification("n"), request(2, "b")]
    assert [None, 0, None, 1, 2] == [index(found, raw) for raw in steps]


@pytest.mark.parametrize(("tiers", "tier"), [(2, 1), (1, None)])
def test_tiers(tiers: int, tier: int | None) -> None:
    """Another client's capabilities are forgiven after all that is exact, unless tiers are off."""
    name = "io.modelcontextprotocol/clientCapabilities"
    found = matcher(request(1, "a", {"_meta": {name: {}}}), tiers=tiers)
    match = found.find(c2s(request(1, "a", {"_meta": {name: {"roots": {}}}})))

    assert tier == (match.tier if match else None)


def test_an_exact_match_goes_before_an_earlier_relaxed_one() -> None:
    """The strictest tier that has a match decides, not the order."""
    name = "io.modelcontextprotocol/clientCapabilities"
    found = matcher(
        request(1, "a", {"_meta": {name: {}}}), request(2, "a", {"_meta": {name: {"b": 1}}})
    )

    assert 1 == index(found, request(1, "a", {"_meta": {name: {"b": 1}}}))


def test_redacted_values_are_variables() -> None:
    """The first live value binds a placeholder, and later uses must agree."""
    found = matcher(*(request(n, "a", {"k": HOLE}) for n in (1, 2, 3)))

    values = ["hunter2", "other", "hunter2"]
    assert [0, None, 1] == [index(found, request(1, "a", {"k": value})) for value in values]
    assert {HOLE: "hunter2"} == found.bindings


def test_a_variable_in_text() -> None:
    """A placeholder inside a text stands for that part of it."""
    found = matcher(request(1, "a", {"k": f"Bearer {HOLE}!"}))

    assert [None, 0] == [
        index(found, request(1, "a", {"k": k})) for k in ("Basic x!", "Bearer x y!")
    ]
    assert {HOLE: "x y"} == found.bindings


def test_variables_and_exact_ones_in_recorded_order() -> None:
    """Among what fits, the first recorded is taken, whether it holds variables or not."""
    found = matcher(
        request(1, "a", {"k": "x"}), request(2, "a", {"k": HOLE}), request(3, "a", {"k": "x"})
    )

    assert [0, 1, 2, None] == [index(found, request(1, "a", {"k": "x"})) for _ in range(4)]


def test_a_variable_beside_what_no_encoder_takes() -> None:
    """Where a request holds a placeholder and a lone surrogate, the rest must still be the same."""
    recorded = request(1, "a", {"k": HOLE, "q": "Q"}).replace(b'"Q"', b'"\\ud800"')
    live = request(1, "a", {"k": "x", "q": "Q"})

    assert None is index(matcher(recorded), live.replace(b'"Q"', b'"\\ud801"'))
    assert 0 == index(matcher(recorded), live.replace(b'"Q"', b'"\\ud800"'))


def test_repeats() -> None:
    """All requests that a live one is the same as are found, used or not."""
    found = matcher(request(1, "a"), request(2, "b"), request(3, "a"), notification("a"))
    index(found, request(1, "a"))

    assert [0, 2] == [match.event.index for match in found.repeats(c2s(request(1, "a")))]
    assert [] == found.repeats(c2s(request(1, "c")))


def near(found: Matcher, raw: bytes) -> list[NearMiss]:
    asked = asked_of(c2s(raw))
    assert asked is not None
    return found.near(asked)


def test_near_misses_say_where_they_differ() -> None:
    """The nearest recorded requests come first, at most three, with what differs by JSONPath."""
    recorded = [
        {"city": "Oslo", "days": [1, 2]},
        {"city": "Rome", "days": [1, 3]},
        {},
        {"city": 1, "x": 1},
    ]
    found = matcher(*(request(n, "tools/call", {"arguments": a}) for n, a in enumerate(recorded)))
    misses = near(found, request(9, "tools/call", {"arguments": {"city": "Rome", "days": [1, 2]}}))

    assert [(1, "different"), (2, "different"), (3, "different")] == [(m.n, m.why) for m in misses]
    assert (Difference("$.arguments.city", "Oslo", "Rome"),) == misses[0].differences
    assert (Difference("$.arguments.days[1]", 3, 2),) == misses[1].differences


def test_near_misses_say_why() -> None:
    """A recorded request that is the same was already used, or is out of order."""
    found = matcher(request(1, "a"), request(2, "b"), request(3, "a"), strict=True)
    index(found, request(1, "a"))

    assert [(1, "already used"), (3, "out of order")] == [
        (m.n, m.why) for m in near(found, request(1, "a"))
    ]
    assert [] == near(found, request(1, "c"))


@pytest.mark.parametrize("recorded", [{"a": None}, {"a": {"b": None}}])
def test_null_is_not_absent(recorded: Any) -> None:
    """A recorded null where the live client has nothing is a difference, not a reason to say
    `already used`.
    """
    [miss] = near(matcher(request(1, "x", recorded)), request(1, "x", {}))

    assert "different" == miss.why


@pytest.mark.parametrize("depth", [100, 200, 250, 300, 350, 400, 450, 500, 900])
def test_near_misses_of_deep_values(depth: int) -> None:
    """Values nested as deep as a decoder takes them can be compared."""
    recorded, live = (
        request(1, "x", {"a": "D"}).replace(b'"D"', b'{"a":' * depth + end + b"}" * depth)
        for end in (b"1", b"2")
    )

    assert [1] == [miss.n for miss in near(matcher(recorded), live)]


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (1, 1, True),
        (1, 1.0, True),
        (1, True, False),
        (0, False, False),
        ("1", 1, False),
        (None, False, False),
        (None, None, True),
        (True, True, True),
    ],
)
def test_same(one: Any, other: Any, expected: bool) -> None:
    """Values are the same as JSON has it, where true is no number."""
    assert expected is same(one, other)


@pytest.mark.parametrize(
    ("one", "other", "paths"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1}, {"b": 1}, ["$.a", "$.b"]),
        ([1, [2]], [1, [3]], ["$[1][0]"]),
        ([1], [1, 2], ["$"]),
        ({"a": [{"b": 1}]}, {"a": [{"b": 2}]}, ["$.a[0].b"]),
        (1, "1", ["$"]),
        ([1], [True], ["$[0]"]),
    ],
)
def test_compare(one: Any, other: Any, paths: list[str]) -> None:
    """Differences are named where they are, innermost."""
    assert paths == [difference.path for difference in compare(one, other)]


@pytest.mark.parametrize(
    ("recorded", "live", "bound", "expected"),
    [
        (HOLE, "x", {}, {HOLE: "x"}),
        (HOLE, "x", {HOLE: "x"}, {HOLE: "x"}),
        (HOLE, "x", {HOLE: "y"}, None),
        (HOLE, 5, {}, None),
        ([HOLE, HOLE], ["x", "y"], {}, None),
        ({"a": HOLE}, {"a": "x", "b": 1}, {}, None),
        (f"{HOLE} {OTHER_HOLE}", "x y", {}, {HOLE: "x", OTHER_HOLE: "y"}),
        (f"{HOLE}{HOLE}", "abab", {}, {HOLE: "ab"}),
        (f"{HOLE}-{OTHER_HOLE}", "a-b-c", {HOLE: "a-b"}, {HOLE: "a-b", OTHER_HOLE: "c"}),
        (f"a.c{HOLE}", "abcx", {}, None),
        ("plain", "plain", {}, {}),
        (True, 1, {}, None),
        ([1], [1, 2], {}, None),
        (f"{HOLE}\n.", "a\nb\n.", {}, {HOLE: "a\nb"}),
    ],
)
def test_unify(
    recorded: Any, live: Any, bound: dict[str, str], expected: dict[str, str] | None
) -> None:
    """A recorded value is the live one under some bindings, or under none."""
    assert expected == unify(recorded, live, bound)


def test_many_variables_in_one_text_cost_little() -> None:
    """A text with several placeholders is held against any live text in far less than a second."""
    recorded = " ".join(f"mcpmock:secret:token:{number}" for number in range(1, 6)) + "!"
    began = process_time()

    assert None is unify(recorded, " " * 120, {})
    assert process_time() - began < 0.5


def test_batches() -> None:
    """A batch matches a batch of the same requests in the same order."""
    found = matcher(batch(request(1, "a"), request(2, "b")), batch(notification("n")))

    assert None is index(found, batch(request(1, "b"), request(2, "a")))
    assert 0 == index(found, batch(request("x", "a"), request("y", "b")))
    assert 1 == index(found, batch(notification("n")))


def test_a_response_is_found_by_its_bytes() -> None:
    """A response that belongs to no request of the server is found like noise; the others never ask
    here.
    """
    found = matcher(response(1))

    assert None is index(found, response(2))
    assert 0 == index(found, response(1))
