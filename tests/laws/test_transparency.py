"""Whatever crosses comes out as it went in, and is in the recording as it crossed, but for its
secrets.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpmock.cassette.file import load
from mcpmock.cassette.parser import read
from mcpmock.pipeline.pipeline import Pipeline
from mcpmock.protocol.messages import C2S, S2C, Direction
from mcpmock.recording.recorder import Ledger, Recorder
from mcpmock.redaction.cassettes import scan_cassette
from mcpmock.redaction.redactor import Redactor
from mcpmock.transports.lines import LineSplitter, join_lines

CASSETTES = sorted((Path(__file__).parents[2] / "cassettes").glob("*.jsonl"))
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


@given(
    data=st.lists(st.sampled_from(SCRAPS) | st.binary(max_size=20), min_size=1, max_size=60),
    cuts=st.lists(st.floats(0, 1), max_size=8),
    limit=st.sampled_from([1, 100, 100_000]),
    direction=st.sampled_from([C2S, S2C]),
)
def test_nothing_is_changed_and_nothing_is_missing(
    data: list[bytes], cuts: list[float], limit: int, direction: Direction
) -> None:
    """Any bytes in any pieces, lines longer than the limit among them: the same on the wire and in
    the recording.
    """
    sent = b"".join(data)
    places = sorted(int(cut * len(sent)) for cut in cuts)
    pieces = [sent[a:b] for a, b in pairwise([0, *places, len(sent)]) if a < b]
    lines: list[bytes] = [b'{"mcpmock":1}\n']
    pipeline = Pipeline([Recorder(Ledger(lines.extend, None))])
    splitter = LineSplitter(direction, limit=limit)
    frames = [splitter.feed(piece) for piece in pieces]
    came = [
        join_lines(batch)
        for fed in (*frames, splitter.end())
        if fed
        for batch in pipeline.enter(fed, 0.0)
    ]
    recorded = read("noise", b"".join(lines))
    kept = [event.frame for event in recorded.takes[0].events]

    assert sent == b"".join(came)
    assert [] == recorded.damage
    assert sent == b"".join(frame.raw + frame.eol for frame in kept if frame is not None)


@pytest.mark.parametrize("file", CASSETTES, ids=lambda path: path.stem)
def test_ordinary_traffic_has_no_secrets(file: Path) -> None:
    """In the recordings of real servers that are shipped, redaction finds nothing to replace."""
    redactor = Redactor()
    frames = [event.frame for take in load(file).takes for event in take.events]

    assert [] == [frame for frame in frames if frame and redactor.frame(frame) != frame]
    assert [] == list(scan_cassette(file.read_bytes()))
