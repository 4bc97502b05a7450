"""The legacy era over Streamable HTTP: what is said in streams, and streams that are cut and taken
up again.  See protocol_suite.py."""

from __future__ import annotations

import json
from typing import Any

from tests.support.raw_http import Exchange, ServerEvent

from .protocol_suite import Talk, call, request, suite

COUNTDOWN = call(1, "countdown", progress=True, start=3)
streams = suite("streamable-http")


def answer_to(event: ServerEvent, **answer: object) -> dict[str, Any]:
    """The answer to a question of the server: a result or an error."""
    return {"jsonrpc": "2.0", "id": json.loads(event.data)["id"], **answer}


@streams
def progress_and_logging(talk: Talk) -> None:
    talk.begin()
    talk.hear(talk.post(COUNTDOWN))


@streams
def an_old_revision_has_no_prime_event(talk: Talk) -> None:
    talk.begin("2025-06-18")
    talk.hear(talk.post(call(1, "countdown", progress=True, start=2)))


@streams
def two_requests_in_parallel(talk: Talk) -> None:
    talk.begin()
    slow = talk.post(call(1, "countdown", progress=True, start=6))
    talk.hear(slow, upto=3)
    talk.hear(talk.post(call(2, "add", a=1, b=2)))
    talk.events(slow, talk.said[0])


@streams
def a_question_is_answered(talk: Talk) -> None:
    talk.begin()
    exchange = talk.post(call(1, "ask_user", text="Who are you?"))
    question = talk.until(exchange, entry := talk.head(exchange), 1)
    result = {"action": "accept", "content": {"name": "Ada"}}
    talk.hear(talk.post(answer_to(question, result=result)))
    talk.events(exchange, entry)


@streams
def a_question_is_refused(talk: Talk) -> None:
    talk.begin()
    exchange = talk.post(call(1, "ask_model", text="What is it?"))
    question = talk.until(exchange, entry := talk.head(exchange), 1)
    talk.hear(talk.post(answer_to(question, error={"code": -1, "message": "no ☃"})))
    talk.events(exchange, entry)


@streams
def the_stream_of_a_session(talk: Talk) -> None:
    talk.begin()
    stream = talk.send("GET")
    talk.post(request(1, "ping")).rest()  # the server must have seen the GET before it
    talk.hear(talk.post(call(2, "touch")))
    entry = talk.head(stream)
    while "notifications/resources/updated" not in json.dumps(entry.get("events", [])):
        assert talk.events(stream, entry, upto=1)
    talk.hear(talk.send("GET"))
    talk.send("DELETE").rest()
    talk.events(stream, entry)


def come_back(talk: Talk, last: str | None) -> Exchange:
    """Ask for the rest of a stream; until the server has seen the client leave, it refuses."""
    while (stream := talk.send("GET", last_event_id=last)).status == 409:
        talk.post(request("again", "ping")).rest()
    return stream


def leave(talk: Talk, stream: Exchange, at: int) -> str | None:
    """Tell so many events of a stream and leave it; the last one's id."""
    with stream:
        return talk.hear(stream, upto=at)[-1].id


def rest(talk: Talk, stream: Exchange, entry: dict[str, Any], id_: object) -> None:
    """Tell what a stream has left, up to an answer, as if it had not been cut.

    Where the prime event is depends on how much the server said before it saw the client leave.
    """
    talk.until(stream, entry, id_)
    entry["events"] = [event for event in entry["events"] if event["data"] != ""]


def hold(talk: Talk, number: int) -> Exchange:
    """A call with progress twice, and twice again once somebody lets it go: servers themselves lose
    what they say while they give a client what it has missed."""
    return talk.post(call(number, "hold", progress=True, gate=f"{talk.name} {number}"))


def let_go(talk: Talk, number: int) -> None:
    """Let a call go that holds, and wait until it has said all."""
    talk.post(call(f"let go {number}", "let_go", gate=f"{talk.name} {number}")).rest()


@streams
def a_stream_is_cut_at_every_event(talk: Talk) -> None:
    talk.begin()
    for at in range(1, 6):
        stream = hold(talk, at)
        if at > 3:
            let_go(talk, at)
        last = leave(talk, stream, at)
        if at <= 3:
            let_go(talk, at)
        rest(talk, come_back(talk, last), talk.said[-1], at)


@streams
def two_streams_are_cut(talk: Talk) -> None:
    talk.begin()
    lasts = {number: leave(talk, hold(talk, number), 2) for number in (1, 2)}
    for number in (2, 1):
        let_go(talk, number)
    back = {number: come_back(talk, last) for number, last in lasts.items()}
    for number, stream in back.items():
        rest(talk, stream, talk.said[number - 1], number)


@streams
def a_stream_that_the_server_breaks_off(talk: Talk) -> None:
    talk.begin()
    last = talk.hear(talk.post(call(1, "break_off", progress=True, steps=4)))[-1].id
    stream = talk.send("GET", last_event_id=last)
    talk.until(stream, talk.head(stream), 1)


@streams
def an_unknown_last_event_id(talk: Talk) -> None:
    talk.begin()
    exchange = talk.send("GET", last_event_id="no-such-event")
    talk.post(request(1, "ping")).rest()
    talk.send("DELETE").rest()
    talk.head(exchange)
    talk.note(left=exchange.rest().decode())


@streams
def a_cancelled_call(talk: Talk) -> None:
    talk.begin()
    last = 30
    exchange = talk.post(call(1, "countdown", progress=True, start=last, quiet=True))
    talk.hear(exchange, upto=3)
    talk.hear(talk.post(request(None, "notifications/cancelled", {"requestId": 1})))
    for event in exchange.events():  # some servers answer, others go on to the end and do not
        message = json.loads(event.data)
        if message.get("params", {}).get("progress") == last or "id" in message:
            talk.note(after_all=message)
            break
    talk.send("DELETE").rest()
    talk.note(left=exchange.rest().decode())
