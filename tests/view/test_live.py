"""The report page of a cassette that is being recorded."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import pytest

from mcpmock.view import live
from mcpmock.view.live import LivePage
from tests.support import HEADER, call, cancelled, cassette_bytes, error, request, response

RECORDING = cassette_bytes(
    ("c2s", call(1, "add")),
    ("s2c", response(1, {"content": []})),
    ("c2s", request(2, "ping")),
    ("s2c", error(2)),
    ("c2s", cancelled(1)),
)
FOOTER = b'{"footer":{"events":5,"sha256":"%b"}}\n' % sha256(RECORDING).hexdigest().encode()


def fed(*pieces: bytes) -> list[dict[str, Any]]:
    page = LivePage("a.jsonl")
    return list(filter(None, map(page.feed, pieces)))


def joined(updates: list[dict[str, Any]], column: str) -> list[Any]:
    return [value for update in updates for value in update["rows"][column]]


def test_pieces_add_up() -> None:
    """Cut anywhere, the pieces of a file give the rows of the whole."""
    (whole,) = fed(RECORDING)
    for at in range(0, len(RECORDING), 7):
        updates = fed(RECORDING[:at], RECORDING[at:])
        for column, values in whole["rows"].items():
            assert joined(updates, column) == values


def test_what_is_new() -> None:
    """An update has the rows that came since, which point at those of before; words come once."""
    cut = RECORDING.index(b"\n", RECORDING.index(b'"n":1,')) + 1
    first, second = fed(RECORDING[:cut], RECORDING[cut:])

    assert (["request"], [0]) == (first["rows"]["kinds"], first["rows"]["call"])
    assert ["response", "error", "notification"] == second["rows"]["kinds"]
    assert 0 == second["rows"]["call"][0]


def test_a_problem_that_is_none_any_more() -> None:
    """A recorder seemed to be gone before an answer came: the request is no stop of `n` then."""
    asked, answered = (("c2s", request(1, "ping")), ("s2c", response(1, {})))
    whole, page = cassette_bytes(asked, answered), LivePage("a.jsonl")
    first = len(cassette_bytes(asked))
    updates = page.feed(whole[:first]), page.abandon(), page.feed(whole[first:])

    assert [([], []), ([0], []), ([], [0])] == [
        (update["problems"], update["solved"]) for update in updates if update is not None
    ]


def test_counts_are_those_of_all() -> None:
    """The head, the lanes and the width of the axis are of the whole recording so far."""
    updates = fed(RECORDING, b"")

    assert updates[0]["chips"] == updates[1]["chips"]
    assert updates[0]["lanes"] == updates[1]["lanes"]
    assert updates[0]["width"] == updates[1]["width"]


def test_rules_are_checked_live() -> None:
    """A violation comes with its event."""
    first, second = fed(RECORDING, cassette_bytes(("s2c", response(9)), header=b"").replace(
        b'"n":1,', b'"n":6,'
    ))  # fmt: skip

    assert all(one["n"] != 6 for one in first["violations"])
    assert 6 in [one["n"] for one in second["violations"]]


def test_a_second_take() -> None:
    """Takes follow one another, each with its own ids."""
    updates = fed(RECORDING, RECORDING)

    assert [1] * 5 == updates[0]["rows"]["take"]
    assert [2] * 5 == updates[1]["rows"]["take"]
    assert 5 == updates[1]["rows"]["call"][0]


@pytest.mark.parametrize(
    ("pieces", "is_open"),
    [
        ([HEADER], [True]),
        ([RECORDING, FOOTER], [True, False]),
        ([RECORDING + FOOTER, RECORDING], [False, True]),
        ([RECORDING, RECORDING + FOOTER], [True, False]),
    ],
    ids=["nothing yet", "closed", "another take", "killed, and recorded again"],
)
def test_whether_it_is_recorded(pieces: list[bytes], is_open: list[bool]) -> None:
    """The last take has no footer."""
    assert is_open == [update["open"] for update in fed(*pieces)]


def test_a_recorder_that_is_gone() -> None:
    """The take breaks off, and what is unanswered is said; a recorder that goes on is heard."""
    page = LivePage("a.jsonl")
    page.feed(HEADER + cassette_bytes(("c2s", call(1, "add")), header=b""))
    gone, back = page.abandon(), page.feed(RECORDING)

    assert back is not None
    assert [False, True] == [gone["open"], back["open"]]
    assert ["tools/call add #1 was never answered: the recording breaks off"] == [
        sentence for sentence, _, rule in gone["happened"] if not rule
    ]
    assert "incomplete: its recorder was stopped" in [text for text, *_ in gone["chips"]]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "Waiting for what is recorded."),
        (HEADER[:9], "Waiting for what is recorded."),
        (b"\x89PNG\0", "a.jsonl is not a cassette: it is a binary file"),
        (b"notes", "a.jsonl is not a cassette: its first line is no mcpmock header"),
        (b"PK\x03\x04", "a.jsonl is not a cassette: it is a zip archive; unpack it"),
        (b"<html>\n", "a.jsonl is not a cassette: it is a web page; download the file itself"),
        (b'{"log":{"entries":[]}}', "a.jsonl is not a cassette: it is a HAR file"),
    ],
)
def test_what_an_empty_page_says(data: bytes, said: str) -> None:
    """That it waits, or what the file is that is no cassette."""
    (update,) = fed(data)

    assert update["empty"].startswith(said)
    assert not update["open"]


def test_the_first_update_begins_anew() -> None:
    """A page that is sent a file again shows it from its start."""
    first, second = fed(HEADER, RECORDING.removeprefix(HEADER))

    assert (True, None) == (first.get("anew"), second.get("anew"))


def test_a_page_that_is_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it cannot keep up with is left out; a row and the head say how many events that were,
    and what names one of them is not accused.
    """
    monkeypatch.setattr(live, "MAX_UNREAD_BYTES", 500)
    monkeypatch.setattr(live, "TAIL_BYTES", 300)
    page = LivePage("a.jsonl")
    lines = RECORDING.splitlines(keepends=True)
    start, passed, end = b"".join(lines[:2]), b"".join(lines[2:4]), b"".join(lines[4:])
    first = page.feed(start, 0)
    assert page.feed(passed, 1000) is None
    update = page.feed(end, 0)

    assert first is not None
    assert update is not None
    assert ["gap", "error", "notification"] == [
        update["rows"]["kinds"][i - 1] for i in update["rows"]["kind"]
    ]
    assert "2 events: not read, to keep up; the cassette has them" == update["rows"]["summary"][0]
    assert ["2 events left out: see the cassette", "warning", ""] == list(update["chips"][-1])
    assert [None, None, None] == update["rows"]["notes"]
    assert [] == update["violations"]
    assert [] == [text for text, _, rule in update["happened"] if not rule]


