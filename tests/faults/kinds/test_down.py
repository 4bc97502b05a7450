"""`down`: no start."""

from __future__ import annotations

from mcpmock.faults.kinds.process import Down
from mcpmock.protocol.messages import S2C
from tests.faults.faulty import faulty
from tests.support import exits, hangs_up, logs


def test_it_does_not_start() -> None:
    """It ends before anything was said."""
    wire = faulty(Down(code=4, stderr="cannot open display"))

    wire.at(0, to_client=[logs("cannot open display\n"), hangs_up(S2C), exits(4)]).hung_up()
