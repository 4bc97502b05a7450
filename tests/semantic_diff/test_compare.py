"""Two recordings compared: nothing where nothing changed, and else exactly the change."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import attrs
import pytest

from mcpmock.cassette.file import load
from mcpmock.cassette.model import Cassette
from mcpmock.protocol.messages import C2S
from mcpmock.semantic_diff.compare import Diff, Verdict, compare
from mcpmock.semantic_diff.ignore_rules import IgnoreRules
from mcpmock.semantic_diff.severity import EventLocation
from tests.support import (
    INITIALIZE,
    INITIALIZED,
    LOG,
    WELCOME,
    Line,
    accepts,
    answers,
    batch,
    bodiless,
    c,
    call,
    cancelled,
    cassette,
    ends,
    error,
    get,
    in_session,
    notification,
    opens,
    over_http,
    post,
    progress,
    request,
    response,
    s,
    says,
)

CASSETTES = Path(__file__).parents[2] / "cassettes"
TOOLS = [
    {"name": "add", "description": "adds", "inputSchema": {
        "type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
        "required": ["a"],
    }},
    {"name": "count", "inputSchema": {"type": "object"}},
]  # fmt: skip
COUNT = {"content": [{"type": "text", "text": "counted"}]}
SUM = {"content": [{"type": "text", "text": "3"}], "structuredContent": {"sum": 3}}


class Server:
    """A deterministic server, and what a client's visit to it looks like on stdio."""

    def __init__(self) -> None:
        self.tools: list[Any] = json.loads(json.dumps(TOOLS))
        self.sum: bytes = response(0, SUM)
        self.counted: list[bytes] = [response(0, COUNT)]
        self.steps = 3
        self.unknown = error(0, -32602, "unknown tool")
        self.more: list[bytes] = []

    def visit(self, first: int = 1) -> list[Line]:
        """`first` is the first id: all others follow from it."""
        listed = response(first, {"tools": self.tools})
        steps = [s(progress(f"t{first}", n)) for n in range(self.steps)]
        counting = request(first + 2, "tools/call", {"name": "count"}, token=f"t{first}")
        return [
            c(INITIALIZE), s(WELCOME), c(INITIALIZED),
            c(request(first, "tools/list")), s(listed),
            c(call(first + 1, "add", a=1, b=2)), s(_with_id(self.sum, first + 1)),
            c(counting), *steps, *[s(_with_id(raw, first + 2)) for raw in self.counted],
            c(call(first + 3, "nope")), s(_with_id(self.unknown, first + 3)),
            *map(s, self.more),
        ]  # fmt: skip


def _with_id(raw: bytes, id_: int) -> bytes:
    return raw.replace(b'"id":0', b'"id":%d' % id_)


def compared(old: Cassette, new: Cassette) -> Diff:
    """The comparison, of which each difference names the rule that ignores it."""
    comparison = compare(old, new)
    for one in comparison.differences:
        left = compare(old, new, IgnoreRules.parse(ignore=[one.ignore])).differences
        assert attrs.evolve(one, times=1) not in [attrs.evolve(two, times=1) for two in left]
        assert len(left) < len(comparison.differences)
    return comparison


def changed(change: Callable[[Server], object]) -> Diff:
    """A visit to the server, and one to a changed one, with other ids."""
    server = Server()
    change(server)
    return compared(cassette(*Server().visit()), cassette(*server.visit(50)))


def told(comparison: Diff) -> list[str]:
    return [
        " ".join(filter(None, (d.verdict.word, d.rule.name, d.call, d.path)))
        for d in comparison.differences
    ]


def setting(name: str, value: Any) -> Callable[[Server], object]:
    return lambda server: setattr(server, name, value)


def schema(server: Server) -> Any:
    return server.tools[0]["inputSchema"]


