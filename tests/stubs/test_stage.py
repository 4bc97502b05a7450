"""A session with a stub, as a script: what the client says and hears, and when."""

from __future__ import annotations

from typing import Any

import pytest

from mcpmock.pipeline.stage import PASS, Send
from mcpmock.playback.miss import Miss
from mcpmock.playback.player import PlayerNote
from mcpmock.protocol.messages import C2S, Fragment, Frame, decode
from mcpmock.protocol.reassembly import MAX_MESSAGE_BYTES
from mcpmock.stubs import stage
from mcpmock.stubs.builder import Stub
from mcpmock.stubs.stage import StubStage
from tests.support import (
    OPENING,
    batch,
    c,
    c2s,
    cancelled,
    error,
    errors,
    hangs_up,
    notification,
    progress,
    request,
    response,
    s,
    s2c,
)

from .stub_support import asks, log, opened, result, session, texts

RAIN = {"content": [{"type": "text", "text": "rain"}]}
RECORDED = (
    *OPENING,
    c(request(1, "tools/list")),
    s(response(1, {"tools": [{"name": "a", "inputSchema": {"type": "object"}}]})),
    c(asks(2, "a", city="Oslo")),
    s(response(2, RAIN)),
)


def said(text: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}]}


def test_a_reply() -> None:
    """A call is answered under its own id, however often."""
    live = opened(Stub().tool("a").reply("sun"))

    live.at(1, client=asks(7, "a"), to_client=response(7, said("sun")))
    live.at(2, client=asks("x", "a", city="Oslo"), to_client=response("x", said("sun")))
    live.nothing_more()


@pytest.mark.parametrize(
    ("repeats", "heard"),
    [("last", ["1", "2", "2", "2"]), ("cycle", ["1", "2", "1", "2"]), ("error", ["1", "2"])],
)
def test_one_reply_after_the_other(repeats: str, heard: list[str]) -> None:
    """The nth call gets the nth; then what `repeats` says, or nothing of the stub's."""
    live = opened(Stub(repeats=repeats).tool("a").reply("1").reply("2"))
    answers = [live.heard(asks(n, "a")) for n in range(4)]

    assert heard == texts([raw for [raw] in answers if b"result" in raw])
    assert [(3, -31999)] * (repeats == "error") == errors(answers[3] if repeats == "error" else [])


def test_each_session_begins_anew() -> None:
    """How often another client asked is none of this one's business."""
    stub = Stub().tool("a").reply("1").reply("2")

    assert ["1"] == texts(opened(stub).heard(asks(1, "a")))
    assert ["1"] == texts(opened(stub).heard(asks(1, "a")))


def test_progress_and_notifications_before_the_answer() -> None:
    """Each so long behind the one before; the token as it was spelled, to those who gave one; and
    the answer not in one read with progress.
    """
    route = Stub().tool("a").progress(0.5, 1, after=1).notify("notifications/message")
    live = opened(route.reply("sun", after="500ms").progress(1).reply("snow"))

    live.at(1, client=asks(1, "a", b"1.0"))
    halfway = notification(
        "notifications/progress", {"progressToken": 1.0, "progress": 0.5, "total": 1}
    )
    live.at(2, to_client=[halfway, notification("notifications/message")])
    live.at(2.5, to_client=response(1, said("sun")))
    live.at(3, client=asks(2, "a", "t"), to_client=progress("t"))
    live.at(3.002, to_client=response(2, said("snow")))
    live.at(4, client=asks(3, "a"), to_client=response(3, said("snow"))).nothing_more()


def test_a_long_wait_holds_up_nothing_else() -> None:
    """Calls are answered independently of each other."""
    live = opened(Stub().tool("a").reply("slow", after=30).tool("b").reply("quick"))

    live.at(1, client=[asks(1, "a"), asks(2, "b")], to_client=response(2, said("quick")))
    live.at(31, to_client=response(1, said("slow"))).nothing_more()


def test_a_cancelled_call() -> None:
    """Nothing more is said about it, and the recording hears nothing of the cancel."""
    notes: list[Miss | PlayerNote] = []
    live = opened(Stub().tool("a").progress(1, after=1).reply("slow", after=1), report=notes.append)

    live.at(1, client=asks(1, "a", "t"))
    live.at(2, to_client=progress("t"))
    live.at(2.5, client=cancelled(1)).nothing_more()
    assert [] == notes


def test_an_id_that_is_used_again() -> None:
    """A cancel is for the last call of that id."""
    notes: list[Any] = []
    live = opened(Stub().tool("b").reply("1"), *RECORDED, report=notes.append)
    live.heard(asks(5, "b"))
    live.heard(asks(5, "a", city="Oslo"))
    live.heard(cancelled(5))

    assert not any(isinstance(note, PlayerNote) and note.method == "tools/call" for note in notes)
    assert [] == live.heard(cancelled(99))


