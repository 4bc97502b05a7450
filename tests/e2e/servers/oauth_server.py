"""A server of the official SDK with an authorization server of its own, which agrees to everything.

    python oauth_server.py [ISSUER...]

A token's first letter is `w` where its scopes have `write`, without which the tool `write` is
refused. `GET /expire` ends all access tokens, `GET /revoke` all tokens, `GET /refreshed` says how
many refreshes there were, and `GET /heard?TEXT` whether a request had this text in it.

With ISSUERs it takes the tokens of the first of them, which are other processes of this program,
and `GET /turn` puts that one last.
"""

from __future__ import annotations

import contextlib
import json
import secrets
import socket
import sys
import time
from typing import Any

import httpx2
import uvicorn
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    OAuthAuthorizationServerProvider,
    RefreshToken,
    construct_redirect_uri,
)
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions
from mcp.server.mcpserver import MCPServer
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

LIFETIME_S = 3600


class Provider(OAuthAuthorizationServerProvider[AuthorizationCode, RefreshToken, AccessToken]):
    """All in memory."""

    def __init__(self) -> None:
        self.clients: dict[str, OAuthClientInformationFull] = {}
        self.codes: dict[str, AuthorizationCode] = {}
        self.access: dict[str, AccessToken] = {}
        self.refreshes: dict[str, RefreshToken] = {}
        self.refreshed = 0

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        return self.clients.get(client_id)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        assert client_info.client_id is not None
        self.clients[client_info.client_id] = client_info

    async def authorize(
        self, client: OAuthClientInformationFull, params: AuthorizationParams
    ) -> str:
        code = secrets.token_urlsafe(32)
        self.codes[code] = AuthorizationCode(
            code=code,
            scopes=params.scopes or ["read"],
            expires_at=time.time() + 60,  # noqa: TID251 (the SDK wants it so)
            client_id=client.client_id or "",
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
        )
        return construct_redirect_uri(str(params.redirect_uri), code=code, state=params.state)

    async def load_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: str
    ) -> AuthorizationCode | None:
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: AuthorizationCode
    ) -> OAuthToken:
        del self.codes[authorization_code.code]
        return self.grant(client, authorization_code.scopes, authorization_code.resource)

    async def load_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: str
    ) -> RefreshToken | None:
        return self.refreshes.get(refresh_token)

    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: RefreshToken, scopes: list[str]
    ) -> OAuthToken:
        del self.refreshes[refresh_token.token]
        self.refreshed += 1
        return self.grant(client, scopes or refresh_token.scopes, refresh_token.resource)

    def grant(
        self, client: OAuthClientInformationFull, scopes: list[str], resource: str | None
    ) -> OAuthToken:
        letter = "w" if "write" in scopes else "r"
        access, refresh = letter + secrets.token_urlsafe(32), secrets.token_urlsafe(32)
        common: dict[str, Any] = {
            "client_id": client.client_id or "",
            "scopes": scopes,
            "resource": resource,
        }
        ends = int(time.time()) + LIFETIME_S  # noqa: TID251
        self.access[access] = AccessToken(token=access, expires_at=ends, **common)
        self.refreshes[refresh] = RefreshToken(token=refresh, **common)
        return OAuthToken(
            access_token=access,
            expires_in=LIFETIME_S,
            scope=" ".join(scopes),
            refresh_token=refresh,
        )

    async def load_access_token(self, token: str) -> AccessToken | None:
        return self.access.get(token)

    async def revoke_token(self, token: AccessToken | RefreshToken) -> None:
        raise NotImplementedError


class Elsewhere:
    """The tokens of other authorization servers."""

    def __init__(self, issuers: list[str]) -> None:
        self.issuers = issuers

    async def verify_token(self, token: str) -> AccessToken | None:
        async with httpx2.AsyncClient() as http:
            answer = await http.post(f"{self.issuers[0]}/introspect", content=token)
        return AccessToken.model_validate_json(answer.content) if answer.content else None


