"""What `serve`, `replay` and `connect` say at the end: `MissError` for misses, and a warning for
each fault that never fired. The pytest plugin says the same of its tests in `testing.servers`.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Self, get_args

from mcpmock.errors import McpMockError
from mcpmock.options.testing import MissUse
from mcpmock.printable import many, printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcpmock.faults.control import FaultControl
    from mcpmock.playback.miss import Miss

    from .log import Log


class MissError(McpMockError, AssertionError):
    """Clients sent requests that match nothing recorded: all of them are in `misses`. Its notes
    are the report of each.

    >>> try:
    ...     with mcpmock.serve("weather.jsonl") as server:
    ...         asked = b'{"jsonrpc":"2.0","id":1,"method":"prompts/list"}'
    ...         done = subprocess.run(server.command, input=HELLO + asked, capture_output=True)
    ... except mcpmock.MissError as error:
    ...     print(error)
    1 request matches nothing recorded in weather.jsonl: prompts/list
    """

    misses: list[Miss]

    @classmethod
    def of(cls, misses: Sequence[Miss], cassette: str) -> Self:
        """Return the error for these misses."""
        from mcpmock.view.miss_report import miss_lines

        error = cls(describe_misses(misses, cassette))
        error.misses = list(misses)
        for miss in misses:
            for line in miss_lines(miss, Path(cassette), keywords=True):
                error.add_note(printable(line))
        return error


def describe_misses(misses: Sequence[Miss], cassette: str) -> str:
    """Return how many requests were misses, and of the first one what would allow it."""
    first, rest = misses[0].summarize(keywords=True), len(misses) - 1
    match, more = ("match", f"; and {rest} more") if rest else ("matches", "")
    if misses[0].unread:
        return f"{first}{more}"
    return f"{many(len(misses), 'request')} {match} nothing recorded in {cassette}: {first}{more}"


def check_misses(word: object) -> MissUse:
    """Return the word, if it says what to do with misses. Raises McpMockError."""
    if word not in get_args(MissUse):
        raise McpMockError(f"misses {word!r}: choose fail or allow")
    return word  # type: ignore[return-value]


def warn_of_idle_faults(
    faults: FaultControl, category: type[Warning] = UserWarning, stacklevel: int = 1
) -> None:
    """Warn of each fault that never fired."""
    for line in faults.never_fired():
        warnings.warn(category(printable(f"mcpmock: {line}")), stacklevel=stacklevel + 1)


def warn_of_misfits(log: Log) -> None:
    """Warn of each answer of a stub that breaks what its server declares."""
    from mcpmock.playback.player import MisfitAnswer

    for note in log.notes:
        if isinstance(note, MisfitAnswer):
            warnings.warn(printable(f"mcpmock: {note.line}"), stacklevel=6)


@contextmanager
def judged(log: Log, faults: FaultControl, cassette: str, misses: MissUse) -> Iterator[None]:
    """Raise MissError at the end of a block that raised nothing, for misses that are not allowed;
    warn of faults that never fired, and of answers of stubs that break what they declare.
    """
    try:
        yield
    except Exception as error:
        if log.misses:  # they are often the reason
            error.add_note(printable(describe_misses(log.misses, cassette)))
        raise
    warn_of_idle_faults(faults, stacklevel=5)
    warn_of_misfits(log)
    if log.misses and misses == "fail":
        raise MissError.of(log.misses, cassette)
