"""Coverage of sessions: what is listed, what covers, and that it adds up."""

from __future__ import annotations

from typing import Any

import pytest

from mcpmock.cassette.model import Cassette
from mcpmock.coverage import coverage
from mcpmock.coverage.coverage import Coverage
from mcpmock.coverage.reader import CoverageReader, coverage_of
from mcpmock.protocol.messages import Frame
from tests.support import (
    answers,
    batch,
    c2s,
    call,
    cancelled,
    cassette,
    error,
    in_session,
    notification,
    over_http,
    post,
    request,
    response,
    s2c,
)

TOOLS = [
    {"name": "weather", "inputSchema": {"properties": {"city": {}, "unit": {"enum": ["C", "F"]}}}},
    {"name": "now"},
]


def hello(name: Any = "demo", **capabilities: Any) -> list[Frame]:
    result = {"serverInfo": {"name": name}, "capabilities": capabilities}
    return [c2s(request(0, "initialize")), s2c(response(0, result))]


def asks(id_: Any, method: str, result: Any, params: Any = None) -> list[Frame]:
    answer = result if isinstance(result, bytes) else response(id_, result)
    return [c2s(request(id_, method, params)), s2c(answer)]


def lists(id_: Any, *tools: Any) -> list[Frame]:
    return asks(id_, "tools/list", {"tools": [*(tools or TOOLS)]})


def calls(id_: Any, tool: str, result: Any = None, **arguments: Any) -> list[Frame]:
    answer = result if isinstance(result, bytes) else response(id_, result or {"content": []})
    return [c2s(call(id_, tool, **arguments)), s2c(answer)]


def recorded(*frames: Frame) -> Cassette:
    return cassette(*((frame.direction.value, frame.raw) for frame in frames))


def read(*frames: Frame) -> Coverage:
    return coverage_of(recorded(*frames))


def used(found: Coverage, kind: str, server: str = "demo") -> dict[str, int]:
    """What of a kind was used, listed or not."""
    one = found.servers[server]
    every = {**one.items(kind), **one.other(kind)}
    return {name: times for name, times in every.items() if times}


@pytest.mark.parametrize(
    ("frames", "tools", "errors"),
    [
        (calls(2, "weather"), {"weather": 1}, {}),
        (calls(2, "weather") + calls(3, "weather"), {"weather": 2}, {}),
        (calls(2, "weather", {"isError": True}), {}, {"weather": 1}),
        (calls(2, "weather", error(2)), {}, {"weather": 1}),
        ([c2s(call(2, "weather"))], {}, {}),
        ([c2s(call(2, "weather")), c2s(cancelled(2)), s2c(response(2))], {}, {}),
        (calls(2, "weather", {"resultType": "input_required"}), {}, {}),
        (
            calls(2, "weather", {"resultType": "input_required"})
            + calls(3, "weather", {"resultType": "complete"}),
            {"weather": 1},
            {},
        ),
        (calls(2, "weather", {"task": {"taskId": "7"}}), {}, {}),
        (
            calls(2, "weather", {"task": {"taskId": "7"}})
            + asks(3, "tasks/get", {"taskId": "7", "status": "completed"}, {"taskId": "7"})
            + asks(4, "tasks/result", {"content": []}, {"taskId": "7"})
            + asks(5, "tasks/result", {"content": []}, {"taskId": "7"}),
            {"weather": 1},
            {},
        ),
        (
            calls(2, "weather", {"task": {"taskId": "7"}})
            + asks(4, "tasks/result", {"isError": True}, {"taskId": "7"}),
            {},
            {"weather": 1},
        ),
        (
            calls(2, "weather", {"resultType": "task", "taskId": "7"})
            + asks(3, "tasks/get", {"taskId": "7", "status": "working"}, {"taskId": "7"})
            + asks(4, "tasks/get", {"status": "completed", "result": {}}, {"taskId": "7"}),
            {"weather": 1},
            {},
        ),
        (
            calls(2, "weather", {"resultType": "task", "taskId": "7"})
            + asks(4, "tasks/get", {"status": "failed", "error": {}}, {"taskId": "7"}),
            {},
            {"weather": 1},
        ),
        (
            [
                c2s(batch(call(2, "weather"), call(3, "now"))),
                s2c(batch(response(3, {"isError": True}), response(2))),
            ],
            {"weather": 1},
            {"now": 1},
        ),
        (asks(2, "tools/call", {}, {"name": 5}), {}, {}),
        (asks(2, "tools/call", {}, []), {}, {}),
        (calls(2, "odd\x1b[2J"), {"odd\x1b[2J": 1}, {}),
        (
            [
                c2s(call(2, "now", n=0).replace(b'"n":0', b'"n":' + b"9" * 5000)),
                s2c(response(2)),
                c2s(call(3, "weather", n=0).replace(b'"n":0', b'"n":' + b"[" * 5000 + b"]" * 5000)),
                s2c(response(3, {"isError": True})),
            ],
            {"now": 1},
            {"weather": 1},
        ),
    ],
)
def test_what_covers_a_tool(
    frames: list[Frame], tools: dict[str, int], errors: dict[str, int]
) -> None:
    """A result that is no error; of rounds and tasks the last one. An error covers nothing else."""
    found = read(*hello(), *lists(1), *frames)

    assert (tools, errors) == (used(found, "tools"), used(found, "errors"))


def test_lists_over_pages_and_files_are_one() -> None:
    """The union of all pages; a call counts for a list that comes later, or in another file."""
    paged = [*hello(), *lists(1, TOOLS[0]), *calls(2, "now"), *lists(3, TOOLS[1])]
    first = read(*hello(), *lists(1, TOOLS[0]), *calls(2, "now"))
    first.include(read(*hello(), *lists(1, TOOLS[1])))

    assert {"now": 1, "weather": 0} == read(*paged).servers["demo"].items("tools")
    assert read(*paged) == first


