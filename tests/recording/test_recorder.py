"""The recorder: written before forwarded, and the wire untouched whatever happens."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import pytest

from mcpmock.pipeline.pipeline import Pipeline
from mcpmock.pipeline.stage import PASS, Hangup, Send
from mcpmock.protocol.messages import C2S, S2C, Fragment, Frame, Stderr
from mcpmock.protocol.reassembly import EXCERPT_BYTES
from mcpmock.recording.recorder import Ledger, Recorder
from mcpmock.redaction.redactor import Redactor
from tests.support import INITIALIZE, WELCOME, c2s, exits, hangs_up, logs, request, s2c, seen
from tests.support.tape import Tape


class Broken(Redactor):
    """A redactor with a bug."""

    def suspicious(self, data: bytes) -> bool:
        raise ZeroDivisionError("a bug")


def fed(recorder: Recorder, *frames: Frame, now: float = 0.0) -> list[Frame]:
    """What the recorder sends on of these frames, fed together."""
    actions = recorder.feed(frames, now)
    if actions is PASS:
        return list(frames)
    return [frame for action in actions if isinstance(action, Send) for frame in action.frames]


def piece(raw: bytes, last: bool = False) -> Frame:
    return Frame(S2C, raw, b"\n" if last else b"", Fragment(last=last))


ALL: Sequence[Frame] = [
    c2s(INITIALIZE),
    s2c(WELCOME),
    s2c(b"banner", b"\r\n"),
    s2c(b"\xff"),
    logs("log\n"),
    hangs_up(S2C),
    exits(3),
    hangs_up(C2S),
]


@pytest.mark.parametrize("redactor", [None, Redactor()])
def test_all_that_passes_is_noted(redactor: Redactor | None) -> None:
    """Every frame is noted in order and comes back as it was, and the same objects pass on."""
    tape = Tape()
    recorder = Recorder(Ledger(tape.append, redactor))
    for frame in ALL:
        assert not recorder.ledger.ending  # before the client's input has ended
        [passed] = fed(recorder, frame)
        assert passed is frame
    assert recorder.ledger.ending

    assert [seen(frame) for frame in ALL] == [
        seen(event.frame) for event in tape.events() if event.frame
    ]
    assert list(range(1, len(ALL) + 1)) == [event.n for event in tape.events()]
    assert (len(ALL), 0) == (recorder.ledger.events, recorder.ledger.lost)


def test_one_write_for_a_batch() -> None:
    """Frames that came together are noted in one write."""
    writes: list[int] = []
    fed(
        Recorder(Ledger(lambda lines: writes.append(len(lines)))),
        c2s(b"a"),
        c2s(b"{}"),
        c2s(b"b", b"\r\n"),
    )

    assert [3] == writes


def test_written_before_forwarded() -> None:
    """Nothing leaves the pipeline before it is on the tape."""
    tape = Tape()
    pipeline = Pipeline([Recorder(Ledger(tape.append))])
    pipeline.begin(0)
    for number, frame in enumerate(ALL, 1):
        out = pipeline.enter([frame], 0)

        assert [[frame]] == [list(frames) for frames in out]
        assert number == len(tape.lines)


@pytest.mark.parametrize("began", [0.0, 1000.0])
def test_times_are_microseconds_since_the_beginning(began: float) -> None:
    """Times count from the beginning of the take, exact to the microsecond."""
    tape = Tape()
    recorder = Recorder(Ledger(tape.append))
    list(recorder.begin(began))
    times = [0, 1, 249, 251, 41_210, 999_999, 60_000_489]
    for t in times:
        fed(recorder, c2s(b"{}"), now=began + t / 1_000_000)

    assert times == [event.t for event in tape.events()]


def test_secrets_are_noted_as_placeholders_and_pass_as_they_are() -> None:
    """The tape has no secret, the wire has it."""
    tape = Tape()
    raw = b'{"id":1,"method":"x","params":{"password":"hunter2"}}'
    [passed] = fed(Recorder(Ledger(tape.append)), c2s(raw))

    assert raw == passed.raw
    [event] = tape.events()
    assert (raw.replace(b"hunter2", b"mcpmock:secret:password:1"), True) == (
        event.payload,
        event.redacted,
    )


def test_a_secret_among_frames_that_come_together() -> None:
    """Up to that event may a secret stand that was not known to be one."""
    tape = Tape()
    recorder = Recorder(Ledger(tape.append))
    fed(recorder, c2s(b'{"a":"zK3-q9Xw7-4711"}'))
    fed(recorder, c2s(b"{}"), c2s(b'{"password":"zK3-q9Xw7-4711"}'))
    fed(recorder, c2s(b"{}"))

    assert b"mcpmock:secret:password:1" in (tape.payloads()[2] or b"")
    assert 3 == recorder.ledger.revised_events


@pytest.mark.parametrize(
    "frame",
    [
        s2c(b"API_KEY=hunter2"),
        s2c(b' {"password":"hunter2"}'),
        s2c(b'{"a":NaN,"password":"hunter2"}'),
        s2c(b'{"password":"hunter2"'),
        logs("x password=hunter2\n"),
        s2c(b'\xff{"password":"hunter2"}'),
        s2c(b'{"params":{"password":"hunter2'),
        s2c(b'{"a":"' + b"\\ud800" + b'","password":"hunter2"}'),
    ],
)
def test_no_kind_of_frame_keeps_its_secret(frame: Frame) -> None:
    """Banners, torn lines, odd JSON and standard error lose their secrets too."""
    tape = Tape()
    fed(Recorder(Ledger(tape.append)), frame)

    assert b"hunter2" not in b"".join(tape.lines)


def test_a_secret_that_the_next_piece_of_standard_error_ends() -> None:
    """It is replaced even where that piece looks like a message."""
    tape = Tape()
    recorder = Recorder(Ledger(tape.append))
    fed(recorder, logs("password="))
    fed(recorder, logs("{hunter2}\n"))

    assert b"hunter2" not in b"".join(tape.lines)


def test_the_same_value_is_the_same_placeholder_in_any_kind_of_frame() -> None:
    """A value has one placeholder, in a message, in odd JSON and in text."""
    tape = Tape()
    frames = [b' {"token":"abc"}', b'{"token":"abc"}', b'token="abc"', b'{"token":"abc","a":NaN}']
    recorder = Recorder(Ledger(tape.append))
    fed(recorder, *(s2c(raw) for raw in frames))

    assert {"redacted": 4, "gaps": 0} == recorder.ledger.counts
    assert [raw.replace(b"abc", b"mcpmock:secret:token:1") for raw in frames] == tape.payloads()


@pytest.mark.parametrize("redactor", [None, Redactor()], ids=["raw", "redacted"])
@pytest.mark.parametrize(
    "odd",
    [
        s2c(b"{}"),
        s2c(b"[]"),
        s2c(b'[{"a":1},{"b":2}]'),
        s2c(b""),
        s2c(b"{"),
        s2c(b"42"),
        s2c(b"banner"),
        s2c(b'{"a":1} '),
        s2c(b' {"a":1}'),
        s2c(b'{"a":1}{"b":2}'),
        s2c(b'{"a":\r1}'),
        s2c(b'{"a":NaN}'),
        s2c('{"a":"\u2603"}'.encode()),
        s2c(b'{"a":"\xff"}'),
        s2c(b'{"a":1}', b"\r\n"),
        s2c(b'{"a":1}', b""),
        logs("log\n"),
        logs('{"a":1}'),
        Frame(S2C, b'{"a":1}', fact=Stderr()),
        hangs_up(S2C),
    ],
)
def test_frames_that_come_together(odd: Frame, redactor: Redactor | None) -> None:
    """Their lines are those of frames that come one by one, whatever is among them."""
    _check_together([s2c(request(1, "ping")), odd, s2c(request(2, "ping"))], redactor)


@pytest.mark.parametrize("redactor", [None, Redactor()], ids=["raw", "redacted"])
@pytest.mark.parametrize(
    "raws",
    [
        (b"", b"1 2"),
        (b"{} {}", b""),
        (b"", b"{}{}", b"{}"),
        (b" ", b"{}{}"),
        (b"{", b"}{}"),
        (b'{"a":1', b"}", b"{}{}"),
        (b"{\n}", b"{}"),
        (b"{}\n{}", b""),
        (b"{}\n", b"{}"),
    ],
)
def test_lines_that_hold_as_many_values_as_there_are_lines(
    raws: Sequence[bytes], redactor: Redactor | None
) -> None:
    """Where some hold none and others several, or a line break, each is looked at alone."""
    _check_together([s2c(raw) for raw in raws], redactor)


def _check_together(frames: Sequence[Frame], redactor: Redactor | None) -> None:
    """Check that the lines of frames that come together are those of frames one by one, and that
    these are read as what they were.
    """

    def read(frame: Frame) -> tuple[object, ...]:
        return frame.direction, frame.raw, frame.fact, frame.fact is None and frame.eol

    together, apart = Tape(), Tape()
    fed(Recorder(Ledger(together.append, redactor)), *frames)
    recorder = Recorder(Ledger(apart.append, redactor))
    for frame in frames:
        fed(recorder, frame)

    assert together.lines == apart.lines
    assert [read(one) for one in frames] == [read(e.frame) for e in apart.events() if e.frame]


def test_redaction_switched_off() -> None:
    """Without a redactor the tape has the bytes."""
    tape = Tape()
    fed(Recorder(Ledger(tape.append, None)), c2s(b'{"password":"hunter2"}'))

    assert [b'{"password":"hunter2"}'] == tape.payloads()
    assert {"redacted": 0, "gaps": 1} == Ledger(tape.append, None, lost=1).counts


def test_a_full_disk_is_a_counted_gap() -> None:
    """What could not be written is counted, in events and bytes, and noted ahead of the next."""
    tape, told = Tape(), list[str]()
    recorder = Recorder(Ledger(tape.append, on_gap=told.append))
    fed(recorder, c2s(b"{}"))
    tape.full = True
    for frame in (c2s(b"123", b"\r\n"), s2c(b"1234")):
        assert [frame] == fed(recorder, frame)
    tape.full = False
    fed(recorder, c2s(b"[]"))
    fed(recorder, c2s(b"[]"))

    assert [b"{}", None, b"[]", b"[]"] == tape.payloads()
    assert [(2, 10)] == tape.gaps()
    assert (2, ["No space left on device"] * 2) == (recorder.ledger.lost, told)
    assert 1 == recorder.ledger.noted_gaps
    numbers = [event.n for event in tape.events()]
    assert sorted(set(numbers)) == numbers


def test_a_gap_that_nothing_follows() -> None:
    """A gap at the end is noted when the session is over."""
    tape = Tape(full=True)
    recorder = Recorder(Ledger(tape.append))
    fed(recorder, c2s(b"123"))
    tape.full = False
    recorder.ledger.finish(1.0)

    assert [(1, 4)] == tape.gaps()


def test_a_disk_that_stays_full() -> None:
    """If the gap cannot be written either, it stays counted and nothing else happens."""
    recorder = Recorder(Ledger(Tape(full=True).append))
    fed(recorder, c2s(b"123"))
    recorder.ledger.finish(1.0)

    assert 1 == recorder.ledger.lost


def test_a_bug_in_the_redactor() -> None:
    """A bug of ours is a gap; the wire does not notice and nothing unredacted is kept."""
    tape, told = Tape(), list[str]()
    recorder = Recorder(Ledger(tape.append, Broken(), on_gap=told.append))
    frame = c2s(b"{}")

    assert [frame] == fed(recorder, frame)
    assert ([], 1, ["ZeroDivisionError: a bug"]) == (tape.lines, recorder.ledger.lost, told)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (OSError(28, "No space left on device"), "No space left on device"),
        (OSError("odd"), "OSError: odd"),
        (ValueError("write to closed file"), "ValueError: write to closed file"),
    ],
)
def test_why_something_could_not_be_noted(error: Exception, reason: str) -> None:
    """The words of the system where there are any, or what failed."""
    told = list[str]()

    def fail(_lines: list[bytes]) -> None:
        raise error

    recorder = Recorder(Ledger(fail, on_gap=told.append))
    recorder.receipt({}, c2s(b"{}"), 0)

    assert [c2s(b"{}")] == fed(recorder, c2s(b"{}"))
    assert [reason] * 2 == told


def test_strict_hangs_up() -> None:
    """With `strict` what cannot be noted does not pass, and the session ends."""
    recorder = Recorder(Ledger(Tape(full=True).append, strict=True))
    actions = list(recorder.feed([c2s(b"{}")], 0))

    assert [Hangup] == [type(action) for action in actions]


@pytest.mark.parametrize("session", [1, 2])
def test_pieces_pass_at_once_and_are_noted_whole(session: int) -> None:
    """The pieces of a long line pass as they come; the line is noted before the last passes."""
    tape = Tape()
    recorder = Recorder(Ledger(tape.append), session)
    log, whole = logs("log\n"), s2c(b"{}")
    for some in (
        [whole, piece(b'{"a":')],
        [log],
        [piece(b'"b"')],
        [piece(b"}", last=True), whole],
    ):
        assert some == fed(recorder, *some)

    events = [(event.payload, event.oversize) for event in tape.events()]
    assert [(raw, None) for raw in (b"{}", None, b'{"a":"b"}', b"{}")] == events


def test_pieces_of_both_directions_do_not_mix() -> None:
    """Two long lines at once, one each way, are two lines."""
    tape = Tape()
    recorder = Recorder(Ledger(tape.append))
    for one in (
        piece(b"[1"),
        Frame(C2S, b"[2", b"", Fragment()),
        piece(b"]", last=True),
        Frame(C2S, b"]", b"\n", Fragment(True)),
    ):
        fed(recorder, one)

    assert [b"[1]", b"[2]"] == tape.payloads()


def test_oversize() -> None:
    """Of a line beyond 64 MiB the head is noted with length and digest, and all of it passes."""
    tape = Tape()
    recorder = Recorder(Ledger(tape.append))
    data, digest = b"x" * (1 << 20), hashlib.sha256()
    for number in range(66):
        digest.update(data)
        fed(recorder, piece(data, last=number == 65))

    [event] = tape.events()
    assert data[:EXCERPT_BYTES] == event.payload
    assert event.oversize is not None
    assert (66 << 20, digest.hexdigest()) == (event.oversize.bytes, event.oversize.sha256)


def test_a_lost_long_line_is_counted_whole() -> None:
    """Bytes of pieces that passed before the line could not be noted are in the gap too."""
    tape, told = Tape(full=True), list[str]()
    recorder = Recorder(Ledger(tape.append, on_gap=told.append))
    fed(recorder, s2c(b"1"))
    for one in (piece(b"12345"), piece(b"678"), piece(b"9", last=True)):
        fed(recorder, one)
    tape.full = False
    recorder.ledger.finish(1.0)

    assert [(2, 12)] == tape.gaps()
    assert 2 == len(told)


def test_a_long_line_that_the_session_cut_off() -> None:
    """Pieces that passed and whose last one never came are not lost in silence."""
    tape = Tape()
    recorder = Recorder(Ledger(tape.append))
    fed(recorder, piece(b"12345"))
    recorder.ledger.finish(1.0)

    noted = sum(len(payload or b"") for payload in tape.payloads()) + sum(
        size for _, size in tape.gaps()
    )
    assert 5 == noted
