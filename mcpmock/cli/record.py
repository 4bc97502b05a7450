"""`mcpmock record`: a recording of a process on our stdio, or of a URL behind a listener."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import click

from mcpmock.lazy_pattern import lazy_pattern
from mcpmock.options.console import ConsoleOptions
from mcpmock.options.endpoints import ListenOptions
from mcpmock.options.faults import FaultOptions
from mcpmock.options.recording import ANSWER_TIMEOUT_S, RecordOptions
from mcpmock.options.redaction import RedactionOptions
from mcpmock.printable import printable

from .option_table import COMMAND, TableCommand, options
from .output import emit, say
from .run_setup import command_of, faults_of, front_of, redaction_of, run_to_end, url_of

if TYPE_CHECKING:
    from mcpmock.playback.client.requests import ClientRequest
    from mcpmock.redaction.redaction_rules import RedactionRules
    from mcpmock.sessions.run import Front
    from mcpmock.sessions.servers import Server

_PAGE_NICENESS = 10
_NAME_AND_JSON = lazy_pattern(r"([^\s{]*)\s*(.*)", re.DOTALL)
_UNREDACTED = "--no-redact: the cassette will contain secrets in plain text"


class _RecordCommand(TableCommand):
    """Keeps the order of calls and requests among each other, which click forgets."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        given, _, order = self.make_parser(ctx).parse_args(list(args))
        rest = super().parse_args(ctx, args)
        written = {name: iter(given.get(name) or ()) for name in ("call", "request")}
        in_order = [(p.name, next(written[p.name])) for p in order if p.name in written]
        if not in_order:  # those of the environment
            in_order = [(name, text) for name in written for text in ctx.params.get(name) or ()]
        ctx.obj = in_order
        return rest


@click.command(
    cls=_RecordCommand,
    short_help="Record a client talking to a server.",
    context_settings={"allow_interspersed_args": False},
)
@COMMAND
@options(
    record=RecordOptions,
    redaction=RedactionOptions,
    faults=FaultOptions,
    listening=ListenOptions,
)
def record(
    record: RecordOptions,
    redaction: RedactionOptions,
    faults: FaultOptions,
    listening: ListenOptions,
    console: ConsoleOptions,
) -> int:
    """Record the traffic between a client and the server COMMAND or --url.

    Stdio: give `mcpmock record -o FILE -- COMMAND` to a client as the server's command. Every byte
    passes unchanged, and the exit status is that of the server. HTTP: with --url, mcpmock is a
    reverse proxy for Streamable HTTP and HTTP+SSE; give the URL that it prints to the client. If
    FILE exists, the recording is added to it as one more take.

    Without a client: with --list, --call or --request, mcpmock makes these requests itself and
    prints a line for each answer. Exit status: 0, 1 if a request got an error or no answer.
    """
    _check(record, listening)
    written = _requests_of(record, listening)
    rules = redaction_of(redaction, record.output)
    if record.no_redact and (rules or redaction.given):
        raise click.UsageError("--no-redact and rules for redaction are mutually exclusive")
    run = faults_of(faults)
    server: Server
    if record.url is None:
        server = command_of(record.command)
    else:
        server = url_of(record.url, listening.transport, oauth=record.oauth)

    from mcpmock.sessions.run import Setup
    from mcpmock.sessions.take import Recording

    recording = Recording.to(
        record.output,
        overwrite=record.overwrite,
        new=record.new,
        strict=record.strict,
        redact=not record.no_redact,
        rules=rules,
        says_end=record.url is not None and not record.without_client and not console.quiet,
    )
    default = None if record.url is None else "127.0.0.1:0"
    front: Front
    front, tell = front_of(listening, json=console.json, default=default)
    if record.without_client:
        rules = recording.rules
        front, tell = _request_front(written, record, rules, json=console.json), say
    if record.no_redact:
        tell(_UNREDACTED)
    if record.watch:
        front = _watched(front, record.output, json=console.json)
    setup = Setup(front=front, back=server, faults=run, recording=recording, say=tell)
    rest = ["--listen", "127.0.0.1:0", "--record", record.output, "--", *record.command]
    return run_to_end(setup, console, ["mcpmock", "proxy", *rest])


