"""The command line. One module for each group of commands, imported only when it is called.

`main` is the one place where errors become exit statuses: ours carry theirs, a Ctrl-C is 130, and
nothing that a user can cause shows a traceback. The commands parse, call `modes` or `cassette`, and
print.
"""

from __future__ import annotations

import io
import os
import sys
from importlib import import_module

import click

from mcpmock.errors import McpMockError
from mcpmock.version import VERSION
from mcpmock.view.printable import printable, printable_lines

from .output import say

_COMMANDS = {
    "check": "check",
    "convert": "joining",
    "demo": "demo",
    "diff": "diff",
    "drive": "drive",
    "fmt": "files",
    "help": "help",
    "merge": "joining",
    "proxy": "proxy",
    "record": "record",
    "recover": "files",
    "replay": "replay",
    "show": "show",
    "stats": "stats",
    "verify": "verify",
}


class _Lazy(click.Group):
    """Commands by name, each imported when it is asked for: `replay` must not pay for `show`."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        module = _COMMANDS.get(cmd_name)
        if module is None:
            return None
        command = getattr(import_module(f"mcpmock.cli.{module}"), cmd_name)
        assert isinstance(command, click.Command)
        return command


@click.group(
    cls=_Lazy,
    context_settings={"help_option_names": ["-h", "--help"], "auto_envvar_prefix": "MCPMOCK"},
)
@click.version_option(VERSION, package_name="mcpmock", message="mcpmock %(version)s")
def cli() -> None:
    """See, keep, replay and break the traffic between MCP clients and servers.

    Put `mcpmock record -o FILE --` in front of a server's command to record it, and give `mcpmock
    replay FILE` to a client in place of the server. `mcpmock help` lists the topics of the manual.
    """


def main() -> None:
    """Runs the command line and exits."""
    _fill_standard_descriptors()
    try:
        status = _run()
    except BrokenPipeError:
        status = 141
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what is still buffered has nowhere to go
    sys.exit(status)


def _run() -> int:
    try:
        status = cli(prog_name="mcpmock", standalone_mode=False)
    except (click.exceptions.Abort, KeyboardInterrupt):
        return 130
    except click.ClickException as error:
        _show(error)
        return error.exit_code
    except BaseExceptionGroup as group:
        return _complain(_only(group))
    except McpMockError as error:
        return _complain(error)
    if sys.stdout is not None:  # closed by whoever started us
        sys.stdout.flush()
    return status if isinstance(status, int) else 0


def _show(error: click.ClickException) -> None:
    """As click does, but for what a terminal would act on: messages repeat what was typed."""
    shown = io.StringIO()
    error.show(shown)
    message = error.format_message()
    helps = isinstance(error, click.exceptions.NoArgsIsHelpError)  # its message is the help
    safe = printable_lines(message) if helps else printable(message)
    try:
        click.echo(shown.getvalue().replace(message, safe), err=True, nl=False)
    except OSError:
        pass  # nobody can be told


def _fill_standard_descriptors() -> None:
    """Started with stdin, stdout or stderr closed, the next file opened would take its number and
    its traffic.
    """
    fd = os.open(os.devnull, os.O_RDWR)
    while fd <= 2:
        fd = os.dup(fd)
    os.close(fd)


def _complain(error: BaseException) -> int:
    """One line, and the status to end with. What is not ours is a bug and shows itself whole."""
    if isinstance(error, KeyboardInterrupt):
        return 130
    if not isinstance(error, McpMockError):
        raise error
    say(str(error))
    return error.exit_code


def _only(group: BaseExceptionGroup) -> BaseException:
    """Nurseries wrap: the one error inside, or the group as it is."""
    inner: BaseException = group
    while isinstance(inner, BaseExceptionGroup) and len(inner.exceptions) == 1:
        inner = inner.exceptions[0]
    return inner
