"""The report of a miss for the terminal and for pytest: the request, the nearest recorded requests
with their differences, the options that would allow them, and the next command to run.
"""

from __future__ import annotations

from pathlib import Path

from mcpmock.playback.miss import REPEAT, THE_STUB, Miss
from mcpmock.playback.request_key import BATCH
from mcpmock.printable import mcpmock_command

from .filter import term

_NO_ROW = (BATCH, "POST")
"""What `mcpmock show` has no row for: it shows the messages in them."""


def miss_lines(miss: Miss, file: Path, *, keywords: bool = False) -> list[str]:
    """Return the lines of the report. They quote the traffic: print them through `printable`. With
    `keywords` the options are written as in Python.
    """
    if miss.unread:
        return [miss.unread]
    selecting = [] if miss.method in _NO_ROW else ["--filter", term("method", miss.method)]
    show = mcpmock_command("show", str(file), options=selecting)
    advice = f"see `{show}`; record again to add it"
    holds = "nothing recorded in"
    if str(file) == THE_STUB:
        holds, advice = "nothing in", "add an answer to it: `mcpmock help pytest`"
    elif file.suffix == ".toml":
        holds, advice = "nothing written in", "add an answer to it: `mcpmock help mocks`"
    return [
        f"{holds} {file} answers {miss.request}",
        *([f"  {miss.revisions}"] if miss.revisions else []),
        *(f"  {near.source}: {near.why}{near.describe()}" for near in miss.near),
        *_allowing(miss, keywords),
        f"  {advice}",
    ]


def _allowing(miss: Miss, keywords: bool) -> list[str]:
    if miss.allow == (REPEAT,):
        return ['  --repeats last (repeats="last") answers it again']
    spelled = miss.spell(miss.allow, keywords=keywords)
    return [f"  allow with {spelled}"] if miss.allow else []
