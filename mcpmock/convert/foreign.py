"""Recordings of other tools, read as events with their times. The content of a file shows which
tool wrote it.

Known are mcp-rec and mcpsnoop (JSON Lines), and the two tools that are called mcp-cassette: that of
PyPI (one JSON document) and that of npm (JSON Lines with a header). Each has a reader here, which
knows only the member names of its format. What a tool does not record is listed in `lacks`, not
invented, and what its recorder reports as lost is a `Gap`. `foreign_import` makes a cassette of it.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

import attrs

from mcpmock.cassette.model import Gap
from mcpmock.errors import CassetteError
from mcpmock.protocol.messages import C2S, S2C, Direction, Frame, Request, Stderr, decode, parse
from mcpmock.protocol.raw_json import elements, members

_Value = TypeVar("_Value")
_MAX_TIME = 1e11
"""In seconds, the year 5138; in milliseconds, three years."""
_MAX_LOST_EVENTS = 1 << 53
_NO_MARKS = re.compile(rb"(?!)")
_WHOLE_STRING = re.compile(rb'(?<=")REDACTED(?=")')
_IN_BRACKETS = re.compile(rb"\[REDACTED\]")
_BY_HASH = re.compile(rb"\[REDACTED:[a-z]+:[0-9a-f]{8}\]")
_ENDING = "how the session ended"
_BYTES = "the exact bytes of messages"
_STDERR = "standard error"
_HTTP = "heads, exchanges and sessions of HTTP"
_MILLISECONDS = "times finer than a millisecond"


@attrs.frozen
class ForeignEvent:
    """One message or gap; `at_us` is in microseconds since the run began."""

    at_us: int
    content: Frame | Gap
    redacted: bool = False
    """The recorder replaced a secret in it."""


@attrs.define
class ForeignRun:
    """One run of another tool's recorder."""

    tool: str
    lacks: list[str]
    began: datetime
    target: list[str] | str | None = None
    marks: re.Pattern[bytes] = _NO_MARKS
    """The marks that the recorder puts in place of secrets, if they are recognisable."""
    same_mark_same_secret: bool = False
    events: list[ForeignEvent] = attrs.field(factory=list)
    left_out: int = 0
    """How many entries have no place in a cassette."""


def read_foreign(name: str, data: bytes) -> list[ForeignRun] | None:
    """Return the runs in a file of another tool; None if the format is not known.

    Raises CassetteError, with the line, for what is damaged. A last line of JSON Lines that was
    never written to its end is left out, and counted.
    """
    lines = data.split(b"\n")
    first = next((line for line in lines if line.strip()), b"")
    names = (members(first) or {}).keys()
    for known, reader in _READERS:
        if known <= names:
            entries = list(_json_objects(name, lines))
            runs = reader(entries)
            runs[-1].left_out += len(entries) < sum(map(bool, map(bytes.strip, lines)))
            return runs
    if b'"format_version"' in data and b'"messages"' in data:
        spans = members(data)
        if spans is not None and {"format_version", "messages"} <= spans.keys():
            return [_read_mcp_cassette(name, data)]
    return None


@attrs.frozen
class _JsonObject:
    """A JSON object in a foreign file, its members not decoded yet."""

    name: str
    line: int
    fields: dict[str, bytes]

    @classmethod
    def of(cls, name: str, line: int, raw: bytes) -> _JsonObject | None:
        spans = members(raw)
        if spans is None:
            return None
        return cls(name, line, {key: raw[span.start : span.end] for key, span in spans.items()})

    def get(self, key: str, kind: type[_Value], default: _Value | None = None) -> _Value:
        """Return the value of a member. Raises CassetteError without it, unless there is a
        default.
        """
        value = decode(self.fields.get(key, b"null"))
        if value is None and default is not None:
            return default
        if not isinstance(value, kind) or isinstance(value, bool):
            raise self.bad(
                f"`{key}` is not a {_KINDS[kind]}" if key in self.fields else f"`{key}` is missing"
            )
        return value

    def spelled(self, key: str) -> bytes:
        """Return the raw JSON of a member. Raises CassetteError without it."""
        if key not in self.fields:
            raise self.bad(f"`{key}` is missing")
        return self.fields[key]

    def number(self, key: str) -> float:
        """Return a number of seconds or milliseconds."""
        value = decode(self.fields.get(key, b"null"))
        if not isinstance(value, int | float) or not 0 <= value < _MAX_TIME:
            raise self.bad(f"`{key}` is not a time")
        return value

    def time(self, key: str) -> datetime:
        return self.parsed(
            key, lambda text: datetime.fromisoformat(_cut_to_microseconds(text)).astimezone(UTC)
        )

    def parsed(self, key: str, parse: Callable[[str], _Value]) -> _Value:
        text = self.get(key, str)
        try:
            return parse(text)
        except (ValueError, KeyError, OverflowError):
            raise self.bad(f"`{key}` is not valid: {text[:40]!r}") from None

    def bad(self, reason: str) -> CassetteError:
        return CassetteError(self.name, reason, line=self.line)


