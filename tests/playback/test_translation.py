"""A recording of one era, played to clients of the other."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from msgspec import UNSET
from msgspec.structs import replace

from mcpmock.cassette.model import Cassette, Event, Gap
from mcpmock.cassette.parser import read
from mcpmock.playback.miss import Miss
from mcpmock.playback.plan.builder import build_plan
from mcpmock.playback.player import PlayerNote, PlayerOptions, SessionSelection
from mcpmock.playback.translation import revision_asked, revisions_spoken, translate
from mcpmock.protocol.error_codes import METHOD_NOT_FOUND, NOTHING_RECORDED
from mcpmock.protocol.messages import C2S, Frame, HttpRequest, HttpResponse, parse
from mcpmock.protocol.methods import REVISIONS
from tests.support import (
    INITIALIZE,
    INITIALIZED,
    LOG,
    OPENING,
    WELCOME,
    Line,
    Script,
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
    errors,
    get,
    in_session,
    notification,
    opens,
    over_http,
    player_of,
    post,
    progress,
    replay,
    replay_http,
    request,
    response,
    s,
    says,
)

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {"sampling": {}},
}
SERVER = {"io.modelcontextprotocol/serverInfo": {"name": "weather", "version": "2"}}
CACHED = {"resultType": "complete", "ttlMs": 5, "cacheScope": "public"}
DISCOVERED = {
    **CACHED,
    "supportedVersions": ["2026-07-28"],
    "capabilities": {
        "tools": {"listChanged": True},
        "logging": {},
        "resources": {"subscribe": True},
    },
    "instructions": "Ask.",
    "_meta": SERVER,
}
TOOLS = [{"name": "x", "inputSchema": {"type": "object"}}]


def modern(id_: Any, method: str, *, token: Any = None, **params: Any) -> bytes:
    meta = META if token is None else {**META, "progressToken": token}
    return request(id_, method, {**params, "_meta": meta})


def initialize(version: str) -> bytes:
    params = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "c"}}
    return request(0, "initialize", params)


RECORDED_MODERN: tuple[Line, ...] = (
    c(modern("probe", "server/discover")),
    s(response("probe", DISCOVERED)),
    c(modern(1, "tools/list")),
    s(response(1, {**CACHED, "tools": TOOLS, "_meta": SERVER})),
    c(modern(2, "tools/call", token=2, name="x", arguments={"a": 1})),
    s(progress(2)),
    s(response(2, {"resultType": "complete", "content": [], "_meta": {"mine": 1}})),
    c(modern(3, "ping")),
    s(error(3, METHOD_NOT_FOUND)),
    c(modern(4, "tools/call", name="asks", arguments={})),
    s(response(4, {"resultType": "input_required", "requestState": "s", "inputRequests": {}})),
    c(modern(5, "tools/call", name="asks", arguments={}, requestState="s", inputResponses={})),
    s(response(5, {"resultType": "complete", "content": []})),
    c(modern(6, "subscriptions/listen", notifications={})),
    s(notification("notifications/subscriptions/acknowledged", {"_meta": {}})),
)
RECORDED_LEGACY: tuple[Line, ...] = (
    *OPENING,
    s(request("r", "roots/list")),
    c(response("r", {"roots": []})),
    c(request(1, "tools/list")),
    s(LOG),
    s(response(1, {"tools": TOOLS})),
    c(call(2, "x", a=1)),
    s(response(2, {"content": []})),
    c(call(3, "asks")),
    s(request("s", "sampling/createMessage", {"n": 1})),
    c(response("s", {"text": "hi"})),
    s(response(3, {"content": []})),
    c(request(4, "ping")),
    s(response(4)),
)
BOTH = "recorded with revision 2026-07-28, asked with 2025-06-18"


def told(played: Script) -> list[Miss | PlayerNote]:
    """From now on, the notes and misses of its player."""
    found: list[Miss | PlayerNote] = []
    player_of(played).report = found.append
    return found


def values(raws: list[bytes]) -> list[Any]:
    return [json.loads(raw) for raw in raws]


@pytest.mark.parametrize(
    ("asked", "answered"),
    [
        ("2024-11-05", "2024-11-05"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
    ],
)
def test_a_handshake_is_made_from_the_discovery(asked: str, answered: str) -> None:
    """With the client's own revision, the latest that it can have if it asks for no such one, and
    without what legacy clients switch on by requests of their own: logging and subscriptions.
    """
    (welcome,) = values(play_modern().heard(initialize(asked)))

    assert {
        "jsonrpc": "2.0",
        "id": 0,
        "result": {
            "protocolVersion": answered,
            "capabilities": {"tools": {"listChanged": True}, "resources": {}},
            "instructions": "Ask.",
            "serverInfo": {"name": "weather", "version": "2"},
        },
    } == welcome


def play_modern(*events: Line, **playing: Any) -> Script:
    return replay(cassette(*(events or RECORDED_MODERN)), **playing).abandon()


def play_legacy(**playing: Any) -> Script:
    return replay(cassette(*RECORDED_LEGACY), **playing).abandon()


@pytest.mark.parametrize(
    ("capabilities", "told"),
    [
        ({"resources": {"subscribe": True, "listChanged": 1}}, {"resources": {"listChanged": 1}}),
        ({"logging": {}, "resources": True}, {"resources": True}),
        ([], []),
        (None, None),
    ],
)
def test_capabilities_of_one_era(capabilities: Any, told: Any) -> None:
    """They are left out where they are; what is no object is told as it was recorded."""
    discovered = {**DISCOVERED, "capabilities": capabilities}
    probed = RECORDED_MODERN[0], s(response("probe", discovered)), *RECORDED_MODERN[2:4]
    played = play_modern(*probed)
    [welcome] = values(played.heard(initialize("2025-06-18")))

    assert told == welcome["result"]["capabilities"]


def test_only_the_first_discovery_counts() -> None:
    """And no result that merely has a member of its name."""
    other = {**DISCOVERED, "capabilities": {"prompts": {}}, "instructions": "Other."}
    odd = {"capabilities": {"odd": {}}, "instructions": "Odd."}
    played = play_modern(
        c(modern(1, "tools/call", **ROUND)),
        s(response(1, odd)),
        *RECORDED_MODERN[:2],
        c(modern(2, "server/discover")),
        s(response(2, other)),
    )
    result = values(played.heard(initialize("2025-06-18")))[0]["result"]

    assert "Ask." == result["instructions"]
    assert {"tools", "resources"} == result["capabilities"].keys()


def test_a_server_that_never_named_itself() -> None:
    """It has a name all the same, which legacy clients insist on."""
    listed = [c(modern(1, "prompts/list")), s(response(1, {"prompts": []}))]
    played = play_modern(*listed, c(modern(2, "mine/own")), s(response(2, ["mine"])))
    result = values(played.heard(initialize("2025-06-18")))[0]["result"]

    assert {"name": "recorded server", "version": ""} == result["serverInfo"]
    assert {"prompts": {}} == result["capabilities"]


def test_a_handshake_without_a_discovery() -> None:
    """The capabilities are those that were used, and the server is named by its results."""
    played = play_modern(*RECORDED_MODERN[2:])
    result = values(played.heard(initialize("2025-06-18")))[0]["result"]

    assert {"tools": {}} == result["capabilities"]
    assert {"name": "weather", "version": "2"} == result["serverInfo"]


def test_a_legacy_client() -> None:
    """Its calls have the recorded answers, without what only modern ones have, under its ids and
    tokens; a ping is answered. One note says that it was translated.
    """
    played = play_modern()
    notes = told(played)
    played.heard(initialize("2025-06-18"))
    assert [] == played.heard(INITIALIZED)
    listed = values(played.heard(request(7, "tools/list")))
    called = played.heard(request(8, "tools/call", {"name": "x", "arguments": {"a": 1}}, token="t"))
    pinged = played.heard(request(9, "ping"))

    assert [{"jsonrpc": "2.0", "id": 7, "result": {"tools": TOOLS}}] == listed
    assert [progress("t"), response(8, {"content": [], "_meta": {"mine": 1}})] == called
    assert [response(9)] == pinged
    assert [PlayerNote("initialize", f"translated: {BOTH}")] == notes


def test_a_modern_client() -> None:
    """Its probe is refused, as every legacy server does it; a client that asks all the same has the
    recorded answers, with what modern ones must have.
    """
    played = play_legacy()
    notes = told(played)
    probed = played.heard(modern("p", "server/discover"))
    listed = values(played.heard(modern(7, "tools/list")))
    called = values(played.heard(modern(8, "tools/call", name="x", arguments={"a": 1})))

    assert [("p", METHOD_NOT_FOUND)] == errors(probed)
    complete = {"resultType": "complete"}
    cached = {**complete, "ttlMs": 0, "cacheScope": "private"}
    # The log line goes with the only call that was open.
    assert ["notifications/message", {**cached, "tools": TOOLS}] == [
        listed[0]["method"],
        listed[1]["result"],
    ]
    assert {**complete, "content": []} == called[0]["result"]
    assert PlayerNote(
        "tools/list", "translated: recorded with revision 2025-11-25, asked with 2026-07-28"
    ) == notes[0]  # fmt: skip


@pytest.mark.parametrize("exact", [False, True])
def test_a_miss_names_both_revisions(exact: bool) -> None:
    """A call in which one side asked the other has no counterpart; with `exact` nothing has."""
    legacy, other = play_modern(exact=exact), play_legacy(exact=exact)
    misses = [*told(legacy), *told(other)]
    misses = told(legacy)
    also = told(other)
    legacy.heard(initialize("2025-06-18"))
    raws = legacy.heard(call(1, "asks")) + other.heard(
        modern(2, "tools/call", name="asks" if not exact else "x", arguments={})
    )

    assert [(1, NOTHING_RECORDED), (2, NOTHING_RECORDED)] == errors(raws)
    found = [one.revisions for one in (misses[-1], also[-1]) if isinstance(one, Miss)]
    assert [BOTH, "recorded with revision 2025-11-25, asked with 2026-07-28"] == found
    assert BOTH in json.loads(raws[0])["error"]["message"]


@pytest.mark.parametrize("on_miss", ["live", "error"])
def test_where_nothing_is_translated(on_miss: str) -> None:
    """What was recorded in both eras is played as it is, and a real server behind the recording
    answers in the era of the client.
    """
    both = (*OPENING, ("take", None), *RECORDED_MODERN) if on_miss == "error" else RECORDED_MODERN
    played = replay(cassette(*both), on_miss=on_miss).abandon()
    notes = told(played)
    played.heard(INITIALIZE)
    played.heard(request(1, "tools/list"))
    played.heard(modern(2, "tools/call", name="unknown", arguments={}))

    assert not [one for one in notes if isinstance(one, PlayerNote) and "transl" in one.text]
    assert not [one for one in notes if isinstance(one, Miss) and one.revisions]


def test_stubs_are_translated() -> None:
    """With `order = any` a call is answered as often as it comes, in either era."""
    played = play_modern(order="any")
    played.heard(initialize("2025-06-18"))

    for id_ in (1, 2):
        assert [response(id_, {"tools": TOOLS})] == played.heard(request(id_, "tools/list"))


LISTEN = modern(7, "subscriptions/listen")
ROUND = {"name": "x", "arguments": {}}


@pytest.mark.parametrize(
    ("asked", "answer", "revision"),
    [
        # What only the era of the recording has.
        (request("p", "server/discover"), error("p"), "2026-07-28"),
        (request(7, "ping"), response(7), "2026-07-28"),
        (request(7, "resources/subscribe", {"uri": "a"}), response(7), "2026-07-28"),
        (LISTEN, response(7), "2025-11-25"),
        # A round of a call, whichever member says that it is one.
        (modern(7, "tools/call", **ROUND, inputResponses={}), response(7), "2025-11-25"),
        (modern(7, "tools/call", **ROUND, requestState="s"), response(7), "2025-11-25"),
        (
            modern(7, "tools/call", **ROUND),
            response(7, {"resultType": "input_required"}),
            "2025-11-25",
        ),
    ],
)
def test_what_the_other_era_lacks(asked: bytes, answer: bytes, revision: str) -> None:
    """It is left out with its answer; the requests of the server's own making stay."""
    mine = request(8, "mine/own", {"_meta": META})
    [recorded] = cassette(c(asked), s(answer), c(mine), s(response(8))).episodes()
    ids = [
        json.loads(event.payload or b"{}").get("id")
        for event in translate(recorded, revision).events
    ]

    assert [8, 8] == [id_ for id_ in ids if id_ not in (None, "mcpmock-initialize")]