def _check(record: RecordOptions, listening: ListenOptions) -> None:
    """Raise UsageError for a contradiction."""
    if (record.url is None) is not bool(record.command):
        raise click.UsageError("name the server: either -- COMMAND or --url URL")
    if record.url is None and (given := listening.given):
        raise click.UsageError(
            f"{given} needs --url; to serve a COMMAND over HTTP, use `mcpmock proxy`"
        )
    if record.url is None and record.oauth:
        raise click.UsageError("--oauth needs --url")
    if record.overwrite and record.new:
        raise click.UsageError("--overwrite and --new are mutually exclusive")
    if record.watch and record.output.endswith("/"):
        raise click.UsageError("--watch follows one FILE; for a folder, run `mcpmock watch DIR`")


def _requests_of(record: RecordOptions, listening: ListenOptions) -> list[ClientRequest]:
    """Return the requests of the command line, in its order. Raises UsageError."""
    if not record.without_client:
        if record.timeout != ANSWER_TIMEOUT_S:
            raise click.UsageError("--timeout needs --list, --call or --request")
        return []
    if given := "--watch" if record.watch else listening.given:
        raise click.UsageError(f"{given} is for a client; --list, --call and --request have none")

    from json import loads

    from mcpmock.playback.client.requests import ClientRequest

    found = []
    for option, text in click.get_current_context().obj:
        name, given = _NAME_AND_JSON.fullmatch(text.strip()).groups()  # type: ignore[union-attr]
        wanted = f"{text!r}: expected {'TOOL' if option == 'call' else 'METHOD'} and a JSON object"
        try:
            params = loads(given or "{}")
        except ValueError as error:
            wanted = f"{wanted}: {error}"
            raise click.BadParameter(wanted, param_hint=f"--{option}") from error
        if not name or not isinstance(params, dict):
            raise click.BadParameter(wanted, param_hint=f"--{option}")
        if option == "call":
            name, params = "tools/call", {"name": name, "arguments": params}
        found.append(ClientRequest(name, params))
    return found


def _request_front(
    requests: list[ClientRequest], record: RecordOptions, rules: RedactionRules, *, json: bool
) -> Front:
    """Return the client that makes these requests and prints the answers, without their secrets."""
    from mcpmock.protocol.messages import Response, decode, member
    from mcpmock.redaction.redactor import Redactor
    from mcpmock.sessions.requests import RequestFront
    from mcpmock.view.summary import message_summary

    redactor = Redactor(rules)

    def print_answer(request: ClientRequest, answer: Response | None, text: str) -> None:
        said: dict[str, Any] = {"type": "answer", "method": request.method, "name": request.name}
        if answer is not None:
            kind = "result" if answer.error is None else "error"
            value = redactor.json(b'{"%b":%b}' % (kind.encode(), getattr(answer, kind)))
            shown = Response(None, **{kind: member(value, kind)})
            text = message_summary(shown, value, request.method)
            said[kind] = decode(member(value, kind) or b"null")
        if json:
            emit(said)
        else:
            click.echo(printable(f"{request.name or request.method}: {text}"))

    return RequestFront(
        requests=requests,
        lists=record.lists,
        timeout=record.timeout,
        on_answer=print_answer,
    )


def _watched(front: Front, output: str, *, json: bool) -> Front:
    """Return the front, with `mcpmock watch` in a process of its own: nothing that it does can slow
    the recorder down. The address of a listener stays the first line on stderr.
    """
    from mcpmock.sessions.http_front import HttpFront

    if not isinstance(front, HttpFront):
        _start_watch(output, json=json)
        return front
    announce = front.announce

    def announce_both(url: str, token: str | None) -> None:
        announce(url, token)
        _start_watch(output, json=json)

    return attrs.evolve(front, announce=announce_both)


def _start_watch(output: str, *, json: bool) -> None:
    """Let the page end with this process: the kernel closes the pipe then, however it ends."""
    import subprocess

    from mcpmock.cassette.file import part_of
    from mcpmock.platforms import lower_priority

    path = Path(output).absolute()
    followed = part_of(path) if path.suffix == ".gz" else path
    # -P: a recorder runs in folders of others, whose modules are not to be imported. A session of
    # its own: Ctrl-C is for the recorder.
    options = ["--beside", *(["--json"] if json else [])]
    command = [sys.executable, "-P", "-m", "mcpmock", "watch", *options, str(followed)]
    try:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, start_new_session=True
        )
        # Its start takes as much CPU time as ours, and the first answer shall not wait for it: on
        # two cores that took 660 ms with the page, 390 without.
        lower_priority(process.pid, _PAGE_NICENESS)
    except OSError as error:
        say(f"--watch: cannot start the page: {error.strerror}")
        return
    _pages.append(process)


_pages: list[Any] = []
"""Kept to the end of this process: a collected one closes its pipe."""
