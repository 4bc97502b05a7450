"""The access: Host, Origin, content type and token, on every method."""

from __future__ import annotations

import pytest

from mcpmock.protocol.messages import HttpRequest
from mcpmock.protocol.transport_facts import Headers
from mcpmock.transports.access_policy import AccessPolicy, HttpRefusal

METHODS = ["GET", "POST", "DELETE", "OPTIONS", "PUT", "HEAD"]
HOST = ("Host", "localhost:8080")
JSON = ("Content-Type", "application/json")


def asked(*headers: tuple[str, str], method: str = "GET") -> HttpRequest:
    return HttpRequest(method, "/mcp", list(headers))


def status(
    keeper: AccessPolicy, *headers: tuple[str, str], method: str = "GET", mcp: bool = True
) -> int | None:
    refusal = keeper.refusal(asked(*headers, method=method), mcp=mcp)
    return None if refusal is None else refusal.status


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("mcp", [True, False])
@pytest.mark.parametrize(
    ("host", "origin", "expected"),
    [
        ("127.0.0.1:8080", None, None),
        ("127.0.0.1:8080", "http://localhost:6274", None),
        ("127.0.0.1:8080", "http://evil.example", 403),
        ("evil.example:8080", None, 421),
        ("evil.example:8080", "http://localhost:8080", 421),
        ("evil.example:8080", "http://evil.example:8080", 421),
        (None, None, 421),
        (None, "http://localhost:8080", 421),
    ],
)
def test_every_method(
    method: str, mcp: bool, host: str | None, origin: str | None, expected: int | None
) -> None:
    """Host and Origin are looked at whatever the method and the path are."""
    headers: Headers = [JSON]
    headers += [] if host is None else [("host", host)]
    headers += [] if origin is None else [("ORIGIN", origin)]

    assert expected == status(AccessPolicy(8080), *headers, method=method, mcp=mcp)


@pytest.mark.parametrize("host", ["localhost:8080", "LOCALHOST:8080", "127.0.0.1:8080",
                                  "127.9.9.9:8080", "[::1]:8080", " localhost:8080\t"])  # fmt: skip
def test_our_hosts(host: str) -> None:
    """This machine with our port is us."""
    assert None is status(AccessPolicy(8080), ("Host", host))


@pytest.mark.parametrize(
    "host",
    ["", "localhost", "localhost:80", "localhost:8081", "localhost:80800", "localhost:08080x",
     "localhost.evil.example:8080", "evil.example", "evil.example/localhost:8080",
     "localhost:8080@evil.example", "localhost:8080, evil.example", "127.0.0.1.evil.example:8080",
     "0.0.0.0:8080", "[::]:8080", "192.168.0.2:8080", "[::1]", "::1:8080", "*", "null"],
)  # fmt: skip
def test_foreign_hosts(host: str) -> None:
    """A Host that is not exactly one of ours is misdirected."""
    assert 421 == status(AccessPolicy(8080), ("Host", host))


def test_exactly_one_host() -> None:
    """Two Hosts are refused even if both are ours."""
    assert 421 == status(AccessPolicy(8080), HOST, HOST)
    assert 421 == status(AccessPolicy(8080), HOST, ("host", "evil.example"))


def test_port_80_need_not_be_said() -> None:
    """A Host without a port means port 80."""
    assert None is status(AccessPolicy(80), ("Host", "localhost"))
    assert None is status(AccessPolicy(80), ("Host", "localhost:80"))


@pytest.mark.parametrize(
    ("allowed", "host", "expected"),
    [
        ("box.local", "box.local:8080", None),
        ("box.local", "BOX.local:1", None),
        ("Box.Local", "box.local", None),
        ("box.local:8080", "box.local:8080", None),
        ("box.local:80", "box.local", None),
        ("box.local:8080", "box.local:8081", 421),
        ("box.local", "sub.box.local:8080", 421),
        ("box.local", "box.local.evil.example:8080", 421),
        ("[fe80::1]", "[FE80::1]:8080", None),
        ("*", "evil.example:8080", 421),
        ("localhost", "localhost:9999", None),
    ],
)
def test_allowed_hosts(allowed: str, host: str, expected: int | None) -> None:
    """Other hosts come in if they are allowed, by name or by name and port; never by a part."""
    assert expected == status(AccessPolicy(8080, frozenset({allowed})), ("Host", host))


