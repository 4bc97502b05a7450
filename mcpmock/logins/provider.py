"""`log_in` and `refresh`: the protocol, as the provider of the official SDK speaks it.

The provider is a generator of HTTP requests (`httpx2.Auth`). It is driven by hand: the request that
it is to authorize is sent once, to be refused, and never again, so a login calls nothing on the
server. Each answer passes through `answers`, so that the provider reads sound ones only. Between
runs the provider forgets what it has discovered and when its token ends (mcp 2.3: after a restart
it would log in anew where a refresh is enough, and refresh at the server's own origin), so both are
kept with the login and given back to it.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any
from urllib.parse import parse_qs

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
from pydantic import BaseModel, Field

from mcpmock.channels.browser import open_page
from mcpmock.errors import McpMockError
from mcpmock.protocol.messages import HttpResponse
from mcpmock.version import VERSION

from .answers import (
    STEP_TIMEOUT_S,
    Step,
    check_answer,
    error_of,
    fetch,
    metadata_answer,
    new_client,
    problem_of,
    token_answer,
)
from .callback import callback_port, redirect_uri, waiting_for_browser
from .limits import MAX_URL_CHARACTERS, check_endpoint, shorten, split_scopes
from .token_store import ServerLogin, TokenStore

LOGIN_TIMEOUT_S = 300.0
"""Seconds that a person has."""
REFRESH_TIMEOUT_S = 30.0
"""Seconds for a whole refresh, behind those of other processes: a client waits for its answer."""
GET_TIMEOUT_S = 10.0
"""Seconds that a server has for the head of an event stream: some send it with the first event."""
LOCK_INTERVAL_S = 0.1
"""Seconds between two looks at whether another process is done with a login."""
MAX_PAGE_CHARACTERS = 4 * MAX_URL_CHARACTERS
"""The longest URL that a browser is given."""
DEVICE_INTERVAL_MIN_S = 1
_EXPIRED = 1.0
"""A time that has passed. 0 means to the provider that it does not know (mcp 2.3)."""
_DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
_SERVER_METADATA = re.compile(r"/\.well-known/(oauth-authorization-server|openid-configuration)")
_ENDPOINTS = (
    "authorization_endpoint",
    "token_endpoint",
    "registration_endpoint",
    "device_authorization_endpoint",
)
_GRANTS = ["authorization_code", "refresh_token"]
Say = Callable[[str], None]
# The SDK logs errors with their traceback and the server's text; mcpmock reports them in a line.
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


class _Device(BaseModel):
    """RFC 8628, 3.2."""

    device_code: str = Field(min_length=1)
    user_code: str = Field(min_length=1, max_length=100)
    verification_uri: str
    verification_uri_complete: str | None = None
    expires_in: int = Field(gt=0)
    interval: int = Field(default=5, ge=0)


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
        self.refused: httpx2.Response | None = None
        """The answer of the server without a token; of a refresh there is none."""
        self.whole_metadata: dict[str, Any] = {}
        """Those of the authorization server, of which the SDK's model keeps what it knows."""
        self._device: _Device | None = None
        self._deadlines: dict[Step, float] = {}
        self._redirected: tuple[httpx2.Request | None, Step] = None, Step.RESOURCE
        self._problem = ""
        """What is wrong with metadata that were passed over."""
        if options.resource is not None:
            self._validate_resource_url_callback = _accept_resource

    async def run(self, request: httpx2.Request) -> None:
        """Send what the provider asks for, up to the request itself: that one has been `refused`,
        or the refresh is before it. Raises McpMockError.
        """
        refused = self.refused
        flow = self.async_auth_flow(request)
        async with new_client() as self._http:
            try:
                outgoing = await anext(flow)
                while outgoing is not request or refused is not None:
                    if outgoing is not request:
                        response = await self._answer(outgoing)
                    elif refused is not None:
                        response, refused = refused, None
                    outgoing = await flow.asend(response)
            except StopAsyncIteration:
                pass
            except McpMockError as error:
                if self._problem and self.context.oauth_metadata is None:
                    raise McpMockError(f"{error}; {self._problem}") from None
                raise
            finally:
                await flow.aclose()

    async def _answer(self, request: httpx2.Request) -> httpx2.Response:
        """Return one that the provider can read. Raises McpMockError."""
        step = self._step_of(request)
        if step is Step.REGISTRATION:
            _register_for_more(request, self.context)
        if step is Step.TOKEN:
            return self._checked_token(await self._ask_for_token(request))
        response = await self._fetch(request, step)
        if step is Step.REGISTRATION:
            check_answer(response, step, OAuthClientInformationFull)
            return response
        self._redirected = response.next_request, step
        if response.status_code != 200:
            return response
        model = OAuthMetadata if step is Step.ISSUER else ProtectedResourceMetadata
        response = metadata_answer(response)
        if (problem := problem_of(response, model)) is not None:
            # A page for people, which some servers have at any path: the next place is asked.
            self._problem = f"{shorten(str(request.url))}: {problem}"
            return httpx2.Response(404, request=request)
        if step is Step.ISSUER:
            self.whole_metadata = response.json()
            for name in _ENDPOINTS:
                if url := self.whole_metadata.get(name):
                    check_endpoint(str(url), f"{name} of the authorization server")
        return response

    def _step_of(self, request: httpx2.Request) -> Step:
        redirected, step = self._redirected
        if request is redirected:
            return step
        if request.method == "GET":
            is_issuer = _SERVER_METADATA.search(request.url.path) is not None
            return Step.ISSUER if is_issuer else Step.RESOURCE
        is_json = request.headers["Content-Type"] == "application/json"
        return Step.REGISTRATION if is_json else Step.TOKEN

    async def _fetch(self, request: httpx2.Request, step: Step) -> httpx2.Response:
        now = trio.current_time()
        deadline = self._deadlines.setdefault(step, now + STEP_TIMEOUT_S)
        return await fetch(self._http, request, step, deadline=deadline)

    def _checked_token(self, response: httpx2.Response) -> httpx2.Response:
        response = token_answer(response)
        is_refused = 400 <= response.status_code < 500 and response.status_code != 429
        if not (is_refused and self.refused is None):  # a refresh that is refused needs a login
            check_answer(response, Step.TOKEN, OAuthToken)
        return response

    async def _ask_for_token(self, request: httpx2.Request) -> httpx2.Response:
        """Wait with a device code until the user has agreed elsewhere, or the code is over."""
        request.headers["Accept"] = "application/json"
        if self._device is None:
            return await self._fetch(request, Step.TOKEN)
        interval = min(max(self._device.interval, DEVICE_INTERVAL_MIN_S), LOGIN_TIMEOUT_S)
        with trio.move_on_after(min(self._device.expires_in, LOGIN_TIMEOUT_S)):
            while True:
                self._deadlines.pop(Step.TOKEN, None)
                response = await self._fetch(request, Step.TOKEN)
                match error_of(response):
                    case "slow_down":
                        interval += 5  # RFC 8628, 3.5
                    case "authorization_pending":
                        pass
                    case _:
                        return response
                await trio.sleep(interval)
        raise McpMockError("the code was not entered in time; run the command again")

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
        ask = httpx2.Request("POST", str(endpoint), data=form, headers=fields)
        answer = await self._fetch(ask, Step.DEVICE)
        check_answer(answer, Step.DEVICE, _Device)
        self._device = device = _Device.model_validate_json(answer.content)
        page = device.verification_uri_complete or device.verification_uri
        check_endpoint(page, "the page to log in at")
        self.say(f"open {page} on any device and enter the code {device.user_code}")
        ask_for = {"grant_type": _DEVICE_GRANT, "device_code": device.device_code, **form}
        return httpx2.Request("POST", self._get_token_endpoint(), data=ask_for, headers=fields)


