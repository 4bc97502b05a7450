"""Why a fault never fired, in words: what its `match` wants, held against what clients asked.

`receipts` puts the reason into the summary, the pytest plugin and `serve` warn with it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from mcpmock.printable import did_you_mean, many
from mcpmock.protocol.methods import METHODS, ROWS, Sender

from .fault import Fault
from .match import Turn

MAX_NAMES = 5
"""How many names are listed where none is near."""
_NOUNS = {"prompt": "prompt", "uri": "resource"}
Asked = tuple[str, Mapping[str, Any]]
"""The method and the decoded params of a request or notification of a client."""
_NAMES = (("tool", "tools/call", "name"), ("prompt", "prompts/get", "name"),
          ("uri", "resources/", "uri"))  # fmt: skip
"""By key of `match`: how the methods begin that it is about, and the member that names it."""


def reason_of(
    fault: Fault,
    turn: Turn,
    spoken: Collection[str],
    asked: Sequence[Asked] | None,
    heard: Sequence[Asked] = (),
) -> str:
    """Return why a fault never fired: `spoken` are the transports of the sessions so far, `asked`
    is what clients sent, None where it was not kept: then what the faults have `heard` of it is
    read.
    """
    match = fault.match
    if turn.seen:
        return _turn_reason(turn)
    if spoken and not set(spoken) & set(fault.transports):
        here = _or(spoken).replace("stdio", "stdio" if asked is None else "stdio or in memory")
        only = " and ".join(fault.transports)
        return f"the kind does not exist over {here}; it exists over {only}"
    if spoken and match.transport is not None and match.transport not in spoken:
        return f"no client came over {match.transport}, only over {_or(spoken)}"
    if match.probability == 0:
        return "its probability is 0"
    if asked is not None and not asked:
        return "no client sent anything"
    known = heard if asked is None else asked
    return next(_unasked(fault, known), "nothing matched") if known else "nothing matched"


def _turn_reason(turn: Turn) -> str:
    """Return why no turn came, or why nothing changed when one did."""
    match, seen = turn.match, turn.seen
    matched = f"{many(seen, 'message')} matched"
    left = seen - match.after
    for name, value, missed in (
        ("after", match.after, left <= 0),
        ("nth", match.nth, left < (match.nth or 0)),
        ("every", match.every, left < (match.every or 0)),
    ):
        if missed:
            return f"only {matched}, which {name}={value} does not reach"
    if match.between is not None and not turn.taken:
        start, end = match.between
        return f"{matched}, none of them between {start:g} s and {end:g} s of its session"
    if match.probability < 1 and not turn.taken:
        return f"{matched}, and the random seed chose none (probability={match.probability:g})"
    return f"{matched}, and none was changed"


def _unasked(fault: Fault, asked: Sequence[Asked]) -> Iterator[str]:
    """Yield the first condition on a method or name that nothing of what was asked meets."""
    match = fault.match
    for key, begins, member in _NAMES:
        glob = getattr(match, key)
        if glob is None:
            continue
        found = {
            str(params[member])
            for method, params in asked
            if method.startswith(begins) and member in params
        }
        if not any(fnmatchcase(name, glob) for name in found):
            asked_for = "called the tool" if key == "tool" else f"asked for the {_NOUNS[key]}"
            others = did_you_mean(glob, found, cutoff=0.5) or _list(found)
            yield f"no client {asked_for} {glob!r}{others}"
    methods = fault.about if match.method is None else [match.method]
    found = {method for method, _ in asked}
    if methods and not any(fnmatchcase(name, glob) for name in found for glob in methods):
        known = found | METHODS
        senders = {row.sender for row in ROWS if fnmatchcase(row.name, methods[0])}
        who = "no client sent" if senders == {Sender.CLIENT} else "neither side sent"
        near = did_you_mean(methods[0], known, cutoff=0.5) if not set(methods) & known else ""
        yield f"{who} {_or(methods)}{near}"
    if match.session is not None and match.session > 1:
        yield f"nothing matched in session {match.session}"


def _list(found: Collection[str]) -> str:
    """Return the names that were asked for instead."""
    more = ", .." if len(found) > MAX_NAMES else ""
    return f", only {', '.join(sorted(found)[:MAX_NAMES])}{more}" if found else ""


def _or(words: Collection[str]) -> str:
    return " or ".join(sorted(words))
