"""A replay under rules of the user: which recorded request answers one that differs."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from typing import Any

import pytest

from mcpmock.cassette.model import Cassette
from mcpmock.matching.match_rule import MatchRules
from mcpmock.playback.miss import Miss
from mcpmock.playback.player import (
    InexactAnswer,
    PlayerNote,
    PlayerOptions,
    SessionSelection,
)
from mcpmock.playback.session_player import SessionPlayer
from mcpmock.printable import shell_command
from tests.support import (
    Line,
    Script,
    answers,
    batch,
    c,
    call,
    cassette,
    in_session,
    over_http,
    post,
    replay_http,
    request,
    response,
    s,
    script,
)

ONE, TWO, THREE = (f"{n}23e4567-e89b-12d3-a456-426614174000" for n in (1, 2, 3))


def lines(*calls: tuple[str, dict[str, Any], Any]) -> list[Line]:
    """Calls one after the other: the tool, its arguments, and what it answered."""
    return [
        line
        for n, (tool, arguments, result) in enumerate(calls, 1)
        for line in (c(call(n, tool, **arguments)), s(response(n, {"said": result})))
    ]


class Asked:
    """A client of a player with rules, and what the player reported."""

    def __init__(self, recorded: Cassette, rules: Mapping[Any, list[str]], **playing: Any) -> None:
        self.told: list[Any] = []
        options = PlayerOptions(rules=MatchRules.parse(**rules), **playing)
        self.player = SessionPlayer(SessionSelection(recorded, options), self.told.append)
        self.script: Script = script(self.player)

    def raw(self, raw: bytes) -> Any:
        """The result's `said`; None for a miss."""
        [answer] = self.script.heard(raw)
        return json.loads(answer).get("result", {}).get("said")

    def call(self, tool: str, **arguments: Any) -> Any:
        return self.raw(call("x", tool, **arguments))

    @property
    def inexact(self) -> list[InexactAnswer]:
        return [one for one in self.told if isinstance(one, InexactAnswer)]


def asked(*calls: tuple[str, dict[str, Any], Any], **how: Any) -> Asked:
    rules = {name: how.pop(name) for name in ("ignore", "like", "echo") if name in how}
    return Asked(cassette(*lines(*calls)), rules, **how)


def test_calls_that_differ_in_noise_alone_get_their_answers_in_order() -> None:
    """The nth gets the nth, whatever the noise is; then there are none."""
    rules = {"like": ["$.arguments.id=uuid"]}
    client = asked(("f", {"id": ONE}, 1), ("f", {"id": TWO}, 2), **rules)

    assert [1, 2, None] == [client.call("f", id=THREE) for _ in range(3)]


def test_equal_calls_in_another_order_answer_each_its_own() -> None:
    """What is recorded exactly so comes first; of the rest the one with the most words in
    common.
    """
    recorded = [("f", {"q": q}, q) for q in ("flights", "hotels in Oslo", "cars 17", "trains 12")]
    client = asked(*recorded, ignore=["$.arguments.q"])

    for live, answer in [
        ("trains 99", "trains 12"),
        ("Oslo hotels", "hotels in Oslo"),
        ("cars 18", "cars 17"),
        ("anything", "flights"),
        ("anything", None),
    ]:
        assert answer == client.call("f", q=live)


def test_a_recorded_request_is_not_taken_by_a_rule_before_its_own_comes() -> None:
    """In any order: a live request that is recorded exactly so gets its own answer."""
    client = asked(("f", {"q": "a"}, 1), ("f", {"q": "b"}, 2), ignore=["$.arguments.q"])

    assert [2, 1] == [client.call("f", q="b"), client.call("f", q="a")]


