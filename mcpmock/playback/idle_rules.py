"""The rules of a run that applied to nothing, each in one line with the nearest name.

`loosened` notes in `MatchRules` which rules selected something; this looks for the others in the
recording. Used by the faces at the end of a run.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mcpmock.cassette.model import Cassette
from mcpmock.matching.match_rule import TOOL_ALONE, MatchRule, MatchRules
from mcpmock.printable import did_you_mean
from mcpmock.protocol.messages import Notification, Request, decode, parse_items

from .request_key import named

_OTHER_PARTS = ("$.result", "$.error")
"""What rules of `diff` and `verify` are about: the same list serves a replay, too."""
_MAX_RULES = 10
_MAX_NAMES = 10_000


def idle_rules(rules: MatchRules | None, cassette: Cassette) -> list[str]:
    """Return a line for each rule that applied to no request, live or recorded."""
    left = [] if rules is None else [rule for rule in rules.rules if _can_apply(rule, rules)]
    if not left:
        return []
    labels: dict[tuple[str, str], None] = {}
    members: dict[str, None] = {}
    fitting: set[MatchRule] = set()
    for method, params in _requests(cassette):
        label = method, named(method, params)
        if len(labels) < _MAX_NAMES:
            labels[label] = None
        mine = [rule for rule in left if rule.is_for(method, label)]
        fitting.update(mine)
        left = [
            rule for rule in left if rule not in mine or not rule.query.places({"params": params})
        ]
        if mine and len(members) < _MAX_NAMES:
            members |= dict.fromkeys(_names(params))
    lines = [_line(rule, rule in fitting, [*labels], [*members]) for rule in left[:_MAX_RULES]]
    rest = len(left) - _MAX_RULES
    return [*lines, f"{rest} more rules applied to nothing"] if rest > 0 else lines


def _can_apply(rule: MatchRule, rules: MatchRules) -> bool:
    elsewhere = rule.query.text.startswith(_OTHER_PARTS) or rule.method == "output"
    return rule not in rules.applied and rule.text not in TOOL_ALONE and not elsewhere


def _requests(cassette: Cassette) -> Iterator[tuple[str, Any]]:
    """Yield the methods and params of all messages that have some, of both sides."""
    for take in cassette.takes:
        for event in take.events:
            for item in parse_items(event.payload) if event.payload else ():
                if isinstance(item, Request | Notification):
                    yield item.method, decode(item.params or b"{}")


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


def _line(rule: MatchRule, fits: bool, labels: list[tuple[str, str]], members: list[str]) -> str:
    """Return what no request has: the method, the name, or the place."""
    text = f"the rule {rule.text!r} applied to nothing"
    if fits:
        steps = [one.selector for one in rule.query.steps if isinstance(one.selector, str)]
        unknown = next((one for one in steps if one not in (*members, "params")), None)
        if unknown is None:
            return f"{text}: no request has {rule.query.text}"
        return f"{text}: no request has {unknown!r}" + did_you_mean(unknown, members)
    methods = [method for method, _ in labels]
    fitting = [label for label in labels if rule.is_for(label[0], (label[0], rule.name))]
    if not fitting:
        return f"{text}: no request is {rule.method!r}" + did_you_mean(rule.method, methods)
    names = [name for _, name in fitting if name]
    return f"{text}: no {rule.method} is of {rule.name!r}" + did_you_mean(rule.name, names)
