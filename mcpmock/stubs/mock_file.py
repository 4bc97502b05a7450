"""`Mock`: a server that people wrote in TOML, as values: the words of `builder`, and `{{name}}`
where an answer repeats an argument.

`options.converter` reads the tables. `builder` stands above: its `Stub.load` reads a mock, which
declares itself to a stub.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from math import inf, isfinite
from pathlib import Path
from typing import Annotated, Any, Literal

import attrs
from cattrs import Converter

from mcpmock.errors import FileMistakes
from mcpmock.matching.kinds import like
from mcpmock.options.converter import (
    TableError,
    read_by,
    read_table,
    table_converter,
    table_hook,
    unknown_key,
)
from mcpmock.options.units import Code, Knob, Seconds
from mcpmock.playback.request_key import normalize_numbers
from mcpmock.protocol.messages import canonical, decode, encode
from mcpmock.protocol.methods import REVISIONS

from .call import Steps, StubCall, StubError, StubFailure
from .script import check_variables

_PLACE = re.compile(r"\\\{\{|\{\{([^{}]+)\}\}")
"""`{{name}}`, the place of an argument, or `\\{{`, two braces."""
_SWITCHES = ("hang", "recorded")
_ANSWERS = ("reply", "fail", "error", *_SWITCHES)


class MockFileError(FileMistakes):
    """A mock cannot be read, or has mistakes: all of them, each with its path."""


@attrs.frozen
class _KindKnob(Knob):
    """A kind of value, as in a rule; it is read as a test of an argument."""

    def read(self, value: object) -> Any:
        if not isinstance(value, str):
            raise ValueError(f"expected {self.what}, not {value!r}")
        return like(value)


@attrs.frozen
class _UriKnob(Knob):
    def read(self, value: object) -> Any:
        if not isinstance(value, str):
            raise ValueError(f"expected {self.what}, not {value!r}")
        check_variables(value)
        return value


Number = Annotated[float, Knob(what="a number", least=-inf)]
Uri = Annotated[str, _UriKnob(what="a text")]
ArgumentKind = Annotated[str, _KindKnob(what='a kind of value as "date"')]


@attrs.frozen(kw_only=True)
class _Progress:
    amount: Number
    total: Number | None = None
    message: str | None = None
    after: Seconds = 0.0


@attrs.frozen(kw_only=True)
class _Notification:
    method: str
    params: dict[str, Any] = attrs.field(factory=dict)
    after: Seconds = 0.0


@attrs.frozen(kw_only=True)
class _Error:
    code: Code
    message: str
    data: Any = None


@attrs.frozen(kw_only=True)
class _Answer:
    """One answer: `when` and `like` say to which calls, one of `_ANSWERS` what it is."""

    when: dict[str, Any] = attrs.field(factory=dict)
    like: dict[str, ArgumentKind] = attrs.field(factory=dict)
    progress: tuple[_Progress, ...] = ()
    notify: tuple[_Notification, ...] = ()
    reply: Any = None
    fail: str | None = None
    error: _Error | None = None
    hang: bool = False
    recorded: bool = False
    after: Seconds = 0.0

    @property
    def condition(self) -> bytes:
        """The condition as JSON: equal ones are one sequence."""
        kinds = {name: str(getattr(test, "__name__", "")) for name, test in self.like.items()}
        return canonical([normalize_numbers(self.when), kinds])

    def play(self, call: StubCall) -> Steps:
        """Answer a call with its arguments in their places. Raises StubFailure where the call lacks
        one.
        """
        for one in self.progress:
            if one.after:
                yield one.after
            message = None if one.message is None else _filled_text(one.message, call.arguments)
            call.progress(one.amount, one.total, message)
        for note in self.notify:
            if note.after:
                yield note.after
            call.notify(note.method, _filled(note.params, call.arguments))
        if self.after:
            yield self.after
        if self.hang:
            yield inf
        if self.error is not None:
            text = _filled_text(self.error.message, call.arguments)
            raise StubError(self.error.code, text, _filled(self.error.data, call.arguments))
        if self.fail is not None:
            raise StubFailure(_filled_text(self.fail, call.arguments))
        return _filled(self.reply, call.arguments)


@attrs.frozen(kw_only=True)
class _Tool:
    name: str
    description: str | None = None
    schema: dict[str, Any] | None = None
    answer: tuple[_Answer, ...] = ()
    others: dict[str, Any] = attrs.field(factory=dict)

    def declare(self, stub: Any) -> Any:
        return stub.tool(self.name, self.schema, description=self.description, **self.others)


@attrs.frozen(kw_only=True)
class _Prompt:
    name: str
    description: str | None = None
    arguments: tuple[str | dict[str, Any], ...] = ()
    answer: tuple[_Answer, ...] = ()
    others: dict[str, Any] = attrs.field(factory=dict)

    def declare(self, stub: Any) -> Any:
        return stub.prompt(self.name, self.arguments, description=self.description, **self.others)


@attrs.frozen(kw_only=True)
class _Resource:
    uri: Uri
    name: str | None = None
    description: str | None = None
    mime_type: str | None = None
    answer: tuple[_Answer, ...] = ()
    others: dict[str, Any] = attrs.field(factory=dict)

    def declare(self, stub: Any) -> Any:
        return stub.resource(
            self.uri,
            name=self.name or self.uri,
            description=self.description,
            mime_type=self.mime_type,
            **self.others,
        )


@attrs.frozen(kw_only=True)
class _Method:
    method: str
    answer: tuple[_Answer, ...] = ()

    def declare(self, stub: Any) -> Any:
        return stub.method(self.method)


_Entry = _Tool | _Prompt | _Resource | _Method


@attrs.frozen(kw_only=True)
class _Server:
    name: str | None = None
    version: str = "1"
    title: str | None = None
    instructions: str | None = None
    revision: Literal[REVISIONS] | None = None  # type: ignore[valid-type]
    repeats: Literal["last", "cycle", "error"] = "last"
    capabilities: dict[str, Any] = attrs.field(factory=dict)


@attrs.frozen(kw_only=True)
class Mock:
    """The tables of the file."""

    server: _Server = attrs.field(factory=_Server)
    tool: tuple[_Tool, ...] = ()
    prompt: tuple[_Prompt, ...] = ()
    resource: tuple[_Resource, ...] = ()
    method: tuple[_Method, ...] = ()
    announce: tuple[_Notification, ...] = ()

    def declare(self, stub: Any) -> None:
        """Add all that it offers and answers to a `Stub`."""
        entries: tuple[_Entry, ...] = (*self.tool, *self.prompt, *self.resource, *self.method)
        for entry in entries:
            route = entry.declare(stub)
            routes: dict[bytes, Any] = {}
            for answer in entry.answer:
                condition = answer.condition
                if condition not in routes:
                    wanted = {**answer.when, **answer.like}
                    routes[condition] = route.when(wanted) if wanted else route
                if answer.recorded:
                    routes[condition].recorded()
                else:
                    routes[condition].run(answer.play)
                    stub.script.notified.update(note.method for note in answer.notify)
        for note in self.announce:
            stub.announce(note.method, note.params or None, after=note.after)


def read_mock(file: Path) -> Mock:
    """Return what a file describes, under its own name if it has none. Raises MockFileError with
    all mistakes.
    """
    try:
        written = tomllib.loads(file.read_text("utf-8-sig"))
    except OSError as error:
        raise MockFileError(file, [error.strerror or str(error)]) from error
    except ValueError as error:
        raise MockFileError(file, [str(error)]) from error
    mistakes = [*_list_not_finite(written)]
    try:
        # Dates of TOML are texts in JSON.
        mock = read_table(_converter(), decode(encode(written)), Mock)
    except TableError as error:
        places = {one.partition(":")[0] for one in mistakes}
        others = [one for one in error.mistakes if one.partition(":")[0] not in places]
        raise MockFileError(file, [*mistakes, *others]) from error
    if mistakes := [*mistakes, *_list_repeated(mock)]:
        raise MockFileError(file, mistakes)
    if mock.server.name is None:
        mock = attrs.evolve(mock, server=attrs.evolve(mock.server, name=file.stem))
    return mock


def _list_not_finite(written: Any, path: str = "") -> Iterator[str]:
    """Yield a mistake for each number that TOML has and JSON lacks."""
    if isinstance(written, float) and not isfinite(written):
        yield f"{path}: JSON has no {written}; write a number, or a text"
    elif isinstance(written, dict):
        for name, one in written.items():
            yield from _list_not_finite(one, f"{path}.{name}" if path else name)
    elif isinstance(written, list):
        for at, one in enumerate(written):
            yield from _list_not_finite(one, f"{path}[{at}]")


def _list_repeated(mock: Mock) -> Iterator[str]:
    """Yield a mistake for each entry that is declared a second time."""
    for kind, key in (("tool", "name"), ("prompt", "name"), ("resource", "uri"), ("method",) * 2):
        seen = set()
        for at, entry in enumerate(getattr(mock, kind)):
            if (name := getattr(entry, key)) in seen:
                yield (
                    f"{kind}[{at}].{key}: {name!r} is declared twice; "
                    f"write its answers as [[{kind}.answer]] behind the first"
                )
            seen.add(name)


def _converter() -> Converter:
    converter = table_converter()  # the hook of a class takes those of its fields: inside first
    converter.register_structure_hook(_Progress, _progress_hook(converter))
    converter.register_structure_hook(_Answer, _answer_hook(converter))
    for cls in (_Tool, _Prompt, _Resource, _Method):
        converter.register_structure_hook(cls, _entry_hook(cls, converter))
    return converter


def _entry_hook(cls: type[_Entry], converter: Converter) -> Callable[[Any, Any], Any]:
    """Return the hook of an entry: an answer may stand in it, and what this file does not know goes
    to the list of the protocol as it is.
    """
    read_entry, read_answer = table_hook(cls, converter), _answer_hook(converter)
    fields = {field.name for field in attrs.fields(cls)} - {"others"}
    known = fields | {field.name for field in attrs.fields(_Answer)}
    takes_others = cls is not _Method

    def read(written: Any, _type: Any = None) -> Any:
        if not isinstance(written, Mapping):
            return read_entry(written)
        entry = {key: value for key, value in written.items() if key in fields}
        own = {key: value for key, value in written.items() if key in known - fields}
        others = {key: value for key, value in written.items() if key not in known}
        mistakes = [
            unknown_key(key, known) for key in others if not takes_others or _is_near(key, known)
        ]
        if own and "answer" in entry:
            mistakes.append(f"answer: put {', '.join(own)} into one of the answers, too")
            own = {}
        parts: list[Any] = []
        hooks: tuple[tuple[Any, Any], ...] = ((entry, read_entry), (own or None, read_answer))
        for table, hook in hooks:
            try:
                parts.append(None if table is None else read_by(hook, table))
            except TableError as error:
                mistakes += error.mistakes
        if mistakes:
            raise TableError(mistakes)
        value, answer = parts
        changes: dict[str, Any] = {} if answer is None else {"answer": (answer,)}
        return attrs.evolve(value, **changes, **({"others": others} if takes_others else {}))

    return read


def _answer_hook(converter: Converter) -> Callable[[Any, Any], Any]:
    """Return the hook of an answer: it has to be one."""
    read_answer = table_hook(_Answer, converter)

    def read(written: Any, _type: Any = None) -> Any:
        answer: _Answer = read_answer(written)
        off = {name for name in _SWITCHES if written.get(name) is False}
        given = [name for name in _ANSWERS if name in written and name not in off]
        if len(given) != 1:
            raise ValueError(f"say one of {', '.join(_ANSWERS)}")
        if answer.recorded and (answer.progress or answer.notify or answer.after):
            raise TableError(["recorded: the recording has its own progress, messages and time"])
        if both := answer.when.keys() & answer.like.keys():
            raise TableError([f"like.{min(both)}: the same argument stands in when"])
        return answer

    return read


def _progress_hook(converter: Converter) -> Callable[[Any, Any], Any]:
    """Return the hook of progress: a number alone is its amount."""
    read_progress = table_hook(_Progress, converter)

    def read(written: Any, _type: Any = None) -> Any:
        return read_progress(written if isinstance(written, Mapping) else {"amount": written})

    return read


def _is_near(word: str, known: set[str]) -> bool:
    """Return whether a key is probably a misspelt one: `descripton`, `mimeType`."""
    from difflib import get_close_matches

    return bool(get_close_matches(word, known, n=1, cutoff=0.75))


def _filled(value: Any, arguments: Mapping[str, Any]) -> Any:
    """Return a value with the arguments in their places. Raises StubFailure for a missing one."""
    if isinstance(value, Mapping):
        return {key: _filled(inner, arguments) for key, inner in value.items()}
    if isinstance(value, list):
        return [_filled(inner, arguments) for inner in value]
    if not isinstance(value, str) or "{{" not in value:
        return value
    whole = _PLACE.fullmatch(value)
    if whole is not None and whole[1] is not None:
        return _argument(whole[1].strip(), arguments)
    return _filled_text(value, arguments)


def _filled_text(text: str, arguments: Mapping[str, Any]) -> str:
    """Do the same for what has to be a text: any other argument is its JSON."""

    def text_of(place: re.Match[str]) -> str:
        if place[1] is None:
            return "{{"
        found = _argument(place[1].strip(), arguments)
        return found if isinstance(found, str) else encode(found).decode()

    return _PLACE.sub(text_of, text)


def _argument(path: str, arguments: Mapping[str, Any]) -> Any:
    """Return `a.b.0` of the arguments."""
    if path in arguments:
        return arguments[path]
    found: Any = arguments
    for step in path.split("."):
        if isinstance(found, list) and step.isdecimal() and int(step) < len(found):
            found = found[int(step)]
        elif isinstance(found, Mapping) and step in found:
            found = found[step]
        else:
            raise StubFailure(f"mcpmock: the mock repeats {path}, which the call does not have")
    return found
