"""`mcpmock logout`: forgets the logins to a remote server."""

from __future__ import annotations

import click

from .output import common, emit, say


@click.command(short_help="Forget the login to a remote server.")
@click.argument("url")
@common
def logout(url: str, quiet: bool, verbose: bool, json: bool) -> int:  # noqa: ARG001
    """Forget all tokens for the MCP server at URL.

    Exit status: 0, or 1 if there was no login.
    """
    from mcpmock.logins.token_store import TokenStore

    found = TokenStore.of_user().remove(url)
    if json:
        emit({"type": "logout", "url": url, "found": found})
    elif not quiet:
        say(f"logged out of {url}" if found else f"there is no login for {url}")
    return int(not found)