def test_a_long_recording_is_opened_at_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """The beginning and the last events are read; a take that begins in between is known."""
    monkeypatch.setattr(live, "MAX_HISTORY_BYTES", 1000)
    page = LivePage("a.jsonl")
    *lines, last = (RECORDING * 2).splitlines(keepends=True)
    page.feed(b"".join(lines[:2]), 5000)
    assert page.feed(b"".join(lines[2:]), 4000) is None
    update = page.feed(last, 0)

    assert update is not None
    assert [1, 2, 2] == update["rows"]["take"]
    assert [2, 1, 5] == update["rows"]["n"]
    assert 2 == len(update["facts"])


def test_an_unfinished_skip_keeps_the_digest() -> None:
    """The footer of a take of which events were left out is still judged; what was asked before
    them may have been answered.
    """
    page = LivePage("a.jsonl")
    lines = RECORDING.splitlines(keepends=True)
    page.feed(b"".join(lines[:2]), 0)
    page.feed(b"".join(lines[2:]), 1 << 30)
    update = page.feed(FOOTER, 0)

    assert update is not None
    assert ["outcome", "complete"] in [list(fact) for fact in update["facts"][0]]
    assert ["gap"] == [update["rows"]["kinds"][0]]
    assert [] == [text for text, _, rule in update["happened"] if not rule]
