"""Which recorded event answers a live message, and the near misses."""

from __future__ import annotations

from typing import Any

import pytest

from mcpmock.matching.match_rule import MatchRules
from mcpmock.playback.echo import Variables
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
    ends,
    get,
    hangs_up,
    in_session,
    notification,
    opens,
    over_http,
    plan_of,
    post,
    request,
    response,
    says,
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

    found.happened[1] = 0.0
    [near] = found.near(asked)
    assert ("different", (Mismatch("header.accept", "a/a", "b/b"),)) == (near.why, near.differences)
    assert () == near.allow


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


def test_a_request_of_a_session_that_is_over() -> None:
    """It answers nothing, in whatever words it comes."""
    found = matcher(request(1, "a"), request(2, "b"), request(3, "a"))
    found.first_place = 1

    assert [2, None] == [index(found, request(1, "a")) for _ in range(2)]
    assert [1] == [match.event.index for match in nearest(found, request(1, "b"))]


def test_a_request_is_no_notification() -> None:
    """What was never answered answers no request; a notification may stand for either."""
    recorded = notification("a"), request(2, "b"), notification("b")

    assert None is index(matcher(*recorded), request(1, "a"))
    found = matcher(*recorded)
    assert [1, 2] == [index(found, notification("b")) for _ in range(2)]


@pytest.mark.parametrize(
    ("live", "expected"), [(("me", "1"), 2), (("you", "1"), 1), (("you", "2"), 1), (("me", "9"), 2)]
)
def test_the_nearest_handshake(live: tuple[str, str], expected: int) -> None:
    """Of several it is the one of the same client, whichever was recorded first."""

    def hello(name: str, version: str) -> bytes:
        return request(1, "initialize", {"clientInfo": {"name": name, "version": version}})

    found = matcher(request(0, "ping"), hello("you", "1"), hello("me", "1"))

    assert expected == index(found, hello(*live))


def test_a_placeholder_that_comes_back_first() -> None:
    """It stands for itself, and binds nothing: the value may come later."""
    found = matcher(*(request(n, "a", {"k": HOLE}) for n in (1, 2, 3)))

    assert [0, 1, None] == [index(found, request(1, "a", {"k": k})) for k in (HOLE, "x", "y")]
    assert {HOLE: "x"} == found.bindings


def test_the_own_words_of_very_many_are_not_compared() -> None:
    """Of a hundred those that agree most are repeated, of more all."""
    asked = [request(1, "a", {"_meta": {"own": n}}) for n in range(101)]
    live = ClientMessage(c2s(request(1, "a", {"_meta": {"own": 7, "more": 1}})))

    assert [1, 101] == [
        len(matcher(*some, loosest=4).repeats(live)) for some in (asked[:100], asked)
    ]


def nearest(found: Matcher, raw: bytes) -> list[MatchResult]:
    return found.nearest(ClientMessage(c2s(raw)))


def _call(n: int, **arguments: Any) -> bytes:
    return request(n, "tools/call", {"name": "f", "arguments": arguments})


def test_the_nearest_requests() -> None:
    """The unused ones, the nearest first; used ones only if there is no other, and in strict order
    only the next.
    """
    asked = [_call(n, a=n, b=0) for n in (1, 2, 3)]
    found, strict = matcher(*asked), matcher(*asked, strict=True)

    def places(found: Matcher) -> list[int]:
        return [match.event.index for match in nearest(found, _call(9, a=2, b=1))]

    assert [[1, 0, 2], [0]] == [places(found), places(strict)]
    for one in (found, strict):
        one.happened |= {0: 0.0, 1: 0.0}
    assert [[2], [2]] == [places(found), places(strict)]
    for one in (found, strict):
        one.happened[2] = 0.0
    assert [[1, 0, 2], []] == [places(found), places(strict)]


@pytest.mark.parametrize(
    ("strict", "may_repeat", "live", "options"),
    [
        (False, False, _call(9, a=1), [("repeats", "last")]),
        (False, True, _call(9, a=1), []),
        (True, False, _call(9, a=1), [("repeats", "last")]),
        (True, True, _call(9, a=1), []),
        (True, False, _call(9, a=3), [("order", "causal")]),
        (True, True, _call(9, a=1, b=1), [("order", "causal")]),
        (True, False, _call(9, a=1, b=1), [("repeats", "last"), ("order", "causal")]),
        (True, False, _call(9, a=2, b=1), []),
        (False, False, _call(9, a=3, b=1), []),
        (False, False, request(9, "tools/call", {"name": "g", "arguments": {"a": 1}}), []),
    ],
)
def test_what_lets_a_request_answer(
    strict: bool, may_repeat: bool, live: bytes, options: list[tuple[str, str]]
) -> None:
    """A used one takes `repeats`, one out of its turn another order; not what is allowed anyway."""
    found = matcher(_call(1, a=1), _call(2, a=2), _call(3, a=3), strict=strict)
    found.happened[0] = 0.0
    asked = match_subject(c2s(live))
    assert asked is not None

    assert options == [*found.near(asked, may_repeat=may_repeat)[0].options]


