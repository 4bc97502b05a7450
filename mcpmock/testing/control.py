"""`ControlledServers`: the servers of a test run in another language, which asks for them by
messages. What they are, how they record and what fails a test is as in pytest (`servers`).

`cli.control` reads and writes the messages; the npm package `mcpmock` sends them.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, get_args, get_type_hints

import attrs
import msgspec
import trio

from mcpmock.api.log import Call
from mcpmock.api.targets import say
from mcpmock.batch.sources import is_mock
from mcpmock.errors import McpMockError
from mcpmock.faults.races.grid import Cell
from mcpmock.faults.receipts import Armed
from mcpmock.options.testing import MarkerOptions, keywords_of
from mcpmock.playback.miss import Miss
from mcpmock.printable import printable

from .cassette_store import CassetteStore
from .markers import RULES, Markers, check_known
from .races import MOMENT_TIMEOUT_S, Race, Raced, recorded_races
from .servers import ServerUse, using
from .settings import STUB_ALONE, CassettePlace, Settings, SuiteOptions, read_settings
from .unused import FAIL, UnusedTally

Answer = dict[str, Any] | list[Any] | int | None
_RUN = SuiteOptions(
    how_to_record="MCPMOCK_RECORD=once",
    how_to_name_server="in the options, server: [COMMAND, ...] or serverUrl",
)
_WITHOUT_OPTION = ("cassette", "races", "reactions", "explore")
_SPELLED = {"url": "serverUrl"}
_KINDS = {
    str: "a string",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    list[str]: "a list of strings",
    Mapping[str, Any]: "an object",
}
"""What parameters are, in words for people who write JSON."""
KEYWORDS = {
    _SPELLED.get(one.name, re.sub(r"_(\w)", lambda found: found[1].upper(), one.name)): one.name
    for one in keywords_of(MarkerOptions)
    if one.name not in _WITHOUT_OPTION
}
"""The keywords of the marker by their names in JavaScript."""


class FailedTestError(McpMockError):
    """A test fails for what its server saw: a text of several lines."""

    misses: list[Miss]

    @property
    def lines(self) -> list[str]:
        return [*self.args]


@attrs.define(eq=False)
class ControlledServer:
    """A server, until it is stopped."""

    use: ServerUse
    test: str
    race: Race | None
    ends: ExitStack
    """Closes the server."""
    faults: dict[int, Armed] = attrs.field(factory=dict)
    """Those that were added, by their numbers."""

    def stop(self) -> None:
        """Close it, and judge what it saw. Raises FailedTestError, and what failed inside."""
        self.ends.close()
        if verdict := list(self._verdict()):
            error = FailedTestError(*verdict)
            error.misses = self.use.misses
            raise error

    def reject(self) -> None:
        """Close it after its test has gone."""
        with ExitStack() as ends:
            ends.callback(self.use.settle, passed=False)
            ends.callback(self.ends.close)

    def _verdict(self) -> Iterator[str]:
        """Yield what fails a test, and warn of the rest."""
        use, tally = self.use, UnusedTally()
        tally.passed(self.test, use.cassette_use())
        unused = list(tally.verdicts())
        idle = [] if use.settings.races is not None else use.server.faults.never_fired()
        for line in (*use.inexact(), *idle):
            say(line)
        for one in unused:
            if one.unused != FAIL:
                say(one.text.removeprefix("mcpmock: "))
        found = [text for text in (use.missed(), use.faulted()) if text]
        found = [f"mcpmock: {printable(text)}" for text in found]
        found += [one.text for one in unused if one.unused == FAIL]
        if found:
            yield from found
            yield use.describe()


class ControlledServers:
    """All servers of a test run."""

    def __init__(self) -> None:
        self._store = CassetteStore()
        self._servers: dict[int, ControlledServer] = {}
        self._stopped: dict[int, ControlledServer] = {}
        """Those whose recordings wait for the last word on their tests."""
        self._numbers = count(1)
        self.methods: dict[str, Callable[..., Any]] = {
            "start": self.start,
            "stop": self.stop,
            "settle": self.settle,
            "calls": self.calls,
            "misses": self.misses,
            "faults.add": self.add_fault,
            "faults.remove": self.remove_fault,
            "faults.fired": self.count_fired,
            "moment": self.moment,
            "races": self.list_races,
        }

    async def answer(self, method: object, params: Mapping[str, Any]) -> Answer:
        """Answer one request. Raises McpMockError for one that is wrong, and for a test that
        fails.
        """
        if not isinstance(method, str) or method not in self.methods:
            raise McpMockError(f"no method {method!r}: say one of {', '.join(self.methods)}")
        act = self.methods[method]
        given = _checked(act, method, params)
        try:
            if inspect.iscoroutinefunction(act):
                answer: Answer = await act(**given)
                return answer
            # To its end: a server that has started must be known, or nothing would stop it.
            return await trio.to_thread.run_sync(partial(act, **given))
        except (TypeError, ValueError, OSError) as error:
            raise McpMockError(str(error)) from error

    def start(
        self,
        cassette: str,
        options: Mapping[str, Any],
        folder: str,
        test: str = "",
        mode: str | None = None,
        race: Mapping[str, Any] | None = None,
    ) -> Answer:
        """Start the server of a test: its number, its URL, and the command for stdio."""
        given = {} if race is None else {"races": race.get("match", {})}
        settings = _read(cassette, options, folder, given, mode)
        if settings.may_be_born:
            settings = settings.as_born(self._store.is_born(settings.path))
        with ExitStack() as stack:
            use = stack.enter_context(using(settings, test, self._store))
            raced = None if race is None else _race(race, settings, use)
            place = use.server.place
            server = ControlledServer(use, test, raced, stack.pop_all())
        number = next(self._numbers)
        self._servers[number] = server
        command = place.command
        stdio = None if command is None else {"command": command[0], "args": command[1:]}
        real = settings.records or settings.extends
        return {"server": number, "url": place.url, "stdio": stdio, "records": real}

    def stop(self, server: int, passed: bool | None = True) -> Answer:
        """Stop a server, and judge what it saw. If its test passed, what it recorded goes into the
        cassette; None leaves that to `settle`.
        """
        one = self._stopped[server] = self._of(server)
        self._servers.pop(server, None)
        try:
            one.stop()
        except BaseException:
            self.settle(server, passed=False)
            raise
        if passed is not None:
            self.settle(server, passed=passed)
        return None

    def settle(self, server: int, passed: bool) -> Answer:
        """Put what a server that is stopped has recorded into the cassette, or beside it if the
        test failed. What was settled before stays.
        """
        if one := self._stopped.pop(server, None):
            one.use.settle(passed=passed)
        return None

    def calls(self, server: int, method: str | None = None, tool: str | None = None) -> Answer:
        """Return the calls of clients, in order."""
        found = self._of(server).use.server.requests(method, tool=tool)
        return [_call_as_json(one) for one in found]

    def misses(self, server: int) -> Answer:
        """Return the requests that match nothing recorded."""
        return misses_as_json(self._of(server).use.server.misses)

    def add_fault(self, server: int, fault: str) -> Answer:
        """Add a fault by its shorthand: its number and its name."""
        one = self._of(server)
        armed = one.use.server.faults.add(fault)
        number = len(one.faults) + 1
        one.faults[number] = armed
        return {"fault": number, "name": armed.fault.title}

    def remove_fault(self, server: int, fault: int) -> Answer:
        """Remove a fault that was added."""
        one = self._of(server)
        if fault not in one.faults:
            raise McpMockError(f"no fault {fault!r} was added to this server")
        one.use.server.faults.remove(one.faults[fault])
        return None

    def count_fired(self, server: int, name: str | None = None) -> Answer:
        """Return how often faults fired."""
        return self._of(server).use.server.faults.fired(name)

    def list_races(
        self,
        cassette: str,
        match: Mapping[str, Any],
        folder: str,
        reactions: list[str] | None = None,
    ) -> Answer:
        """Return the races of a recorded call, for `start`."""
        settings = _read(cassette, {}, folder, {"races": match, "reactions": reactions})
        assert settings.races is not None
        return [_race_as_json(one, match) for one in recorded_races(settings, settings.races)]

    async def moment(self, server: int, patience: float = MOMENT_TIMEOUT_S) -> Answer:
        """Wait until the client has to cancel: the id of its call."""
        race = self._of(server).race
        if race is None:
            raise McpMockError("moment() is for a server that was started with a race")
        await race.moment(patience)
        return {"requestId": race.request_id}

    def _of(self, number: int) -> ControlledServer:
        if number not in self._servers:
            raise McpMockError("this server is stopped: start another")
        return self._servers[number]

    def close(self) -> None:
        """Stop what is left. What it recorded stays beside the cassettes: no request said that the
        tests passed.
        """
        with ExitStack() as ends:
            ends.callback(self._store.close)
            for one in (*self._servers.values(), *self._stopped.values()):
                ends.callback(one.reject)


def misses_as_json(misses: list[Miss]) -> list[dict[str, Any]]:
    """Return misses as JavaScript gets them."""
    return [{"method": one.method, "text": one.sentence} for one in misses]


def _checked(
    act: Callable[..., object], method: str, params: Mapping[str, Any]
) -> Mapping[str, Any]:
    """Return the parameters of a request. Raises McpMockError unless the method takes them."""
    try:
        inspect.signature(act).bind(**params)
    except TypeError as error:
        raise McpMockError(f"{method}: {error}") from error
    kinds = get_type_hints(act)
    for name, value in params.items():
        try:
            msgspec.convert(value, kinds[name])
        except msgspec.ValidationError as error:
            meant = (kinds[name], *get_args(kinds[name]))
            kind = next(_KINDS[one] for one in meant if one in _KINDS)
            raise McpMockError(f"{method}: {name}: give {kind}") from error
    return params


def _read(
    cassette: str | None,
    options: Mapping[str, Any],
    folder: str,
    more: Mapping[str, Any],
    mode: str | None = None,
) -> Settings:
    """Return the settings of a server. Raises TypeError, McpMockError for wrong options."""
    if not cassette:
        raise TypeError(f"cassette={cassette!r}: give the name of one cassette")
    if options.get("server") is not None and options.get("serverUrl") is not None:
        raise TypeError("server and serverUrl are mutually exclusive")
    check_known(options, [*KEYWORDS], "mcpmock()", "option {}")
    given = {KEYWORDS[name]: value for name, value in options.items()}
    words = {"cassette": cassette, **given, **more}
    own = {name: words[name] for name in words if name not in RULES and words[name] is not None}
    place = CassettePlace(Path(folder), Path(folder), STUB_ALONE if is_mock(cassette) else None)
    return read_settings(place, Markers(own, [given]), attrs.evolve(_RUN, record=mode))


def _race(race: Mapping[str, Any], settings: Settings, use: ServerUse) -> Race:
    assert settings.races is not None
    try:
        cell = Cell(*(msgspec.convert(race[name], int) for name in "ijk"))
        raced = Raced(cell, race["reaction"])
    except (KeyError, msgspec.ValidationError) as error:
        raise TypeError(f"race {dict(race)!r}: give one of races()") from error
    return Race(raced, settings.races, use.server)


def _race_as_json(raced: Raced, match: Mapping[str, Any]) -> dict[str, Any]:
    cell = raced.cell
    return {
        "id": raced.id,
        "match": dict(match),
        "name": cell.name,
        "i": cell.i,
        "j": cell.j,
        "k": cell.k,
        "reaction": raced.reaction,
        "ends": raced.ends,
    }


def _call_as_json(call: Call) -> dict[str, Any]:
    found = attrs.asdict(call, recurse=False)
    return found if call.tool is None else {**found, "tool": call.tool}