ADD = "$.result.tools[?@.name=='add']"


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda server: server.tools.pop(),
         "breaking tool-removed tools/list $.result.tools[?@.name=='count']"),
        (lambda server: server.tools.insert(0, {"name": "new"}),
         "compatible tool-added tools/list $.result.tools[?@.name=='new']"),
        (lambda server: server.tools.reverse(),
         "compatible list-reordered tools/list $.result.tools"),
        (lambda server: schema(server).update(required=["a", "b"]),
         f"breaking argument-required tools/list {ADD}.inputSchema.properties.b"),
        (lambda server: schema(server)["properties"].pop("b"),
         f"breaking argument-removed tools/list {ADD}.inputSchema.properties.b"),
        (lambda server: schema(server)["properties"].update(c={}),
         f"compatible argument-added tools/list {ADD}.inputSchema.properties.c"),
        (lambda server: schema(server)["properties"]["a"].update(type="integer"),
         f"breaking type-narrowed tools/list {ADD}.inputSchema.properties.a.type"),
        (lambda server: server.tools[0].update(description="sums"),
         f"risky description-changed tools/list {ADD}.description"),
        (setting("counted", [response(0, COUNT).replace(b"counted", b"done")]),
         "risky result-text-changed tools/call count $.result.content[0].text"),
        (setting("counted", [response(0, {**COUNT, "isError": True})]),
         "breaking error-for-result tools/call count $.result.isError"),
        (setting("counted", [error(0)]), "breaking error-for-result tools/call count $.error"),
        (setting("counted", []), "breaking answer-missing tools/call count $"),
        (setting("counted", [response(0, COUNT)] * 2), "risky answer-added tools/call count $"),
        (setting("sum", response(0, {**SUM, "structuredContent": {}})),
         "breaking output-field-removed tools/call add $.result.structuredContent.sum"),
        (setting("steps", 0), "risky notification-missing tools/call count $"),
        (setting("steps", 4), "compatible notification-added tools/call count $"),
        (setting("unknown", error(0, -32601, "unknown tool")),
         "breaking error-code-changed tools/call nope $.error.code"),
        (setting("unknown", error(0, -32602, "which?")),
         "risky error-text-changed tools/call nope $.error.message"),
        (setting("unknown", response(0, COUNT)),
         "risky result-for-error tools/call nope $.result"),
        (setting("more", [LOG]), "compatible notification-added $"),
        (setting("more", [request(1, "roots/list")]), "risky question-added $"),
        (setting("more", [b"oops"]), "risky noise-added $"),
    ],
)  # fmt: skip
def test_a_changed_server(change: Callable[[Server], object], expected: str) -> None:
    """The change is named, placed and judged; nothing else is reported."""
    assert [expected] == told(changed(change))


def test_the_same_server() -> None:
    """Whatever the ids and tokens: nothing differs."""
    comparison = changed(lambda server: None)

    assert (None, (), {}) == (comparison.worst, comparison.differences, comparison.counts)
    assert 1 == comparison.calls["tools/call", "add"]
    assert 5 == sum(comparison.calls.values())


def test_the_worst_verdict_counts() -> None:
    """Of all differences."""
    assert Verdict.RISKY is changed(setting("steps", 1)).worst
    assert {Verdict.RISKY: 1} == changed(setting("steps", 1)).counts


def test_where_to_look() -> None:
    """A difference knows the events of both recordings, and how often there is the same."""
    (found,) = changed(setting("steps", 1)).differences

    assert 2 == found.times
    assert (10, None) == (found.old_event and found.old_event.n, found.new_event)
    assert ('{"progress":1}', None) == (found.old, found.new)


def test_what_the_client_did_otherwise() -> None:
    """Other requests of the client are no breaking change of the server."""
    visit = Server().visit()
    old, without = cassette(*visit), cassette(*visit[:5], *visit[7:])
    other = cassette(*visit[:5], c(call(2, "add", a=1, b=9)), *visit[6:])

    assert ["risky request-missing tools/call add $"] == told(compare(old, without))
    assert ["compatible request-added tools/call add $"] == told(compare(without, old))
    assert ["risky request-changed tools/call add $.params.arguments.b"] == told(
        compare(old, other)
    )


