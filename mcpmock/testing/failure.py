"""The section on the fake server in the report of a failed test: misses with the nearest recorded
requests, the last messages, open requests, standard error, faults, and a command that reproduces
the failure outside the test; and the same as an HTML page, with the session of the test beside it
(`--mcp-report DIR`).
"""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Raw

from mcpmock.api.cassettes import load
from mcpmock.api.log import MAX_LAST_MESSAGES, Log
from mcpmock.api.server import replay_options
from mcpmock.batch.match_rules import rules_beside
from mcpmock.cassette import FORMAT
from mcpmock.cassette.file import rewrite
from mcpmock.cassette.model import Cassette, Event, Footer, Header, event_line
from mcpmock.cassette.parser import read
from mcpmock.errors import McpMockError
from mcpmock.faults.control import FaultControl, is_file, plan_of
from mcpmock.faults.receipts import FaultRun, Receipt
from mcpmock.faults.shorthand import shorthand_of
from mcpmock.lazy_pattern import lazy_pattern
from mcpmock.playback.miss import NOTHING_ANSWERS, Miss, request_words
from mcpmock.printable import many, printable, shell_command
from mcpmock.protocol.messages import C2S, Frame, decode, encode
from mcpmock.redaction.cassettes import redact_cassette
from mcpmock.redaction.redaction_rules import RedactionRules
from mcpmock.redaction.redactor import Redactor
from mcpmock.view.miss_report import miss_lines

from .markers import MATCH_RULES
from .settings import Settings

if TYPE_CHECKING:
    from mcpmock.semantic_diff.ignore_rules import IgnoreRules

MAX_LINES = 10
MAX_LINE_LENGTH = 160
MAX_COMMAND_LENGTH = 4000
_OPTIONS = (
    *("order", "timing", "repeats", "sessions", "overlap_grace", "match", "on_miss"),
    *MATCH_RULES,
)


def describe(
    settings: Settings,
    log: Log,
    faults: FaultControl,
    misses: Sequence[Miss] | None = None,
    *,
    session: Path | None = None,
    messages: bool = True,
) -> str:
    """Return the text of the section, with all misses unless some are given, and with the last
    `messages`; `session` is the cassette of the test, if there is one. Control characters of
    recorded text are escaped. The server may still run, in its thread: lists that change are copied
    before they are read.
    """
    misses = log.misses if misses is None else misses
    lines = _lines(settings, log, faults, misses, session, messages=messages)
    return "\n".join(map(printable, lines))


