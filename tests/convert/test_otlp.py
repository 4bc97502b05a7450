"""Cassettes as traces of OpenTelemetry."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcpmock.cassette.parser import read
from mcpmock.convert.otlp import Traces, traces
from tests.support import (
    HEADER,
    INITIALIZE,
    WELCOME,
    Line,
    call,
    cancelled,
    cassette,
    cassette_bytes,
    error,
    progress,
    request,
    response,
)
from tests.support.hostile import HOSTILE

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
BEGAN = 1_795_168_800 * 10**9
"""2026-11-20T10:00:00Z, as the header says."""


def spans_of(made: Traces) -> list[dict[str, Any]]:
    """All spans, each with its attributes as a dictionary, and the service that sent it."""
    found = []
    for line in made.data.splitlines():
        [resource] = json.loads(line)["resourceSpans"]
        [service] = resource["resource"]["attributes"]
        [scope] = resource["scopeSpans"]
        for span in scope["spans"]:
            values = {one["key"]: next(iter(one["value"].values())) for one in span["attributes"]}
            found.append({**span, "attributes": values, "by": service["value"]["stringValue"]})
    assert made.spans == len(found)
    return sorted(found, key=lambda span: int(span["startTimeUnixNano"]))


def spans(*events: Line) -> list[dict[str, Any]]:
    return spans_of(traces(cassette(*events)))


def test_a_call_is_a_span() -> None:
    """It lasts until the answer; its progress is events."""
    [span] = spans(
        (1.0, "c2s", request(7, "tools/call", {"name": "add"}, token=1)),
        (1.5, "s2c", progress(1)),
        (2.0, "s2c", response(7)),
    )

    assert ("tools/call add", 3, "mcp-client") == (span["name"], span["kind"], span["by"])
    assert (BEGAN + 10**9, BEGAN + 2 * 10**9) == (
        int(span["startTimeUnixNano"]),
        int(span["endTimeUnixNano"]),
    )
    assert [{"timeUnixNano": str(BEGAN + 15 * 10**8), "name": "notifications/progress"}] == span[
        "events"
    ]
    assert {
        "mcp.method.name": "tools/call",
        "jsonrpc.request.id": "7",
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "add",
        "network.transport": "pipe",
    } == span["attributes"]
    assert "status" not in span


@pytest.mark.parametrize(
    ("ends", "kind", "status"),
    [
        ([("s2c", response(1, {"content": [], "isError": True}))], "tool_error", {"code": 2}),
        ([("s2c", error(1))], "-32602", {"code": 2, "message": "no"}),
        ([("c2s", cancelled(1)), ("s2c", response(1))], "cancelled", {"code": 2}),
        ([], "no_answer", {"code": 2}),
    ],
)
def test_what_failed_is_an_error(ends: list[Line], kind: str, status: dict[str, Any]) -> None:
    """Also a tool that says so in its result."""
    [span] = spans(("c2s", call(1, "add")), *ends)

    assert kind == span["attributes"]["error.type"]
    assert status == span["status"]
    code = kind if kind.startswith("-") else None
    assert code == span["attributes"].get("rpc.response.status_code")


def test_a_request_that_names_a_trace_belongs_to_it() -> None:
    """Below the span of its sender; what is no context makes no difference. A version to come may
    say more.
    """
    ids = f"{TRACE}-{PARENT}-01"
    wrong = (f"00-{'0' * 32}-{PARENT}-01", f"00-{ids}-more", f"ff-{ids}", "x", 7)
    names = (f"00-{ids}", f"cc-{ids}-more", *wrong)
    requests = [
        request(number, "ping", {"_meta": {"traceparent": name, "tracestate": "a=b"}})
        for number, name in enumerate(names)
    ]
    made = traces(cassette(*((number / 10, "c2s", raw) for number, raw in enumerate(requests))))
    first, second, *others = spans_of(made)

    assert 2 == made.linked
    for span in (first, second):
        context = span["traceId"], span["parentSpanId"], span["traceState"]
        assert (TRACE, PARENT, "a=b") == context
    assert 1 == len({span["traceId"] for span in others})
    assert not any("parentSpanId" in span or "traceState" in span for span in others)
    assert len(names) == len({span["spanId"] for span in (first, second, *others)})


def test_a_request_of_the_server_is_below_the_call() -> None:
    """It is sent by the server, under the names that the two gave themselves."""
    hello = INITIALIZE.replace(b'"params":{', b'"params":{"clientInfo":{"name":"us"},')
    welcome = WELCOME.replace(b'"result":{', b'"result":{"serverInfo":{"name":"them"},')
    opening, asked, question = spans(
        (0.0, "c2s", hello),
        (0.1, "s2c", welcome),
        (0.2, "c2s", call(1, "add")),
        (0.3, "s2c", request("q", "roots/list")),
        (0.4, "c2s", response("q")),
        (0.5, "s2c", response(1)),
    )

    assert ["us", "us", "them"] == [span["by"] for span in (opening, asked, question)]
    assert (asked["traceId"], asked["spanId"]) == (question["traceId"], question["parentSpanId"])
    assert "q" == question["attributes"]["jsonrpc.request.id"]
    assert "2025-11-25" == asked["attributes"]["mcp.protocol.version"]


def test_over_http() -> None:
    """The address of the server, and the session."""
    header = HEADER.replace(
        b'"stdio"', b'"streamable-http","target":"https://mcp.example:8443/mcp"'
    )
    head = (
        b'{"n":1,"t":5,"x":1,"d":"c2s","http":{"method":"POST","target":"/mcp",'
        b'"headers":[["Mcp-Session-Id","abc"]]}}\n'
    )
    body = b'{"n":2,"t":6,"x":1,"d":"c2s","m":%b}\n'
    uri = request(1, "resources/read", {"uri": "a://b"})
    [span] = spans_of(traces(read("x", header + head + body % uri)))

    assert "resources/read" == span["name"]
    assert {
        "mcp.resource.uri": "a://b",
        "mcp.session.id": "abc",
        "network.transport": "tcp",
        "network.protocol.name": "http",
        "server.address": "mcp.example",
        "server.port": "8443",
    }.items() <= span["attributes"].items()


def test_the_same_cassette_gives_the_same_file() -> None:
    """Another take has other ids."""
    line = ("c2s", call(1, "add"))
    data = cassette_bytes(line)
    both = spans_of(traces(read("x", data + data)))

    assert traces(read("x", data)) == traces(read("y", data))
    assert 2 == len({span["traceId"] for span in both})


def test_many_spans_are_several_lines() -> None:
    """As many on each as a batch has."""
    made = traces(cassette(*[("c2s", request(number, "ping")) for number in range(600)]))

    assert 2 == made.data.count(b"\n")
    assert 600 == len(spans_of(made))


def test_times_that_are_not_known_and_hostile_text() -> None:
    """A take without a start begins in 1970; whatever a peer sends can be written."""
    header = HEADER.replace(b'"recorded_at":"2026-11-20T10:00:00.000Z",', b"")
    lone = (call(2, "LONE"), request(3, "LONE"), request("LONE", "ping"))
    raws = [call(1, HOSTILE), *(raw.replace(b"LONE", rb"\ud83d") for raw in lone)]
    events = [(0.0, "c2s", raw) for raw in raws]
    made = spans_of(traces(read("x", cassette_bytes(*events, header=header))))

    assert {"0"} == {span["startTimeUnixNano"] for span in made}
    assert ["tools/call " + HOSTILE, r"tools/call \ud83d"] == [span["name"] for span in made][:2]
    assert 4 == len(made)
