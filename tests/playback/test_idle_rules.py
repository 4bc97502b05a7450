"""Rules that applied to nothing."""

from __future__ import annotations

import pytest

from mcpmock.matching.match_rule import TOOL_ALONE, MatchRules
from mcpmock.playback.idle_rules import idle_rules
from mcpmock.playback.player import PlayerOptions, SessionSelection
from mcpmock.playback.session_player import SessionPlayer
from tests.support import c, call, cassette, error, notification, request, response, s, script

RECORDED = cassette(
    ("stderr", '{"jsonrpc":"2.0","id":9,"method":"prompts/get","params":{"name":"in a log"}}'),
    c(call(1, "find", requestId=1, deep={"when": 1}, several=[{"whom": 1}])),
    s(response(1, {"at": 1})),
    c(request(2, "resources/read", {"uri": "file:///a"})),
    s(notification("notifications/message", {"data": 1})),
    s(response(2)),
)


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        (
            "tools/cal find $.arguments.requestId",
            "no request is 'tools/cal'; did you mean tools/call?",
        ),
        ("tools/call fnd $.arguments.requestId", "no tools/call is of 'fnd'; did you mean find?"),
        (
            "tools/call find $.arguments.requestID",
            "no request has 'requestID'; did you mean requestId?",
        ),
        ("$.arguments.requsetId", "no request has 'requsetId'; did you mean requestId?"),
        ("$.argumnts.requestId", "no request has 'argumnts'; did you mean arguments?"),
        ("$.arguments.deep.wen", "no request has 'wen'; did you mean when?"),
        ("$..whne", "no request has 'whne'; did you mean when?"),
        ("prompts/get $.name", "no request is 'prompts/get'"),
        (
            "resources/read file:///b $.uri",
            "no resources/read is of 'file:///b'; did you mean file:///a?",
        ),
        ("$.arguments.deep.requestId", "no request has $.params.arguments.deep.requestId"),
        ("$.arguments[?@==7]", "no request has $.params.arguments[?@==7]"),
        ("$.arguments.several[3]", "no request has $.params.arguments.several[3]"),
        ("$.arguments.several[*].whon", "no request has 'whon'; did you mean whom?"),
        ("$..at", "no request has 'at'; did you mean data?"),
        ("tools/call $.data", "no request has 'data'"),
        ("tools/* f* $.arguments.requestId", None),
        ("$..when", None),
        ("$.result.content", None),
        ("tools/call find $.result.at", None),
        ("notifications/message $.data", None),
        ("output $.text", None),
        ("$.uri", None),
    ],
)
def test_what_no_request_has(rule: str, why: str | None) -> None:
    """The first thing of it that is nowhere, and the nearest name."""
    wanted = [] if why is None else [f"the rule {rule!r} applied to nothing: {why}"]

    assert wanted == idle_rules(MatchRules.parse([rule]), RECORDED.takes)


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        ("tools/cal find $.result", "no message is 'tools/cal'; did you mean tools/call?"),
        ("tools/call fnd $.result.at", "no tools/call is of 'fnd'; did you mean find?"),
        ("tools/call find $.result.att", "no message has 'att'; did you mean at?"),
        ("tools/call $.error.data", "no message has 'error'"),
        ("prompts/get $.result.at", "no message is 'prompts/get'"),
        ("$..whne", "no message has 'whne'; did you mean when?"),
        ("resources/read $.arguments.requestId", "no message has 'arguments'"),
        ("$.result.late", "no message has 'late'; did you mean at?"),
        ("tools/call find $.result.at", None),
        ("resources/read $.error.code", None),
        ("roots/list $.result.roots", None),
        ("tools/call find $.params.data", None),  # of a message of the call
        ("$.arguments.requestId", None),
        ("$", None),
        ("output $", None),
        ("exit $", None),
    ],
)
def test_what_no_message_of_a_diff_has(rule: str, why: str | None) -> None:
    """Its rules are about answers, too, of both sides, and of both recordings."""
    one = cassette(c(call(1, "find", requestId=1)), s(response(1, {"at": 1, "when": 2})))
    other = cassette(
        c(request(2, "resources/read", {"uri": "file:///a"})),
        s(notification("notifications/message", {"data": 1})),
        s(request(7, "roots/list")),
        c(response(7, {"roots": []})),
        s(error(2)),
        s(response(77, {"late": "to nothing"})),
    )
    wanted = [] if why is None else [f"the rule {rule!r} applied to nothing: {why}"]
    takes = [*one.takes, *other.takes]

    assert wanted == idle_rules(MatchRules.parse([rule]), takes, answers=True)


def test_rules_that_nobody_wrote_and_long_lists() -> None:
    """Those of `--match tool` are none of the user; ten are named."""
    assert [] == idle_rules(None, RECORDED.takes)
    assert [] == idle_rules(MatchRules.parse(TOOL_ALONE), RECORDED.takes)
    many = idle_rules(MatchRules.parse([f"$.a{n}" for n in range(15)]), RECORDED.takes)
    assert (11, "5 more rules applied to nothing") == (len(many), many[-1])


def test_many_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those beyond a bound are not remembered, and none of them is proposed."""
    monkeypatch.setattr("mcpmock.playback.idle_rules._MAX_NAMES", 1)
    rules = MatchRules.parse(["resources/raed $.uri", "$.uril"])

    assert [
        "the rule 'resources/raed $.uri' applied to nothing: no request is 'resources/raed'",
        "the rule '$.uril' applied to nothing: no request has 'uril'",
    ] == idle_rules(rules, RECORDED.takes)


def test_a_place_that_only_the_live_request_has() -> None:
    """Its rule applied, also where the request is a miss all the same."""
    for new in (1, 2):
        rules = MatchRules.parse(["$.arguments.new", "$.arguments.nwe"])
        player = SessionPlayer(SessionSelection(RECORDED, PlayerOptions(rules=rules)))
        script(player).heard(call(1, "find", requestId=new, deep={"when": 1}, new=1))
        assert ["'$.arguments.nwe'"] == [
            line.split()[2] for line in idle_rules(rules, RECORDED.takes)
        ]
