"""Servers that are deliberately changed, played from a recording that was edited: `verify` names
the one change and nothing else, judges it, and ends as it was asked to.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.processes import MCPMOCK, replay

pytestmark = pytest.mark.e2e

CASSETTE = Path(__file__).parents[2] / "cassettes" / "everything.jsonl"
LIMIT = 60.0
Events = list[dict[str, Any]]


def answer(events: Events, id_: int) -> Any:
    """The server's answer to this request of the client's."""
    said = [e["m"] for e in events if e.get("d") == "s2c" and "m" in e]
    return next(m for m in said if m.get("id") == id_ and "method" not in m)


def tools(events: Events) -> Any:
    return answer(events, 1)["result"]["tools"]


def without_progress(events: Events) -> None:
    """The third step of the long call is not told."""
    steps = [e for e in events if e.get("m", {}).get("params", {}).get("progressToken") == 14]
    events.remove(steps[2])


def another_log_line(events: Events) -> None:
    at = next(n for n, e in enumerate(events) if e.get("m", {}).get("id") == 3 and e["d"] == "s2c")
    line = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info"}}
    events.insert(at, {**events[at], "m": line})


CHANGES: dict[str, tuple[Callable[[Events], object], list[str]]] = {
    "tool-gone": (lambda e: tools(e).pop(2), ["breaking tool-removed"]),
    "argument-newly-required": (
        lambda e: tools(e)[0]["inputSchema"].update(
            properties={**tools(e)[0]["inputSchema"]["properties"], "lang": {"type": "string"}},
            required=["message", "lang"],
        ),
        ["breaking argument-required"],
    ),
    "result-text": (
        lambda e: answer(e, 3)["result"]["content"][0].update(text="Echo: goodbye"),
        ["risky result-text-changed"],
    ),
    "is-error": (
        lambda e: answer(e, 3)["result"].update(isError=True),
        ["breaking error-for-result"],
    ),
    "error-code": (
        lambda e: answer(e, 31)["error"].update(code=-32002),
        ["breaking error-code-changed"],
    ),
    "missing-progress": (without_progress, ["risky notification-missing"]),
    "extra-notification": (another_log_line, ["compatible notification-added"]),
    "tools-reordered": (lambda e: tools(e).reverse(), ["compatible list-reordered"]),
    "nothing": (lambda e: None, []),
}  # fmt: skip


@pytest.mark.parametrize(("change", "expected"), CHANGES.values(), ids=CHANGES)
def test_the_change_is_named(
    change: Callable[[Events], object], expected: list[str], tmp_path: Path
) -> None:
    """In the first word how bad it is, in the second what it is; --fail-on decides the status."""
    header, *rest = [json.loads(line) for line in CASSETTE.read_bytes().splitlines()]
    events = [event for event in rest if "n" in event]
    change(events)
    numbered = [{**event, "n": n} for n, event in enumerate(events, 1)]
    changed = tmp_path / "changed.jsonl"
    changed.write_text("".join(json.dumps(e) + "\n" for e in [header, *numbered]), "utf-8")

    status, out = verified(changed)
    assert expected == [" ".join(line.split(":")[0].split()) for line in out if is_finding(line)]
    assert int(bool(expected)) == status
    breaking = any(found.startswith("breaking") for found in expected)
    assert int(breaking) == verified(changed, "--fail-on", "breaking")[0]


def verified(changed: Path, *options: str) -> tuple[int, list[str]]:
    command = [*MCPMOCK, "verify", str(CASSETTE), *options, "--", *replay(changed, "-q")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False)
    return done.returncode, done.stdout.splitlines()


def is_finding(line: str) -> bool:
    return line.startswith(("breaking ", "risky ", "compatible "))
