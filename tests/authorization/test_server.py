"""The fake authorization server, by plain calls."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from .login import (
    BACK,
    ORIGIN,
    RESOURCE,
    Login,
    challenge_of,
    redirected,
    request,
    server,
    value_of,
)


def test_without_a_token() -> None:
    """401 says where the metadata are."""
    metadata = f"{ORIGIN}/.well-known/oauth-protected-resource/mcp"

    refused = Login(server("oauth:scope=a b")).ask(None)

    assert refused is not None
    assert 401 == refused.status
    assert f'Bearer resource_metadata="{metadata}", scope="a b"' == challenge_of(refused)


@pytest.mark.parametrize("suffix", ["", "/mcp"])
def test_metadata_of_the_resource(suffix: str) -> None:
    """At both places (RFC 9728, 3.1), with the name by which the client asked."""
    head = request("GET", f"/.well-known/oauth-protected-resource{suffix}")

    told = value_of(server("oauth:scope=a,tool.x=b").answer(head, b"", 0))

    assert RESOURCE == told["resource"]
    assert [ORIGIN] == told["authorization_servers"]
    assert ["a", "b"] == told["scopes_supported"]


def test_metadata_of_the_server() -> None:
    """What clients insist on."""
    told = value_of(
        server().answer(request("GET", "/.well-known/oauth-authorization-server"), b"", 0)
    )

    assert ORIGIN == told["issuer"]
    assert ["S256"] == told["code_challenge_methods_supported"]
    assert told["authorization_response_iss_parameter_supported"]
    assert told["client_id_metadata_document_supported"]


def test_a_login() -> None:
    """Register, authorize, redeem, ask."""
    login = Login(server("oauth:scope=a,expires=60s"))
    client = value_of(login.register(client_name="x"))["client_id"]

    back = redirected(login.authorize(client))
    granted = value_of(login.redeem(client, back["code"]))

    assert ("s", ORIGIN) == (back["state"], back["iss"])
    assert ("Bearer", 60, "a") == (granted["token_type"], granted["expires_in"], granted["scope"])
    assert login.ask(granted["access_token"]) is None


def test_a_client_id_document() -> None:
    """Taken without fetching it."""
    login, client = Login(server()), "https://app.example/client.json"

    granted = value_of(login.redeem(client, login.code(client)))

    assert login.ask(granted["access_token"]) is None


def test_a_token_ends_by_the_clock() -> None:
    """At its time, not a moment before."""
    login = Login(server("oauth:expires=60s"))
    _, granted = login.log_in()

    login.now = 59.9
    before = login.ask(granted["access_token"])
    login.now = 60.0
    after = login.ask(granted["access_token"])

    assert before is None
    assert 'error="invalid_token"' in challenge_of(after)


def test_a_refresh_rotates() -> None:
    """The old refresh token is worth nothing, the new access token is."""
    login = Login(server())
    client, granted = login.log_in()

    fresh = value_of(login.refresh(client, granted["refresh_token"]))
    again = login.refresh(client, granted["refresh_token"])

    assert login.ask(fresh["access_token"]) is None
    assert "invalid_grant" == value_of(again)["error"]


def test_no_refresh_tokens() -> None:
    """As of servers that do without them."""
    login = Login(server("oauth:refresh=no"))
    client, granted = login.log_in()

    assert "refresh_token" not in granted
    assert "invalid_grant" == value_of(login.refresh(client, granted["access_token"]))["error"]


def test_a_refresh_gives_no_more_than_was_granted() -> None:
    """RFC 6749, 6; the token that was refused is still good."""
    login = Login(server("oauth:scope=a"))
    client, granted = login.log_in()

    more = login.refresh(client, granted["refresh_token"], scope="a b")

    assert "invalid_scope" == value_of(more)["error"]
    assert 200 == login.refresh(client, granted["refresh_token"]).status


def test_a_tool_needs_its_scope() -> None:
    """403 names all that the call needs; with it, it passes (step-up)."""
    login = Login(server("oauth:scope=a,tool.pay=b"))
    client, granted = login.log_in()

    assert login.ask(granted["access_token"], "look") is None
    refused = login.ask(granted["access_token"], "pay")
    more = value_of(login.redeem(client, login.code(client, scope="a b")))

    assert refused is not None
    assert 403 == refused.status
    assert 'error="insufficient_scope"' in challenge_of(refused)
    assert 'scope="a b"' in challenge_of(refused)
    assert login.ask(more["access_token"], "pay") is None


def test_a_token_for_another_host() -> None:
    """Servers "MUST validate that access tokens were issued specifically for them as the intended
    audience" (Authorization, Token Handling).
    """
    login = Login(server())
    _, granted = login.log_in()
    head = request("POST", "/mcp", Authorization=f"Bearer {granted['access_token']}")
    head.headers[0] = ("Host", "127.0.0.1:8000")

    refused = login.at.challenge(head, (), 0)

    assert 'error="invalid_token"' in challenge_of(refused)


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"response_type": "token"}, "unsupported_response_type"),
        ({"code_challenge_method": "plain"}, "invalid_request"),
        ({"code_challenge_method": None}, "invalid_request"),
        ({"code_challenge": "short"}, "invalid_request"),
        ({"code_challenge": None}, "invalid_request"),
        ({"resource": None}, "invalid_target"),
        ({"resource": "https://other.example/mcp"}, "invalid_target"),
    ],
)
def test_a_wrong_authorization(changed: dict[str, Any], error: str) -> None:
    """The client learns it by the redirect, with its state and `iss`."""
    login = Login(server())
    client = value_of(login.register())["client_id"]

    back = redirected(login.authorize(client, **changed))

    assert (error, "s", ORIGIN) == (back["error"], back["state"], back["iss"])
    assert "code" not in back


@pytest.mark.parametrize(
    "changed",
    [
        {"client_id": "unknown"},
        {"redirect_uri": "https://other.example/"},
        {"redirect_uri": "http://127.0.0.1:3000/other"},
        {"redirect_uri": None},
    ],
)
def test_no_redirect_in_doubt(changed: dict[str, Any]) -> None:
    """RFC 6749, 4.1.2.1: not to somewhere that was not registered."""
    login = Login(server())
    client = value_of(login.register())["client_id"]

    assert 400 == login.authorize(client, **changed).status


@pytest.mark.parametrize(
    "uri",
    ["https://app.example/\r\nX: y", "https://app.example/\n", "\thttps://app.example/",
     "https://app.example/a b", "https://app.example\\@x/", "https://app.example/\x7f",
     "https://\u00e4.example/", "https://app.example/#", "https:app.example", "//app.example/",
     "https://[x/", "JavaScript:alert(1)", "vbscript:x", "data:text/html,x", "file:///x",
     "about:blank", "blob:https://app.example/x", "view-source:https://app.example/"],
)  # fmt: skip
def test_no_redirect_to_what_is_no_address_of_a_client(uri: str) -> None:
    """It is refused for clients of both kinds, and stands in no header field."""
    login = Login(server())

    unseen = login.authorize("https://app.example/client.json", redirect_uri=uri)
    registered = login.register(redirect_uris=[uri])

    assert (400, "invalid_request") == (unseen.status, value_of(unseen)["error"])
    assert (400, "invalid_redirect_uri") == (registered.status, value_of(registered)["error"])
    assert "Location" not in dict(unseen.headers)


@pytest.mark.parametrize(
    "uri",
    ["cursor://anysphere.cursor-retrieval/oauth/callback", "vscode://vscode.git/callback?a=b",
     "com.example.app:/callback", "https://app.example:8443/callback?a=%0D%0A"],
)  # fmt: skip
def test_redirects_to_apps(uri: str) -> None:
    """Apps have schemes of their own, most without a dot."""
    login = Login(server())
    client = value_of(login.register(redirect_uris=[uri]))["client_id"]

    for name in (client, "https://app.example/client.json"):
        reply = login.authorize(name, redirect_uri=uri)
        assert 302 == reply.status
        assert dict(reply.headers)["Location"].startswith(uri)


def test_a_client_id_that_is_no_address() -> None:
    """It is an error of the client's, not of ours."""
    refused = Login(server()).authorize("https://[x/client.json")

    assert (400, "invalid_client") == (refused.status, value_of(refused)["error"])


