"""What no SDK does and servers may: see servers/oddities.py, and protocol_suite.py."""

from __future__ import annotations

from .protocol_sse import Session
from .protocol_streams import answer_to
from .protocol_suite import Talk, call, request, suite

odd = suite("odd streamable-http")
odd_sse = suite("odd sse")
LOCKED: dict[str, object] = {"experimental": {"locked": {}}}
TOKEN = "Bearer e2e-token-not-a-secret"


@odd
def refusals(talk: Talk) -> None:
    talk.begin()
    for code in (400, 401, 403, 404, 405, 406, 409, 413, 415, 421, 429, 500, 501, 503):
        talk.hear(talk.post(call(code, "status", code=code)))


@odd
def one_refusal_and_then_an_answer(talk: Talk) -> None:
    talk.begin()
    talk.hear(talk.post(call(1, "status", code=503)))
    talk.hear(talk.post(call(1, "turns")))


@odd
def pages_in_between(talk: Talk) -> None:
    talk.begin()
    for code in (302, 400, 502, 504):
        talk.hear(talk.post(call(code, "page", code=code)))


@odd
def a_token_is_wanted(talk: Talk) -> None:
    info = {"name": talk.name, "version": "1"}
    params = {"protocolVersion": talk.revision, "capabilities": LOCKED, "clientInfo": info}
    hello = request(0, "initialize", params)
    talk.hear(talk.post(hello))
    where = "/.well-known/oauth-protected-resource/mcp"
    talk.hear(talk.send("GET", target=where), kept=False)
    exchange = talk.post(hello, authorization=TOKEN)
    talk.hear(exchange)
    talk.session = exchange.header("mcp-session-id")
    talk.hear(talk.post(request(1, "tools/list"), authorization=TOKEN))
    talk.hear(talk.post(request(2, "tools/list")))
    talk.hear(talk.post(request(3, "tools/list"), authorization=TOKEN))


@odd
def in_json_and_in_events_by_turns(talk: Talk) -> None:
    talk.begin()
    for number in range(4):
        talk.hear(talk.post(call(number, "turns")))


@odd
def two_answers_on_one_stream(talk: Talk) -> None:
    talk.begin()
    talk.hear(talk.post(call(1, "twice")))


@odd
def the_second_answer_on_another_stream(talk: Talk) -> None:
    talk.begin()
    entry = talk.head(stream := talk.send("GET"))
    talk.hear(talk.post(call(1, "also")))
    talk.until(stream, entry, 1)


@odd
def the_answer_on_another_stream(talk: Talk) -> None:
    talk.begin()
    entry = talk.head(stream := talk.send("GET"))
    talk.hear(talk.post(call(1, "elsewhere")))
    talk.until(stream, entry, 1)


@odd
def no_answer(talk: Talk) -> None:
    talk.begin()
    talk.hear(talk.post(call(1, "never")))
    talk.hear(talk.post(request(2, "ping")))


@odd
def the_result_before_the_202(talk: Talk) -> None:
    talk.begin()
    exchange = talk.post(call(1, "ask"))
    question = talk.until(exchange, entry := talk.head(exchange), 1)
    accepted = talk.post(answer_to(question, result={"roots": []}))
    talk.events(exchange, entry)
    talk.hear(accepted)


@odd
def a_stream_to_be_asked_for_again(talk: Talk) -> None:
    talk.begin()
    for rounds in range(4):
        last = talk.hear(talk.post(call(rounds, "poll", rounds=rounds)))[-1].id
        for _ in range(rounds + 1):
            last = talk.hear(talk.send("GET", last_event_id=last))[-1].id


@odd
def two_of_them_side_by_side(talk: Talk) -> None:
    talk.begin()
    lasts = [talk.hear(talk.post(call(number, "poll", rounds=2)))[-1].id for number in (1, 2)]
    for _ in range(3):
        for number, last in reversed(list(enumerate(lasts))):
            lasts[number] = talk.hear(talk.send("GET", last_event_id=last))[-1].id


@odd
def the_stream_of_a_session_is_cut_at_every_event(talk: Talk) -> None:
    talk.begin()
    last = None
    for at in range(4):
        stream = talk.send("GET", last_event_id=last)
        entry = talk.head(stream)
        for number in range(at):
            talk.post(call(f"{at}.{number}", "tell", what=f"heard {at}.{number}")).rest()
        with stream:
            for event in talk.events(stream, entry, upto=at + (at > 0)):
                last = event.id
        talk.post(call(at, "tell", what=f"missed {at}")).rest()


@odd
def events_spelled_in_every_way(talk: Talk) -> None:
    talk.begin()
    talk.hear(talk.post(call(1, "spelled")))


@odd
def a_session_that_is_over(talk: Talk) -> None:
    talk.begin()
    talk.hear(talk.send("DELETE"))
    talk.hear(talk.post(request(1, "ping")))
    talk.session = None
    talk.hear(talk.post(request(1, "ping")))


@odd_sse
def the_answer_before_the_202(talk: Talk) -> None:
    session = Session(talk)
    session.begin()
    accepted = session.post(call(1, "early"))
    session.hear(1)
    session.say(request(None, "notifications/roots/list_changed"))
    talk.hear(accepted)


@odd_sse
def two_answers(talk: Talk) -> None:
    session = Session(talk)
    session.begin()
    session.say(call(1, "twice"))
    session.hear(1)
    session.hear(1)


@odd_sse
def a_message_that_is_refused(talk: Talk) -> None:
    session = Session(talk)
    session.begin()
    session.say(call(1, "refused"))
    session.say(call(2, "twice"))
    session.hear(2)


@odd_sse
def a_stream_that_ends(talk: Talk) -> None:
    session = Session(talk)
    session.begin()
    session.say(call(1, "last"))
    talk.events(session.stream, session.entry)