@pytest.mark.parametrize(
    ("said", "left"),
    [
        (b"noise", [b"noise"]),
        (batch(response(7)), [batch(response(7))]),
        (LOG, []),
        (response(7), []),
        (error(7), []),
        (request("r", "ping"), []),
    ],
)
def test_what_a_legacy_server_says_unasked(said: bytes, left: list[bytes]) -> None:
    """Modern servers send what belongs to a request; what is no message is no part of an era."""
    [recorded] = cassette(s(said), c(request(8, "tools/list")), s(error(8))).episodes()
    events = translate(recorded, "2026-07-28").events

    assert [*left, error(8)] == [event.payload for event in events if event.d == "s2c"]


@pytest.mark.parametrize(
    ("said", "stays"),
    [
        (notification("mine/said"), True),
        (cancelled("s"), False),
        (progress("t"), False),
        (notification("notifications/roots/list_changed"), False),
    ],
)
def test_what_a_client_says_while_it_is_asked(said: bytes, stays: bool) -> None:
    """What it says of the question goes with it."""
    question = request("s", "sampling/createMessage", {}, token="t")
    asked = [c(request(1, "tools/list")), s(response(1)), c(call(3, "asks")), s(question), c(said)]
    [recorded] = cassette(*OPENING, *asked).episodes()
    left = [event.payload for event in translate(recorded, "2026-07-28").events]

    assert stays is (said in left)
    assert question not in left