def test_rules_of_the_user() -> None:
    """An ignored change is no difference, and is counted."""
    server = Server()
    server.counted = [response(0, COUNT).replace(b"counted", b"done")]
    server.sum = response(0, {"content": [], "structuredContent": {"sum": 3.004}})
    recordings = cassette(*Server().visit()), cassette(*server.visit())
    rules = IgnoreRules.parse(["tools/call count $.result.content"], tolerance="0.01")

    comparison = compare(*recordings, rules)
    assert ["risky result-item-removed tools/call add $.result.content[0]"] == told(comparison)
    assert 1 == comparison.ignored
    assert 3 == len(compare(*recordings).differences)


def test_secrets_have_other_numbers_in_another_recording() -> None:
    """The same one must be the same one, in questions and answers."""
    one, two = (f"mcpmock:secret:token:{n}" for n in (1, 2))

    def visit(asked: str, answered: str, refused: str = "") -> Cassette:
        return cassette(
            c(call(1, "a", token=asked)), s(response(1, {"token": asked})),
            c(call(2, "b")), s(response(2, {"token": answered})),
            c(call(3, "c")), s(error(3, message=f"not {refused or asked}")),
        )  # fmt: skip

    assert [] == told(compare(visit(one, one), visit(two, two)))
    assert [] == told(compare(visit(one, two), visit(two, one)))
    assert ["risky result-text-changed tools/call b $.result.token"] == told(
        compare(visit(one, one), visit(one, two))
    )
    assert ["risky error-text-changed tools/call c $.error.message"] == told(
        compare(visit(one, one, one), visit(two, two, one))
    )


VISIT = (
    c(INITIALIZE), s(WELCOME), s(LOG), c(call(1, "a", token="t")), s(progress("t")),
    s(request(7, "roots/list")), c(response(7, {"roots": []})), s(response(1, {"a": 1})),
    c(call(2, "b")), s(error(2)), c(request(3, "tools/list")), s(response(3, {"tools": TOOLS})),
)  # fmt: skip


@pytest.mark.parametrize(
    ("place", "version", "wrong"),
    [
        *((place, b"", True) for place in range(len(VISIT))),
        (7, b'"jsonrpc":"1.0",', True),
        (7, b'"jsonrpc":2.0,', True),
        (7, b'"jsonrpc":null,', True),
        (7, b'"JsonRpc":"2.0",', True),
        (7, b'"jsonrpc":"2.0","jsonrpc":"1.0",', True),
        (7, b' "jsonrpc" : "2.0",', False),
        (7, b'"jsonrpc":"2\\u002e0",', False),
        (7, b'"jsonrpc":"1.0","json\\u0072pc":"2.0",', False),
    ],
)
@pytest.mark.parametrize("packed", [bytes, batch])
def test_messages_that_are_no_json_rpc_2(
    place: int, version: bytes, wrong: bool, packed: Callable[[bytes], bytes]
) -> None:
    """SDKs drop them; nothing else of them has changed."""
    way, raw = VISIT[place]
    lines = [*VISIT]
    lines[place] = way, packed(raw.replace(b'"jsonrpc":"2.0",', version, 1))
    one, other = cassette(*VISIT), cassette(*lines)

    for old, new, told_of in ((one, other, "removed"), (other, one, "added")):
        rules = [(d.rule.name, d.path) for d in compared(old, new).differences]
        assert ([(f"jsonrpc-{told_of}", "$.jsonrpc")] if wrong else []) == rules
    assert [] == told(compare(other, other))


def test_a_server_that_fails() -> None:
    """That the server ended by itself is a difference, with the event."""
    visit = Server().visit()
    dies = ("end", {"exit": 3})
    fine, dead = cassette(*visit), cassette(*visit, dies)
    left = cassette(*visit, ("end", {"d": "c2s"}), dies)

    assert ["breaking server-failed $"] == told(compared(fine, dead))
    assert ["risky server-survived $"] == told(compared(dead, fine))
    assert [] == told(compare(fine, left))
    closed = [("end", {"d": "s2c"}), ("end", {"d": "c2s"})]
    assert [] == told(compare(dead, cassette(*visit, *closed, dies)))
    assert [] == told(compare(fine, cassette(*visit, *reversed(closed), dies)))
    for http in (streamable(Server()), sse(Server())):
        assert [] == told(compare(dead, http)) == told(compare(http, dead))


# HTTP: the same visit, exchange for exchange.


