"""`mcpmock demo`: records the bundled server, replays it, sends a request that was not recorded,
injects a fault, and compares the two sessions.

Each step runs the command that a user would type, with the bundled client in front of it. A step
gives an object, which `--json` prints as it is, and which is otherwise shown as text.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import click

from mcpmock.errors import CassetteError, McpMockError
from mcpmock.options.console import ConsoleOptions
from mcpmock.options.files import DemoOptions
from mcpmock.printable import many, mcpmock_command, printable

from .interrupts import PythonHandler
from .option_table import options
from .output import emit

_PYTHON = [sys.executable, "-m"]
_CASSETTE, _FAULTY = "demo.jsonl", "faulty.jsonl"
_FAULT = "tool_error:tool=weather,nth=1,text=no luck"
_UNRECORDED_CITY = "Bergen"
_TIMEOUT_S = 20.0
_INDENT = "   "
_MAX_VALUE_CHARS = 64

Outcome = dict[str, Any]
"""What a step gives: the object that `--json` prints."""


@click.command()
@options(demonstration=DemoOptions)
def demo(demonstration: DemoOptions, console: ConsoleOptions) -> int:
    """Show everything once, with no network and nothing to configure.

    Records a real client with the bundled MCP server, replays the recording to the same client,
    sends a request that was not recorded, replays with a fault, and compares the two sessions. Exit
    status: 0, or 1 if the client did not see exactly the same in the replay.
    """
    folder = _make_folder(demonstration.output)
    cassette, faulty = folder / _CASSETTE, folder / _FAULTY
    for file in (cassette, faulty):
        if file.exists():
            raise CassetteError(file, "exists", hint="give another folder with -o")

    def show(outcome: Outcome) -> None:
        if console.json:
            emit(outcome)
        elif not console.quiet or outcome.get("same") is False:
            _SHOW[outcome["type"]](outcome)

    live = _visit("record", "-o", str(cassette), "--", *_PYTHON, "mcpmock.demo.server")
    show(_recorded(cassette, live if console.verbose else None))
    replayed = _replayed(live, _visit("replay", str(cassette)))
    show(replayed)
    show(_missed(_visit("replay", "-q", str(cassette), city=_UNRECORDED_CITY)))
    faults = ["--fault", _FAULT, "--record", str(faulty)]
    show(_broken(_visit("replay", "-q", str(cassette), *faults)))
    show(_compared(cassette, faulty))
    show(_left(cassette, faulty))
    return 0 if replayed["same"] else 1


class Visit(NamedTuple):
    """What the bundled client received, a JSON line each, and how the server ended."""

    lines: list[str]
    stderr: str
    status: int

    @property
    def saw(self) -> list[Any]:
        import msgspec

        return [msgspec.json.decode(line) for line in self.lines]


def _visit(*command: str, city: str | None = None) -> Visit:
    """Run the bundled client. Raises McpMockError if the command cannot start or does not end."""
    only = [] if city is None else ["--city", city]
    argv = [*_PYTHON, "mcpmock.demo.client", *only, "--", *_PYTHON, "mcpmock", *command]
    try:
        with PythonHandler():
            done = subprocess.run(
                argv, capture_output=True, encoding="utf-8", timeout=_TIMEOUT_S, check=False
            )
    except subprocess.TimeoutExpired as error:
        message = f"mcpmock {command[0]} did not end within {_TIMEOUT_S:g} seconds"
        raise McpMockError(message) from error
    if not done.stdout:
        words = done.stderr.strip()
        raise McpMockError(f"mcpmock {command[0]} ended with {done.returncode}: {words}")
    return Visit(done.stdout.splitlines(), done.stderr, done.returncode)


def _make_folder(output: Path | None) -> Path:
    if output is None:
        return Path(tempfile.mkdtemp(prefix="mcpmock-demo-"))
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CassetteError(output, os.strerror(error.errno or 0).lower()) from error
    return output


def _recorded(cassette: Path, visit: Visit | None) -> Outcome:
    """Return what was recorded: each method with the number of its messages."""
    from mcpmock.cassette.file import load
    from mcpmock.protocol.messages import C2S, Notification, Request

    events = [event for take in load(cassette).takes for event in take.events]
    counts: dict[str, Counter[str]] = {}
    for frame in (event.frame for event in events):
        if frame is not None and isinstance(frame.content, Request | Notification):
            who = "client" if frame.direction is C2S else "server"
            verb = "asked" if isinstance(frame.content, Request) else "said"
            counts.setdefault(f"{who} {verb}", Counter())[frame.content.method] += 1
    outcome = {
        "type": "recorded",
        "file": str(cassette),
        "events": len(events),
        "seconds": events[-1].t / 1e6,
        "counts": {who: dict(counts[who].most_common()) for who in sorted(counts)},
    }
    return outcome if visit is None else {**outcome, "saw": visit.saw}


def _replayed(live: Visit, again: Visit) -> Outcome:
    """Return whether the client received the same twice, to the byte, and the first difference."""
    same = [one == other for one, other in zip(live.lines, again.lines, strict=False)]
    n = same.index(False) if False in same else len(same)
    equal = live.lines == again.lines
    return {
        "type": "replayed",
        "same": equal and live.status == again.status,
        "saw": len(again.lines),
        "status": [live.status, again.status],
        "difference": None if equal else [visit.saw[n : n + 1] for visit in (live, again)],
    }


def _missed(visit: Visit) -> Outcome:
    """Return what the client received for a request not recorded, and what mcpmock printed."""
    lines = visit.stderr.splitlines()
    return {
        "type": "missed",
        "answer": visit.saw[-1],
        "status": visit.status,
        "told": [line for line in lines if line.startswith("mcpmock: ")],
    }


def _broken(visit: Visit) -> Outcome:
    """Return what the client received when the fault fired."""
    results = [one["result"] for one in visit.saw if "result" in one]
    answer = next((result for result in results if result.get("isError")), None)
    return {"type": "broken", "fault": _FAULT, "answer": answer, "status": visit.status}


def _compared(first: Path, second: Path) -> Outcome:
    """Return the differences, as `mcpmock diff` gives them. Raises McpMockError if it fails."""
    import msgspec

    command = [*_PYTHON, "mcpmock", "diff", "--json", str(first), str(second)]
    with PythonHandler():
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise McpMockError(f"`mcpmock diff` ended with {done.returncode}: {done.stderr.strip()}")
    return {**msgspec.json.decode(done.stdout), "type": "compared"}


def _left(cassette: Path, faulty: Path) -> Outcome:
    commands = [
        *(mcpmock_command(command, str(cassette)) for command in ("report", "show", "replay")),
        "mcpmock record -o mine.jsonl -- YOUR-SERVER",
    ]
    return {"type": "left", "files": [str(cassette), str(faulty)], "next": commands}


def _show_recorded(outcome: Outcome) -> None:
    _title("1. Record a real client with a real server")
    _command(f"mcpmock record -o {_CASSETTE} -- python -m mcpmock.demo.server")
    _line(f"{many(outcome['events'], 'event')} in {outcome['seconds']:.1f} seconds:")
    for who, methods in outcome["counts"].items():
        _wrapped(f"the {who:<13}", ", ".join(_times(*row) for row in methods.items()))
    for seen in outcome.get("saw", ()):
        _line(_short(seen))


def _show_replayed(outcome: Outcome) -> None:
    _title("2. Replay the recording to the same client, without the server")
    _command(f"mcpmock replay {_CASSETTE}")
    if outcome["same"]:
        saw = many(outcome["saw"], "message")
        _line(f"The client saw exactly the same: {saw}, in the same order.", fg="green")
        return
    _line("The client did not see the same.", fg="red")
    first, second = outcome["difference"] or ([{"exit": status}] for status in outcome["status"])
    _line(f"recorded: {_short(first)}")
    _line(f"replayed: {_short(second)}")


def _show_missed(outcome: Outcome) -> None:
    _title("3. Send a request that was not recorded")
    _command(f"mcpmock replay -q {_CASSETTE}    # the weather in {_UNRECORDED_CITY}")
    error = outcome["answer"].get("error")
    _line(f"The client gets {_short(error['message'] if error else outcome['answer'])}")
    _line("and mcpmock reports:")
    for line in outcome["told"]:
        text = line.removeprefix("mcpmock: ")
        _wrapped(" " * (2 + len(text) - len(text.lstrip())), text.lstrip())


def _show_broken(outcome: Outcome) -> None:
    _title("4. Inject a fault")
    _command(f"mcpmock replay {_CASSETTE} --record {_FAULTY} \\")
    _line(f"    --fault '{outcome['fault']}'", fg="cyan")
    _line(f"The client gets {_short(outcome['answer'])}")


def _show_compared(outcome: Outcome) -> None:
    _title("5. Compare the two sessions")
    _command(f"mcpmock diff {_CASSETTE} {_FAULTY}")
    for one in outcome["differences"]:
        _line(f"{one['verdict']}: {one['rule']} in {one['call']}, at {one['path']}")
        for sign, text in (("-", one["a"]), ("+", one["b"])):
            if text is not None:
                _line(f"  {sign} {_cut(text)}")


def _show_left(outcome: Outcome) -> None:
    _title("Files written")
    for file in outcome["files"]:
        _line(file)
    _title("Try next")
    for command in outcome["next"]:
        _command(command)


def _title(text: str) -> None:
    click.echo()
    click.secho(text, bold=True)


def _command(text: str) -> None:
    _line(f"$ {text}", fg="cyan")


def _line(text: str, **style: Any) -> None:
    click.secho(_INDENT + printable(text), **style)


def _wrapped(head: str, text: str) -> None:
    """Print text after a head, wrapped and indented to it."""
    first = _INDENT + head
    click.echo(click.wrap_text(printable(text), 80, first, " " * len(first)))


def _times(name: str, times: int) -> str:
    return name if times == 1 else f"{name} x{times}"


def _short(value: Any) -> str:
    import msgspec

    return _cut(msgspec.json.encode(value).decode())


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_VALUE_CHARS else text[: _MAX_VALUE_CHARS - 3] + "..."


_SHOW = {
    "recorded": _show_recorded,
    "replayed": _show_replayed,
    "missed": _show_missed,
    "broken": _show_broken,
    "compared": _show_compared,
    "left": _show_left,
}