_KINDS: dict[type[Any], str] = {str: "text", int: "number", list: "list"}


def _cut_to_microseconds(time: str) -> str:
    """Go writes nine digits of a second, and Python 3.11 reads no more than six."""
    return re.sub(r"(\.\d{6})\d+", r"\1", time)


def _json_objects(name: str, lines: Sequence[bytes]) -> Iterator[_JsonObject]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        found = _JsonObject.of(name, number, line)
        if found is not None:
            yield found
        elif number < len(lines):  # a last line without a line break was never finished
            raise CassetteError(name, "is not a JSON object", line=number)


_EPOCH = datetime.fromtimestamp(0, UTC)
_DIRECTIONS = {
    "client->server": C2S, "server->client": S2C,
    "c2s": C2S, "s2c": S2C,
    "client": C2S, "server": S2C,
}  # fmt: skip


def _direction(entry: _JsonObject, key: str) -> Direction:
    return entry.parsed(key, _DIRECTIONS.__getitem__)


def _since(began: datetime, moment: datetime) -> int:
    return (moment - began) // timedelta(microseconds=1)


def _read_mcp_rec(entries: list[_JsonObject]) -> list[ForeignRun]:
    """`{"ts": seconds, "dir": .., "msg": ..}`; a line that was no JSON is `{"_raw": text}`. The
    recorder appends to its file, and says nowhere where a run begins.
    """
    runs: list[ForeignRun] = []
    opened, ids = False, set[bytes]()
    for entry in entries:
        way, raw = _direction(entry, "dir"), entry.spelled("msg")
        moment = datetime.fromtimestamp(entry.number("ts"), UTC)
        inner = _JsonObject.of(entry.name, entry.line, raw)
        if inner is not None and inner.fields.get("_unparsed") == b"true":
            raw = inner.get("_raw", str).encode("utf-8", "surrogatepass")
        message = parse(raw) if way is C2S else None
        if not runs or (isinstance(message, Request) and _begins(message, ids, opened=opened)):
            runs.append(ForeignRun("mcp-rec", [_BYTES, _STDERR, _ENDING], moment))
            opened, ids = False, set()
        if isinstance(message, Request):
            opened = opened or message.method == "initialize"
            ids.add(message.id)
        runs[-1].events.append(ForeignEvent(_since(runs[-1].began, moment), Frame(way, raw)))
    return runs


def _begins(request: Request, ids: set[bytes], *, opened: bool) -> bool:
    """Take a second handshake, or `server/discover` with an id in use, for another run."""
    if request.method == "initialize":
        return opened
    return request.method == "server/discover" and request.id in ids


def _read_mcpsnoop(entries: list[_JsonObject]) -> list[ForeignRun]:
    """Read an envelope a line, with its session, number and time; `raw` is a message, `text` is
    what is not a message. It counts what it dropped, and says where it cut.
    """
    runs: dict[str, ForeignRun] = {}
    numbers: dict[str, list[int]] = {}
    for entry in entries:
        numbers.setdefault(entry.get("session_id", str), []).append(entry.get("seq", int))
    for known in numbers.values():
        known.sort()
    # Over HTTP an answer may be written ahead of its request; the numbers are in the true order.
    for entry in sorted(entries, key=lambda entry: entry.get("seq", int)):
        session = entry.get("session_id", str)
        moment = entry.time("ts")
        run = runs.get(session)
        if run is None:
            lacks = ["the white space in messages", _ENDING]
            run = runs[session] = ForeignRun("mcpsnoop", lacks, moment, marks=_IN_BRACKETS)
        at_us, seq = _since(run.began, moment), entry.get("seq", int)
        place = bisect_left(numbers[session], seq)
        missing = seq - numbers[session][place - 1] - 1 if place else 0
        if missing > 0:
            lost = min(missing, _MAX_LOST_EVENTS)
            run.events.append(ForeignEvent(at_us, Gap(events=lost, reason="dropped by mcpsnoop")))
        _add_envelope(run, entry, at_us)
    return [runs[session] for session in numbers]


def _add_envelope(run: ForeignRun, entry: _JsonObject, at_us: int) -> None:
    over_http = entry.get("transport", str, "stdio") == "http"
    if over_http and _HTTP not in run.lacks:
        run.lacks.append(_HTTP)
    direction, text = entry.get("direction", str), entry.get("text", str, "")
    raw, redacted = entry.fields.get("raw"), entry.fields.get("redacted") == b"true"
    if direction == "meta":
        about = decode(raw or b"")
        run.target = _argv(about.get("command") if isinstance(about, dict) else None)
    elif direction == "stderr":
        line = text.encode("utf-8", "surrogatepass") + b"\n"
        run.events.append(ForeignEvent(at_us, Frame(S2C, line, b"", Stderr()), redacted))
    elif entry.fields.get("truncated") == b"true":
        run.events.append(
            ForeignEvent(at_us, Gap(events=1, reason="a message that mcpsnoop cut short"))
        )
    elif raw is not None:
        run.events.append(ForeignEvent(at_us, Frame(_direction(entry, "direction"), raw), redacted))
    elif text and not over_http:
        line = text.encode("utf-8", "surrogatepass")
        run.events.append(
            ForeignEvent(at_us, Frame(_direction(entry, "direction"), line), redacted)
        )
    else:
        run.left_out += 1  # over HTTP: a status without a body, or a body that is not a message