def test_how_near_a_request_is() -> None:
    """By the places that differ, of which a list of another length has many; under rules by what
    they do not allow.
    """
    recorded = [_call(1, a=[1, 2, 3], b=1), _call(2, a=[4, 5, 6, 7], b=2)]
    plain, ruled = matcher(*recorded), matcher(*recorded)
    ruled.index.rules = MatchRules.parse(["$.arguments.a"])

    assert [[2, 1], [1, 2]] == [
        [one.n for one in near(found, _call(9, a=[4, 5, 6, 7], b=1))] for found in (plain, ruled)
    ]


def test_what_was_recorded_as_null() -> None:
    """A miss shows it, although it counts as absent."""
    [miss] = near(matcher(request(1, "x", {"cursor": None})), request(1, "x", {"cursor": "a"}))

    assert (Mismatch("$.cursor", None, "a"),) == miss.differences


def test_a_text_that_is_wanted_back_in_a_miss() -> None:
    """It is shown as it was recorded."""
    found = matcher(request(1, "x", {"a": HOLE, "b": 1}))
    found.index.variables = Variables({HOLE: "old"})
    [miss] = near(found, request(1, "x", {"a": 1, "b": 1}))

    assert (Mismatch("$.a", "old", 1),) == miss.differences


@pytest.mark.parametrize("rules", [None, ["$.b"]])
def test_a_request_that_nobody_can_decode(rules: list[str] | None) -> None:
    """Of its params all differs, whatever the rules say."""
    found = matcher(request(1, "x", {"a": 1}))
    found.index.rules = None if rules is None else MatchRules.parse(rules)
    deep = request(1, "x", "D").replace(b'"D"', b"[" * 100_000 + b"]" * 100_000)
    [miss] = near(found, deep)

    assert ["$"] == [one.path for one in miss.differences]


# Over HTTP.


@pytest.mark.parametrize("recorded_head", [True, False])
def test_other_words_of_a_client_where_one_side_has_no_head(recorded_head: bool) -> None:
    """They are forgiven there too."""
    asked, live = (request(1, "x", {"_meta": {"own": n}}) for n in (1, 2))
    if recorded_head:
        assert 1 == index(http_matcher(post(1, asked)), live)
    else:
        assert (0, 4) == place(matcher(asked, loosest=4), post(7, live))


@pytest.mark.parametrize("recorded_head", [True, False])
def test_a_placeholder_where_one_side_has_no_head(recorded_head: bool) -> None:
    """It stands for the live value all the same."""
    asked, live = (request(1, "x", {"k": k}) for k in (HOLE, "y"))
    if recorded_head:
        assert 1 == index(http_matcher(post(1, asked)), live)
    else:
        assert (0, 0) == place(matcher(asked), post(7, live))


@pytest.mark.parametrize(
    ("live", "fields", "expected"),
    [
        ({"k": "y", "n": 1}, {"mcp_param_k": "y"}, (1, 0)),
        ({"k": "y", "n": 1}, {"mcp_param_k": "y", "accept": "*/*"}, (1, 3)),
        ({"k": "y", "n": 1}, {"mcp_param_k": "z", "accept": "*/*"}, None),
        ({"k": "y", "n": 2}, {"mcp_param_k": "y"}, None),
        ({"k": "y", "n": 1}, {}, (1, 3)),
    ],
)
def test_placeholders_in_fields_of_another_client(
    live: Any, fields: Any, expected: tuple[int, int] | None
) -> None:
    """Whatever else differs in the head, one value is meant in the field and in the body."""
    recorded = request(1, "x", {"k": HOLE, "n": 1})
    found = http_matcher(post(1, recorded, mcp_param_k=HOLE), answers(1, response(1)))

    assert expected == place(found, post(7, request(1, "x", live), **fields))


@pytest.mark.parametrize("accept", ["application/json", "*/*"])
def test_a_placeholder_in_a_field_alone(accept: str) -> None:
    """It is bound where the field stands alone, at every level."""
    found = http_matcher(
        post(1, X, mcp_param_k=HOLE, accept="application/json"), answers(1, response(1))
    )
    [head, live] = post(7, X, mcp_param_k="y", accept=accept)
    assert isinstance(head.fact, HttpRequest)
    match = found.find(ClientMessage(live, head.fact))

    assert match is not None
    assert {HOLE: "y"} == match.bindings


@pytest.mark.parametrize(("stateless", "level"), [(False, 0), (True, 3)])
def test_a_session_in_the_query(stateless: bool, level: int) -> None:
    """In a session it has another name each time; outside of any it is what was asked for."""
    found = http_matcher(
        post(1, X, to="/m?sessionId=a"), answers(1, response(1)), stateless=stateless
    )

    assert (1, level) == place(found, post(7, X, to="/m?sessionId=b"))
    assert (1, 0) == place(found, post(7, X, to="/m?sessionId=a"))


