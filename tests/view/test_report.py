"""The HTML page of a recording. What a browser makes of it is in tests/e2e/test_report_page.py."""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path
from typing import Any

import pytest

from mcpmock.cassette.file import load
from mcpmock.cassette.model import Event, Gap
from mcpmock.view import report
from mcpmock.view.html_page import MARK, html_page
from mcpmock.view.report import report_page
from tests.support import HEADER, LOG, Line, call, cassette, error, progress, request, response
from tests.support.one_problem import ONE_PROBLEM
from tests.support.pages import data_of

SHIPPED = Path(__file__).parents[2] / "cassettes"
CALL = ("c2s", request(1, "tools/call", {"name": "slow"}, token=1))


def recording_of(*events: Line, header: bytes = HEADER) -> dict[str, Any]:
    recording: dict[str, Any] = data_of(report_page(cassette(*events, header=header)))[
        "recordings"
    ][0]
    return recording


def test_the_page_code_is_small() -> None:
    """JavaScript, CSS and HTML stay below 64 KB."""
    assert len(html_page("report", "", {})) < 64_000


def test_the_policy_allows_the_page_and_nothing_else() -> None:
    """The hashes in the content security policy are those of the script and the style in the page,
    and no other source is allowed.
    """
    page = report_page(load(SHIPPED / "time.jsonl")).decode()
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    parts = [re.search(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL) for tag in ("script", "style")]
    hashes = [
        "sha256-" + base64.b64encode(hashlib.sha256(part[1].encode()).digest()).decode()
        for part in parts
        if part is not None
    ]

    assert policy is not None
    assert policy[1].split("; ") == [
        "default-src 'none'",
        f"script-src '{hashes[0]}'",
        f"style-src '{hashes[1]}'",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
    ]


def test_a_page_is_made_twice_alike() -> None:
    """No clock is in it: the same cassettes give the same bytes, which begin with our mark."""
    file = load(SHIPPED / "everything-http.jsonl")

    assert report_page(file) == report_page(file)
    assert report_page(file).startswith(MARK)


def test_the_page_is_smaller_than_the_cassette() -> None:
    """The data is compressed: ten copies of a large recording take less than one."""
    raw = (SHIPPED / "everything.jsonl").read_bytes()

    assert len(report_page(load(SHIPPED / "everything.jsonl"))) < len(raw)


def test_a_name_is_no_markup() -> None:
    """The only text that stands outside of the data block is the title; nothing in it acts."""
    hostile = load(SHIPPED / "time.jsonl")
    hostile.name = "</title><script>alert(1)</script>\u202e\ud800"
    page = report_page(hostile)

    assert b"alert(1)" not in page.replace(b"&lt;script&gt;alert(1)", b"")
    assert "\u202e" not in page.decode()


@pytest.mark.parametrize(
    ("names", "title"),
    [
        (["time"], "time.jsonl · mcp-time 2026.10.19"),
        (
            ["everything", "time"],
            "everything.jsonl and time.jsonl · mcp-servers/everything 2.0.0 · ",
        ),
        (
            ["everything", "everything-http"],
            "everything.jsonl and everything-http.jsonl · mcp-servers",
        ),
    ],
)
def test_the_title_names_the_server(names: list[str], title: str) -> None:
    """Of two recordings, each server once."""
    page = report_page(*(load(SHIPPED / f"{name}.jsonl") for name in names)).decode()
    found = page.partition("<title>")[2].partition("</title>")[0]

    assert found.startswith(title)
    assert 1 == found.count("mcp-servers/everything 2.0.0") or "everything" not in names


def test_rows_are_those_of_the_timeline() -> None:
    """An answer knows its request, and has its method, tool and latency."""
    rows = recording_of((0, "c2s", call(1, "add")), (0.5, "s2c", response(1, {"content": []})))[
        "rows"
    ]

    assert ["request", "response"] == [rows["kinds"][number] for number in rows["kind"]]
    assert [0, 0] == rows["call"]
    assert [None, 500_000] == rows["latency"]
    assert "add" == rows["tools"][rows["tool"][0]]
    assert call(1, "add").decode() == rows["raw"][0]


def test_bytes_as_they_crossed() -> None:
    """Numbers keep their spelling; bytes that are no text are escaped."""
    odd = b'{"jsonrpc":"2.0","id":1,"result":{"n":1.0,"m":12345678901234567890123,"e":1e-400}}'

    assert [odd.decode(), "\\xff"] == recording_of(("s2c", odd), ("s2c", b"\xff"))["rows"]["raw"]


MOMENT = [(t, "stderr", f"{t}\n") for t in (0, 0.001, 0.02, 0.021)]


@pytest.mark.parametrize(
    ("events", "leads"),
    [
        (MOMENT, [0, 0, 0, 3]),
        ([MOMENT[0], (0, "s2c", LOG), *MOMENT[1:]], [0, 1, 2, 2, 2]),
        ([MOMENT[0], ("take", None), *MOMENT[:2]], [0, 1, 1]),
        ([(0, "s2c", LOG)] * 2, [0, 1]),
    ],
    ids=["a moment", "something between", "another take", "messages"],
)
def test_lines_of_the_log_that_are_one_row(events: list[Line], leads: list[int]) -> None:
    """Those that follow the first at once."""
    away = recording_of(*events)["rows"]["lead"]

    assert leads == [place + offset for place, offset in enumerate(away)]


def test_the_head_of_a_message_is_one_row_with_it() -> None:
    """That of a server-sent event, also of one without data; no other head."""
    file = ONE_PROBLEM["stream cut and resumed"][0]
    rows = data_of(report_page(file))["recordings"][0]["rows"]
    kinds = [rows["kinds"][kind] for kind in rows["kind"]]
    sse = kinds.index("sse")

    assert "opaque" == kinds[sse + 1]
    assert {sse: 1} == {place: offset for place, offset in enumerate(rows["lead"]) if offset}


