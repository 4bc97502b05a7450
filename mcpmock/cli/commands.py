"""The commands by name, and how each ends: an `McpMockError` carries its exit status, Ctrl-C is
130, and no mistake of a user shows a traceback.
"""

from __future__ import annotations

import errno
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from mcpmock.errors import McpMockError, OutputLost
from mcpmock.printable import printable
from mcpmock.version import VERSION

from .interrupts import STATUS
from .output import TextFormatter, say, without_secrets

COMMANDS = (
    "check", "control", "convert", "demo", "diff", "drive", "explore", "faults", "fmt", "help",
    "login", "logout", "mcp", "merge", "proxy", "record", "recover", "redact", "replay", "report",
    "review", "rules", "run", "scan", "show", "stats", "unwrap", "verify", "watch", "wrap",
)  # fmt: skip

_UNSEEN = (errno.EACCES, errno.ENAMETOOLONG)
"""Why the system may not even say whether there is such a file."""


class _Context(click.Context):
    formatter_class: type[click.HelpFormatter] = TextFormatter


class _Lazy(click.Group):
    """Commands by name, each imported on first use: `replay` must not pay for `show`."""

    context_class: type[click.Context] = _Context

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        command = getattr(import_module(f"mcpmock.cli.{cmd_name}"), cmd_name)
        assert isinstance(command, click.Command)
        command.context_class = _Context
        return command

    # click prints an empty line when it catches a KeyboardInterrupt, which is raised where
    # `interrupts` leaves Ctrl-C to Python: under trio, while a program runs, and on Windows.

    def make_context(self, *args: Any, **more: Any) -> click.Context:
        try:
            return super().make_context(*args, **more)
        except KeyboardInterrupt as error:
            raise click.exceptions.Exit(STATUS) from error

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            raise click.exceptions.Exit(STATUS) from error

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        typed = not ctx.resilient_parsing  # or a shell completes the words, and wants no error
        if typed and not args[0].startswith("-") and args[0] not in COMMANDS:
            from difflib import get_close_matches

            near = get_close_matches(args[0], COMMANDS, n=3, cutoff=0.5)
            hint = f"Did you mean {' or '.join(near)}?" if near else "--help lists the commands."
            ctx.fail(f"No such command {args[0]!r}. {hint}")
        return super().resolve_command(ctx, args)


@click.group(
    cls=_Lazy,
    context_settings={"help_option_names": ["-h", "--help"], "auto_envvar_prefix": "MCPMOCK"},
)
@click.version_option(VERSION, package_name="mcpmock", message="mcpmock %(version)s")
def cli() -> None:
    """Record, inspect, replay and break the traffic between MCP clients and servers.

    Put `mcpmock record -o FILE --` in front of a server's command to record it, and give `mcpmock
    replay FILE` to a client in place of the server. `mcpmock help` lists the topics of the manual.
    `mcpmock help config` says how a shell completes commands and options.
    """


def run() -> int:
    """Run the command that sys.argv names. Gives the exit status. Raises SystemExit at a Ctrl-C."""
    try:
        status = cli(prog_name="mcpmock", standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.Abort:
        return STATUS
    except click.ClickException as error:
        _show(error)
        return error.exit_code
    except BaseExceptionGroup as group:
        return _complain(_only(group))
    except (McpMockError, OSError) as error:
        return _complain(error)
    return status if isinstance(status, int) else 0


def _show(error: click.ClickException) -> None:
    """Print a usage error as click does, but safely: the message repeats what was typed."""
    message = without_secrets(error.format_message())
    helps = isinstance(error, click.exceptions.NoArgsIsHelpError)  # its message is the help
    safe = message if helps else printable(message)
    # Before click prints it: from what it prints to anything but a terminal it removes colors, and
    # with them a part of the message.
    vars(error)["format_message"] = lambda: safe
    error.show()


def _complain(error: BaseException) -> int:
    """Print a line and give the exit status. What is a bug is raised: its traceback shows."""
    if isinstance(error, KeyboardInterrupt):
        return STATUS
    if isinstance(error, OSError) and error.errno in _UNSEEN and isinstance(error.filename, str):
        from mcpmock.cassette.file import unusable

        error = unusable(Path(error.filename), error, written=False)
    if not isinstance(error, McpMockError):
        raise error
    if not (isinstance(error, OutputLost) and error.reader_left):
        for line in error.lines:
            say(without_secrets(line))
    return error.exit_code


def _only(group: BaseExceptionGroup) -> BaseException:
    """Return the single error inside (nested) nursery groups, or the group itself."""
    inner: BaseException = group
    while isinstance(inner, BaseExceptionGroup) and len(inner.exceptions) == 1:
        inner = inner.exceptions[0]
    return inner
