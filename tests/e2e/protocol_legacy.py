"""The legacy era over Streamable HTTP: sessions, and everything that is wrong with a request.
See protocol_suite.py; what is said in streams is in protocol_streams.py."""

from __future__ import annotations

import json

from tests.support.raw_http import Connection

from .protocol_suite import Talk, call, request, suite

LISTING = request(1, "tools/list")
PROMPT = {"name": "greet", "arguments": {"name": "Ada"}}
legacy = suite("streamable-http")


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
