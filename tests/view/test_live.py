"""The report page of a cassette that is being recorded."""

from __future__ import annotations

from typing import Any

from mcpmock.view.live import LivePage
from tests.support import HEADER, call, cancelled, cassette_bytes, error, request, response

RECORDING = cassette_bytes(
    ("c2s", call(1, "add")),
    ("s2c", response(1, {"content": []})),
    ("c2s", request(2, "ping")),
    ("s2c", error(2)),
    ("c2s", cancelled(1)),
)


def fed(*pieces: bytes) -> list[dict[str, Any]]:
    page = LivePage("a.jsonl")
    return [page.feed(piece) for piece in pieces]


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


def test_the_first_update_begins_anew() -> None:
    """A page that is sent a file again shows it from its start."""
    first, second = fed(HEADER, RECORDING.removeprefix(HEADER))

    assert (True, None) == (first.get("anew"), second.get("anew"))