@pytest.mark.parametrize(
    ("rules", "live", "answered"),
    [
        ({}, {"a": 1, "b": 2}, True),
        ({"ignore": ["$.arguments.a"]}, {"a": 9, "b": 2}, True),
        ({"ignore": ["$.arguments.a"]}, {"b": 2}, True),
        ({"ignore": ["$.arguments.c"]}, {"a": 1, "b": 2, "c": 3}, True),
        ({"ignore": ["$.arguments.a"]}, {"a": 9, "b": 9}, False),
        ({"ignore": ["$.params.arguments.a"]}, {"a": 9, "b": 2}, True),
        ({"ignore": ["$.arguments"]}, {"z": 9}, True),
        ({"ignore": ["$.arguments.*"]}, {"z": 9}, True),
        ({"ignore": ["$.result.a"]}, {"a": 9, "b": 2}, False),
        ({"ignore": ["tools/call f $.arguments.a"]}, {"a": 9, "b": 2}, True),
        ({"ignore": ["tools/call g $.arguments.a"]}, {"a": 9, "b": 2}, False),
        ({"like": ["$.arguments.a=number"]}, {"a": 9, "b": 2}, True),
        ({"like": ["$.arguments.a=string"]}, {"a": 9, "b": 2}, False),
        ({"like": ["$.arguments.a=number"]}, {"b": 2}, False),
        ({"like": ["$.arguments.a=string", "$.arguments.a=~10"]}, {"a": 9, "b": 2}, True),
        ({"like": ["$.arguments.a=string"], "ignore": ["$..a"]}, {"a": 9, "b": 2}, True),
        ({"like": ["$.arguments=object"]}, {"z": 9}, True),
        ({"ignore": ["$.arguments[?@==1]"]}, {"a": 9, "b": 2}, True),
        ({"ignore": ["$.arguments[?@==2]"]}, {"a": 9, "b": 2}, False),
        ({"ignore": ["$.arguments.a[*]"]}, {"a": [9], "b": 2}, False),
    ],
)
def test_what_rules_allow(
    rules: dict[str, list[str]], live: dict[str, Any], answered: bool
) -> None:
    """One rule that allows the difference is enough; a rule covers what is inside its place."""
    client = asked(("f", {"a": 1, "b": 2}, "yes"), **rules)

    assert ("yes" if answered else None) == client.call("f", **live)


TOKEN = "mcpmock:secret:token:1"


@pytest.mark.parametrize(
    ("recorded", "live", "answered"),
    [
        ({}, {"arguments": {"a": 1}}, True),
        ({"arguments": {}}, {"arguments": {"a": 1}}, True),
        ({"arguments": {"a": 1}}, {"arguments": None}, True),
        ({"arguments": {"a": TOKEN}}, {}, True),
        ({}, {"arguments": {"a": 1, "b": 1}}, False),
        ({"arguments": {"a": TOKEN, "b": 1}}, {}, False),
        ({}, {"context": {"arguments": {"a": 1}}}, True),
        ({"context": {"arguments": {"a": TOKEN}}}, {}, True),
        ({}, {"arguments": {"arguments": {"a": 1}}}, False),
        ({}, {"arguments": ["a"]}, False),
    ],
)
def test_what_is_empty_without_what_rules_ignore_counts_as_absent(
    recorded: dict[str, Any], live: dict[str, Any], answered: bool
) -> None:
    """As what is empty in a request does; in the members of a batch too."""
    one, other = (request(1, "tools/call", {"name": "f", **params}) for params in (recorded, live))
    rules = {"ignore": ["$.arguments.a", "$.context.arguments.a", "$.arguments.arguments.a"]}
    alone = Asked(cassette(c(one), s(response(1, {"said": "yes"}))), rules)
    batched = Asked(cassette(c(batch(one)), s(batch(response(1)))), rules)

    assert ("yes" if answered else None) == alone.raw(other)
    [raw] = batched.script.heard(batch(other))
    assert answered is (b"error" not in raw)


