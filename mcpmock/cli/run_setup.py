"""From options to a `Setup`, and its run: the server, the front, the faults, the exit status and
the summary at the end.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mcpmock.errors import CassetteError
from mcpmock.lazy_pattern import lazy_pattern
from mcpmock.options.option import replace

from .early_start import take_server
from .interrupts import run_trio
from .output import Announcer, emit, is_terminal, say, say_waiting

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcpmock.cassette.model import Cassette
    from mcpmock.faults.receipts import FaultRun
    from mcpmock.logins.credentials import OAuthCredentials
    from mcpmock.options.console import ConsoleOptions
    from mcpmock.options.endpoints import ListenOptions, ServerOptions, ValueOptions
    from mcpmock.options.faults import FaultOptions
    from mcpmock.options.redaction import RedactionOptions
    from mcpmock.protocol.transport_facts import Headers
    from mcpmock.redaction.redaction_rules import RedactionRules
    from mcpmock.sessions.http_front import HttpFront
    from mcpmock.sessions.run import Front, Setup
    from mcpmock.sessions.servers import Command, Server
    from mcpmock.sessions.url_server import Url
    from mcpmock.transports.session_router import TransportKind


_ORIGIN = lazy_pattern(r"null|[A-Za-z][A-Za-z0-9+.-]*://[0-9A-Za-z.:_~%\[\]-]+/?")


def listening_of(
    options: ListenOptions, announcer: Announcer, *, default: str | None = None
) -> HttpFront | None:
    """Return the `HttpFront` that the options describe; None without an address. Raises UsageError
    for a contradiction.
    """
    text = default if options.listen is None else options.listen
    if text is None:
        if options.given:
            raise click.UsageError(
                f"{options.given} needs --listen (without it, the client is on stdio)"
            )
        return None

    from mcpmock.channels.http.addresses import ListenAddress  # over stdio we do without
    from mcpmock.channels.http.server import SESSION_TIMEOUT_S
    from mcpmock.errors import McpMockError
    from mcpmock.sessions.http_front import HttpFront

    timeout = options.session_timeout
    try:
        address = ListenAddress.parse(text)
    except McpMockError as error:
        raise click.BadParameter(str(error), param_hint="--listen") from error
    _check_allowed(options)
    if not address.is_local and not options.dangerously_bind:
        raise click.BadParameter(
            f"{address.host} is reachable from other machines; "
            "add --dangerously-bind to allow that",
            param_hint="--listen",
        )
    return HttpFront(
        address=address,
        kind=kind_of(options.transport),
        hosts=frozenset(options.allow_host),
        origins=frozenset(options.allow_origin),
        dangerously=options.dangerously_bind,
        session_timeout=SESSION_TIMEOUT_S if timeout is None else timeout,
        announce=announcer.announce,
    )


def front_of(
    options: ListenOptions, *, json: bool, default: str | None = None
) -> tuple[Front, Callable[[str], None]]:
    """Return where the client is, and how messages for the user are printed: the listener that the
    options describe with its announcer, or stdio.
    """
    announcer = Announcer(json=json)
    listening = listening_of(options, announcer, default=default)
    if listening is not None:
        return listening, announcer.say

    from mcpmock.sessions.stdio_front import StdioFront

    return StdioFront(), say


def _check_allowed(options: ListenOptions) -> None:
    """Reject what no request could match: it would show as a puzzling 403 much later."""
    from mcpmock.transports.headers import split_authority

    for host in options.allow_host:
        if split_authority(host.strip()) is None:
            raise click.BadParameter(
                f"{host!a} is not a host; expected, for example, mcp.example or mcp.example:8080",
                param_hint="--allow-host",
            )
    for origin in options.allow_origin:
        if not _ORIGIN.fullmatch(origin.strip()):
            raise click.BadParameter(
                f"{origin!a} is not an origin; expected, for example, https://app.example",
                param_hint="--allow-origin",
            )


def kind_of(transport: str | None) -> TransportKind | None:
    from mcpmock.transports.session_router import TransportKind

    return None if transport is None else TransportKind(transport)


_COLLECTED_AFTER = 5_000, 5, 200
"""New objects, young collections, older ones. A session has few objects that are new and stay, and
a collection of so many takes less than a millisecond.
"""


def spare_collections() -> None:
    """Let the garbage collector leave alone what lives already, and come seldom: it takes 4 % of
    the time of a recording (tools/bench.py, record), and holds up an answer for 70 ms where 100,000
    events are loaded.
    """
    gc.freeze()
    gc.set_threshold(*_COLLECTED_AFTER)


@contextmanager
def without_collections() -> Iterator[None]:
    """Collect no garbage within: a cassette is many small objects that live to the end, and
    collections would traverse them again and again. They double the time of a start with 100,000
    events, and take a third of the time of a comparison.
    """
    gc.disable()
    try:
        yield
    finally:
        spare_collections()
        gc.enable()


def run_to_end(setup: Setup, console: ConsoleOptions, url_command: Sequence[str] = ()) -> int:
    """Run sessions and print how often each fault fired. Gives the exit status. `url_command` is
    the command for clients that need a URL, if it is another one.
    """
    from mcpmock.sessions.run import run_sessions
    from mcpmock.sessions.stdio_front import StdioFront

    if isinstance(setup.front, StdioFront) and is_terminal(sys.stdin):
        from mcpmock.redaction.masks import masked_command

        how = f"use `{masked_command(url_command)}`" if url_command else "add --listen 127.0.0.1:0"
        say_waiting(
            "waiting for JSON-RPC on standard input: give this command to a client in place of the "
            f"server's; for a URL, {how}",
            console,
        )
    spare_collections()
    status = run_trio(run_sessions, setup)
    fault_status = report_faults(setup.faults, console)
    return status or fault_status


def playing_text(file: Path) -> str:
    """Return what a drive waits for."""
    return f"playing the recorded client of {file}: waiting for the server's answers"


def refuse_played(output: str, files: Iterable[Path]) -> None:
    """Raise CassetteError if a session is to be recorded into the files or folders that it plays:
    it would then be played too.
    """
    path = Path(os.path.realpath(output))
    places = [one for one in (path, *path.parents) if one.exists()]
    if any(file.exists() and one.samefile(file) for file in files for one in places):
        raise CassetteError(output, "belongs to what is played", hint="record to another file")


def faults_of(options: FaultOptions) -> FaultRun | None:
    """Return the faults; None if there are none. Raises PlanError."""
    if not options.given:
        return None

    from mcpmock.faults.plan import load_plan
    from mcpmock.faults.receipts import FaultRun

    return FaultRun.of(load_plan(options.faults, options.fault, options.seed))


def report_faults(run: FaultRun | None, console: ConsoleOptions) -> int:
    """Print how often each fault fired. Gives the exit status: 1 if a fault with `must_fire`
    never fired or a fault failed, else 0.
    """
    if run is None:
        return 0
    never_fired = {fault.title for fault in run.owing()}
    for mistake in run.mistakes:
        say(f"{mistake}: internal error (please report); the message passed unchanged")
    if console.json:
        for tally in run.tallies():
            emit({"type": "fault", **tally}, err=True)
    else:
        for fault, line in zip(run.tallies(), run.summary(), strict=True):
            if not console.quiet or fault["fault"] in never_fired:
                say(line)
    return int(bool(never_fired or run.mistakes))


_FIELD = lazy_pattern(r"([-!#$%&'*+.^_`|~0-9A-Za-z]+):([\t\x20-\x7e\x80-\xff]*)")
_FRAMING = {"connection", "content-length", "transfer-encoding"}


def redaction_of(
    options: RedactionOptions, output: Path | str | None, *cassettes: Cassette
) -> RedactionRules:
    """Return the redaction rules of a recording to this file or folder, with those of the cassettes
    that are played. Raises RedactionRuleError, ProjectFileError.
    """
    from mcpmock.batch.redaction_rules import redaction_rules_of

    return redaction_rules_of(options, None if output is None else Path(output), *cassettes)


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
        options = replace(options, url=url)
    if (options.url is None) is not bool(options.command):
        raise click.UsageError("name the server: either --url URL or -- COMMAND")
    if options.url is None and (given := options.given_about_url):
        need = "needs" if len(given) == 1 else "need"
        raise click.UsageError(
            f"{' and '.join(given)} {need} --url; a COMMAND has no headers or login"
        )
    names = (one.partition(":")[0].strip().lower() for one in options.header + options.header_env)
    if options.oauth and "authorization" in names:
        raise click.UsageError(
            "--oauth sends an Authorization header of its own: remove --oauth or the header"
        )
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


def _field_of(header: str, hint: str = "--header", form: str = "NAME: VALUE") -> tuple[str, str]:
    """Parse `NAME: VALUE`. Errors never repeat the value: it is often a secret."""
    found = _FIELD.fullmatch(header)
    if found is None:
        raise click.BadParameter(f"expected '{form}'", param_hint=hint)
    name, value = found.groups()
    if name.lower() in _FRAMING:
        raise click.BadParameter(f"{name} is set by mcpmock and cannot be changed", param_hint=hint)
    return name, value.strip(" \t")


def _field_from(header: str) -> tuple[str, str]:
    """Return the header that `NAME: [WORD ]VARIABLE` describes."""
    hint = "--header-env"
    name, value = _field_of(header, hint, "NAME: VARIABLE")
    *before, variable = value.split(" ")
    words = " ".join([*before, _variable(variable, hint)])
    if _FIELD.fullmatch(f"{name}: {words}") is None:
        raise click.BadParameter(f"a header cannot hold the value of {variable}", param_hint=hint)
    return name, words.strip(" \t")


def _variable(name: str, hint: str) -> str:
    """Return the value of an environment variable. Raises BadParameter if it is not set."""
    if name not in os.environ:
        raise click.BadParameter(f"{name} is not set in the environment", param_hint=hint)
    return os.environ[name]