def test_errors_and_failures() -> None:
    """A JSON-RPC error, a tool that failed, silence."""
    live = opened(Stub().tool("a").error(-32602, "no").fail("broken").hang())
    failed = {"content": [{"type": "text", "text": "broken"}], "isError": True}

    assert [error(1)] == live.heard(asks(1, "a"))
    assert failed == result(live.heard(asks(2, "a")))
    assert [] == live.heard(asks(3, "a"))


def test_a_function() -> None:
    """It is given the arguments; what goes wrong in it is told to the caller, and noted."""
    notes: list[Miss | PlayerNote] = []
    stub = (
        Stub()
        .tool("a")
        .reply(lambda arguments: arguments["city"])
        .method("x")
        .reply(lambda _: 1 / 0)
    )
    live = opened(stub, report=notes.append)

    assert ["Oslo"] == texts(live.heard(asks(1, "a", city="Oslo")))
    failed = result(live.heard(asks(2, "a")))
    assert failed["isError"]
    assert failed["content"][0]["text"].startswith(
        "mcpmock: the stub of a raised KeyError('city') (test_stage.py:"
    )
    assert [(3, -32603)] == errors(live.heard(request(3, "x")))
    assert ["tools/call", "x"] == [note.method for note in notes]


def test_a_function_that_makes_no_json() -> None:
    """As one that raises."""
    live = opened(Stub().tool("a").reply(lambda _: {"at": object()}))

    assert result(live.heard(asks(1, "a")))["isError"]


def test_what_it_is_for() -> None:
    """Conditions first, in order, then the rest; a tool before the whole method."""
    stub = Stub().method("tools/call").reply(said("any"))
    stub.tool("a").reply("other").when(city="Oslo").reply("Oslo").when(lambda a: a).reply("some")
    live = opened(stub)
    calls = [asks(1, "a", city="Oslo"), asks(2, "a", city="Rome"), asks(3, "a"), asks(4, "b")]

    assert ["Oslo", "some", "other", "any"] == [texts(live.heard(call))[0] for call in calls]


def test_all_else_is_the_recording_s() -> None:
    """What the stub does not know is played, byte for byte; what neither knows is a miss that
    names what both have.
    """
    misses: list[Any] = []
    stub = Stub().tool("a").when(city="Rome").reply("sun")
    live = opened(stub, *RECORDED, report=misses.append)

    assert ["sun"] == texts(live.heard(asks(5, "a", city="Rome")))
    assert [response(6, RAIN)] == live.heard(asks(6, "a", city="Oslo"))
    assert [(7, -31999)] == errors(live.heard(asks(7, "a", city="Bonn")))
    [miss] = misses
    assert {6, 0} == {near.n for near in miss.near}
    [stubbed] = [near for near in miss.near if not near.n]
    [difference] = stubbed.differences
    assert ("$.arguments.city", "Rome", "Bonn") == (
        difference.path,
        difference.recorded,
        difference.live,
    )


def test_a_call_given_back_to_the_recording() -> None:
    """`recorded` stands for its turn."""
    live = opened(Stub().tool("a").error(-32000, "busy").recorded(), *RECORDED)

    assert [(1, -32000)] == errors(live.heard(asks(1, "a", city="Oslo")))
    assert [response(2, RAIN)] == live.heard(asks(2, "a", city="Oslo"))


def test_lists_with_a_recording() -> None:
    """The recorded one with ours in it, as often as it is asked for; other lists are missed as
    ever.
    """
    live = opened(Stub().tool("b").reply("1"), *RECORDED)
    lists = [live.heard(request(n, "tools/list")) for n in (8, 9)]
    names = [[tool["name"] for tool in result(answer)["tools"]] for answer in lists]

    assert [["a", "b"], ["a", "b"]] == names
    assert [8, 9] == [decode(raw)["id"] for [raw] in lists]
    assert [(10, -31999)] == errors(live.heard(request(10, "prompts/list")))


def test_the_handshake_of_a_recording() -> None:
    """It is the recorded one, with the capability that ours needs."""
    live = session(Stub().tool("a").reply("1"), *RECORDED)
    hello = result(live.heard(request(3, "initialize", {"protocolVersion": "2025-11-25"})))

    assert {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}} == hello
    assert [(4, -32601)] == errors(live.heard(request(4, "server/discover")))


def test_what_changes_while_it_runs() -> None:
    """The next call gets what is written then."""
    stub = Stub()
    live = opened(stub)

    assert [(1, -31999)] == errors(live.heard(asks(1, "a")))
    stub.tool("a").reply("now")
    assert ["now"] == texts(live.heard(asks(2, "a")))


def test_another_name() -> None:
    """A miss of a stub alone names what there is."""
    misses: list[Any] = []
    live = opened(
        Stub().tool("get_weather").reply("1").resource("a:b").reply("2"), report=misses.append
    )
    live.heard(asks(1, "weather"))
    live.heard(request(2, "resources/read", {"uri": "a:c"}))
    live.heard(request(3, "x/y"))

    told = [
        [(d.path, d.recorded) for near in miss.near for d in near.differences] for miss in misses
    ]
    assert [[("$.name", "get_weather")], [("$.uri", "a:b")], []] == told


