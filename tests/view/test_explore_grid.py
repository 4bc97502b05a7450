"""The grid of an exploration. What a browser makes of it is in tests/e2e/test_report_page.py."""

from __future__ import annotations

from typing import Any

import pytest

from mcpmock.view.explore_grid import ExploreLineError, explore_page, is_exploration
from mcpmock.view.html_page import html_page
from tests.support import HEADER, dump
from tests.support.pages import data_of

CALL = {"request": 3, "message": "tools/call slow"}
RUN = (
    {"type": "row", "n": 1, "step": "cells", **CALL, "cell": "cancel_after_response"}
    | {"verdict": "ok"},
    {"type": "row", "n": 2, "step": "cells", **CALL, "cell": "cancel_before_start", "at": "at once"}
    | {"verdict": "broken", "oracle": "ends-early", "place": "tools/call slow"},
    {"type": "row", "n": 3, "step": "faults", "request": None, "message": "initialized"}
    | {"fault": "delay", "at": "at initialized", "verdict": "unreached"},
    {"type": "failure", "n": 1, "oracle": "ends-early", "place": "tools/call slow"},
    {"type": "untried", "message": "initialize #1", "why": "it is never cancelled"},
    {"type": "summary", "runs": 3, "planned": 5, "seed": 0, "file": "a.jsonl", "command": "server"},
)


def shown(*lines: dict[str, Any]) -> dict[str, Any]:
    return data_of(explore_page("run.jsonl", b"".join(dump(line) + b"\n" for line in lines)))


def test_messages_and_what_was_tried_on_them() -> None:
    """A table for each step; cells stand in the order of a call, and know their runs."""
    cancels, faults = shown(*RUN)["grids"]

    assert ["cancel_before_start", "cancel_after_response"] == cancels["kinds"]
    assert [["tools/call slow #3", [[1], [0]]]] == cancels["rows"]
    assert ["delay"] == faults["kinds"]
    assert [["initialized", [[2]]]] == faults["rows"]


def test_orders_and_pairs_have_one_column() -> None:
    """That a run is another order, or which pair, is in its own words."""
    row = {"type": "row", "n": 1, **CALL, "verdict": "ok"}
    orders = {**row, "step": "orders", "order": "order", "at": "7 before 6"}
    pairs = [{**row, "step": "pairs", "pair": f"pair {n}"} for n in range(2)]

    assert [["runs"], ["runs"]] == [grid["kinds"] for grid in shown(orders, *pairs)["grids"]]
    assert [[[1, 2]]] == [cells for _, cells in shown(orders, *pairs)["grids"][1]["rows"]]


def test_what_was_explored() -> None:
    """The cassette, and the command or the URL; an exploration that was cut off names neither."""
    assert ["a.jsonl", "server"] == shown(*RUN)["subject"]
    assert [] == shown(*RUN[:-1])["subject"]


def test_a_failure_knows_its_runs() -> None:
    """By its oracle and its place."""
    found = shown(*RUN)

    assert [None, 1, None] == [run[-1] for run in found["runs"]]
    assert "Failures" == found["found"]


FAILED = RUN[3] | {"shrunk": "slow #3 cancelled at once", "text": "it ended"}
BASELINE = {"type": "baseline", "oracle": "ends-early", "text": "it ended"}


@pytest.mark.parametrize(
    ("lines", "happened", "heading"),
    [
        ((*RUN[:3], FAILED, RUN[-1]), "slow #3 cancelled at once: it ended", "Failures"),
        ((BASELINE, RUN[-1]), "already as recorded: it ended", "Nothing was run"),
        ((RUN[0], RUN[-1]), "", "No failures"),
    ],
)
def test_the_head_says_what_was_found(
    lines: tuple[dict[str, Any], ...], happened: str, heading: str
) -> None:
    """The first failure in a sentence, also where the server fails as it was recorded."""
    found = shown(*lines)

    assert (happened, heading) == (found["happened"], found["found"])


def test_coverage_is_told() -> None:
    """What was not run, and what never could be, with the reason."""
    found = shown(*RUN)

    assert [["initialize #1", "it is never cancelled"]] == found["untried"]
    assert ["2 planned changes not run", "warning"] in found["chips"]
    assert ["1 unreached", ""] in found["chips"]


def test_an_exploration_that_was_cut_off() -> None:
    """It is shown as far as it goes."""
    found = shown(*RUN[:2])

    assert ["incomplete", "warning"] in found["chips"]
    assert found["found"].startswith("Failures are listed at the end")


def test_what_is_an_exploration() -> None:
    """A cassette is none."""
    assert is_exploration(dump(RUN[0]))
    assert not is_exploration(HEADER)


@pytest.mark.parametrize(
    "bad", [b"{", b'{"type":"other"}', b'{"type":"row","at":1}', b"\xff", b"[" * 9999]
)
def test_another_line(bad: bytes) -> None:
    """The error names it."""
    with pytest.raises(ExploreLineError) as found:
        explore_page("run.jsonl", dump(RUN[0]) + b"\n" + bad)

    assert 2 == found.value.line


def test_the_page_code_is_small() -> None:
    """JavaScript, CSS and HTML, comments included."""
    assert len(html_page("explore", "", {})) < 16 * 1024
