"""The report of a miss: the request, the nearest recorded requests with their differences, and the
next command to run.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from mcpmock.playback.miss import STUBBED, Miss, NearMiss
from mcpmock.printable import mcpmock_command

from .filter import term


def miss_lines(miss: Miss, file: Path) -> list[str]:
    """Return the lines of the report. They quote the traffic: print them through `printable`."""
    command = ["--filter", term("method", miss.method)]
    show = mcpmock_command("show", str(file), options=command)
    return [
        f"nothing recorded in {file} answers this {miss.method}",
        *([f"  {miss.revisions}"] if miss.revisions else []),
        *(
            f"  {_describe_source(near)}: {near.why}{_describe_differences(near)}"
            for near in miss.near
        ),
        *(['  --repeats last (repeats="last") answers it again'] if miss.is_used_up else []),
        f"  see `{show}`; record again to add it",
    ]


def _describe_source(near: NearMiss) -> str:
    return "the stub" if near.n == STUBBED else f"event {near.n}"


def _describe_differences(near: NearMiss) -> str:
    had = "stubbed" if near.n == STUBBED else "recorded"
    return "".join(
        f"; {d.path}: {had} {_shorten_value(d.recorded)}, asked {_shorten_value(d.live)}"
        for d in near.differences[:3]
    )


def _shorten_value(value: Any) -> str:
    if value is msgspec.UNSET:
        return "absent"
    try:
        text = msgspec.json.encode(value).decode()
    except (ValueError, TypeError):
        text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
