"""Real clients in cancellation races: all cells of three messages, one cell with every reaction.
tools/race_table.py runs all of them.

That the cell is reached is ours to show, over each transport. What a client makes of it is its own:
here only that its caller is not left waiting, and that the session goes on where it can.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from mcpmock.faults.races.grid import REACTIONS, Cell, cells
from tests.support.every import EVERY

from . import races
from .parts import HTTP
from .races import Entry, Outcome, Played

pytestmark = [pytest.mark.e2e, pytest.mark.parts]

SAMPLE = [
    *(Entry(cell, "silent") for cell in cells(3)),
    *(Entry(Cell(1, 2, 4), reaction) for reaction in REACTIONS),
]
CLIENTS, MODERN = ["ts2"], ["py2-modern"]
if EVERY:
    CLIENTS, MODERN = ["py2", "py1", "ts1", "ts2"], ["py2-modern", "ts2-modern"]
ENDS = ("crash", "close")


def all_of(client: str, transports: tuple[str, ...], folder: Path) -> list[Played]:
    """Both transports at once."""
    with ThreadPoolExecutor(len(transports)) as pool:
        runs = [pool.submit(races.play, client, how, SAMPLE, folder / how) for how in transports]
        return [run.result() for run in runs]


def expected(outcome: Outcome, played: Played) -> set[str]:
    """What the caller may see: the result where it was there before the cancel, or where the call
    goes on behind it.
    """
    cell, reaction = outcome.entry.cell, outcome.entry.reaction
    if cell.i == cell.k:
        return {"result"}
    if played.client not in races.BY_HAND:
        return {"cancelled"}
    if not cell.reacts or reaction == "late_result":
        return {"result"}
    if reaction in ("late_error", "error_then_result"):
        return {"error -32800"}
    return {"error -32000"} if reaction in ENDS and played.transport != HTTP else {"nothing"}


@pytest.mark.parametrize("client", [*CLIENTS, *MODERN])
def test_a_client_in_every_cell(client: str, tmp_path: Path) -> None:
    """It gets there, its caller sees what was to be seen, and what it asks next is answered."""
    if why := races.missing(client):
        pytest.skip(why)
    transports = (HTTP,) if client in MODERN else races.TRANSPORTS
    for played in all_of(client, transports, tmp_path):
        missed = [outcome for outcome in played.outcomes if races.is_missed(played, outcome)]
        assert [] == missed, played.stderr
        for outcome in played.outcomes:
            assert outcome.saw in expected(outcome, played), outcome
            died = outcome.entry.reaction in ENDS and played.transport == "stdio"
            assert (outcome.next == "ok") is not died, outcome
