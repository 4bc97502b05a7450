"""The section on the fake server in the report of a failed test: misses with the nearest recorded
requests, the last messages, open requests, standard error, faults, and a command that reproduces
the failure outside the test; and the same as an HTML page (`--mcp-report DIR`).
"""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from time import monotonic

from mcpmock.api.cassettes import load
from mcpmock.api.log import MAX_LAST_MESSAGES, Log
from mcpmock.cassette.file import rewrite
from mcpmock.cassette.model import FORMAT, Cassette, Header, event_line
from mcpmock.cassette.parser import read
from mcpmock.errors import McpMockError
from mcpmock.faults.control import FaultControl, is_file, plan_of
from mcpmock.faults.shorthand import shorthand_of
from mcpmock.playback.miss import Miss
from mcpmock.printable import printable, shell_command
from mcpmock.protocol.messages import C2S, Frame
from mcpmock.redaction.cassettes import redact_cassette
from mcpmock.redaction.redaction_rules import RedactionRules
from mcpmock.redaction.redactor import Redactor
from mcpmock.view.html_page import encode
from mcpmock.view.miss_report import miss_lines

from .settings import Settings

MAX_LINES = 10
MAX_LINE_LENGTH = 160
MAX_COMMAND_LENGTH = 4000
_OPTIONS = (
    *("order", "timing", "repeats", "sessions", "overlap_grace", "match", "on_miss"),
    *("ignore", "like", "echo"),
)


def describe(
    settings: Settings, log: Log, faults: FaultControl, misses: Sequence[Miss] | None = None
) -> str:
    """Return the text of the section, with all misses unless some are given. Control characters of
    recorded text are escaped. The server may still run, in its thread: lists that change are copied
    before they are read.
    """
    return "\n".join(
        map(printable, _lines(settings, log, faults, log.misses if misses is None else misses))
    )


def _lines(
    settings: Settings, log: Log, faults: FaultControl, misses: Sequence[Miss]
) -> Iterator[str]:
    real = settings.records or settings.extends
    action = "recording" if settings.records else "replaying"
    recording = f", the recording is in {settings.rejected.name}" if real else ""
    yield f"{action} {settings.shown} (record mode {settings.mode}){recording}"
    for miss in misses:
        yield from miss_lines(miss, Path(settings.shown), keywords=True)
    if misses and log.players:
        from mcpmock.playback.idle_rules import idle_rules

        selection = log.players[-1].selection
        yield from idle_rules(selection.options.rules, selection.cassette)
    last, stderr = _without_secrets(log, settings.redaction_rules(shown=True))
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


def _without_secrets(log: Log, rules: RedactionRules) -> tuple[list[Frame], bytes]:
    """Return the last messages and the end of standard error, as a recording would have them."""
    redactor = Redactor(rules)
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
            given = settings.playing[name]
            for value in given if isinstance(given, tuple) else [given]:
                words += [f"--{name.replace('_', '-')}", str(value)]
    words += ["--no-rules"] if settings.playing.get("no_rules") else []
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


MAX_MESSAGES = 10_000
"""How many messages of a test are kept for its page, the newest."""
MAX_NAME_CHARS = 120
MAX_ERROR_CHARS = 500


class SessionLog:
    """The messages of a fake server and its clients."""

    def __init__(self, log: Log) -> None:
        self._messages: deque[tuple[float, int, Frame]] = deque(maxlen=MAX_MESSAGES)
        self._start = monotonic()
        log.listeners.append(self._note)

    def _note(self, session: int, frame: Frame) -> None:
        self._messages.append((monotonic() - self._start, session, frame))

    def cassette(self, name: str, rules: RedactionRules) -> Cassette:
        """Return the session as a recording, redacted as one."""
        header = Header(mcpmock=FORMAT, transport="memory", test=name)
        lines = [encode(header) + b"\n"]
        for n, (seconds, session, frame) in enumerate(list(self._messages), 1):
            bare = Frame(frame.direction, frame.raw, frame.eol)
            lines.append(event_line(n, round(seconds * 1_000_000), bare, session=session))
        return read("this test", redact_cassette(b"".join(lines), rules).data)


def write_failure_page(
    folder: Path, test: str, settings: Settings, live: SessionLog, error: str = ""
) -> tuple[Path | None, str]:
    """Write the page of a test that failed with `error`. Gives the path, and a line that says where
    the page is, or why there is none.
    """
    from mcpmock.view.report import FailedTest, report_page
    from mcpmock.view.summary import brief

    name = re.sub(r"[^\w.-]+", "-", test).strip("-")
    if len(name) > MAX_NAME_CHARS:
        name = f"{name[:MAX_NAME_CHARS]}-{sha256(test.encode()).hexdigest()[:8]}"
    path = folder / f"{name}.html"
    rules = settings.redaction_rules(shown=True)
    seen = live.cassette(test, rules)
    shown = Redactor(rules).text(error.encode("utf-8", "backslashreplace"))
    failed = FailedTest(test, brief(shown.decode("utf-8", "replace"), MAX_ERROR_CHARS))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        both = [load(settings.path), seen] if settings.path.exists() else [seen]
        page = report_page(*both, test=failed)
        rewrite(path, page)
    except (McpMockError, OSError) as error:
        return None, printable(f"report: none, because {error}")
    return path, printable(f"report: {path}")
