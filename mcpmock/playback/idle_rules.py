"""The rules of a run that applied to nothing, each in one line with the nearest name.

`loosened` notes in `MatchRules` which rules selected something; this looks for the others in the
recording. Used by the faces at the end of a run.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from mcpmock.cassette.model import Take
from mcpmock.matching.match_rule import TOOL_ALONE, Label, MatchRule, MatchRules
from mcpmock.printable import did_you_mean
from mcpmock.protocol.correlation import Correlation, id_space
from mcpmock.protocol.messages import Notification, Request, Response, decode, parse_items

from .request_key import named

_OTHER_PARTS = ("$.result", "$.error")
"""What rules of `diff` and `verify` are about: the same list serves a replay, too."""
_MAX_RULES = 10
_MAX_NAMES = 10_000


def idle_rules(
    rules: MatchRules | None, takes: Iterable[Take], *, answers: bool = False
) -> list[str]:
    """Return a line for each rule that applied to no request, live or recorded; of a diff, whose
    rules may be about `answers`, to none of these either.
    """
    left = [rule for rule in rules.rules if _can_apply(rule, rules)] if rules else []
    left = [rule for rule in left if answers or not _is_of_answers(rule)]
    if not left:
        return []
    labels: dict[Label, None] = {}
    members: dict[str, None] = {}
    fitting: set[MatchRule] = set()
    for label, document in _documents(takes, answers=answers):
        if label is None:
            left = [rule for rule in left if not rule.query.places(document)]
            continue
        if len(labels) < _MAX_NAMES:
            labels[label] = None
        mine = [rule for rule in left if rule.is_for(label[0], label)]
        fitting.update(mine)
        left = [rule for rule in left if rule not in mine or not rule.query.places(document)]
        if mine and len(members) < _MAX_NAMES:
            members |= dict.fromkeys(_names(document))
    kind = "message" if answers else "request"
    lines = [
        _line(rule, kind, rule in fitting, [*labels], [*members]) for rule in left[:_MAX_RULES]
    ]
    rest = len(left) - _MAX_RULES
    return [*lines, f"{rest} more rules applied to nothing"] if rest > 0 else lines


def _can_apply(rule: MatchRule, rules: MatchRules) -> bool:
    of_no_message = rule.method in ("output", "exit")
    return rule not in rules.applied and rule.text not in TOOL_ALONE and not of_no_message


def _is_of_answers(rule: MatchRule) -> bool:
    return rule.query.text.startswith(_OTHER_PARTS)


def _documents(takes: Iterable[Take], *, answers: bool) -> Iterator[tuple[Label | None, Any]]:
    """Yield the params of all messages that have some, of both sides, and the `answers`; each with
    the method and the name of what is called, None where a diff may count it to any call.
    """
    for take in takes:
        calls: defaultdict[Any, Correlation] = defaultdict(Correlation)
        labels: list[Label] = []
        for event in take.events:
            frame = event.frame
            if frame is None or frame.fact is not None:
                continue
            for item in parse_items(frame.raw):
                if isinstance(item, Request | Notification):
                    params = decode(item.params or b"{}")
                    labels.append((item.method, named(item.method, params)))
                    yield labels[-1], {"params": params}
                if answers:
                    if isinstance(item, Notification):
                        yield None, {"params": params}
                    space = calls[id_space(event.s, event.x)]
                    note = space.note(frame.direction, item, len(labels) - 1, event.x)
                    if isinstance(item, Response) and note.call is not None:
                        given = {"result": item.result, "error": item.error}
                        yield labels[note.call.index], {k: decode(v) for k, v in given.items() if v}


def _names(value: Any) -> Iterator[str]:
    """Yield the names of all members in a value."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            yield from one
            waiting += one.values()
        elif isinstance(one, list):
            waiting += one


def _line(rule: MatchRule, kind: str, fits: bool, labels: list[Label], members: list[str]) -> str:
    """Return what no message of this kind has: the method, the name, or the place."""
    text = f"the rule {rule.text!r} applied to nothing"
    if fits:
        steps = [one.selector for one in rule.query.steps if isinstance(one.selector, str)]
        unknown = next((one for one in steps if one not in (*members, "params")), None)
        if unknown is None:
            return f"{text}: no {kind} has {rule.query.text}"
        return f"{text}: no {kind} has {unknown!r}" + did_you_mean(unknown, members)
    methods = [method for method, _ in labels]
    fitting = [label for label in labels if rule.is_for(label[0], (label[0], rule.name))]
    if not fitting:
        return f"{text}: no {kind} is {rule.method!r}" + did_you_mean(rule.method, methods)
    names = [name for _, name in fitting]
    return f"{text}: no {rule.method} is of {rule.name!r}" + did_you_mean(rule.name, names)
