"""A live request that matches nothing recorded: what differs, what would allow it, and why.

`Miss` is the one value that says so. `matcher` finds the near misses, `player` hides the secrets in
them. Three print it: `miss_error` here for the client, `view.miss_report` for the terminal and for
pytest. Agents show the message of the error alone, so that is a whole sentence.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import attrs
import msgspec
from msgspec import UNSET, Struct

from mcpmock.lazy_pattern import lazy_pattern
from mcpmock.printable import excerpt, excerpts, many, mcpmock_command, printable, shell_command
from mcpmock.protocol import edit
from mcpmock.protocol.error_codes import NOTHING_RECORDED
from mcpmock.protocol.messages import (
    S2C,
    Batch,
    Frame,
    Notification,
    Request,
    decode,
    parse_items,
)
from mcpmock.protocol.methods import NAMES

from .request_assembly import ClientMessage
from .request_key import BATCH, as_written, named
from .variables import Bindings, Mismatch

if TYPE_CHECKING:
    from mcpmock.redaction.redaction_rules import RedactionRules

ELSEWHERE = "in another recorded session"
USED_UP = "already used"
DIFFERENT = "different"
OUT_OF_ORDER = "out of order"
STUBBED = 0
"""The event number of a stub's entry, which was never recorded."""
THE_STUB = "the stub"
"""What stands for the name of the cassette where there is none."""
REPEAT = ("repeats", "last")
"""The option that answers a call more often than it was recorded."""
IN_ANY_TURN = ("order", "causal")
"""The option that lets requests come in another order."""
ANY_SESSION = ("sessions", "reuse")
"""The option that replays a session again."""
RULES = ("ignore", "like")
"""The options that are rules, which a cassette can hold too."""
NOTHING_ANSWERS = "nothing recorded answers "
MAX_NEAR = 3
_MAX_DIFFERENCES = 10
_MAX_NAMED = 3
_MAX_VALUE_CHARS = 60
_MAX_ARGUMENTS_CHARS = 80
_MAX_PATH_CHARS = 120
_MAX_RULE_CHARS = 300
_POSITIONS = lazy_pattern(r"(?:\[\d+\])+\Z")

ProposedRule = tuple[str, str]
"""The option, `ignore` or `like`, and the rule."""
ProposedOption = tuple[str, str]
"""An option and its value."""


@attrs.frozen
class NearMiss:
    """A recorded request (or a STUBBED one) that did not match: its event number, and why."""

    n: int
    why: str
    differences: tuple[Mismatch, ...] = ()
    """Where it differs; not what the match level or a rule allows."""
    rules: tuple[ProposedRule, ...] = ()
    """The rules that would allow it; none where a name, a header or the count differs."""
    options: tuple[ProposedOption, ...] = ()
    """The other options that it takes."""
    distance: tuple[int, ...] = attrs.field(
        default=attrs.Factory(lambda self: (len(self.differences), 0), takes_self=True), eq=False
    )
    """How far it differs, for sorting."""
    same_name: bool = attrs.field(default=True, eq=False)
    """Whether it is of the tool, prompt or resource that was asked for."""

    @property
    def allow(self) -> tuple[ProposedOption, ...]:
        """All options that would let it answer; empty if none does."""
        return (*self.rules, *self.options)

    @property
    def source(self) -> str:
        return THE_STUB if self.n == STUBBED else f"event {self.n}"

    def describe(self) -> str:
        """Return in words where it differs. It quotes the traffic: print it through `printable`."""
        had = "stubbed" if self.n == STUBBED else "recorded"
        rest = len(self.differences) - _MAX_NAMED
        found = (
            f"; {excerpt(one.path, _MAX_PATH_CHARS)}: {had} {recorded}, asked {live}"
            for one in self.differences[:_MAX_NAMED]
            for recorded, live in (shown_values(one),)
        )
        return "".join(found) + (f"; and {rest} more" if rest > 0 else "")