@pytest.mark.parametrize("method", ["sampling/createMessage", "elicitation/create", "ping"])
def test_what_a_modern_server_should_not_ask(method: str) -> None:
    """A question that its revision does not have is no part of it; the call stays."""
    asked = c(modern(1, "tools/list")), s(request("r", method)), s(response(1))
    [recorded] = cassette(*asked).episodes()
    left = [event.payload for event in translate(recorded, "2025-06-18").events]

    assert [response(1)] == left[-1:]
    assert request("r", method) not in left


@pytest.mark.parametrize("raw", [cancelled(7), notification("notifications/mine"), b"noise"])
def test_what_asks_nothing_stays_as_it_is(raw: bytes) -> None:
    """A request says which revision it is of; nothing else does."""
    [recorded] = cassette(*OPENING, c(request(7, "tools/list")), c(raw)).episodes()

    assert raw == translate(recorded, "2026-07-28").events[-1].payload


@pytest.mark.parametrize("revision", REVISIONS)
def test_notes_of_the_recorder(revision: str) -> None:
    """What crossed no wire (gaps, receipts of faults) is in the way of no translation."""
    note = Event(n=1, gap=Gap(bytes=5, events=1, reason="x"))
    for recorded in (HTTP_MODERN, cassette(*RECORDED_MODERN), cassette(*RECORDED_LEGACY)):
        [found] = recorded.episodes()
        noted = replace(found, events=[note, *found.events, note])
        left = [one for one in translate(noted, revision).events if one.gap is UNSET]

        assert left == translate(found, revision).events