@pytest.mark.parametrize(
    ("rules", "live", "answered"),
    [
        (["$.arguments.tags=unordered"], ["c", "a", "b", "a"], True),
        (["$.arguments.tags=unordered"], ["c", "a", "b", "b"], False),
        (["$.arguments.tags=unordered"], ["a", "b", "c"], False),
        (["$.arguments.tags=unordered", "$.arguments.tags[*]=/[a-z]/"], ["z", "y", "c", "a"], True),
        (["$.arguments.tags=unordered", "$.arguments.tags[0]=/[ab]/"], ["b", "b", "c", "a"], True),
        (["$.arguments.tags=unordered", "$.arguments.tags[0]=/[a]/"], ["d", "b", "c", "a"], False),
        (["$.arguments.tags=unordered", "$.arguments.tags[0]=/[ab]/"], ["c", "a", "b", "b"], True),
        (["$.arguments.tags=unordered"], ["c", "a", "b", "a", "a"], False),
        (["$.arguments.tags=string"], ["c", "a", "b", "a"], False),
        (["$.arguments.tags=unordered"], "abac", False),
        (["$.arguments.tags=unordered"], {"a": 1, "b": 1, "c": 1, "d": 1}, False),
        (["$.arguments.tags=unordered"], None, False),
    ],
)
def test_a_list_in_any_order(rules: list[str], live: Any, answered: bool) -> None:
    """The same members, each as often, where rules on the members hold too."""
    client = asked(("f", {"tags": ["a", "b", "a", "c"]}, "yes"), like=rules)

    assert ("yes" if answered else None) == client.call("f", tags=live)


def test_a_text_is_no_list_in_any_order() -> None:
    """Whichever of the two it is."""
    client = asked(("f", {"tags": "abac"}, "yes"), like=["$.arguments.tags=unordered"])

    assert None is client.call("f", tags=["c", "a", "b", "a"])


def test_a_long_list_in_any_order() -> None:
    """Its members are the same to the value: more than 200 are not compared in pairs."""
    rules = ["$.arguments.tags=unordered", "$.arguments.tags[0]=number"]
    client = asked(("f", {"tags": [*range(201)]}, "yes"), like=rules)

    for last, said in ((201, None), (0, "yes")):
        assert said == client.call("f", tags=[*range(200, 0, -1), last])


@pytest.mark.parametrize(
    ("recorded", "live", "answered"),
    [
        ([1, 2], [3, 4, 5], True),
        ([1, 2], [3], True),
        ([[1], 2], [[1, 1], 2], True),
        ([1, 2], {"0": 1, "1": 2}, False),
        ([1, 2], "12", False),
        ([1, 2], 5, False),
        ({"x": 1}, [1], False),
    ],
)
def test_lists_of_another_length_beside_a_redacted_value(
    recorded: Any, live: Any, answered: bool
) -> None:
    """A rule for all members allows more and fewer of them; not something that is no list."""
    hole = "mcpmock:secret:token:1"
    client = asked(("f", {"t": recorded, "k": hole}, hole), ignore=["$.arguments.t[*]"])

    assert ("x" if answered else None) == client.call("f", t=live, k="x")


def test_the_method_and_the_name_always_count() -> None:
    """Whatever a rule selects."""
    for rule in ("$", "$..*", "$.params.name", "$.params", "$.name"):
        client = asked(("f", {"a": 1}, 1), ignore=[rule])
        assert None is client.call("g", a=1)
        assert None is client.raw(request(1, "prompts/get", {"name": "f", "arguments": {"a": 1}}))

    resource = c(request(1, "resources/read", {"uri": "file:///1"})), s(response(1, {"said": 1}))
    read = Asked(cassette(*resource), {"ignore": ["$.uri"]})
    assert 1 == read.raw(request(5, "resources/read", {"uri": "file:///2"}))


def test_each_member_of_a_batch_is_judged_by_itself() -> None:
    """By the rules for its own method and name."""
    both = batch(call(1, "f", a=1), call(2, "g", a=1))
    recorded = cassette(c(both), s(batch(response(1), response(2))))

    def answered(live: bytes, *ignore: str) -> bool:
        [raw] = Asked(recorded, {"ignore": [*ignore]}).script.heard(live)
        return b"error" not in raw

    assert answered(batch(call(1, "f", a=2), call(2, "g", a=1)), "tools/call f $.arguments.a")
    client = Asked(recorded, {"ignore": ["$.arguments.a"]})
    client.script.heard(batch(call(1, "f", a=1), call(2, "g", a=2)))
    assert ["$[1].params.arguments.a: recorded 1, asked 2"] == [
        note.text.partition("; ")[2] for note in client.told
    ]
    assert not answered(batch(call(1, "f", a=1), call(2, "g", a=2)), "tools/call f $.arguments.a")
    assert not answered(batch(call(1, "g", a=1), call(2, "f", a=1)), "$")