def test_a_long_payload_is_cut() -> None:
    """Beyond a MiB only the head is in the page, with the size."""
    rows = recording_of(("s2c", b"x" * 1_100_000), ("s2c", LOG))["rows"]

    assert (1 << 20, [1_100_000, None]) == (len(rows["raw"][0]), rows["size"])


def test_of_too_many_events_the_uninteresting_go_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests and answers stay longer than log messages, problems longest; the page says how many
    are left out.
    """
    monkeypatch.setattr(report, "MAX_ROWS", 3)
    found = recording_of(
        ("c2s", call(1, "add")),
        *[("s2c", LOG)] * 4,
        ("s2c", response(1, {"content": []})),
        ("s2c", error(7)),
    )

    assert [1, 6, 7] == found["rows"]["n"]
    assert [0, 0, None] == found["rows"]["call"]
    assert ["4 events left out: see the cassette", "warning", ""] == found["chips"][-1]


ADDED = ("c2s", call(1, "add")), ("s2c", response(1, {"content": []}))


@pytest.mark.parametrize(
    ("lines", "kept"),
    [
        ([("c2s", call(1, "add")), ("s2c", error(1)), *[("s2c", LOG)] * 4, *ADDED], 1),
        ([("c2s", call(1, "add")), ("s2c", error(1)), *ADDED, *ADDED], 2),
        ([("c2s", request(1, "none/such")), ("s2c", response(1, {})), *ADDED, *ADDED], 3),
        ([("c2s", request(1, "initialize")), ("s2c", error(1)), ("s2c", error(7)), *ADDED], 1),
        ([("s2c", error(n)) for n in range(5)], 2),
        ([("c2s", call(1, "add")), *[("s2c", LOG)] * 4], 1),
    ],
)
def test_what_is_left_out_makes_no_problems(
    monkeypatch: pytest.MonkeyPatch, lines: list[tuple[str, bytes]], kept: int
) -> None:
    """What is said of a large recording is what is said of all of it, as far as it is there."""
    whole = recording_of(*lines)["happened"]
    monkeypatch.setattr(report, "MAX_ROWS", kept)
    found = recording_of(*lines)

    assert {text for text, _, _ in found["happened"]} <= {text for text, _, _ in whole}
    assert all(0 <= row < kept for _, rows, _ in found["happened"] for row in rows)


def test_the_head_counts_what_a_reader_looks_for() -> None:
    """Transport and revision, errors, violations, and that the recording is incomplete."""
    names = [chip[0] for chip in recording_of(("c2s", call(1, "add")), ("s2c", error(1)))["chips"]]

    assert "stdio" in names
    assert "1 error" in names
    assert "incomplete: its recorder was stopped" in names


def test_a_gap_counts_the_events_it_stands_for() -> None:
    """What could not be recorded is counted in events, as `stats` and `check` do."""
    file = cassette(("s2c", LOG))
    gap = Event(n=2, gap=Gap(events=3, reason="disk full"))
    file.takes[0].events = [*file.takes[0].events, gap]
    (recording,) = data_of(report_page(file))["recordings"]

    assert ["3 lost events", "error", "kind=gap"] in recording["chips"]


def test_an_unredacted_recording_warns() -> None:
    """Its page holds its secrets too."""
    header = HEADER.replace(b'"tool"', b'"redaction":"off","tool"')
    chips = recording_of(("s2c", LOG), header=header)["chips"]

    assert ["not redacted: this page may hold secrets", "error", ""] in chips


def test_violations_quote_the_specification() -> None:
    """Each stands at its event."""
    found = recording_of(CALL, ("s2c", progress(1, 2)), ("s2c", progress(1, 1)))["violations"]
    decreasing = next(one for one in found if one["n"] == 3)

    assert decreasing["sentence"]
    assert decreasing["cited"]


def test_who_waited_for_whom() -> None:
    """While the server asks the client, the call's time is the client's."""
    found = recording_of(
        (0, "c2s", call(1, "ask")),
        (0.1, "s2c", request(0, "sampling/createMessage", {"messages": []})),
        (0.4, "c2s", response(0)),
        (0.5, "s2c", response(1, {"content": []})),
    )["paths"]["0"]

    assert [(0.2, 0), (0.6, 1), (0.2, 0)] == [
        (round(share, 3), waits) for share, waits, _ in found["parts"]
    ]
    assert "waited 300 ms" in found["summary"]


def test_two_recordings_are_compared() -> None:
    """The differences are those of `diff`, each with its events on both sides."""
    old, new = (load(SHIPPED / name) for name in ("everything-http.jsonl", "everything-sse.jsonl"))
    data = data_of(report_page(old, new))

    assert ["everything-http.jsonl", "everything-sse.jsonl"] == [
        one["file"] for one in data["recordings"]
    ]
    assert sum(data["diff"]["counts"].values()) == len(data["diff"]["differences"]) > 0
    allowed = [dict(one["facts"])["allow with"] for one in data["diff"]["differences"]]
    assert all(option.startswith("--ignore ") for option in allowed)


@pytest.mark.parametrize(
    ("old", "new", "marked"),
    [
        (
            "4 degrees, snow",
            "4 degrees, rain",
            [("4 degrees, ", "snow", ""), ("4 degrees, ", "rain", "")],
        ),
        ("aba", "aa", [("a", "b", "a"), ("a", "", "a")]),
        (None, "x", [("(absent)", "", ""), ("x", "", "")]),
    ],
)
def test_what_differs_in_a_text_is_marked(old: str | None, new: str | None, marked: object) -> None:
    """Between what both texts begin with and end with."""
    assert marked == report._marked_texts(old, new)
