"""`--echo`: texts of requests that come back in answers, as the live client wrote them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcpmock.cassette.model import Cassette
from mcpmock.matching.match_rule import MatchRules
from mcpmock.playback.echo import Variables
from mcpmock.playback.player import PlayerOptions, SessionSelection
from mcpmock.playback.session_player import SessionPlayer
from mcpmock.redaction.json_escapes import StringSpelling
from tests.support import (
    Script,
    answers,
    batch,
    c,
    call,
    cassette,
    dump,
    in_session,
    over_http,
    player_of,
    post,
    replay_http,
    request,
    response,
    s,
    script,
)

SPELLINGS = [StringSpelling(), StringSpelling("x"), StringSpelling("X"), StringSpelling("x", True)]


def echoing(recorded: Cassette, *rules: str, **playing: Any) -> Script:
    options = PlayerOptions(rules=MatchRules.parse(echo=rules), **playing)
    return script(SessionPlayer(SessionSelection(recorded, options)))


def asked(played: Script, raw: bytes) -> Any:
    """The last of what comes of a request."""
    return json.loads(played.heard(raw)[-1])


@pytest.mark.parametrize("order", ["strict", "causal", "any"])
@pytest.mark.parametrize("live", ["Zo\u00eb <\u2603>/", "Gr\u00fc\u00df </>, \U0001f600"])
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_escapes_stay(spelling: StringSpelling, live: str, order: str) -> None:
    """JSON inside of a text has the escapes that the server wrote, in each value and around it."""

    def told(value: str) -> Any:
        spell = spelling.spell
        inner = f'{{"rest": "{spell(rest)}", "note": "{spell(value)}", "n": 1}}'
        return said(f'{{"a": "{spell(inner)}", "to": "{spell(f"to {value}!")}"}}')

    rest = "\u00e9/"
    recorded = "Zo\u00eb <\u2603>/"
    answered = (c(call(1, "t", q=recorded, n=1)), s(response(1, told(recorded))))
    played = echoing(cassette(*answered), "$.arguments.q", order=order)
    assert told(live) == asked(played, call(9, "t", q=live, n=1))["result"]


@pytest.mark.parametrize("order", ["strict", "causal", "any"])
@pytest.mark.parametrize("live", [7, 1.5e300, -0.25, 10**24])
def test_numbers_are_loosened_and_not_given_back(live: float, order: str) -> None:
    """The answer has the recorded number."""
    answered = (c(call(1, "t", q=4711)), s(response(1, said('{"q": 4711}'))))
    played = echoing(cassette(*answered), "$.arguments.q", order=order)
    assert said('{"q": 4711}') == asked(played, call(9, "t", q=live))["result"]


def said(text: str) -> Any:
    return {"content": [{"type": "text", "text": text}]}


@pytest.mark.parametrize(
    ("recorded", "answer", "live", "expected"),
    [
        ("Oslo", "Oslo", "Rome", "Rome"),
        ("Oslo", "Oslo: rain", "Rome", "Oslo: rain"),  # too short to be found inside of a text
        ("Trondheim", "In Trondheim: rain", "Rome", "In Rome: rain"),
        ("Trondheim", "Trondheimsfjord", "Rome", "Trondheimsfjord"),
        ("New York City", "New York City, NY; New York Citysomething", 'a"b\n', None),
        ("text", "text", "image", "image"),
        ("Tromsø by", '{"city":"Tromsø by"}', 'q"uote', '{"city":"q\\"uote"}'),
        ("/tmp/data", "read /tmp/data: 3 lines", "/home/x", "read /home/x: 3 lines"),
        (
            "/tmp/data",
            "/tmp/data/a.txt, /var/tmp/data, /tmp/database",
            "/x",
            "/x/a.txt, /var/tmp/data, /tmp/database",
        ),
        ("/tmp/data/", "in /tmp/data/a.txt", "/x/", "in /x/a.txt"),
        ("(the end)", "at (the end).", "now", "at now."),
        ("~/a b/ç!", "wrote ~/a b/ç!", "c", "wrote c"),
        ("--colour=red", "--colour=red --colour=redder", "-c", "-c --colour=redder"),
        ("C:\\data\\in", "C:\\data\\in is open", "D:\\", "D:\\ is open"),
        ("C:\\data\\in", '{"at":["C:\\\\data\\\\in"]}', 'D:\\"', '{"at":["D:\\\\\\""]}'),
        ("Oslo", '{"city":"Oslo","in":"Oslo N"}', "Rome", '{"city":"Rome","in":"Oslo N"}'),
        ("Oslo", '["{\\"city\\":\\"Oslo\\"}"]', 'a"', '["{\\"city\\":\\"a\\\\\\"\\"}"]'),
        ("........", "wait ........", "x", "wait ........"),  # no word
        ("C:\\data\\in", 'got {"at": "C:\\\\data\\\\in"}!', "D:\\x", 'got {"at": "D:\\\\x"}!'),
        ("C:\\data\\in", 'got ["a", "C:\\\\data\\\\in"]', 'q"', 'got ["a", "q\\""]'),
        ("C:\\data\\in", "escaped: C:\\\\data\\\\in", "D:\\", "escaped: C:\\\\data\\\\in"),
        ("Tromsø by", 'in {"city": "Troms\\u00f8 by"}: 3', "é", 'in {"city": "\\u00e9"}: 3'),
        ("Tromsø by", 'in {"city": "Troms\\u00F8 by"}: 3', "ë", 'in {"city": "\\u00EB"}: 3'),
        ("/tmp/data", 'at {"p": "\\/tmp\\/data"}', "/a/b", 'at {"p": "\\/a\\/b"}'),
        ("a <b> & c", 'is {"q": "a \\u003cb\\u003e \\u0026 c"}', "<", 'is {"q": "\\u003c"}'),
        ("two\nlines", 'is {"q": "two\\nlines"}', "a\nb", 'is {"q": "a\\nb"}'),
        (
            "New York",
            "see https://x/?q=New%20York&n=1",
            "São P",
            "see https://x/?q=S%C3%A3o%20P&n=1",
        ),
        ("Tromsø by", "x://t/Troms%C3%B8%20by/1 (Tromsø by)", "Oslo", "x://t/Oslo/1 (Oslo)"),
        ("/tmp/a b", "/x?p=%2Ftmp%2Fa%20b.", "~", "/x?p=~."),
        ("a b+c&d=1", "?q=a%20b%2Bc%26d%3D1", "50% off", "?q=50%25%20off"),
        ("Trondheim", "[Trondheim] rain {", "Rome", "[Rome] rain {"),
        ("Trondheim", "{Trondheim", "Rome", "{Rome"),
    ],
)
def test_an_answer_carries_the_live_text(
    recorded: str, answer: str, live: str, expected: str | None
) -> None:
    """As a whole value anywhere, and from eight characters on as a whole word inside a text."""
    answered = cassette(c(call(1, "f", city=recorded)), s(response(1, said(answer))))
    expected = 'a"b\n, NY; New York Citysomething' if expected is None else expected

    for city, told in ((live, expected), (recorded, answer)):
        played = echoing(answered, "$.arguments.city")
        assert said(told) == asked(played, call(1, "f", city=city))["result"]


def test_what_was_left_over_has_the_recorded_text() -> None:
    """Nothing in it is secret."""
    played = echoing(cassette(c(call(1, "f", city="Oslo")), s(response(1))), "$.arguments.city")
    played.heard(call(1, "g"))

    assert ['1 recorded request never came: tools/call f {"city":"Oslo"} (event 1)'] == player_of(
        played
    ).leftovers()


def test_without_the_option_no_byte_changes() -> None:
    """Nor does what comes before the request."""
    note = b'{"jsonrpc":"2.0","method":"n","params":{"city":"Oslo"}}'
    events = s(note), c(call(1, "f", city="Oslo")), s(response(1, said("Oslo")))
    first = echoing(cassette(*events), "$.arguments.city")

    assert [note] == [frame.raw for frame in first._out]
    first._out.clear()
    assert said("Rome") == asked(first, call(1, "f", city="Rome"))["result"]
    ignoring = PlayerOptions(rules=MatchRules.parse(ignore=["$.arguments.city"]))
    played = script(SessionPlayer(SessionSelection(cassette(*events[1:]), ignoring)))
    assert [response(1, said("Oslo"))] == played.heard(call(1, "f", city="Rome"))


def test_later_uses_agree() -> None:
    """The first live value binds the text; it is matched as a redacted value is."""
    played = echoing(
        cassette(
            *(c(call(1, "make", id="item-0001")), s(response(1, said("made item-0001")))),
            *(c(call(2, "get", item="item-0001")), s(response(2, said("got item-0001")))),
        ),
        "tools/call make $.arguments.id",
    )

    assert said("made mine") == asked(played, call(1, "make", id="mine"))["result"]
    assert -31999 == asked(played, call(2, "get", item="item-0001"))["error"]["code"]
    assert said("got mine") == asked(played, call(3, "get", item="mine"))["result"]


def test_another_text_at_its_own_place_is_told_with_the_recorded_one() -> None:
    """The rule allows it there, and the note names what was recorded."""
    said_again = [line for n in (1, 2) for line in (c(call(n, "f", q="red cars")), s(response(n)))]
    told: list[Any] = []
    options = PlayerOptions(rules=MatchRules.parse(echo=["$.arguments.q"]), notes=True)
    played = script(SessionPlayer(SessionSelection(cassette(*said_again), options), told.append))
    for live in ("blue bikes", "green boats"):
        played.heard(call(1, "f", q=live))

    [note] = told
    assert note.text.endswith('$.arguments.q: recorded "red cars", asked "green boats"')


def test_a_text_that_nobody_bound_is_sent_as_recorded() -> None:
    """Its request never came."""
    played = echoing(
        cassette(
            *(c(call(1, "make", id="item-0001")), s(response(1))),
            *(c(request(2, "list")), s(response(2, said("item-0001")))),
        ),
        "$.arguments.id",
    )

    assert said("item-0001") == asked(played, request(1, "list"))["result"]


def test_a_kind_is_asked_of_the_live_text() -> None:
    """Another text is none of this rule's, but the recorded one always is."""
    for live, found in (("2026-02-01", True), ("2026-01-01", True), ("tomorrow", False)):
        played = echoing(
            cassette(c(call(1, "f", day="2026-01-01")), s(response(1, said("2026-01-01")))),
            "$.arguments.day=date",
        )
        answer = asked(played, call(1, "f", day=live))
        assert (said(live) if found else None) == answer.get("result")


