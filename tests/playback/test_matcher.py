"""Which recorded event answers a live message, and the near misses."""

from __future__ import annotations

from typing import Any

import pytest

from mcpmock.playback.matcher import Matcher, MatchResult, RequestIndex
from mcpmock.playback.miss import NearMiss
from mcpmock.playback.plan.builder import build_plan
from mcpmock.playback.request_assembly import ClientMessage
from mcpmock.playback.request_key import match_subject
from mcpmock.playback.variables import Mismatch
from mcpmock.protocol.messages import Frame, HttpRequest
from tests.support import (
    Line,
    accepts,
    answers,
    batch,
    bodiless,
    c2s,
    get,
    hangs_up,
    in_session,
    notification,
    over_http,
    plan_of,
    post,
    request,
    response,
)

HOLE = "mcpmock:secret:token:1"


def matcher(*lines: bytes | Line, strict: bool = False, loosest: int = 1) -> Matcher:
    """A matcher of an episode in which the client said this."""
    events: list[Line] = [("c2s", line) if isinstance(line, bytes) else line for line in lines]
    plan = plan_of(*events, strict=strict)
    return Matcher(RequestIndex(plan, strict=strict, loosest=loosest))


def take(found: Matcher, match: MatchResult) -> None:
    """The client did what was found."""
    found.happened[match.event.index] = 0.0
    found.bindings |= match.bindings


def index(found: Matcher, raw: bytes) -> int | None:
    match = found.find(ClientMessage(c2s(raw)))
    if match is None:
        return None
    take(found, match)
    return match.event.index


def test_the_nth_call_gets_the_nth_event() -> None:
    """Equal calls use up the recorded ones in order, and then there are none."""
    found = matcher(request(1, "a"), request(2, "b"), request(3, "a"))

    assert [0, 2, None, 1] == [index(found, request(9, name)) for name in "aaab"]


def test_finding_uses_nothing_up() -> None:
    """Only what was taken is used."""
    found = matcher(request(1, "a"))

    live = ClientMessage(c2s(request(1, "a")))

    assert found.find(live) == found.find(live)


def test_opaque_frames_match_by_their_bytes() -> None:
    """Noise stands for noise of the same bytes only, each once."""
    found = matcher(b"noise", b"{}", b"noise")

    assert [0, 2, None, 1, None] == [
        index(found, raw) for raw in (b"noise", b"noise", b"noise", b"{}", b"{ }")
    ]


def test_the_end_of_the_input() -> None:
    """The end of the client's input stands for the recorded one."""
    found = matcher(request(1, "a"), ("end", {"d": "c2s"}))
    match = found.find(ClientMessage(hangs_up(c2s(b"").direction)))
    assert match is not None

    assert 1 == match.event.index


def test_strict_takes_only_the_next() -> None:
    """In strict order only the very next client event is found."""
    found = matcher(request(1, "a"), notification("n"), request(2, "b"), strict=True)

    steps = [request(2, "b"), request(1, "a"), request(2, "b"), notification("n"), request(2, "b")]
    assert [None, 0, None, 1, 2] == [index(found, raw) for raw in steps]


@pytest.mark.parametrize(("loosest", "level"), [(1, 1), (0, None)])
def test_tiers(loosest: int, level: int | None) -> None:
    """Another client's capabilities are forgiven after all that is exact, unless levels are off."""
    name = "io.modelcontextprotocol/clientCapabilities"
    found = matcher(request(1, "a", {"_meta": {name: {}}}), loosest=loosest)
    match = found.find(ClientMessage(c2s(request(1, "a", {"_meta": {name: {"roots": {}}}}))))

    assert level == (match.level if match else None)


def test_an_exact_match_goes_before_an_earlier_relaxed_one() -> None:
    """The strictest level that has a match decides, not the order."""
    name = "io.modelcontextprotocol/clientCapabilities"
    found = matcher(
        request(1, "a", {"_meta": {name: {}}}), request(2, "a", {"_meta": {name: {"b": 1}}})
    )

    assert 1 == index(found, request(1, "a", {"_meta": {name: {"b": 1}}}))