def test_why_not() -> None:
    """No answer at all, none any more, or for other arguments."""
    misses: list[Any] = []
    stub = Stub(repeats="error").tool("a").tool("b").reply("1").when(x=1).reply("2")
    live = opened(stub, report=misses.append)
    for call in (asks(1, "a"), asks(2, "b"), asks(3, "b")):
        live.heard(call)

    assert [
        ["stubbed without an answer"],
        ["stubbed no more often", "stubbed for other arguments, or no more often"],
    ] == [[near.why for near in miss.near] for miss in misses]


def test_a_batch() -> None:
    """What is ours is answered, the rest goes on; one that has nothing for us stays one."""
    stub = Stub().tool("a").when(city="Rome").reply("sun")
    asked = batch(request(8, "ping"), asks(9, "a", city="Rome"), asks(10, "a", city="Oslo"))
    live = opened(stub, *RECORDED)

    assert {response(8), response(9, said("sun")), response(10, RAIN)} == set(live.heard(asked))
    assert 1 == len(live.heard(batch(request(1, "x"), request(2, "y"))))
    assert 2 == len(opened(stub).heard(batch(request(1, "x"), request(2, "ping"))))


def test_a_call_in_pieces() -> None:
    """A long one is answered when it is whole; what is too long to be looked at is refused."""
    raw = asks(1, "a", text="x" * 100)
    pieces = [raw[:50], raw[50:]]
    live = opened(Stub().tool("a").reply(lambda arguments: len(arguments["text"])))
    for number, piece in enumerate(pieces):
        heard = live.heard(Frame(C2S, piece, fact=Fragment(last=number == 1)))

    assert ["100"] == texts(heard)


def test_what_the_server_says_by_itself() -> None:
    """Once the client is initialized, each so long behind the other."""
    stub = Stub().announce("notifications/message", {"level": "info", "data": "a"})
    stub.announce("notifications/message", {"level": "info", "data": "b"}, after="2s")
    live = session(stub)
    live.heard(request(0, "initialize", {"protocolVersion": "2025-11-25"}))

    live.at(1, client=notification("notifications/initialized"), to_client=log("a"))
    live.at(3, to_client=log("b")).nothing_more()


def test_the_end_waits_for_answers() -> None:
    """A client that has ended its input still gets them, with all that comes before."""
    live = opened(Stub().tool("a").notify("notifications/message", after=1).reply("late", after=1))

    live.at(1, client=asks(1, "a"))
    live.at(1.5, client=hangs_up(C2S)).still_there()
    live.at(2, to_client=notification("notifications/message")).still_there()
    live.at(3, to_client=response(1, said("late"))).nothing_more().hung_up()


def test_a_call_too_long_to_be_looked_at() -> None:
    """It is refused, as a player refuses it."""
    live = opened(Stub().tool("a").reply("1"))
    piece = b"x" * (MAX_MESSAGE_BYTES // 4)
    for number in range(5):
        heard = live.heard(Frame(C2S, piece, fact=Fragment(last=number == 4)))

    assert [(None, -32600)] == errors(heard)


def test_what_the_player_says_besides() -> None:
    """Answers without an id, notifications and noise pass, also while a list is waited for."""
    stubs = StubStage(Stub().tool("a").script)
    list(stubs.feed([c2s(request(1, "tools/list"))], 0.0))
    frames = [s2c(error(b"null")), s2c(log("x")), s2c(b"noise"), s2c(error(1))]

    assert [Send(frames)] == list(stubs.feed(frames, 0.0))
    assert PASS is stubs.feed(frames, 0.0)


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of very many calls the oldest are forgotten: a cancel of one is none of ours."""
    monkeypatch.setattr(stage, "MAX_REMEMBERED_CALLS", 1)
    live = opened(Stub().tool("a").reply("late", after=1))
    live.at(1, client=[asks(1, "a"), asks(2, "a")])
    live.at(1.5, client=[cancelled(1), cancelled(2)])

    live.at(2, to_client=response(1, said("late"))).nothing_more()


def test_a_recorded_list_is_asked_again() -> None:
    """By default the recorded list comes again with the stub's entries; `repeats="error"` makes it
    a miss, as without a stub.
    """
    events = (c(request(1, "tools/list")), s(response(1, {"tools": [{"name": "b"}]})))
    for repeats, missed in (("auto", 0), ("error", 1)):
        live = opened(Stub().tool("a"), *OPENING, *events, repeats=repeats)
        [first], [again] = (live.heard(request(n, "tools/list")) for n in (8, 8))

        assert first.count(b'"name"') == 2
        assert [missed * (8, -31999) or (8, None)] == errors([again])
        assert missed or first == again


def test_a_large_batch() -> None:
    """It is refused like one without a stub."""
    live = opened(Stub().tool("a").reply("1"), revision="2025-03-26")
    [raw] = live.heard(batch(*(asks(n, "a") for n in range(101))))

    assert {-32600} == {one["error"]["code"] for one in decode(raw)}
