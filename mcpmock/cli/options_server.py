"""The options of commands that reach a real server, and the `Server` (a command or a URL) that they
describe.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

from .options_listen import TRANSPORTS, kind_of
from .output import option_set

if TYPE_CHECKING:
    from mcpmock.sessions.servers import Server
    from mcpmock.sessions.url_server import Url

_FIELD = re.compile(r"([-!#$%&'*+.^_`|~0-9A-Za-z]+):([\t\x20-\x7e\x80-\xff]*)")
_FRAMING = {"connection", "content-length", "transfer-encoding"}
server_options = option_set(
    click.option("--url", metavar="URL", help="URL of the server, instead of COMMAND."),
    click.option(
        "--url-transport",
        type=TRANSPORTS,
        help="Transport of --url.  [default: sse if its path ends with /sse, else streamable-http]",
    ),
    click.option(
        "--header",
        multiple=True,
        metavar="'NAME: VALUE'",
        help="Add this header to every request that mcpmock itself makes to --url (repeatable).",
    ),
    click.argument("command", nargs=-1, type=click.UNPROCESSED),
)
"""`--url`, its companions and the COMMAND argument."""


def server_of(options: dict[str, Any]) -> Server:
    """The server that the options describe. Raises UsageError for a contradiction."""
    from mcpmock.sessions.servers import Command

    url, command = options["url"], options["command"]
    if (url is None) is not bool(command):
        raise click.UsageError("name the server: either --url URL or -- COMMAND")
    if url is not None:
        return url_of(url, options["url_transport"], options["header"])
    if options["url_transport"] or options["header"]:
        raise click.UsageError("--url-transport and --header need --url")
    return Command(command)


def url_of(url: str, transport: str | None, headers: tuple[str, ...] = ()) -> Url:
    """The server at a URL. Raises BadParameter if it is not a valid URL."""
    from mcpmock.errors import McpMockError
    from mcpmock.sessions.url_server import Url

    fields = [_field_of(header) for header in headers]
    try:
        return Url.parse(url, kind_of(transport), fields)
    except McpMockError as error:
        raise click.BadParameter(str(error), param_hint="--url") from error


def _field_of(header: str) -> tuple[str, str]:
    """Parse `NAME: VALUE`. Errors never repeat the value: it is often a secret."""
    found = _FIELD.fullmatch(header)
    if found is None:
        raise click.BadParameter("expected 'NAME: VALUE'", param_hint="--header")
    name, value = found.groups()
    if name.lower() in _FRAMING:
        raise click.BadParameter(
            f"{name} is set by mcpmock and cannot be changed", param_hint="--header"
        )
    return name, value.strip(" \t")
