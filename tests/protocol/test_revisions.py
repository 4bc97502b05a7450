"""Which era a message is of."""

from __future__ import annotations

from mcpmock.protocol.messages import parse
from mcpmock.protocol.revisions import is_modern, speaks_modern, version_of
from tests.support import notification, request, response

META = {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}


def test_eras() -> None:
    """The era of a message follows from the revision it names; `server/discover` is modern."""
    assert [True, True, False, False, False] == [
        is_modern(v) for v in ("2026-07-28", "2027-01-01", "2025-11-25", "zzz", None)
    ]
    told = {
        request(1, "a", META): True,
        request(1, "server/discover"): True,
        request(1, "a"): False,
        response(1): False,
    }
    assert told == {raw: speaks_modern(parse(raw)) for raw in told}


def test_the_revision_that_a_message_names() -> None:
    """Requests and notifications of the modern era name it; a value that is not a string is
    ignored.
    """
    odd = {"_meta": {"io.modelcontextprotocol/protocolVersion": 5}}
    raws = [request(1, "a", META), notification("a", META), request(1, "a", odd), response(1, META)]

    assert ["2026-07-28", "2026-07-28", None, None] == [version_of(parse(raw)) for raw in raws]
