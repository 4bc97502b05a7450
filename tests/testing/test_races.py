"""One cancellation race: which there are, and when the client is to cancel."""

from __future__ import annotations

from pathlib import Path

import pytest

import mcpmock
from mcpmock.api.server import ReplayServer
from mcpmock.cassette.parser import read
from mcpmock.channels.channel import MessageChannel
from mcpmock.faults.match import Match
from mcpmock.faults.races.grid import REACTIONS, Cell, cells
from mcpmock.testing.races import Race, Raced, list_races, messages_of
from tests.support import INITIALIZE, INITIALIZED, c2s, notification, request
from tests.support.slow_call import CASSETTE

SLOW = Match(tool="slow")
CALL = request(9, "tools/call", {"name": "slow", "arguments": {}, "_meta": {"progressToken": 4}})
CANCEL = notification("notifications/cancelled", {"requestId": 9})


@pytest.mark.parametrize("k", range(1, 6))
def test_the_grid(k: int) -> None:
    """Every cell; every reaction where there is one to be seen, under names of their own."""
    all_ = list(list_races(k, REACTIONS))

    assert list(cells(k)) == list(dict.fromkeys(race.cell for race in all_))
    assert len(all_) == len({race.id for race in all_})
    for race in all_:
        assert race.cell.reacts or race.reaction == "silent"
        assert race.reaction != "late_progress" or k > 1
    assert (k + 1) * (k + 2) // 2 == len(list(list_races(k, ("late_result",))))


def test_how_many_messages() -> None:
    """Progress and the answer of the first answered call that fits."""
    cassette = read("a", CASSETTE)

    assert 3 == messages_of(cassette, SLOW)
    assert 1 == messages_of(cassette, Match(method="tools/list"))
    assert messages_of(cassette, Match(tool="fast")) is None


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "slow.jsonl"
    path.write_bytes(CASSETTE)
    return path


async def heard(channel: MessageChannel, count: int) -> list[bytes]:
    frames: list[bytes] = []
    while len(frames) < count:
        frames += [frame.raw for frame in await channel.receive()]
    return frames


async def started(server: ReplayServer, race: Raced) -> tuple[Race, MessageChannel]:
    channel, live = server.open(), Race(race, SLOW, server)
    channel.send_nowait([c2s(INITIALIZE)])
    await heard(channel, 1)
    return live, channel


async def test_a_race(file: Path) -> None:
    """The moment comes when the client has been given i messages; then it gets what crossed."""
    async with mcpmock.replay(file, overlap_grace=0) as server:
        race, channel = await started(server, Raced(Cell(1, 2, 3), "silent"))
        assert (None, None) == (race.reached, race.request_id)
        with pytest.raises(TimeoutError, match="was not made"):
            race.wait(0)

        channel.send_nowait([c2s(CALL)])
        await race.moment()
        race.wait(0)
        assert 1 == len(await heard(channel, 1))
        assert 9 == race.request_id
        channel.send_nowait([c2s(request(10, "ping"))])
        await heard(channel, 1)
        channel.send_nowait([c2s(CANCEL)])
        assert b'"progress":2' in (await heard(channel, 1))[0]
        assert race.reached is not None
        assert (1, 2) == (race.reached.i, race.reached.j)
        assert (1, 2, 3, "cancel_crosses_progress") == (race.i, race.j, race.k, race.name)
        assert not race.ends
        assert "cancel_crosses_progress-i1-j2-silent" in repr(race)
        assert [] == server.faults.owing()


async def test_a_call_that_is_not_the_first(file: Path) -> None:
    """The match may say which of those that fit, and where."""
    second = Match(tool="slow", nth=2, session=1, transport="stdio", era="2025-*", phase="running")
    assert 3 == messages_of(read("a", CASSETTE), second)
    async with mcpmock.replay(file, repeats="last") as server:
        race, channel = Race(Raced(Cell(1, 1, 3), "silent"), second, server), server.open()
        channel.send_nowait([c2s(INITIALIZE)])
        await heard(channel, 1)
        channel.send_nowait([c2s(INITIALIZED), c2s(CALL)])
        await heard(channel, 3)
        with pytest.raises(TimeoutError, match="was not made"):
            race.wait(0)

        channel.send_nowait([c2s(CALL.replace(b'"id":9', b'"id":10'))])
        await race.moment()
        channel.send_nowait([c2s(CANCEL.replace(b"9", b"10"))])
        assert 1 == len(await heard(channel, 1))
        channel.send_nowait([c2s(request(11, "ping"))])
        await heard(channel, 1)
        assert (10, Cell(1, 1, 3)) == (race.request_id, race.reached)


@pytest.mark.filterwarnings("ignore:mcpmock. fault .* never fired")
async def test_a_call_that_is_not_made(file: Path) -> None:
    """It is owing; what else is said does not count."""
    async with mcpmock.replay(file) as server:
        race, channel = await started(server, Raced(Cell(2, 2, 3), "crash"))
        channel.send_nowait([c2s(request(9, "tools/list")), c2s(CANCEL)])

        assert ["cancel_during_work-i2-j2-crash"] == server.faults.owing()
        assert race.request_id is None
        assert race.ends