async def log_in(url: str, store: TokenStore, options: LoginOptions, say: Say) -> ServerLogin:
    """Log in to the server at `url`, and keep the login. Raises McpMockError: it has refused, or
    the browser did not come back within LOGIN_TIMEOUT_S.
    """
    check_endpoint(url, "the URL of the server")
    with store.locked(url):
        pass  # what cannot be kept is said before the login
    with _explained(url), trio.move_on_after(LOGIN_TIMEOUT_S):
        request, refused = await _probe(url)
        _ask_for(refused, options.scopes)
        async with _browser(url, options, say) as metadata:
            memory = _Memory(client=_known_client(options, metadata, store.load(url)))
            provider = _Provider(url, metadata.client, memory, options, say)
            provider.context.redirect_handler = metadata.open
            provider.context.callback_handler = metadata.come_back
            provider.refused = refused
            await provider.run(request)
        login = _login_of(provider, options.resource)
        async with _alone(store, url):
            store.save(login)
        return login
    raise McpMockError("the login was not finished within 5 minutes; run the command again")


async def _probe(url: str) -> tuple[httpx2.Request, httpx2.Response]:
    """Return a request that is refused without a login. Raises McpMockError if none is."""
    asks = [
        (httpx2.Request("GET", url, headers=_ACCEPT), GET_TIMEOUT_S),
        (httpx2.Request("POST", url, headers=_ACCEPT, json=_INITIALIZE), STEP_TIMEOUT_S),
    ]
    statuses = []
    async with new_client() as http:
        for request, timeout in asks:
            deadline = trio.current_time() + timeout
            try:
                response = await fetch(http, request, Step.PROBE, deadline=deadline)
            except McpMockError:
                if request.method == "GET":  # a stream that has no event yet
                    continue
                raise
            if response.status_code == 401:
                return request, response
            statuses.append((request.method, response.status_code))
    told = ", ".join(f"{method} has status {status}" for method, status in statuses)
    if any(status < 300 for _, status in statuses):
        raise McpMockError(f"{url} needs no login: {told}; remove --oauth")
    raise McpMockError(f"{url} needs no login: {told}; correct the URL")


