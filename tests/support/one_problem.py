"""Recordings with one problem each, line by line, and the sentence that tells it."""

from __future__ import annotations

from mcpmock.cassette.model import Cassette
from mcpmock.cassette.parser import read
from tests.support import HEADER, JSON_HEADER

JSONRPC = '"jsonrpc":"2.0"'


def c2s(ms: int, message: str, x: int | None = None) -> str:
    return _line(ms, "c2s", f'"m":{{{JSONRPC},{message}}}', x)


def s2c(ms: int, message: str, x: int | None = None) -> str:
    return _line(ms, "s2c", f'"m":{{{JSONRPC},{message}}}', x)


def fact(ms: int, direction: str, what: str, x: int | None = None) -> str:
    return _line(ms, direction, what, x)


def _line(ms: int, direction: str, what: str, x: int | None) -> str:
    exchange = "" if x is None else f'"s":2,"x":{x},'
    return f'"t":{ms * 1000},{exchange}"d":"{direction}",{what}'


def stop(ms: int, how: str) -> str:
    """How the server's process ended."""
    return f'"t":{ms * 1000},"end":{how}'


def stderr(ms: int, text: str) -> str:
    return f'"t":{ms * 1000},"stderr":"{text}"'


def recording(*lines: str, header: bytes = HEADER) -> Cassette:
    numbered = (f'{{"n":{n},{line}}}\n' for n, line in enumerate(lines, 1))
    loaded = read("a.jsonl", header + "".join(numbered).encode())
    assert [] == loaded.damage
    return loaded


INITIALIZE = (
    '"id":0,"method":"initialize","params":{"protocolVersion":"%s","capabilities":{},'
    '"clientInfo":{"name":"kit-client","version":"1.2"}}'
)
ASKED = INITIALIZE % "2025-11-25"
WELCOME = (
    '"id":0,"result":{"protocolVersion":"%s","capabilities":{"tools":{}},'
    '"serverInfo":{"name":"kit-server","version":"3.4"}}'
)
WELCOMED = WELCOME % "2025-11-25"
READY = '"method":"notifications/initialized"'
CALL = '"id":1,"method":"tools/call","params":{"name":"weather","arguments":{"city":"Oslo"}}'
ANSWER = '"id":1,"result":{"content":[{"type":"text","text":"snow"}]}'
CANCEL = '"method":"notifications/cancelled","params":{"requestId":1}'
OPENING = (c2s(0, ASKED), s2c(5, WELCOMED), c2s(6, READY))


def head(fields: str, *headers: str) -> str:
    named = ",".join(
        f'["{name}","{value}"]' for name, _, value in (h.partition(": ") for h in headers)
    )
    return f'"http":{{{fields},"headers":[{named}]}}'


ACCEPT = ("content-type: application/json", "accept: application/json, text/event-stream")
REVISION = "mcp-protocol-version: 2025-11-25"
FIRST_POST = head('"method":"POST","target":"/mcp"', *ACCEPT)
POST = head('"method":"POST","target":"/mcp"', *ACCEPT, REVISION)
GET = head('"method":"GET","target":"/mcp"', "accept: text/event-stream", REVISION)
RESUME = GET.replace("]]", '],["last-event-id","ev-1"]]')
STREAM = head('"status":200,"reason":"OK"', "content-type: text/event-stream")
JSON = head('"status":200,"reason":"OK"', "content-type: application/json")
ACCEPTED = head('"status":202,"reason":"Accepted"')
NOT_FOUND = head('"status":404,"reason":"Not Found"')
END = '"end":"eof"'
OPENING_HTTP = (
    *(fact(0, "c2s", FIRST_POST, 1), c2s(0, ASKED, 1)),
    *(fact(5, "s2c", JSON, 1), s2c(5, WELCOMED, 1), fact(5, "s2c", END, 1)),
    *(fact(6, "c2s", POST, 2), c2s(6, READY, 2), fact(7, "s2c", ACCEPTED, 2)),
    fact(7, "s2c", END, 2),
)