def test_redacted_values_are_variables() -> None:
    """The first live value binds a placeholder, and later uses must agree."""
    found = matcher(*(request(n, "a", {"k": HOLE}) for n in (1, 2, 3)))

    assert None is index(found, request(1, "b", {"k": "hunter2"}))
    values = ["hunter2", "other", "hunter2"]
    assert [0, None, 1] == [index(found, request(1, "a", {"k": value})) for value in values]
    assert {HOLE: "hunter2"} == found.bindings
    assert 2 == index(found, request(3, "a", {"k": HOLE}))  # a placeholder that was sent back


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

    assert [0, 2] == [
        match.event.index for match in found.repeats(ClientMessage(c2s(request(1, "a"))))
    ]
    assert [] == found.repeats(ClientMessage(c2s(request(1, "c"))))


def near(found: Matcher, raw: bytes) -> list[NearMiss]:
    asked = match_subject(c2s(raw))
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
    assert (Mismatch("$.arguments.city", "Oslo", "Rome"),) == misses[0].differences
    assert (Mismatch("$.arguments.days[1]", 3, 2),) == misses[1].differences


def test_near_misses_of_very_many() -> None:
    """What is equal, and then what the client has not asked yet, is measured first: a miss costs
    the same however many requests there are.
    """
    marked = {3, 900, 1_900}
    asked = [_numbered(n, is_marked=n in marked) for n in range(2_000)]
    found = matcher(*asked)
    for n in range(800):
        found.happened[n] = 0.0

    def nearest(live: bytes) -> tuple[int, str]:
        first = near(found, live)[0]
        return first.n - 1, first.why

    live = [asked[7], asked[1_950], _numbered(5_000, is_marked=True)]
    assert [(7, "already used"), (1_950, "out of order"), (900, "different")] == [
        nearest(one) for one in live
    ]
    found.happened[900] = 0.0

    assert (800, "different") == nearest(_numbered(5_000, is_marked=True))


def _numbered(n: int, *, is_marked: bool) -> bytes:
    return request(n, "tools/call", {"name": "a", "arguments": {"n": n, "marked": is_marked}})


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


@pytest.mark.parametrize(("first", "rules"), [(0, 1), (1, 0)])
def test_no_rule_lets_what_the_end_of_a_session_left_behind_answer(first: int, rules: int) -> None:
    """It is the nearest all the same."""
    found = matcher(request(1, "tools/call", {"name": "a", "arguments": {"city": "Oslo"}}))
    found.first_place = first
    [miss] = near(found, request(9, "tools/call", {"name": "a", "arguments": {"city": "Rome"}}))

    assert (1, rules) == (miss.n, len(miss.rules))


@pytest.mark.parametrize("depth", [100, 200, 250, 300, 350, 400, 450, 500, 900])
def test_near_misses_of_deep_values(depth: int) -> None:
    """Values nested as deep as a decoder takes them can be compared."""
    recorded, live = (
        request(1, "x", {"a": "D"}).replace(b'"D"', b'{"a":' * depth + end + b"}" * depth)
        for end in (b"1", b"2")
    )

    assert [1] == [miss.n for miss in near(matcher(recorded), live)]


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


def http_matcher(*steps: list[Frame], stateless: bool = False, **how: Any) -> Matcher:
    [episode] = over_http(in_session(1 if stateless else 2, *steps)).episodes()
    return Matcher(RequestIndex(build_plan(episode), stateless, **how))


def place(found: Matcher, frames: list[Frame]) -> tuple[int, int] | None:
    """The index and the level of what a live request stands for."""
    head = frames[0].fact
    assert isinstance(head, HttpRequest)
    match = found.find(ClientMessage(frames[-1], head))
    return None if match is None else (match.event.index, match.level)


X = request(1, "x")


