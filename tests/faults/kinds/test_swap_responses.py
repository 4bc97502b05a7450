"""`swap_responses`: answers for each other."""

from __future__ import annotations

from mcpmock.faults.kinds.order import SwapResponses
from tests.faults.faulty import faulty
from tests.support import progress, response


def test_they_are_swapped() -> None:
    """Each comes with the other's id, the second first."""
    wire = faulty(SwapResponses())

    wire.at(0, server=response(1, {"a": 1})).at(0, server=progress(1), to_client=progress(1))
    swapped = [response(2, {"a": 1}), response(1, {"b": 2})]
    wire.at(0.5, server=response(2, {"b": 2}), to_client=swapped)
    wire.nothing_more()


def test_one_alone() -> None:
    """It comes as it was, and the next waits for another."""
    wire = faulty(SwapResponses(at_most=1))

    wire.at(0, server=response(1)).at(1, to_client=response(1)).at(2, server=response(2))
    wire.at(3, to_client=response(2)).nothing_more()
