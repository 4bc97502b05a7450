"""Heads: authorities and URLs, what is forwarded, and the heads that two parsers may read apart."""

from __future__ import annotations

import time

import pytest

from mcpmock.errors import McpMockError
from mcpmock.protocol.messages import HttpRequest
from mcpmock.protocol.transport_facts import Headers
from mcpmock.transports.headers import (
    MAX_FIELDS,
    Upstream,
    end_to_end,
    for_upstream,
    is_loopback,
    lint,
    origin_form,
    path_and_query,
    split_authority,
    split_origin,
)

OWN = ("127.0.0.1:8080",)
UPSTREAM = Upstream("https", "mcp.example", 443, "/mcp")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("localhost", ("localhost", None)),
        ("LocalHost:80", ("localhost", 80)),
        ("127.0.0.1:65535", ("127.0.0.1", 65535)),
        ("[::1]:8080", ("[::1]", 8080)),
        ("[FE80::1]", ("[fe80::1]", None)),
        ("", None),
        (":80", None),
        ("localhost:", None),
        ("localhost:65536", None),
        ("localhost:8x", None),
        ("localhost:80:80", None),
        ("::1", None),
        ("user@localhost", None),
        ("localhost/", None),
        ("localhost, evil.example", None),
        ("local host", None),
        ("localhost\n", None),
        ("localhost:\u0668\u0660", None),
        ("lo\u0441alhost", None),
    ],
)
def test_split_authority(text: str, expected: tuple[str, int | None] | None) -> None:
    """An authority is a host and perhaps a port, and nothing around them."""
    assert expected == split_authority(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("http://localhost", ("http", "localhost", 80)),
        ("HTTPS://Example.com", ("https", "example.com", 443)),
        ("http://[::1]:3", ("http", "[::1]", 3)),
        ("http://localhost/", None),
        ("http://localhost.evil.example:80", ("http", "localhost.evil.example", 80)),
        ("http://user@localhost", None),
        ("ftp://localhost", None),
        ("vscode-webview://abc", None),
        ("http://a http://b", None),
        ("null", None),
        ("", None),
    ],
)
def test_split_origin(text: str, expected: tuple[str, str, int] | None) -> None:
    """An origin is a scheme of the web and an authority; default ports are filled in."""
    assert expected == split_origin(text)


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.255.0.3", "[::1]", "[0:0::1]"])
def test_loopback(host: str) -> None:
    """This machine has one name and many addresses."""
    assert is_loopback(host)


@pytest.mark.parametrize(
    "host",
    ["localhost.", "localhost.evil.example", "evil-localhost", "127.0.0.1.evil.example", "127.1",
     "127.0.0.01", "127.0.0.256", "2130706433", "0x7f.0.0.1", "0.0.0.0", "128.0.0.1", "[::]",
     "[::2]", "[::ffff:127.0.0.1]", "[127.0.0.1]", "::1", ""],
)  # fmt: skip
def test_not_loopback(host: str) -> None:
    """What only looks like this machine is not."""
    assert not is_loopback(host)


@pytest.mark.parametrize(
    ("url", "expected", "authority"),
    [
        ("http://host:1/mcp?x=y", ("http", "host", 1, "/mcp?x=y"), "host:1"),
        ("http://host", ("http", "host", 80, "/"), "host"),
        ("HTTPS://Host/", ("https", "host", 443, "/"), "host"),
        ("https://host:80/a", ("https", "host", 80, "/a"), "host:80"),
        ("http://host:80/a", ("http", "host", 80, "/a"), "host"),
        ("http://[::1]:3000/mcp", ("http", "::1", 3000, "/mcp"), "[::1]:3000"),
        ("https://[::1]", ("https", "::1", 443, "/"), "[::1]"),
        ("http://h?x=@y", ("http", "h", 80, "/?x=@y"), "h"),
        ("http://h/@scope/a%20b//?", ("http", "h", 80, "/@scope/a%20b//?"), "h"),
        ("http://h/a#part", ("http", "h", 80, "/a"), "h"),
    ],
)
def test_upstream(url: str, expected: tuple[str, str, int, str], authority: str) -> None:
    """A URL is taken apart, its path and query as they are spelled."""
    upstream = Upstream.parse(url)

    assert Upstream(*expected) == upstream
    assert authority == upstream.authority
    assert f"{expected[0]}://{authority}" == upstream.origin
    assert upstream == Upstream.parse(upstream.url)


