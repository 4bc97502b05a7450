"""The start of real servers, in Node and in Python: from the start of a process to its answer to
`initialize`, directly and through `mcpmock record`. `tools/e2e_parts.sh npm py2` installs them.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench_parts.client import limited
from bench_parts.over_pipes import PipeSession
from bench_parts.rows import Workshop

_PARTS = Path.home() / ".cache/mcpmock-e2e"
_EVERYTHING = _PARTS / "npm/node_modules/@modelcontextprotocol/server-everything/dist/index.js"
_SERVERS = {
    "node server-everything": ["node", str(_EVERYTHING), "stdio"],
    "python mcp-server-time": [str(_PARTS / "py2/bin/mcp-server-time")],
}
_START_TIMEOUT_S = 30


@dataclass
class RealStart:
    """Seconds to the first answer, by how it is asked; the runs of all take turns."""

    times: dict[str, list[float]] = field(default_factory=dict)

    @property
    def milliseconds(self) -> dict[str, float]:
        return {how: statistics.median(times) * 1000 for how, times in self.times.items()}

    @property
    def added(self) -> dict[str, float]:
        """Seconds more than directly: the median of the differences of each turn."""
        return {
            how: statistics.median(one - two for one, two in self._turns(times))
            for how, times in self.times.items()
        }

    @property
    def ratios(self) -> dict[str, float]:
        return {
            how: statistics.median(one / two for one, two in self._turns(times))
            for how, times in self.times.items()
        }

    def _turns(self, times: Sequence[float]) -> zip[tuple[float, float]]:
        return zip(times, self.times["direct"], strict=True)


def real_starts(shop: Workshop, turns: int) -> dict[str, RealStart]:
    """By server; those that are not installed are left out."""
    found = {}
    for name, server in _SERVERS.items():
        if Path(server[-1 if server[0] != "node" else 1]).exists():
            found[name] = _measure(shop, server, turns)
    return found


def _measure(shop: Workshop, server: list[str], turns: int) -> RealStart:
    found = RealStart()
    for turn in range(turns):
        file = str(shop.folder / f"real-{turn}.jsonl")
        record = [*shop.mcpmock, "record", "--overwrite", "-o", file]
        for how, command in (
            ("direct", server),
            ("record", [*record, "--", *server]),
            ("record --watch", [*record, "--watch", "--", *server]),
        ):
            with limited(_START_TIMEOUT_S), PipeSession(command, shop.env, shop.log) as session:
                found.times.setdefault(how, []).append(session.initialize())
    return found
