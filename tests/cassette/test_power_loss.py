"""What a power loss leaves of a recording, on a simulated disk: what was synced is whole; of what
was written after that, any part may be there, in any order, with zeros in between.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from mcpmock.cassette.file import open_take
from mcpmock.cassette.model import Header, event_line
from mcpmock.cassette.parser import read
from tests.support import c2s, request

EVENTS = 40
CUTS = 50


class Disk:
    """The writes to one file, in the order that the kernel got them, and where it was synced."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.writes: list[bytes] = []
        self.synced: list[int] = []
        """How many writes there were at each sync."""
        write, sync = os.write, os.fdatasync

        def written(fd: int, data: bytes) -> int:
            taken = write(fd, data)
            self.writes.append(bytes(data)[:taken])
            return taken

        def synced(fd: int) -> None:
            sync(fd)
            self.synced.append(len(self.writes))

        monkeypatch.setattr(os, "write", written)
        monkeypatch.setattr(os, "fdatasync", synced)

    def after_power_loss(self, dice: random.Random) -> tuple[bytes, int]:
        """The content of the file after a loss at some moment, and how many writes were safe."""
        moment = dice.randrange(len(self.writes) + 1)
        safe = max((count for count in self.synced if count <= moment), default=0)
        content = bytearray(b"".join(self.writes[:safe]))
        for data in self.writes[safe:moment]:
            lost = dice.random() < 0.5
            content += bytes(len(data)) if lost else data
        end = len(b"".join(self.writes[:safe]))
        return bytes(content[: dice.randint(end, len(content))]), safe


@pytest.mark.parametrize("seed", range(20))
def test_a_power_loss_costs_nothing_that_was_synced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """Whatever of the later writes is missing, the file loads, and has every synced event."""
    dice, disk = random.Random(seed), Disk(monkeypatch)
    take = open_take(tmp_path / "a.jsonl")
    assert take is not None
    take.begin(Header(mcpmock=1))
    for n in range(1, EVENTS + 1):
        take.append([event_line(n, n, c2s(request(n, "ping")))])
        if dice.random() < 0.2:
            take.sync()
    take.close()

    for _ in range(CUTS):
        content, safe = disk.after_power_loss(dice)
        found = [event.n for one in read("a", content).takes for event in one.events]
        events = min(max(safe - 1, 0), EVENTS)  # the first write is the header
        assert [*range(1, events + 1)] == found[:events]