def body(text: str) -> str:
    return f'"body":"{text}"'


def outside(*lines: str) -> tuple[str, ...]:
    """The same without a session."""
    return tuple(line.replace('"s":2', '"s":1') for line in lines)


UNAUTHORIZED = head('"status":401,"reason":"Unauthorized"', "content-type: application/json")


def unauthorized(x: int) -> tuple[str, ...]:
    """An `initialize` without a token, and what OAuth answers."""
    asked = fact(x, "c2s", FIRST_POST, x), c2s(x, ASKED, x)
    refused = fact(x, "s2c", UNAUTHORIZED, x), fact(x, "s2c", '"m":{"error":"invalid_token"}', x)
    return outside(*asked, *refused, fact(x, "s2c", END, x))


CALL_HTTP = (*OPENING_HTTP, fact(10, "c2s", POST, 3), c2s(10, CALL, 3))
UNASKED = "the server broke a rule: an answer with the id 41, which no request has"
ERROR = '"id":1,"error":{"code":-32602,"message":"no"}'
MISSED = "nothing recorded answers tools/call weather"
DROP = '"fault":{"kind":"drop","on":"response","method":"tools/call","id":"1"}'


def over_http(*lines: str) -> Cassette:
    return recording(*lines, header=JSON_HEADER)