PROBE = c(modern("p", "server/discover"))
NAMED = {"protocolVersion": "2024-11-05", "supportedVersions": ["2026-07-28"]}


@pytest.mark.parametrize(
    ("said", "revisions"),
    [
        ([PROBE, s(error("p", METHOD_NOT_FOUND)), *OPENING], ["2025-11-25"]),
        ([PROBE, s(response("p", {"supportedVersions": ["2025-06-18", 1]}))], []),
        ([PROBE, s(response("p", {"supportedVersions": ["2026-07-28"]}))], ["2026-07-28"]),
        ([PROBE, s(response("p", {"supportedVersions": {"2026-07-28": 1}}))], []),
        ([c(modern(1, "tools/list"))], ["2026-07-28"]),
        ([c(modern(1, "tools/list").replace(b"2026-07-28", b"2025-06-18"))], []),
        ([c(notification("n", {"_meta": META}))], []),
        ([s(notification("n", NAMED)), c(notification("n", NAMED))], []),
        ([s(request("r", "elicitation/create")), c(response("r", NAMED))], []),
        ([c(b"protocolVersion"), s(b"supportedVersions")], []),
    ],
)
def test_revisions_spoken(said: list[Line], revisions: list[str]) -> None:
    """What the server answers with, or is asked in by requests that it takes; not what others say,
    nor a probe, which may be refused.
    """
    assert revisions == [*revisions_spoken(cassette(*said).takes[0].events)]


