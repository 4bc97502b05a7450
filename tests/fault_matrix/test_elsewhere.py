"""What does not fit into a row: sessions that never begin, and kinds that there cannot be."""

from __future__ import annotations

from collections.abc import Iterator

import attrs
import pytest

from mcpmock.faults.fault import Fault
from mcpmock.faults.kinds.errors import InitializeError
from mcpmock.faults.kinds.http import WrongContentType
from mcpmock.faults.kinds.process import Down
from mcpmock.faults.kinds.timing import SlowClose
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

    assert [f"fault {fault.kind}: never fired: the kind does not exist over {transport}"] == (
        run.summary
    )
    assert base(transport, "live") == attrs.evolve(run, summary=[])


def test_what_came_in_another_form() -> None:
    """An answer on an event stream has no content type to be wrong about, and that is told."""
    fault = WrongContentType(match=Match(tool="even"))

    assert [
        "fault wrong_content_type: never fired: 1 messages matched, on event streams, and it is "
        "for bodies in JSON"
    ] == with_faults("streamable-http", "live", fault).summary


def test_a_replay_over_stdio_has_no_close_of_its_own() -> None:
    """Where the recorded server did not end first, the client does, and nothing is there to be
    slow.
    """
    run = with_faults("stdio", "replay", SlowClose())

    assert ["fault slow_close: never fired: nothing matched"] == run.summary