def _lines(
    settings: Settings,
    log: Log,
    faults: FaultControl,
    misses: Sequence[Miss],
    session: Path | None,
    *,
    messages: bool,
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
        yield from idle_rules(selection.options.rules, selection.cassette.takes)
    last, waiting, stderr = _without_secrets(log, settings.redaction_rules(shown=True))
    if last and messages:
        yield "last messages:"
        for frame in last[-MAX_LINES:]:
            arrow = "->" if frame.direction is C2S else "<-"
            text = frame.raw.decode("utf-8", "replace")
            cut = "..." if len(text) > MAX_LINE_LENGTH else ""
            yield f"  {arrow} {text[:MAX_LINE_LENGTH]}{cut}"
    if waiting:
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
        yield f"  {reproduction(settings, last, faults, session)}"


def _without_secrets(log: Log, rules: RedactionRules) -> tuple[list[Frame], list[str], bytes]:
    """Return the last messages, the open requests and the end of stderr, as recorded."""
    redactor = Redactor(rules)
    for player in log.players:
        redactor.learn_bindings(player.bindings)
    last, waiting, stderr = list(log.last), list(log.open.values()), bytes(log.stderr)
    for frame in last:
        redactor.frame(frame)  # a later one may give away what an earlier one holds
    words = [
        (one.method, request_words(one.method, decode(redactor.json(encode(one.params)))))
        for one in waiting
    ]
    asked = [" ".join(filter(None, one)) for one in words]
    return [redactor.frame(frame) for frame in last], asked, redactor.text(stderr)


def reproduction(
    settings: Settings, last: Sequence[Frame], faults: FaultControl, session: Path | None = None
) -> str:
    """Return a shell command: the same server, driven by the `session` of the test, or else with
    the clients' messages as input unless they are long. Faults that have no shorthand are left out.
    """
    words = ["mcpmock", "replay", settings.shown]
    for name in _OPTIONS:
        if name in settings.playing:
            given = settings.playing[name]
            for value in given if isinstance(given, tuple) else [given]:
                words += [f"--{name.replace('_', '-')}", str(value)]
    words += ["--no-rules"] if settings.playing.get("no_rules") else []
    words += _fault_options(settings, faults)
    if session is not None:
        return shell_command(["mcpmock", "drive", os.path.relpath(session), "--", *words])
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
_PLAIN_TEST = lazy_pattern(r"[\w./-]+(::\w+)*(\[[\w.-]*[\w.]\])?")
"""A test that no other one differs from in such characters only as a file name cannot have."""
MAX_ERROR_CHARS = 500


class SessionLog:
    """What a fake server and its clients said to each other, and the faults that fired."""

    def __init__(self, log: Log, faults: FaultRun) -> None:
        self._events: deque[tuple[float, int, Frame | Receipt]] = deque(maxlen=MAX_MESSAGES)
        self._start = monotonic()
        log.listeners.append(self._note)
        faults.listeners.append(self._note)

    def _note(self, session: int, what: Frame | Receipt) -> None:
        self._events.append((monotonic() - self._start, session, what))

    def cassette(self, test: str, rules: RedactionRules) -> bytes:
        """Return the session as the cassette of this test, redacted as one."""
        header = Header(mcpmock=FORMAT, transport="memory", test=test)
        lines, n = [encode(header) + b"\n"], 0
        for n, (seconds, session, what) in enumerate(list(self._events), 1):
            t = round(seconds * 1_000_000)
            if isinstance(what, Frame):
                bare = Frame(what.direction, what.raw, what.eol)
                lines.append(event_line(n, t, bare, session=session))
            else:
                frame, fault = what.matched.frame, Raw(encode(what.value))
                event = Event(n=n, t=t, s=session, d=frame.direction.value, fault=fault)
                lines.append(encode(event) + b"\n")
        data = b"".join(lines)
        footer = encode({"footer": Footer(events=n, sha256=sha256(data).hexdigest())})
        return redact_cassette(data + footer + b"\n", rules).data


class FailureFiles(NamedTuple):
    """What was written of a failed test."""

    page: Path | None
    session: Path | None
    """The cassette of what its clients asked and got."""
    line: str
    """Says where the page is, or why there is none."""


def name_miss(error: str, misses: Sequence[Miss]) -> str:
    """Return the error of a test with its first miss, for a summary of failed tests: in place of
    the error that quotes it, or else behind the first line.
    """
    first, more = misses[0].summarize(keywords=True), len(misses) - 1
    said = f"mcpmock: {'' if misses[0].unread else NOTHING_ANSWERS}{first}"
    said += f"; and {many(more, 'more request')}" if more else ""
    if NOTHING_ANSWERS in error:
        return said
    if first in error:
        return error
    line, end, rest = error.partition("\n")
    return f"{line}; {said}{end}{rest}"


def page_name(test: str) -> str:
    """Return a file name for a test, without suffix. Where another test could get the same, it ends
    in eight digits of a hash.
    """
    name = re.sub(r"[^\w.-]+", "-", test).strip("-")
    if len(name) <= MAX_NAME_CHARS and _PLAIN_TEST.fullmatch(test):
        return name
    digest = sha256(test.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{name[:MAX_NAME_CHARS]}-{digest}"


def write_failure_page(
    folder: Path,
    test: str,
    number: int,
    settings: Settings,
    live: SessionLog,
    error: str,
    describe: Callable[[Path], str],
) -> FailureFiles:
    """Write the page of a test that failed with `error`, and the session beside it, for the server
    of this number in it; `describe` gives the text about the server, from where the session is.
    """
    from mcpmock.view.report import FailedTest, report_page
    from mcpmock.view.summary import brief

    name = page_name(test)
    name += f"-server-{number}" if number > 1 else ""
    path, session = folder / f"{name}.html", folder / f"{name}.jsonl"
    try:
        rules = settings.redaction_rules(shown=True)
        seen = live.cassette(test, rules)
        shown = Redactor(rules).text(error.encode("utf-8", "backslashreplace"))
        first, *rest = [*shown.decode("utf-8", "replace").strip().splitlines(), ""]
        ours = [line for line in rest if line.startswith("mcpmock: ")]
        error = brief("; ".join([first, *ours]), MAX_ERROR_CHARS)
        folder.mkdir(parents=True, exist_ok=True)
        rewrite(session, seen)
        recorded = [load(settings.path)] if settings.path.exists() else []
        both = [*recorded, read(session.name, seen)]
        failed = FailedTest(test, error, describe(session))
        rewrite(path, report_page(*both, rules=_rules(settings, recorded), test=failed))
    except (McpMockError, OSError) as problem:
        return FailureFiles(None, None, printable(f"report: none, because {problem}"))
    except Exception as problem:  # noqa: BLE001 (pytest would end with it, all errors unsaid)
        text = f"report: none, because of an internal error (please report): {problem!r}"
        return FailureFiles(None, None, printable(text))
    return FailureFiles(path, session, printable(f"report: {path}"))


def _rules(settings: Settings, recorded: Sequence[Cassette]) -> IgnoreRules:
    """Return what may differ from the recording: what the marker says, and the rules beside it."""
    from mcpmock.semantic_diff.ignore_rules import IgnoreRules

    options = replay_options(**settings.playing)
    beside = rules_beside(*recorded, no_rules=options.no_rules)
    return IgnoreRules().with_rules(options.rules).with_rules(beside)