def streamable(server: Server, *more: Any, session: int = 2, x: int = 0) -> Cassette:
    """The visit over Streamable HTTP, answered in streams."""
    steps: list[Any] = []
    posted = x
    for line in server.visit(70):
        what, raw = line
        if what == "c2s":
            if steps and posted > x:
                steps.append(ends(posted))
            posted += 1
            steps += [post(posted, raw, session="id"), opens(posted)]
        else:
            steps.append(says(posted, raw, id=f"e{posted}"))
    return over_http(in_session(session, *steps, ends(posted), *more))


def sse(server: Server) -> Cassette:
    """The visit over HTTP+SSE."""
    steps: list[Any] = [get(1, to="/sse"), opens(1), says(1, b"/messages", event="endpoint")]
    for number, (what, raw) in enumerate(server.visit(90), 2):
        if what == "c2s":
            steps += [post(number, raw, to="/messages"), accepts(number)]
        else:
            steps.append(says(1, raw, event="message"))
    return over_http(in_session(2, *steps))


def test_the_transport_does_not_count() -> None:
    """Three recordings of one server over three transports are the same."""
    recordings = [cassette(*Server().visit()), streamable(Server()), sse(Server())]

    for old in recordings:
        for new in recordings:
            assert [] == told(compare(old, new))


def test_a_change_is_told_over_any_transport() -> None:
    """As if both had come over the same."""
    server = Server()
    server.steps, server.tools = 0, server.tools[:1]
    expected = [
        "breaking tool-removed tools/list $.result.tools[?@.name=='count']",
        "risky notification-missing tools/call count $",
    ]

    for new in (cassette(*server.visit()), streamable(server), sse(server)):
        for old in (cassette(*Server().visit()), streamable(Server()), sse(Server())):
            assert expected == told(compare(old, new))


def test_what_a_transport_cannot_say_is_not_missed() -> None:
    """Streamable HTTP loses unrelated notifications while no stream is open."""
    server = Server()
    server.more = [notification("notifications/tools/list_changed")]
    told_more, silent = cassette(s(b"a banner"), *server.visit()), streamable(Server())

    assert [] == told(compare(told_more, silent))
    assert [] == told(compare(silent, told_more))
    assert ["risky notification-missing $"] == told(compare(sse(server), sse(Server())))


def test_leaving_is_cancelling() -> None:
    """Over HTTP a client of 2026 just leaves."""
    asked = request(1, "tools/call", {"name": "a"})
    gone = over_http(in_session(1, post(1, asked), opens(1), ends(1, direction=C2S)))

    assert [] == told(compare(cassette(c(asked), c(cancelled(1))), gone))


def test_statuses_count_by_their_class() -> None:
    """And only where the answer is the same."""
    fine = over_http(in_session(1, post(1, call(1, "a")), answers(1, response(1))))
    also = over_http(in_session(1, post(1, call(1, "a")), answers(1, response(1), status=201)))
    bad = over_http(in_session(1, post(1, call(1, "a")), answers(1, response(1), status=500)))
    refused = over_http(in_session(1, post(1, call(1, "a")), accepts(1, 500)))

    assert [] == told(compare(fine, also))
    assert ["breaking status-error tools/call a $"] == told(compared(fine, bad))
    assert ["risky status-changed tools/call a $"] == told(compared(bad, fine))
    assert ["breaking error-for-result tools/call a $.error"] == told(compare(fine, refused))
    head, answer, end = answers(1, response(1), status=500)
    twice = over_http(in_session(1, post(1, call(1, "a")), [head, answer, answer, end]))
    for pair in ((fine, twice), (twice, fine)):
        assert 1 == len(compare(*pair).differences)


def test_statuses_of_what_asks_nothing() -> None:
    """A stream that can no longer be opened, a session that cannot be ended."""

    def visit(of_get: int, of_delete: int) -> Cassette:
        more = bodiless(81, "DELETE", session="id"), accepts(81, of_delete)
        opened = get(80, session="id"), accepts(80, of_get)
        return streamable(Server(), *opened, *more)

    found = compared(visit(200, 200), visit(405, 202)).differences
    assert [("status-error", "HTTP GET", "200", "405", "HTTP?GET $")] == [
        (one.rule.name, one.method, one.old, one.new, one.ignore) for one in found
    ]


