"""`CoverageReader`: takes the messages of sessions with servers, in their order, and gives their
`Coverage`.

Pure and bounded. A server is known by the name in its `serverInfo`, from whatever message has it.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import attrs

from mcpmock.cassette.model import Cassette
from mcpmock.matching.paths import spell_step
from mcpmock.protocol import messages as m
from mcpmock.protocol.call_outcomes import CallOutcome, CallOutcomes
from mcpmock.protocol.methods import LISTS, NAMES, ROWS, MessageKind, Sender

from .coverage import (
    ARGUMENTS,
    ERRORS,
    NOTIFICATIONS,
    PARAMETERS,
    PROMPTS,
    RESOURCES,
    TEMPLATES,
    TOOLS,
    VALUES,
    Coverage,
    ServerCoverage,
)
from .names import ArgumentNames, SchemaNames

_PREFIX = "io.modelcontextprotocol/"
_KIND_OF_LIST = {
    "tools": (TOOLS, "name"),
    "prompts": (PROMPTS, "name"),
    "resources": (RESOURCES, "uri"),
    "resourceTemplates": (TEMPLATES, "uriTemplate"),
}
"""By the member of a result that is a list: what it lists, and the member that names an item."""
_KIND_OF_CALL = {"tools/call": TOOLS, "prompts/get": PROMPTS, "resources/read": RESOURCES}
_HANDSHAKES = ("initialize", "server/discover")
_DECLARED = {
    row.name: row.gate.split(".")
    for row in ROWS
    if row.kind is MessageKind.NOTIFICATION and Sender.SERVER in row.sender and row.gate
    if row.gate.split(".")[0] in ("tools", "prompts", "resources", "logging")
}
"""By notification, the capability that declares it."""
_MAX_TASKS = 1000
_MAX_SESSIONS = 10_000


@attrs.define
class _SessionCoverage:
    server: str | None = None
    coverage: ServerCoverage = attrs.field(factory=ServerCoverage)


@attrs.define
class CoverageReader:
    """Reads the sessions of one take, or of one running server. Without `calls` only what is
    listed counts.
    """

    calls: bool = True
    _outcomes: CallOutcomes = attrs.field(factory=CallOutcomes)
    _sessions: OrderedDict[int, _SessionCoverage] = attrs.field(factory=OrderedDict)
    _tasks: OrderedDict[str, m.Request] = attrs.field(factory=OrderedDict)
    """The calls that became tasks, by the id of the task."""

    def note(self, session: int, frame: m.Frame) -> None:
        """Take the next frame of a session."""
        if frame.fact is not None:
            return
        for message in m.parse_items(frame.raw):
            outcome = self._outcomes.note(session, frame.exchange, frame.direction, message)
            if outcome is not None and outcome.response is not None:
                self._note_answer(self._session(session), outcome, outcome.response)
            method = message.method if isinstance(message, m.Notification) else ""
            if self.calls and method in _DECLARED and frame.direction is m.S2C:
                self._session(session).coverage.note_used(NOTIFICATIONS, method)

    def end(self, usual: str = "") -> Coverage:
        """Return the coverage. Sessions without a name belong to the only server that has one; else
        to the `usual` one.
        """
        names = {one.server for one in self._sessions.values() if one.server is not None}
        usual = names.pop() if len(names) == 1 else usual
        found = Coverage()
        for one in self._sessions.values():
            found.of(usual if one.server is None else one.server).include(one.coverage)
        return found

    def _session(self, number: int) -> _SessionCoverage:
        found = self._sessions.get(number)
        if found is None:
            if len(self._sessions) >= _MAX_SESSIONS:  # what is beyond counts for the last one
                return next(reversed(self._sessions.values()))
            found = self._sessions[number] = _SessionCoverage()
        return found

    def _note_answer(
        self, session: _SessionCoverage, outcome: CallOutcome, answer: m.Response
    ) -> None:
        method, coverage = outcome.request.method, session.coverage
        result = None if answer.result is None else m.object_in(answer.result)
        if result is not None:
            self._note_server(session, method, result)
            if method in LISTS and LISTS[method] in _KIND_OF_LIST:
                _note_list(coverage, LISTS[method], result)
        if not self.calls:
            return
        if method in _KIND_OF_CALL:
            self._note_call(coverage, outcome.request, result, failed=answer.failed)
        elif method in ("tasks/result", "tasks/get") and result is not None:
            self._note_task(coverage, outcome.request, result, failed=answer.failed)

    def _note_server(self, session: _SessionCoverage, method: str, result: dict[str, Any]) -> None:
        meta = result.get("_meta")
        info = result.get("serverInfo") if method in _HANDSHAKES else None
        if info is None and isinstance(meta, dict):
            info = meta.get(f"{_PREFIX}serverInfo")
        name = info.get("name") if isinstance(info, dict) else None
        if session.server is None and isinstance(name, str):
            session.server = name
        if method in _HANDSHAKES:
            for notification, gate in _DECLARED.items():
                if _declares(result.get("capabilities"), gate):
                    session.coverage.note_listed(NOTIFICATIONS, notification)

    def _note_call(
        self, coverage: ServerCoverage, request: m.Request, result: Any, *, failed: bool
    ) -> None:
        """Count a call that is over. One that became a task, or wants input, is not."""
        kind, params = _KIND_OF_CALL[request.method], _params(request)
        name = params.get(NAMES[request.method])
        if failed:
            if kind == TOOLS:
                coverage.note_used(ERRORS, name)
            return
        task = _task_of(result)
        if task is not None:
            self._tasks[task] = request
            if len(self._tasks) > _MAX_TASKS:
                self._tasks.popitem(last=False)
            return
        if isinstance(result, dict) and result.get("resultType") == "input_required":
            return
        coverage.note_used(kind, name)
        if kind == RESOURCES or not isinstance(name, str):
            return
        names = ArgumentNames(name, params.get("arguments"))
        for parameter in names.parameters:
            coverage.note_used(PARAMETERS if kind == TOOLS else ARGUMENTS, parameter)
        for value in names.values if kind == TOOLS else ():
            coverage.note_used(VALUES, value)

    def _note_task(
        self, coverage: ServerCoverage, request: m.Request, result: dict[str, Any], *, failed: bool
    ) -> None:
        """Count the call that became a task, once that is over."""
        task = _params(request).get("taskId")
        call = self._tasks.get(task) if isinstance(task, str) else None
        if call is None or not isinstance(task, str):
            return
        if request.method == "tasks/get":  # since 2026-07-28 the result is in it
            status, inner = result.get("status"), result.get("result")
            done = status == "completed" and isinstance(inner, dict)
            if not done and status != "failed":
                return
            result = inner if done and isinstance(inner, dict) else {}
            failed = not done or result.get("isError") is True
        del self._tasks[task]
        self._note_call(coverage, call, result, failed=failed)


def coverage_of(cassette: Cassette, *, calls: bool = True) -> Coverage:
    """Return the coverage of a recording; without `calls` only what it lists."""
    found = Coverage()
    for take in cassette.takes:
        reader = CoverageReader(calls=calls)
        for event in take.events:
            frame = event.frame
            if frame is not None and event.oversize is None:
                reader.note(event.s, frame)
        found.include(reader.end())
    found.name_the_nameless()
    return found


def _note_list(coverage: ServerCoverage, member: str, result: dict[str, Any]) -> None:
    kind, names = _KIND_OF_LIST[member]
    listed = result.get(member)
    for item in listed if isinstance(listed, list) else ():
        name = item.get(names) if isinstance(item, dict) else None
        if not isinstance(name, str):
            continue
        coverage.note_listed(kind, name)
        if kind == TOOLS:
            offered = SchemaNames(name, item.get("inputSchema"))
            coverage.note_listed(PARAMETERS, *offered.parameters)
            coverage.note_listed(VALUES, *offered.values)
        elif kind == PROMPTS:
            arguments = item.get("arguments")
            for one in arguments if isinstance(arguments, list) else ():
                if isinstance(one, dict) and isinstance(one.get("name"), str):
                    coverage.note_listed(ARGUMENTS, name + spell_step(one["name"]))


def _params(request: m.Request) -> dict[str, Any]:
    return {} if request.params is None else m.object_in(request.params)


def _task_of(result: Any) -> str | None:
    """Return the id of the task that a call became: `CreateTaskResult`."""
    if not isinstance(result, dict):
        return None
    task = result.get("task")
    if task is None and result.get("resultType") == "task":
        task = result
    found = task.get("taskId") if isinstance(task, dict) else None
    return found if isinstance(found, str) else None


def _declares(capabilities: Any, gate: list[str]) -> bool:
    for name in gate:
        capabilities = capabilities.get(name) if isinstance(capabilities, dict) else None
    return capabilities is not None and capabilities is not False
