"""Single values: Base64, MIME types, URIs, the keys of `_meta`, the trace context."""

from __future__ import annotations

from typing import Any

import pytest

from mcpmock.rules.values import is_base64, is_uri
from tests.rules.violations import (
    CLIENT,
    HINTS,
    HTTP,
    SERVER,
    Planted,
    ask,
    asked,
    done,
    modern,
    modern_http,
    names,
    opening,
    opening_http,
    posted,
    violations,
)
from tests.support import answers, batch, c2s, error, notification, request, response, s2c

CALL = c2s(request(1, "tools/call", {"name": "dig"}))
LIST = c2s(request(1, "tools/list"))
TEXT = {"type": "text", "text": ""}
SECRET = "mcpmock:secret:token:1"
PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
EXTENSIONS: Any = {"extensions": {"tasks": {}}}


def image(**members: Any) -> dict[str, Any]:
    return {"type": "image", "data": "aGk=", "mimeType": "image/png", **members}


def tool_result(*blocks: Any, **more: Any) -> Any:
    return s2c(response(1, {"content": [*blocks], **more}))


def legacy(block: Any, revision: str = "2025-11-25") -> list[Any]:
    return [*opening(revision), CALL, tool_result(block)]


def embedded(**members: Any) -> dict[str, Any]:
    return {"type": "resource", "resource": {"uri": "demo:1", "text": "", **members}}


def rooted(uri: str, revision: str = "2025-11-25") -> list[Any]:
    answer = c2s(response(1, {"roots": [{"uri": uri}]}))
    return [*opening(revision), s2c(request(1, "roots/list")), answer]


def linked(uri: str, revision: str = "2025-11-25") -> list[Any]:
    return legacy({"type": "resource_link", "uri": uri, "name": "a"}, revision)


def listed(uri: str) -> list[Any]:
    found = s2c(response(1, {"resources": [{"uri": uri, "name": "a"}]}))
    return [*opening(), c2s(request(1, "resources/list")), found]


def read(uri: str, found: Any) -> list[Any]:
    asks = c2s(request(1, "resources/read", {"uri": uri}))
    return [*opening(), asks, s2c(response(1, {"contents": [found]}))]


def keyed(key: str, revision: str = "2025-11-25") -> list[Any]:
    return legacy({"type": "text", "text": "", "_meta": {key: 1}}, revision)


def traced(**meta: Any) -> list[Any]:
    params = {"name": "dig", "_meta": meta}
    raw = request(1, "tools/call", params).replace(b'"_meta":{', b'"_meta":{' + META, 1)
    return [*modern(), c2s(raw)]


META = (
    b'"io.modelcontextprotocol/protocolVersion":"2026-07-28",'
    b'"io.modelcontextprotocol/clientInfo":{"name":"a","version":"1"},'
    b'"io.modelcontextprotocol/clientCapabilities":{},'
)
ELICITED = {"mode": "url", "url": "no url", "message": "go", "elicitationId": "e"}
VISITING = {**CLIENT, "elicitation": {"url": {}}}
SAMPLED = {"role": "assistant", "model": "m", "content": image(data="?")}