async def refresh(store: TokenStore, login: ServerLogin) -> ServerLogin | None:
    """Return the login with a new access token, kept; None if it is worth nothing any more. Another
    process may have refreshed it meanwhile: then it is that one's. Raises McpMockError where that
    cannot be known, as after REFRESH_TIMEOUT_S.
    """
    with trio.move_on_after(REFRESH_TIMEOUT_S), _explained(login.url):
        async with _alone(store, login.url):
            return await _refresh_alone(store, login)
    raise McpMockError(
        f"{login.url}: no refresh of the login within {REFRESH_TIMEOUT_S:g} s; try again later"
    )


async def _refresh_alone(store: TokenStore, login: ServerLogin) -> ServerLogin | None:
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
    await provider.run(request)
    if "Authorization" not in request.headers:
        return None
    fresh = _login_of(provider, login.resource, issuer=login.issuer)
    store.save(fresh)
    return fresh


@asynccontextmanager
async def _alone(store: TokenStore, url: str) -> AsyncIterator[None]:
    """Lock a server as `TokenStore.locked` does, after others have had their turn."""
    while True:
        with store.locked(url) as alone:
            if alone:
                yield
                return
        await trio.sleep(LOCK_INTERVAL_S)


def challenged_scopes(refused: HttpResponse) -> list[str]:
    """Return the scopes that a refusal asks for."""
    # As bytes: httpx2 makes no head of a text that is not ASCII.
    fields = [(name.encode(), text.encode("latin-1", "replace")) for name, text in refused.headers]
    response = httpx2.Response(refused.status, headers=fields)
    return split_scopes(extract_scope_from_www_auth(response) or "")


_ACCEPT = {"Accept": "application/json, text/event-stream"}
_INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "mcpmock", "version": VERSION},
    },
}


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
            endpoint, _, query = page.rpartition("?")
            check_endpoint(endpoint, "the page to log in at")
            if len(page) > MAX_PAGE_CHARACTERS:
                raise McpMockError(f"{shorten(endpoint)}: the URL of the page is too long")
            [callback.state] = parse_qs(query)["state"]
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
    """Return the registration that the user has or, to ask for other scopes, that of the login
    before: servers bind sessions to the client that opened them (python-sdk 2.3: 404 for another
    one). A login without scopes registers anew, as the server may have forgotten the client.
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


def _register_for_more(request: httpx2.Request, context: OAuthContext) -> None:
    """Register for all scopes that there are, so that a later login can ask for more with
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


def _ask_for(refused: httpx2.Response, scopes: tuple[str, ...]) -> None:
    """Pretend that the server has asked for these scopes: what it asks for is what the provider
    registers for and wants to be granted. Without any, its own, as far as they can be some.
    """
    wanted = " ".join(scopes or split_scopes(extract_scope_from_www_auth(refused) or ""))
    metadata = extract_resource_metadata_from_www_auth(refused)
    told = {"scope": wanted, "resource_metadata": metadata}
    parameters = ", ".join(f'{name}="{value}"' for name, value in told.items() if value)
    refused.headers["WWW-Authenticate"] = f"Bearer {parameters}"


def _restore(provider: _Provider, login: ServerLogin) -> None:
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
    """Return an error of the SDK as ours, in one line."""
    try:
        yield
    except Exception as error:
        match _first(error):
            case McpMockError() as ours:
                raise ours from None
            case OAuthFlowError() as why:
                raise McpMockError(f"{url}: {shorten(str(why))}") from None
            case ValueError() | httpx2.InvalidURL():
                # Of a document that was checked, or of the store: the text would show it.
                raise McpMockError(f"{url}: the data of the login cannot be used") from None
            case _:
                raise


def _first(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


async def _accept_resource(_url: str, _resource: str | None) -> None:
    """Accept the resource: the user has named it."""


def _say_nothing(_text: str) -> None:
    pass