@pytest.mark.parametrize("pair", [("everything-http", "everything"), ("time", "git")])
def test_each_difference_of_real_servers_names_its_rule(pair: tuple[str, str]) -> None:
    """The rule ignores the difference in recordings that have little in common, too."""
    old, new = (load(CASSETTES / f"{name}.jsonl") for name in pair)

    assert 15 < len(compared(old, new).differences)


def test_a_diff_is_true_if_anything_differs() -> None:
    """As text it has a line for each difference; nothing recorded acts on a terminal in it."""
    hostile = "\x1b]0;x\x07\n::error::"
    old = cassette(c(INITIALIZE), s(WELCOME), c(call(1, hostile)), s(response(1, {"a": 1})))
    new = cassette(c(INITIALIZE), s(WELCOME), c(call(1, hostile)), s(response(1, {"a": hostile})))
    found = compared(old, new)

    assert found
    assert not compared(old, old)
    assert str(compared(old, old)).endswith("no differences")
    assert len(found.differences) + 1 == len(str(found).split("\n"))
    assert "\x1b" not in str(found)
    assert "<Diff test.jsonl -> test.jsonl: no differences>" == repr(compared(old, old))


def test_the_rule_of_a_hostile_name_ignores_only_that() -> None:
    """Names with globs, quotes, white space, dollars and controls; a schema behind a reference."""
    names = ["*", "[a]?", 'it\'s "$5"', "a\tb\x1b", "\u2603", "plain"]

    def recording(kind: str, text: str) -> Cassette:
        definitions = {"it's": {"type": kind}}
        schema = {"properties": {'"x y': {"$ref": "#/$defs/it's"}}, "$defs": definitions}
        tools = [{"name": name, "inputSchema": schema} for name in names]
        calls = [
            line
            for number, name in enumerate(names, 2)
            for line in (c(call(number, name)), s(response(number, {"a b": [text, {"'": text}]})))
        ]
        return cassette(c(request(1, "tools/list")), s(response(1, {"tools": tools})), *calls)

    found = compared(recording("string", "x"), recording("number", "y")).differences

    assert 3 * len(names) == len(found)
    assert 'tools/list $.result.tools[?@.name=="*"].inputSchema.properties["\\"x y"]' in {
        one.ignore for one in found
    }
    assert 'tools/call [[]a][?] $.result["a b"][1]["\'"]' in {one.ignore for one in found}


@pytest.mark.parametrize("message", [notification("x/own"), request("s", "roots/list"), b"noise"])
def test_what_a_session_without_a_counterpart_says(message: bytes) -> None:
    """Its messages are reported like those of any other."""
    one = in_session(1, post(1, call(1, "a")), answers(1, response(1)))
    other = in_session(2, get(2), opens(2), says(2, message))

    for pair in ((over_http(one, other), over_http(one)), (over_http(one), over_http(one, other))):
        assert 1 == len(compare(*pair).differences)


def test_sessions_are_found_by_what_they_ask() -> None:
    """In whatever order they came."""

    def visit(*tools: str) -> Cassette:
        lines: list[Line] = []
        for tool in tools:
            lines += [c(call(1, tool)), s(response(1, {"a": tool})), ("take", None)]
        return cassette(*lines[:-1])

    assert [] == told(compare(visit("a", "b", "c"), visit("c", "a", "b")))
    assert ["risky request-missing tools/call b $"] == told(compare(visit("a", "b"), visit("a")))


def test_a_call_may_be_made_in_another_session() -> None:
    """Some clients start a server for one question, and again for the rest."""
    probe = c(request("p", "server/discover")), s(error("p", -32601))
    apart = cassette(*probe, ("take", None), *Server().visit())
    together = cassette(*probe, *Server().visit())

    assert [] == told(compare(apart, together))
    assert [] == told(compare(together, apart))


def test_how_far_we_are() -> None:
    """It begins early, never goes back, and ends with all of it."""
    heard: list[tuple[int, int]] = []
    visit = cassette(*Server().visit())
    compare(visit, visit, progress=lambda done, total: heard.append((done, total)))

    assert heard == sorted(heard)
    assert {4 * len(visit.takes[0].events)} == {total for _, total in heard}
    assert heard[-1][0] == heard[-1][1]