def test_numbers_and_members_are_loosened_and_not_given_back() -> None:
    """As with `--ignore`; of an object the texts inside come back."""
    played = echoing(
        cassette(
            c(call(1, "f", at={"x": 1, "name": "the place"})),
            s(response(1, {"x": 1, **said("the place")})),
        ),
        "$.arguments.at",
    )

    answer = asked(played, call(1, "f", at={"x": 2, "name": "elsewhere"}))
    assert {"x": 1, **said("elsewhere")} == answer["result"]


HOLE = "mcpmock:secret:token:1"


@pytest.mark.parametrize(
    ("rule", "recorded", "live", "answered"),
    [
        # Only what the rule selects, and nothing that the server asks.
        ("$.arguments.a", [{"a": "Oslo", "b": "Rome"}], [{"a": "x", "b": "Rome"}], True),
        ("$.arguments.a", [{"a": "Oslo", "b": "Rome"}], [{"a": "x", "b": "y"}], False),
        ("$.message", [{"a": "Bergen"}], [{"a": "x"}], False),
        ("tools/call f $.arguments.a", [{"a": "Oslo"}], [{"a": "x"}], True),
        ("tools/call g $.arguments.a", [{"a": "Oslo"}], [{"a": "x"}], False),
        ("$.name", [{"a": "f"}], [{"a": "x"}], False),
        # An empty text is found everywhere, so it is no variable.
        ("$.arguments.a", [{"a": "", "b": ""}], [{"a": "x", "b": ""}], True),
        ("$.arguments.a", [{"a": "", "b": ""}], [{"a": "x", "b": "x"}], False),
        # A text that is selected twice is one variable, as is a redacted value.
        ("$.arguments.a", [{"a": "Oslo"}, {"a": "Oslo"}], [{"a": "x"}, {"a": "x"}], True),
        ("$.arguments.a", [{"a": "Oslo"}] * 2 + [{"b": "Oslo"}], [{"a": "x"}, {"b": "x"}], True),
        ("$.arguments.a", [{"a": "Oslo"}] * 2 + [{"b": "Oslo"}], [{"a": "x"}, {"b": "y"}], False),
        ("$.arguments.a", [{"b": HOLE}, {"a": HOLE}], [{"b": "x"}, {"a": "x"}], True),
        # The texts in a list and in an object.
        ("$.arguments.a", [{"a": ["Oslo", {"b": "Rome"}]}], [{"a": ["x", {"b": "y"}]}], True),
        ("$.arguments.a", [{"a": ["Oslo"]}, {"b": "Oslo"}], [{"a": ["x"]}, {"b": "x"}], True),
        ("$.arguments.a", [{"a": ["Oslo"]}, {"b": "Oslo"}], [{"a": ["x"]}, {"b": "y"}], False),
        # A recorded text that is none of the kind stays what it is.
        ("$.arguments.a=date", [{"a": "soon"}], [{"a": "soon"}], True),
        ("$.arguments.a=date", [{"a": "soon"}], [{"a": "2026-01-01"}], False),
        ("$.arguments.a=date", [{"a": "2026-01-01"}], [{"a": "2026-01-01"}], True),
    ],
)
def test_what_is_a_variable(
    rule: str, recorded: list[dict[str, Any]], live: list[dict[str, Any]], answered: bool
) -> None:
    """Of two calls the second shows whether the first one bound the text."""
    events = [s(request("r", "elicitation/create", {"message": "Bergen"}))]
    for n, arguments in enumerate(recorded):
        events += [
            c(call(n, "f", **arguments)),
            s(response(n, said("H")).replace(b'"H"', b'"\\ud800"')),
        ]
    played = echoing(cassette(*events[1 if rule != "$.message" else 0 :]), rule)

    last = [asked(played, call(n, "f", **arguments)) for n, arguments in enumerate(live)][-1]
    assert answered is ("result" in last)