@pytest.mark.parametrize("origin", ["http://localhost", "https://localhost:1", "http://127.0.0.1:3",
                                    "http://[::1]:8080", "HTTP://LOCALHOST:3000"])  # fmt: skip
def test_origins_of_this_machine(origin: str) -> None:
    """Pages of this machine come in, whatever their port."""
    assert None is status(AccessPolicy(8080), HOST, ("Origin", origin))


@pytest.mark.parametrize(
    "origin",
    ["", "null", "http://evil.example", "http://localhost.evil.example", "http://evil-localhost",
     "http://localhost@evil.example", "http://evil.example/localhost", "http://localhost:1.evil.x",
     "localhost", "file://", "ftp://localhost", "http://localhost, http://evil.example",
     "http://localhost http://evil.example", "http://127.0.0.1.nip.io", "http://0.0.0.0:8080"],
)  # fmt: skip
def test_foreign_origins(origin: str) -> None:
    """Pages of any other place do not come in."""
    assert 403 == status(AccessPolicy(8080), HOST, ("Origin", origin))


def test_no_more_than_one_origin() -> None:
    """Two Origins are refused even if both are of this machine."""
    here = ("Origin", "http://localhost")
    assert 403 == status(AccessPolicy(8080), HOST, here, here)


@pytest.mark.parametrize(
    ("allowed", "origin", "expected"),
    [
        ("https://app.example", "https://app.example", None),
        ("https://App.Example:443/", "https://app.example", None),
        ("https://app.example", "http://app.example", 403),
        ("https://app.example", "https://app.example:8443", 403),
        ("https://app.example", "https://app.example.evil.example", 403),
        ("vscode-webview://abc", "vscode-webview://abc", None),
        ("null", "null", None),
        ("*", "https://evil.example", 403),
        ("nonsense", "http://evil.example", 403),
    ],
)
def test_allowed_origins(allowed: str, origin: str, expected: int | None) -> None:
    """Other origins come in if they are allowed, wholly and not by a part."""
    keeper = AccessPolicy(8080, origins=frozenset({allowed}))
    assert expected == status(keeper, HOST, ("Origin", origin))


@pytest.mark.parametrize(
    ("host", "origins", "expected"),
    [
        ("localhost:8080", ["http://localhost:6274"], "http://localhost:6274"),
        ("localhost:8080", ["https://App.example"], "https://App.example"),
        ("localhost:8080", [], None),
        ("localhost:8080", ["http://evil.example"], None),
        ("localhost:8080", ["http://localhost:6274", "http://localhost:6274"], None),
        ("evil.example:8080", ["http://localhost:6274"], None),
    ],
)
def test_pages_that_may_read_answers(host: str, origins: list[str], expected: str | None) -> None:
    """Those whose requests come in, whether or not they have the token."""
    keeper = AccessPolicy(8080, origins=frozenset({"https://app.example"}), token="s3cret")
    head = asked(("Host", host), *(("Origin", origin) for origin in origins))

    assert expected == keeper.page_origin(head)


@pytest.mark.parametrize(
    ("media_type", "expected"),
    [
        (None, 415),
        ("", 415),
        ("text/plain", 415),
        ("Text/Plain;charset=utf-8", 415),
        ("text/plain ; application/json", 415),
        ("application/x-www-form-urlencoded", 415),
        ("multipart/form-data; boundary=x", 415),
        ("application/json", None),
        ("application/json; charset=utf-8", None),
        ("application/xml", None),
        ("text/plainer", None),
    ],
)
def test_content_types(media_type: str | None, expected: int | None) -> None:
    """What a page may send without asking first is refused on an MCP path; other wrong types are
    the server's business.
    """
    headers = [HOST] if media_type is None else [HOST, ("content-TYPE", media_type)]

    assert expected == status(AccessPolicy(8080), *headers, method="POST")
    assert None is status(AccessPolicy(8080), *headers, method="POST", mcp=False)
    assert None is status(AccessPolicy(8080), *headers, method="DELETE")