class Miss(Struct, frozen=True):
    """A live request that matches nothing recorded, and the nearest recorded requests, the nearest
    first.
    """

    method: str
    near: tuple[NearMiss, ...]
    revisions: str | None = None
    """The revisions of the recording and of the client in words, where their eras differ."""
    asked: str = ""
    """The name and the arguments in words, without secrets."""
    unread: str = ""
    """What the client sent in words, where it is no message."""
    rules_in: str = ""
    """The cassette that is to hold the rules, where the command of the replay is not typed."""

    @property
    def request(self) -> str:
        return f"{self.method} {self.asked}".rstrip()

    @property
    def allow(self) -> tuple[ProposedOption, ...]:
        """The fewest options that would let a recorded request answer: those of the nearest."""
        found = [near.allow for near in self.near if near.allow]
        return min(found, key=len, default=())

    @property
    def sentence(self) -> str:
        """What to say in one line: the request, the nearest recorded one, and a rule."""
        if self.unread:
            return printable(self.unread)
        return f"{NOTHING_ANSWERS}{self.summarize()}"

    def summarize(self, *, keywords: bool = False) -> str:
        """Return the request, the nearest recorded one, and a rule; with `keywords` as in
        Python.
        """
        if self.unread:
            return self.sentence
        text = self.request + (f" ({self.revisions})" if self.revisions else "")
        if self.near:
            text += f"; nearest: {self.near[0].source}, {self._nearest_place}"
        rules = [one for one in self.allow if one[0] in RULES]
        others = [one for one in self.allow if one not in rules]
        allow = self.spell([*others, *rules[:1]], keywords=keywords)
        if allow and len(allow) <= _MAX_RULE_CHARS:
            more = f" and {many(len(rules) - 1, 'more rule')}" if len(rules) > 1 else ""
            text += f"; allow with {allow}{more}"
        return printable(text)

    def spell(self, options: Sequence[ProposedOption], *, keywords: bool = False) -> str:
        """Return how to give these options: to the replay, or as rules in the cassette."""
        if self.rules_in and options and all(name in RULES for name, _ in options):
            words = option_words(options)
            return f"`{mcpmock_command('fmt', self.rules_in, options=words)}`"
        return spell_options(options, keywords=keywords)

    @property
    def _nearest_place(self) -> str:
        near = self.near[0]
        if not near.differences:
            return near.why
        one, rest = near.differences[0], len(near.differences) - 1
        recorded, live = shown_values(one)
        text = f"{excerpt(one.path, _MAX_PATH_CHARS)} {recorded}"
        if self.asked.endswith("...") or ("\\u" in live and live not in self.asked):
            text += f", asked {live}"
        return text + (f" and {rest} more" if rest else "")


def first_near(near: Sequence[NearMiss]) -> list[NearMiss]:
    """Return those to show, the nearest first; those of another tool, prompt or resource only where
    there is none of the same. One that some options let answer is among them.
    """
    found = sorted(near, key=lambda one: (one.distance, one.why == ELSEWHERE, one.n))
    same = [one for one in found if one.same_name] or found
    shown = same[:MAX_NEAR]
    if not any(one.allow for one in shown):
        # A rule can also let another resource answer.
        allowed = [one for one in (*same, *found) if one.allow][:1]
        shown[MAX_NEAR - 1 :] = allowed or shown[MAX_NEAR - 1 :]
    return shown


def request_words(method: str, params: Any) -> str:
    """Return the name and the arguments of a request in words, shortened; empty without both."""
    given = params if isinstance(params, dict) else {}
    member = NAMES.get(method, "")
    name = given.get(member)
    is_named = isinstance(name, str)
    left = {key: value for key, value in given.items() if key not in (is_named and member, "_meta")}
    words = [excerpt(name, _MAX_ARGUMENTS_CHARS)] if isinstance(name, str) else []
    if not isinstance(params, dict):
        shown = params
    else:
        shown = left.get("arguments") if is_named and left.keys() <= {"arguments"} else left
    return " ".join([*words, excerpt(_spell(shown), _MAX_ARGUMENTS_CHARS)] if shown else words)


def propose_rules(
    method: str, params: Any, differences: Sequence[Mismatch]
) -> tuple[ProposedRule, ...]:
    """Return the rules that allow these differences in the params of a recorded request; none where
    rules allow nothing. For `_meta` it is one for all methods and tools.
    """
    from mcpmock.matching.match_rule import rule_for  # a replay without misses starts without

    from .loosened import FIXED_NAMES

    found: dict[ProposedRule, None] = {}
    for one in differences:
        inner, its, place = method, params, one.place
        if method == BATCH and place:
            (inner, its), place = params[place[0]], place[2:]
        name = named(inner, its) if inner in FIXED_NAMES else ""
        if not place or (inner in FIXED_NAMES and place == (NAMES[inner],)):
            return ()
        if place[0] == "_meta":
            rule = rule_for("", "", ("params", "_meta"))
        else:
            rule = rule_for(inner, name, ("params", *place), one.recorded, one.live)
        found[rule] = None
    return tuple(found)


