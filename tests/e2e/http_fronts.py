"""All that listens for clients over HTTP, side by side: a recorder and a proxy, each in front of a
server, and a player in place of one.

    async with fronts(tmp_path) as three:
        for front in three.every:
            ...               # front.url
        assert three.let_in() == 0
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from msgspec import UNSET

from mcpmock.cassette.model import event_line
from tests.support import JSON_HEADER, answers, post, request, response
from tests.support.http_upstream import Upstream, answers_all, upstream
from tests.support.processes import takes

from .http_processes import Served, proxying, recording, replaying

PING = request(1, "ping")
_EXCHANGE = [*post(1, PING), *answers(1, response(1))]
PLAYED = b"".join([JSON_HEADER, *(event_line(n, n, f) for n, f in enumerate(_EXCHANGE, 1))])
"""A cassette: a client pings, without a session."""


@dataclass
class Fronts:
    """A recorder and a proxy, each in front of a server, and a player in place of one."""

    recorder: Served
    proxy: Served
    player: Served
    servers: tuple[Upstream, Upstream]
    cassette: Path

    @property
    def every(self) -> tuple[Served, Served, Served]:
        return self.recorder, self.proxy, self.player

    def let_in(self) -> int:
        """How many requests each server was asked; the cassette has no more and no fewer."""
        events = takes(self.cassette)[0].events
        heads = [e for e in events if e.d == "c2s" and e.http is not UNSET]
        assert [len(server.asked) for server in self.servers] == [len(heads)] * 2
        return len(heads)


@asynccontextmanager
async def fronts(folder: Path, *options: str) -> AsyncIterator[Fronts]:
    """All three with these options."""
    played, cassette = folder / "played.jsonl", folder / "a.jsonl"
    played.write_bytes(PLAYED)
    async with upstream(answers_all) as server, upstream(answers_all) as other:
        with (
            recording(cassette, server.url, *options) as recorder,
            proxying(*options, "--url", other.url) as proxy,
            replaying(played, *options) as player,
        ):
            yield Fronts(recorder, proxy, player, (server, other), cassette)
    assert [recorder.exit_code, proxy.exit_code] == [0, 0]
    assert server.torn == other.torn == []
    [take] = takes(cassette)
    assert take.sealed
    assert len(take.events) == (take.footer.events if take.footer else 0)
