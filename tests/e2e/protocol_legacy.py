"""The legacy era over Streamable HTTP: sessions, streams, and everything that is wrong with a
request.  See protocol_suite.py."""

from __future__ import annotations

import json
from typing import Any

from .protocol_suite import Talk, call, request, suite
from .raw_http import Connection, ServerEvent

LISTING = request(1, "tools/list")
PROMPT = {"name": "greet", "arguments": {"name": "Ada"}}
legacy = suite("streamable-http")


def answer_to(event: ServerEvent, **answer: object) -> dict[str, Any]:
    """The answer to a question of the server: a result or an error."""
    return {"jsonrpc": "2.0", "id": json.loads(event.data)["id"], **answer}


@legacy
def initialize(talk: Talk) -> None:
    talk.hear(talk.initialize())


@legacy
def initialize_with_an_old_revision(talk: Talk) -> None:
    talk.hear(talk.initialize("2025-03-26"))


@legacy
def initialize_with_an_unknown_revision(talk: Talk) -> None:
    talk.hear(talk.initialize("1999-01-01"))


@legacy
def initialize_with_wrong_params(talk: Talk) -> None:
    talk.hear(talk.post(request(1, "initialize", {"protocolVersion": 7})))


@legacy
def initialize_twice_in_a_session(talk: Talk) -> None:
    talk.begin()
    talk.hear(talk.initialize())


@legacy
def initialized_is_accepted(talk: Talk) -> None:
    talk.session = talk.initialize().header("mcp-session-id")
    talk.hear(talk.post(request(None, "notifications/initialized")))


@legacy
def a_session_from_begin_to_end(talk: Talk) -> None:
    talk.begin()
    talk.hear(talk.post(LISTING))
    talk.hear(talk.post(request("two", "ping")))
    talk.hear(talk.send("DELETE"))


@legacy
def a_request_in_an_ended_session(talk: Talk) -> None:
    talk.begin()
    talk.send("DELETE").rest()
    talk.hear(talk.post(LISTING))
    talk.hear(talk.send("GET"))
    talk.hear(talk.send("DELETE"))


@legacy
def no_session_id(talk: Talk) -> None:
    talk.hear(talk.post(LISTING))


@legacy
def an_unknown_session_id(talk: Talk) -> None:
    talk.session = "nobody-knows-it"
    talk.hear(talk.post(LISTING))


@legacy
def get_without_a_session(talk: Talk) -> None:
    talk.hear(talk.send("GET"))


@legacy
def get_that_does_not_accept_events(talk: Talk) -> None:
    talk.begin()
    talk.hear(talk.send("GET", accept="application/json"))


@legacy
def delete_without_a_session(talk: Talk) -> None:
    talk.hear(talk.send("DELETE"))


@legacy
def other_methods(talk: Talk) -> None:
    talk.begin()
    for method in ("PUT", "PATCH", "OPTIONS", "HEAD"):
        talk.hear(talk.send(method))


@legacy
def other_paths(talk: Talk) -> None:
    talk.hear(talk.send("GET", target="/"), kept=False)
    talk.hear(talk.send("GET", target="/.well-known/oauth-protected-resource/mcp"), kept=False)
    talk.hear(talk.post(LISTING, target="/nowhere"), kept=False)


@legacy
def a_query_in_the_target(talk: Talk) -> None:
    talk.begin()
    talk.hear(talk.post(LISTING, target=f"{talk.path}?a=1&b=%20"))


@legacy
def kinds_of_accept(talk: Talk) -> None:
    talk.begin()
    for accept in (None, "*/*", "application/json", "text/event-stream", "text/html"):
        talk.hear(talk.post(LISTING, accept=accept))
    talk.hear(talk.post(LISTING, accept="text/event-stream;q=0.5 , application/json; x=y"))


@legacy
def kinds_of_content_type(talk: Talk) -> None:
    talk.begin()
    for kind in ("application/xml", "application/json; charset=utf-8", "application/jsonp"):
        talk.hear(talk.post(LISTING, content_type=kind))


@legacy
def bodies_that_are_no_json(talk: Talk) -> None:
    talk.begin()
    for body in (b"{not json", b"", b"\xff\xfe{}", b'{"jsonrpc":"2.0","id":1,"method":"ping"'):
        talk.hear(talk.send("POST", body))


@legacy
def json_that_is_no_message(talk: Talk) -> None:
    talk.begin()
    for body in (b"null", b"7", b"[]", b"{}", b'{"jsonrpc":"1.0","id":1,"method":"ping"}'):
        talk.hear(talk.send("POST", body))


@legacy
def kinds_of_ids(talk: Talk) -> None:
    talk.begin()
    for id_ in ("7", 7, "", -1, "ünï", 9007199254740991):
        talk.hear(talk.post(request(id_, "ping")))


@legacy
def bodies_written_otherwise(talk: Talk) -> None:
    talk.begin()
    pretty = json.dumps(request(1, "prompts/get", PROMPT), indent=2).encode()
    talk.hear(talk.send("POST", pretty.replace(b"\n", b"\r\n")))
    line_breaks = json.dumps(call(2, "no such\u2028tool"), ensure_ascii=False).encode()
    talk.hear(talk.send("POST", line_breaks))


