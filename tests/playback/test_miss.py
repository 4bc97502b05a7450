"""What a missed request gets."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import UNSET

from mcpmock.matching.match_rule import MatchRules
from mcpmock.options.replay import MissAction
from mcpmock.pipeline.stage import Send
from mcpmock.playback.miss import (
    ELSEWHERE,
    IN_ANY_TURN,
    REPEAT,
    STUBBED,
    Miss,
    NearMiss,
    first_near,
    hide_secrets,
    miss_error,
    near_misses,
    propose_rules,
    request_words,
)
from mcpmock.playback.player import PlayerNote, PlayerOptions, SessionSelection
from mcpmock.playback.request_assembly import ClientMessage
from mcpmock.playback.request_key import BATCH
from mcpmock.playback.session_player import SessionPlayer
from mcpmock.playback.stateless_player import StatelessPlayer
from mcpmock.playback.variables import Mismatch
from mcpmock.protocol.messages import HttpRequest
from tests.support import (
    STREAM,
    answers,
    batch,
    c,
    c2s,
    cassette,
    in_session,
    over_http,
    post,
    request,
    response,
    s,
    script,
)

MISS = Miss(
    "tools/call",
    (
        NearMiss(
            12,
            "different",
            (Mismatch("$.city", "Oslo", "Rome"),),
            (("ignore", "tools/call $.city"),),
        ),
        NearMiss(3, "already used"),
        NearMiss(STUBBED, "stubbed"),
    ),
)


def value(raw: bytes) -> Any:
    return json.loads(raw)


@pytest.mark.parametrize("id_", [b"1", b'"1"', b"1.0", b"null", b'"\\ud800"'])
def test_a_miss_keeps_the_spelling_of_the_id(id_: bytes) -> None:
    """The error carries the id as the client spelled it."""
    assert b'"id":%b,' % id_ in miss_error([id_], MISS, batch=False).raw


def test_a_miss_explains_itself() -> None:
    """A miss is -31999, names the method and the nearest recorded requests with what differs and
    why.
    """
    error = value(miss_error([b"1"], MISS, batch=False).raw)["error"]

    assert -31999 == error["code"]
    assert "tools/call" in error["message"]
    assert [
        {
            "event": 12,
            "why": "different",
            "differences": [{"path": "$.city", "recorded": "Oslo", "live": "Rome"}],
            "rules": ["tools/call $.city"],
            "allow": ["--ignore", "tools/call $.city"],
        },
        {"event": 3, "why": "already used", "differences": [], "rules": [], "allow": []},
        {"event": None, "why": "stubbed", "differences": [], "rules": [], "allow": []},
    ] == error["data"]["near"]


def test_a_miss_of_a_batch_answers_each_request() -> None:
    """Each request of a batch gets its own error, in one batch."""
    answers = value(miss_error([b"1", b'"a"'], MISS, batch=True).raw)

    assert [(1, -31999), ("a", -31999)] == [(one["id"], one["error"]["code"]) for one in answers]


@pytest.mark.parametrize(
    "odd", ["\ud800", b"raw", 10**30, 1e300, float("inf"), None, [{"a": "\udfff"}]]
)
def test_a_miss_can_tell_of_any_value(odd: Any) -> None:
    """Whatever stands in the recording or in the live request, the miss can be told."""
    miss = Miss("x", (NearMiss(1, "different", (Mismatch("$.a", odd, odd),)),))

    assert -31999 == value(miss_error([b"1"], miss, batch=False).raw)["error"]["code"]


@pytest.mark.parametrize(
    ("recorded", "asked", "said"),
    [
        ("paypal", "p\u0430ypal", '"paypal", asked "p\\u0430ypal"'),
        ("a b", "a\u00a0b", '"a b", asked "a\\u00a0b"'),
        ("\u00e9", "e\u0301", '"\\u00e9", asked "e\\u0301"'),
        ("a-b", "a\u2010b", '"a-b", asked "a\\u2010b"'),
        ("p\u0430ypal", "paypal", '"p\\u0430ypal"'),
        ("Oslo", "Bergen", '"Oslo"'),
    ],
)
def test_a_message_about_texts_that_look_alike(recorded: str, asked: str, said: str) -> None:
    """It shows both, with what differs escaped: the request itself is shown as it is."""
    near = NearMiss(3, "different", (Mismatch("$.arguments.t", recorded, asked),))
    miss = Miss("tools/call", (near,), asked=f'a {{"t":"{asked}"}}')

    message = value(miss_error([b"1"], miss, batch=False).raw)["error"]["message"]
    assert f"nearest: event 3, $.arguments.t {said}" == message.partition("; ")[2]


def test_a_miss_of_an_odd_method() -> None:
    """A method that no encoder takes can be named too."""
    assert 1 == value(miss_error([b"1"], Miss("\ud800", ()), batch=False).raw)["id"]


@pytest.mark.parametrize("rules", [None, MatchRules.parse(["$.other"])])
@pytest.mark.parametrize("on_miss", ["error", "nearest"])
@pytest.mark.parametrize(
    ("recorded", "asked"),
    [
        ({"a": [0, 1, 2]}, {"a": [0, 5, 2]}),
        ({"a": [0, 1]}, {"a": [0, 5]}),
        ({"a": {"b": 1}}, {"a": {"b": 2}}),
        ([1, 2], [1, 3]),
        ([[1, 2]], [[1, 3]]),
        ([["x", {"a": 1}]], [["x", {"a": 3}]]),
        ([["x", {"n": 1}]], [["x", {"n": 2}]]),
    ],
)
def test_a_method_that_is_named_batch(
    recorded: Any, asked: Any, on_miss: MissAction, rules: MatchRules | None
) -> None:
    """It is one as any other, and none of its requests is a batch."""
    batched, answer = batch(request(1, "x", {"n": 1})), batch(response(1, {"batch": 1}))
    steps = [c(batched), s(answer), c(request(1, "batch", recorded)), s(response(1, {"one": 1}))]
    options = PlayerOptions(rules=rules, on_miss=on_miss)
    player = SessionPlayer(SessionSelection(cassette(*steps), options))
    player.begin(0)

    def said(raw: bytes) -> bytes:
        return b"".join(
            frame.raw
            for action in player.feed([c2s(raw)], 0)
            if isinstance(action, Send)
            for frame in action.frames
        )

    answered = on_miss == "nearest"
    assert (b'"one":1' in said(request(7, "batch", asked))) is answered
    assert (b'"batch":1' in said(batch(request(8, "x", {"n": 2})))) is answered


@pytest.mark.parametrize("stateless", [False, True])
@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize("batched", [False, True])
def test_a_header_that_is_not_sent(stateless: bool, number: int, batched: bool) -> None:
    """Its place is in no body, not in that of a batch, nor in one with a member of its name."""
    asked, other = (request(1, "x", {"accept": "body", "n": n}) for n in (1, number))
    asked, other = (batch(asked), batch(other)) if batched else (asked, other)
    session = None if stateless else "one"
    told: list[Miss | PlayerNote] = []
    player = (StatelessPlayer if stateless else SessionPlayer)(
        SessionSelection(
            over_http(in_session(1, post(1, asked, session=session), answers(1, response(1)))),
            PlayerOptions(exact=True),
        ),
        told.append,
    )
    script(player).abandon().hears(0.0, post(5, other, session=session, accept=None))

    [miss] = told
    assert isinstance(miss, Miss)
    assert Mismatch("header.accept", f"application/json, {STREAM}", UNSET) in (
        miss.near[0].differences
    )


@pytest.mark.parametrize("stateless", [False, True])
def test_a_posted_body_that_is_no_message(stateless: bool) -> None:
    """It gets 400, and is a miss; one that was recorded so is none."""
    session = None if stateless else "one"
    steps = [post(1, b"odd", session=session), answers(1, b"{}", 400)]
    told: list[Miss | PlayerNote] = []
    recorded = over_http(in_session(1, *steps))
    player = (StatelessPlayer if stateless else SessionPlayer)(
        SessionSelection(recorded, PlayerOptions()), told.append
    )
    played = script(player).abandon()

    assert "5 400 application/json" in played.hears(0.0, post(5, b"odd", session=session))
    assert [] == told
    assert "6 400 application/json" in played.hears(1.0, post(6, b"hello", session=session))
    assert "7 400 application/json" in played.hears(2.0, post(7, b" ", session=session))
    miss, empty = told
    assert isinstance(empty, Miss)
    assert '1 byte, no JSON-RPC message; nothing answers it: " "' in empty.sentence
    assert isinstance(miss, Miss)
    assert '5 bytes, no JSON-RPC message; nothing answers it: "hello"' in miss.sentence
    assert 2 == player.missed


def test_what_a_miss_says_of_heads() -> None:
    """Of a header that differs both values, and no secret of a head, wherever it stands."""
    head = HttpRequest("POST", "/mcp", [("Authorization", "Bearer zK3q9Xw74711")])
    live = ClientMessage(c2s(request(1, "x", {"a": "is zK3q9Xw74711"})), head)
    differs = Mismatch("header.accept", "a/a", "b/b")
    [told], _ = hide_secrets(
        [
            NearMiss(
                1, "different", (differs, Mismatch("$.a", "no", "is zK3q9Xw74711", ("params", "a")))
            )
        ],
        live,
        {},
    )

    assert differs == told.differences[0]
    assert "is mcpmock:secret:authorization:1" == told.differences[1].live


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        (("$.a",), "; allow with --ignore '$.a'"),
        (("$.a", "$.b"), "; allow with --ignore '$.a' and 1 more rule"),
    ],
)
def test_the_rules_that_a_line_has_room_for(rules: tuple[str, ...], said: str) -> None:
    """One, and how many more."""
    near = NearMiss(1, "different", rules=tuple(("ignore", rule) for rule in rules))

    assert Miss("x", (near,)).sentence.endswith(said)


def test_what_allows_the_least() -> None:
    """Of several the one that takes the fewest options, its options before its rules."""
    none, two = NearMiss(1, "different"), NearMiss(2, "different", (), tuple(RULES))
    both = NearMiss(3, "different", rules=tuple(RULES[:1]), options=(REPEAT, IN_ANY_TURN))

    assert Miss("x", (none, both, two)).sentence.endswith(
        "allow with --ignore '$.a' and 1 more rule"
    )
    assert Miss("x", (none, both)).sentence.endswith(
        "allow with --repeats last --order causal --ignore '$.a'"
    )


RULES = [("ignore", "$.a"), ("like", "x $.b")]


@pytest.mark.parametrize(
    ("rules_in", "options", "keywords", "said"),
    [
        ("", RULES, False, "--ignore '$.a' --like 'x $.b'"),
        ("", [*RULES, REPEAT], False, "--ignore '$.a' --like 'x $.b' --repeats last"),
        ("", [*RULES, REPEAT], True, "ignore=['$.a'], like=['x $.b'], repeats='last'"),
        ("", RULES[:1], True, "ignore=['$.a']"),
        ("", [REPEAT], True, "repeats='last'"),
        ("", [], False, ""),
        ("a.jsonl", RULES, True, "`mcpmock fmt a.jsonl --ignore '$.a' --like 'x $.b'`"),
        ("a.jsonl", [*RULES, REPEAT], True, "ignore=['$.a'], like=['x $.b'], repeats='last'"),
        ("a.jsonl", [], False, ""),
    ],
)
def test_how_options_are_given(rules_in: str, options: Any, keywords: bool, said: str) -> None:
    """As words of a command line, in Python, or, if all are rules, to the cassette itself."""
    assert said == Miss("x", (), rules_in=rules_in).spell(options, keywords=keywords)


def test_a_rule_that_is_too_long_for_a_line() -> None:
    """It is not in the sentence."""
    near = NearMiss(1, "different", rules=(("ignore", f"$.{'a' * 300}"),))

    assert Miss("x", (near,)).sentence.endswith("nearest: event 1, different")


def test_differences_in_words() -> None:
    """Three are shown to a reader and ten to a program; what is not there is absent, or null."""
    found = tuple(Mismatch(f"$.n{n}", UNSET, n) for n in range(12))
    near = NearMiss(3, "different", found)

    assert "$.n0: recorded absent, asked 0; $.n1: " in near.describe()
    assert near.describe().endswith("$.n2: recorded absent, asked 2; and 9 more")
    assert "; $.n0: stubbed absent, asked 0" == NearMiss(STUBBED, "", found[:1]).describe()
    [told] = near_misses(Miss("x", (near,)))
    assert [(n, None) for n in range(10)] == [
        (d["live"], d["recorded"]) for d in told["differences"]
    ]


def test_the_nearest_in_a_sentence() -> None:
    """It is said where it was, the first difference, and how many more there are; the live value
    only where the request itself is cut off.
    """
    found = tuple(Mismatch(f"$.n{n}", n, UNSET) for n in range(3))
    miss = Miss("x", (NearMiss(STUBBED, "stubbed", found),), "recorded with 1, asked with 2", "f")
    cut = Miss("x", (NearMiss(3, "different", found[:1]),), asked="f {...")
    path = (NearMiss(3, "different", (Mismatch("$.n0", 0, r"C:\users"),)),)

    assert miss.sentence.endswith(
        " x f (recorded with 1, asked with 2); nearest: the stub, $.n0 0 and 2 more"
    )
    assert cut.sentence.endswith("nearest: event 3, $.n0 0, asked absent")
    assert Miss("x", path, asked=r'{"n0":"C:\\users"}').sentence.endswith("3, $.n0 0")
    assert "nothing recorded answers x" == Miss("x", ()).sentence


def test_what_is_no_message_in_a_sentence() -> None:
    """It is said as it is, without control bytes, and without what a request would have."""
    miss = Miss("x", (NearMiss(1, "different"),), unread="the client sent \x1b[1m")

    assert miss.sentence == miss.summarize()
    assert "the client sent" == miss.sentence[:15]
    assert "\x1b" not in miss.sentence
    assert "nearest" not in miss.sentence


def near(n: int, *, same_name: bool = True, rules: int = 0, why: str = "different") -> NearMiss:
    allowed = (("ignore", "$.a"),) * rules
    return NearMiss(n, why, rules=allowed, distance=(n % 10, 0), same_name=same_name)


@pytest.mark.parametrize(
    ("found", "shown"),
    [
        ([near(3), near(1), near(4), near(2)], [1, 2, 3]),
        ([near(1, same_name=False), near(2)], [2]),
        ([near(2, same_name=False), near(1, same_name=False)], [1, 2]),
        ([near(1, why=ELSEWHERE), near(11)], [11, 1]),
        ([near(1), near(2), near(3), near(5, rules=1), near(4, rules=2)], [1, 2, 4]),
        ([near(1), near(2, rules=1), near(3), near(4, rules=1)], [1, 2, 3]),
        ([near(1), near(2), near(3), near(5), near(4, same_name=False, rules=1)], [1, 2, 4]),
        ([near(2, same_name=False, rules=1), near(6), near(5, rules=1)], [5, 6]),
        ([near(1), near(2, same_name=False, rules=1)], [1, 2]),
        ([], []),
    ],
)
def test_which_near_misses_are_shown(found: list[NearMiss], shown: list[int]) -> None:
    """The nearest three, those of the same name alone if there are any, and here before elsewhere;
    one that options let answer is among them if there is one.
    """
    assert shown == [one.n for one in first_near(found)]


CALL = {"name": "f", "arguments": {"a": 1}}


@pytest.mark.parametrize(
    ("method", "params", "said"),
    [
        ("tools/call", CALL, 'f {"a":1}'),
        ("tools/call", {"name": "f", "arguments": {}}, "f"),
        ("tools/call", {**CALL, "_meta": {"own": 1}}, 'f {"a":1}'),
        ("tools/call", {**CALL, "x": 2}, 'f {"arguments":{"a":1},"x":2}'),
        ("tools/call", {"arguments": {"a": 1}}, '{"arguments":{"a":1}}'),
        ("tools/call", {"name": 5}, '{"name":5}'),
        ("resources/read", {"uri": "a://b"}, "a://b"),
        ("x", {"arguments": {"a": 1}, "name": "f"}, '{"arguments":{"a":1},"name":"f"}'),
        ("x", [1], "[1]"),
        ("x", {}, ""),
        ("x", None, ""),
    ],
)
def test_a_request_in_words(method: str, params: Any, said: str) -> None:
    """The name where the method has one, and of the rest what says something."""
    assert said == request_words(method, params)


@pytest.mark.parametrize(
    ("method", "params", "places", "rules"),
    [
        ("tools/call", CALL, [("arguments", "a")], ["tools/call f $.arguments.a"]),
        ("tools/call", CALL, [("_meta", "own"), ("_meta", "other")], ["$._meta"]),
        ("tools/call", CALL, [("arguments", "a"), ("name",)], []),
        ("tools/call", CALL, [()], []),
        ("resources/read", {"uri": "a://b"}, [("uri",)], ["resources/read $.uri"]),
        ("x", {"name": "f"}, [("name",)], ["x $.name"]),
        (
            BATCH,
            [["tools/call", CALL], ["x", {"a": 1}]],
            [(0, 1, "arguments", "a"), (1, 1, "a")],
            ["tools/call f $.arguments.a", "x $.a"],
        ),
        (BATCH, [["x", {}]], [(0, 0)], []),
        (BATCH, [["x", {}]], [(0, 1)], []),
        (BATCH, [["x", {}]], [()], []),
    ],
)
def test_which_rules_are_proposed(method: str, params: Any, places: Any, rules: list[str]) -> None:
    """One for each place, with the method and its name; none if one place cannot be allowed."""
    differences = [Mismatch("$", 1, 2, place) for place in places]

    assert [("ignore", rule) for rule in rules] == [*propose_rules(method, params, differences)]


def test_what_a_miss_says_of_a_secret_in_a_list() -> None:
    """A member counts as what its list is called; what counts as absent is said as it was sent; a
    rule that would hold a secret is not proposed.
    """
    secret = "zK3q9Xw74711"
    raw = request(1, "x", {"password": [secret, secret], "n": None, "api_key": secret})
    found = (
        Mismatch("$.password[1]", "old", secret, ("password", 1)),
        Mismatch("$.n", 1, UNSET, ("n",)),
        Mismatch("$.m", 1, UNSET, ("m",)),
    )
    told, asked = hide_secrets(
        [
            NearMiss(1, "", found, (("ignore", "x $.n"),)),
            NearMiss(2, "", rules=(("ignore", f"x $.{secret}"),)),
        ],
        ClientMessage(c2s(raw)),
        {},
    )

    assert secret not in f"{told} {asked}"
    assert "old" != told[0].differences[0].recorded
    assert [None, UNSET] == [one.live for one in told[0].differences[1:]]
    assert [1, 0] == [len(one.rules) for one in told]


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (
            batch(request(1, "tools/call", CALL), response(2), request(3, "x")),
            'of tools/call f {"a":1}, x',
        ),
        (request(1, "x", [1]), "[1]"),
        (request(1, "x"), ""),
        (b"noise", ""),
        (response(1), ""),
    ],
)
def test_what_was_asked_in_words(raw: bytes, said: str) -> None:
    """Of a batch each request; of what asks nothing nothing."""
    assert ([], said) == hide_secrets([], ClientMessage(c2s(raw)), {})
