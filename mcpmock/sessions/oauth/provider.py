"""`log_in` and `refresh`: the protocol, as the provider of the official SDK speaks it.

The provider is a generator of HTTP requests (`httpx2.Auth`). It is driven by hand: the request that
it is to authorize is sent once, to be refused, and never again, so a login calls nothing on the
server. Between runs the provider forgets what it has discovered and when its token ends (mcp 2.3:
after a restart it would log in anew where a refresh is enough, and refresh at the server's own
origin), so both are kept with the login and given back to it.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import attrs
import httpx2
import trio
from mcp.client.auth import OAuthClientProvider, OAuthFlowError
from mcp.client.auth.oauth2 import OAuthContext
from mcp.client.auth.utils import (
    extract_resource_metadata_from_www_auth,
    extract_scope_from_www_auth,
)
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)

from mcpmock.channels.browser import open_page
from mcpmock.errors import McpMockError
from mcpmock.protocol.messages import HttpResponse

from .callback import callback_port, redirect_uri, waiting_for_browser
from .token_store import ServerLogin, TokenStore

LOGIN_TIMEOUT_S = 300.0
"""Seconds that a person has."""
REQUEST_TIMEOUT_S = 30.0
_EXPIRED = 1.0
"""A time that has passed. 0 means to the provider that it does not know (mcp 2.3)."""
_DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
_SERVER_METADATA = re.compile(r"/\.well-known/(oauth-authorization-server|openid-configuration)")
_GRANTS = ["authorization_code", "refresh_token"]
Say = Callable[[str], None]
# The SDK logs errors with their traceback, and what servers say: they are told in a line instead.
logging.getLogger("mcp").addHandler(logging.NullHandler())


@attrs.frozen(kw_only=True)
class LoginOptions:
    """What a user may say of a login."""

    scopes: tuple[str, ...] = ()
    """Those to ask for; empty: those that the server names."""
    resource: str | None = None
    client_id: str | None = None
    client_secret: str | None = attrs.field(default=None, repr=False)
    device: bool = False
    """Log in on another device, with a code."""


@attrs.define
class _Memory:
    """The provider's storage."""

    client: OAuthClientInformationFull | None = None
    tokens: OAuthToken | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


class _Context(OAuthContext):
    resource: str | None = None

    def get_resource_url(self) -> str:
        return self.resource or super().get_resource_url()


class _Provider(OAuthClientProvider):
    """With the scopes and the resource of the user, and the device grant."""

    def __init__(
        self,
        url: str,
        metadata: OAuthClientMetadata,
        memory: _Memory,
        options: LoginOptions,
        say: Say,
    ) -> None:
        super().__init__(url, metadata, memory)
        context = _Context(**vars(self.context))
        context.resource = options.resource
        self.context = context
        self.options = options
        self.memory = memory
        self.say = say
        self.whole_metadata: dict[str, Any] = {}
        """Those of the authorization server, of which the SDK's model keeps what it knows."""
        if options.resource is not None:
            self._validate_resource_url_callback = _accept_resource

    async def _perform_authorization(self) -> httpx2.Request:
        if self.options.device:
            return await self._authorize_device()
        return await super()._perform_authorization()

    async def _authorize_device(self) -> httpx2.Request:
        """RFC 8628: a request for the token, to be sent until the user has agreed elsewhere."""
        context = self.context
        endpoint = self.whole_metadata.get("device_authorization_endpoint")
        if not endpoint or context.client_info is None:
            raise McpMockError("this authorization server has no device login; leave out --device")
        form = {"client_id": context.client_info.client_id}
        if context.client_metadata.scope:
            form["scope"] = context.client_metadata.scope
        if context.should_include_resource_param(context.protocol_version):
            form["resource"] = context.get_resource_url()
        form, fields = context.prepare_token_auth(form, {})
        async with httpx2.AsyncClient(timeout=REQUEST_TIMEOUT_S) as http:
            answer = await http.post(str(endpoint), data=form, headers=fields)
        device = answer.json()
        if answer.status_code != 200:
            raise McpMockError(f"the authorization server refused: {device.get('error')}")
        page = device.get("verification_uri_complete") or device["verification_uri"]
        self.say(f"open {page} on any device and enter the code {device['user_code']}")
        ask = {"grant_type": _DEVICE_GRANT, "device_code": device["device_code"], **form}
        request = httpx2.Request("POST", self._get_token_endpoint(), data=ask, headers=fields)
        request.extensions["mcpmock_interval"] = float(device.get("interval", 5))
        return request