def test_redacted_values_are_variables_first() -> None:
    """A placeholder binds as ever where no rule is needed; a rule allows another value too."""
    hole = "mcpmock:secret:token:1"
    recorded = [("f", {"t": hole, "n": n}, hole) for n in (1, 2)]
    client = asked(*recorded, ignore=["$.arguments.n"])

    assert ["live-1", None] == [client.call("f", t=t, n=5) for t in ("live-1", "live-2")]
    assert "live-1" == client.call("f", t="live-1", n=6)

    client = asked(("f", {"t": hole}, hole), ("f", {"t": hole, "n": 1}, 2), ignore=["$..n"])
    assert ["live-1", 2] == [client.call("f", t="live-1", **more) for more in ({"n": 5}, {})]

    for rule in ("$.arguments", "$"):
        client = asked(*recorded, ignore=[rule])
        assert "live-1" == client.call("f", t="live-1", n=1)
        assert "live-1" == client.call("f", t="live-2", n=6)


@pytest.mark.parametrize(
    ("recorded", "live", "said"),
    [
        ("{}", "live-1", "live-1"),
        ({"a": ["{}", 1]}, {"a": ["live-1", 2]}, "live-1"),
        ({"a": ["x", {"b": "to {}"}]}, {"a": ["y", {"b": "to live-1"}, "z"]}, "live-1"),
        ({"a": "{}", "b": 1}, {"b": 2}, "{}"),
        (["{}"], "live-1", "{}"),
        ({"a": "{}"}, ["live-1"], "{}"),
        ({"a": "{}"}, "a", "{}"),
        (["a", "{}"], {"a": "live-1"}, "{}"),
        ({"{}": 1}, ["live-1"], "{}"),
        ([1, "{}"], [["x"], "live-1"], "live-1"),
        ("{}", ["live-1"], "{}"),
    ],
)
def test_redacted_values_are_bound_where_a_rule_allows_a_difference(
    recorded: Any, live: Any, said: str
) -> None:
    """As far as the two have the same shape."""
    hole = "mcpmock:secret:token:1"
    asked_for = json.loads(json.dumps(recorded).replace('{}"', f'{hole}"'))
    client = asked(("f", {"q": asked_for, "n": 1}, hole), ignore=["$.arguments"])

    assert said.replace("{}", hole) == client.call("f", q=live, n=2)


def test_redacted_numbers_are_bound_where_a_rule_allows_a_difference() -> None:
    """As texts are; what is no number is none of theirs."""
    hole = "mcpmock:secret:pin-number:1"
    for live, said in ((5, 5), ("5", 0)):
        client = asked(("f", {"q": {"pin": hole}, "n": 1}, hole), ignore=["$.arguments"])
        assert said == client.call("f", q={"pin": live}, n=2)


def test_a_value_of_another_kind_is_none_of_a_variable_under_another_rule() -> None:
    """The kind that the rule of the variable names counts, whatever else may differ."""
    rules = {"echo": ["$.arguments.id=uuid"], "ignore": ["$.arguments.n"]}
    client = asked(("f", {"id": ONE, "n": 1}, ONE), **rules)

    assert [None, TWO] == [client.call("f", id=id_, n=2) for id_ in ("none", TWO)]


@pytest.mark.parametrize(
    ("recorded", "live", "path"),
    [
        ({"c": [1, 2]}, {"c": [1, 3]}, ".c[1]"),
        ({"c": [1, 2]}, {"c": [1]}, ".c"),
        ([1], {"d": 1}, ""),
        ({"d": 1}, [1], ""),
        ("1", [1], ""),
        ("d", {"d": 1}, ""),
        ([1], 1, ""),
        ({"d": 1}, 1, ""),
        (["mcpmock:secret:token:1"] * 2, ["x", "y"], "[1]"),
    ],
)
def test_a_miss_names_only_what_no_rule_allows(recorded: Any, live: Any, path: str) -> None:
    """The innermost place; a list of another length differs as a whole."""
    client = asked(("f", {"a": 1, "b": recorded}, 1), ignore=["$.arguments.a"])

    assert None is client.call("f", a=2, b=live)
    assert ["$.arguments.b" + path] == [one.path for one in client.told[-1].near[0].differences]


