"""`load`, `diff`, `check`, `stats`, `redact` and `scan`: cassettes that are not played.

What they are given and what they return can be sent to another process, so `executor.map` runs them
over many cassettes, for any `concurrent.futures.Executor`.

Most of them import their rooms when they are called: these imports are a third of the time that the
first test of a suite would wait for, and most suites use none of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from mcpmock.batch.sources import Source, as_one, load_source
from mcpmock.cassette.model import Cassette, encode_cassette
from mcpmock.cassette.parser import read
from mcpmock.options.option import read_options
from mcpmock.options.redaction import RedactionOptions
from mcpmock.redaction.redactor import Redactor

if TYPE_CHECKING:
    from mcpmock.redaction.cassettes import SecretFound
    from mcpmock.redaction.redaction_rules import RedactionRules
    from mcpmock.rules.report import CheckReport
    from mcpmock.semantic_diff.compare import Diff
    from mcpmock.view.stats import Stats


def load(path: Source) -> Cassette:
    """Read a cassette: `takes` in the order of their start, each with a `header` and `events`.
    What is packed with gzip is unpacked. Recordings that overlapped and are not joined yet
    (`FILE.PID.jsonl`) are read too; `notices` name them.

    A path, the path of a folder whose cassettes are one recording, a URL (`s3://bucket/a.jsonl`;
    needs the extra `dask`), an open file or bytes say where it is.

    Raises CassetteError (a McpMockError) if the file cannot be read, is not a cassette, or is
    damaged.

    >>> cassette = mcpmock.load("weather.jsonl")
    >>> [(take.transport, len(take.events)) for take in cassette.takes]
    [('stdio', 8)]
    """
    return load_source(path)


def diff(
    old: Source,
    new: Source,
    *,
    ignore: Iterable[str] = (),
    like: Iterable[str] = (),
    unordered: Iterable[str] = (),
    no_rules: bool = False,
) -> Diff:
    """Return the differences between an old and a new recording, as `mcpmock diff` reports them.

    `ignore`, `like` and `unordered` are lists of rules as in `mcpmock diff --ignore`:
    `tools/call now $.result`. With `no_rules` those of the cassettes and of the project file do not
    count. `worst` of the result is a verdict, or None if nothing differs; `differences` begins with
    the worst. Raises CassetteError.

    >>> found = mcpmock.diff("weather.jsonl", "snow.jsonl")
    >>> found.worst.word, [(one.call, one.path, one.new) for one in found.differences]
    ('risky', [('tools/call get_weather', '$.result.content[0].text', '"snow"')])
    >>> mcpmock.diff("weather.jsonl", "snow.jsonl", ignore=["tools/call now $.result"]).counts
    {<Verdict.RISKY: 2>: 1}
    """
    from mcpmock.batch.diff import compare_cassettes
    from mcpmock.semantic_diff.ignore_rules import IgnoreRules

    for name, rules in (("ignore", ignore), ("like", like), ("unordered", unordered)):
        if isinstance(rules, str):
            raise TypeError(f"{name}={rules!r}: give a list of rules")
    given = IgnoreRules.parse(ignore=ignore, like=like, unordered=unordered)
    return compare_cassettes(load_source(old), load_source(new), given, no_rules=no_rules)


def check(cassette: Source) -> CheckReport:
    """Return what `mcpmock check` reports. Iterating over it gives the violations of the protocol's
    rules, in the order of the events: each has its `take` (from 1), its `event`, its `line` and the
    `violation`, which names and cites the rule. `findings` are about the file: damage, edits.

    Raises CassetteError for what cannot be read, or is no cassette.

    >>> [(found.event.n, found.violation.rule.name) for found in mcpmock.check("weather.jsonl")]
    [(1, 'initialize-params'), (7, 'logging-undeclared')]
    """
    from mcpmock.batch.check import check_source

    return check_source(as_one(cassette))


def stats(cassette: Source) -> Stats:
    """Return what `mcpmock stats` counts. Several add up: `mcpmock.stats("a.jsonl") +
    mcpmock.stats("b.jsonl")`.

    Raises CassetteError.

    >>> found = mcpmock.stats("weather.jsonl")
    >>> [(what.tool, calls.count, calls.latencies.percentile(0.5))
    ...  for what, calls in found.calls.items() if what.tool]
    [('get_weather', 1, 2000000)]
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> with ThreadPoolExecutor() as executor:
    ...     each = executor.map(mcpmock.stats, ["weather.jsonl", "snow.jsonl"])
    ...     sum(each, mcpmock.Stats()).cassettes
    2
    """
    from mcpmock.view import stats as view

    return view.stats([load_source(cassette)])


@overload
def redact(message: bytes, **rules: Any) -> bytes: ...
@overload
def redact(message: Cassette | Path | str, **rules: Any) -> Cassette: ...
def redact(message: Cassette | Path | str | bytes, **rules: Any) -> Cassette | bytes:
    """Return a cassette without its secrets: placeholders stand in their places, as in a recording.
    The file is not changed (`mcpmock redact` does that). Raises CassetteError.

    A JSON message, as bytes, is redacted alone; without secrets it is returned unchanged. `rules`
    are `redact_key`, `redact_value`, `redact_path`, `keep_key` and `redact_as` of `mcpmock redact`.

    >>> mcpmock.scan(mcpmock.redact("weather.jsonl"))
    []
    >>> mcpmock.redact(b'{"password":"hunter2"}')
    b'{"password":"mcpmock:secret:password:1"}'
    """
    from mcpmock.redaction.cassettes import redact_cassette

    if isinstance(message, bytes):
        return Redactor(read_redaction(rules)).json(message)
    cassette = load_source(message)
    own = read_redaction(rules, cassette)
    return read(cassette.name, redact_cassette(encode_cassette(cassette), own).data)


def scan(cassette: Source, **rules: Any) -> list[SecretFound]:
    """Return the secrets that are left in a cassette: the `line`, the `take` (from 1) and the
    number of the `event` (0 in a header), the `path` in the message and the `kind`; never the
    value. `rules` are as in `redact`.

    Raises CassetteError for what cannot be read, or is no cassette.

    >>> mcpmock.scan("weather.jsonl")
    []
    """
    from mcpmock.batch.check import scan_source

    return scan_source(as_one(cassette), read_options(RedactionOptions, rules))


def read_redaction(rules: Mapping[str, Any], cassette: Cassette | None = None) -> RedactionRules:
    """Return the redaction rules of keywords, and of the project file beside a cassette. Raises
    TypeError for an unknown keyword, McpMockError for an invalid rule.
    """
    from mcpmock.batch.redaction_rules import redaction_rules_of

    place = None if cassette is None else Path(cassette.name)
    there = place if place is not None and place.exists() else None
    return redaction_rules_of(read_options(RedactionOptions, rules), there)