async def log_in(url: str, store: TokenStore, options: LoginOptions, say: Say) -> ServerLogin:
    """Log in to the server at `url`, and keep the login. Raises McpMockError: it has refused, or
    nobody came back in LOGIN_TIMEOUT_S.
    """
    with _explained(url), trio.move_on_after(LOGIN_TIMEOUT_S):
        async with _browser(url, options, say) as metadata:
            memory = _Memory(client=_known_client(options, metadata, store.load(url)))
            provider = _Provider(url, metadata.client, memory, options, say)
            provider.context.redirect_handler = metadata.open
            provider.context.callback_handler = metadata.come_back
            await _drive(provider, httpx2.Request("GET", url, headers=_ACCEPT))
        if provider.memory.tokens is None:
            raise McpMockError(f"{url} asks for no login; leave out --oauth")
        login = _login_of(provider, options.resource)
        async with _alone(store, url):
            store.save(login)
        return login
    raise McpMockError("nobody has logged in for 5 minutes; run the command again")


async def refresh(store: TokenStore, login: ServerLogin) -> ServerLogin | None:
    """The login with a new access token, kept; None if it is worth nothing any more. Another
    process may have refreshed it meanwhile: then it is that one's.
    """
    async with _alone(store, login.url):
        stored = store.load(login.url)
        if stored is None or stored.access_token != login.access_token:
            return stored
        if not login.tokens.get("refresh_token"):
            return None
        options = LoginOptions(resource=login.resource)
        memory = _Memory(
            OAuthClientInformationFull.model_validate(login.client),
            OAuthToken.model_validate(login.tokens),
        )
        metadata = OAuthClientMetadata(redirect_uris=None)
        provider = _Provider(login.url, metadata, memory, options, _say_nothing)
        _restore(provider, login)
        request = httpx2.Request("POST", login.url)
        with _explained(login.url):
            await _drive(provider, request, stop_before=True)
        if "Authorization" not in request.headers:
            return None
        fresh = _login_of(provider, login.resource, issuer=login.issuer)
        store.save(fresh)
        return fresh


@asynccontextmanager
async def _alone(store: TokenStore, url: str) -> AsyncIterator[None]:
    """As `TokenStore.locked`; a thread waits for other processes."""
    lock = store.locked(url)
    await trio.to_thread.run_sync(lock.__enter__)
    try:
        yield
    finally:
        lock.__exit__(None, None, None)


def challenged_scopes(refused: HttpResponse) -> list[str]:
    """The scopes that a refusal asks for."""
    response = httpx2.Response(refused.status, headers=refused.headers)
    return (extract_scope_from_www_auth(response) or "").split()


_ACCEPT = {"Accept": "application/json, text/event-stream"}


@attrs.frozen
class _Browser:
    """The way of a person through the login."""

    client: OAuthClientMetadata
    open: Callable[[str], Any] | None = None
    come_back: Callable[[], Any] | None = None


@asynccontextmanager
async def _browser(url: str, options: LoginOptions, say: Say) -> AsyncIterator[_Browser]:
    port = callback_port(url)
    if options.device:  # servers want a redirect URI of every client
        yield _Browser(_client_metadata(redirect_uri(port), [_DEVICE_GRANT, *_GRANTS]))
        return
    async with waiting_for_browser(port) as callback:

        async def show(page: str) -> None:
            say(f"log in at {page}")
            open_page(page)

        async def come_back() -> AuthorizationCodeResult:
            came = await callback.parameters()
            return AuthorizationCodeResult(
                code=came["code"], state=came.get("state"), iss=came.get("iss")
            )

        yield _Browser(_client_metadata(redirect_uri(port), _GRANTS), show, come_back)


def _client_metadata(redirect: str, grants: list[str]) -> OAuthClientMetadata:
    told = {
        "client_name": "mcpmock",
        "redirect_uris": [redirect],
        "grant_types": grants,
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
    }
    return OAuthClientMetadata.model_validate(told)


def _known_client(
    options: LoginOptions, browser: _Browser, login: ServerLogin | None
) -> OAuthClientInformationFull | None:
    """The registration that the user has or, to ask for other scopes, that of the login before:
    servers bind sessions to the client that opened them (python-sdk 2.3: 404 for another one). A
    login without scopes registers anew, as the server may have forgotten the client.
    """
    if options.client_id is None:
        if login is None or not options.scopes:
            return None
        return OAuthClientInformationFull.model_validate(login.client)
    secret = options.client_secret
    return OAuthClientInformationFull(
        client_id=options.client_id,
        client_secret=secret,
        redirect_uris=browser.client.redirect_uris,
        token_endpoint_auth_method="none" if secret is None else "client_secret_basic",
    )


