"""A live request that matches nothing recorded: the nearest recorded requests, and the error for
the client. `view.miss_report` has the report for the terminal.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import attrs
import msgspec
from msgspec import UNSET

from mcpmock.protocol import edit
from mcpmock.protocol.error_codes import NOTHING_RECORDED
from mcpmock.protocol.messages import S2C, Frame
from mcpmock.protocol.methods import NAMES

from .request_assembly import ClientMessage
from .variables import Bindings, Mismatch

if TYPE_CHECKING:
    from mcpmock.redaction.redaction_rules import RedactionRules

ELSEWHERE = "in another recorded session"
USED_UP = "already used"
STUBBED = 0
"""The event number of a stub's entry, which was never recorded."""
_MAX_DIFFERENCES = 10
_POSITIONS = re.compile(r"(?:\[\d+\])+\Z")


@attrs.frozen
class NearMiss:
    """A recorded request (or a STUBBED one) that did not match: its event number, and why."""

    n: int
    why: str
    differences: tuple[Mismatch, ...] = ()
    rules: tuple[ProposedRule, ...] = ()
    """The rules that would allow it; none where a name, a header or the count differs."""
    distance: tuple[int, int] = attrs.field(
        default=attrs.Factory(lambda self: (len(self.differences), 0), takes_self=True), eq=False
    )
    """How far it differs (`Leaves.distance`)."""


ProposedRule = tuple[str, str]
"""The option, `ignore` or `like`, and the rule."""


def propose_rules(
    method: str, params: Any, differences: Sequence[Mismatch]
) -> tuple[ProposedRule, ...]:
    """Return the rules that allow these differences in the params of a recorded request; none where
    rules allow nothing.
    """
    from mcpmock.matching.match_rule import rule_for  # a replay without misses starts without

    from .loosened import FIXED_NAMES, named

    found: dict[ProposedRule, None] = {}
    for one in differences:
        inner, its, place = method, params, one.place
        if method == "batch":
            if len(place) < 2 or place[1] != 1:
                return ()
            (inner, its), place = params[place[0]], place[2:]
        name = named(inner, its) if inner in FIXED_NAMES else ""
        if not place or (inner in FIXED_NAMES and place == (NAMES[inner],)):
            return ()
        found[rule_for(inner, name, ("params", *place), one.recorded, one.live)] = None
    return tuple(found)


@attrs.frozen
class Miss:
    """A live request that matches nothing recorded, and the nearest recorded requests, the nearest
    first.
    """

    method: str
    near: tuple[NearMiss, ...]
    revisions: str | None = None
    """The revisions of the recording and of the client in words, where their eras differ."""

    @property
    def is_used_up(self) -> bool:
        """Whether the recording answers the request, but not so often."""
        return any(near.why == USED_UP for near in self.near)


def miss_error(ids: Sequence[bytes], miss: Miss, batch: bool) -> Frame:
    """Return the JSON-RPC error for each request of a live message that matches nothing
    recorded.
    """
    why = f" ({miss.revisions})" if miss.revisions else ""
    again = " again (the option repeats says what may be)" if miss.is_used_up else ""
    message = f"mcpmock: nothing recorded answers this {miss.method}{again}{why}"
    data = {"near": near_misses(miss)}
    errors = [edit.error(id_, NOTHING_RECORDED, message, data) for id_ in ids]
    return Frame(S2C, b"[%b]" % b",".join(errors) if batch else errors[0])


def hide_secrets(
    near: Sequence[NearMiss],
    live: ClientMessage,
    known: Bindings,
    rules: RedactionRules | None = None,
) -> list[NearMiss]:
    """Return near misses without the secrets of the live client, as a recording would have them:
    what a miss says reaches terminals, logs and reports. `known` are the values of placeholders.
    """
    if not any(one.differences for one in near):
        return [*near]
    from mcpmock.redaction.redactor import Redactor  # a replay without misses does not pay for it

    redactor = Redactor() if rules is None else Redactor(rules)
    redactor.learn_bindings(known)
    redactor.json(live.frame.raw)
    if live.head is not None:
        redactor.head(live.head)

    def hidden(found: Mismatch) -> Mismatch:
        names = (step for step in reversed(found.place) if isinstance(step, str))
        name = next(names, _POSITIONS.sub("", found.path).rpartition(".")[2])
        values = (
            value if value is UNSET else redactor.value(name, value)
            for value in (found.recorded, found.live)
        )
        recorded, live = values
        return Mismatch(found.path, recorded, live, found.place)

    return [attrs.evolve(one, differences=tuple(map(hidden, one.differences))) for one in near]


def near_misses(miss: Miss) -> list[dict[str, Any]]:
    """Return the nearest requests as JSON: `event` (null for a stub's entry), `why`, up to ten
    `differences` (null for a value that is absent), and the `rules` that would allow them.
    """
    return [_near_miss(near) for near in miss.near]


def _near_miss(near: NearMiss) -> dict[str, Any]:
    differences = [
        {
            "path": d.path,
            "recorded": None if d.recorded is UNSET else d.recorded,
            "live": None if d.live is UNSET else d.live,
        }
        for d in near.differences[:_MAX_DIFFERENCES]
    ]
    event = None if near.n == STUBBED else near.n
    rules = [rule for _, rule in near.rules]
    return {"event": event, "why": near.why, "differences": differences, "rules": rules}


def describe(near: NearMiss) -> str:
    """Return in words where a request differs. It quotes the traffic: print it through
    `printable`.
    """
    had = "stubbed" if near.n == STUBBED else "recorded"
    return "".join(
        f"; {one.path}: {had} {_shorten_value(one.recorded)}, asked {_shorten_value(one.live)}"
        for one in near.differences[:3]
    )


def _shorten_value(value: Any) -> str:
    if value is UNSET:
        return "absent"
    try:
        text = msgspec.json.encode(value).decode()
    except (ValueError, TypeError):
        text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
