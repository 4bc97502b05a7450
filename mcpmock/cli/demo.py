"""`mcpmock demo`: records the bundled server, replays it, asks what was not recorded, lets a call
go wrong, and compares the two sessions.

Each step runs the very command that a user would type, as a process, for the bundled client
(`demo.client`); here is only what is said about it. A step gives a value, which is shown as text
or, with `--json`, as it is.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mcpmock.errors import CassetteError, McpMockError
from mcpmock.view.printable import printable

from .output import common, emit

if TYPE_CHECKING:
    from mcpmock.demo.client import DemoClient, DemoVisit, Plan, Seen

_ME = [sys.executable, "-m", "mcpmock"]
_SERVER = [sys.executable, "-m", "mcpmock.demo.server"]
_NAME, _FAULTY = "demo.jsonl", "faulty.jsonl"
_FAULT = "tool_error:tool=weather,nth=1,text=no luck"
_UNRECORDED = "Bergen"
_INDENT = "   "
_WIDTH = 64

Told = dict[str, Any]
"""What a step has to tell: the object that `--json` prints."""


@click.command()
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Write the recordings to this folder.  [default: a temporary folder]",
)
@common
def demo(output: Path | None, quiet: bool, verbose: bool, json: bool) -> int:
    """Show everything once, with no network and nothing to configure.

    Records a real client with the bundled MCP server, replays the recording to the same client,
    sends a request that was not recorded, replays with a fault, and compares the two sessions. Exit
    status: 0, or 1 if the client did not see exactly the same in the replay.
    """
    folder = _folder(output)
    cassette, faulty = folder / _NAME, folder / _FAULTY
    for file in (cassette, faulty):
        if file.exists():
            raise CassetteError(file, "exists", hint="give another folder with -o")

    def tell(told: Told) -> None:
        if json:
            emit(told)
        elif not quiet or told.get("same") is False:
            _SHOW[told["type"]](told)

    live = _visit(["record", "-o", str(cassette), "--", *_SERVER])
    tell(_recorded(cassette, live.saw if verbose else None))
    replayed = _replayed(live, _visit(["replay", str(cassette)]))
    tell(replayed)
    tell(_missed(_visit(["replay", "-q", str(cassette)], _ask_unrecorded)))
    faults = ["--fault", _FAULT, "--record", str(faulty)]
    tell(_broken(_visit(["replay", "-q", str(cassette), *faults])))
    tell(_compared(cassette, faulty))
    tell(_left(cassette, faulty))
    return 0 if replayed["same"] else 1


async def _ask_unrecorded(client: DemoClient) -> None:
    await client.tool("weather", city=_UNRECORDED)


def _folder(output: Path | None) -> Path:
    if output is None:
        return Path(tempfile.mkdtemp(prefix="mcpmock-demo-"))
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CassetteError(output, os.strerror(error.errno or 0).lower()) from error
    return output


def _visit(command: list[str], plan: Plan | None = None) -> DemoVisit:
    """The bundled client's visit to a server that is a command of ours. Raises McpMockError if that
    could not do its work at all.
    """
    import trio

    from mcpmock.demo.client import LIMIT, visit

    seen = trio.run(visit, [*_ME, *command], plan)
    if seen.status is None:
        raise McpMockError(f"mcpmock {command[0]} did not end within {LIMIT:g} seconds")
    if not seen.saw:
        words = seen.stderr.decode("utf-8", "replace").strip()
        raise McpMockError(f"mcpmock {command[0]} ended with {seen.status}: {words}")
    return seen


def _recorded(cassette: Path, saw: list[Seen] | None) -> Told:
    """What is in the recording: how often each method was used, by whom."""
    from mcpmock.cassette.file import load
    from mcpmock.protocol.messages import C2S, Notification, Request

    events = [event for take in load(cassette).takes for event in take.events]
    counts: dict[str, Counter[str]] = {}
    for frame in (event.frame for event in events):
        if frame is not None and isinstance(frame.content, Request | Notification):
            who = "client" if frame.direction is C2S else "server"
            verb = "asked" if isinstance(frame.content, Request) else "said"
            counts.setdefault(f"{who} {verb}", Counter())[frame.content.method] += 1
    told = {
        "type": "recorded",
        "file": str(cassette),
        "events": len(events),
        "seconds": events[-1].t / 1e6,
        "counts": {who: dict(counts[who].most_common()) for who in sorted(counts)},
    }
    return told if saw is None else {**told, "saw": saw}


def _replayed(live: DemoVisit, again: DemoVisit) -> Told:
    """Whether the client saw the same twice, to the byte, and where it did not."""
    import msgspec

    first, second = ([*map(msgspec.json.encode, visit.saw)] for visit in (live, again))
    n = next(
        (n for n, pair in enumerate(zip(first, second, strict=False)) if len({*pair}) > 1), None
    )
    if n is None and len(first) != len(second):
        n = min(len(first), len(second))
    return {
        "type": "replayed",
        "same": n is None and live.status == again.status,
        "saw": len(again.saw),
        "status": [live.status, again.status],
        "difference": None if n is None else [visit.saw[n : n + 1] for visit in (live, again)],
    }


def _missed(seen: DemoVisit) -> Told:
    """What the client got for what was not recorded, and what its user was told."""
    lines = seen.stderr.decode("utf-8", "replace").splitlines()
    return {
        "type": "missed",
        "answer": seen.saw[-1],
        "status": seen.status,
        "told": [line for line in lines if line.startswith("mcpmock: ")],
    }


def _broken(seen: DemoVisit) -> Told:
    """What the client got where the fault fired."""
    results = [one["result"] for one in seen.saw if "result" in one]
    answer = next((result for result in results if result.get("isError")), None)
    return {"type": "broken", "fault": _FAULT, "answer": answer, "status": seen.status}


def _compared(first: Path, second: Path) -> Told:
    """The differences, as `mcpmock diff` gives them. Raises McpMockError if it fails."""
    import msgspec

    command = [*_ME, "diff", "--json", str(first), str(second)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise McpMockError(f"mcpmock diff ended with {done.returncode}: {done.stderr.strip()}")
    return {**msgspec.json.decode(done.stdout), "type": "compared"}


def _left(cassette: Path, faulty: Path) -> Told:
    quoted = shlex.quote(str(cassette))
    commands = [
        f"mcpmock show {quoted}",
        f"mcpmock replay {quoted}",
        "mcpmock record -o mine.jsonl -- YOUR-SERVER",
    ]
    return {"type": "left", "files": [str(cassette), str(faulty)], "next": commands}


def _show_recorded(told: Told) -> None:
    _title("1. Record a real client with a real server")
    _command(f"mcpmock record -o {_NAME} -- python -m mcpmock.demo.server")
    _line(f"{told['events']} events in {told['seconds']:.1f} seconds:")
    for who, methods in told["counts"].items():
        _wrapped(f"the {who:<13}", ", ".join(_times(*row) for row in methods.items()))
    for seen in told.get("saw", ()):
        _line(_short(seen))


def _show_replayed(told: Told) -> None:
    _title("2. Replay the recording to the same client, without the server")
    _command(f"mcpmock replay {_NAME}")
    if told["same"]:
        same = f"The client saw exactly the same: {told['saw']} messages, in the same order."
        _line(same, fg="green")
        return
    _line("The client did not see the same.", fg="red")
    first, second = told["difference"] or ([{"exit": status}] for status in told["status"])
    _line(f"recorded: {_short(first)}")
    _line(f"replayed: {_short(second)}")


def _show_missed(told: Told) -> None:
    _title("3. Send a request that was not recorded")
    _command(f"mcpmock replay -q {_NAME}    # the weather in {_UNRECORDED}")
    error = told["answer"].get("error")
    _line(f"The client gets {_short(error['message'] if error else told['answer'])}")
    _line("and mcpmock reports:")
    for line in told["told"]:
        text = line.removeprefix("mcpmock: ")
        _wrapped(" " * (2 + len(text) - len(text.lstrip())), text.lstrip())


def _show_broken(told: Told) -> None:
    _title("4. Inject a fault")
    _command(f"mcpmock replay {_NAME} --record {_FAULTY} \\")
    _line(f"    --fault '{told['fault']}'", fg="cyan")
    _line(f"The client gets {_short(told['answer'])}")


def _show_compared(told: Told) -> None:
    _title("5. Compare the two sessions")
    _command(f"mcpmock diff {_NAME} {_FAULTY}")
    for one in told["differences"]:
        _line(f"{one['verdict']}: {one['rule']} in {one['call']}, at {one['path']}")
        for sign, text in (("-", one["a"]), ("+", one["b"])):
            if text is not None:
                _line(f"  {sign} {_cut(text)}")


def _show_left(told: Told) -> None:
    _title("Files written")
    for file in told["files"]:
        _line(file)
    _title("Try next")
    for command in told["next"]:
        _command(command)


def _title(text: str) -> None:
    click.echo()
    click.secho(text, bold=True)


def _command(text: str) -> None:
    _line(f"$ {text}", fg="cyan")


def _line(text: str, **style: Any) -> None:
    click.secho(_INDENT + printable(text), **style)


def _wrapped(head: str, text: str) -> None:
    """A text on as many lines as it takes, those after the first behind the head."""
    first = _INDENT + head
    click.echo(click.wrap_text(printable(text), 80, first, " " * len(first)))


def _times(name: str, times: int) -> str:
    return name if times == 1 else f"{name} x{times}"


def _short(value: Any) -> str:
    """A JSON text on one line of a terminal."""
    import msgspec

    return _cut(msgspec.json.encode(value).decode())


def _cut(text: str) -> str:
    return text if len(text) <= _WIDTH else text[: _WIDTH - 3] + "..."


_SHOW = {
    "recorded": _show_recorded,
    "replayed": _show_replayed,
    "missed": _show_missed,
    "broken": _show_broken,
    "compared": _show_compared,
    "left": _show_left,
}