def test_how_far_we_are_in_a_long_comparison() -> None:
    """It is told in steps, of the reading and of the comparing."""
    heard: list[int] = []
    visit = cassette(*(c(call(number, "a")) for number in range(1200)))
    compare(visit, visit, progress=lambda done, _: heard.append(done))

    assert max(later - earlier for earlier, later in pairwise(heard)) <= 1000
    assert len(heard) < 10


def test_empty_recordings() -> None:
    """There is nothing to tell."""
    assert None is compare(cassette(), cassette()).worst
    assert ["compatible request-added ping $"] == told(
        compare(cassette(), cassette(c(request(1, "ping"))))
    )


def test_nothing_stops_a_diff() -> None:
    """Deep, torn and odd payloads are compared like any other."""
    deep = b'{"jsonrpc":"2.0","id":1,"result":' + b"[" * 50_000 + b"1" + b"]" * 50_000 + b"}"
    odd = [deep, response(1, {"a": float("nan")}), error(1).replace(b"-32602", b"9" * 5000)]
    visits = [cassette(c(call(1, "a")), s(raw)) for raw in odd]

    for old in visits:
        for new in visits:
            assert (old is new) is (compare(old, new).worst is None)


def test_reordered_calls_with_noise_are_no_difference() -> None:
    """Calls are paired by what the rules leave of them: the nearest with the nearest."""
    ids = [f"{n}23e4567-e89b-12d3-a456-426614174000" for n in range(8)]

    def recording(order: list[int], first: int) -> Cassette:
        lines: list[Line] = []
        for place, n in enumerate(order):
            lines += [c(call(place, "f", q=f"about word{'x' * n}", id=ids[first + place]))]
            lines += [s(response(place, {"n": n}))]
        return cassette(*lines)

    old, new = recording([1, 2, 3, 1], 0), recording([3, 1, 1, 2], 4)
    for rules in (IgnoreRules.parse(like=["$.arguments.id=uuid"]), IgnoreRules.parse(["$..id"])):
        assert None is compare(old, new, rules).worst
    assert None is not compare(old, new).worst
    assert None is not compare(old, new, IgnoreRules.parse(like=["$.arguments.id=date"])).worst


def test_a_place_that_is_of_a_kind_in_both_is_no_difference() -> None:
    """In answers as well as in requests; a value of another kind is one."""
    at = "$.result.structuredContent.at=datetime"

    def answered(value: object) -> Cassette:
        return cassette(c(call(1, "f")), s(response(1, {"structuredContent": {"at": value}})))

    old, rules = answered("2026-01-01T10:00Z"), IgnoreRules.parse(like=[at])
    assert None is compare(old, answered("2026-01-02 11:00"), rules).worst
    assert None is not compare(old, answered("later"), rules).worst
    assert None is not compare(old, answered(None), rules).worst


def test_a_changed_answer_in_a_batch_is_found_at_its_place() -> None:
    """The members of a batch are read from it one by one."""

    def recording(*texts: str) -> Cassette:
        calls = [call(n, f"tool_{n}") for n in range(len(texts))]
        return cassette(
            s(LOG),
            c(batch(*calls)),
            s(batch(*(response(n, {"text": text}) for n, text in enumerate(texts)))),
        )

    for changed in range(3):
        texts = ["a", "b", "c"]
        texts[changed] = "new"
        (found,) = compare(recording("a", "b", "c"), recording(*texts)).differences
        assert f"tools/call tool_{changed}" == found.call
        assert '"new"' == found.new
        assert EventLocation(1, 3) == found.old_event


def test_a_diff_holds_no_messages() -> None:
    """Of a large recording it knows where the messages are, and reads them anew."""
    lines = [
        line for n in range(300) for line in (c(call(n, "a", n=n)), s(response(n, "x" * 9999)))
    ]
    old, new = cassette(*lines), cassette(*lines[:-2])
    tracemalloc.start()
    try:
        assert 1 == len(compare(old, new).differences)
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()