HTTP_MODERN = over_http(
    in_session(
        1,
        post(1, modern("p", "server/discover"), mcp_method="server/discover"),
        answers(1, response("p", DISCOVERED)),
        post(2, modern(1, "tools/call", name="x", arguments={}), mcp_method="tools/call"),
        opens(2),
        [*says(2, LOG), *says(2, response(1, {"resultType": "complete"}))],
        post(3, modern(1, "tools/list"), mcp_method="tools/list"),
        answers(3, response(1, {**CACHED, "tools": []})),
        post(4, modern(1, "tools/call", name="none", arguments={}), mcp_method="tools/call"),
        answers(4, error(1), 400),
    )
)
HTTP_LEGACY = over_http(
    in_session(
        2,
        post(1, INITIALIZE),
        answers(1, WELCOME, mcp_session_id="S"),
        post(2, INITIALIZED, session="S"),
        accepts(2),
        get(3, session="S"),
        opens(3),
        post(4, call(1, "x"), session="S"),
        answers(4, response(1)),
        bodiless(5, "DELETE", session="S"),
        accepts(5, 200),
    )
)


def test_a_legacy_client_over_http() -> None:
    """It gets a session of its own, in which the recorded exchanges come with their streams; what
    it does besides is answered as a server without it answers.
    """
    played = replay_http(HTTP_MODERN).abandon()
    welcome, *_ = played.hears(0, post(900, initialize("2025-06-18")))
    accepted = played.hears(0, post(901, INITIALIZED, session="live-1"))
    stream = played.hears(0, get(902, session="live-1"))
    called = played.hears(0, post(903, call(1, "x"), session="live-1"))
    listed = played.hears(0, post(904, request(2, "tools/list"), session="live-1"))
    failed = played.hears(0, post(905, call(3, "none"), session="live-1"))

    assert "900 200 application/json session=live-1" == welcome
    assert ["901 202", "901 eof"] == accepted
    assert ["902 405", "902 eof"] == stream
    assert ["903 200 text/event-stream", f"903 {LOG.decode()}", f"903 {response(1).decode()}"] == (
        called[:3]
    )
    assert f"904 {response(2, {'tools': []}).decode()}" in listed
    assert ["905 200 application/json", f"905 {error(3).decode()}"] == failed[:2]


def test_a_modern_client_over_http() -> None:
    """It has no session, its calls are answered, and it has no stream to listen to."""
    played = replay_http(HTTP_LEGACY, stateless=True).abandon()
    asked = modern(9, "tools/call", name="x", arguments={})
    headers = {"mcp_protocol_version": "2026-07-28", "mcp_method": "tools/call", "mcp_name": "x"}
    called = played.hears(0, post(900, asked, **headers))

    answer = response(9, {"resultType": "complete"}).decode()
    assert ["900 200 application/json", f"900 {answer}", "900 eof"] == called
    assert ["901 405", "901 eof"] == played.hears(0, get(901))


