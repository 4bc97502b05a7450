"""`OAuthCredentials`: the token of a login on every request to a server, and what is done when the
server refuses it.

A refresh, a login made meanwhile, or, on a terminal, a step-up in the browser give
another token; the refused request is then sent once more. Everything else is said in one line, and
the client gets the refusal with that line: nothing waits for a person who is not there.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import attrs
import trio

from mcpmock.errors import McpMockError, MissingExtra, install_command
from mcpmock.printable import mcpmock_command
from mcpmock.protocol.messages import HttpResponse
from mcpmock.protocol.transport_facts import Headers

from .limits import check_endpoint
from .token_store import ServerLogin, TokenStore

Watcher = Callable[[dict[str, Any]], None]
"""Called with how requests are authorized from now on."""


@attrs.define(eq=False)
class OAuthCredentials:
    """Those for one server. `person` is whether a user is at the terminal, who can log in."""

    url: str
    store: TokenStore
    person: bool = False
    watchers: list[Watcher] = attrs.field(factory=list)
    refused: bool = False
    """Whether the server wants a login that is not there, or another one."""
    _say: Callable[[str], None] | None = None
    _login: ServerLogin | None = None
    _told: str = ""
    _renewing: trio.Lock = attrs.field(factory=trio.Lock)

    def open(self, say: Callable[[str], None]) -> None:
        """Look for a login, the first time. Raises McpMockError if the store cannot be read."""
        if self._say is not None:
            return
        self._say = say
        if self._in_the_clear is None:
            self._login = self.store.load(self.url)

    def watch(self, watcher: Watcher) -> None:
        """Tell `watcher` now, if there is a login, and of each that follows."""
        self.watchers.append(watcher)
        if self._login is not None:
            watcher(self._login.described)

    def fields(self) -> Headers:
        if self._login is None:
            return []
        return [("Authorization", f"Bearer {self._login.access_token}")]

    async def renew(self, refused: HttpResponse, sent: Headers) -> str | None:
        """Renew the token, as `Credentials.renew` says. Requests that were refused together wait
        for one renewal.
        """
        async with self._renewing:
            if sent != self.fields():
                return None
            try:
                login = await self._newer(refused, sent)
            except McpMockError as error:
                self.refused = refused.status == 401
                self._tell(str(error))
                return str(error)
            self.refused = False
            if self._login is None or login.described != self._login.described:
                for watcher in self.watchers:
                    watcher(login.described)
            self._login, self._told = login, ""
        return None

    def refused_anew(self) -> str:
        """Say, as `Credentials.refused_anew`, that the issuer renews what the server no longer
        takes.
        """
        self.refused = True
        self._tell(self._outdated)
        return self._outdated

    async def _newer(self, refused: HttpResponse, sent: Headers) -> ServerLogin:
        """Raise McpMockError with what to do."""
        if self._in_the_clear is not None:
            raise self._in_the_clear
        stored = self.store.load(self.url)
        if stored is not None and [("Authorization", f"Bearer {stored.access_token}")] != sent:
            return stored
        if stored is None:
            raise McpMockError(self._missing)
        if refused.status == 403:
            return await self._step_up(refused, stored)
        try:
            from .provider import refresh
        except ImportError as error:
            raise MissingExtra(*LOGIN_EXTRA) from error
        login = await refresh(self.store, stored)
        if login is None:
            raise McpMockError(self._outdated)
        return login

    @property
    def _in_the_clear(self) -> McpMockError | None:
        """What keeps tokens away from the server."""
        try:
            check_endpoint(self.url, "the URL of the server")
        except McpMockError as error:
            return error
        return None

    @property
    def _missing(self) -> str:
        first = "" if find_spec("mcp") else f"run `{install_command(LOGIN_EXTRA[1])}`, then "
        command = mcpmock_command("login", self.url)
        return f"there is no login for {self.url}; {first}run `{command}`"

    @property
    def _outdated(self) -> str:
        command = mcpmock_command("login", self.url)
        return f"{self.url} does not take the login any more; run `{command}`"

    async def _step_up(self, refused: HttpResponse, stored: ServerLogin) -> ServerLogin:
        try:
            from .provider import LoginOptions, challenged_scopes, log_in
        except ImportError as error:
            raise MissingExtra(*LOGIN_EXTRA) from error
        scopes = list(dict.fromkeys([*stored.scopes, *challenged_scopes(refused)]))
        if not self.person:
            more = ["--scope", " ".join(scopes)]
            command = mcpmock_command("login", self.url, options=more)
            raise McpMockError(f"{self.url} needs more scopes; run `{command}`")
        options = LoginOptions(scopes=tuple(scopes), resource=stored.resource)
        return await log_in(self.url, self.store, options, self._tell)

    def _tell(self, text: str) -> None:
        """Tell it once, until something changes."""
        if text != self._told:
            self._told = text
            if self._say is not None:
                self._say(text)


LOGIN_EXTRA = "a login", "oauth"
"""What needs which extra."""