def test_a_redacted_value_is_one_value_where_a_rule_allows_a_difference_too() -> None:
    """It is bound by what stands there, and the rest has to agree."""
    hole = "mcpmock:secret:token:1"
    recorded = ("f", {"q": {"key": hole, "n": 1}, "key": hole}, hole)
    client = asked(recorded, ignore=["$.arguments.q"])

    said = [client.call("f", q={"key": "a", "n": 2}, key=key) for key in ("b", "a")]
    assert [None, "a"] == said


def test_a_rule_that_makes_different_answers_equal_is_reported_once_for_each_tool() -> None:
    """With the events, and which of them was taken; not where the answers are the same."""
    client = asked(
        *(("f", {"q": q}, q) for q in ("cheap flights", "hotels", "cars")),
        ("g", {"q": "a"}, 1),
        ("g", {"q": "b"}, 1),
        ignore=["$.arguments.q"],
    )

    client.call("f", q="hotels please")
    client.call("f", q="x")
    client.call("g", q="x")

    [said] = client.inexact
    assert ("ambiguous", "tools/call", "f", 3, (1, 3, 5)) == (
        said.kind, said.method, said.name, said.taken, said.events,
    )  # fmt: skip
    assert said.line == (
        "tools/call f: a rule makes events 1, 3 and 5 equal although their answers differ: event 3 "
        "is taken, the nearest"
    )


def test_a_match_by_a_rule_is_a_note() -> None:
    """The event, the path, and both values, without secrets."""
    client = asked(("f", {"q": "a", "password": "b"}, 1), ignore=["$.arguments"])
    client.call("f", q="x", password="hunter22")

    [note] = client.told
    assert isinstance(note, PlayerNote)
    assert note.text.startswith("event 1 answers it by a rule; $.arguments: recorded ")
    assert "hunter22" not in note.text


@pytest.mark.parametrize(
    ("repeats", "said"), [("auto", [1, 2, None]), ("last", [1, 2, 2, 2]), ("cycle", [1, 2, 1, 2])]
)
def test_answers_are_repeated_where_the_option_allows_it(
    repeats: Any, said: list[int | None]
) -> None:
    """The unused ones first, then the nearest used one."""
    client = asked(
        ("f", {"q": "a"}, 1), ("f", {"q": "b"}, 2), ignore=["$.arguments"], repeats=repeats
    )

    assert said == [client.call("f", q="x") for _ in said]


def test_a_repeated_answer_is_the_only_one_that_would_do() -> None:
    """However many are equally near: the option says which is taken."""
    calls = [("f", {"x": n, "y": n}, n) for n in (1, 2)]
    client = asked(*calls, ignore=["$.arguments"], repeats="last")

    assert [1, 2, 2] == [client.call("f", x=x, y=y) for x, y in ((1, 3), (2, 4), (5, 6))]
    assert [] == client.inexact


def test_a_stub_answers_by_rules_any_number_of_times() -> None:
    """`--order any`: exactly first, then the nearest."""
    client = asked(
        ("f", {"q": "a b1"}, 1), ("f", {"q": "bee"}, 2), ignore=["$.arguments.q"], order="any"
    )

    assert [2, 1, 2, 2] == [client.call("f", q=q) for q in ("bee", "a b1", "a bee", "bee")]
    assert {1, 2} == {client.call("f", q="x") for _ in range(2)}
    assert [("ambiguous", (1, 3))] == [(one.kind, one.events) for one in client.inexact]


def test_strict_order_takes_only_the_next() -> None:
    """Even where a later one is nearer."""
    rules = {"ignore": ["$.arguments.q"]}
    client = asked(
        ("f", {"q": "one"}, 1), ("g", {}, 2), ("f", {"q": "two"}, 3), **rules, order="strict"
    )

    assert [1, None, 2, 3] == [
        client.call("f", q="two 2"),
        client.call("f", q="two 2"),
        client.call("g"),
        client.call("f", q="x"),
    ]


