"""`mcpmock login`: a login to a remote server, kept for `--oauth`."""

from __future__ import annotations

import os

import click

from mcpmock.errors import MissingExtra
from mcpmock.options.console import ConsoleOptions
from mcpmock.options.login import LoginCommandOptions

from .interrupts import run_trio
from .option_table import options
from .output import emit, say
from .run_setup import url_of


@click.command(short_help="Log in to a remote server, for --oauth.")
@click.argument("url")
@options(how=LoginCommandOptions)
def login(url: str, how: LoginCommandOptions, console: ConsoleOptions) -> int:
    """Log in to the MCP server at URL with OAuth, in the browser.

    The tokens go to the keyring of the system or, without one, to a file that only you can read.
    `record`, `proxy`, `drive` and `verify` use them with --oauth. Exit status: 0, or 1 if the login
    failed.
    """
    url_of(url, hint="URL")
    secret = how.client_secret_env
    if secret is not None and how.client_id is None:
        raise click.UsageError("--client-secret-env needs --client-id")
    if secret is not None and secret not in os.environ:
        unset = f"{secret} is not set in the environment"
        raise click.BadParameter(unset, param_hint="--client-secret-env")

    from mcpmock.logins.limits import shorten, split_scopes

    scopes = split_scopes(how.scope or "")
    if {*scopes} != {*(how.scope or "").split()}:
        raise click.BadParameter("no scopes as RFC 6749 has them", param_hint="--scope")

    from mcpmock.logins.credentials import LOGIN_EXTRA
    from mcpmock.logins.token_store import TokenStore
    from mcpmock.redaction.masks import masked_url

    try:
        from mcpmock.logins.provider import LoginOptions, log_in
    except ImportError as error:
        raise MissingExtra(*LOGIN_EXTRA) from error

    wanted = LoginOptions(
        scopes=tuple(scopes),
        resource=how.resource,
        client_id=how.client_id,
        client_secret=None if secret is None else os.environ[secret],
        device=how.device,
    )
    store = TokenStore.of_user()
    done = run_trio(log_in, url, store, wanted, say)
    url = masked_url(url)
    if console.json:
        emit({"type": "login", "url": url, **done.described, "store": store.place})
    elif not console.quiet:
        granted = f" with the scopes {shorten(' '.join(done.scopes))}" if done.scopes else ""
        say(f"logged in to {url} by {done.issuer}{granted}; the tokens are in {store.place}")
        if needed := store.needed_variable:
            say(f"a client that starts mcpmock with --oauth has to set {needed} for it")
    return 0
