"""Where secrets stand in what HTTP carries around messages."""

from __future__ import annotations

import pytest

from mcpmock.protocol.mirrored_headers import decode_raw_field
from mcpmock.redaction.headers import in_field, in_query, in_url, kind_in_grant
from mcpmock.redaction.secret_formats import Found


def shown(raw: bytes, found: list[Found]) -> str:
    """The text with the kind of each secret in its place."""
    for span, kind in sorted(found, reverse=True):
        raw = raw[: span.start] + b"<" + kind.encode() + b">" + raw[span.end :]
    return raw.decode()


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("Authorization", "Bearer abc.def", "Bearer <authorization>"),
        ("authorization", "basic YTpi", "basic <authorization>"),
        ("Authorization", 'Digest username="a", nonce="b"', "Digest <authorization>"),
        ("Authorization", "DPoP abc", "DPoP <authorization>"),
        ("Authorization", "my own secret", "<authorization>"),
        ("Proxy-Authorization", "Basic YTpi", "Basic <authorization>"),
        ("Cookie", "a=b; c=d=e; f", "a=<cookie>; c=<cookie>; <cookie>"),
        ("Cookie", 'a="b c";d=', 'a="<cookie>";d='),
        ("Set-Cookie", "a=b; Path=/; HttpOnly", "a=<cookie>; Path=/; HttpOnly"),
        ("Set-Cookie", "a=; Max-Age=0", "a=; Max-Age=0"),
        ("DPoP", "eyJ.eyJ.x", "<dpop>"),
        ("DPoP-Nonce", "abc", "<nonce>"),
        ("X-Api-Key", "abc", "<api-key>"),
        ("x-goog-api-key", "abc", "<api-key>"),
        ("X-Auth-Token", "abc", "<token>"),
        ("Mcp-Session-Id", "abc", "<session-id>"),
        ("mcp-session-id", "abc", "<session-id>"),
        ("Mcp-Param-Api-Key", "abc", "<api-key>"),
        ("Mcp-Param-apiKey", "abc", "<api-key>"),
        ("Mcp-Param-Region", "abc", "abc"),
        ("Mcp-Param-Session-Id", "abc", "abc"),  # in the body it stays too, and the two must match
        ("WWW-Authenticate", 'Digest realm="r", nonce="abc"', 'Digest realm="r", nonce="<nonce>"'),
        ("WWW-Authenticate", 'Bearer error="invalid_token", scope="a b"', None),
        ("WWW-Authenticate", 'Bearer resource_metadata="https://a/b"', None),
        ("Authentication-Info", 'nextnonce="abc", qop=auth', 'nextnonce="<nonce>", qop=auth'),
        ("Location", "https://h/cb?code=abc&state=d&page=2", "https://h/cb?code=<code>&state=<state>&page=2"),
        ("Location", "https://h/#access_token=a&x=1", "https://h/#access_token=<token>&x=1"),
        ("Location", "https://u:p@h/", "https://u:<userinfo>@h/"),
        ("Location", "https://tok@h/", "https://<userinfo>@h/"),
        ("Referer", "http://h/?key=abc", "http://h/?key=<key>"),
        ("Location", "/s/pQ7vX2mK9rT4wZ8nB3cF/mcp/", "/s/<path-key>/mcp/"),
        ("Content-Location", "https://h/pQ7vX2mK9rT4wZ8nB3cF", "https://h/<path-key>"),
        ("Content-Type", "application/json; charset=utf-8", None),
        ("Accept", "application/json, text/event-stream;q=0.9", None),
        ("Mcp-Protocol-Version", "2025-11-25", None),
        ("Last-Event-ID", "7_abc", None),
        ("Host", "127.0.0.1:8080", None),
        ("Sec-WebSocket-Key", "abc", None),
    ],
)  # fmt: skip
def test_fields(name: str, value: str, expected: str | None) -> None:
    """What is secret in a field of this name goes; schemes, names, attributes and shapes stay."""
    assert (expected or value) == shown(value.encode(), in_field(name, value.encode()))


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("/mcp", "/mcp"),
        ("/message?sessionId=abc", "/message?sessionId=<session-id>"),
        ("/messages/?session_id=abc&x=1", "/messages/?session_id=<session-id>&x=1"),
        ("/mcp?api_key=abc&profile=x", "/mcp?api_key=<api-key>&profile=x"),
        ("/?page_token=abc&progressToken=1&max_tokens=5", None),
        ("/?KEY=a&Sig=b&id=c&keys=d", "/?KEY=<key>&Sig=<signature>&id=c&keys=d"),
        ("/a=b/code=c", None),
        ("http://127.0.0.1:1/sse?sid=abc", "http://127.0.0.1:1/sse?sid=<session-id>"),
    ],
)
def test_targets(url: str, expected: str | None) -> None:
    """Values of a query are secret by their names."""
    assert (expected or url) == shown(url.encode(), list(in_url(url.encode())))


def test_a_form_is_a_query() -> None:
    """The body that asks OAuth for a token begins without a question mark."""
    form = b"code=a&grant_type=authorization_code&code_verifier=b&client_id=c"

    expected = "code=<code>&grant_type=authorization_code&code_verifier=<code-verifier>&client_id=c"
    assert expected == shown(form, list(in_query(form)))


def test_names_of_a_grant() -> None:
    """`code` and `state` are secrets at the top of an answer of OAuth, and ordinary inside."""
    assert ("code", "device-code") == (kind_in_grant(["code"]), kind_in_grant(["device_code"]))
    assert [None] * 3 == [kind_in_grant(path) for path in ([], ["error", "code"], [0])]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (b"=?base64?cMOk?=", "p\xe4".encode()),
        (b"plain", b"plain"),
        (b"=?base64?a?=", b"=?base64?a?="),
    ],
)
def test_wrapped_values(value: bytes, expected: bytes) -> None:
    """A value that a header cannot hold as it is counts as what it is."""
    assert expected == decode_raw_field(value)