@pytest.mark.parametrize(("id_", "expected"), [("1", (5, 0)), ("2", (5, 0)), ("9", None)])
def test_a_stream_that_is_resumed(id_: str, expected: tuple[int, int] | None) -> None:
    """At which of its events is chance; a stream that nobody knows is another one."""
    found = http_matcher(
        get(1),
        [*opens(1), *says(1, b"{}", id="1"), *says(1, b"{}", id="2"), ends(1)],
        get(2, last_event_id="1"),
        accepts(2),
    )
    [resumed] = [i for i, e in found.plan.client_events.items() if e.head and i]

    assert (expected and (resumed, 0)) == place(found, get(7, last_event_id=id_))


def test_near_misses_name_no_field_that_repeats_an_argument() -> None:
    """The argument is what differs, and not the field beside it."""
    asked, live = (request(1, "x", {"a": a, "b": 1}) for a in ("1", "2"))
    found = http_matcher(post(1, asked, mcp_param_a="1"), answers(1, response(1)))
    [live_head, message] = post(7, live, mcp_param_a="2")
    assert isinstance(live_head.fact, HttpRequest)
    subject = match_subject(message, live_head.fact)
    assert subject is not None

    assert ["$.a"] == [one.path for one in found.near(subject)[0].differences]


@pytest.mark.parametrize(("one", "other"), [("y", "y"), ("z", "z"), ("y", "z")])
def test_a_placeholder_in_several_fields(one: str, other: str) -> None:
    """All of them have the value that the body has."""
    asked, live = (request(1, "x", {"k": k}) for k in (HOLE, "y"))
    found = http_matcher(post(1, asked, mcp_param_k=HOLE, mcp_param_l=HOLE))

    assert ((1, 0) if one == other == "y" else None) == place(
        found, post(7, live, mcp_param_k=one, mcp_param_l=other)
    )


def loosened(found: Matcher, frames: list[Frame]) -> list[tuple[int, int]]:
    """The index and the level of what a live request stands for under rules about `$.a`."""
    found.index.rules = MatchRules.parse(["$.a"])
    head = frames[0].fact
    live = ClientMessage(frames[-1], head if isinstance(head, HttpRequest) else None)
    return [(match.event.index, match.level) for match in found.find_loosened(live)]


def test_rules_and_heads() -> None:
    """A request that needs a rule alone goes before one whose head differs too, however near; a
    refusal answers the very same head only; and a head counts only if both have one.
    """
    near_one, same = (request(1, "x", {"a": a}) for a in ("some words", "others"))
    live = request(1, "x", {"a": "some words more"})
    steps = post(1, near_one, accept="a/a"), answers(1, response(1))
    good = post(2, same), answers(2, response(1))
    refused = post(2, same), answers(2, response(1), 400)

    assert [(6, 0)] == loosened(http_matcher(*steps, *good), post(7, live))
    assert [(1, 3)] == loosened(http_matcher(*steps), post(7, live))
    assert [(6, 0)] == loosened(http_matcher(*steps, *refused), post(7, live))
    assert [] == loosened(http_matcher(*refused), post(7, live, accept="*/*"))
    assert [(1, 0)] == loosened(http_matcher(*steps), [c2s(live)])
    assert [(0, 0)] == loosened(matcher(near_one, loosest=4), post(7, live))


def test_rules_and_other_words_of_a_client() -> None:
    """A request whose client says the same goes before a nearer one, and one that agrees more
    before the others.
    """
    asked = [
        request(1, "x", {"a": "some words", "_meta": {"own": 1}}),
        request(2, "x", {"a": "others", "_meta": {"own": 2}}),
    ]
    found = matcher(*asked, loosest=4)

    def lives(own: int) -> list[Frame]:
        return [c2s(request(9, "x", {"a": "some words more", "_meta": {"own": own}}))]

    assert [[(1, 0)], [(0, 0)], [(0, 4), (1, 4)]] == [loosened(found, lives(n)) for n in (2, 1, 3)]


@pytest.mark.parametrize("loosest", [0, 1])
def test_a_rule_about_the_words_of_a_client(loosest: int) -> None:
    """Where no level forgives them, they are judged under the rule, as all else."""
    client = "io.modelcontextprotocol/logLevel"
    asked, live = (
        request(n, "x", {"_meta": {"own": n, **({client: n} if loosest == 0 else {})}})
        for n in (1, 2)
    )
    found = matcher(asked, loosest=loosest)
    found.index.rules = MatchRules.parse(["$._meta"])

    assert [0] == [match.level for match in found.find_loosened(ClientMessage(c2s(live)))]
