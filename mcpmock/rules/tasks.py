"""Rules of the tasks of 2025-11-25: which tools are called as tasks, the statuses that a task goes
through, and what answers tell of it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from datetime import UTC, datetime

import attrs

from mcpmock.protocol.contents import SECRET_MARK
from mcpmock.protocol.correlation import PendingCall
from mcpmock.protocol.error_codes import INVALID_PARAMS, METHOD_NOT_FOUND
from mcpmock.protocol.messages import Notification, Request, Response
from mcpmock.protocol.methods import LAST_LEGACY

from .context import PREFIX, CheckedMessage, Object, State, as_object, declared, place, short
from .exchange import MAX_REMEMBERED
from .listings import TOOLS, Listings
from .memory import drop_oldest
from .server_answers import AnswerChecker, ExpectedError
from .specification import Breach

_CALL, _GET, _RESULT, _LIST, _CANCEL = (
    "tools/call",
    "tasks/get",
    "tasks/result",
    "tasks/list",
    "tasks/cancel",
)
_STATUS = "notifications/tasks/status"
METHODS = {_CALL, _GET, _RESULT, _LIST, _CANCEL, _STATUS}
"""The methods of all messages that these rules look at."""
_BEGIN, _CANCELLED = "working", "cancelled"
_ENDED = ("completed", "failed", _CANCELLED)
_RELATED = f"{PREFIX}related-task"
_PAGE = "basic/utilities/tasks"
_NOT_FOUND = (
    "Receivers MUST return standard JSON-RPC errors for the following protocol error cases: Invalid"
    " or nonexistent taskId in tasks/get, tasks/result, or tasks/cancel: -32602 (Invalid params)"
)
_FORBIDDEN = (
    "Servers SHOULD return a -32601 (Method not found) error if a client attempts to do so."
)


@attrs.frozen
class _KnownTask:
    status: object
    updated: float
    """Its `lastUpdatedAt`, in seconds."""


@attrs.frozen
class _ToolCall:
    """A call of a tool on a server that declares tasks for it."""

    name: object
    as_task: bool
    support: object
    """The tool's `taskSupport`; None if the tool is not known."""


def concern(checked: CheckedMessage, state: State) -> bool:
    """Return whether a message may be of a task, or of a call that should be one."""
    if checked.method != _CALL or b'"task"' in checked.raw:
        return True
    return state.server_capabilities is not None and "tasks" in state.server_capabilities


