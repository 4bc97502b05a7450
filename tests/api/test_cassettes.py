"""Cassettes that are not played."""

from __future__ import annotations

import gzip
import pickle
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

import mcpmock
from mcpmock.errors import CassetteError
from tests.support import INITIALIZE, WELCOME, c, call, cassette_bytes, response, s


def test_load_diff_check(weather: Path) -> None:
    """A file or what was read of it; nothing differs from itself."""
    cassette = mcpmock.load(weather)

    assert [8] == [len(take.events) for take in cassette.takes]
    assert mcpmock.diff(weather, cassette).worst is None
    assert "2025-11-25" == mcpmock.check(cassette)[0].violation.cited.split()[0]


def test_no_cassette(tmp_path: Path) -> None:
    """The error names the file."""
    with pytest.raises(CassetteError, match="nowhere"):
        mcpmock.load(tmp_path / "nowhere.jsonl")


def test_redact() -> None:
    """Secrets become placeholders; what has none stays the same object."""
    message = b'{"a":1}'

    assert b'{"password":"mcpmock:secret:password:1"}' == mcpmock.redact(b'{"password":"hunter2"}')
    assert message is mcpmock.redact(message)


def test_redact_and_scan_a_cassette(tmp_path: Path) -> None:
    """A cassette or its file; the result replays, and keeps what was no secret."""
    file = tmp_path / "a.jsonl"
    key = "sk-ant-api03-" + "a1B2" * 20
    footer = b'{"footer":{"events":3,"sha256":"","redacted":0,"gaps":0}}\n'
    lines = cassette_bytes(c(INITIALIZE), s(WELCOME), c(call(1, "a", api_key=key, b=1)))
    file.write_bytes(lines + footer)
    [found] = mcpmock.scan(file)
    assert (4, 1, 3, "$.params.arguments.api_key") == (
        found.line,
        found.take,
        found.event,
        found.path,
    )

    for source in (file, mcpmock.load(file)):
        redacted = mcpmock.redact(source)
        assert [] == mcpmock.scan(redacted)
        assert b'"b":1' in (redacted.takes[0].events[2].payload or b"")
        assert redacted.takes[0].sealed
        assert (str(file), 3) == (redacted.name, len(redacted.takes[0].events))
    assert key.encode() in file.read_bytes()


def test_one_rule_is_a_list(weather: Path) -> None:
    """A text would be taken for its letters."""
    with pytest.raises(TypeError, match="give a list of rules"):
        mcpmock.diff(weather, weather, ignore="$.result")


def sources(path: Path) -> Iterator[Any]:
    """The same cassette, wherever it may be."""
    yield path
    yield str(path)
    yield path.read_bytes()
    yield gzip.compress(path.read_bytes())
    yield BytesIO(path.read_bytes())
    yield mcpmock.load(path)
    (path.parent / "runs").mkdir()
    (path.parent / "runs" / "a.jsonl").write_bytes(path.read_bytes())
    yield path.parent / "runs"


@pytest.mark.parametrize(
    "work",
    [
        lambda source: [(found.event, found.violation) for found in mcpmock.check(source)],
        mcpmock.stats,
        mcpmock.scan,
        lambda source: mcpmock.diff(b"", source).counts,
        lambda source: [take.events for take in mcpmock.load(source).takes],
    ],
    ids=["check", "stats", "scan", "diff", "load"],
)
def test_a_cassette_is_read_wherever_it_is(work: Callable[[Any], object], weather: Path) -> None:
    """As a path, bytes, packed, an open file, already read, or the only one in a folder."""
    expected, *others = [work(source) for source in sources(weather)]

    assert others == [expected] * len(others)


@pytest.mark.parametrize("work", [mcpmock.check, mcpmock.stats, mcpmock.scan, mcpmock.load])
def test_work_goes_to_other_processes(work: Callable[[Any], object], weather: Path) -> None:
    """The function, what it is given and what it returns, for each shipped recording."""
    shipped = sorted((Path(__file__).parents[2] / "cassettes").glob("*.jsonl"))
    for path in (weather, *shipped):
        there, given = pickle.loads(pickle.dumps((work, path)))
        result = there(given)

        assert result == pickle.loads(pickle.dumps(result))
        assert (
            result == pickle.loads(pickle.dumps(there(path.read_bytes()))) or work is mcpmock.load
        )


def test_a_difference_goes_to_other_processes(weather: Path) -> None:
    """And keeps its text."""
    changed = weather.read_bytes().replace(b"rain", b"snow")
    found = mcpmock.diff(weather, changed)
    other = pickle.loads(pickle.dumps(found))

    assert (found, str(found)) == (other, str(other))
    assert f"{weather} -> bytes: " in str(found)


def test_the_order_of_lists_that_mean_none() -> None:
    """`unordered` is what `like` says in the language of rules; one text is no list."""
    old, new = (
        cassette_bytes(
            ("c2s", call(1, "find")), ("s2c", response(1, {"structuredContent": {"hits": hits}}))
        )
        for hits in ([1, 2], [2, 1])
    )
    rule = "tools/call find $.result.structuredContent.hits"

    assert ["result-reordered"] == [one.rule.name for one in mcpmock.diff(old, new).differences]
    assert not mcpmock.diff(old, new, unordered=[rule])
    assert not mcpmock.diff(old, new, like=[f"{rule}=unordered"])
    with pytest.raises(TypeError, match="give a list of rules"):
        mcpmock.diff(old, new, unordered=rule)


def test_check_reports_the_file(weather: Path) -> None:
    """Damage and edits; each violation has its line."""
    weather.write_bytes(weather.read_bytes() + b"oops\n{}\n")
    report = mcpmock.check(weather)

    assert report.damaged
    assert not report.ok
    assert ["error"] == [one.level.value for one in report.findings if one.damage][:1]
    assert [found.event.n + 1 for found in report] == [found.line for found in report]
    assert [report[0], *list(report)[1:]] == list(report.violations)
    assert len(report) == len(report.violations)


def test_an_open_file_that_is_no_cassette() -> None:
    """The error names it as far as it has a name."""
    with pytest.raises(CassetteError, match=r"^bytes: is not a cassette"):
        mcpmock.check(b"oops")
    with pytest.raises(CassetteError, match=r"^open file: is not a cassette"):
        mcpmock.stats(BytesIO(b"oops"))