def test_a_batch() -> None:
    """Each of its calls brings its texts, and each answer carries them."""
    both = [call(n, "f", city=city) for n, city in ((1, "Trondheim"), (2, "Bergen N"))]
    told = [response(n, said(f"in {city}")) for n, city in ((1, "Trondheim"), (2, "Bergen N"))]
    played = echoing(cassette(c(batch(*both)), s(batch(*told))), "$.arguments.city")

    live = [call(n, "f", city=city) for n, city in ((7, "Rome"), (8, "Oslo"))]
    assert [response(7, said("in Rome")), response(8, said("in Oslo"))] == [
        dump(one) for one in asked(played, batch(*live))
    ]


@pytest.mark.parametrize(
    ("hole", "value", "allowed"),
    [
        ("mcpmock:secret:token:123456789012", "100", True),
        ("mcpmock:secret:token:123456789012", "1e2", False),
        ("mcpmock:secret:pin-number:123456789012", "1e2", True),
        ("mcpmock:secret:pin-number:123456789012", "1e3", False),
        ("mcpmock:secret:token:123456789012", "\ud800", False),
        ("mcpmock:secret:token:7", "any", True),
        ("mcpmock:secret:echo:123456789013", "any", True),
    ],
)
def test_what_the_key_of_hashes_allows(hole: str, value: str, allowed: bool) -> None:
    """The one value of a hash; numbers that are placeholders of another kind take any."""
    found = Variables(
        {"mcpmock:secret:echo:123456789013": "Oslo"},
        hash_of=lambda secret: 123456789012 if secret == b"100" else 1,
    )

    assert allowed is found.allow([(hole, value)])
    assert [True, True, False] == [bool(found), bool(Variables(hash_of=len)), bool(Variables())]