ONE_PROBLEM = {
    "crash at start": (
        recording(
            c2s(0, ASKED),
            stderr(540, "Traceback (most recent call last):\\n  ...\\nKeyError: 'TOKEN'\\n"),
            *(fact(551, "s2c", END), stop(552, '{"exit":1}')),
        ),
        "initialize #0 was never answered: the server ended with status 1, 552 ms later; "
        "its log ends: KeyError: 'TOKEN'",
    ),
    "crash in a call": (
        recording(*OPENING, c2s(10, CALL), stop(40, '{"exit":7}')),
        "tools/call weather #1 was never answered: the server ended with status 7, 30 ms later",
    ),
    "crash in three calls": (
        recording(
            *(*OPENING, c2s(10, CALL), c2s(11, CALL.replace(":1,", ":2,"))),
            *(c2s(12, CALL.replace(":1,", ":3,")), stop(40, '{"signal":11}')),
        ),
        "tools/call weather #1 and 2 more requests were never answered: "
        "the server was ended by signal 11, 30 ms later",
    ),
    "a bad end": (recording(*OPENING, stop(40, '{"exit":7}')), "the server ended with status 7"),
    "unanswered call": (
        recording(*OPENING, c2s(10, CALL), fact(5010, "c2s", END)),
        "tools/call weather #1 was never answered: the client hung up, 5.00 s later",
    ),
    "unanswered call of a server that logs": (
        recording(
            *(stderr(0, "started"), *OPENING, c2s(10, CALL), stderr(20, "backend is slow\\n")),
            fact(5010, "c2s", END),
        ),
        "tools/call weather #1 was never answered: the client hung up, 5.00 s later; "
        "the server's log ends: backend is slow",
    ),
    "unanswered call of a server that logged before": (
        recording(stderr(0, "started"), *OPENING, c2s(10, CALL), fact(5010, "c2s", END)),
        "tools/call weather #1 was never answered: the client hung up, 5.00 s later",
    ),
    "stopped in a call": (
        recording(*OPENING, c2s(10, CALL), fact(20, "c2s", '"end":{"signal":15}')),
        "tools/call weather #1 was never answered: the client stopped the server, 10 ms later",
    ),
    "a recording that breaks off": (
        recording(*OPENING, c2s(10, CALL), stderr(5010, "working")),
        "tools/call weather #1 was never answered: the recording breaks off, 5.00 s later; "
        "the server's log ends: working",
    ),
    "a recording in memory": (
        recording(*OPENING, c2s(10, CALL), header=HEADER.replace(b"stdio", b"memory")),
        "tools/call weather #1 was never answered: the recording breaks off",
    ),
    "a recording of a test": (
        recording(
            *(*OPENING, c2s(10, CALL)),
            header=HEADER.replace(b'"stdio"', b'"memory","test":"t.py::test"'),
        ),
        "tools/call weather #1 was never answered: the test ended",
    ),
    "404": (
        over_http(*CALL_HTTP, fact(12, "s2c", NOT_FOUND, 3), fact(12, "s2c", END, 3)),
        "tools/call weather #1 got HTTP 404 Not Found",
    ),
    "404 with an error": (
        over_http(
            *(*CALL_HTTP, fact(12, "s2c", NOT_FOUND, 3)),
            *(s2c(12, '"id":1,"error":{"code":-32001,"message":"no session"}', 3),),
        ),
        "tools/call weather #1 got HTTP 404 Not Found: -32001 no session",
    ),
    "404 with its reason": (
        over_http(*CALL_HTTP, fact(12, "s2c", NOT_FOUND, 3), fact(12, "s2c", body("Not Found"), 3)),
        "tools/call weather #1 got HTTP 404 Not Found",
    ),
    "502 with words": (
        over_http(
            *(*CALL_HTTP, fact(12, "s2c", head('"status":502,"reason":"Bad Gateway"'), 3)),
            fact(12, "s2c", body("mcpmock: cannot reach http://127.0.0.1:8000/mcp"), 3),
        ),
        "tools/call weather #1 got HTTP 502 Bad Gateway: "
        "mcpmock: cannot reach http://127.0.0.1:8000/mcp",
    ),
    "502 with a page": (
        over_http(
            *(*CALL_HTTP, fact(12, "s2c", head('"status":502,"reason":"Bad Gateway"'), 3)),
            fact(12, "s2c", body("<html><title>502</title></html>"), 3),
        ),
        "tools/call weather #1 got HTTP 502 Bad Gateway",
    ),
    "429 with other JSON": (
        over_http(
            *(*CALL_HTTP, fact(12, "s2c", head('"status":429,"reason":"Too Many Requests"'), 3)),
            fact(12, "s2c", '"m":{"message":"slow down"}', 3),
        ),
        'tools/call weather #1 got HTTP 429 Too Many Requests: {"message":"slow down"}',
    ),
    "401 again and again": (
        over_http(*unauthorized(1), *unauthorized(2)),
        "initialize #0 got HTTP 401 Unauthorized: invalid_token; 1 more like it",
    ),
    "404 of a GET": (
        over_http(*OPENING_HTTP, fact(12, "c2s", GET, 3), fact(12, "s2c", NOT_FOUND, 3)),
        "GET /mcp got HTTP 404 Not Found",
    ),
    "stream cut": (
        over_http(*CALL_HTTP, fact(11, "s2c", STREAM, 3), fact(20, "s2c", '"end":"reset"', 3)),
        "tools/call weather #1 was never answered: its HTTP connection was reset, 10 ms later",
    ),
    "stream that ends too early": (
        over_http(*CALL_HTTP, fact(11, "s2c", STREAM, 3), fact(20, "s2c", END, 3)),
        "tools/call weather #1 was never answered: its HTTP response ended without one, "
        "10 ms later",
    ),
    "connection closed": (
        over_http(*CALL_HTTP, fact(20, "s2c", END, 3)),
        "tools/call weather #1 was never answered: the server closed the HTTP connection, "
        "10 ms later",
    ),
    "client that went away": (
        over_http(*CALL_HTTP, fact(11, "s2c", STREAM, 3), fact(20, "c2s", '"end":"closed"', 3)),
        "tools/call weather #1 was never answered: the client left, 10 ms later",
    ),
    "stream cut and resumed": (
        over_http(
            *(*CALL_HTTP, fact(11, "s2c", STREAM, 3)),
            *(fact(12, "s2c", '"sse":{"id":"ev-1"}', 3), fact(12, "s2c", '"text":""', 3)),
            *(fact(20, "s2c", '"end":"reset"', 3), fact(1020, "c2s", RESUME, 4)),
            *(fact(1021, "s2c", STREAM, 4), s2c(1022, ANSWER, 4), fact(1022, "s2c", END, 4)),
        ),
        "the stream of tools/call weather #1 was reset, and resumed after event ev-1",
    ),
    "answer after cancel": (
        recording(*OPENING, c2s(10, CALL), c2s(20, CANCEL), s2c(30, ANSWER)),
        "the server broke a rule: an answer to tools/call #1, which was cancelled before "
        "[answer-after-cancel, event 6]",
    ),
    "answer that nobody asked for": (
        recording(*OPENING, s2c(30, ANSWER.replace('"id":1', '"id":41'))),
        f"{UNASKED} [answers-nothing, event 4]",
    ),
    "answers that nobody asked for": (
        recording(*OPENING, *(s2c(30, ANSWER.replace(":1", f":{id_}")) for id_ in (41, 42, 43))),
        f"{UNASKED} [answers-nothing, event 4]; 2 more like it",
    ),
    "words on stdout": (
        recording(*OPENING, fact(10, "s2c", '"text":"listening"')),
        "the server broke a rule: not JSON-RPC: listening [not-a-message, event 4]",
    ),
    "handshake refused": (
        recording(c2s(0, ASKED), s2c(5, ERROR.replace(":1,", ":0,"))),
        "initialize #0 failed: -32602 no",
    ),
    "broken rule and the error that it gets": (
        recording(
            *(*OPENING, c2s(10, '"id":1,"method":"prompts/list"')),
            s2c(11, '"id":1,"error":{"code":-32601,"message":"Method not found"}'),
        ),
        "the client broke a rule: prompts/list, but the server has not declared prompts "
        "[capability, event 4]",
    ),
    "wrong revision": (
        recording(c2s(0, ASKED), s2c(5, WELCOME % "2031-01-01"), c2s(6, READY)),
        "the server answered in 2031-01-01, which is no revision of MCP",
    ),
    "another revision in a head": (
        over_http(
            *CALL_HTTP[:-2],
            fact(10, "c2s", POST.replace("25-11-25", "25-06-18"), 3),
            *(c2s(10, CALL, 3), fact(11, "s2c", JSON, 3), s2c(12, ANSWER, 3)),
        ),
        "the client broke a rule: MCP-Protocol-Version 2025-06-18, negotiated: 2025-11-25 "
        "[version-differs, event 11]",
    ),
    "gap": (
        recording(*OPENING, '"t":9000,"gap":{"events":3,"bytes":210,"reason":"disk full"}'),
        "3 events could not be recorded: disk full",
    ),
    "fault fired": (
        recording(*OPENING, c2s(10, CALL), f'"t":11000,{DROP}'),
        "tools/call weather #1 was never answered: "
        "an injected fault fired: drop response of tools/call 1",
    ),
    "fault fired, and the client gave up": (
        recording(*OPENING, c2s(10, CALL), f'"t":11000,{DROP}', c2s(500, CANCEL)),
        "tools/call weather #1 was never answered: "
        "an injected fault fired: drop response of tools/call 1",
    ),
    "miss": (
        recording(
            *(*OPENING, c2s(10, CALL)),
            s2c(12, ERROR.replace("-32602", "-31999").replace("no", f"mcpmock: {MISSED}")),
        ),
        f"tools/call weather #1 failed: {MISSED}",
    ),
    "fault that nothing missed": (
        recording(*OPENING, c2s(10, CALL), f'"t":11000,{DROP}', s2c(12, ANSWER)),
        "an injected fault fired: drop response of tools/call 1",
    ),
    "a failed call": (
        recording(*(*OPENING, c2s(10, CALL)), s2c(12, ERROR)),
        "tools/call weather #1 failed: -32602 no",
    ),
}
