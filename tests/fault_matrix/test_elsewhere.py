"""What does not fit into a row: sessions that never begin, and kinds that there cannot be."""

from __future__ import annotations

from collections.abc import Iterator

import attrs
import pytest

from mcpmock.faults.fault import Fault
from mcpmock.faults.kinds.errors import InitializeError
from mcpmock.faults.kinds.process import Down
from mcpmock.faults.match import Match
from tests.support import error

from .row import for_first
from .running import EVERYWHERE, MODES, TRANSPORTS, base, with_faults
from .test_kinds import ROWS

HTTP = [(transport, mode) for transport, mode in EVERYWHERE if transport != "stdio"]


@pytest.mark.parametrize(("transport", "mode"), HTTP)
def test_a_server_that_is_down_over_http(transport: str, mode: str) -> None:
    """Whoever opens a session is refused, every one; nothing of it reaches a server."""
    run = with_faults(transport, mode, Down())
    opens = "get" if transport == "sse" else "initialize"

    assert [503, 503] == [ways[opens].answer().status for ways in run.client]
    assert [[], []] == run.server


@pytest.mark.parametrize("mode", MODES)
def test_a_handshake_that_fails_over_streamable_http(mode: str) -> None:
    """It is answered, and opens no session."""
    fault = for_first(InitializeError(), "streamable-http")
    run = with_faults("streamable-http", mode, fault)
    way = run.client[0]["initialize"]

    assert [(0.5, error(0, -32602, "Unsupported protocol version"))] == way.messages()
    assert "mcp-session-id" not in way.answer().headers
    assert 202 == run.client[1]["notifications/initialized"].answer().status


def nowhere() -> Iterator[object]:
    """Each kind, with the transports on which it does not exist."""
    for fault in {row.fault.kind: row.fault for row in ROWS}.values():
        for transport in TRANSPORTS:
            if transport not in fault.transports:
                yield pytest.param(fault, transport, id=f"{fault.kind}-{transport}")


@pytest.mark.parametrize(("fault", "transport"), list(nowhere()))
def test_what_there_is_not(fault: Fault, transport: str) -> None:
    """Nothing is changed, and the summary says why."""
    run = with_faults(transport, "live", attrs.evolve(fault, match=Match()))

    there = " and ".join(fault.transports)
    reason = f"the kind does not exist over {transport}; it exists over {there}"
    assert [f"fault {fault.kind}: never fired: {reason}"] == run.summary
    assert base(transport, "live") == attrs.evolve(run, summary=[])
