"""The rule `shape`: each message fits its definition in the schema of its revision.

`protocol.shapes` knows the definitions; here is which one a message has to fit, and where another
rule has said it already.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from mcpmock.protocol import messages as m
from mcpmock.protocol.revisions import VERSION_PATH
from mcpmock.protocol.shapes import Misfit, Shapes, Step, shapes_of

from .capabilities import sent_by
from .context import PREFIX, SENT, CheckedMessage, State, place, short, why_unreadable
from .exchange import MAX_REMEMBERED
from .modern import CAPABILITIES, COMPLETE, INPUT_REQUIRED
from .specification import Breach, Unjudged, Violation

MAX_MISFITS = 20
"""How many places of one message are named."""
_AUGMENTED = ("tools/call", "sampling/createMessage", "elicitation/create")
"""What may run as a task: the TypeScript SDK 1 sends `task` with `tasks/get`, too."""


class _Judged(NamedTuple):
    """Which member of a message is held against which definition: its value and its bytes; for
    `params` the value of the whole message.
    """

    definition: str
    member: str
    value: Any
    raw: bytes


def check_message(
    checked: CheckedMessage, state: State, found: Collection[object]
) -> Iterable[Breach | Unjudged]:
    """Return the places that do not fit. `found` is what other rules say of the message: that is
    not said again.
    """
    if checked.revision is None:
        return ()
    shapes = shapes_of(checked.revision)
    judged = _judged_part(checked, state, shapes)
    if judged is None or shapes.fits(judged[0], judged[2]):
        return ()
    broken = {one.rule.name for one in found if isinstance(one, Violation)}
    return _breaches(checked, shapes, _Judged(*judged), broken)


def _breaches(
    checked: CheckedMessage, shapes: Shapes, judged: _Judged, broken: Collection[str]
) -> Iterator[Breach | Unjudged]:
    name, member, value, raw = judged
    what = _describe(checked, member)
    if m.decode(raw) is None:
        yield Unjudged(what, why_unreadable(raw))
        return
    start = () if member == "params" else (member,)
    misfits = [
        Misfit((*start, *one.steps), one.problem, one.sentence)
        for one in shapes.misfits(name, value)
    ]
    left = [one for one in misfits if not any(_says(rule, one) for rule in broken)]
    for one in left[:MAX_MISFITS]:
        path = place(*one.steps)
        yield Breach("shape", f"{what}, {path}: {one.problem}", path, one.sentence)
    if len(left) > MAX_MISFITS:
        more = f"{what}: and {len(left) - MAX_MISFITS} more"
        yield Breach("shape", more, "$", left[MAX_MISFITS].sentence)


def _describe(checked: CheckedMessage, member: str) -> str:
    kind = "notification" if isinstance(checked.message, m.Notification) else "request"
    kind = kind if member == "params" else member
    return kind if checked.method is None else f"{short(checked.method)} {kind}"


def _judged_part(
    checked: CheckedMessage, state: State, shapes: Shapes
) -> tuple[str, str, Any, bytes] | None:
    """Return what is judged of a message, as in `_Judged`; None if nothing is. Of values that are
    no objects `members-object` speaks.
    """
    message = checked.message
    if isinstance(message, m.Response):
        result, error = message.result, message.error
        if result is not None:
            if result[:1] != b"{" or (checked.modern and not _speaks_modern(checked, state)):
                return None
            return _definition_answered(checked, shapes), "result", checked.result, result
        if error is None or error[:1] != b"{":
            return None
        code = checked.code
        typed = shapes.errors.get(code) if isinstance(code, int) else None
        name = typed or ("Error" if "Error" in shapes else "JSONRPCError.error")
        return name, "error", checked.error, error
    if not isinstance(message, SENT):
        return None
    params = message.params
    sent = _definition_sent(checked.revision or "", message.method, checked.from_client)
    if sent is None or sent.endswith("Request") is not isinstance(message, m.Request):
        return None
    if params is None:
        return sent, "params", {"method": message.method}, b"{}"
    if params[:1] != b"{":
        return None
    return sent, "params", {"method": message.method, "params": checked.params}, params


def _speaks_modern(checked: CheckedMessage, state: State) -> bool:
    """Leave out legacy servers, and clients, which give no results in the modern era."""
    return state.server.modern and not checked.from_client


@lru_cache(MAX_REMEMBERED)
def _definition_sent(revision: str, method: str, from_client: bool) -> str | None:
    if method not in sent_by(revision, from_client=from_client):
        return None  # `method-sender` or `method-revision` says it
    return shapes_of(revision).methods.get(method)


def _definition_answered(checked: CheckedMessage, shapes: Shapes) -> str:
    """Return the definition of a result."""
    result = checked.result or {}
    method = checked.method or ""
    if checked.modern and (kind := result.get("resultType")) not in (None, COMPLETE):
        return "InputRequiredResult" if kind == INPUT_REQUIRED else "Result"
    augmented = method in _AUGMENTED and "task" in result and "task" in checked.call_params
    if augmented and "CreateTaskResult" in shapes:
        return "CreateTaskResult"
    return shapes.result_of(method)


class _Said(NamedTuple):
    """What a rule says of a message: that these members are missing, and all that is below."""

    missing: Collection[tuple[Step, ...]] = ()
    below: Collection[tuple[Step, ...]] = ()


def _members(start: str, *names: str) -> list[tuple[Step, ...]]:
    return [(start, name) for name in names]


_META = ("params", "_meta")
_PROGRESS = _members("params", "progressToken", "progress")
_SAID = {
    "members-object": _Said(below=[("params",), ("result",)]),
    "initialize-params": _Said(
        [("params",), *_members("params", "protocolVersion", "capabilities", "clientInfo")]
    ),
    "initialize-result": _Said(_members("result", "protocolVersion", "capabilities", "serverInfo")),
    "meta-required": _Said(
        [("params",), _META], [(*_META, VERSION_PATH[-1]), (*_META, CAPABILITIES)]
    ),
    "result-type": _Said(_members("result", "resultType")),
    "cache-hints": _Said(_members("result", "ttlMs", "cacheScope")),
    "cache-ttl": _Said(below=_members("result", "ttlMs")),
    "discover-result": _Said(_members("result", "supportedVersions", "capabilities")),
    "input-kind": _Said(below=_members("result", "inputRequests")),
    "error-members": _Said(_members("error", "code"), _members("error", "message")),
    "error-code": _Said(below=_members("error", "code")),
    "error-data": _Said(below=_members("error", "data")),
    "progress-members": _Said([("params",)], _PROGRESS),
    "token-type": _Said(below=[(*_META, "progressToken")]),
    "cancels-nothing": _Said([("params",)], _members("params", "requestId")),
    "subscription-id": _Said(below=[(*_META, f"{PREFIX}subscriptionId")]),
}
"""What other rules say."""


def _says(rule: str, misfit: Misfit) -> bool:
    said, steps = _SAID.get(rule), misfit.steps
    if said is None:
        return False
    missing = misfit.problem == "missing" and steps in said.missing
    return missing or any(steps[: len(start)] == start for start in said.below)
