"""What was written, as values: which entry is for which call, and what comes in which turn."""

from __future__ import annotations

from typing import Any

import pytest

from mcpmock.stubs.script import Condition, RouteKind, StubEntry, StubReply, StubScript, StubStep


def entry(kind: RouteKind = RouteKind.TOOL, name: str = "a", **wanted: Any) -> StubEntry:
    return StubEntry(kind, name, "last", Condition(wanted))


@pytest.mark.parametrize(
    ("kind", "name", "method", "params", "arguments"),
    [
        (RouteKind.TOOL, "a", "tools/call", {"name": "a", "arguments": {"x": 1}}, {"x": 1}),
        (RouteKind.TOOL, "a", "tools/call", {"name": "a"}, {}),
        (RouteKind.TOOL, "a", "tools/call", {"name": "b"}, None),
        (RouteKind.TOOL, "a", "prompts/get", {"name": "a"}, None),
        (RouteKind.PROMPT, "a", "prompts/get", {"name": "a", "arguments": []}, {}),
        (RouteKind.RESOURCE, "a:b", "resources/read", {"uri": "a:b"}, {}),
        (RouteKind.RESOURCE, "a:b", "resources/read", {"uri": "a:c"}, None),
        (RouteKind.TEMPLATE, "{b}/{c}.x", "resources/read", {"uri": "1/2%20.x"}, {"b": "1", "c":
        "2 "}),
        (RouteKind.TEMPLATE, "a:{b}", "resources/read", {"uri": "a:1/2"}, None),
        (RouteKind.TEMPLATE, "a:{b}", "resources/read", {}, None),
        (RouteKind.TEMPLATE, "a:{+b}.{c}", "resources/read", {"uri": "a:1/2.x"}, {"b": "1/2", "c":
        "x"}),
        (RouteKind.TEMPLATE, "a:{b}/{c*}", "resources/read", {"uri": "a:1/2/%33"}, {"b": "1", "c":
        "2/3"}),
        (RouteKind.TEMPLATE, "a:{+b}", "resources/read", {"uri": "a:"}, None),
        (RouteKind.METHOD, "x", "x", {"y": 1, "_meta": {}}, {"y": 1}),
        (RouteKind.METHOD, "x", "y", {}, None),
    ],
)  # fmt: skip
def test_which_calls(
    kind: RouteKind,
    name: str,
    method: str,
    params: dict[str, Any],
    arguments: dict[str, Any] | None,
) -> None:
    """Those of its method and its name, with the arguments that a condition looks at."""
    assert arguments == entry(kind, name).arguments_of(method, params)


def small(value: Any) -> bool:
    return bool(value < 3)


@pytest.mark.parametrize(
    ("wanted", "arguments", "paths"),
    [
        ({"x": 1}, {"x": 1, "y": 2}, []),
        ({"x": 1}, {"x": 1.0}, []),
        ({"x": 1}, {"x": "1"}, ["$.arguments.x"]),
        ({"x": 1}, {"x": True}, ["$.arguments.x"]),
        ({"x": None}, {}, ["$.arguments.x"]),
        ({"x": {"y": [1, 2]}}, {"x": {"y": [1, 3]}}, ["$.arguments.x.y[1]"]),
        ({"x": small}, {"x": 2}, []),
        ({"x": small}, {"x": 3}, ["$.arguments.x"]),
        ({"x": small}, {}, ["$.arguments.x"]),
    ],
)
def test_conditions(wanted: dict[str, Any], arguments: dict[str, Any], paths: list[str]) -> None:
    """Named arguments are equal as JSON, or pass their test; all others are free."""
    assert paths == [d.path for d in entry(**wanted).differences(arguments)]


def test_a_condition_for_all_of_it() -> None:
    """Where the test raises, it is not met, and says so."""
    [difference] = Condition(test=lambda arguments: arguments["x"]).differences({}, "$")

    assert "<<lambda> raised KeyError('x')>" == difference.recorded
    assert "<small>" == Condition({"x": small}).differences({"x": 9}, "$")[0].recorded


@pytest.mark.parametrize(
    ("repeats", "turns"),
    [("last", [0, 1, 1, 1]), ("cycle", [0, 1, 0, 1]), ("error", [0, 1, None, None])],
)
def test_turns(repeats: str, turns: list[int | None]) -> None:
    """The nth step, and then what was asked for."""
    both = StubEntry(
        RouteKind.TOOL, "a", repeats, steps=[StubStep(StubReply(0)), StubStep(StubReply(1))]
    )
    steps = [both.step(turn) for turn in range(4)]

    assert turns == [step and step.answer.value for step in steps]  # type: ignore[union-attr]
    assert StubEntry(RouteKind.TOOL, "a", repeats).step(0) is None


def test_who_is_asked_first() -> None:
    """What has a name before a whole method, what has a condition before what has none, and of
    those the first written.
    """
    method, plain = entry(RouteKind.METHOD, "tools/call"), entry()
    first, second = entry(x=1), entry(y=1)
    script = StubScript(entries=[method, plain, first, entry(name="b"), second])
    found = script.entries_for("tools/call", {"name": "a"})

    assert [first, second, plain, method] == [one for one, _ in found]


def test_a_template_is_asked_behind_the_resource_of_that_uri() -> None:
    """Whatever was written first, and whatever its condition; before a whole method."""
    method, wide = entry(RouteKind.METHOD, "resources/read"), entry(RouteKind.TEMPLATE, "a:{b}")
    narrow, exact = entry(RouteKind.TEMPLATE, "a:{b}", b="c"), entry(RouteKind.RESOURCE, "a:c")
    found = StubScript(entries=[method, wide, narrow, exact]).entries_for(
        "resources/read", {"uri": "a:c"}
    )

    assert [exact, narrow, wide, method] == [one for one, _ in found]


def test_what_is_offered() -> None:
    """By its kind."""
    script = StubScript(listed={(RouteKind.TOOL, "a"): {}})

    assert script.offers(RouteKind.TOOL, RouteKind.PROMPT)
    assert not script.offers(RouteKind.RESOURCE)