def test_the_port_of_a_loopback_redirect_is_free() -> None:
    """RFC 8252, 7.3: apps take the port that they get."""
    login = Login(server())
    client = value_of(login.register(redirect_uris=["http://127.0.0.1/callback"]))["client_id"]

    assert "code" in redirected(login.authorize(client, redirect_uri=BACK))


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"code": "unknown"}, "invalid_grant"),
        ({"code_verifier": "w" * 43}, "invalid_grant"),
        ({"code_verifier": None}, "invalid_grant"),
        ({"redirect_uri": "http://127.0.0.1:3001/callback"}, "invalid_grant"),
        ({"resource": None}, "invalid_target"),
        ({"grant_type": "password"}, "unsupported_grant_type"),
        ({"client_id": "unknown"}, "invalid_client"),
    ],
)
def test_a_wrong_token_request(changed: dict[str, Any], error: str) -> None:
    """It says what is wrong, and gives no token."""
    login = Login(server())
    client = value_of(login.register())["client_id"]

    refused = value_of(login.redeem(client, login.code(client), **changed))

    assert error == refused["error"]
    assert "access_token" not in refused


def test_a_code_is_good_once_and_not_for_long() -> None:
    """RFC 6749, 4.1.2."""
    login = Login(server())
    client = value_of(login.register())["client_id"]
    once, late = login.code(client), login.code(client)

    first, second = login.redeem(client, once), login.redeem(client, once)
    login.now = 60.0

    assert (200, 400) == (first.status, second.status)
    assert 400 == login.redeem(client, late).status


