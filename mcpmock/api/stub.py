"""`Stub`: what users write a server with, by hand. It only fills a `stubs.script.Script`;
what becomes of that is told there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from inspect import iscoroutinefunction
from typing import Any

from mcpmock.faults.units import Seconds, knob_of
from mcpmock.protocol.messages import decode, encode
from mcpmock.protocol.methods import REVISIONS
from mcpmock.stubs.results import failed
from mcpmock.stubs.script import (
    Condition,
    RouteKind,
    StubAnswer,
    StubEntry,
    StubMessage,
    StubRecorded,
    StubRefusal,
    StubReply,
    StubScript,
    StubSilence,
    StubStep,
    Test,
)

REPEATS = ("last", "cycle", "error")
Delay = str | float
"""Seconds, or a text with a unit: `0.25` or `"250ms"`."""


class Stub:
    """A server written by hand, alone or in front of a cassette.

        stub = mcpmock.Stub()
        stub.tool("get_weather").reply({"temp": 21})

        mcpmock.serve(stub)  # a whole server
        mcpmock.serve("weather.jsonl", stub=stub)  # what it knows first, then the recording

    `tool`, `prompt`, `resource` and `method` say what there is; each gives a `StubRoute`, which
    takes the answers, and which is the same stub, so that all of it may be one chain:

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

    A stub may be changed while clients are there: the next call gets the new answer.

    The first call of a session gets the first reply of its route, the second the second, and so on;
    from 2026-07-28 on all callers over HTTP are one session. When the replies run out, `repeats`
    says what comes: the `last` one again (the default, for most stubs have but one), all of them in
    a `cycle`, or none (`error`): then the call goes on, to the recording, and is a miss if that has
    no answer either.

    Alone, a stub speaks all revisions of the protocol, or only `revision`; it answers handshakes,
    pings and lists by itself. In front of a recording its offers are put into the recorded lists.

    `name`, `version` and `instructions` are what the server says of itself where there is no
    recording. Raises ValueError for a word that is none.
    """

    def __init__(
        self,
        name: str = "stub",
        *,
        version: str = "1",
        instructions: str | None = None,
        revision: str | None = None,
        repeats: str = "last",
    ) -> None:
        if revision not in (None, *REVISIONS):
            raise ValueError(f"revision {revision!r}: say one of {', '.join(REVISIONS)}")
        if repeats not in REPEATS:
            raise ValueError(f"repeats {repeats!r}: say one of {', '.join(REPEATS)}")
        self.script = StubScript(name, version, instructions, revision)
        self._repeats = repeats

    def tool(
        self,
        name: str,
        schema: Mapping[str, Any] | None = None,
        *,
        description: str | None = None,
        **more: Any,
    ) -> StubRoute:
        """A tool: what is said when it is called. `schema` is the JSON schema of its arguments (an
        object, whether it says so or not), `more` whatever else `tools/list` is to say of it, by
        its name in the protocol: `title`, `outputSchema`, `annotations`.

        A tool that has a schema here is listed in the place of a recorded one of its name; without
        one the recorded one stays.
        """
        more |= {} if schema is None else {"inputSchema": {"type": "object", **schema}}
        return self._offer(
            RouteKind.TOOL, name, {"name": name, **_said(description=description), **more}
        )

    def prompt(
        self,
        name: str,
        arguments: Sequence[str | Mapping[str, Any]] = (),
        *,
        description: str | None = None,
        **more: Any,
    ) -> StubRoute:
        """A prompt. `arguments` are names, or what the protocol says of an argument:
        `{"name": "city", "required": True}`.
        """
        listed = [{"name": a} if isinstance(a, str) else dict(a) for a in arguments]
        more |= {"arguments": listed} if listed else {}
        told = {"name": name, **_said(description=description), **more}
        return self._offer(RouteKind.PROMPT, name, told)

    def resource(
        self,
        uri: str,
        *,
        name: str | None = None,
        description: str | None = None,
        mime_type: str | None = None,
        **more: Any,
    ) -> StubRoute:
        """A resource; with `{}` in it a template of resources: `weather://{city}`. A function that
        replies is given the variables of the template.
        """
        template = "{" in uri
        key = "uriTemplate" if template else "uri"
        told = _said(name=name, description=description, mimeType=mime_type)
        kind = RouteKind.TEMPLATE if template else RouteKind.RESOURCE
        return self._offer(kind, uri, {key: uri, **told, **more})

    def method(self, method: str) -> StubRoute:
        """Any request, by its method: `completion/complete`, `x/y`, also `initialize` or a list. A
        reply is the whole result then.
        """
        _text("method", method)
        return self._route(RouteKind.METHOD, method)

    def announce(
        self, method: str, params: Mapping[str, Any] | None = None, *, after: Delay = 0
    ) -> Stub:
        """A notification that the server sends of its own accord: once the client has said that it
        is initialized (from 2026-07-28 on: to those who listen for it), and so long behind the one
        announced before it.
        """
        self.script.announcements.append(StubMessage(method, _json(params), _seconds(after)))
        return self

    def _offer(self, kind: RouteKind, name: str, listed: dict[str, Any]) -> StubRoute:
        """What is said of it once more adds to what was said."""
        _text(kind.value, name)
        known = self.script.listed.get((kind, name), {})
        self.script.listed[kind, name] = {**known, **_json(listed)}
        return self._route(kind, name)

    def _route(self, kind: RouteKind, name: str, condition: Condition | None = None) -> StubRoute:
        """The one there is, for a kind and name without a condition."""
        if condition is None:
            for entry in self.script.entries:
                if (entry.kind, entry.name) == (kind, name) and not entry.condition:
                    return StubRoute(self, entry)
        entry = StubEntry(kind, name, self._repeats, condition or Condition())
        self.script.entries.append(entry)
        return StubRoute(self, entry)

    def __repr__(self) -> str:
        return f"<Stub {self.script.name}: {', '.join(map(_shown, self.script.entries))}>"


class StubRoute(Stub):
    """One tool, prompt, resource or method of a stub, and its answers: see `Stub`, which it is as
    well.

    What is said before a reply (`progress`, `notify`) belongs to that reply. `after` is how long
    each thing waits behind the one before it, the first behind the call: seconds, or `"250ms"`.

    >>> route = mcpmock.Stub().tool("now").reply("noon")
    >>> isinstance(route, mcpmock.StubRoute) and isinstance(route, mcpmock.Stub)
    True
    """

    def __init__(self, stub: Stub, entry: StubEntry) -> None:
        self.script, self._repeats = stub.script, stub._repeats
        self._entry = entry
        self._sayings: list[StubMessage] = []

    def when(self, arguments: Mapping[str, Any] | Test | None = None, /, **more: Any) -> StubRoute:
        """The same, for calls with these arguments only: each is a JSON value that is equal, or a
        function that is given the live value and says whether it is meant. Arguments that are not
        named may be anything. A function alone is given all arguments (of a template: its
        variables; of a method: its parameters).

        Conditions are looked at in the order they were written, and all of them before the route
        without one. Numbers are equal as in JSON: `1` is `1.0` and neither `"1"` nor `True`.
        """
        test = arguments if callable(arguments) else None
        wanted = {} if callable(arguments) or arguments is None else dict(arguments)
        condition = Condition({**wanted, **more}, test)
        if not condition:
            raise TypeError("say which arguments: when(city='Oslo')")
        return self._route(self._entry.kind, self._entry.name, condition)

    def reply(
        self, value: Any | Callable[[dict[str, Any]], Any] = None, *, after: Delay = 0
    ) -> StubRoute:
        """The answer: a JSON value, or a plain function that makes one of the arguments (a dict).

        A tool makes a content block of a text, and of any other value a block with its JSON, and
        its structured content where the revision has such; a list of content blocks, or a dict with
        a list of such as `content`, is sent as it is. A resource takes a text, bytes or a value, or
        a dict with `contents`; a prompt a text, a list of messages (each a text, or a dict with
        `role` and `content`), or a dict with `messages`; a method its whole result.

        The function is called where the server runs (in memory: in the event loop of the test) and
        should return at once. Where it raises, a tool answers that it failed, anything else with
        error -32603. Raises TypeError for an `async` function and for what JSON does not have.
        """
        if iscoroutinefunction(value):
            raise TypeError(f"{value!r} is async: a stub calls plain functions")
        kept = value if callable(value) or self._takes_bytes(value) else _json(value)
        return self._step(StubReply(kept), after)

    def fail(self, text: str, *, after: Delay = 0) -> StubRoute:
        """The tool says that it failed: a result with `isError` and this text."""
        _text("fail", text)
        return self.reply(failed(text), after=after)

    def error(self, code: int, message: str, data: Any = None, *, after: Delay = 0) -> StubRoute:
        """A JSON-RPC error."""
        _text("error message", message)
        if isinstance(code, bool) or not isinstance(code, int):
            raise TypeError(f"error code {code!r}: say a whole number")
        return self._step(StubRefusal(code, message, _json(data)), after)

    def hang(self) -> StubRoute:
        """No answer, ever: for the timeouts of clients."""
        return self._step(StubSilence(), 0)

    def recorded(self) -> StubRoute:
        """This call is the recording's: `.recorded().error(-32000, "busy")` breaks the second."""
        return self._step(StubRecorded(), 0)

    def progress(
        self,
        amount: float,
        total: float | None = None,
        message: str | None = None,
        *,
        after: Delay = 0,
    ) -> StubRoute:
        """Progress of the call, to those who asked for it, before the reply that is said next."""
        for number in (amount, total):
            if isinstance(number, bool) or not isinstance(number, int | float | None):
                raise TypeError(f"progress {number!r}: say a number")
        params = {"progress": amount, **_said(total=total, message=message)}
        return self._say(StubMessage(None, params, _seconds(after)))

    def notify(
        self, method: str, params: Mapping[str, Any] | None = None, *, after: Delay = 0
    ) -> StubRoute:
        """A notification during the call, before the reply that is said next:
        `.notify("notifications/message", {"level": "info", "data": "looking"})`.
        """
        return self._say(StubMessage(method, _json(params), _seconds(after)))

    def _say(self, saying: StubMessage) -> StubRoute:
        self._sayings.append(saying)
        return self

    def _step(self, answer: StubAnswer, after: Delay) -> StubRoute:
        self._entry.steps.append(StubStep(answer, tuple(self._sayings), _seconds(after)))
        self._sayings = []
        return self

    def _takes_bytes(self, value: Any) -> bool:
        return isinstance(value, bytes) and self._entry.kind in (
            RouteKind.RESOURCE,
            RouteKind.TEMPLATE,
        )


def _seconds(after: Delay) -> float:
    """Raises ValueError with what would have been right."""
    knob = knob_of(Seconds)
    assert knob is not None
    if isinstance(after, str):
        return knob.read(after)
    wrong = knob.check(after)
    if wrong is not None:
        raise ValueError(f"after: {wrong}, or a number of seconds")
    return after


def _json(value: Any) -> Any:
    """A copy as it will be on the wire. Raises TypeError for what JSON does not have."""
    if isinstance(value, bytes | bytearray):
        raise TypeError("bytes are no JSON: say an image block, or a text")
    return decode(encode(value))


def _text(what: str, value: object) -> None:
    """Raises TypeError for what is none."""
    if not isinstance(value, str):
        raise TypeError(f"{what} {value!r}: say a text")


def _said(**named: Any) -> dict[str, Any]:
    return {name: value for name, value in named.items() if value is not None}


def _shown(entry: StubEntry) -> str:
    conditions = [*entry.condition.wanted, *(["..."] if entry.condition.test else [])]
    told = f" (if {', '.join(conditions)})" if conditions else ""
    return f"{entry.kind.value} {entry.name}{told}"