async def _drive(
    provider: _Provider, request: httpx2.Request, *, stop_before: bool = False
) -> None:
    """Sends what the provider asks for, up to the request itself with `stop_before`, else up to
    its repetition with a token.
    """
    flow = provider.async_auth_flow(request)
    async with httpx2.AsyncClient(timeout=REQUEST_TIMEOUT_S) as http:
        try:
            asked = False
            outgoing = await anext(flow)
            while outgoing is not request or not (asked or stop_before):
                _register_for_more(outgoing, provider.context)
                response = await _send(http, outgoing, whole=outgoing is not request)
                if outgoing is request:
                    asked = True
                    _ask_for(response, provider.options.scopes)
                elif _SERVER_METADATA.search(outgoing.url.path) and response.status_code == 200:
                    provider.whole_metadata = response.json()
                outgoing = await flow.asend(response)
        except StopAsyncIteration:
            pass
        finally:
            await flow.aclose()


def _register_for_more(request: httpx2.Request, context: OAuthContext) -> None:
    """A registration is for all scopes that there are, so that a later login can ask for more with
    it (the provider registers for those of now; servers of the python-sdk hold clients to that).
    """
    server, protected = context.oauth_metadata, context.protected_resource_metadata
    if server is None or str(request.url) != str(server.registration_endpoint):
        return
    told = json.loads(request.content)
    known = [server.scopes_supported, protected.scopes_supported if protected else None]
    scopes = [*(told.get("scope") or "").split(), *(one for some in known for one in some or ())]
    if scopes:
        told["scope"] = " ".join(dict.fromkeys(scopes))
    edited = httpx2.Request("POST", request.url, json=told)
    request.stream, request._content = edited.stream, edited.content
    request.headers["Content-Length"] = edited.headers["Content-Length"]


def _ask_for(refused: httpx2.Response, scopes: Sequence[str]) -> None:
    """As if the server had asked for these scopes: what it asks for is what the provider registers
    for and wants to be granted.
    """
    if scopes and refused.status_code == 401:
        metadata = extract_resource_metadata_from_www_auth(refused)
        more = f', resource_metadata="{metadata}"' if metadata else ""
        refused.headers["WWW-Authenticate"] = f'Bearer scope="{" ".join(scopes)}"{more}'


async def _send(
    http: httpx2.AsyncClient, request: httpx2.Request, *, whole: bool
) -> httpx2.Response:
    interval = request.extensions.get("mcpmock_interval")
    while True:
        response = await http.send(request, stream=True)
        if whole:
            await response.aread()
        await response.aclose()  # of the server's own answer the head is enough
        if interval is None or response.status_code == 200:
            return response
        error = response.json().get("error")
        if error == "slow_down":
            interval += 5  # RFC 8628, 3.5
        elif error != "authorization_pending":
            raise McpMockError(f"the authorization server refused: {error}")
        await trio.sleep(interval)


def _restore(provider: _Provider, login: ServerLogin) -> None:
    """What the provider knew when it logged in."""
    context = provider.context
    context.client_info, context.current_tokens = provider.memory.client, provider.memory.tokens
    context.token_expiry_time = _EXPIRED
    if login.server_metadata is not None:
        context.oauth_metadata = OAuthMetadata.model_validate(login.server_metadata)
    if login.resource_metadata is not None:
        context.protected_resource_metadata = ProtectedResourceMetadata.model_validate(
            login.resource_metadata
        )
    provider._initialized = True


def _login_of(provider: _Provider, resource: str | None, issuer: str | None = None) -> ServerLogin:
    context, memory = provider.context, provider.memory
    assert memory.tokens is not None
    assert memory.client is not None
    server, protected = context.oauth_metadata, context.protected_resource_metadata
    return ServerLogin(
        url=context.server_url,
        issuer=issuer or provider._expected_issuer(),
        client=_as_json(memory.client),
        tokens=_as_json(memory.tokens),
        server_metadata=None if server is None else _as_json(server),
        resource_metadata=None if protected is None else _as_json(protected),
        resource=resource,
    )


def _as_json(model: Any) -> dict[str, Any]:
    value: dict[str, Any] = model.model_dump(mode="json", exclude_none=True)
    return value


@contextmanager
def _explained(url: str) -> Iterator[None]:
    """Errors of the SDK and of the network as ours, in one line."""
    try:
        yield
    except Exception as error:
        match _first(error):
            case McpMockError() as ours:
                raise ours from None
            case OAuthFlowError() as why:
                raise McpMockError(f"{url}: {why}") from error
            case httpx2.HTTPError() as why:
                raise McpMockError(f"{url}: cannot log in: {why}") from error
            case ValueError():
                raise McpMockError(f"{url}: an answer to the login cannot be read") from error
            case _:
                raise


def _first(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


async def _accept_resource(_url: str, _resource: str | None) -> None:
    """The user has named the resource."""


def _say_nothing(_text: str) -> None:
    pass