@pytest.mark.parametrize(
    "url",
    ["", "host", "host:80/mcp", "/mcp", "ftp://host/", "http:/host", "http://", "http:///mcp",
     "http://host:/", "http://host:0/", "http://host:65536/", "http://host:x/", "http://[::1/",
     "http://[:::]/", "http://ho st/", "http://host/a b", "http://hést/", "http://host\n/",
     "http://a,b/", "file:///etc/passwd", "http://host\\evil/"],
)  # fmt: skip
def test_what_is_no_upstream(url: str) -> None:
    """What cannot be reached over HTTP is refused in one line that says how to write it."""
    with pytest.raises(McpMockError, match=r"write it like http://127\.0\.0\.1:3000/mcp") as caught:
        Upstream.parse(url)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    "url", ["http://me:secret@host/", "https://secret@host", "me:secret@h/", "http://sécret@h\n/"]
)
def test_passwords_in_urls_are_refused_and_not_repeated(url: str) -> None:
    """A URL with a user or password is refused, with what to do, and without showing it."""
    with pytest.raises(McpMockError, match="take it out, and have the client send it") as caught:
        Upstream.parse(url)
    assert "cret" not in str(caught.value)


@pytest.mark.parametrize(
    ("uri", "expected"),
    [
        ("/messages?session_id=1", "/messages?session_id=1"),
        ("http://127.0.0.1:3000/messages?a=1", "/messages?a=1"),
        ("https://[::1]/a//b", "/a//b"),
        ("HTTP://host", "/"),
        ("http://host?x=1", "/?x=1"),
        ("//host/a", "/a"),
        ("/a#part", "/a"),
        ("messages?a=1", "/base/messages?a=1"),
        ("../a", "/a"),
        ("?a=1", "/base/sse?a=1"),
        (" /a\n", "/a"),
        ("/a?u=http://x/y", "/a?u=http://x/y"),
        ("", "/base/sse"),
        ("mailto:x", "mailto:x"),
        ("\x01//[", "\x01//["),
    ],
)
def test_path_and_query(uri: str, expected: str) -> None:
    """A URI is reduced to what a request for it says, without its host."""
    assert expected == path_and_query(uri, "/base/sse")


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ([], []),
        ([("a", "1"), ("A", "2"), ("a", "1")], [("a", "1"), ("A", "2"), ("a", "1")]),
        (
            [("Connection", "close"), ("Keep-Alive", "5"), ("proxy-connection", "x"), ("TE", "x"),
             ("Trailer", "x"), ("Transfer-Encoding", "chunked"), ("Upgrade", "h2c"), ("B", "b")],
            [("B", "b")],
        ),
        (
            [("X-One", "1"), ("connection", "keep-alive, x-one"), ("Connection", "X-TWO,,x-3"),
             ("X-Two", "2"), ("X-Three", "3")],
            [("X-Three", "3")],
        ),
        (
            [("Connection", "host, content-length, content-type"), ("Host", "h"),
             ("Content-Length", "1"), ("Content-Type", "t")],
            [("Host", "h"), ("Content-Length", "1"), ("Content-Type", "t")],
        ),
        ([("Proxy-Authenticate", "Basic")], [("Proxy-Authenticate", "Basic")]),
    ],
)  # fmt: skip
def test_end_to_end(headers: Headers, expected: Headers) -> None:
    """Fields of the connection go, with those that Connection names; all others stay as they
    are.
    """
    assert expected == end_to_end(headers)


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("127.0.0.1:8080", "mcp.example"),
        ("localhost:8080", "mcp.example"),
        ("LOCALHOST", "mcp.example"),
        ("127.0.0.1:9", "mcp.example"),
        ("[::1]:8080", "mcp.example"),
        ("box.local:8080", "mcp.example"),
        ("Box.Local:8080", "mcp.example"),
        ("box.local", "box.local"),
        ("evil.example", "evil.example"),
        ("localhost.evil.example", "localhost.evil.example"),
        ("not a host", "not a host"),
    ],
)
def test_host(host: str, expected: str) -> None:
    """A Host that means us becomes the upstream's, a foreign one stays."""
    head = for_upstream(
        HttpRequest("GET", "/a", [("HOST", host)]), UPSTREAM, (*OWN, "box.local:8080")
    )

    assert ("HOST", expected) == head.headers[0]


@pytest.mark.parametrize(
    ("origin", "expected"),
    [
        ("http://127.0.0.1:8080", "https://mcp.example"),
        ("https://localhost:8080", "https://mcp.example"),
        ("http://[::1]:8080", "https://mcp.example"),
        ("http://box.local", "https://mcp.example"),
        ("https://box.local", "https://box.local"),
        ("http://localhost:6274", "http://localhost:6274"),
        ("https://localhost", "https://localhost"),
        ("http://evil.example:8080", "http://evil.example:8080"),
        ("null", "null"),
    ],
)
def test_origin(origin: str, expected: str) -> None:
    """An Origin that means us becomes the upstream's; of this machine, but for our port, is not
    us.
    """
    head = HttpRequest("GET", "/a", [("Host", "x"), ("Origin", origin)])

    assert ("Origin", expected) == for_upstream(head, UPSTREAM, (*OWN, "box.local:80")).headers[1]


