"""What is answered without a plan is what the player would answer: the same bytes in the same order
at the same times (over HTTP on each exchange), the same misses and remarks, and the same is left
over. On 600 generated conversations; `tools/known_answers.py` plays more. And the plan that is
made of an index is the one that is made of the events.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any, NoReturn

import pytest
from msgspec.structs import asdict

from mcpmock.playback import answer_index
from mcpmock.playback.answer_index import index_answers
from mcpmock.playback.matcher import Matcher
from mcpmock.playback.plan.builder import build_plan
from mcpmock.playback.plan.ordinary import plan_of
from mcpmock.playback.plan.plan import ReplayPlan
from mcpmock.playback.session_selection import PlayerOptions, SessionSelection
from mcpmock.protocol.messages import C2S, S2C, Frame, HttpBody
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
    hangs_up,
    in_session,
    notification,
    opens,
    over_http,
    player_of,
    post,
    progress,
    replay,
    replay_http,
    replies,
    request,
    response,
    s,
    says,
)
from tests.support.conversations import Conversation, Planned, take
from tests.support.http_conversations import HttpConversation
from tests.support.http_episodes import OPENING, ROOTS

CHUNK, CHUNKS = 100, 3


@pytest.mark.parametrize("chunk", range(CHUNKS))
@pytest.mark.parametrize(("kind", "least"), [(Conversation, 25), (HttpConversation, 8)])
def test_the_answers_are_those_of_the_player(
    kind: type[Conversation], least: int, chunk: int
) -> None:
    """Whether everything is known, something in the middle is not, or nothing is."""
    handed_over, known = 0, 0
    for seed in range(chunk * CHUNK, (chunk + 1) * CHUNK):
        played = kind(seed)

        assert kind(seed, Planned).play() == played.play(), seed
        handed_over += played.taken_over
        known += played.known
    assert (handed_over > least, known > least) == (True, True), (handed_over, known)


def _stream(x: int, session: str) -> list[Frame]:
    return get(x, session=session)


def _call(x: int, session: str) -> list[Frame]:
    return post(x, call(5, "a"), session=session)


def _next(x: int, session: str) -> list[Frame]:
    return post(x, call(6, "b"), session=session)


def _reply(x: int, session: str) -> list[Frame]:
    return post(x, response(1, {"roots": []}), session=session)


def _cancel(x: int, session: str) -> list[Frame]:
    return post(x, cancelled(5), session=session)


def _tracked(x: int, session: str) -> list[Frame]:
    return post(x, request(7, "tools/call", {"name": "t"}, token="t"), session=session)


def _tell(x: int, session: str) -> list[Frame]:
    return post(x, INITIALIZED, session=session)


def _resume(x: int, session: str) -> list[Frame]:
    return get(x, session=session, last_event_id="q1")


def _elsewhere(x: int, session: str) -> list[Frame]:
    return get(x, session=session, last_event_id="unknown")


def _put(x: int, session: str) -> list[Frame]:
    head = bodiless(x, "PUT", session=session, content_length="9")
    return [*head, *_call(x, session)[1:]]


def _options(x: int, session: str) -> list[Frame]:
    return bodiless(x, "OPTIONS", session=session)


def _get_with_body(x: int, session: str) -> list[Frame]:
    return [*get(x, session=session, content_length="2"), Frame(C2S, b"{}", exchange=x)]


def _delete_with_body(x: int, session: str) -> list[Frame]:
    return [
        *bodiless(x, "DELETE", session=session, content_length="2"),
        Frame(C2S, b"{}", exchange=x),
    ]


def _leave(x: int, session: str) -> list[Frame]:
    del session
    return [ends(x - 1, "closed", C2S)]


def _delete(x: int, session: str) -> list[Frame]:
    return bodiless(x, "DELETE", session=session)


STREAM = _stream(3, "S"), opens(3)
HEAD, ANSWER, END = LAST = answers(4, response(5))
REPLIED = _reply(5, "S"), accepts(5)
STREAMED = says(4, response(5)), *REPLIED, ends(4)
ANSWERED = [HEAD], *REPLIED, [ANSWER, END]
CROSSED = _call(4, "S"), opens(4), _next(6, "S"), opens(6), says(4, response(6))
NEXT = _next(6, "S"), answers(6, response(6))
PRIMED = _call(4, "S"), opens(4), says(4, b"", id="p1")[:1]
PRIMED_AGAIN = says(4, b"", id="p2")[:1]
STREAM_PRIMED = says(3, b"", id="q1")[:1]
ANSWERED_LATER = *REPLIED, says(4, response(5), event="message"), ends(4)
PAIR = _tracked(7, "S"), opens(7), _call(4, "S"), opens(4)
ANSWERED_PAIR = [*says(7, response(7)), ends(7)], [*says(4, response(5)), ends(4)]
ANSWERED_CALL = answers(4, response(5))
DELETED = _delete(8, "S"), accepts(8, 200)
LOGGED = *STREAM, _call(4, "S"), opens(4), *NEXT, says(3, LOG), says(4, LOG), STREAMED[0], ends(4)


@pytest.mark.parametrize(
    ("recorded", "said"),
    [
        # The reply to a request of the server comes behind the answer of its call, or the head.
        ((_call(4, "S"), opens(4), says(4, ROOTS), *STREAMED, *NEXT), (_call, _reply, _next)),
        ((_call(4, "S"), opens(4), says(4, ROOTS), *STREAMED, *NEXT), (_call, _next)),
        ((*STREAM, _call(4, "S"), says(3, ROOTS), *ANSWERED), (_stream, _call, _reply)),
        ((*STREAM, _call(4, "S"), says(3, ROOTS), *ANSWERED), (_stream, _call)),
        # The fields of an event without data wait for what came before them.
        *(
            (recorded, (_stream, _call, *then))
            for recorded in [
                (*STREAM, *PRIMED, says(3, ROOTS), *ANSWERED_LATER),
                (*STREAM, *PRIMED, says(3, ROOTS), PRIMED_AGAIN, *ANSWERED_LATER),
                (*STREAM, *PRIMED, says(3, ROOTS), *REPLIED, PRIMED_AGAIN, *ANSWERED_LATER[2:]),
                (*STREAM, *PRIMED, says(4, ROOTS), *ANSWERED_LATER),
                (*STREAM, STREAM_PRIMED, *PRIMED, says(3, ROOTS), *ANSWERED_LATER),
            ]
            for then in [(), (_reply,), (_delete,), (_delete, _reply), (_reply, _delete)]
        ),
        # Each answer is on the exchange of the other call.
        ((*CROSSED, says(6, response(5)), [ends(4), ends(6)]), (_call, _next)),
        ((*CROSSED, says(6, response(5)), [ends(4), ends(6)]), (_next, _call)),
        # The server ends a stream, and has refused to end the session.
        *(
            ((*STREAM, *first, *then, *NEXT), said)
            for first in [(_delete(7, "S"), accepts(7, status)) for status in (200, 404, 405)]
            for then in [
                (ends(3),),
                (_call(4, "S"), answers(4, response(5)), ends(3)),
                (_call(4, "S"), answers(4, response(5)), *DELETED, ends(3)),
            ]
            for said in [
                (_stream, _call, _next),
                (_stream, _next, _delete),
                (_stream, _delete, _call, _next),
                (_stream, _call, _delete, _delete),
            ]
        ),
        ((*STREAM, _delete(7, "S"), ends(3), accepts(7, 405), *NEXT), (_stream, _next)),
        # The session ends while an answer, or a notification, is still to come.
        *(
            (
                (*STREAM, _call(4, "S"), opens(4), *carried, *ANSWERED_LATER, *DELETED, *ended),
                (_stream, _call, *then),
            )
            for carried in [says(4, ROOTS), says(3, ROOTS)]
            for ended in [(), (ends(3),), NEXT]
            for then in [(_delete,), (_delete, _reply), (_delete, _next), (_delete, _delete)]
        ),
        ((*CROSSED, says(6, response(5)), [ends(4), ends(6)], *DELETED), (_call, _delete, _next)),
        ((*LOGGED, *DELETED, ends(3)), (_stream, _call, _delete, _next)),
        # A call is cancelled, and answered all the same or never.
        *(
            ((*STREAM, *first, _cancel(5, "S"), accepts(5), *then, *NEXT), (_stream, *said))
            for first, then in [
                ((_call(4, "S"), opens(4)), ()),
                ((_call(4, "S"), opens(4)), (ends(4),)),
                ((_call(4, "S"), opens(4)), ([*says(4, response(5)), ends(4)],)),
                ((_call(4, "S"),), (answers(4, response(5)),)),
                ((_call(4, "S"), answers(4, response(5))), ()),
            ]
            for said in [(_call, _next), (_call, _cancel, _next)]
        ),
        # What comes ahead of a head, or behind an answer.
        *(
            ((*STREAM, _call(4, "S"), *carried, *NEXT), (_stream, _call, _next))
            for carried in [
                (says(4, response(5)), ends(4)),
                (says(4, LOG), *answers(4, response(5))),
                (says(4, response(5)), *opens(4), ends(4)),
                (*answers(4, response(5))[:2], says(4, LOG), ends(4)),
                (*answers(4, response(5))[:2], says(4, b"", id="p3")[:1], ends(4)),
                (opens(4), says(4, response(5)), says(4, LOG), ends(4)),
                (opens(4), says(4, response(5)), says(4, b"", id="p3")[:1], ends(4)),
                (opens(4), says(4, response(5)), opens(4), ends(4)),
            ]
        ),
        # The last that a stream carries is an event without data.
        *(
            ((*STREAM, *first, STREAM_PRIMED, *left, *then), (_stream, _next, *said))
            for first in [(), (STREAM_PRIMED,), (says(3, LOG),)]
            for left in [(), (ends(3, "closed", C2S),)]
            for then in [NEXT, (*NEXT, *DELETED)]
            for said in [(), (_delete,)]
        ),
        ((*NEXT, *STREAM, STREAM_PRIMED), (_stream, _next)),
        ((*NEXT, *STREAM, STREAM_PRIMED), (_next, _stream)),
        # What belongs to no call, or to that of another exchange.
        *(
            ((*STREAM, *PAIR, *carried, *ANSWERED_PAIR, *NEXT), (_stream, *said))
            for carried in [
                *(says(x, progress("t")) for x in (3, 4, 7)),
                *(says(x, progress("u")) for x in (3, 4, 7)),
                *(says(x, LOG) for x in (3, 4, 7)),
                *(says(x, b'{"neither":"this nor that"}') for x in (3, 4, 7)),
                *(says(x, error(b"null")) for x in (3, 4, 7)),
            ]
            for said in [(_tracked, _call, _next), (_call, _tracked)]
        ),
        ((*STREAM, *NEXT, says(3, LOG)), (_stream, _next)),
        ((*STREAM, *NEXT, says(3, LOG)), (_next, _stream)),
        ((_tell(7, "S"), opens(7), says(7, LOG), ends(7), *NEXT), (_tell, _next)),
        ((_tell(7, "S"), opens(7), ends(7), *NEXT), (_next, _tell)),
        ((_call(4, "S"), _next(6, "S"), answers(6, response(6)), ANSWERED_CALL), (_call, _next)),
        ((_call(4, "S"), _next(6, "S"), ANSWERED_CALL, answers(6, response(6))), (_call, _next)),
        # The end of a response is not recorded, or its message.
        *(
            ((*STREAM, _call(4, "S"), *begun, *NEXT), (_stream, _call, _next))
            for begun in [
                (),
                (ANSWERED_CALL[:1],),
                (ANSWERED_CALL[:2],),
                (opens(4),),
                (opens(4), says(4, response(5))),
            ]
        ),
        # The answer to a DELETE is a message, or its client leaves, or it ends twice.
        *(
            ((*STREAM, _delete(7, "S"), *answered, *NEXT), (_stream, *said))
            for answered in [
                (answers(7, error(0), 405),),
                ([replies(7, 200)], ends(7, "closed", C2S)),
                (accepts(7, 200), ends(7)),
            ]
            for said in [(_next,), (_delete, _next), (_next, _delete)]
        ),
        # A call that is refused, or left.
        ((_call(4, "S"), answers(4, response(5), 400), *NEXT), (_call, _next)),
        ((_call(4, "S"), accepts(4, 404), *NEXT), (_call, _next)),
        *(
            ((_call(4, "S"), *head, ends(4, "closed", C2S), *NEXT), said)
            for head in [(), (opens(4),), (opens(4), says(4, LOG)), (answers(4, response(5))[:1],)]
            for said in [(_call, _leave, _next), (_call, _next)]
        ),
        # Other requests.
        *(
            ((*STREAM, STREAM_PRIMED, asked(7, "S"), answered, *NEXT), (_stream, asked, _next))
            for asked in [_resume, _elsewhere, _options, _put, _get_with_body, _delete_with_body]
            for answered in [opens(7), accepts(7, 200), accepts(7, 405)]
        ),
        # What comes on an exchange that is over.
        ((_call(4, "S"), answers(4, response(5)), ends(4), *NEXT), (_call, _next)),
        ((_call(4, "S"), opens(4), *STREAMED, ends(4), *NEXT), (_call, _next)),
        ((*STREAM, ends(3, direction=C2S), STREAM_PRIMED, *NEXT), (_stream, _next)),
        ((*STREAM, ends(3, direction=C2S), ends(3), *NEXT), (_stream, _next)),
        ((*STREAM, ends(3, direction=C2S), says(3, LOG), *NEXT), (_stream, _next)),
        # What comes on an exchange that nobody opened.
        *(((*STREAM, one, *NEXT), (_stream, _next)) for one in (ends(9), says(9, LOG), opens(9))),
        # A client that leaves its stream before there is one.
        *(
            ((STREAM[0], *head, ends(3, direction=C2S), *then, *NEXT), (_stream, *said))
            for head in [(), ([replies(3, 405)],), ([replies(3, 200, "application/json")],)]
            for then in [(), (ends(3),)]
            for said in [(_next,), (_stream, _next)]
        ),
    ],
)
def test_what_the_generated_conversations_lack(
    recorded: Sequence[Frame | list[Frame]], said: Sequence[Callable[[int, str], list[Frame]]]
) -> None:
    """What is rare over HTTP comes as the player would send it."""
    assert _heard(SessionSelection, recorded, said) == _heard(Planned, recorded, said)


def _heard(
    kind: type[SessionSelection],
    recorded: Sequence[Frame | list[Frame]],
    said: Sequence[Callable[[int, str], list[Frame]]],
) -> list[list[str]]:
    recording = over_http(in_session(2, *OPENING, *recorded))
    played = replay_http(kind(recording, PlayerOptions()))
    got = [played.hears(0, post(901, INITIALIZE), post(902, INITIALIZED, session="L"))]
    for x, one in enumerate(said, 903):
        got += [played.later(x), played.hears(x, one(x, "L"))]
    return [*got, played.later(1000)]


@pytest.mark.parametrize("asked", [call(5, "a"), call("x", "a"), notification("x"), cancelled(5)])
def test_the_other_transport(asked: bytes) -> None:
    """What was recorded over pipes the player alone plays over HTTP, and the other way round."""
    first = INITIALIZE, INITIALIZED, call(5, "a")
    piped = cassette(c(INITIALIZE), s(WELCOME), *map(c, first[1:]), s(response(5)))
    posted = over_http(in_session(2, *OPENING, _call(4, "S"), *LAST))
    over_pipes, over_exchanges = list[object](), list[object]()
    for kind in (SessionSelection, Planned):
        live, options = [*first[:2], asked], PlayerOptions()
        over_pipes.append([replay(kind(posted, options)).abandon().heard(one) for one in live])
        played = replay_http(kind(piped, options))
        over_exchanges.append([played.hears(x, post(x, one)) for x, one in enumerate(live)])
        over_exchanges.append(played.later(9))

    assert over_pipes[0] == over_pipes[1]
    assert over_exchanges[:2] == over_exchanges[2:]


def test_a_stream_before_the_first_request() -> None:
    """It may belong to any of the sessions: the player finds out."""
    recording = over_http(in_session(2, *STREAM, *OPENING, _call(4, "S"), LAST))
    heard = []
    for kind in (SessionSelection, Planned):
        played = replay_http(kind(recording, PlayerOptions()))
        heard.append([played.hears(0, _stream(7, "L")), played.hears(1, post(8, INITIALIZE))])

    assert heard[0] == heard[1]


REFUSALS = [
    (),
    [],
    answers(6, error(0), 405),
    *([replies(6, status), Frame(S2C, b"-", fact=HttpBody(), exchange=6)] for status in (200, 405)),
    accepts(6, 405),
    opens(6),
    [*opens(6), ends(6)],
    [ends(6, "closed", C2S)],
]


class Unplanned(SessionSelection):
    """Never makes a plan."""

    def index(self, number: int) -> NoReturn:
        raise AssertionError(number)


@pytest.mark.parametrize("last", [(), (ends(3),)])
@pytest.mark.parametrize("first", REFUSALS)
def test_the_end_of_a_session_needs_no_plan(
    first: Sequence[Frame], last: Sequence[list[Frame]]
) -> None:
    """If it comes as recorded; its stream ends with it. A refused one is known to the player."""
    refused = () if first == () else (_delete(6, "S"), first)
    session = *STREAM, _call(4, "S"), answers(4, response(5)), *refused
    ended, said = (*session, *DELETED[:1], *last, *DELETED[1:]), (_stream, _call)
    kind = SessionSelection if refused and last else Unplanned
    once, twice = (*said, _delete), (*said, _delete, _delete)
    asks = said if refused else once

    assert _heard(kind, ended, asks) == _heard(Planned, ended, asks)
    assert _heard(SessionSelection, ended, twice) == _heard(Planned, ended, twice)


def _told(x: int, session: str) -> list[Frame]:
    asked = request(x, "tools/call", {"name": "a"}, token=f"t{x}")
    return post(x, asked, session=session)


def _told_nothing(x: int, session: str) -> list[Frame]:
    return post(x, request(x, "tools/call", {"name": "a"}), session=session)


def _other_stream(x: int, session: str) -> list[Frame]:
    return get(x, session=session, last_event_id="1")


def _other_head(x: int, session: str) -> list[Frame]:
    return post(x, call(5, "a"), session=session, **{"mcp-protocol-version": "2025-06-18"})


LATER = _call(4, "S"), LAST
GONE = _call, _delete, _stream
Asked = tuple[Callable[[int, str], list[Frame]], ...]
QUESTIONED = _call(4, "S"), opens(4), says(4, ROOTS), *REPLIED, says(4, response(5)), ends(4)


def _left(x: int, session: str) -> list[Frame]:
    return [*post(x, call(5, "a"), session=session)[:1], ends(x, "closed", C2S)]


def _piece(x: int, session: str) -> list[Frame]:
    head = post(x, call(5, "a"), session=session)[0]
    return [head, Frame(C2S, b"noise", fact=HttpBody(), exchange=x)]


def _hangs_up(x: int, session: str) -> list[Frame]:
    del x, session
    return [hangs_up(C2S)]


TWO_HEADS = _call(4, "S"), LAST, _other_head(6, "S"), answers(6, response(5, {"n": 2}))
TOLD = _told(4, "S"), opens(4), says(4, progress("t4")), says(4, response(4)), ends(4)


@pytest.mark.parametrize(
    ("recorded", "known", "unknown"),
    [
        ((_call(4, "S"), LAST, *NEXT), [(_call, _next), (_next, _left, _call)], [(_call, _call)]),
        ((_call(4, "S"), LAST), [], [(_other_head,), (_stream,), (_delete, _call)]),
        (TWO_HEADS, [(_call, _other_head)], [(_other_head, _call), (_other_head, _other_head)]),
        ((*LATER, *NEXT, *DELETED), [(_call, _next, _delete)], [(_call, _delete, _next)]),
        ((_call(4, "S"), LAST, *DELETED), [(_call, _delete)], [(_call, _delete, _call), (_piece,)]),
        ((*STREAM, *LATER, *DELETED), [(_stream, _call, _delete, _hangs_up)], [GONE]),
        ((*STREAM, *TOLD), [(_stream, _told), (_told, _stream)], [(_told, _told)]),
        ((*STREAM, *TOLD), [(_stream, _told_nothing)], [(_stream, _stream), (_other_stream,)]),
        ((*QUESTIONED, *NEXT), [(_call, _reply, _next), (_call, _next)], [(_call, _reply, _reply)]),
        ((_call(4, "S"), *NEXT, LAST), [(_call, _next), (_next, _call), (_next,)], []),
        ((*LOGGED, *DELETED), [(_stream, _call, _next, _delete), (_stream, _call, _delete)], []),
    ],
)
def test_what_needs_no_plan_over_http(
    recorded: Sequence[Frame | list[Frame]], known: list[Asked], unknown: list[Asked]
) -> None:
    """Is answered without one, as the player would."""
    for said in known:
        assert _heard(Unplanned, recorded, said) == _heard(Planned, recorded, said), said
    for said in unknown:
        with pytest.raises(AssertionError):
            _heard(Unplanned, recorded, said)
        assert _heard(SessionSelection, recorded, said) == _heard(Planned, recorded, said), said


HIDDEN = "mcpmock:secret:session-id:1"
UNKNOWN = call("unknown", "z")
TOLD_BY_ID = _told(4, "S"), opens(4), says(4, progress("t4"), id="1"), says(4, response(4), id="2")


@pytest.mark.parametrize(
    ("recorded", "said"),
    [
        ((_call(4, "S"), *NEXT, LAST), (_call,)),
        ((_call(4, "S"), *NEXT, opens(4), says(4, LOG), says(4, response(5)), ends(4)), (_call,)),
        ((*STREAM, _call(4, "S"), *NEXT, says(3, LOG, id="1"), LAST), (_stream, _call)),
        ((*TOLD, *NEXT), (_told,)),
        ((_call(4, "S"), *NEXT, LAST), (_call, _cancel)),
        ((_call(4, "S"), *NEXT, LAST, *DELETED), (_call, _delete)),
        ((*TOLD, *NEXT, *DELETED), (_told, _delete)),
        ((*STREAM, _call(4, "S"), *NEXT, says(3, LOG), LAST, *DELETED), (_stream, _call, _delete)),
        ((*STREAM, *LATER, *NEXT, says(3, LOG), *DELETED), (_stream, _next, _delete)),
        ((*TOLD_BY_ID, ends(4), *NEXT), (_told,)),
        ((*TOLD_BY_ID, ends(4), *NEXT), (_told_nothing,)),
        ((*QUESTIONED, *NEXT), (_call,)),
        (
            (
                *(get(3, session=HIDDEN), opens(3), _call(4, HIDDEN)),
                *(says(3, notification("log", {"of": HIDDEN})), answers(4, response(5, [HIDDEN]))),
            ),
            (_stream, _call),
        ),
    ],
)
@pytest.mark.parametrize("odd", [[], [UNKNOWN]])
def test_where_a_plan_takes_over_in_an_exchange(
    recorded: Sequence[Frame | list[Frame]],
    said: Sequence[Callable[[int, str], list[Frame]]],
    odd: list[bytes],
) -> None:
    """While a part of it is still to come, the rest is the same."""
    session = HIDDEN if HIDDEN in str(recorded) else "S"
    opening = [
        *(post(1, INITIALIZE), answers(1, WELCOME, mcp_session_id=session)),
        *(post(2, INITIALIZED, session=session), accepts(2)),
    ]
    heard = []
    for kind in (SessionSelection, Planned):
        recording = over_http(in_session(2, *opening, *recorded))
        played = replay_http(kind(recording, PlayerOptions()))
        got = played.hears(0, post(901, INITIALIZE), post(902, INITIALIZED, session="live-1"))
        got += played.hears(1, *(one(903 + x, "live-1") for x, one in enumerate(said)))
        got += played.hears(1.001, *(post(910, one, session="live-1") for one in odd))
        got += played.later(1.0015)
        got += [str(played.pipeline.next_due), *played.later(1.01)]
        got += played.hears(1.01, _next(911, "live-1"))
        heard.append([*got, *played.later(9)])
        assert {} == player_of(played)._assembly._heads

    assert heard[0] == heard[1]


def test_the_next_as_written_is_what_a_search_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    """A player that always searches answers the same."""
    found = [Conversation(seed, Planned).play() for seed in range(CHUNK)]
    monkeypatch.setattr(Matcher, "_next_as_written", lambda *_: None)

    assert [Conversation(seed, Planned).play() for seed in range(CHUNK)] == found


def test_both_plans_are_equal() -> None:
    """Whatever is ordinary enough for an index."""
    indexed = 0
    for seed in range(300):
        for episode in cassette(*take(Random(seed))).takes[0].episodes():
            index = index_answers(episode)
            if index is not None:
                indexed += 1

                assert _as_value(build_plan(episode)) == _as_value(plan_of(index)), seed
    assert indexed > 100, indexed


LIST, AGAIN = [c(request(1, "tools/list"))], [c(request(2, "tools/list"))]
TOKEN = [c(request(1, "tools/call", token="a/b"))]
NO_ANSWER = b'{"jsonrpc":"2.0","id":1}'
ASKED = *LIST, s(request("r", "roots/list"))
SUBSCRIBED = {"_meta": {"io.modelcontextprotocol/subscriptionId": 1}}
LATE = *TOKEN, s(response(1)), *AGAIN, s(response(2))
CLIENT_ENDS, SERVER_ENDS = ("end", {"d": "c2s"}), ("end", {"d": "s2c"})
SIGNALLED = ("end", {"d": "c2s", "signal": 15})


@pytest.mark.parametrize(
    ("events", "indexed"),
    [
        # Replies of the client.
        ((*ASKED, c(response("r")), s(response(1))), True),
        ((*ASKED, c(error("r")), s(response(1))), True),
        ((*ASKED, c(b'{"jsonrpc":"2.0","id":"r"}'), s(response(1))), False),
        ((*ASKED, c(response("z")), s(response(1))), False),
        ((*ASKED, c(response("r")), c(response("r")), s(response(1))), False),
        # An id that is used again before its answer.
        ((*LIST, *LIST, s(response(1))), False),
        # What names a call that there was not.
        ((*LIST, s(response(1)), c(cancelled(1))), True),
        ((*LIST, s(response(1)), c(cancelled("z"))), False),
        ((*LIST, s(response(1)), s(response("z"))), False),
        # What names a subscription in an answer, and what only has its name in it.
        ((*LIST, s(response(1, SUBSCRIBED))), True),
        ((*LIST, s(response(1, {"text": [SUBSCRIBED]}))), True),
        ((*LIST, s(error(1, message="io.modelcontextprotocol/subscriptionId"))), True),
        # Notifications that belong to no call, and later ones of the same method that do.
        ((s(LOG), *LIST, s(LOG), s(response(1))), True),
        ((*LIST, s(response(1)), s(LOG), *AGAIN, s(LOG), s(response(2))), True),
        ((*LIST, *AGAIN, s(LOG), s(response(2)), s(LOG), s(response(1))), True),
        # Tokens in other spellings.
        ((*TOKEN, s(progress(b'"a\\/b"')), s(response(1))), True),
        ((*TOKEN, s(progress(b'"a\\u002fb"')), s(response(1)), s(progress("a/b", 2))), True),
        # An id that is used again behind a call that took the token of its first.
        (
            (
                *(*TOKEN, s(response(1)), c(request(2, "tools/call", token="a/b"))),
                *(*LIST, s(response(1)), s(progress("a/b")), s(response(2))),
            ),
            True,
        ),
        # An id that is used again: no progress belongs to its first call any more.
        ((*TOKEN, s(response(1)), *LIST, s(response(1)), s(progress("a/b"))), True),
        ((*TOKEN, c(cancelled(1)), *LIST, s(response(1)), s(progress("a/b"))), True),
        # Cancels of open calls, of none, and of what only the server asked.
        ((*LIST, *AGAIN, c(cancelled(1)), s(LOG), s(response(1)), s(response(2))), True),
        ((*LIST, s(progress(1)), c(cancelled(1)), c(cancelled(1)), s(LOG), s(response(1))), True),
        ((*LIST, c(notification("notifications/cancelled")), s(response(1))), False),
        ((*LIST, s(response(1)), s(request(1, "roots/list")), c(cancelled(1))), False),
        ((*LIST, s(cancelled(1)), s(response(1))), False),
        # What answers no call, or answers nothing, and what the server asks twice.
        ((*LIST, s(NO_ANSWER), s(response(1)), s(NO_ANSWER)), True),
        ((*LIST, *AGAIN, s(NO_ANSWER), s(response(1)), s(response(2))), True),
        ((c(request(b"null", "x")), s(response(b"null"))), True),
        ((*LIST, s(error(b"null")), s(response(1)), *AGAIN, s(error(b"null"))), True),
        ((*LIST, s(b'{"jsonrpc":"2.0","result":{}}'), s(response(1))), True),
        ((*ASKED, s(request("r", "roots/list")), c(response("r")), s(response(1))), False),
        ((*ASKED, c(response("r")), s(request("r", "roots/list")), s(response(1))), True),
        ((s(request("r", "roots/list")), c(response("r")), *LIST, s(LOG), s(response(1))), True),
        # Noise of the server, between messages of the client.
        ((*LIST, c(INITIALIZED), s(b"noise"), s(response(1)), s(b"noise")), True),
        ((*LIST, c(INITIALIZED), s(b'{"odd":1}'), s(response(1)), s(b'{"odd":1}')), True),
        # What a client sends that only a plan knows.
        ((c(b"noise"), *LIST, s(response(1))), False),
        ((c(b'{"odd":1}'), *LIST, s(response(1))), False),
        ((c(batch(request(1, "x"), request(2, "x"))), s(response(1)), s(response(2))), False),
        ((c(request(1, "subscriptions/listen")), s(response(1))), False),
        ((c(INITIALIZED), c(request(1, "notifications/initialized")), s(response(1))), False),
        ((*LIST, s(notification("notifications/message", SUBSCRIBED)), s(response(1))), False),
        # A number that was hidden; a text stays one.
        ((*LIST, s(response(1, {"pin": "mcpmock:secret:pin-number:2"}))), False),
        ((*LIST, s(response(1, {"pin": "mcpmock:secret:pin:2"}))), True),
        # Requests behind the end.
        ((*LIST, s(response(1)), CLIENT_ENDS, *AGAIN), False),
        ((SIGNALLED, *LIST, s(response(1)), SERVER_ENDS), False),
        ((*LIST, s(response(1)), CLIENT_ENDS, CLIENT_ENDS), False),
        # How it ended.
        ((*LIST, s(response(1)), CLIENT_ENDS, SERVER_ENDS, ("end", {"exit": 0})), True),
        ((*LIST, s(response(1)), SERVER_ENDS, ("end", {"signal": 15})), True),
        ((*LIST, s(response(1)), SERVER_ENDS, ("end", {"exit": 143})), True),
        ((*LIST, s(response(1)), SERVER_ENDS, SIGNALLED, ("end", {"signal": 15})), True),
        ((*LIST, s(response(1)), SIGNALLED, SERVER_ENDS, ("end", {"exit": 1})), True),
        ((*LIST, s(response(1)), ("end", {"signal": 15}), SERVER_ENDS), True),
        ((*LIST, SERVER_ENDS, ("end", {"signal": 15})), False),
        ((*LIST, s(response(1)), SERVER_ENDS, ("end", {"exit": 1})), False),
        ((*LIST, s(response(1)), SERVER_ENDS), False),
    ],
)
def test_what_an_index_takes(events: Sequence[Line], indexed: bool) -> None:
    """And the plan that is made of it is the one that is made of the events."""
    [recorded] = cassette(*events).episodes()
    index = index_answers(recorded)

    assert indexed is (index is not None)
    if index is not None:
        assert _as_value(build_plan(recorded)) == _as_value(plan_of(index))


@pytest.mark.parametrize(
    ("events", "limits", "indexed"),
    [
        ((*LIST, *AGAIN, s(response(1)), s(response(2))), {"MAX_OPEN_CALLS": 1}, False),
        ((*LIST, *AGAIN, s(response(1)), s(response(2))), {"MAX_OPEN_CALLS": 2}, True),
        *(
            ((*LATE, late), {"MAX_CLOSED_CALLS": limit}, limit == 2)
            for limit in (1, 2)
            for late in (s(response(1)), c(cancelled(1)), s(progress("a/b")))
        ),
        ((*LATE, s(response(2))), {"MAX_CLOSED_CALLS": 1}, True),
    ],
)
def test_an_index_knows_as_many_calls_as_a_session(
    monkeypatch: pytest.MonkeyPatch, events: Sequence[Line], limits: dict[str, int], indexed: bool
) -> None:
    """Where a session would have forgotten a call, what names it needs a plan."""
    for name, limit in limits.items():
        monkeypatch.setattr(answer_index, name, limit)
        monkeypatch.setattr(answer_index, "_READ_TOGETHER", 2)
    [recorded] = cassette(*events).episodes()

    assert indexed is (index_answers(recorded) is not None)


def _as_value(plan: ReplayPlan) -> list[Any]:
    messages = [{**asdict(one), "frame": one.frame.raw} for one in plan.messages]
    client = [{**asdict(one), "frame": one.frame.raw} for one in plan.client_events.values()]
    replies = {id_: [*events] for id_, events in plan.replies.items()}
    cancels = {call: [*events] for call, events in plan.cancels.items()}
    return [messages, client, replies, cancels, plan.request_ranks]