def miss_error(ids: Sequence[bytes], miss: Miss, batch: bool) -> Frame:
    """Return the JSON-RPC error for each request of a live message that matches nothing
    recorded.
    """
    data = {"near": near_misses(miss)}
    message = f"mcpmock: {miss.sentence}"
    errors = [edit.error(id_, NOTHING_RECORDED, message, data) for id_ in ids]
    return Frame(S2C, b"[%b]" % b",".join(errors) if batch else errors[0])


def unread_message(
    live: ClientMessage, known: Bindings, rules: RedactionRules | None = None
) -> Miss:
    """Return the miss of a line or body that is not a message: nothing answers it."""
    from mcpmock.redaction.redactor import Redactor

    redactor = Redactor() if rules is None else Redactor(rules)
    redactor.learn_bindings(known)
    raw = live.frame.raw
    text = _spell(redactor.text(raw).decode("utf-8", "replace"))
    told = f"the client sent {many(len(raw), 'byte')}, no JSON-RPC message; nothing answers it"
    return Miss(live.name, (), unread=f"{told}: {excerpt(text, _MAX_ARGUMENTS_CHARS)}")


def hide_secrets(
    near: Sequence[NearMiss],
    live: ClientMessage,
    known: Bindings,
    rules: RedactionRules | None = None,
) -> tuple[list[NearMiss], str]:
    """Return near misses, and what was asked in words, without the secrets of the live client, as a
    recording would have them: what a miss says reaches terminals, logs and reports. `known` are the
    values of placeholders.
    """
    from mcpmock.redaction.redactor import Redactor  # a replay without misses does not pay for it

    redactor = Redactor() if rules is None else Redactor(rules)
    redactor.learn_bindings(known)
    asked = _asked(Frame(live.frame.direction, redactor.json(live.frame.raw)))
    if live.head is not None:
        redactor.head(live.head)

    def hidden(found: Mismatch) -> Mismatch:
        names = (step for step in reversed(found.place) if isinstance(step, str))
        name = next(names, _POSITIONS.sub("", found.path).rpartition(".")[2])
        asked = as_written(live.frame, found.place) if found.live is UNSET else found.live
        recorded, value = (
            one if one is UNSET else redactor.value(name, one) for one in (found.recorded, asked)
        )
        return Mismatch(redactor.shown(found.path), recorded, value)

    told = [
        attrs.evolve(
            one,
            differences=tuple(map(hidden, one.differences)),
            rules=() if any(redactor.shown(rule) != rule for _, rule in one.rules) else one.rules,
        )
        for one in near
    ]
    return told, asked


def _asked(redacted: Frame) -> str:
    content = redacted.content
    if isinstance(content, Batch):
        items = [one for one in parse_items(redacted.raw) if isinstance(one, Request)]
        words = (f"{one.method} {_asked_of(one)}".rstrip() for one in items)
        return excerpt(f"of {', '.join(words)}", 2 * _MAX_ARGUMENTS_CHARS)
    return _asked_of(content) if isinstance(content, (Request, Notification)) else ""


def _asked_of(message: Request | Notification) -> str:
    return request_words(message.method, decode(message.params or b"null"))


def near_misses(miss: Miss) -> list[dict[str, Any]]:
    """Return the nearest requests as JSON: `event` (null for a stub's entry), `why`, up to ten
    `differences` (null for a value that is absent), the `rules` that would allow them, and all that
    would in words of the command line, `allow`.
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
    words = option_words(near.allow)
    return {
        "event": event,
        "why": near.why,
        "differences": differences,
        "rules": rules,
        "allow": words,
    }


def option_words(options: Sequence[ProposedOption]) -> list[str]:
    """Return options as words of a command line."""
    return [word for option, value in options for word in (f"--{option}", value)]


def spell_options(options: Sequence[ProposedOption], *, keywords: bool = False) -> str:
    """Return options as a shell takes them, or as keywords of Python and of the marker."""
    if not keywords:
        return shell_command(option_words(options))
    rules: dict[str, list[str]] = {"ignore": [], "like": []}
    for option, value in options:
        rules.get(option, []).append(value)
    words = [f"{option}={texts!r}" for option, texts in rules.items() if texts]
    words += [f"{option}={value!r}" for option, value in options if option not in rules]
    return ", ".join(words)


def shown_values(found: Mismatch) -> tuple[str, str]:
    """Return both values of a difference as shortened JSON."""
    recorded, live = map(_spell, (found.recorded, found.live))
    return excerpts(recorded, live, _MAX_VALUE_CHARS)


def _spell(value: Any) -> str:
    if value is UNSET:
        return "absent"
    try:
        return msgspec.json.encode(value).decode()
    except (ValueError, TypeError, RecursionError):
        return repr(value)
