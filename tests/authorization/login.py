"""A client that logs in at an `AuthorizationServer` by plain calls, step by step."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from itertools import count
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from mcpmock.authorization.options import AuthorizationOptions
from mcpmock.authorization.server import AuthorizationReply, AuthorizationServer
from mcpmock.faults.plan import read_plan
from mcpmock.faults.receipts import FaultRun
from mcpmock.protocol.messages import HttpRequest

HOST = "localhost:8000"
ORIGIN = f"http://{HOST}"
RESOURCE = f"{ORIGIN}/mcp"
BACK = "http://127.0.0.1:3000/callback"
VERIFIER = "v" * 43
CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).decode()[:-1]


def server(auth: str = "oauth", *faults: str) -> AuthorizationServer:
    """One with ids that count up and the faults of these shorthands."""
    ids = count(1)
    run = FaultRun.of(read_plan("", "plan", faults))
    options = AuthorizationOptions.parse(auth)
    return AuthorizationServer(options, "/mcp", lambda: f"id-{next(ids)}", run)


def request(method: str, target: str, **fields: str) -> HttpRequest:
    """The head of a request; `_` in the name of a field stands for `-`."""
    named = [(name.replace("_", "-"), value) for name, value in fields.items()]
    return HttpRequest(method, target, [("Host", HOST), *named])


def value_of(reply: AuthorizationReply) -> Any:
    return json.loads(reply.body)


class Login:
    """`changed` are parameters with other values; None leaves one out."""

    def __init__(self, at: AuthorizationServer) -> None:
        self.at = at
        self.now = 0.0

    def register(self, **metadata: Any) -> AuthorizationReply:
        told = {"redirect_uris": [BACK], "token_endpoint_auth_method": "none", **metadata}
        return self.at.answer(request("POST", "/register"), json.dumps(told).encode(), self.now)

    def authorize(self, client: str, **changed: str | None) -> AuthorizationReply:
        asked = {
            "response_type": "code",
            "client_id": client,
            "redirect_uri": BACK,
            "code_challenge": CHALLENGE,
            "code_challenge_method": "S256",
            "resource": RESOURCE,
            "state": "s",
        }
        query = urlencode(_given(asked, changed))
        return self.at.answer(request("GET", f"/authorize?{query}"), b"", self.now)

    def token(self, asked: dict[str, str], changed: Mapping[str, str | None]) -> AuthorizationReply:
        fields = {} if (basic := changed.get("basic")) is None else {"Authorization": basic}
        form = {k: v for k, v in _given(asked, changed).items() if k != "basic"}
        head = request("POST", "/token", **fields)
        return self.at.answer(head, urlencode(form).encode(), self.now)

    def redeem(self, client: str, code: str, /, **changed: str | None) -> AuthorizationReply:
        asked = {
            "grant_type": "authorization_code",
            "client_id": client,
            "code": code,
            "redirect_uri": BACK,
            "code_verifier": VERIFIER,
            "resource": RESOURCE,
        }
        return self.token(asked, changed)

    def refresh(self, client: str, token: str, /, **changed: str | None) -> AuthorizationReply:
        asked = {
            "grant_type": "refresh_token",
            "client_id": client,
            "refresh_token": token,
            "resource": RESOURCE,
        }
        return self.token(asked, changed)

    def device(self, client: str) -> dict[str, Any]:
        form = urlencode({"client_id": client, "resource": RESOURCE}).encode()
        value: dict[str, Any] = value_of(
            self.at.answer(request("POST", "/device_authorization"), form, self.now)
        )
        return value

    def redeem_device(self, client: str, code: str) -> AuthorizationReply:
        grant = "urn:ietf:params:oauth:grant-type:device_code"
        asked = {"grant_type": grant, "client_id": client, "device_code": code}
        return self.token(asked, {})

    def code(self, client: str, **changed: str | None) -> str:
        return redirected(self.authorize(client, **changed))["code"]

    def log_in(self, **changed: str | None) -> tuple[str, dict[str, Any]]:
        """The client's id, and what the token endpoint gave."""
        client = value_of(self.register())["client_id"]
        return client, value_of(self.redeem(client, self.code(client, **changed)))

    def ask(self, token: str | None, *tools: str) -> AuthorizationReply | None:
        """A request for MCP; what it is refused with."""
        fields = {} if token is None else {"Authorization": f"Bearer {token}"}
        return self.at.challenge(request("POST", "/mcp", **fields), tools, self.now)


def redirected(reply: AuthorizationReply) -> dict[str, str]:
    """The parameters of a redirect back to the client."""
    assert 302 == reply.status
    [location] = [value for name, value in reply.headers if name == "Location"]
    assert location.startswith(BACK)
    return dict(parse_qsl(urlsplit(location).query))


def challenge_of(reply: AuthorizationReply | None) -> str:
    assert reply is not None
    return dict(reply.headers)["WWW-Authenticate"]


def _given(asked: Mapping[str, str], changed: Mapping[str, str | None]) -> dict[str, str]:
    return {name: value for name, value in {**asked, **changed}.items() if value is not None}