def test_our_authority_without_a_port() -> None:
    """One of our authorities without a port means the port of the scheme."""
    head = HttpRequest("GET", "/a", [("Host", "box"), ("Origin", "https://box")])

    assert ["mcp.example", "https://mcp.example", "identity"] == [
        value for _, value in for_upstream(head, UPSTREAM, ("box",)).headers
    ]


def test_everything_else_stays() -> None:
    """Position, case, order and repetitions of fields stay; compression is not asked for."""
    head = HttpRequest(
        "POST",
        "/mcp?x=%20",
        [("x-B", "1"), ("accept-Encoding", "gzip, br"), ("Connection", "close"),
         ("hOST", "localhost:8080"), ("X-A", "2"), ("x-b", " 3")],
    )  # fmt: skip
    before = list(head.headers)

    assert HttpRequest(
        "POST",
        "/mcp?x=%20",
        [("x-B", "1"), ("accept-Encoding", "identity"), ("hOST", "mcp.example"), ("X-A", "2"),
         ("x-b", " 3")],
    ) == for_upstream(head, UPSTREAM, OWN)  # fmt: skip
    assert before == head.headers


@pytest.mark.parametrize(
    ("value", "stays"), [("100-continue", False), (" 100-Continue", False), ("200-ok", True)]
)
def test_an_expectation_that_we_meet(value: str, stays: bool) -> None:
    """Who waits to be told to go on is told by us; what else is expected is for the upstream."""
    head = HttpRequest("POST", "/", [("Host", "x"), ("EXPECT", value)])

    assert stays == (("EXPECT", value) in for_upstream(head, UPSTREAM, OWN).headers)


def test_fields_that_are_missing() -> None:
    """A head that we made ourselves gets its Host first, and no compression last."""
    assert [("Host", "mcp.example"), ("a", "b"), ("Accept-Encoding", "identity")] == for_upstream(
        HttpRequest("GET", "/", [("a", "b")]), UPSTREAM, ()
    ).headers


def head(*fields: bytes, first: bytes = b"POST /mcp HTTP/1.1") -> bytes:
    return b"\r\n".join([first, *fields, b"", b""])


@pytest.mark.parametrize(
    "raw",
    [
        head(),
        head(b"Host: localhost", b"Content-Length: 5"),
        head(b"Host:localhost", b"TRANSFER-ENCODING:\tChunked \t"),
        head(b"Host:", b"X:", b"x: a\tb \xe9\xff", b"Cookie: a", b"Cookie: b"),
        head(first=b"OPTIONS * HTTP/1.1"),
        head(first=b"GET //a?b=/../c HTTP/1.0"),
        head(*[b"x: y"] * MAX_FIELDS),
    ],
)
def test_heads_that_are_read_in_one_way_only(raw: bytes) -> None:
    """Ordinary heads have nothing against them."""
    assert lint(raw) is None


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"", "the head does not end in an empty line (CR LF)"),
        (b"GET / HTTP/1.1\r\n", "the head does not end in an empty line (CR LF)"),
        (b"GET / HTTP/1.1\n\n", "the head does not end in an empty line (CR LF)"),
        (b"GET / HTTP/1.1\nHost: x\r\n\r\n", "a line of the head ends in a bare LF or CR"),
        (head(b"a: b\nc: d"), "a line of the head ends in a bare LF or CR"),
        (head(b"a: b\rc: d"), "a line of the head ends in a bare LF or CR"),
        (head(b"\r"), "a line of the head ends in a bare LF or CR"),
        (head(b"a: b\r"), "a line of the head ends in a bare LF or CR"),
        (head(b"a: b\0"), "a control character in the head"),
        (head(b"a: \x0b"), "a control character in the head"),
        (head(b"a: \x7f"), "a control character in the head"),
        (head(first=b"GET /\x1b HTTP/1.1"), "a control character in the head"),
        (head(b"a: b", b" c"), "a header field goes on in a second line"),
        (head(b"\ta: b"), "a header field goes on in a second line"),
        (head(b"a : b"), "a line that is not a header field, or white space before its colon"),
        (head(b"a a: b"), "a line that is not a header field, or white space before its colon"),
        (head(b"a\t: b"), "a line that is not a header field, or white space before its colon"),
        (head(b"a"), "a line that is not a header field, or white space before its colon"),
        (head(b": b"), "a line that is not a header field, or white space before its colon"),
        (head(b"\xe9: b"), "a line that is not a header field, or white space before its colon"),
        (head(b"Host: a", b"hOST: a"), "more than one Host"),
        (head(b"Content-Length: 1", b"content-length: 1"), "more than one Content-Length"),
        (
            head(b"Transfer-Encoding: chunked", b"Transfer-Encoding: chunked"),
            "more than one Transfer-Encoding",
        ),
        (
            head(b"Transfer-Encoding: chunked", b"Content-Length: 1"),
            "Content-Length together with Transfer-Encoding",
        ),
        (head(b"Content-Length: 1, 1"), "a Content-Length that is not a number"),
        *(
            (head(b"Content-Length: " + value), "a Content-Length that is not a number")
            for value in (b"+1", b"-1", b"0x5", b"1_0", b"\xd9\xa5")
        ),
        (head(b"Content-Length:"), "a Content-Length that is not a number"),
        (head(b"Content-Length: 1 1"), "a Content-Length that is not a number"),
        (head(b"Content-Length: " + b"1" * 19), "a Content-Length that is not a number"),
        (head(b"Transfer-Encoding: gzip"), "a Transfer-Encoding that is not chunked"),
        (head(b"Transfer-Encoding: gzip, chunked"), "a Transfer-Encoding that is not chunked"),
        (head(b"Transfer-Encoding: chunked, x"), "a Transfer-Encoding that is not chunked"),
        (head(b'Transfer-Encoding: "chunked"'), "a Transfer-Encoding that is not chunked"),
        (head(b"Transfer-Encoding: xchunked"), "a Transfer-Encoding that is not chunked"),
        (head(b"Transfer-Encoding:"), "a Transfer-Encoding that is not chunked"),
        (head(*[b"x: y"] * (MAX_FIELDS + 1)), "more than 100 header fields"),
        (head(first=b"GET https://a/ HTTP/1.1"), "the request target is not a path"),
        (head(first=b"GET http:///mcp HTTP/1.1"), "the request target is not a path"),
        (head(first=b"GET http:/mcp HTTP/1.1"), "the request target is not a path"),
        (head(first=b"CONNECT a:443 HTTP/1.1"), "the request target is not a path"),
        (head(first=b"GET * HTTP/1.1"), "the request target is not a path"),
        (head(first=b"GET mcp HTTP/1.1"), "the request target is not a path"),
        (head(first=b"GET /#a HTTP/1.1"), "the request target is not a path"),
    ],
)
def test_heads_that_two_parsers_may_read_apart(raw: bytes, reason: str) -> None:
    """What requests are smuggled with is refused, and said."""
    assert reason == lint(raw)