PLANTED = [
    Planted("base64", legacy(image(data="a*b="))),
    Planted("base64", legacy(image(data="aGk_"), "2024-11-05")),
    Planted("base64", legacy({"type": "audio", "data": "a", "mimeType": "audio/wav"})),
    Planted("base64", legacy(embedded(blob="not base64!"))),
    Planted("base64", read("demo:1", {"uri": "demo:1", "blob": "aGk=="})),
    Planted(
        "base64",
        [*opening(), s2c(request(1, "sampling/createMessage", {})), c2s(response(1, SAMPLED))],
    ),
    Planted(
        "base64",
        [*modern(), c2s(ask(1, "tools/call")), s2c(done(1, {"content": [image(data="?")]}))],
    ),
    Planted(
        "base64",
        [
            *opening("2025-03-26"),
            c2s(batch(CALL.raw, request(2, "ping"))),
            s2c(batch(response(1, {"content": [image(data="?")]}), response(2))),
        ],
    ),
    Planted(
        "base64",
        [*opening_http(), posted(3, CALL.raw), answers(3, tool_result(image(data="a")).raw)],
        HTTP,
    ),
    Planted("mime-type", legacy(image(mimeType="png"))),
    Planted("mime-type", legacy(image(mimeType="image/"), "2024-11-05")),
    Planted("mime-type", legacy({"type": "audio", "data": "", "mimeType": "audio wav/x"})),
    Planted("uri-syntax", linked("no scheme")),
    Planted("uri-syntax", linked("/path/only", "2025-06-18")),
    Planted("uri-syntax", listed("demo:a b")),
    Planted("uri-syntax", listed("demo:%zz")),
    Planted("uri-syntax", legacy(embedded(uri="demo:ä"))),
    Planted("uri-syntax", read("demo:1", {"uri": "demo:<1>", "text": ""})),
    Planted(
        "uri-syntax",
        [*opening(), s2c(notification("notifications/resources/updated", {"uri": "x y"}))],
    ),
    Planted(
        "uri-syntax",
        [*opening(client=VISITING), s2c(request(1, "elicitation/create", ELICITED))],
    ),
    Planted(
        "uri-syntax",
        [
            *opening("2024-11-05"),
            c2s(request(1, "prompts/get", {"name": "a"})),
            s2c(response(1, {"messages": [{"role": "user", "content": embedded(uri="a b")}]})),
        ],
    ),
    Planted("root-uri", rooted("/home/ada")),
    Planted("root-uri", rooted("https://example.com", "2024-11-05")),
    Planted("meta-key", keyed("-a")),
    Planted("meta-key", keyed("a b", "2025-06-18")),
    Planted("meta-key", keyed("1a.com/x")),
    Planted("meta-key", keyed("a/b/c")),
    Planted("meta-key", keyed("com.example-/x")),
    Planted("meta-key", keyed("com.example/x_")),
    Planted(
        "meta-key",
        [*opening(), LIST, s2c(response(1, {"tools": [], "_meta": {"/": 1}}))],
    ),
    Planted("meta-key", [*opening(), c2s(request(1, "tools/call", {"_meta": {"_a": 1}}))]),
    Planted("meta-key", [*modern(), c2s(ask(1, "tools/list", clientCapabilities=EXTENSIONS))]),
    Planted("meta-key", modern({**SERVER, **EXTENSIONS})),
    Planted("trace-context", traced(traceparent="00-1-2-3")),
    Planted("trace-context", traced(traceparent=PARENT.upper())),
    Planted("trace-context", traced(traceparent=PARENT.replace("00-", "ff-", 1))),
    Planted("trace-context", traced(traceparent=f"00-{'0' * 32}-00f067aa0ba902b7-01")),
    Planted("trace-context", traced(traceparent=7)),
    Planted("trace-context", traced(tracestate="no value")),
    Planted("trace-context", traced(baggage="a=1,b")),
]
FINE = {
    "empty data": legacy(image(data="")),
    "without padding": legacy(image(data="aGk")),
    "with half the padding": legacy(image(data="aA=")),
    "in lines": legacy(image(data="aGkh\r\naGkh\n")),
    "redacted data": legacy(image(data=f"x{SECRET}")),
    "data that is no content": legacy({"type": "text", "text": "", "data": "?"}),
    "in structured content": [
        *opening(),
        CALL,
        tool_result(TEXT, structuredContent={"blob": "?", "uri": "?", "_meta": {"?": 1}}),
    ],
    "in arguments": [*opening(), c2s(request(1, "tools/call", {"arguments": {"blob": "?"}}))],
    "a log": [
        *opening(),
        s2c(notification("notifications/message", {"level": "info", "data": {"uri": "?"}})),
    ],
    "a MIME type with parameters": legacy(image(mimeType="image/svg+xml; charset=utf-8")),
    "a MIME type of a vendor": legacy(image(mimeType="image/vnd.x-y.z")),
    "a URI": linked("custom+x.1://host/a;b?c=%20#d[1]"),
    "a URN": linked("urn:isbn:123"),
    "a redacted URI": linked(f"https://x/{SECRET}?k"),
    "before 2025-06-18": linked("no scheme", "2025-03-26"),
    "what the client asked for": read("no scheme", {"uri": "no scheme", "text": ""}),
    "a client's link": [*opening(), c2s(request(1, "resources/read", {"uri": "no scheme"}))],
    "a form": [
        *opening(),
        s2c(request(1, "elicitation/create", {"url": "?", "message": "", "requestedSchema": {}})),
    ],
    "a root": rooted("file:///home/a%20b"),
    "a root on Windows": rooted("FILE:///C:/x"),
    "keys": keyed("a"),
    "a key with a prefix": keyed("com.example-1.x9/a_b.c-d"),
    "a key that is only a prefix": keyed("io.x/"),
    "a reserved key": keyed("io.modelcontextprotocol/related-task"),
    "an empty key": keyed(""),
    "keys before 2025-06-18": keyed("-a", "2025-03-26"),
    "extensions with prefixes": modern({**SERVER, "extensions": {"io.example/x": {}}}),
    "a trace": traced(traceparent=PARENT, tracestate="a=1, b@c=2,", baggage="a=1;p=2,b=%20"),
    "a later version of traces": traced(traceparent=f"cc{PARENT[2:]}-more"),
    "a redacted trace": traced(traceparent=SECRET),
    "traces before 2026-07-28": [
        *opening(),
        c2s(request(1, "tools/list", {"_meta": {"traceparent": "?"}})),
    ],
}


