"""`mcpmock login`: a login to a remote server, kept for `--oauth`."""

from __future__ import annotations

import os

import click

from mcpmock.errors import MissingExtra

from .options_server import url_of
from .output import common, emit, say


@click.command(short_help="Log in to a remote server, for --oauth.")
@click.argument("url")
@click.option("--device", is_flag=True, help="Log in on another device, with a code.")
@click.option("--client-id", metavar="ID", help="Use this registered client.")
@click.option(
    "--client-secret-env",
    metavar="NAME",
    help="Environment variable with the secret of --client-id.",
)
@click.option("--scope", metavar="SCOPES", help="Ask for these scopes, separated by spaces.")
@click.option("--resource", metavar="URI", help="Ask for a token for this resource.")
@common
def login(
    url: str,
    device: bool,
    client_id: str | None,
    client_secret_env: str | None,
    scope: str | None,
    resource: str | None,
    quiet: bool,
    verbose: bool,  # noqa: ARG001
    json: bool,
) -> int:
    """Log in to the MCP server at URL with OAuth, in the browser.

    The tokens go to the keyring of the system or, without one, to a file that only you can read.
    `record`, `proxy`, `drive` and `verify` use them with --oauth. Exit status: 0, or 1 if the login
    failed.
    """
    url_of(url, hint="URL")
    if client_secret_env is not None and client_id is None:
        raise click.UsageError("--client-secret-env needs --client-id")
    if client_secret_env is not None and client_secret_env not in os.environ:
        unset = f"{client_secret_env} is not set in the environment"
        raise click.BadParameter(unset, param_hint="--client-secret-env")

    import trio

    from mcpmock.logins.limits import shorten, split_scopes

    scopes = split_scopes(scope or "")
    if {*scopes} != {*(scope or "").split()}:
        raise click.BadParameter("no scopes as RFC 6749 has them", param_hint="--scope")

    from mcpmock.logins.credentials import LOGIN_EXTRA
    from mcpmock.logins.token_store import TokenStore

    try:
        from mcpmock.logins.provider import LoginOptions, log_in
    except ImportError as error:
        raise MissingExtra(*LOGIN_EXTRA) from error

    options = LoginOptions(
        scopes=tuple(scopes),
        resource=resource,
        client_id=client_id,
        client_secret=None if client_secret_env is None else os.environ[client_secret_env],
        device=device,
    )
    store = TokenStore.of_user()
    done = trio.run(log_in, url, store, options, say)
    if json:
        emit({"type": "login", "url": url, **done.described, "store": store.place})
    elif not quiet:
        granted = f" with the scopes {shorten(' '.join(done.scopes))}" if done.scopes else ""
        say(f"logged in to {url} by {done.issuer}{granted}; the tokens are in {store.place}")
    return 0