@pytest.mark.parametrize(
    "line",
    [b"", b"GET /", b"GET  / HTTP/1.1", b"GET /  HTTP/1.1", b" GET / HTTP/1.1",
     b"GET /a b HTTP/1.1", b"GET\t/ HTTP/1.1", b"GET / HTTP/1.1 ", b"GET / http/1.1",
     b"PRI * HTTP/2.0", b"GET / HTTP/1.2", b"GET / HTTP/1.10", b"G(T / HTTP/1.1",
     b"GET /\xe9 HTTP/1.1", b"GET / HTTP/1.1\r\n"],
)  # fmt: skip
def test_request_lines(line: bytes) -> None:
    """The first line is a method, a target and our version, with single spaces."""
    assert lint(head(first=line)) is not None


@pytest.mark.parametrize(
    "raw",
    [
        head(b"a:" + b" " * 60_000 + b"b"),
        head(b"a: b" + b" " * 60_000 + b"c"),
        head(b"a" * 60_000),
        head(b"a: " + b"b " * 30_000),
        head(first=b"GET /" + b"HTTP/1.1" * 7000),
    ],
)
def test_a_hostile_head_costs_no_time(raw: bytes) -> None:
    """The time for a head grows with its length only."""
    begin = time.process_time()
    lint(raw)
    assert time.process_time() - begin < 0.5  # quadratic ones take many seconds


@pytest.mark.parametrize(
    ("target", "path", "authority"),
    [
        ("/mcp?a=http://x/", "/mcp?a=http://x/", None),
        ("*", "*", None),
        ("http://127.0.0.1:8080/mcp?x=1", "/mcp?x=1", "127.0.0.1:8080"),
        ("HTTP://LocalHost:8080/mcp", "/mcp", "LocalHost:8080"),
        ("http://[::1]:8080/mcp", "/mcp", "[::1]:8080"),
        ("http://evil.example", "/", "evil.example"),
        ("http://evil.example?x", "/?x", "evil.example"),
        ("http://me:secret@localhost/mcp", "/mcp", "me:secret@localhost"),
        ("http://localhost//mcp", "//mcp", "localhost"),
    ],
)
def test_the_absolute_form(target: str, path: str, authority: str | None) -> None:
    """Its authority counts as Host does; RFC 9112, 3.2.4: for OPTIONS no path is `*`."""
    assert lint(f"GET {target} HTTP/1.1\r\nHost: x\r\n\r\n".encode()) is None or target == "*"
    assert (path, authority) == origin_form("GET", target)
    whole = authority is not None and path == "/"
    assert ("*" if whole else path, authority) == origin_form("OPTIONS", target)