def test_a_session_that_needs_no_rules_is_preferred() -> None:
    """Then sessions narrow as they do without rules."""
    sessions: Any = (("f", {"q": "a"}, 1), ("g", {}, 2)), (("f", {"q": "b"}, 3), ("g", {}, 4))
    recorded = cassette(*lines(*sessions[0]), ("take", None), *lines(*sessions[1]))

    first = Asked(recorded, {"ignore": ["$.arguments.q"]})
    assert [3, 4] == [first.call("f", q="b"), first.call("g")]
    second = Asked(recorded, {"ignore": ["$.arguments.q"]})
    assert [1, 2] == [second.call("f", q="c"), second.call("g")]


def test_handshakes_know_no_rules() -> None:
    """They match by their method alone, as ever."""
    recorded = cassette(c(request(1, "initialize", {"a": 1})), s(response(1, {"said": 1})))
    client = Asked(recorded, {"like": ["$.a=string"]})

    assert 1 == client.raw(request(1, "initialize", {"a": 2}))
    assert None is client.raw(request(1, "initialize", {"a": 2}))


@pytest.mark.parametrize("noise", [b"noise", response(5), b'{"jsonrpc":"2.0","method":"n"}'])
def test_what_asks_nothing_beside_rules(noise: bytes) -> None:
    """No rule is for it, and none is in its way."""
    recorded = cassette(c(noise), *lines(("f", {"a": 1}, 1)))
    client = Asked(recorded, {"ignore": ["$", "$..a"]})

    assert [] == client.script.heard(noise)
    assert 1 == client.call("f", a=2)


def test_what_is_nested_too_deeply_matches_by_its_bytes() -> None:
    """No rule looks into it, and nothing fails."""
    for depth in (400, 3000):
        deep = b"[" * depth + b"]" * depth
        raw = b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":1,"d":%b}}' % deep
        client = Asked(cassette(c(raw), s(response(1, {"said": 1}))), {"ignore": ["$..a", "$..b"]})

        assert None is client.raw(raw.replace(b"[]", b"[1]"))
        assert 1 == client.raw(raw)


# Over HTTP.


def test_a_header_that_mirrors_a_loosened_argument_is_loosened() -> None:
    """It may repeat the live value; a header that repeats another value may not differ."""
    tool = {"mcp_method": "tools/call", "mcp_name": "f"}
    recorded = over_http(
        in_session(
            1,
            post(1, call(1, "f", region="eu", n=1), mcp_param_region="eu", mcp_param_n="1", **tool),
            answers(1, response(1, {"said": 1})),
        )
    )

    def status(
        region: str | None, n: str, *ignore: str, us: str | None = "us", many: int = 1
    ) -> list[str]:
        played = replay_http(recorded, stateless=True, rules=MatchRules.parse(ignore))
        asked = call(5, "f", n=many) if us is None else call(5, "f", region=us, n=many)
        return played.hears(0.0, post(5, asked, mcp_param_region=region, mcp_param_n=n, **tool))

    rule = "$.arguments.region"
    assert '5 {"jsonrpc":"2.0","id":5,"result":{"said":1}}' in status("us", "1", rule)
    assert "-31999" in str(status("us", "1"))
    assert "-31999" in str(status("us", "2", rule))
    assert "-31999" in str(status("xx", "1", rule))
    missed = str(status("us", "1", rule, many=2))
    assert [True, False] == ["$.arguments.n" in missed, "header.mcp-param-region" in missed]
    assert '"said":1' in str(status(None, "1", rule, us=None))
    assert "-31999" in str(status("us", "1", rule, us=None))
    assert '"said":1' in str(status("eu", "2", "$.arguments.n", us="eu", many=2))
    assert "-31999" in str(status("eu", "3", "$.arguments.n", us="eu", many=2))


def test_another_client_under_rules() -> None:
    """What its name says of it is forgiven at the level that forgives just that."""

    def said(name: str) -> tuple[Any, list[str]]:
        def asks(q: int, client: str) -> bytes:
            about = {"io.modelcontextprotocol/logLevel": client}
            return request(1, "tools/call", {"name": "f", "arguments": {"q": q}, "_meta": about})

        recorded = cassette(c(asks(1, "info")), s(response(1, {"said": 1})))
        client = Asked(recorded, {"ignore": ["$.arguments.q"]}, notes=False)
        return client.raw(asks(2, name)), [note.text for note in client.told]

    other = "matched in spite of another client's identity or capabilities"
    assert [(1, []), (1, [other])] == [said("info"), said("debug")]