VERSION = ("MCP-Protocol-Version", "2025-06-18")
JSON_ACCEPTED = [
    ("Host", "127.0.0.1:8000"),
    ("content-type", "application/json"),
    ("accept", "application/json, text/event-stream"),
]


def heads_of(recorded: Cassette, revision: str) -> list[tuple[str | int, list[tuple[str, str]]]]:
    """The methods and the statuses of a translated session, with their fields."""
    [*_, found] = recorded.episodes()
    facts = [event.frame.fact for event in translate(found, revision).events if event.frame]
    return [
        (one.method if isinstance(one, HttpRequest) else one.status, one.headers)
        for one in facts
        if isinstance(one, HttpRequest | HttpResponse)
    ]


def test_the_fields_of_a_modern_session() -> None:
    """Those of a request say what its message is; none names a session."""
    fields = [
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "tools/call"),
        ("Mcp-Name", "x"),
    ]
    served = post(4, call(1, "x"), session="S", mcp_protocol_version="2025-11-25")
    told = answers(4, response(1), mcp_session_id="S", x_own="1")
    opened = [post(1, INITIALIZE), answers(1, WELCOME, mcp_session_id="S")]

    assert [
        ("POST", [*JSON_ACCEPTED, *fields]),
        (200, [("content-type", "application/json"), ("x-own", "1")]),
    ] == heads_of(over_http(in_session(2, *opened, served, told)), "2026-07-28")


def test_the_fields_of_a_legacy_session() -> None:
    """All requests behind the handshake are of one session; only an answer of the protocol is
    given with the status of one.
    """
    about = {"mcp_protocol_version": "2026-07-28", "mcp_method": "tools/list"}
    recorded = over_http(
        in_session(
            1,
            post(1, modern(1, "tools/list"), **about),
            answers(1, error(1), 404, mcp_protocol_version="2026-07-28"),
            post(2, modern(2, "tools/list"), **about),
            accepts(2, 404),
            post(3, b"{torn"),
            answers(3, b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}', 400),
        )
    )
    session = [("Mcp-Session-Id", "mcpmock-translated"), VERSION]
    json_told = ("Content-Type", "application/json")

    assert [
        ("POST", JSON_ACCEPTED),
        (200, [json_told, session[0]]),
        ("POST", JSON_ACCEPTED),
        (202, []),
        ("POST", [*JSON_ACCEPTED, *session]),
        (200, [("content-type", "application/json")]),
        ("POST", [*JSON_ACCEPTED, *session]),
        (404, []),
        ("POST", [*JSON_ACCEPTED, *session]),
        (400, [("content-type", "application/json")]),
    ] == heads_of(recorded, "2025-06-18")


@pytest.mark.parametrize(
    ("before", "told"),
    [
        ([accepts(1, 405)], 405),
        ([opens(1), ends(1, "closed", C2S)], 200),
        ([ends(1, "closed", C2S), opens(1)], 200),
    ],
)
def test_the_handshake_stands_before_the_first_message(before: list[Any], told: int) -> None:
    """A request without one, such as for a stream, may come before it, and be left."""
    steps = get(1), *before, post(2, modern(1, "tools/list"))
    heads = heads_of(over_http(in_session(1, *steps)), "2025-06-18")

    assert ["GET", told, "POST", 200, "POST", 202, "POST"] == [what for what, _ in heads]
    assert [JSON_ACCEPTED] * 2 == [fields for what, fields in heads if what == "POST"][:2]


