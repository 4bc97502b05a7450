"""A cassette as HAR 1.2, for the network panels of browsers and other viewers of HTTP.

Takes over HTTP give an entry for each exchange (`har_http`), takes over stdio one for each call
(`har_calls`). A HAR file cannot be made a cassette again: it keeps neither the order of messages
across exchanges nor their bytes.
"""

from __future__ import annotations

from itertools import groupby
from typing import Any

import attrs
import msgspec

from mcpmock.cassette.model import Cassette
from mcpmock.version import VERSION
from mcpmock.view.timeline import Row, timeline

from .har_http import exchanges
from .har_model import HarEntry
from .har_stdio import calls

_OUTSIDE = ("stderr", "opaque", "gap", "fault")
"""Kinds of events that happen outside of exchanges and have no place in HAR, if they do."""


@attrs.frozen
class Har:
    """A HAR file, and what is to be said about it."""

    data: bytes
    entries: int
    made_up: int
    """How many of them stand for calls over stdio, with URLs that are made up."""
    left_out: int
    """How many events have no place in it."""


def har(cassette: Cassette) -> Har:
    """All takes in one log."""
    entries: list[HarEntry] = []
    made_up = left_out = place = 0
    for number, group in groupby(timeline(cassette), key=lambda row: row.take):
        rows, header = list(group), cassette.takes[number - 1].header
        if any(row.event.x is not None for row in rows):
            entries += exchanges(header, rows)
        else:
            found = list(calls(header, rows, place))
            made_up += len(found)
            entries += found
        left_out += sum(_is_outside(row) for row in rows)
        place += len(rows)
    log: dict[str, Any] = {
        "version": "1.2",
        "creator": {"name": "mcpmock", "version": VERSION},
        "pages": [],
        "entries": entries,
    }
    data = msgspec.json.format(msgspec.json.encode({"log": log}), indent=1) + b"\n"
    return Har(data, len(entries), made_up, left_out)


def _is_outside(row: Row) -> bool:
    return row.event.x is None and row.kind in _OUTSIDE