def test_hashes_of_secrets_whose_key_is_not_known() -> None:
    """They stand for any value, as other placeholders do."""
    hole = "mcpmock:secret:token:123456789012"
    events = c(call(1, "f", city="Oslo", key=hole)), s(response(1, said(f"Oslo {hole}")))
    played = echoing(cassette(*events), "$.arguments.city")

    live = call(2, "f", city="Rome", key="hunter22")
    assert said("Oslo hunter22") == asked(played, live)["result"]


def test_words_of_the_protocol_stay() -> None:
    """Methods, ids, types, names of tools and schemas are never replaced."""
    result = {"type": "f", "tools": [{"name": "f"}], "text": "f"}
    played = echoing(
        cassette(c(call(1, "f", a="f")), s(response(1, result))), "$.arguments", "$.name"
    )

    assert {**result, "text": "x"} == asked(played, call(1, "f", a="x"))["result"]


def test_progress_and_questions_carry_it_too() -> None:
    """All that the server sends from the request on."""
    note = b'{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"for Bergen N"}}'
    question = request(7, "elicitation/create", {"message": "Bergen N"})
    played = echoing(
        cassette(
            *(c(call(1, "f", city="Bergen N")), s(note), s(question)),
            *(c(response(7)), s(response(1, said("Bergen N")))),
        ),
        "$.arguments.city",
    )

    heard = played.heard(call(1, "f", city="Rome"))
    assert [b'"for Rome"' in heard[0], b'"message":"Rome"' in heard[1]] == [True, True]
    assert [response(1, said("Rome"))] == played.heard(response(7))