@pytest.mark.parametrize(
    ("status", "sent"), [(200, 200), (400, 200), (404, 200), (403, 403), (500, 500)]
)
def test_the_status_of_an_error(status: int, sent: int) -> None:
    """For a legacy client it is that of earlier servers, where the protocol gives errors one."""
    asked = post(1, modern(1, "tools/call", name="x", arguments={}), mcp_method="tools/call")
    played = replay_http(over_http(in_session(1, asked, answers(1, error(1), status)))).abandon()
    played.hears(0, post(900, initialize("2025-06-18")), post(901, INITIALIZED, session="live-1"))

    fields = {"session": "live-1", "mcp_protocol_version": "2025-06-18"}
    head, message, _ = played.hears(0, post(902, call(7, "x"), **fields))
    assert (f"902 {sent} application/json", f"902 {error(7).decode()}") == (head, message)


def test_what_was_left_over() -> None:
    """Of the session as it was translated: a handshake that a client has no use for is not missing,
    nor is a call that it could not have made.
    """
    legacy, other = play_modern(), play_legacy()
    legacy.heard(initialize("2025-06-18"))
    legacy.heard(INITIALIZED)
    legacy.heard(request(7, "tools/list"))
    other.heard(modern(1, "tools/list"))
    other.heard(modern(2, "tools/call", name="x", arguments={"a": 1}))
    stateless = replay_http(HTTP_LEGACY, stateless=True).abandon()
    stateless.hears(0, post(900, modern(9, "tools/call", name="x", arguments={})))

    left = [player_of(played).leftovers() for played in (legacy, other, stateless)]
    assert [['1 recorded request never came: tools/call x {"a":1} (event 5)'], [], []] == left


def test_over_http_and_sse() -> None:
    """The handshake is answered on the event stream, as all else, however the client found it; its
    session stands in no field.
    """
    stream: list[list[Frame]] = [
        post(1, b"{}", to="/sse"),
        accepts(1, 405),
        get(2, to="/sse"),
        opens(2),
        says(2, b"/message?sessionId=S", event="endpoint"),
        post(3, modern(1, "tools/list"), to="/message?sessionId=S"),
        says(2, response(1, {**CACHED, "tools": []}), event="message"),
        accepts(3),
    ]
    header = b'{"mcpmock":1,"transport":"sse"}\n'
    recorded = over_http(in_session(2, *stream), header=header)
    played = replay_http(recorded).abandon()
    endpoint = "/message?sessionId=live-1"
    played.hears(0, get(900, to="/sse"))
    welcome = played.hears(0, post(901, initialize("2025-06-18"), to=endpoint))
    played.hears(0, post(902, INITIALIZED, to=endpoint))
    listed = played.hears(0, post(903, request(2, "tools/list"), to=endpoint))

    assert ["901 202", "901 eof"] == [line for line in welcome if line.startswith("901")]
    assert '"protocolVersion":"2025-06-18"' in next(one for one in welcome if "result" in one)
    assert f"900 {response(2, {'tools': []}).decode()}" in listed
    assert [[*JSON_ACCEPTED, VERSION]] == [
        fields for what, fields in heads_of(recorded, "2025-06-18")[-2:] if what == "POST"
    ]


def test_the_selection_is_made_once() -> None:
    """All live sessions of one revision share what was translated."""
    recorded: Cassette = cassette(*RECORDED_MODERN)
    selection = SessionSelection(recorded, PlayerOptions())
    one, two = (selection.translations("2025-06-18", str, stateless=False) for _ in range(2))

    assert [candidate.plan for candidate in one] == [candidate.plan for candidate in two]
    assert one[0].plan is two[0].plan


def test_translated_sessions_are_dealt_in_turn() -> None:
    """One that was played goes behind the others, as in the recorded revision."""
    recorded: Cassette = cassette(*RECORDED_MODERN, ("take", None), *RECORDED_MODERN)
    selection = SessionSelection(recorded, PlayerOptions())
    first, second = selection.translations("2025-06-18", str, stateless=False)
    selection.mark_played(first.plan.episode)
    dealt = selection.translations("2025-06-18", str, stateless=False)

    assert [second.plan, first.plan] == [candidate.plan for candidate in dealt]


