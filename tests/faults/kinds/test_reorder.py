"""`reorder`: overtaken."""

from __future__ import annotations

from mcpmock.faults.kinds.order import Reorder
from mcpmock.faults.match import Match
from tests.faults.faulty import faulty


def test_it_is_overtaken() -> None:
    """By the next, or by more of them; not by what goes the other way."""
    wire = faulty(Reorder(match=Match(nth=1), behind=2))

    wire.at(0, server=b"a").at(0, client=b"x", to_server=b"x").at(0, server=b"b", to_client=b"b")
    wire.at(0, server=b"c", to_client=[b"c", b"a"]).nothing_more()


def test_it_does_not_wait_for_ever() -> None:
    """Where nothing comes behind it, it comes itself."""
    faulty(Reorder(at_most=2)).at(0, server=b"a").at(2, to_client=b"a").nothing_more()