@attrs.define
class TaskTracker:
    """The tasks that a server runs in one session."""

    _calls: OrderedDict[PendingCall, _ToolCall] = attrs.field(factory=OrderedDict)
    _late_cancels: OrderedDict[PendingCall, None] = attrs.field(factory=OrderedDict)
    """Cancels that were sent when the task was known to have ended."""
    _tasks: OrderedDict[str, _KnownTask] = attrs.field(factory=OrderedDict)
    _created: OrderedDict[str, None] = attrs.field(factory=OrderedDict)
    _forgotten: bool = False

    def check_message(
        self, checked: CheckedMessage, state: State, listings: Listings, answers: AnswerChecker
    ) -> Iterator[Breach]:
        """Yield the breaches in calls of tools and in what is said of tasks."""
        call, message = checked.attribution.call, checked.message
        if checked.revision != LAST_LEGACY or checked.attribution.late:
            return
        if isinstance(message, Request) and checked.from_client and call is not None:
            if checked.method == _CALL:
                yield from self._check_call(checked, state, listings, (call, answers))
            else:
                self._note_request(checked, call, answers)
        elif isinstance(message, Notification) and not checked.from_client:
            yield from self._check_status(checked.params, ("params",))
        elif isinstance(message, Response) and not checked.from_client and call is not None:
            yield from self._check_response(checked, call)

    def _check_call(
        self,
        checked: CheckedMessage,
        state: State,
        listings: Listings,
        expected: tuple[PendingCall, AnswerChecker],
    ) -> Iterator[Breach]:
        server = state.server_capabilities
        if server is None or not declared(server, "tasks.requests.tools.call"):
            return
        call, answers = expected
        name, as_task = checked.params.get("name"), checked.params.get("task") is not None
        execution = as_object(listings.definition(TOOLS, name).get("execution"))
        support = execution.get("taskSupport", "forbidden") if listings.knows(TOOLS, name) else None
        self._calls[call] = _ToolCall(name, as_task, support)
        drop_oldest(self._calls, MAX_REMEMBERED)
        if support == "required" and not as_task:
            yield Breach("task-required", f"{short(name)} not as a task, which it requires")
        elif support == "forbidden" and as_task:
            what = f"{short(name)} as a task, which it forbids"
            yield Breach("task-forbidden", what, place("params", "task"))
            found = ExpectedError("error-code-differs", METHOD_NOT_FOUND, what, _FORBIDDEN, _PAGE)
            answers.expect(call, found)

    def _note_request(
        self, checked: CheckedMessage, call: PendingCall, answers: AnswerChecker
    ) -> None:
        id_ = checked.params.get("taskId")
        if not isinstance(id_, str):
            return
        known = self._tasks.get(id_)
        if known is None and not self._forgotten and SECRET_MARK not in id_:
            what = f"the task {short(id_)}, which no answer created"
            answers.expect(
                call, ExpectedError("not-found-code", INVALID_PARAMS, what, _NOT_FOUND, _PAGE)
            )
        elif known is not None and checked.method == _CANCEL and known.status in _ENDED:
            self._late_cancels[call] = None
            drop_oldest(self._late_cancels, MAX_REMEMBERED)

    def _check_response(self, checked: CheckedMessage, call: PendingCall) -> Iterator[Breach]:
        result = checked.result
        if checked.method == _CALL:
            asked = self._calls.pop(call, None)
            if asked is not None:
                yield from _check_answer(checked, asked)
            task = None if result is None else result.get("task")
            if isinstance(task, dict):
                yield from self._check_new(task)
            return
        id_ = checked.call_params.get("taskId")
        if checked.method == _CANCEL and call in self._late_cancels:
            del self._late_cancels[call]
            if result is not None or checked.code != INVALID_PARAMS:
                text = f"the cancel of {short(id_)}, which had ended, was not refused with -32602"
                yield Breach("task-cancel-ended", text)
                return
        if result is None:
            return
        if checked.method == _LIST:
            tasks = result.get("tasks")
            for index, one in enumerate(tasks if isinstance(tasks, list) else ()):
                yield from self._check_status(as_object(one), ("result", "tasks", index))
        elif checked.method == _RESULT:
            related = as_object(as_object(result.get("_meta")).get(_RELATED))
            if related.get("taskId") != id_:
                text = f"a result of {short(id_)} without {_RELATED}"
                yield Breach("related-task", text, place("result", "_meta", _RELATED))
        else:
            if checked.method == _CANCEL and result.get("status") != _CANCELLED:
                text = f"{short(id_)} is {short(result.get('status'))} after its cancel"
                yield Breach("task-transition", text, place("result", "status"))
            yield from self._check_status(result, ("result",))

    def _check_new(self, task: Object) -> Iterator[Breach]:
        id_, status = task.get("taskId"), task.get("status")
        if not isinstance(id_, str):
            return
        if id_ in self._created:
            yield Breach("task-id-reused", f"a second task {short(id_)}", "$.result.task.taskId")
        if status != _BEGIN:
            text = f"the new task {short(id_)} is {short(status)}"
            yield Breach("task-begin", text, "$.result.task.status")
        self._created[id_] = None
        drop_oldest(self._created, MAX_REMEMBERED)
        if id_ not in self._tasks:
            self._note(id_, task)

    def _check_status(self, task: Object, steps: tuple[str | int, ...]) -> Iterator[Breach]:
        """Check a status of a task against the one before."""
        id_, status = task.get("taskId"), task.get("status")
        if not isinstance(id_, str):
            return
        known = self._tasks.get(id_)
        if known is not None and known.status in _ENDED and status != known.status:
            # Over HTTP an older status may arrive later.
            if _updated(task) >= known.updated:
                text = f"{short(id_)} is {short(status)}, and was {known.status}"
                yield Breach("task-transition", text, place(*steps, "status"))
            return
        self._note(id_, task)

    def _note(self, id_: str, task: Object) -> None:
        self._tasks[id_] = _KnownTask(task.get("status"), _updated(task))
        self._tasks.move_to_end(id_)
        self._forgotten |= drop_oldest(self._tasks, MAX_REMEMBERED)


def _check_answer(checked: CheckedMessage, asked: _ToolCall) -> Iterator[Breach]:
    """Check whether a call was answered by a task, where it should."""
    result, name = checked.result, short(asked.name)
    if asked.support == "required" and not asked.as_task:
        if checked.code != METHOD_NOT_FOUND:
            text = f"{name}, which requires a task, was called without and not refused with -32601"
            yield Breach("task-required-answer", text)
        return
    refused = result is None or result.get("isError") is True or asked.support == "forbidden"
    if asked.as_task and not refused and "task" not in (result or {}):
        yield Breach("task-answer", f"{name} as a task was answered at once", "$.result")


def _updated(task: Object) -> float:
    try:
        found = datetime.fromisoformat(str(task.get("lastUpdatedAt")))
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return 0.0