@pytest.mark.parametrize(
    ("q", "meta", "answer"), [(3, {}, 2), (3, {"a/b": 1}, 1), (1, {}, 1), (2, {"a/b": 1}, 2)]
)
def test_metadata_counts_under_rules(q: int, meta: dict[str, Any], answer: int) -> None:
    """Of requests that differ by what a rule allows, the one that agrees in `_meta` answers."""

    def asks(id_: int, q: int, meta: dict[str, Any]) -> bytes:
        about = {"_meta": meta} if meta else {}
        return request(id_, "tools/call", {"name": "f", "arguments": {"q": q}, **about})

    both = [(1, asks(1, 1, {"a/b": 1})), (2, asks(2, 2, {}))]
    recorded = [line for n, raw in both for line in (c(raw), s(response(n, {"said": n})))]
    client = Asked(cassette(*recorded), {"ignore": ["$.arguments.q"]})

    assert answer == client.raw(asks(9, q, meta))


def test_exchanges_without_a_session_match_under_rules() -> None:
    """Each of the unused ones once, and with a client of another kind at a looser level."""
    recorded = over_http(
        in_session(
            1,
            *(
                step
                for n in (1, 2)
                for step in (post(n, call(n, "f", q=n)), answers(n, response(n, {"said": n})))
            ),
        )
    )
    played = replay_http(recorded, stateless=True, rules=MatchRules.parse(["$.arguments.q"]))

    for x, said in ((5, "1"), (6, "2"), (7, "-31999")):
        assert said in str(played.hears(0.0, post(x, call(x, "f", q=x), accept="*/*")))


# Misses, and answers of the nearest.


def test_a_miss_proposes_rules_that_make_the_run_match() -> None:
    """A kind where both values are of one; whatever the names of the members are."""
    recorded = {
        "id": ONE,
        "at": "2026-01-01T10:00Z",
        "day": "2026-01-01",
        "file": "/tmp/a",
        "see": "https://a/1",
        "q": "one",
        "a b": [1, {"c'd\"e": 1}],
        "=": 1,
        "\x1b": 1,
        "gone": 1,
    }
    live = {
        "id": TWO,
        "at": "2026-01-02 11:00",
        "day": "2026-01-02",
        "file": "/tmp/b",
        "see": "https://a/2",
        "q": "two",
        "a b": [2, {"c'd\"e": 2}],
        "=": 2,
        "\x1b": 1,
        "new": 1,
    }
    name = "a *tool's"
    client = asked((name, recorded, 1))
    assert None is client.call(name, **live)
    [miss] = [one for one in client.told if isinstance(one, Miss)]
    rules = miss.near[0].rules

    kinds = ["uuid", "datetime", "date", "path", "url"]
    assert kinds == [text.rpartition("=")[2] for option, text in rules if option == "like"]
    again: dict[str, list[str]] = {"ignore": [], "like": []}
    for option, text in rules:
        again[option] += shlex.split(shell_command([text]))
    assert 1 == asked((name, recorded, 1), **again).call(name, **live)
    for option in again:  # and none of them is needless
        for text in again[option]:
            fewer = {**again, option: [one for one in again[option] if one != text]}
            assert None is asked((name, recorded, 1), **fewer).call(name, **live)


