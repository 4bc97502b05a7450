"""`mcpmock logout`: forgets the logins to a remote server."""

from __future__ import annotations

import click

from mcpmock.options.console import ConsoleOptions

from .option_table import options
from .output import emit, say


@click.command(short_help="Forget the login to a remote server.")
@click.argument("url")
@options()
def logout(url: str, console: ConsoleOptions) -> int:
    """Forget all tokens for the MCP server at URL.

    Exit status: 0, or 1 if there was no login.
    """
    from mcpmock.logins.token_store import TokenStore
    from mcpmock.redaction.masks import masked_url

    found, url = TokenStore.of_user().remove(url), masked_url(url)
    if console.json:
        emit({"type": "logout", "url": url, "found": found})
    elif not console.quiet:
        say(f"logged out of {url}" if found else f"there is no login for {url}")
    return int(not found)