def test_fields_of_an_event_go_with_its_message() -> None:
    """Of a message that is left out, no fields of its server-sent event are left behind."""
    changed = notification("notifications/tools/list_changed")
    recorded = over_http(
        in_session(
            2,
            post(1, INITIALIZE),
            answers(1, WELCOME, mcp_session_id="S"),
            post(2, call(1, "x"), session="S"),
            opens(2),
            says(2, request("r", "ping"), event="message"),
            says(2, LOG, event="message"),
            says(2, response(1), event="message"),
            get(3, session="S"),
            opens(3),
            says(3, changed, event="message"),
        )
    )
    [episode] = recorded.episodes()
    events = translate(episode, "2026-07-28").events

    assert [2] * len(events) == [event.x for event in events]
    assert ["message", LOG, "message"] == [
        event.payload if event.sse is UNSET else event.sse.event for event in events[3:6]
    ]


@pytest.mark.parametrize(
    ("asked", "revision"),
    [
        (initialize("2025-03-26"), "2025-03-26"),
        (initialize("1"), "2025-11-25"),
        (modern(1, "tools/list"), "2026-07-28"),
        (modern(1, "tools/list").replace(b"2026-07-28", b"2031-01-01"), "2026-07-28"),
        (modern(1, "server/discover"), None),
        (request(1, "tools/list"), None),
        (INITIALIZED, None),
    ],
)
def test_revision_asked(asked: bytes, revision: str | None) -> None:
    """One that there is, so that clients cannot ask for any number of translations."""
    assert revision == revision_asked(parse(asked))


@pytest.mark.parametrize(
    ("asked", "revision"),
    [
        (request(1, "tools/list"), "2025-11-25"),
        (modern(1, "tools/list"), "2026-07-28"),
        (modern(1, "server/discover"), None),
        (INITIALIZED, None),
    ],
)
def test_revision_asked_outside_any_session(asked: bytes, revision: str | None) -> None:
    """A request that does not say which is one of the older revisions."""
    assert revision == revision_asked(parse(asked), alone=True)


@pytest.mark.parametrize(
    "name", ["time", "workshop-stateless", "workshop-sessions", "everything-sse"]
)
def test_damaged_recordings(name: str) -> None:
    """Whatever lines are missing, doubled or damaged, what is left is translated, both ways."""
    file = Path(__file__).parents[2] / "cassettes" / f"{name}.jsonl"
    header, *lines = file.read_bytes().splitlines(keepends=True)
    for seed in range(5):
        print("seed", seed)
        dice = random.Random(seed)
        chosen = [line for line in lines for _ in range(dice.choice((0, 1, 1, 1, 1, 1, 1, 2)))]
        spoilt = [line.replace(b"{", dice.choice((b"{", b"[", b'{"')), 2) for line in chosen]
        mixed = [
            dice.choice((one, one, one, other)) for one, other in zip(chosen, spoilt, strict=True)
        ]
        for episode in read("a", header + b"".join(mixed)).episodes():
            assert set(revisions_spoken(episode.events)) <= set(REVISIONS)
            for revision in ("2025-06-18", "2026-07-28"):
                build_plan(translate(episode, revision))


def test_a_request_before_the_handshake() -> None:
    """It says no revision: in a session the handshake says it, so nothing is translated yet."""
    played = play_modern()
    notes = told(played)

    assert [(1, NOTHING_RECORDED)] == errors(played.heard(request(1, "tools/list")))
    assert [Miss] == [type(one) for one in notes]
    played.heard(initialize("2025-06-18"))
    assert [response(2, {"tools": TOOLS})] == played.heard(request(2, "tools/list"))


def test_it_is_translated_once() -> None:
    """However often nothing recorded answers."""
    played = play_modern()
    notes = told(played)
    played.heard(initialize("2025-06-18"))
    for n in (1, 2):
        played.heard(call(n, "unknown"))

    assert [PlayerNote, Miss, Miss] == [type(one) for one in notes]
    other = play_legacy()
    notes = told(other)
    for n in (1, 2):
        other.heard(modern(n, "tools/call", name="unknown", arguments={}))

    assert [PlayerNote, Miss, Miss] == [type(one) for one in notes]
