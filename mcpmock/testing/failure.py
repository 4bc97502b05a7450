"""The section on the fake server in the report of a failed test: misses with the nearest recorded
requests, the last messages, open requests, standard error, faults, and a command that reproduces
the failure outside the test.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from mcpmock.api.log import MAX_LAST_MESSAGES, Log
from mcpmock.faults.control import FaultControl, is_file, plan_of
from mcpmock.faults.shorthand import shorthand_of
from mcpmock.printable import printable, shell_command
from mcpmock.protocol.messages import C2S, Frame
from mcpmock.redaction.redactor import Redactor
from mcpmock.view.miss_report import miss_lines

from .settings import Settings

MAX_LINES = 10
MAX_LINE_LENGTH = 160
MAX_COMMAND_LENGTH = 4000
_OPTIONS = ("order", "timing", "repeats", "sessions", "overlap_grace", "match", "on_miss")


def describe(settings: Settings, log: Log, faults: FaultControl) -> str:
    """Return the text of the section. Control characters of recorded text are escaped. The server
    may still run, in its thread: lists that change are copied before they are read.
    """
    return "\n".join(map(printable, _lines(settings, log, faults)))


def _lines(settings: Settings, log: Log, faults: FaultControl) -> Iterator[str]:
    real = settings.records or settings.extends
    action = "recording" if settings.records else "replaying"
    recording = f", the recording is in {settings.rejected.name}" if real else ""
    yield f"{action} {settings.shown} (record mode {settings.mode}){recording}"
    for miss in log.misses:
        yield from miss_lines(miss, Path(settings.shown))
    last, stderr = _without_secrets(log)
    if last:
        yield "last messages:"
        for frame in last[-MAX_LINES:]:
            arrow = "->" if frame.direction is C2S else "<-"
            text = frame.raw.decode("utf-8", "replace")
            cut = "..." if len(text) > MAX_LINE_LENGTH else ""
            yield f"  {arrow} {text[:MAX_LINE_LENGTH]}{cut}"
    if waiting := list(log.open.values()):
        yield f"without an answer: {', '.join(waiting)}"
    if stderr:
        yield "standard error of the server:"
        tail = stderr.decode("utf-8", "replace").splitlines()[-MAX_LINES:]
        yield from (f"  {line}" for line in tail)
    if summary := faults.summary():
        yield f"faults (seed {faults.seed}):"
        yield from (f"  {line}" for line in summary)
    if not real and settings.stub is None:
        yield "to reproduce:"
        yield f"  {reproduction(settings, last, faults)}"


def _without_secrets(log: Log) -> tuple[list[Frame], bytes]:
    """Return the last messages and the end of standard error, as a recording would have them."""
    redactor = Redactor()
    for player in log.players:
        redactor.learn_bindings(player.bindings)
    last, stderr = list(log.last), bytes(log.stderr)
    for frame in last:
        redactor.frame(frame)  # a later one may give away what an earlier one holds
    return [redactor.frame(frame) for frame in last], redactor.text(stderr)


def reproduction(settings: Settings, last: Sequence[Frame], faults: FaultControl) -> str:
    """Return a shell command: the same server, with the clients' messages as input unless they are
    long. Faults that have no shorthand are left out.
    """
    words = ["mcpmock", "replay", settings.shown]
    for name in _OPTIONS:
        if name in settings.playing:
            words += [f"--{name.replace('_', '-')}", str(settings.playing[name])]
    words += _fault_options(settings, faults)
    command = shell_command(words)
    texts = [frame.raw.decode("utf-8", "replace") for frame in last if frame.direction is C2S]
    whole = len(last) < MAX_LAST_MESSAGES and texts and all(text.isprintable() for text in texts)
    piped = f"printf '%s\\n' {shell_command(texts)} | {command}"
    return piped if whole and len(piped) <= MAX_COMMAND_LENGTH else command


def _fault_options(settings: Settings, faults: FaultControl) -> Iterator[str]:
    """Yield the options for the same faults; a plan file that was given first is named."""
    every = faults.ever()
    if not every:
        return
    first = next(iter(settings.faults), None)
    if first is not None and is_file(first):
        yield from ("--faults", os.path.relpath(first))
        every = every[len(plan_of(first).faults) :]
    for fault in every:
        if (shorthand := shorthand_of(fault)) is not None:
            yield from ("--fault", shorthand)
    yield from ("--seed", str(faults.seed))