def test_a_device() -> None:
    """RFC 8628: the code is good once, for its client and for a minute."""
    login = Login(server("oauth:scope=a"))
    client, other = (value_of(login.register())["client_id"] for _ in range(2))
    codes = [login.device(client)["device_code"] for _ in range(3)]

    granted = value_of(login.redeem_device(client, codes[0]))
    refused = [
        value_of(login.redeem_device(client, codes[0]))["error"],
        value_of(login.redeem_device(other, codes[1]))["error"],
    ]
    login.now = 60.0

    assert login.ask(granted["access_token"]) is None
    assert ["invalid_grant", "invalid_grant"] == refused
    assert "expired_token" == value_of(login.redeem_device(client, codes[2]))["error"]


@pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_post"])
def test_a_client_with_a_secret(method: str) -> None:
    """As it registered, and with its own secret."""
    login = Login(server())
    client = value_of(login.register(token_endpoint_auth_method=method))
    name, secret = client["client_id"], client["client_secret"]

    def redeem(secret: str, way: str) -> int:
        pair = base64.b64encode(f"{name}:{secret}".encode()).decode()
        basic = {"basic": f"Basic {pair}", "client_id": None}
        how = basic if way == "client_secret_basic" else {"client_secret": secret}
        return login.redeem(name, login.code(name), **how).status

    other = {"client_secret_basic": "client_secret_post"}.get(method, "client_secret_basic")
    assert (200, 401, 401) == (redeem(secret, method), redeem("x", method), redeem(secret, other))


@pytest.mark.parametrize(
    ("metadata", "error"),
    [
        ({"redirect_uris": []}, "invalid_redirect_uri"),
        ({"redirect_uris": ["http://app.example/back"]}, "invalid_redirect_uri"),
        ({"redirect_uris": ["javascript:alert(1)"]}, "invalid_redirect_uri"),
        ({"redirect_uris": 1}, "invalid_client_metadata"),
        ({"token_endpoint_auth_method": "private_key_jwt"}, "invalid_client_metadata"),
    ],
)
def test_a_wrong_registration(metadata: dict[str, Any], error: str) -> None:
    """RFC 7591, 3.2.2."""
    refused = Login(server()).register(**metadata)

    assert (400, error) == (refused.status, value_of(refused)["error"])


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"\xff", b'{"a":' * 99_999])
def test_bodies_that_nobody_can_read(body: bytes) -> None:
    """An error of OAuth, not of ours."""
    at = server()

    assert 400 == at.answer(request("POST", "/register"), body, 0).status
    assert at.answer(request("POST", "/token"), body, 0).status in (400, 401)
    assert 401 == at.answer(request("POST", "/token", Authorization="Basic ?"), b"", 0).status


def test_a_parameter_that_comes_twice() -> None:
    """RFC 6749, 3.1: refused, for which of them counts?"""
    head = request("GET", "/authorize?client_id=a&client_id=b")

    assert "a parameter comes twice" == value_of(server().answer(head, b"", 0))["error_description"]


@pytest.mark.parametrize("target", ["/register", "/token", "/authorize"])
def test_another_method(target: str) -> None:
    """405 names the one."""
    assert 405 == server().answer(request("DELETE", target), b"", 0).status


def test_what_is_remembered_is_bounded() -> None:
    """The oldest client is forgotten first."""
    login = Login(server())
    names = [value_of(login.register())["client_id"] for _ in range(1001)]

    assert 400 == login.authorize(names[0]).status
    assert 302 == login.authorize(names[1]).status
