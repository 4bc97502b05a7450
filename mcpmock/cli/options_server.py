"""What the commands share that reach a server: how it is named, as a command or by its URL."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from .options_listen import TRANSPORTS, kind_of

if TYPE_CHECKING:
    from mcpmock.sessions.servers import Server
    from mcpmock.sessions.url_server import Url

_Command = TypeVar("_Command", bound=Callable[..., Any])
_FIELD = re.compile(r"([-!#$%&'*+.^_`|~0-9A-Za-z]+):([\t\x20-\x7e\x80-\xff]*)")
_FRAMING = {"connection", "content-length", "transfer-encoding"}
_OPTIONS = (
    click.option("--url", metavar="URL", help="The server, where it is reached over HTTP."),
    click.option(
        "--url-transport",
        type=TRANSPORTS,
        help="The transport of --url. [default: sse if its path ends with /sse]",
    ),
    click.option(
        "--header",
        multiple=True,
        metavar="'NAME: VALUE'",
        help="Send this to --url with every request that is made up (from stdio, from SSE).",
    ),
)


def server_options(command: _Command) -> _Command:
    """`--url` and what goes with it, and the command line of a process."""
    command = click.argument("command", nargs=-1, type=click.UNPROCESSED)(command)
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def server_of(options: dict[str, Any]) -> Server:
    """From the options above. Raises a usage error for what makes no sense."""
    from mcpmock.sessions.servers import Command

    url, command = options["url"], options["command"]
    if (url is None) is not bool(command):
        raise click.UsageError("say either --url URL or -- COMMAND, to name the server")
    if url is not None:
        return url_of(url, options["url_transport"], options["header"])
    if options["url_transport"] or options["header"]:
        raise click.UsageError("--url-transport and --header: only with --url")
    return Command(command)


def url_of(url: str, transport: str | None, headers: tuple[str, ...] = ()) -> Url:
    """The server at a URL. Raises a usage error for what is none."""
    from mcpmock.errors import McpMockError
    from mcpmock.sessions.url_server import Url

    fields = [_field_of(header) for header in headers]
    try:
        return Url.parse(url, kind_of(transport), fields)
    except McpMockError as error:
        raise click.BadParameter(str(error), param_hint="--url") from error


def _field_of(header: str) -> tuple[str, str]:
    """What is wrong with it is said without it: most of these are secrets."""
    found = _FIELD.fullmatch(header)
    if found is None:
        raise click.BadParameter("write it as 'NAME: VALUE'", param_hint="--header")
    name, value = found.groups()
    if name.lower() in _FRAMING:
        raise click.BadParameter(f"{name} is counted, not chosen", param_hint="--header")
    return name, value.strip(" \t")