@legacy
def a_body_in_chunks(talk: Talk) -> None:
    talk.begin()
    body = json.dumps(LISTING).encode()
    talk.hear(talk.send("POST", [body[:1], body[1:20], body[20:]]))


@legacy
def a_body_that_is_announced(talk: Talk) -> None:
    talk.begin()
    talk.hear(talk.post(request(1, "prompts/get", PROMPT), expect="100-continue"))


@legacy
def a_large_body(talk: Talk) -> None:
    talk.begin()
    arguments = {"name": "0123456789abcdef" * 150_000}
    talk.hear(talk.post(request(1, "prompts/get", {"name": "greet", "arguments": arguments})))


@legacy
def two_requests_on_one_connection(talk: Talk) -> None:
    talk.begin()
    connection = Connection(talk.address)
    talk.hear(talk.post(request(1, "ping"), on=connection))
    talk.hear(talk.post(request(2, "prompts/get", PROMPT), on=connection))


@legacy
def protocol_version_headers(talk: Talk) -> None:
    talk.begin()
    for revision in (None, "2025-06-18", "1999-01-01", "nonsense"):
        talk.hear(talk.post(request(1, "ping"), mcp_protocol_version=revision))


@legacy
def a_batch(talk: Talk) -> None:
    talk.begin("2025-03-26")
    talk.hear(talk.post([request(1, "ping"), request(2, "prompts/get", PROMPT)]))
    talk.hear(talk.post([request(None, "notifications/roots/list_changed")]))


@legacy
def errors_of_the_protocol(talk: Talk) -> None:
    talk.begin()
    talk.hear(talk.post(request(1, "no/such/method")))
    talk.hear(talk.post(call(2, "no-such-tool")))
    talk.hear(talk.post(call(3, "add", a="one")))
    talk.hear(talk.post(call(4, "fail")))
    talk.hear(talk.post(request(5, "resources/read", {"uri": "note://nowhere"})))


@legacy
def notifications_and_stray_answers(talk: Talk) -> None:
    talk.begin()
    talk.hear(talk.post(request(None, "notifications/roots/list_changed")))
    talk.hear(talk.post(request(None, "notifications/no-such-thing", {"a": 1})))
    talk.hear(talk.post({"jsonrpc": "2.0", "id": 99, "result": {}}))


@legacy
def progress_and_logging(talk: Talk) -> None:
    talk.begin()
    talk.hear(talk.post(call(1, "countdown", progress=True, start=3)))


@legacy
def an_old_revision_has_no_prime_event(talk: Talk) -> None:
    talk.begin("2025-06-18")
    talk.hear(talk.post(call(1, "countdown", progress=True, start=2)))


@legacy
def two_requests_in_parallel(talk: Talk) -> None:
    talk.begin()
    slow = talk.post(call(1, "countdown", progress=True, start=6))
    talk.hear(slow, upto=3)
    talk.hear(talk.post(call(2, "add", a=1, b=2)))
    talk.events(slow, talk.said[0])


@legacy
def a_question_is_answered(talk: Talk) -> None:
    talk.begin()
    exchange = talk.post(call(1, "ask_user", text="Who are you?"))
    question = talk.until(exchange, entry := talk.head(exchange), 1)
    result = {"action": "accept", "content": {"name": "Ada"}}
    talk.hear(talk.post(answer_to(question, result=result)))
    talk.events(exchange, entry)


@legacy
def a_question_is_refused(talk: Talk) -> None:
    talk.begin()
    exchange = talk.post(call(1, "ask_model", text="What is it?"))
    question = talk.until(exchange, entry := talk.head(exchange), 1)
    talk.hear(talk.post(answer_to(question, error={"code": -1, "message": "no ☃"})))
    talk.events(exchange, entry)


@legacy
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


@legacy
def a_client_that_left_comes_back(talk: Talk) -> None:
    talk.begin()
    with talk.post(call(1, "countdown", progress=True, start=6)) as exchange:
        last = talk.hear(exchange, upto=4)[-1].id
    while (stream := talk.send("GET", last_event_id=last)).status == 409:
        talk.post(request(2, "ping")).rest()  # the server has not seen it leave yet
    entry = talk.head(stream)
    talk.until(stream, entry, 1)
    # Where the prime event is depends on how much the server said before it saw the client leave.
    entry["events"] = [event for event in entry["events"] if event["data"] != ""]


@legacy
def a_stream_that_the_server_breaks_off(talk: Talk) -> None:
    talk.begin()
    last = talk.hear(talk.post(call(1, "break_off", progress=True, steps=4)))[-1].id
    stream = talk.send("GET", last_event_id=last)
    talk.until(stream, talk.head(stream), 1)


@legacy
def an_unknown_last_event_id(talk: Talk) -> None:
    talk.begin()
    exchange = talk.send("GET", last_event_id="no-such-event")
    talk.post(request(1, "ping")).rest()
    talk.send("DELETE").rest()
    talk.head(exchange)
    talk.note(left=exchange.rest().decode())


@legacy
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