@pytest.mark.parametrize(
    ("fields", "level"),
    [
        ({}, 0),
        ({"user_agent": "a", "content_length": "7"}, 0),
        ({"accept": "text/event-stream,application/json"}, 0),
        ({"content_type": "Application/JSON; charset=utf-8"}, 0),
        ({"mcp_protocol_version": "2025-06-18"}, 2),
        ({"accept": "*/*"}, 3),
        ({"session": "S"}, 3),
        ({"mcp_method": "x"}, 3),
        ({"content_type": "text/json"}, None),
        ({"content_type": None}, None),
        ({"origin": "http://localhost:1"}, 3),
        ({"origin": "http://evil.example"}, 3),
        ({"host": "evil.example"}, None),
    ],
)
def test_tiers_of_heads(fields: dict[str, Any], level: int | None) -> None:
    """What client libraries differ in is forgiven late; what protects a server never."""
    found = http_matcher(post(1, X), answers(1, response(1)))

    assert (None if level is None else (1, level)) == place(found, post(7, X, **fields))


def test_where_one_side_has_no_head() -> None:
    """Heads count only if both have one."""
    headed, bare = http_matcher(post(1, X)), matcher(X)

    assert 1 == index(headed, X)
    assert (0, 0) == place(bare, post(7, X, accept="*/*"))


def test_requests_without_a_message() -> None:
    """They are told apart by method and path; the query does not count."""
    found = http_matcher(get(1), bodiless(2, "DELETE"), bodiless(3, "GET", to="/a?x=1"))

    assert (0, 0) == place(found, get(7))
    assert (1, 0) == place(found, bodiless(7, "DELETE"))
    assert (2, 0) == place(found, bodiless(7, "GET", to="/a?x=2"))
    assert None is place(found, bodiless(7, "GET", to="/b"))
    assert None is place(found, bodiless(7, "OPTIONS"))


def test_placeholders_in_fields() -> None:
    """A secret that is mirrored in a header binds one variable in both, wrapped or not."""
    recorded = request(1, "x", {"k": HOLE})
    live = request(1, "x", {"k": "ü"})

    for value, expected in (("=?base64?w7w=?=", (1, 0)), ("y", None)):
        found = http_matcher(post(1, recorded, mcp_param_k=HOLE))
        assert expected == place(found, post(7, live, mcp_param_k=value))


def test_a_refusal_answers_the_very_same_head_only() -> None:
    """A request with another head never gets a recorded refusal."""
    found = http_matcher(post(1, X, accept="a/a"), answers(1, response(1), 406))

    assert None is place(found, post(7, X))
    assert (1, 0) == place(found, post(7, X, accept="a/a"))


def test_what_was_refused_is_not_forgiven() -> None:
    """A head that the recorded server refused does not get the answer to a better one, once the
    refusals are used up; one it never saw does.
    """
    wrong = post(1, X, accept="a/a")
    found = http_matcher(wrong, answers(1, response(1), 406), post(2, X), answers(2, response(1)))
    found.happened[1] = 0.0

    assert None is place(found, wrong)
    assert (6, 3) == place(found, post(7, X, accept="b/b"))


def test_an_origin_that_was_refused_is_not_forgiven() -> None:
    """Where the recorded server refused a page, no page of its kind gets what others get."""
    evil = "http://evil.example"
    refused = post(2, X, origin=evil)
    found = http_matcher(post(1, X), answers(1, response(1)), refused, answers(2, b"", 403))
    found.happened[6] = 0.0

    assert None is place(found, post(7, X, origin="http://other.example"))
    assert (1, 3) == place(found, post(7, X, origin="http://localhost:1"))


def test_a_mirrored_field_that_contradicts_is_not_forgiven() -> None:
    """Two requests that ask the same can only differ in a mirror if one of them is wrong."""
    found = http_matcher(post(1, X, mcp_method="x", mcp_name="n"), answers(1, response(1)))

    assert None is place(found, post(7, X, mcp_method="y", mcp_name="n"))
    assert (1, 3) == place(found, post(7, X, mcp_method="x"))


