"""What the commands share: saying things safely, and the options that every command has.

All that was recorded is hostile when shown: an escape sequence in a tool's result must not move
anybody's cursor. Nothing goes to a terminal but through `printable`.
"""

from __future__ import annotations

import os
import select
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from mcpmock.view.printable import printable

_NARROWEST = 80
_Command = TypeVar("_Command", bound=Callable[..., Any])
CASSETTE = click.Path(path_type=Path)


def columns() -> int:
    """How wide a line may be."""
    return max(shutil.get_terminal_size().columns, _NARROWEST)


def say(text: str) -> None:
    """One line to standard error. Where that cannot be written, nobody can be told and nothing else
    ends.
    """
    _tell(f"mcpmock: {printable(text)}")


class Announcer:
    """Where we listen is the first line on standard error, for programs to read: what is said
    before is held until then.
    """

    def __init__(self, *, json: bool) -> None:
        self._json = json
        self._held: list[str] | None = []

    def announce(self, url: str, token: str | None) -> None:
        if self._json:
            more = {} if token is None else {"token": token}
            emit({"type": "listening", "url": url, **more}, err=True)
        else:
            _tell(f"listening on {url}")
            if token is not None:
                say(f"clients need the header Authorization: Bearer {token}")
        held, self._held = self._held or [], None
        for text in held:
            self.say(text)

    def say(self, text: str) -> None:
        if self._held is not None:
            self._held.append(text)
        elif self._json:
            emit({"type": "note", "text": text}, err=True)
        else:
            say(text)


def _tell(line: str) -> None:
    """Never waits: a client that does not read our standard error must not freeze its session.

    A pipe that the kernel calls writable takes PIPE_BUF bytes without blocking (POSIX); if it is
    full, nobody reads.
    """
    try:
        ready = select.poll()
        ready.register(sys.stderr.fileno(), select.POLLOUT)
        if not ready.poll(0):
            return
    except (OSError, ValueError, AttributeError):
        pass  # no descriptor behind it: closed, or a caller's own stream
    try:
        click.echo(line[: select.PIPE_BUF // 4], err=True)
    except OSError:
        pass


def emit(value: dict[str, Any], *, err: bool = False) -> None:
    """One JSON object on a line, for `--json`: on standard output, or where that is the protocol on
    standard error.
    """
    import msgspec

    try:
        text = msgspec.json.encode(value).decode("utf-8", "replace")
    except (ValueError, RecursionError):  # lone surrogates
        import json

        text = json.dumps(value)
    if err:
        _tell(printable(text))
    else:
        click.echo(printable(text))


def encodable(path: Path | str) -> str:
    """A file name may hold bytes that no JSON can."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def many(count: int, noun: str) -> str:
    """`1 take`, `2 takes`."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def common(command: _Command) -> _Command:
    """The options that every command has."""
    for option in (
        click.option("-q", "--quiet", is_flag=True, help="Say only what went wrong."),
        click.option("-v", "--verbose", is_flag=True, help="Say more."),
        click.option("--json", is_flag=True, help="One JSON object a line, with a stable `type`."),
        click.option(
            "--color",
            type=click.Choice(["auto", "always", "never"]),
            default="auto",
            callback=_set_color,
            expose_value=False,
            help="NO_COLOR and FORCE_COLOR are honoured too.",
        ),
    ):
        command = option(command)
    return command


def _set_color(context: click.Context, _option: click.Parameter, value: str) -> None:
    """Flag, then NO_COLOR, then FORCE_COLOR, then whether it is a terminal (click itself knows the
    last only).
    """
    if value != "auto":
        context.color = value == "always"
    elif os.environ.get("NO_COLOR"):
        context.color = False
    elif os.environ.get("FORCE_COLOR"):
        context.color = True
