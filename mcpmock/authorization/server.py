"""`AuthorizationServer`: the fake authorization server, and the tokens that it has given out.

It implements what MCP asks of one ("Authorization"; OAuth 2.1): metadata of the protected resource
(RFC 9728) and of itself (RFC 8414), dynamic registration (RFC 7591), client id documents, which it
takes without fetching them, authorization with PKCE (S256 only), `resource` (RFC 8707) and `iss`
(RFC 9207), the device grant (RFC 8628), and tokens with a lifetime, refreshed with rotation. It
asks for no consent. All of it is strict: a login that passes here keeps to the specification.

`stage` brings the requests. Time and random ids are arguments, the faults are those of the run.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

import attrs
import msgspec

from mcpmock.faults.receipts import FaultRun
from mcpmock.protocol.messages import HttpRequest
from mcpmock.protocol.raw_json import UNREADABLE
from mcpmock.protocol.transport_facts import Headers

from .faults import FaultsOfLogin
from .options import AuthorizationOptions, unique

RESOURCE_METADATA = "/.well-known/oauth-protected-resource"
SERVER_METADATA = "/.well-known/oauth-authorization-server"
REGISTER, AUTHORIZE, TOKEN = "/register", "/authorize", "/token"
DEVICE = "/device_authorization"
_DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
MAX_REMEMBERED = 1000
"""How many clients, codes and tokens are known at a time, each; the oldest is forgotten first."""
CODE_LIFETIME_S = 60.0
_WRONG_ORIGIN = "https://wrong.example"
_SECRET_METHODS = ("client_secret_basic", "client_secret_post")
_CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}")
"""A SHA-256 in base64url without padding (RFC 7636, 4.2)."""
_URI = re.compile(r"[A-Za-z0-9._~:/?\[\]@!$&'()*+,;=%-]+")
"""The characters of RFC 3986 without `#`: redirect URIs have no fragment (RFC 6749, 3.1.2)."""
# No list of safe ones: apps make up their own (`cursor`, `vscode`), mostly without the dot that
# RFC 8252, 7.1 asks for.
_BROWSER_SCHEMES = frozenset(
    ("javascript", "vbscript", "data", "file", "about", "blob", "filesystem", "view-source")
)
"""Schemes that a browser opens itself, and that name no client."""
_Value = TypeVar("_Value")


@attrs.frozen
class AuthorizationReply:
    """What a request is answered with, `after` so many seconds."""

    status: int
    headers: Headers
    body: bytes = b""
    after: float = 0.0


class _Refused(Exception):
    """The request is answered with this error of OAuth."""

    def __init__(self, error: str, why: str, status: int = 400) -> None:
        self.error, self.why, self.status = error, why, status
        super().__init__(why)


@attrs.frozen
class _Client:
    redirects: tuple[str, ...]
    method: str = "none"
    secret: str | None = attrs.field(default=None, repr=False)


@attrs.frozen
class _Code:
    client: str
    redirect: str
    challenge: str
    resource: str
    scopes: tuple[str, ...]
    ends: float


@attrs.frozen
class _Grant:
    """What a token stands for."""

    client: str
    resource: str
    scopes: tuple[str, ...]
    ends: float


@attrs.define
class AuthorizationServer:
    """The state of one fake authorization server. `path` is where MCP is spoken, `mint` gives
    another id that is not known.
    """

    options: AuthorizationOptions
    path: str
    mint: Callable[[], str]
    run: FaultRun | None = None
    faults: FaultsOfLogin = attrs.field(init=False)
    _clients: dict[str, _Client] = attrs.field(factory=dict)
    _codes: dict[str, _Code] = attrs.field(factory=dict)
    _device_codes: dict[str, _Grant] = attrs.field(factory=dict)
    _tokens: dict[str, _Grant] = attrs.field(factory=dict)
    _refresh_tokens: dict[str, _Grant] = attrs.field(factory=dict)
    _looped: str | None = None
    """The scope that is asked for again and again."""

    def __attrs_post_init__(self) -> None:
        self.faults = FaultsOfLogin(self.run)

    def is_endpoint(self, head: HttpRequest) -> bool:
        """Return whether a request goes to the authorization server and not to the recorded one."""
        return head.path in {
            RESOURCE_METADATA,
            RESOURCE_METADATA + self.path,
            SERVER_METADATA,
            REGISTER,
            AUTHORIZE,
            TOKEN,
            DEVICE,
        }

    def answer(self, head: HttpRequest, body: bytes, now: float) -> AuthorizationReply:
        """Return the answer to a request for one of the endpoints."""
        slow = self.faults.fire("auth_slow", head, now)
        reply = self._answer(head, body, now)
        return reply if slow is None else attrs.evolve(reply, after=slow.delay)

    def challenge(
        self, head: HttpRequest, tools: Sequence[str], now: float
    ) -> AuthorizationReply | None:
        """Return why a request for MCP, which calls these tools, is refused; None if it may
        pass.
        """
        token = bearer_token(head)
        grant = self._tokens.get(token or "")
        if token is None:
            return self._ask(head, 401, {})
        if grant is None or grant.ends <= now or grant.resource != self._resource(head):
            why = {"error": "invalid_token", "error_description": "unknown, expired or misdirected"}
            return self._ask(head, 401, why)
        needed = self.options.needed(tools)
        if tools and (loop := self.faults.fire("auth_scope_loop", head, now)):
            self._looped = loop.scope
        if tools and self._looped is not None:
            # However often the client asks for it, the token will not do.
            return self._ask(head, 403, {"error": "insufficient_scope"}, [*needed, self._looped])
        if not set(needed) <= set(grant.scopes):
            return self._ask(head, 403, {"error": "insufficient_scope"}, needed)
        if self.faults.fire("auth_expire_token", head, now):
            del self._tokens[token]
        return None

    def _answer(self, head: HttpRequest, body: bytes, now: float) -> AuthorizationReply:
        wanted = "POST" if head.path in (REGISTER, TOKEN, DEVICE) else "GET"
        if head.method != wanted:
            return AuthorizationReply(405, [("Allow", wanted)])
        try:
            if head.path == REGISTER:
                return self._register(body)
            if head.path == TOKEN:
                return _json(200, self._grant_token(head, body, now))
            if head.path == DEVICE:
                return _json(200, self._authorize_device(head, body, now))
            if head.path == AUTHORIZE:
                return self._authorize(head, now)
        except _Refused as refused:
            told = {"error": refused.error, "error_description": refused.why}
            return _json(refused.status, told)
        if head.path == SERVER_METADATA:
            return _json(200, self._server_metadata(head, now))
        return _json(200, self._resource_metadata(head, now))

    def _ask(
        self,
        head: HttpRequest,
        status: int,
        parameters: Mapping[str, str],
        scopes: Sequence[str] | None = None,
    ) -> AuthorizationReply:
        """RFC 6750, 3; RFC 9728, 5.1."""
        asked = self.options.scopes if scopes is None else unique(scopes)
        told = {**parameters, "resource_metadata": _origin(head) + RESOURCE_METADATA + self.path}
        if asked:
            told["scope"] = " ".join(asked)
        quoted = ", ".join(f'{name}="{value}"' for name, value in told.items())
        return AuthorizationReply(status, [("WWW-Authenticate", f"Bearer {quoted}")])

    def _resource(self, head: HttpRequest) -> str:
        return _origin(head) + self.path

    def _resource_metadata(self, head: HttpRequest, now: float) -> dict[str, Any]:
        wrong = self.faults.fire("auth_wrong_resource", head, now)
        return {
            "resource": _WRONG_ORIGIN + self.path if wrong else self._resource(head),
            "authorization_servers": [_origin(head)],
            "bearer_methods_supported": ["header"],
            **self._scopes_supported(),
        }

    def _server_metadata(self, head: HttpRequest, now: float) -> dict[str, Any]:
        origin = _origin(head)
        wrong = self.faults.fire("auth_wrong_issuer", head, now)
        metadata = {
            "issuer": _WRONG_ORIGIN if wrong else origin,
            "authorization_endpoint": origin + AUTHORIZE,
            "token_endpoint": origin + TOKEN,
            "registration_endpoint": origin + REGISTER,
            "device_authorization_endpoint": origin + DEVICE,
            "client_id_metadata_document_supported": True,
            "authorization_response_iss_parameter_supported": True,
            "response_types_supported": ["code"],
            "grant_types_supported": [
                "authorization_code",
                *(["refresh_token"] if self.options.refreshes else []),
                _DEVICE_GRANT,
            ],
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["none", *_SECRET_METHODS],
            **self._scopes_supported(),
        }
        if self.faults.fire("auth_no_registration", head, now):
            metadata["client_id_metadata_document_supported"] = False
            del metadata["registration_endpoint"]
        return metadata

    def _scopes_supported(self) -> dict[str, Any]:
        scopes = self.options.all_scopes
        return {"scopes_supported": scopes} if scopes else {}

    def _register(self, body: bytes) -> AuthorizationReply:
        """RFC 7591, 3: what the client said of itself, with an id."""
        if self.faults.registration_is_withdrawn:
            raise _Refused("invalid_request", "there is no dynamic registration here", 404)
        try:
            metadata = msgspec.json.decode(body, type=dict[str, Any])
            redirects = msgspec.convert(metadata.get("redirect_uris"), list[str])
        except UNREADABLE as error:
            raise _Refused("invalid_client_metadata", str(error)) from error
        for uri in redirects or [""]:
            if not _may_redirect_to(uri):
                raise _Refused("invalid_redirect_uri", "neither https nor a loopback address")
        # RFC 7591, 2: what is left out is client_secret_basic.
        method = metadata.get("token_endpoint_auth_method") or "client_secret_basic"
        if method != "none" and method not in _SECRET_METHODS:
            raise _Refused("invalid_client_metadata", f"token_endpoint_auth_method {method!r}")
        name, secret = self.mint(), None if method == "none" else self.mint()
        _remember(self._clients, name, _Client(tuple(redirects), method, secret))
        given = {"client_id": name, "token_endpoint_auth_method": method, "client_id_issued_at": 0}
        if secret is not None:
            given |= {"client_secret": secret, "client_secret_expires_at": 0}
        return _json(201, {**metadata, **given})

    def _authorize(self, head: HttpRequest, now: float) -> AuthorizationReply:
        """RFC 6749, 4.1.1: where the redirect itself is in doubt, no redirect."""
        asked = _parameters(head.target.partition("?")[2].encode())
        name, redirect = asked.get("client_id", ""), asked.get("redirect_uri", "")
        client = self._client(name)
        if not _is_registered(redirect, client.redirects):
            raise _Refused("invalid_request", "the redirect_uri is not a registered one")
        back = {"state": asked["state"]} if "state" in asked else {}
        try:
            scopes = self._check_authorization(head, asked)
        except _Refused as refused:
            back |= {"error": refused.error, "error_description": refused.why}
        else:
            back["code"] = self.mint()
            code = _Code(
                client=name,
                redirect=redirect,
                challenge=asked["code_challenge"],
                resource=self._resource(head),
                scopes=tuple(scopes),
                ends=now + CODE_LIFETIME_S,
            )
            _remember(self._codes, back["code"], code)
        wrong = self.faults.fire("auth_wrong_iss", head, now)
        back["iss"] = _WRONG_ORIGIN if wrong else _origin(head)
        location = redirect + ("&" if "?" in redirect else "?") + urlencode(back)
        return AuthorizationReply(302, [("Location", location)])

    def _check_authorization(self, head: HttpRequest, asked: Mapping[str, str]) -> list[str]:
        """Return the scopes that are granted."""
        if asked.get("response_type") != "code":
            raise _Refused("unsupported_response_type", "the response_type is not code")
        if asked.get("code_challenge_method") != "S256":
            raise _Refused("invalid_request", "the code_challenge_method is not S256")
        if not _CHALLENGE.fullmatch(asked.get("code_challenge", "")):
            raise _Refused("invalid_request", "the code_challenge is no SHA-256 in base64url")
        self._check_resource(asked, self._resource(head))
        scopes = unique(asked.get("scope", "").split())
        return scopes or list(self.options.scopes)

    def _check_resource(self, asked: Mapping[str, str], resource: str) -> None:
        """Clients "MUST send this parameter" (Authorization, Resource Parameter Implementation)."""
        if asked.get("resource", "").rstrip("/") != resource.rstrip("/"):
            raise _Refused("invalid_target", f"the resource is not {resource}")

    def _grant_token(self, head: HttpRequest, body: bytes, now: float) -> dict[str, Any]:
        asked = _parameters(body)
        name = self._authenticated(head, asked)
        if self.faults.fire("auth_invalid_grant", head, now):
            raise _Refused("invalid_grant", "the fault auth_invalid_grant")
        kind = asked.get("grant_type")
        if kind == "authorization_code":
            grant = self._redeem_code(name, asked, now)
        elif kind == _DEVICE_GRANT:
            grant = self._redeem_device_code(name, asked, now)
        elif kind == "refresh_token":
            grant = self._redeem_refresh_token(name, asked)
        else:
            raise _Refused("unsupported_grant_type", "neither a code nor a refresh token")
        grant = attrs.evolve(grant, ends=now + self.options.lifetime)
        granted: dict[str, Any] = {
            "access_token": self.mint(),
            "token_type": "Bearer",
            "expires_in": math.ceil(self.options.lifetime),
        }
        _remember(self._tokens, granted["access_token"], grant)
        if self.options.refreshes:
            granted["refresh_token"] = self.mint()
            _remember(self._refresh_tokens, granted["refresh_token"], grant)
        return {**granted, "scope": " ".join(grant.scopes)} if grant.scopes else granted

    def _redeem_code(self, name: str, asked: Mapping[str, str], now: float) -> _Grant:
        code = self._codes.pop(asked.get("code", ""), None)  # once only (RFC 6749, 4.1.2)
        if code is None or code.ends <= now or code.client != name:
            raise _Refused("invalid_grant", "the code is unknown, used, expired or not yours")
        if asked.get("redirect_uri") != code.redirect:
            raise _Refused("invalid_grant", "the redirect_uri is not that of the authorization")
        digest = hashlib.sha256(asked.get("code_verifier", "").encode()).digest()
        if base64.urlsafe_b64encode(digest).rstrip(b"=").decode() != code.challenge:
            raise _Refused("invalid_grant", "the code_verifier does not fit the code_challenge")
        self._check_resource(asked, code.resource)
        return _Grant(name, code.resource, code.scopes, now)

    def _authorize_device(self, head: HttpRequest, body: bytes, now: float) -> dict[str, Any]:
        """RFC 8628, 3.2. The user agrees at once."""
        asked = _parameters(body)
        name = self._authenticated(head, asked)
        resource = self._resource(head)
        self._check_resource(asked, resource)
        scopes = unique(asked.get("scope", "").split()) or self.options.scopes
        code = self.mint()
        grant = _Grant(name, resource, tuple(scopes), now + CODE_LIFETIME_S)
        _remember(self._device_codes, code, grant)
        return {
            "device_code": code,
            "user_code": "MCPMOCK",
            "verification_uri": _origin(head) + DEVICE,
            "expires_in": int(CODE_LIFETIME_S),
            "interval": 1,
        }

    def _redeem_device_code(self, name: str, asked: Mapping[str, str], now: float) -> _Grant:
        grant = self._device_codes.pop(asked.get("device_code", ""), None)
        if grant is None or grant.client != name:
            raise _Refused("invalid_grant", "the device code is unknown, used or not yours")
        if grant.ends <= now:
            raise _Refused("expired_token", "the device code has expired")
        return grant

    def _redeem_refresh_token(self, name: str, asked: Mapping[str, str]) -> _Grant:
        token = asked.get("refresh_token", "")
        grant = self._refresh_tokens.get(token)
        if grant is None or grant.client != name:
            raise _Refused("invalid_grant", "the refresh token is unknown, used or not yours")
        self._check_resource(asked, grant.resource)
        scopes = asked.get("scope", "").split()
        if not set(scopes) <= set(grant.scopes):  # RFC 6749, 6
            raise _Refused("invalid_scope", "a refresh gives no scope that was not granted")
        del self._refresh_tokens[token]  # OAuth 2.1, 4.3.1: rotation
        return attrs.evolve(grant, scopes=tuple(unique(scopes))) if scopes else grant

    def _authenticated(self, head: HttpRequest, asked: Mapping[str, str]) -> str:
        """Return the client of a token request. Raises _Refused if it is not who it says."""
        name, secret, method = asked.get("client_id", ""), asked.get("client_secret"), "none"
        scheme, _, credentials = (head.header("authorization") or "").partition(" ")
        if scheme.lower() == "basic":
            name, secret, method = *_basic(credentials), "client_secret_basic"
        elif secret is not None:
            method = "client_secret_post"
        client = self._client(name, status=401)
        known = hmac.compare_digest((client.secret or "").encode(), (secret or "").encode())
        if client.method != method or not known:
            raise _Refused("invalid_client", f"expected {client.method}", 401)
        return name

    def _client(self, name: str, status: int = 400) -> _Client:
        if client := self._clients.get(name):
            return client
        scheme, _, path = _split(name) or ("", "", "")
        is_document = scheme == "https" and path.partition("?")[0] not in ("", "/")
        if is_document and not self.faults.registration_is_withdrawn:
            return _Client(redirects=())  # what stands in the document is not known here
        raise _Refused("invalid_client", "this client is not registered", status)


def bearer_token(head: HttpRequest) -> str | None:
    """Return the token in the head of a request."""
    scheme, _, token = (head.header("authorization") or "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else None


def _origin(head: HttpRequest) -> str:
    """Return our origin, by the name that the client has for us; `access_policy` has checked it."""
    return f"http://{head.header('host')}"


def _json(status: int, value: object) -> AuthorizationReply:
    fields = [("Content-Type", "application/json"), ("Cache-Control", "no-store")]
    return AuthorizationReply(status, fields, msgspec.json.encode(value))


def _parameters(form: bytes) -> dict[str, str]:
    """RFC 6749, 3.1: none more than once, and an empty one counts as left out."""
    try:
        pairs = parse_qsl(form.decode("ascii"), max_num_fields=100, errors="strict")
    except ValueError as error:
        raise _Refused("invalid_request", "the parameters cannot be read") from error
    asked = dict(pairs)
    if len(asked) < len(pairs):
        raise _Refused("invalid_request", "a parameter comes twice")
    return asked


def _basic(credentials: str) -> tuple[str, str]:
    """Return client id and secret (RFC 6749, 2.3.1)."""
    try:
        name, _, secret = base64.b64decode(credentials, validate=True).decode().partition(":")
    except ValueError as error:
        raise _Refused("invalid_client", "the Basic credentials cannot be read", 401) from error
    return unquote(name), unquote(secret)


def _may_redirect_to(uri: str) -> bool:
    """Redirect URIs "MUST be either `localhost` or use HTTPS" (MCP, Authorization); apps without a
    browser's loopback have a scheme of their own (RFC 8252, 7.1).
    """
    parts = _split(uri)
    if parts is None:
        return False
    scheme, host, _ = parts
    if scheme == "http":
        return host in ("localhost", "127.0.0.1", "::1")
    return bool(host) if scheme == "https" else bool(scheme) and scheme not in _BROWSER_SCHEMES


def _is_registered(uri: str, registered: Sequence[str]) -> bool:
    """RFC 8252, 7.3: a loopback address may have any port. `registered` is empty if not known."""
    if not registered:
        return _may_redirect_to(uri)
    return any(uri == known or _without_port(uri) == _without_port(known) for known in registered)


def _without_port(uri: str) -> object:
    """Return a loopback address without its port; any other is equal to none but itself."""
    parts = _split(uri)
    loopback = parts is not None and parts[0] == "http" and _may_redirect_to(uri)
    return parts if loopback else object()


def _split(uri: str) -> tuple[str, str, str] | None:
    """Return scheme, host, path with query; None if it is no URI, or has a fragment."""
    if not _URI.fullmatch(uri):  # urlsplit removes line breaks
        return None
    try:
        parts = urlsplit(uri)
        return parts.scheme, parts.hostname or "", f"{parts.path}?{parts.query}"
    except ValueError:
        return None


def _remember(known: dict[str, _Value], name: str, value: _Value) -> None:
    if len(known) >= MAX_REMEMBERED:
        del known[next(iter(known))]
    known[name] = value