@pytest.mark.parametrize(
    ("live", "paths", "rules"),
    [
        (
            [("a", {"x": 1}), ("b", {"y": 2})],
            ["$[2][1].arguments.y"],
            [("ignore", "tools/call b $.arguments.y")],
        ),
        (
            [("a", {"x": 3}), ("b", {"y": 2})],
            ["$[0][1].arguments.x", "$[2][1].arguments.y"],
            [("ignore", f"tools/call {at}") for at in ("a $.arguments.x", "b $.arguments.y")],
        ),
        (
            [("b", {"y": 1}), ("a", {"x": 1})],
            [
                *("$[0][1].name", "$[0][1].arguments.x", "$[0][1].arguments.y"),
                *("$[2][1].name", "$[2][1].arguments.y", "$[2][1].arguments.x"),
            ],
            [],
        ),
        ([("a", {"x": 1}), ("c", {"y": 1})], ["$[2][1].name"], []),
        ([("a", {"x": 1})], ["$"], []),
    ],
)
def test_a_missed_batch_says_what_differs(
    live: list[tuple[str, Any]], paths: list[str], rules: list[tuple[str, str]]
) -> None:
    """The places in the list of its methods and params; only its requests are in the words."""

    def posted(calls: list[tuple[str, Any]]) -> bytes:
        first, *rest = [call(n, tool, **given) for n, (tool, given) in enumerate(calls, 1)]
        return batch(first, b'{"jsonrpc":"2.0","method":"n"}', *rest, response("r"))

    said = batch(response(1), response(2))
    client = Asked(cassette(c(posted([("a", {"x": 1}), ("b", {"y": 1})])), s(said)), {})
    client.script.heard(posted(live))
    [miss] = client.told
    [near] = miss.near

    words = ", ".join(f"tools/call {tool} {json.dumps(given)}" for tool, given in live)
    assert f"of {words}".replace(": ", ":") == miss.asked
    assert paths == [one.path for one in near.differences]
    assert rules == [*near.rules]


@pytest.mark.parametrize(
    ("recorded", "live", "given", "proposed"),
    [
        ([1, 2, 3], [3, 1, 2], "", "like $.arguments.a=unordered"),
        ([{"x": 1}, {"x": 2}], [{"x": 2}, {"x": 1}], "", "like $.arguments.a=unordered"),
        ({"b": [1, 2]}, {"b": [2, 1]}, "", "like $.arguments.a.b=unordered"),
        ([[1, 2], [3]], [[2, 1], [3]], "", "like $.arguments.a[0]=unordered"),
        ([1, 2], [2, 1], "$.arguments.a[0]", "like $.arguments.a=unordered"),
        ([1, 2, 3], [3, 2, 2], "", "ignore $.arguments.a[0] ignore $.arguments.a[2]"),
    ],
)
def test_a_list_in_another_order_is_one_difference(
    recorded: Any, live: Any, given: str, proposed: str
) -> None:
    """For which one rule is proposed: the same members may come in any order."""
    client = asked(("f", {"a": recorded}, 1), ignore=[given] if given else [])
    assert None is client.call("f", a=live)
    [miss] = [one for one in client.told if isinstance(one, Miss)]

    rules = [f"{option} {text.split()[-1]}" for option, text in miss.near[0].rules]
    assert proposed == " ".join(rules)


def test_no_rules_are_proposed_where_none_help() -> None:
    """Where the name, a header, or the count of repeats is what differs."""
    client = asked(("f", {"q": 1}, 1))
    assert [None, 1, None] == [client.call("g", q=2), client.call("f", q=1), client.call("f", q=1)]
    misses = [one for one in client.told if isinstance(one, Miss)]

    assert [(), ()] == [one.near[0].rules for one in misses]


def test_the_nearest_answers_where_the_user_says_so() -> None:
    """Of the same method and tool; unused ones first; with the rules that would allow it."""
    client = asked(
        ("f", {"q": "red cars", "n": 1}, 1),
        ("f", {"q": "big hotels", "n": 2}, 2),
        on_miss="nearest",
    )

    assert [2, 1, 2] == [client.call("f", q="hotels", n=n) for n in (2, 3, 2)]
    assert None is client.call("g")
    first, *_ = client.inexact
    rule = "ignore", "tools/call f $.arguments.q"
    assert ("nearest", 3, (rule,)) == (first.kind, first.taken, first.rules)
    assert first.line.startswith("tools/call f: not in the recording; event 3 answers it, the near")
    assert 1 == client.player.missed


def test_what_is_told_of_the_nearest_has_no_secrets() -> None:
    client = asked(("f", {"q": "a", "password": "b"}, 1), on_miss="nearest")
    client.call("f", q="a", password="hunter22")

    [said] = client.inexact
    assert "$.arguments.password" in said.text
    assert "hunter22" not in said.text


def test_the_nearest_in_strict_order() -> None:
    """Nothing answers twice."""
    client = asked(("f", {"n": 1}, 1), ("f", {"n": 2}, 2), on_miss="nearest", order="strict")

    assert [1, 2, None] == [client.call("f", n=n) for n in (1, 3, 2)]