def test_parameters_and_values() -> None:
    """They are those of calls that covered their tool; what is not listed is apart."""
    found = read(
        *hello(),
        *lists(1),
        *calls(2, "weather", city="Oslo", unit="C", odd=1),
        *calls(3, "weather", {"isError": True}, unit="F"),
    ).servers["demo"]

    assert {"weather.city": 1, "weather.unit": 1} == found.items("parameters")
    assert {"weather.unit=C": 1, "weather.unit=F": 0} == found.items("values")
    assert {"weather.odd": 1} == found.other("parameters")


def test_prompts_resources_and_templates() -> None:
    """A template is covered by a read of what it fits and what is not listed."""
    found = read(
        *hello(),
        *asks(1, "prompts/list", {"prompts": [{"name": "greet", "arguments": [{"name": "who"}]}]}),
        *asks(2, "prompts/get", {"messages": []}, {"name": "greet", "arguments": {"who": "x"}}),
        *asks(3, "resources/list", {"resources": [{"uri": "a://1"}, {"uri": "a://2"}]}),
        *asks(4, "resources/templates/list", {"resourceTemplates": [
            {"uriTemplate": "a://{n}"}, {"uriTemplate": "b://{n}"}, {"name": "odd"}, 5]}),
        *asks(5, "resources/read", {"contents": []}, {"uri": "a://1"}),
        *asks(6, "resources/read", {"contents": []}, {"uri": "b://1"}),
        *asks(7, "resources/read", error(7), {"uri": "a://3"}),
    ).servers["demo"]  # fmt: skip

    assert ({"greet": 1}, {"greet.who": 1}) == (found.items("prompts"), found.items("arguments"))
    assert {"a://1": 1, "a://2": 0} == found.items("resources")
    assert {"a://{n}": 0, "b://{n}": 1} == found.items("templates")


def test_notifications_as_declared() -> None:
    """Those of a capability, each covered by being sent once; of the client none."""
    declared = {"tools": {"listChanged": True}, "resources": {"subscribe": False}, "logging": {}}
    found = read(
        *hello(**declared),
        s2c(notification("notifications/message", {"level": "info"})),
        c2s(notification("notifications/tools/list_changed")),
        s2c(notification("notifications/prompts/list_changed")),
    ).servers["demo"]

    sent = {"notifications/message": 1, "notifications/tools/list_changed": 0}
    assert sent == found.items("notifications")
    assert {"notifications/prompts/list_changed": 1} == found.other("notifications")


def test_servers_are_told_apart_by_name() -> None:
    """In sessions of one file, whatever message names it; two of one name are one."""
    info = {"_meta": {"io.modelcontextprotocol/serverInfo": {"name": "b"}}}
    greets = response(0, {"serverInfo": {"name": "a"}})
    found = coverage_of(
        over_http(
            in_session(2, post(1, request(0, "initialize")), answers(1, greets)),
            in_session(2, post(2, call(1, "x")), answers(2, response(1, {}))),
            in_session(3, post(3, call(1, "y")), answers(3, response(1, info))),
            in_session(4, post(4, request(0, "initialize")), answers(4, greets)),
            in_session(4, post(5, call(1, "z")), answers(5, response(1, {}))),
        )
    )

    assert ({"x": 1, "z": 1}, {"y": 1}) == (used(found, "tools", "a"), used(found, "tools", "b"))
    assert {"weather": 1} == used(read(*calls(1, "weather")), "tools", "")
    assert {"w": 1} == used(read(*hello(5), *calls(1, "w")), "tools", "")


def test_a_session_without_a_name_is_of_the_only_server() -> None:
    """Of a running server too, whose recording may know it."""
    reader = CoverageReader()
    for frame in (*hello(), *lists(1)):
        reader.note(1, frame)
    for frame in calls(1, "now"):
        reader.note(2, frame)

    assert {"now": 1} == used(reader.end("other"), "tools")
    nameless = CoverageReader()
    for frame in calls(1, "now"):
        nameless.note(2, frame)
    assert {"now": 1} == used(nameless.end("other"), "tools", "other")


def test_without_calls_only_what_is_listed_counts() -> None:
    """For the recording that a test replays: the calls are those that the test makes."""
    session = recorded(*hello(logging={}), *lists(1), *calls(2, "now"))
    found = coverage_of(session, calls=False).servers["demo"]

    assert {"now": 0, "weather": 0} == found.items("tools")
    assert ({}, ["notifications/message"]) == (found.used, list(found.items("notifications")))


@pytest.mark.parametrize(
    "result",
    [
        None,
        5,
        [],
        {"tools": 5},
        {"tools": [5, None, {}, {"name": 1}, {"name": "a", "inputSchema": 5}]},
        {"tools": {"name": "a"}},
        {"serverInfo": 5, "_meta": 5},
        {"prompts": [{"name": "p", "arguments": 5}]},
    ],
)
def test_odd_answers_list_what_can_be_read(result: Any) -> None:
    """Servers send anything; nothing fails."""
    for method in ("initialize", "tools/list", "prompts/list", "tools/call", "tasks/get"):
        found = read(*asks(1, method, result, {"taskId": 5}))
        assert {"a"} >= {name for one in found.servers.values() for name in one.items("tools")}


def test_names_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Listed or used; a name of kilobytes is none."""
    monkeypatch.setattr(coverage, "_MAX_NAMES", 10)
    many = [one for n in range(20) for one in calls(n + 2, f"other{n}")]
    found = read(*lists(1, {"name": "x" * 5000}, *({"name": f"t{n}"} for n in range(20))), *many)

    assert 10 == found.counts()["tools"].all == len(used(found, "tools", ""))