class Around:
    """What the SDK's server does not do: 403 for the tool `write` where the token has not its
    scope, as RFC 6750 has it, and several issuers in the metadata.
    """

    def __init__(self, app: ASGIApp, url: str, issuers: list[str]) -> None:
        self.app = app
        self.protected = {"resource": f"{url}/mcp", "authorization_servers": issuers}
        self.heard = b""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        issuers, path = self.protected["authorization_servers"], scope["path"]
        if issuers and path == "/.well-known/oauth-protected-resource/mcp":
            await PlainTextResponse(json.dumps(self.protected))(scope, receive, send)
            return
        if path == "/heard":
            told = PlainTextResponse(str(scope["query_string"] in self.heard))
            await told(scope, receive, send)
            return
        if path != "/introspect":
            self.heard += b"".join(value for _, value in scope["headers"])
        if scope["method"] != "POST":
            await self.app(scope, receive, send)
            return
        body, more = b"", True
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
        if path != "/introspect":
            self.heard += body
        token = dict(scope["headers"]).get(b"authorization", b"").removeprefix(b"Bearer ")
        if path == "/mcp" and b'"name":"write"' in body.replace(b" ", b"") and token[:1] == b"r":
            challenge = 'Bearer error="insufficient_scope", scope="write"'
            refusal = Response(status_code=403, headers={"WWW-Authenticate": challenge})
            await refusal(scope, receive, send)
            return
        whole = iter([{"type": "http.request", "body": body, "more_body": False}])

        async def again() -> object:
            with contextlib.suppress(StopIteration):
                return next(whole)
            return await receive()

        await self.app(scope, again, send)  # type: ignore[arg-type]


def main(issuers: list[str]) -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    provider = Provider()
    settings = AuthSettings(
        issuer_url=issuers[0] if issuers else url,  # type: ignore[arg-type]
        resource_server_url=f"{url}/mcp",  # type: ignore[arg-type]
        validate_token_resource=True,
        client_registration_options=ClientRegistrationOptions(
            enabled=True, valid_scopes=["read", "write"], default_scopes=["read", "write"]
        ),
        required_scopes=["read"],
    )
    tokens: Any = (
        {"token_verifier": Elsewhere(issuers)} if issuers else {"auth_server_provider": provider}
    )
    server = MCPServer("oauth", auth=settings, **tokens)

    @server.tool()
    def read() -> str:
        return "read"

    @server.tool()
    def write() -> str:
        return "written"

    @server.custom_route("/expire", methods=["GET"])  # type: ignore[untyped-decorator]
    async def expire(_request: Request) -> Response:
        provider.access.clear()
        return PlainTextResponse("")

    @server.custom_route("/revoke", methods=["GET"])  # type: ignore[untyped-decorator]
    async def revoke(_request: Request) -> Response:
        provider.access.clear()
        provider.refreshes.clear()
        return PlainTextResponse("")

    @server.custom_route("/refreshed", methods=["GET"])  # type: ignore[untyped-decorator]
    async def refreshed(_request: Request) -> Response:
        return PlainTextResponse(str(provider.refreshed))

    @server.custom_route("/introspect", methods=["POST"])  # type: ignore[untyped-decorator]
    async def introspect(request: Request) -> Response:
        token = await provider.load_access_token((await request.body()).decode())
        return Response(token.model_dump_json() if token else "")

    @server.custom_route("/turn", methods=["GET"])  # type: ignore[untyped-decorator]
    async def turn(_request: Request) -> Response:
        issuers.append(issuers.pop(0))
        return PlainTextResponse("")

    app = Around(server.streamable_http_app(), url, issuers)
    print(f"listening on {url}/mcp", file=sys.stderr, flush=True)
    uvicorn.run(app, fd=listener.fileno(), log_level="error", lifespan="on")


if __name__ == "__main__":
    main(sys.argv[1:])