@pytest.mark.parametrize("steps", FINE.values(), ids=FINE)
def test_these_values_are_right(steps: list[Any]) -> None:
    """Each is much like one that is wrong."""
    assert [] == names(*steps)


def test_the_place_and_the_sentence() -> None:
    """A path leads to the value; what a URL breaks is on another page."""
    [found] = violations(*legacy(embedded(uri="demo:1", blob="?")))
    assert ("$.result.content[0].resource.blob", "server") == (found.path, found.by)
    [found] = violations(*opening(client=VISITING), s2c(request(1, "elicitation/create", ELICITED)))
    assert ("$.params.url", "2025-11-25 client/elicitation") == (found.path, found.cited)
    [found] = violations(*keyed("a b"))
    assert "$.result.content[0]._meta['a b']" == found.path
    [found] = violations(*modern({**SERVER, **EXTENSIONS}))
    assert "2026-07-28 basic/versioning" == found.cited


def test_urls_in_errors_and_rounds() -> None:
    """URLs are in errors that ask for a visit, and in input requests."""
    visit = error(1, -32042, "go")[:-2] + b',"data":{"elicitations":[{"mode":"url","url":"?"}]}}}'
    assert ["uri-syntax"] == names(*opening(), CALL, s2c(visit))
    call = c2s(ask(1, "tools/call", clientCapabilities={"elicitation": {"url": {}}}))
    inputs = {"a": {"method": "elicitation/create", "params": ELICITED}}
    wants = s2c(done(1, {"resultType": "input_required", "inputRequests": inputs}))
    [found] = violations(*modern(), call, wants)
    assert "$.result.inputRequests.a.params.url" == found.path


def test_over_http_in_the_modern_era() -> None:
    """A read answered over HTTP."""
    found = {"contents": [{"uri": "demo:1", "blob": "?"}], **HINTS}
    asks = asked(2, ask(1, "resources/read", {"uri": "demo:1"}), "resources/read", "demo:1")
    steps = [*modern_http(), asks, answers(2, done(1, found))]

    assert ["base64"] == names(*steps, transport=HTTP, sessionless=True)


@pytest.mark.parametrize(
    "text", ["", "aGk=", "aGk", "aGkh", "YQ==", "YQ=", "YQ", "a G k h", "+/+/"]
)
def test_base64(text: str) -> None:
    """With or without padding, in lines or not."""
    assert is_base64(text)


@pytest.mark.parametrize("text", ["a", "aGkha", "=", "====", "aGkh=", "aGk==", "a-_b", "aG=k", "ä"])
def test_no_base64(text: str) -> None:
    """An impossible length, too much padding, other characters."""
    assert not is_base64(text)


@pytest.mark.parametrize("text", ["a:", "file:///x", "x-y+z.1:a", "http://[::1]/%AF?a=b#c"])
def test_uris(text: str) -> None:
    """A scheme, and nothing but what RFC 3986 has."""
    assert is_uri(text)


@pytest.mark.parametrize("text", ["", "a", "1a:b", ":b", "a:b c", "a:\\b", "a:{b}", "a:%4", "a:ß"])
def test_no_uris(text: str) -> None:
    """Without a scheme, or with other characters."""
    assert not is_uri(text)