def _argv(command: object) -> list[str] | None:
    """Return a command line; None if it is not a list of words."""
    words = command if isinstance(command, list) else []
    return [word for word in words if isinstance(word, str)] or None


def _read_npm_cassette(entries: list[_JsonObject]) -> list[ForeignRun]:
    """Read a header with the version, then `frame`, `raw` and `chunks` (an event stream, written
    when it ended). Kinds of lines that it does not know are to be skipped, says its format.
    """
    header = entries[0]
    if header.get("cassetteVersion", int) > 2:
        raise header.bad("is in a newer format of mcp-cassette than this version of mcpmock reads")
    began = header.time("startedAt")
    run = ForeignRun("mcp-cassette (npm)", [_BYTES, _MILLISECONDS, _STDERR, _ENDING], began)
    run.marks, run.same_mark_same_secret = _BY_HASH, True
    if header.get("transport", str, "stdio") != "stdio":
        run.lacks.append(_HTTP)
    run.target = _argv(header.get("command", list, [])) or header.get("url", str, "") or None
    for entry in entries[1:]:
        kind = entry.get("type", str)
        if kind == "chunks":
            for item in _items(entry, "chunks"):
                _add_frame(run, item, _direction(entry, "dir"))
        elif kind in ("frame", "raw"):
            _add_frame(run, entry, _direction(entry, "dir"))
        else:
            run.left_out += 1
    run.events.sort(key=lambda event: event.at_us)
    return [run]


def _add_frame(run: ForeignRun, entry: _JsonObject, way: Direction) -> None:
    if entry.get("type", str, "frame") == "raw":
        raw = entry.get("data", str).encode("utf-8", "surrogatepass")
    else:
        raw = entry.spelled("frame")
    redacted = _BY_HASH.search(raw) is not None
    run.events.append(ForeignEvent(round(entry.number("t") * 1000), Frame(way, raw), redacted))


def _items(entry: _JsonObject, key: str) -> Iterator[_JsonObject]:
    raw = entry.fields.get(key, b"")
    for span in elements(raw) or ():
        item = _JsonObject.of(entry.name, entry.line, raw[span.start : span.end])
        if item is None:
            raise entry.bad(f"`{key}` contains something that is not an object")
        yield item


def _read_mcp_cassette(name: str, data: bytes) -> ForeignRun:
    """Read one document with a list of messages; those that were no JSON objects have their text
    in `payload`. Its time is that of the end, when the file was written.
    """
    top = _JsonObject.of(name, 1, data)
    assert top is not None, "because its members were looked at"
    if top.get("format_version", int) > 3:
        raise top.bad("is in a newer format of mcp-cassette than this version of mcpmock reads")
    lacks = [_BYTES, _MILLISECONDS, _STDERR, _ENDING]
    run = ForeignRun("mcp-cassette", lacks, top.time("recorded_at"), marks=_WHOLE_STRING)
    run.target = top.get("server_url", str, "") or None
    if top.get("transport", str, "stdio") != "stdio":
        run.lacks.append(_HTTP)
    span = (members(data) or {})["messages"]
    raw = data[span.start : span.end]
    line, counted, last = 1, 0, 0.0
    for item in elements(raw) or ():
        at = span.start + item.start
        line, counted = line + data.count(b"\n", counted, at), at
        entry = _JsonObject.of(name, line, raw[item.start : item.end])
        if entry is None:
            raise CassetteError(name, "is not a message", line=line)
        payload = entry.spelled("payload")
        if payload[:1] == b'"':
            payload = entry.get("payload", str).encode("utf-8", "surrogatepass")
        last = entry.number("t_offset_ms")
        redacted = entry.fields.get("redacted") == b"true"
        frame = Frame(_direction(entry, "sender"), payload)
        run.events.append(ForeignEvent(round(last * 1000), frame, redacted))
    run.began -= min(timedelta(milliseconds=last), run.began - _EPOCH)
    return run


_Reader = Callable[[list[_JsonObject]], list[ForeignRun]]
_READERS: tuple[tuple[set[str], _Reader], ...] = (
    ({"ts", "dir", "msg"}, _read_mcp_rec),
    ({"session_id", "seq", "ts", "direction"}, _read_mcpsnoop),
    ({"type", "cassetteVersion", "startedAt"}, _read_npm_cassette),
)
