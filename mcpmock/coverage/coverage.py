"""`Coverage`: of what servers list, how often each was used; in kinds, by server. Two add up as if
their recordings had been read together.

What is used counts by its name whether or not it is listed, so a call counts for a list in another
file. `reader` makes it of messages, `bounds` holds it against what a user wants.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

import attrs

from .uri_template import UriTemplate

TOOLS, PROMPTS, RESOURCES, TEMPLATES = LISTED = ("tools", "prompts", "resources", "templates")
PARAMETERS, ARGUMENTS, VALUES, ERRORS, NOTIFICATIONS = _INNER = (
    *("parameters", "arguments", "values"),
    *("errors", "notifications"),
)
KINDS = (*LISTED, *_INNER)
TOTAL = "total"
"""All that servers list: tools, prompts, resources and templates."""
_MAX_NAMES = 100_000
"""How many names of a kind are kept for a server."""
_MAX_NAME_CHARS = 2000


@attrs.define
class ServerCoverage:
    """One server: what is `listed` and what is `used`, by kind."""

    listed: dict[str, dict[str, None]] = attrs.field(factory=dict)
    used: dict[str, Counter[str]] = attrs.field(factory=dict)

    def note_listed(self, kind: str, *names: object) -> None:
        """Add names to what can be covered."""
        known = self.listed.setdefault(kind, {})
        for name in names:
            if isinstance(name, str) and len(known) < _MAX_NAMES and len(name) <= _MAX_NAME_CHARS:
                known[name] = None

    def note_used(self, kind: str, name: object, times: int = 1) -> None:
        """Count the use of a name, listed or not."""
        counts = self.used.setdefault(kind, Counter())
        known = isinstance(name, str) and (name in counts or len(counts) < _MAX_NAMES)
        if known and isinstance(name, str) and len(name) <= _MAX_NAME_CHARS:
            counts[name] += times

    def include(self, other: ServerCoverage) -> None:
        """Add what another one has."""
        for kind, names in other.listed.items():
            self.note_listed(kind, *names)
        for kind, counts in other.used.items():
            for name, times in counts.items():
                self.note_used(kind, name, times)

    def items(self, kind: str) -> dict[str, int]:
        """Return how often each listed name was used, in the order of the names."""
        if kind == TEMPLATES:
            return self._templates()
        used = self.used.get(kind, Counter[str]())
        names = self.listed.get(TOOLS if kind == ERRORS else kind, {})
        return {name: used[name] for name in sorted(names)}

    def other(self, kind: str) -> dict[str, int]:
        """Return how often each name was used that is not listed here."""
        used, items = self.used.get(kind, Counter[str]()), self.items(kind)
        return {name: used[name] for name in sorted(used) if name not in items}

    def add(self, kind: str, items: Mapping[str, int], other: Mapping[str, int]) -> None:
        """Add what `items` and `other` gave."""
        if kind != ERRORS:  # they are those of the tools
            self.note_listed(kind, *items)
        for name, times in () if kind == TEMPLATES else (*items.items(), *other.items()):
            if times:
                self.note_used(kind, name, times)

    def _templates(self) -> dict[str, int]:
        """Return how often a resource was read that is not listed and that a template fits."""
        reads = self.other(RESOURCES)
        return {
            text: sum(times for uri, times in reads.items() if template.fits(uri))
            for text in sorted(self.listed.get(TEMPLATES, {}))
            for template in [UriTemplate(text)]
        }


@attrs.frozen
class Covered:
    """How many of `all` were used."""

    covered: int = 0
    all: int = 0

    @property
    def percent(self) -> int:
        """The share, rounded down: 100 is all."""
        return self.covered * 100 // self.all if self.all else 0

    def reaches(self, percent: float) -> bool:
        """Return whether at least this share was used; of nothing, no share is."""
        return self.all > 0 and self.covered * 100 >= percent * self.all

    def __str__(self) -> str:
        return f"{self.covered} of {self.all} ({self.percent}%)"

    def __add__(self, other: Covered) -> Covered:
        return Covered(self.covered + other.covered, self.all + other.all)


@attrs.define
class Coverage:
    """All servers, by their names."""

    servers: dict[str, ServerCoverage] = attrs.field(factory=dict)

    def of(self, server: str) -> ServerCoverage:
        """Return the server of this name, which may be new."""
        return self.servers.setdefault(server, ServerCoverage())

    def include(self, other: Coverage) -> None:
        """Add what another one has."""
        for name, server in other.servers.items():
            self.of(name).include(server)

    def name_the_nameless(self) -> None:
        """Count what was used of a server without a name for the only one that has one."""
        nameless, names = self.servers.get(""), self.servers.keys() - {""}
        if nameless is not None and len(names) == 1 and not any(nameless.listed.values()):
            del self.servers[""]
            self.of(names.pop()).include(nameless)

    def kinds(self) -> Iterator[tuple[str, str, Mapping[str, int]]]:
        """Yield each server by its name, with each kind and how often each listed name was used."""
        for name in sorted(self.servers):
            for kind in KINDS:
                yield name, kind, self.servers[name].items(kind)

    def counts(self) -> dict[str, Covered]:
        """Return the coverage of each kind over all servers, and the total."""
        found = {kind: Covered() for kind in (*KINDS, TOTAL)}
        for _, kind, items in self.kinds():
            counted = covered(items)
            found[kind] += counted
            found[TOTAL] += counted if kind in LISTED else Covered()
        return found


def covered(items: Mapping[str, int]) -> Covered:
    """Return how many of these names were used."""
    return Covered(sum(times > 0 for times in items.values()), len(items))
