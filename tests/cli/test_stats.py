"""`mcpmock stats`: its tables, its JSON, and names that mean harm."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from mcpmock.cli.output import data_size
from tests.cli.conftest import Run
from tests.support import (
    LOG,
    call,
    cancelled,
    cassette_bytes,
    error,
    progress,
    request,
    response,
)

SESSION = cassette_bytes(
    (0.0, "c2s", request(0, "tools/list")),
    (0.25, "s2c", response(0, {"tools": ["x" * 2000]})),
    (1.0, "c2s", request(1, "tools/call", {"name": "add"}, token=1)),
    (1.1, "s2c", progress(1)),
    (1.2, "s2c", request(1, "roots/list")),
    (1.201, "c2s", response(1, {"roots": []})),
    (2.5, "s2c", error(1)),
    (3.0, "c2s", call(2, "add")),
    (3.001, "s2c", response(2)),
    (4.0, "c2s", call(3, "a_tool_with_a_name_too_long_for_its_column_of_the_table")),
    (4.1, "c2s", cancelled(3)),
    (4.2, "s2c", b"a banner"),
    (5.0, "c2s", request(4, "ping")),
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "s.jsonl"
    path.write_bytes(SESSION)
    return path


def test_there_is_a_line_for_each_method_and_tool(run: Run, file: Path) -> None:
    """In 80 columns; a name that is too long stands above its numbers."""
    status, out, err = run("stats", file)

    assert 0 == status
    assert f"mcpmock: {file}:1: incomplete" in err
    assert [
        "call           n  err  canc  open  prog     p50     p99  asked  answer",
        "-> ping        1                1                         40 B     0 B",
        "-> tools/call",
        "     a_tool_with_a_name_too_long_for_its_column_of_the_table",
        "               1          1                              137 B     0 B",
        "     add       2    1                 1  1.0 ms  1.50 s  183 B    99 B",
        "-> tools/list  1                         250 ms  250 ms   46 B  2.0 kB",
        "<- roots/list  1                         1.0 ms  1.0 ms   46 B    46 B",
        "",
        "notification                n  size",
        "-> notifications/cancelled  1  77 B",
        "<- notifications/progress   1  93 B",
        "1 cassette, 1 take, 13 events, 1 not JSON-RPC",
    ] == out.splitlines()


def test_columns_that_would_be_empty_are_left_out(run: Run, file: Path) -> None:
    """Also those of the times that `fmt` drops; without calls there is no table."""
    file.write_bytes(cassette_bytes((0.0, "c2s", request(1, "ping")), (0.0, "s2c", response(1))))
    _, out, err = run("stats", "-q", file)

    assert ["call     n  asked  answer", "-> ping  1   40 B    36 B"] == out.splitlines()[:2]
    assert "" == err
    file.write_bytes(cassette_bytes(("s2c", LOG)))
    assert "notification              n  size" == run("stats", file)[1].splitlines()[0]
    file.write_bytes(cassette_bytes())
    assert "1 cassette, 1 take, 0 events\n" == run("stats", file)[1]


@pytest.mark.parametrize(
    ("size", "shown"),
    [(999, "999 B"), (1000, "1.0 kB"), (9949, "9.9 kB"), (9950, "10 kB"), (999_500, "1.0 MB"),
     (70_000_000, "70 MB"), (3_000_000_000, "3.0 GB"), (5 * 10**12, "5000 GB")],
)  # fmt: skip
def test_sizes_are_for_people(size: int, shown: str) -> None:
    """Three digits and a unit."""
    assert shown == data_size(size)


def test_stats_json(run: Run, file: Path) -> None:
    """An object for each line, and one for the whole; times are in microseconds."""
    _, out, _ = run("stats", "--json", file)
    found = [json.loads(line) for line in out.splitlines()]

    assert {
        "type": "calls",
        "direction": "c2s",
        "method": "tools/call",
        "tool": "add",
        "count": 2,
        "errors": 1,
        "cancelled": 0,
        "unanswered": 0,
        "progress": 1,
        "p50": 1000,
        "p99": 1_500_000,
        "histogram": {"unit": "us", "buckets": [[1000, 1], [1_500_000, 1]]},
        "asked": 183,
        "answered": 99,
        "largest": 63,
    } == found[2]
    told = {"direction": "c2s", "method": "notifications/cancelled", "count": 1, "bytes": 77}
    assert {"type": "notifications", **told} in found
    kinds = {"error": 1, "notification": 2, "opaque": 1, "request": 6, "response": 3}
    size = {"cassettes": 1, "takes": 1, "events": 13, "lost_events": 0, "lost_bytes": 0}
    assert {"type": "stats", **size, "kinds": kinds} == found[-1]


def test_a_wide_terminal_shows_latencies(
    run: Run, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The columns of all histograms are the same, 1, 2, 5, 10.. microseconds each."""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("LINES", "50")
    lines = [line.rstrip() for line in run("stats", "-q", file)[1].splitlines()]

    assert lines[0].endswith("answer  1.0 ms..2.00 s")
    assert lines[5].endswith("99 B  \u2588         \u2588")
    assert lines[6].endswith("2.0 kB          \u2588")


def test_gaps_add_up(run: Run, file: Path) -> None:
    """A gap counts as the events and bytes that it stands for."""
    gaps = b'{"n":14,"gap":{"events":40,"bytes":1200}}\n{"n":15,"gap":{"events":2,"reason":"x"}}\n'
    file.write_bytes(SESSION + gaps)
    _, out, _ = run("stats", "-q", file)
    _, values, _ = run("stats", "-q", "--json", file)
    whole = json.loads(values.splitlines()[-1])

    assert out.endswith("15 events, 1 not JSON-RPC, 42 events (1.2 kB) not recorded\n")
    assert (42, 1200, 2) == (whole["lost_events"], whole["lost_bytes"], whole["kinds"]["gap"])


def test_its_own_output_adds_up(run: Run, file: Path, tmp_path: Path) -> None:
    """As if the cassettes were counted together; what is neither is refused, with its line."""
    once = run("stats", "-q", "--json", file)[1]
    counted = tmp_path / "counted.jsonl"
    counted.write_text(once + once)
    copies = [tmp_path / f"{number}.copy" for number in range(3)]
    for copy in copies:
        copy.write_bytes(SESSION)

    assert run("stats", "-q", *copies) == run("stats", "-q", counted, file)
    assert run("stats", "-q", "--json", *copies) == run("stats", "-q", "--json", file, counted)
    counted.write_text(once + '{"type":"calls"}\n')
    assert 3 == run("stats", "-q", counted)[0]
    error = "is not the output of `mcpmock stats --json`: Object missing required field `direction`"
    lines = once.count("\n")
    assert f"mcpmock: {counted}:{lines + 1}: {error}\n" == run("stats", counted)[2]