def test_a_header_that_repeats_the_text_repeats_the_live_one() -> None:
    """Over HTTP: `Mcp-Param-*` stands before the body."""
    fields = {"mcp_method": "tools/call", "mcp_name": "f"}
    recorded = over_http(
        in_session(
            1,
            post(1, call(1, "f", region="eu"), mcp_param_region="eu", **fields),
            answers(1, response(1, said("eu"))),
        )
    )
    rules = MatchRules.parse(echo=["$.arguments.region"])
    played = replay_http(recorded, stateless=True, rules=rules)

    heard = played.hears(0.0, post(5, call(5, "f", region="us"), mcp_param_region="us", **fields))
    assert '"text":"us"' in str(heard)


def test_a_header_that_says_the_same_by_chance_stays() -> None:
    """A field that repeats nothing of the body has no variable."""
    fields = {"mcp_method": "tools/call", "mcp_name": "f"}
    asked_for = post(1, call(1, "f", media="application/json"), **fields)
    recorded = over_http(in_session(1, asked_for, answers(1, response(1))))
    rules = MatchRules.parse(echo=["$.arguments.media"])
    played = replay_http(recorded, stateless=True, rules=rules)

    live = post(5, call(5, "f", media="text/csv"), **fields)
    assert f"5 {response(5).decode()}" in played.hears(0.0, live)


def test_of_texts_that_begin_alike_the_longest_is_meant() -> None:
    """A folder, and a file in it."""
    played = echoing(
        cassette(
            c(call(1, "f", dir="/tmp/data", file="/tmp/data/in.txt")),
            s(response(1, said("/tmp/data/in.txt of /tmp/data"))),
        ),
        "$.arguments",
    )

    answer = asked(played, call(1, "f", dir="/a", file="/b"))
    assert said("/b of /a") == answer["result"]


def test_a_miss_shows_the_texts() -> None:
    """Nothing there is secret; and what its rule does not allow is what differs."""
    recorded = cassette(c(call(1, "f", q="Trondheim", n=1)), s(response(1, said("Trondheim"))))
    played = echoing(recorded, "$.arguments.q")
    error = asked(played, call(1, "f", q="hotels", n=2))["error"]
    assert (
        'tools/call f {"q":"hotels","n":2}; nearest: event 1, $.arguments.n 1' in error["message"]
    )

    played = echoing(recorded, "$.arguments.q=uuid")
    [near] = asked(played, call(1, "f", q="hotels", n=1))["error"]["data"]["near"]
    path = "$.arguments.q"
    assert [{"path": path, "recorded": "Trondheim", "live": "hotels"}] == near["differences"]
    assert ["--ignore", f"tools/call f {path}"] == near["allow"]
