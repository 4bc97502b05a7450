"""The report of a miss: the request, the nearest recorded requests with their differences, and the
next command to run.
"""

from __future__ import annotations

from pathlib import Path

from mcpmock.playback.miss import STUBBED, Miss, NearMiss, describe
from mcpmock.printable import mcpmock_command, shell_command

from .filter import term


def miss_lines(miss: Miss, file: Path, *, keywords: bool = False) -> list[str]:
    """Return the lines of the report. They quote the traffic: print them through `printable`. With
    `keywords` the rules are written as in Python.
    """
    command = ["--filter", term("method", miss.method)]
    show = mcpmock_command("show", str(file), options=command)
    return [
        f"nothing recorded in {file} answers this {miss.method}",
        *([f"  {miss.revisions}"] if miss.revisions else []),
        *(f"  {_describe_source(near)}: {near.why}{describe(near)}" for near in miss.near),
        *_allowing(miss, keywords),
        *(['  --repeats last (repeats="last") answers it again'] if miss.is_used_up else []),
        f"  see `{show}`; record again to add it",
    ]


def _describe_source(near: NearMiss) -> str:
    return "the stub" if near.n == STUBBED else f"event {near.n}"


def _allowing(miss: Miss, keywords: bool) -> list[str]:
    """Return the line with the rules that allow the nearest request that can be allowed."""
    rules = next((near.rules for near in miss.near if near.rules), ())
    if keywords and rules:
        options = dict.fromkeys(option for option, _ in rules)
        lists = {one: [rule for option, rule in rules if option == one] for one in options}
        return [f"  allow with {', '.join(f'{name}={texts!r}' for name, texts in lists.items())}"]
    words = [word for option, rule in rules for word in (f"--{option}", rule)]
    return [f"  allow with {shell_command(words)}"] if words else []