def test_any_of_several_content_types() -> None:
    """One content type that a page may send is enough to be refused."""
    keeper = AccessPolicy(8080)
    assert 415 == status(keeper, HOST, JSON, ("Content-Type", "text/plain"), method="POST")


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["Bearer s3cret"], None),
        (["bearer  s3cret "], None),
        ([], 401),
        ([""], 401),
        (["s3cret"], 401),
        (["Bearer"], 401),
        (["Bearer s3cre"], 401),
        (["Bearer s3crett"], 401),
        (["Bearer S3CRET"], 401),
        (["Basic s3cret"], 401),
        (["Bearer \xe9\udc80"], 401),
        (["Bearer theirs", "Bearer s3cret"], None),
    ],
)
def test_token(values: list[str], expected: int | None) -> None:
    """With a token nobody comes in without it."""
    keeper = AccessPolicy(8080, token="s3cret")
    headers = [("Authorization", value) for value in values]

    for method in METHODS:
        assert expected == status(keeper, HOST, JSON, *headers, method=method)
        assert expected == status(keeper, HOST, *headers, method=method, mcp=False)
    assert "s3cret" not in repr(keeper)


def test_a_token_beside_that_of_the_server_behind() -> None:
    """Our token may come in a field of its own, and none of it goes on."""
    keeper = AccessPolicy(8080, token="s3cret")
    theirs = ("Authorization", "Bearer theirs")
    head = HttpRequest("GET", "/mcp", [HOST, theirs, ("mcpmock-token", " s3cret")])

    assert None is keeper.refusal(head, mcp=True)
    assert [HOST, theirs] == keeper.admitted(head).headers
    assert 401 == status(keeper, HOST, theirs, ("Mcpmock-Token", "theirs"))


def test_only_our_token_is_kept_back() -> None:
    """Without a token of ours a request goes on as it is."""
    head = HttpRequest("GET", "/mcp", [HOST, ("Authorization", "Bearer s3cret")])

    assert head is AccessPolicy(8080).admitted(head)
    assert [HOST] == AccessPolicy(8080, token="s3cret").admitted(head).headers


def test_what_a_refusal_says() -> None:
    """A refusal says why and what to do, in one line of plain text."""
    keeper = AccessPolicy(8080)
    plain = [("Content-Type", "text/plain")]

    assert [
        HttpRefusal(
            421,
            "Misdirected Request",
            "mcpmock: this is not the host 'evil.example'; "
            "use localhost:8080, or start mcpmock with --allow-host NAME\n",
            plain,
        ),
        HttpRefusal(
            421, "Misdirected Request", "mcpmock: no Host fields; send exactly one\n", plain
        ),
        HttpRefusal(
            403,
            "Forbidden",
            "mcpmock: pages of 'http://evil.example' may not send requests here; "
            "start mcpmock with --allow-origin ORIGIN\n",
            plain,
        ),
        HttpRefusal(
            415,
            "Unsupported Media Type",
            "mcpmock: no content type; send Content-Type: application/json\n",
            plain,
        ),
    ] == [
        keeper.refusal(asked(("Host", "evil.example")), mcp=True),
        keeper.refusal(asked(), mcp=True),
        keeper.refusal(asked(HOST, ("Origin", "http://evil.example")), mcp=True),
        keeper.refusal(asked(HOST, method="POST"), mcp=True),
    ]
    refused = AccessPolicy(8080, token="x").refusal(asked(HOST), mcp=True)
    assert refused is not None
    assert ("WWW-Authenticate", 'Bearer realm="mcpmock"') in refused.headers


@pytest.mark.parametrize(
    "headers",
    [
        [("Host", "\x1b[31m\u202eevil\n" * 1000)],
        [HOST, ("Origin", "\x1b]0;\u2028\r\n" * 1000)],
        [HOST, ("Content-Type", "text/plain;\x1b\x07\u200b" * 1000)],
    ],
)
def test_refusals_are_fit_to_be_read(headers: Headers) -> None:
    """What strangers sent is shown shortened and escaped, and no field lets a page read it."""
    refusal = AccessPolicy(8080).refusal(asked(*headers, method="POST"), mcp=True)

    assert refusal is not None
    assert refusal.text.removesuffix("\n").isprintable()
    assert refusal.text.isascii()
    assert len(refusal.text) < 1500
    assert ["Content-Type"] == [name for name, _ in refusal.headers]
