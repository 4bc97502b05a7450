"""The `Server` that `ServerOptions` describe, a command or a URL; the values of placeholders."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import attrs
import click

from .early_start import take_server
from .options_listen import kind_of

if TYPE_CHECKING:
    from mcpmock.logins.credentials import OAuthCredentials
    from mcpmock.options.server import ServerOptions, ValueOptions
    from mcpmock.protocol.transport_facts import Headers
    from mcpmock.sessions.servers import Command, Server
    from mcpmock.sessions.url_server import Url

_FIELD = re.compile(r"([-!#$%&'*+.^_`|~0-9A-Za-z]+):([\t\x20-\x7e\x80-\xff]*)")
_FRAMING = {"connection", "content-length", "transfer-encoding"}


def values_of(options: ValueOptions) -> dict[str, str]:
    """Return the values of placeholders, from the environment: on the command line, other users of
    the machine could read them. Raises UsageError.
    """
    values: dict[str, str] = {}
    if not options.value:
        return values

    from mcpmock.redaction.redactor import HOLE

    for given in options.value:
        placeholder, _, source = given.partition("=")
        kind, _, name = source.partition(":")
        if HOLE.fullmatch(placeholder.encode()) is None or kind != "env" or not name:
            # Not repeated: it may hold the secret.
            expected = "expected 'mcpmock:secret:KIND:N=env:NAME'"
            raise click.BadParameter(expected, param_hint="--value")
        values[placeholder] = _variable(name, "--value")
    return values


def check_server(options: ServerOptions) -> ServerOptions:
    """Return the options with the URL, if that is in a variable. Raises UsageError where
    `server_of` does; this is light.
    """
    if options.url_env is not None:
        url = _variable(options.url_env, "--url-env")
        if options.url not in (None, url):
            raise click.UsageError("--url and --url-env are mutually exclusive")
        options = attrs.evolve(options, url=url)
    if (options.url is None) is not bool(options.command):
        raise click.UsageError("name the server: either --url URL or -- COMMAND")
    if options.url is None and options.about_url:
        raise click.UsageError("--url-transport, --header, --header-env and --oauth need --url")
    return options


def server_of(options: ServerOptions) -> Server:
    """Return the server that the options describe. Raises UsageError for a contradiction."""
    options = check_server(options)
    if options.url is not None:
        fields = [*map(_field_of, options.header), *map(_field_from, options.header_env)]
        return url_of(options.url, options.url_transport, fields, oauth=options.oauth)
    return command_of(options.command)


def command_of(command: Sequence[str]) -> Command:
    """Return the server that is a process; it may run already (`early_start`)."""
    from mcpmock.sessions.servers import Command

    return Command(command, take_server(command))


def url_of(
    url: str,
    transport: str | None = None,
    headers: Headers | None = None,
    *,
    oauth: bool = False,
    hint: str = "--url",
) -> Url:
    """Return the server at a URL. Raises BadParameter, for what `hint` names, if it is not a valid
    URL.
    """
    from mcpmock.errors import McpMockError
    from mcpmock.sessions.url_server import Url

    credentials = _credentials_of(url) if oauth else None
    try:
        return Url.parse(url, kind_of(transport), headers, credentials)
    except McpMockError as error:
        raise click.BadParameter(str(error), param_hint=hint) from error


def _credentials_of(url: str) -> OAuthCredentials:
    from mcpmock.logins.credentials import OAuthCredentials  # few servers need a login
    from mcpmock.logins.token_store import TokenStore

    return OAuthCredentials(url, TokenStore.of_user(), person=sys.stderr.isatty())


def _field_of(header: str, hint: str = "--header") -> tuple[str, str]:
    """Parse `NAME: VALUE`. Errors never repeat the value: it is often a secret."""
    found = _FIELD.fullmatch(header)
    if found is None:
        raise click.BadParameter("expected 'NAME: VALUE'", param_hint=hint)
    name, value = found.groups()
    if name.lower() in _FRAMING:
        raise click.BadParameter(f"{name} is set by mcpmock and cannot be changed", param_hint=hint)
    return name, value.strip(" \t")


def _field_from(header: str) -> tuple[str, str]:
    """Return the header that `NAME: [WORD ]VARIABLE` describes."""
    name, value = _field_of(header, "--header-env")
    *before, variable = value.split(" ")
    return _field_of(f"{name}: {' '.join([*before, _variable(variable, '--header-env')])}")


def _variable(name: str, hint: str) -> str:
    """Return the value of an environment variable. Raises BadParameter if it is not set."""
    if name not in os.environ:
        raise click.BadParameter(f"{name} is not set in the environment", param_hint=hint)
    return os.environ[name]
