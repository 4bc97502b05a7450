"""`Stub`: the builder for hand-written servers, of users and of the demo. It fills a
`script.StubScript`, which `server` and `stage` play.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from inspect import iscoroutinefunction
from pathlib import Path
from typing import Any

import attrs

from mcpmock.protocol.messages import decode, encode
from mcpmock.protocol.methods import REVISIONS

from .call import StubCall
from .results import failed
from .script import (
    ArgumentTest,
    Condition,
    RouteKind,
    StubAnswer,
    StubEntry,
    StubMessage,
    StubRecorded,
    StubRefusal,
    StubReply,
    StubRun,
    StubScript,
    StubSilence,
    StubStep,
    check_variables,
)

REPEATS = ("last", "cycle", "error")
Delay = str | float
"""Seconds, or a string with a unit: `0.25` or `"250ms"`."""


class Stub:
    """A server written by hand, alone or in front of a cassette.

        stub = mcpmock.Stub()
        stub.tool("get_weather").reply({"temp": 21})

        mcpmock.serve(stub)  # a whole server
        mcpmock.serve("weather.jsonl", stub=stub)  # the stub answers first, then the recording

    `tool`, `prompt`, `resource` and `method` declare what the server offers; each gives a
    `StubRoute`, which takes the answers, and which is the same stub, so that calls can be chained:

    >>> stub = (
    ...     mcpmock.Stub("weather")
    ...     .tool("get_weather", {"properties": {"city": {"type": "string"}}})
    ...     .progress(0.5).reply({"temp": 21}, after="250ms")
    ...     .when(city="Atlantis").error(-32602, "no such city")
    ...     .tool("now").reply(lambda arguments: "noon")
    ... )
    >>> stub
    <Stub weather: tool get_weather, tool get_weather (if city), tool now>

    >>> from mcp import Client
    >>> async def main():
    ...     async with Client(mcpmock.connect(stub)) as client:
    ...         return (await client.call_tool("get_weather", {"city": "Oslo"})).structured_content
    >>> trio.run(main)
    {'temp': 21}

    A stub can be changed while clients are connected: the next call gets the new answer.

    The first call of a session gets the first reply of its route, the second the second, and so on;
    from revision 2026-07-28 on all callers over HTTP are one session. When the replies run out,
    `repeats` decides: the `last` one again (the default), all of them in a `cycle`, or none
    (`error`): then the call goes to the recording, and is a miss if that has no answer either.

    Alone, a stub speaks all revisions of the protocol, or only `revision`; it answers handshakes,
    pings and lists by itself. In front of a recording its offers are added to the recorded lists.

    `name`, `version`, `title` and `instructions` describe the server if there is no recording, and
    `capabilities` are those that it declares besides the ones that its answers need: with
    `{"resources": {"subscribe": True}}` it takes subscriptions (`StubCall.update`), with
    `{"logging": {}}` the level of its log messages (`StubCall.log`). Raises TypeError
    for a path in the place of the name, and ValueError for an unknown revision or `repeats`.
    """

    def __init__(
        self,
        name: str = "stub",
        *,
        version: str = "1",
        title: str | None = None,
        instructions: str | None = None,
        revision: str | None = None,
        capabilities: Mapping[str, Any] | None = None,
        repeats: str = "last",
    ) -> None:
        if not isinstance(name, str) or name.endswith((".jsonl", ".jsonl.gz")):
            raise TypeError(
                f"Stub({name!r}): a stub is written by hand, its first argument is its name; to"
                f" answer before a recording, write mcpmock.serve({str(name)!r}, stub=stub)"
            )
        if revision not in (None, *REVISIONS):
            raise ValueError(f"revision {revision!r}: choose one of {', '.join(REVISIONS)}")
        if repeats not in REPEATS:
            raise ValueError(f"repeats {repeats!r}: choose one of {', '.join(REPEATS)}")
        self.script = StubScript(
            name, version, instructions, revision, title, _copy_json(capabilities or {})
        )
        self._repeats = repeats

    @classmethod
    def load(cls, path: str | Path) -> Stub:
        """Return the server that a TOML file describes (`mcpmock help mocks`). Raises MockFileError
        with all mistakes in the file.
        """
        from .mock_file import read_mock

        mock = read_mock(Path(path))
        stub = cls(**attrs.asdict(mock.server, recurse=False))
        mock.declare(stub)
        return stub

    def tool(
        self,
        name: str,
        schema: Mapping[str, Any] | None = None,
        *,
        description: str | None = None,
        **more: Any,
    ) -> StubRoute:
        """Return a tool. `schema` is the JSON schema of its arguments (`"type": "object"` may be
        left out), `more` are further members of its entry in `tools/list`, by their names in the
        protocol: `title`, `outputSchema`, `annotations`.

        A tool with a schema replaces a recorded tool of the same name in the list; without one the
        recorded entry stays.
        """
        shape = {} if schema is None else {"inputSchema": {"type": "object", **schema}}
        entry = {"name": name, **_drop_none(description=description), **shape, **more}
        return self._offer(RouteKind.TOOL, name, entry)

    def prompt(
        self,
        name: str,
        arguments: Sequence[str | Mapping[str, Any]] = (),
        *,
        description: str | None = None,
        **more: Any,
    ) -> StubRoute:
        """Return a prompt. `arguments` are names, or arguments as in the protocol:
        `{"name": "city", "required": True}`.
        """
        listed = [{"name": a} if isinstance(a, str) else dict(a) for a in arguments]
        more |= {"arguments": listed} if listed else {}
        entry = {"name": name, **_drop_none(description=description), **more}
        return self._offer(RouteKind.PROMPT, name, entry)

    def resource(
        self,
        uri: str,
        *,
        name: str | None = None,
        description: str | None = None,
        mime_type: str | None = None,
        **more: Any,
    ) -> StubRoute:
        """Return a resource, or, with variables in braces, a resource template: `weather://{city}`.
        A function as the reply is called with the variables of the template. Raises ValueError for
        braces that are none of `{name}`, `{+name}` and `{name*}`.
        """
        _require_string("resource", uri)
        check_variables(uri)
        template = "{" in uri
        key = "uriTemplate" if template else "uri"
        entry = _drop_none(name=name, description=description, mimeType=mime_type)
        kind = RouteKind.TEMPLATE if template else RouteKind.RESOURCE
        return self._offer(kind, uri, {key: uri, **entry, **more})

    def method(self, method: str) -> StubRoute:
        """Return any request, by its method: `completion/complete`, `x/y`, also `initialize` or a
        list. The reply is the whole result.
        """
        _require_string("method", method)
        return self._route(RouteKind.METHOD, method)

    def announce(
        self, method: str, params: Mapping[str, Any] | None = None, *, after: Delay = 0
    ) -> Stub:
        """Return a notification that belongs to no call. The server sends it `after` the one
        announced before it, the first `after` `notifications/initialized`; from revision 2026-07-28
        on, to the clients that listen for it.
        """
        self.script.announcements.append(
            StubMessage(method, _copy_json(params), _to_seconds(after))
        )
        return self

    def _offer(self, kind: RouteKind, name: str, listed: dict[str, Any]) -> StubRoute:
        """Offer an entry: a second declaration of a name adds members to the entry of the first."""
        _require_string(kind.value, name)
        known = self.script.listed.get((kind, name), {})
        self.script.listed[kind, name] = {**known, **_copy_json(listed)}
        return self._route(kind, name)

    def _route(self, kind: RouteKind, name: str, condition: Condition | None = None) -> StubRoute:
        """Return the same route for the same kind and name, where there is no condition."""
        if condition is None:
            for entry in self.script.entries:
                if (entry.kind, entry.name) == (kind, name) and not entry.condition:
                    return StubRoute(self, entry)
        entry = StubEntry(kind, name, self._repeats, condition or Condition())
        self.script.entries.append(entry)
        return StubRoute(self, entry)

    def __repr__(self) -> str:
        return f"<Stub {self.script.name}: {', '.join(map(_describe_entry, self.script.entries))}>"


class StubRoute(Stub):
    """One tool, prompt, resource or method of a stub, and its answers. It is a `Stub` as well.

    `progress` and `notify` belong to the reply that follows them. `after` is the delay of each
    message after the one before it, of the first after the call: seconds, or `"250ms"`.

    >>> route = mcpmock.Stub().tool("now").reply("noon")
    >>> isinstance(route, mcpmock.StubRoute) and isinstance(route, mcpmock.Stub)
    True
    """

    def __init__(self, stub: Stub, entry: StubEntry) -> None:
        self.script, self._repeats = stub.script, stub._repeats
        self._entry = entry
        self._messages: list[StubMessage] = []

    def when(
        self, arguments: Mapping[str, Any] | ArgumentTest | None = None, /, **more: Any
    ) -> StubRoute:
        """Return the same tool, prompt, resource or method, only for calls with these arguments.
        Each is a JSON value that must be equal, or a function that takes the live value and returns
        whether it matches. Other arguments may have any value. A single function takes all
        arguments (of a template its variables, of a method its parameters).

        Conditions are tried in the order they were written, and before the route without one.
        Numbers are equal as in JSON: `1` equals `1.0`, but neither `"1"` nor `True`.
        """
        test = arguments if callable(arguments) else None
        wanted = {} if callable(arguments) or arguments is None else dict(arguments)
        condition = Condition({**wanted, **more}, test)
        if not condition:
            raise TypeError("name the arguments: when(city='Oslo')")
        return self._route(self._entry.kind, self._entry.name, condition)

    def reply(
        self, value: Any | Callable[[dict[str, Any]], Any] = None, *, after: Delay = 0
    ) -> StubRoute:
        """Return the answer: a JSON value, or a plain function that takes the arguments (a dict)
        and returns one.

        A tool sends a string as a text block, and any other value as a block with its JSON, and as
        structured content if the revision has it; a list of content blocks, or a dict with such a
        list as `content`, is sent unchanged. A resource takes a string, bytes or a value, or a dict
        with `contents`; a prompt a string, a list of messages (each a string, or a dict with `role`
        and `content`), or a dict with `messages`; a method its whole result.

        The function is called in the thread of the server (in memory: in the event loop of the
        test) and should return at once. If it raises, a tool answers with `isError`, anything else
        with error -32603. Raises TypeError for an `async` function and for values that are not
        JSON.
        """
        if iscoroutinefunction(value):
            raise TypeError(f"{value!r} is async: give a plain function")
        kept = value if callable(value) or self._takes_bytes(value) else _copy_json(value)
        return self._add_step(StubReply(kept), after)

    def run(self, function: Callable[[StubCall], Any]) -> StubRoute:
        """Return a function that answers the call: it takes the `StubCall`, with which it can
        report progress, log and ask the client, and returns a value as `reply` takes it. A
        generator may wait in between: it yields numbers of seconds. It is closed when the call is
        cancelled.

        >>> stub = mcpmock.Stub()
        >>> @stub.tool("book").run
        ... def book(call):
        ...     call.progress(1, 2, "asking")
        ...     yield 0.1
        ...     reply = yield from call.ask("roots/list")
        ...     return reply["roots"]

        It may raise `StubError` and `StubFailure`; any other exception is treated as one in a
        function of `reply`. Raises TypeError for an `async` function.
        """
        if iscoroutinefunction(function) or not callable(function):
            raise TypeError(f"{function!r}: give a plain function or a generator function")
        return self._add_step(StubRun(function), 0)

    def fail(self, text: str, *, after: Delay = 0) -> StubRoute:
        """Return the tool fails: the result has `isError` and this text."""
        _require_string("fail", text)
        return self.reply(failed(text), after=after)

    def error(self, code: int, message: str, data: Any = None, *, after: Delay = 0) -> StubRoute:
        """Return a JSON-RPC error."""
        _require_string("error message", message)
        if isinstance(code, bool) or not isinstance(code, int):
            raise TypeError(f"error code {code!r}: give a whole number")
        return self._add_step(StubRefusal(code, message, _copy_json(data)), after)

    def hang(self) -> StubRoute:
        """Never answer the call: for tests of a client's timeouts."""
        return self._add_step(StubSilence(), 0)

    def recorded(self) -> StubRoute:
        """Return the recording answers this call: `.recorded().error(-32000, "busy")` fails the
        second.
        """
        return self._add_step(StubRecorded(), 0)

    def progress(
        self,
        amount: float,
        total: float | None = None,
        message: str | None = None,
        *,
        after: Delay = 0,
    ) -> StubRoute:
        """Progress before the next reply, if the call has a progress token."""
        for number in (amount, total):
            if isinstance(number, bool) or not isinstance(number, int | float | None):
                raise TypeError(f"progress {number!r}: give a number")
        params = {"progress": amount, **_drop_none(total=total, message=message)}
        return self._add_message(StubMessage(None, params, _to_seconds(after)))

    def notify(
        self, method: str, params: Mapping[str, Any] | None = None, *, after: Delay = 0
    ) -> StubRoute:
        """Return a notification during the call, before the next reply:
        `.notify("notifications/message", {"level": "info", "data": "looking"})`.
        """
        return self._add_message(StubMessage(method, _copy_json(params), _to_seconds(after)))

    def _add_message(self, message: StubMessage) -> StubRoute:
        self._messages.append(message)
        return self

    def _add_step(self, answer: StubAnswer, after: Delay) -> StubRoute:
        self._entry.steps.append(StubStep(answer, tuple(self._messages), _to_seconds(after)))
        self._messages = []
        return self

    def _takes_bytes(self, value: Any) -> bool:
        return isinstance(value, bytes) and self._entry.kind in (
            RouteKind.RESOURCE,
            RouteKind.TEMPLATE,
        )


def _to_seconds(after: Delay) -> float:
    """Raise ValueError with the values that are allowed."""
    if after == 0:
        return 0.0  # most delays: no need to load the units of faults

    from mcpmock.options.units import Seconds, read_value

    try:
        return float(read_value(after, Seconds))
    except ValueError as error:
        raise ValueError(f"after: {error}") from None


def _copy_json(value: Any) -> Any:
    """Return a copy with the types of JSON. Raises TypeError for a value that is not JSON."""
    if isinstance(value, bytes | bytearray):
        raise TypeError("bytes are not JSON: give an image block, or a string")
    return decode(encode(value))


def _require_string(subject: str, value: object) -> None:
    """Raise TypeError for any other type."""
    if not isinstance(value, str):
        raise TypeError(f"{subject} {value!r}: give a string")


def _drop_none(**members: Any) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}


def _describe_entry(entry: StubEntry) -> str:
    arguments = [*entry.condition.wanted, *(["..."] if entry.condition.test else [])]
    condition = f" (if {', '.join(arguments)})" if arguments else ""
    return f"{entry.kind.value} {entry.name}{condition}"
