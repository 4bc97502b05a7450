"""`load`, `diff`, `check`, `redact` and `scan`: cassettes that are not played.

Most of them import their rooms when they are called: these imports are a third of the time that the
first test of a suite would wait for, and most suites use none of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, overload

from mcpmock.cassette import file
from mcpmock.cassette.model import Cassette, encode_cassette
from mcpmock.cassette.parser import read
from mcpmock.redaction.redactor import Redactor

from .server import Source, load_source

if TYPE_CHECKING:
    from mcpmock.redaction.cassettes import SecretFound
    from mcpmock.rules.checker import Found
    from mcpmock.semantic_diff.compare import Diff


def load(path: Path | str) -> Cassette:
    """Reads a cassette: `takes` in the order of their start, each with a `header` and `events`.
    `.gz` is unpacked. Recordings that overlapped and are not joined yet (`FILE.PID.jsonl`) are read
    too; `notices` name them.

    Raises CassetteError (a McpMockError) if the file cannot be read, is not a cassette, or is
    damaged.

    >>> cassette = mcpmock.load("weather.jsonl")
    >>> [(take.transport, len(take.events)) for take in cassette.takes]
    [('stdio', 8)]
    """
    return file.load(Path(path))


def diff(old: Source, new: Source, *, ignore: Iterable[str] = ()) -> Diff:
    """The differences between an old and a new recording, as `mcpmock diff` reports them.

    `ignore` is a list of rules as in `mcpmock diff --ignore`: `tools/call now $.result`. `worst` of
    the result is a verdict, or None if nothing differs; `differences` begins with the worst. Raises
    CassetteError.

    >>> found = mcpmock.diff("weather.jsonl", "snow.jsonl")
    >>> found.worst.word, [(one.call, one.path, one.new) for one in found.differences]
    ('risky', [('tools/call get_weather', '$.result.content[0].text', '"snow"')])
    >>> mcpmock.diff("weather.jsonl", "snow.jsonl", ignore=["tools/call now $.result"]).counts
    {<Verdict.RISKY: 2>: 1}
    """
    from mcpmock.semantic_diff.compare import compare
    from mcpmock.semantic_diff.ignore_rules import Rules

    if isinstance(ignore, str):
        raise TypeError(f"ignore={ignore!r}: give a list of rules")
    return compare(load_source(old), load_source(new), Rules.parse(ignore=list(ignore)))


def check(cassette: Source) -> list[Found]:
    """The violations of the protocol's rules, in the order of the events. Each has its `take` (from
    1), its `event` and the `violation`, which names and cites the rule.

    Raises CassetteError.

    >>> [(found.event.n, found.violation.rule.name) for found in mcpmock.check("weather.jsonl")]
    [(1, 'initialize-params'), (7, 'logging-undeclared')]
    """
    from mcpmock.rules import checker

    return list(checker.check(load_source(cassette)))


@overload
def redact(message: bytes) -> bytes: ...
@overload
def redact(message: Source) -> Cassette: ...
def redact(message: Source | bytes) -> Cassette | bytes:
    """A cassette without its secrets: placeholders stand in their places, as in a recording. The
    file is not changed (`mcpmock redact` does that). Raises CassetteError.

    A JSON message, as bytes, is redacted alone; without secrets it is returned unchanged.

    >>> mcpmock.scan(mcpmock.redact("weather.jsonl"))
    []
    >>> mcpmock.redact(b'{"password":"hunter2"}')
    b'{"password":"mcpmock:secret:password:1"}'
    """
    from mcpmock.redaction.cassettes import redact_cassette

    if isinstance(message, bytes):
        return Redactor().json(message)
    cassette = load_source(message)
    return read(cassette.name, redact_cassette(encode_cassette(cassette)).data)


def scan(cassette: Source) -> list[SecretFound]:
    """The secrets that are left in a cassette: the `line`, the `take` (from 1) and the number of
    the `event` (0 in a header), the `path` in the message and the `kind`; never the value.

    Raises CassetteError.

    >>> mcpmock.scan("weather.jsonl")
    []
    """
    from mcpmock.redaction.cassettes import scan_cassette

    return scan_cassette(encode_cassette(load_source(cassette)))