def test_without_a_session_its_presence_is_never_forgiven() -> None:
    """In a stateless conversation a request that names a session is another one."""
    found = http_matcher(post(1, X), answers(1, response(1)), stateless=True)

    assert None is place(found, post(7, X, session="S"))


def test_bodies_that_nobody_can_read() -> None:
    """They match by their bytes, and their heads count like others."""
    found = http_matcher(post(1, b"{torn"), answers(1, response(1), 400))

    assert None is place(found, post(7, b"{torn", accept="*/*"))
    assert (1, 0) == place(found, post(7, b"{torn"))
    taken = http_matcher(post(1, b"{torn"), answers(1, response(1)))
    assert (1, 3) == place(taken, post(7, b"{torn", accept="*/*"))


def test_repeats_of_all_kinds() -> None:
    """Whatever came over HTTP can be repeated."""
    found = http_matcher(get(1), accepts(1, 405), post(2, notification("n")), post(3, b"{torn"))
    for frames, expected in ((get(7), 0), (post(7, notification("n")), 4), (post(7, b"{torn"), 6)):
        head = frames[0].fact
        assert isinstance(head, HttpRequest)
        assert [expected] == [m.event.index for m in found.repeats(ClientMessage(frames[-1], head))]


def test_strict_asks_for_no_place_of_streams() -> None:
    """In strict order a GET is found whenever it comes, and holds up nothing."""
    found = http_matcher(get(1), post(2, X), bodiless(3, "DELETE"), strict=True)

    assert [(2, 0), (3, 0), (0, 0)] == [
        place(found, live) for live in (post(7, X), bodiless(7, "DELETE"), get(7))
    ]


def test_near_misses_name_fields() -> None:
    """Where the heads differ, the miss says so."""
    found = http_matcher(post(1, X, accept="a/a"), answers(1, response(1), 406))
    [live_head, live] = post(7, X, accept="b/b")
    assert isinstance(live_head.fact, HttpRequest)
    asked = match_subject(live, live_head.fact)
    assert asked is not None

    [near] = found.near(asked)
    assert ("different", (Mismatch("header.accept", "a/a", "b/b"),)) == (near.why, near.differences)


@pytest.mark.parametrize("recorded_head", [True, False])
def test_near_misses_where_one_side_has_no_head(recorded_head: bool) -> None:
    """What the other one has there does not count."""
    asked, live = request(1, "x", {"a": 1}), request(1, "x", {"a": 2})
    found = (
        http_matcher(post(1, asked), answers(1, response(1)))
        if recorded_head
        else matcher(asked, loosest=4)
    )
    [live_head, message] = post(7, live)
    assert isinstance(live_head.fact, HttpRequest)
    subject = match_subject(message, None if recorded_head else live_head.fact)
    assert subject is not None

    assert ["$.a"] == [one.path for one in found.near(subject)[0].differences]


def test_near_misses_name_no_field_that_may_differ() -> None:
    """Another client may send other fields: only the arguments keep it from matching."""
    found = http_matcher(post(1, request(1, "x", {"a": 1}), accept="a/a"), answers(1, response(1)))
    [live_head, live] = post(7, request(1, "x", {"a": 2}), accept="b/b")
    assert isinstance(live_head.fact, HttpRequest)
    asked = match_subject(live, live_head.fact)
    assert asked is not None

    assert ["$.a"] == [one.path for one in found.near(asked)[0].differences]


def test_near_misses_name_a_session_that_nobody_had() -> None:
    """Outside any session, where a request that names one is a wrong one."""
    found = http_matcher(post(1, X, mcp_param_n="1"), answers(1, response(1)), stateless=True)
    [live_head, live] = post(7, X, session="wrong", mcp_param_n="2")
    assert isinstance(live_head.fact, HttpRequest)
    asked = match_subject(live, live_head.fact)
    assert asked is not None

    assert ["header.mcp-param-n", "header.mcp-session-id"] == sorted(
        one.path for one in found.near(asked)[0].differences
    )
