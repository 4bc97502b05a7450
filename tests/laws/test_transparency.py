"""Whatever crosses comes out as it went in, and is in the recording as it crossed."""

from __future__ import annotations

import random

import pytest

from mcpmock.cassette.parser import read
from mcpmock.pipeline.pipeline import Pipeline
from mcpmock.protocol.messages import C2S, S2C, Direction
from mcpmock.recording.recorder import Ledger, Recorder
from mcpmock.transports.lines import LineSplitter, join_lines

SCRAPS = (
    b'{"jsonrpc":"2.0","id":1,"method":"ping"}',
    b'{"jsonrpc":"2.0","id":1.0,"result":{}}',
    b"[",
    b"{",
    b'"',
    b"\\",
    b"\r",
    b"\n",
    b"\r\n",
    b"\x00",
    b"\xff",
    b"\xef\xbb\xbf",
    b"\xe2\x80\xa8",
    "ü☃".encode(),
    b"[" * 3000,
    b"NaN",
    b'{"a":"\\ud83d"}',
    b'{"a":1,"a":2}',
    b" ",
    b'{"n":1,"t":0,"d":"c2s","m":{}}',
    b'{"mcpmock":1}',
    b'{"footer":{}}',
)


def noise(dice: random.Random) -> bytes:
    return b"".join(dice.choice(SCRAPS) for _ in range(dice.randrange(1, 60)))


def pieces(data: bytes, dice: random.Random) -> list[bytes]:
    cuts = sorted(dice.randrange(len(data) + 1) for _ in range(dice.randrange(8)))
    return [data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True) if a < b]


@pytest.mark.parametrize("direction", [C2S, S2C])
@pytest.mark.parametrize("seed", range(150))
def test_nothing_is_changed_and_nothing_is_missing(seed: int, direction: Direction) -> None:
    """Random bytes in random pieces, lines longer than the limit among them: the same on the wire
    and on the tape.
    """
    dice = random.Random(seed)
    data = noise(dice)
    lines: list[bytes] = [b'{"mcpmock":1}\n']
    pipeline = Pipeline([Recorder(Ledger(lines.extend, None))])
    splitter = LineSplitter(direction, limit=dice.choice([1, 100, 100_000]))
    frames = [splitter.feed(piece) for piece in pieces(data, dice)]
    came = [
        join_lines(batch)
        for fed in (*frames, splitter.end())
        if fed
        for batch in pipeline.enter(fed, 0.0)
    ]
    recorded = read("noise", b"".join(lines))
    kept = [event.frame for event in recorded.takes[0].events]

    assert data == b"".join(came)
    assert [] == recorded.damage
    assert data == b"".join(frame.raw + frame.eol for frame in kept if frame is not None)
