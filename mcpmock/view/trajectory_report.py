"""What differs in a `Trajectory`, for the failure of a test: the calls that are missing, extra,
changed or out of order, and all that were made. `api.thread_server` raises it.
"""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from mcpmock.playback.loosened import bind_leaves
from mcpmock.playback.miss import propose_rules, shown_values, spell_options
from mcpmock.printable import first_lines, many, printable
from mcpmock.protocol import messages as m
from mcpmock.redaction.redaction_rules import RedactionRules
from mcpmock.redaction.redactor import Redactor
from mcpmock.semantic_diff.trajectory import Trajectory

MAX_LINES = 20
"""How many calls of a kind, and how many changed places of a call, are listed."""


def trajectory_lines(
    found: Trajectory, redaction: RedactionRules, *, order: str, extra: str, missing: str
) -> list[str]:
    """Return what to say of a trajectory that is not as asked; nothing if it is."""
    moved = found.moved if order == "same" else []
    extras = found.extra if extra == "fail" else []
    absent = found.missing if missing == "fail" else []
    counts = {
        "missing": len(absent),
        "extra": len(extras),
        "changed": len(found.changed),
        "out of order": len(moved),
    }
    said = ", ".join(f"{count} {word}" for word, count in counts.items() if count)
    if not said:
        return []
    shown = _without_secrets(found, redaction)
    equal = len(found.equal)
    lines = [f"{equal} of {many(len(found.recorded), 'recorded call')} made as recorded: {said}"]
    lines += _cut(f"missing: event {shown.recorded[i].n}, {shown.recorded[i]}" for i in absent)
    lines += _cut(f"extra: {shown.live[j]}" for j in extras)
    lines += _cut(_changed_line(shown, i, j) for i, j in found.changed)
    lines += _cut(f"out of order: event {shown.recorded[i].n}, {shown.live[j]}" for i, j in moved)
    lines += ["calls made:", *_cut([*map(str, shown.live)] or ["none"])]
    return [printable(line) for line in lines]


def _changed_line(shown: Trajectory, i: int, j: int) -> str:
    recorded = shown.recorded[i]
    differences = shown.differences(i, j)
    places = [
        f"{one.path}: recorded {had}, called {called}"
        for one in differences
        for had, called in (shown_values(one),)
    ]
    text = "; ".join(first_lines(places, MAX_LINES)) or "a secret is another one"
    rules = propose_rules(recorded.method, recorded.params, differences)
    allow = f"; allow with {spell_options(rules, keywords=True)}" if rules else ""
    name = " ".join(filter(None, recorded.label))
    return f"changed: event {recorded.n}, {name}: {text}{allow}"


def _without_secrets(found: Trajectory, rules: RedactionRules) -> Trajectory:
    """Return a copy for showing, with the live calls as a recording would have them."""
    redactor = Redactor(rules)
    redactor.learn_bindings(found.bindings)
    for i, j in found.changed:
        redactor.learn_bindings(bind_leaves(found.recorded[i].params, found.live[j].params, {}))
    frames = [
        m.Frame(
            m.C2S,
            m.encode({"jsonrpc": "2.0", "id": 0, "method": one.method, "params": one.params}),
        )
        for one in found.live
    ]
    for frame in frames:
        redactor.frame(frame)  # a later one may give away what an earlier one holds
    live = [
        attrs.evolve(call, params=m.decode(redactor.frame(frame).raw)["params"])
        for call, frame in zip(found.live, frames, strict=True)
    ]
    return attrs.evolve(found, live=live, bindings={})


def _cut(lines: Iterable[str]) -> list[str]:
    return [f"  {line}" for line in first_lines([*lines], MAX_LINES)]
