"""Bugs that were there once, each as the shortest story that shows it."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcpmock.cassette.file import open_take, rewrite
from mcpmock.cassette.model import Header
from mcpmock.errors import CassetteError
from mcpmock.pipeline.pipeline import Pipeline
from mcpmock.playback.player import PlayerOptions, SessionSelection
from mcpmock.playback.session_player import SessionPlayer
from mcpmock.protocol.messages import Frame
from mcpmock.redaction.redactor import Redactor
from tests.support import (
    INITIALIZE,
    WELCOME,
    Line,
    batch,
    c2s,
    cassette,
    cassette_bytes,
    progress,
    request,
    response,
)


def heard(*events: Line, live: list[tuple[float, list[Frame]]], **how: str) -> list[bytes]:
    """What a live client hears that says these things at these times."""
    pipeline = Pipeline([SessionPlayer(SessionSelection(cassette(*events), PlayerOptions(**how)))])  # type: ignore[arg-type]
    batches = pipeline.begin(0.0)
    for now, frames in live:
        while pipeline.next_due is not None and pipeline.next_due <= now:
            batches += pipeline.advance(pipeline.next_due)
        batches += pipeline.enter(frames, now)
    while pipeline.next_due is not None and not pipeline.hung_up:
        batches += pipeline.advance(pipeline.next_due)
    return [frame.raw for frames in batches for frame in frames if frame.fact is None]


def c(raw: bytes) -> Line:
    return ("c2s", raw)


def s(raw: bytes) -> Line:
    return ("s2c", raw)


def test_a_change_of_the_leading_session_answers_once() -> None:
    """A call that one candidate answered is not answered again by the one that takes over."""
    opening = (c(INITIALIZE), s(WELCOME), c(request(1, "x")))
    one = (*opening, s(response(1, {"n": "one"})), c(request(2, "y")), s(response(2)))
    two = (*opening, c(request(2, "z")), s(response(1, {"n": "two"})), s(response(2)))
    live = [
        (float(t), [c2s(raw)])
        for t, raw in enumerate((INITIALIZE, request(1, "x"), request(2, "z")))
    ]

    assert [WELCOME, response(1, {"n": "one"}), response(2)] == heard(
        *one, ("take", None), *two, live=live
    )


def test_a_change_of_the_leading_session_loses_no_answer() -> None:
    """What the new leader has answered meanwhile, unheard, is heard."""
    one = (c(request(1, "x")), c(request(2, "y")), s(response(1)), s(response(2)))
    two = (c(request(1, "x")), s(response(1)), c(request(2, "z")), s(response(2)))
    live = [(0.0, [c2s(request(1, "x"))]), (0.01, [c2s(request(2, "z"))])]

    assert [response(1), response(2)] == heard(*one, ("take", None), *two, live=live)


def test_progress_of_the_old_leader_silences_nothing_of_the_new_one() -> None:
    """Only what was said for no call in particular counts as said."""
    x = request(1, "x", token=7)
    one = (c(x), s(progress(7)), s(response(1)), c(request(2, "y")), s(response(2)))
    two = (s(b"hello"), c(x), s(response(1)), c(request(2, "z")), s(response(2)))
    live = [(0.0, [c2s(x)]), (1.0, [c2s(request(2, "z"))])]

    assert [progress(7), response(1), b"hello", response(2)] == heard(
        *one, ("take", None), *two, live=live
    )


def test_a_recorded_exit_comes_behind_the_answers() -> None:
    """An answer that is held back for its progress is not cut off by the end that was recorded
    behind it.
    """
    calls = [request(1, "x", token=7), request(2, "y")]
    events = (*map(c, calls), s(progress(7)), s(response(1)), s(response(2)), ("end", {"exit": 0}))

    assert [progress(7), response(1), response(2)] == heard(
        *events, live=[(0.0, [c2s(raw) for raw in calls])]
    )


def test_a_batch_keeps_its_answer_without_the_progress() -> None:
    """Where the live client wants no progress, only that is left out of a batch."""
    events = (c(request(1, "x", token=7)), s(batch(progress(7), response(1))))

    assert [batch(response(5))] == heard(*events, live=[(0.0, [c2s(request(5, "x"))])])


def test_stubs_of_two_sessions_count_apart() -> None:
    """The first call of each is the first, wherever it stands in its recording."""
    one = (
        c(request(1, "x")),
        s(response(1, {"n": 1})),
        c(request(2, "x")),
        s(response(2, {"n": 2})),
    )
    two = (
        c(request(1, "y")),
        s(response(1, {"n": 3})),
        c(request(2, "y")),
        s(response(2, {"n": 4})),
    )
    live = [(0.0, [c2s(request(8, "x"))]), (1.0, [c2s(request(9, "y"))])]

    assert [response(8, {"n": 1}), response(9, {"n": 3})] == heard(
        *one, ("take", None), *two, live=live, order="any"
    )


def test_a_value_that_no_encoder_takes_can_be_bound() -> None:
    """A lone surrogate in the place of a secret comes back as it was sent."""
    hole = "mcpmock:secret:token:1"
    events = (c(request(1, "x", {"token": hole})), s(response(1, {"said": hole})))
    live = request(1, "x", {"token": "S"}).replace(b'"S"', b'"\\ud800"')

    assert [response(1, {"said": "S"}).replace(b'"S"', b'"\\ud800"')] == heard(
        *events, live=[(0.0, [c2s(live)])]
    )


def test_formatting_never_drops_what_was_recorded_meanwhile(tmp_path: Path) -> None:
    """A file that is no longer what was read is not replaced."""
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"newer")

    with pytest.raises(CassetteError, match="changed while it was being rewritten"):
        rewrite(path, b"formatted", was=b"older")
    assert b"newer" == path.read_bytes()


def test_a_backup_of_the_users_is_nobody_elses(tmp_path: Path) -> None:
    """Overwriting leaves a `.bak` that was there, and at the end no other."""
    path, theirs = tmp_path / "a.jsonl", tmp_path / "a.jsonl.bak"
    path.write_bytes(cassette_bytes(c(INITIALIZE)))
    theirs.write_bytes(b"theirs")
    take = open_take(path, overwrite=True)
    assert take is not None
    take.begin(Header(mcpmock=1))
    take.close()

    assert [path, theirs] == sorted(tmp_path.iterdir())
    assert b"theirs" == theirs.read_bytes()


@pytest.mark.parametrize(
    "argv",
    [
        ["--header", "X-API-Key: hunter2"],
        ["-H", "Authorization: Basic hunter2"],
        ["--password", "-hunter2"],
        ["--env", '{"API_KEY":"hunter2"}'],
    ],
)
def test_secrets_of_command_lines(argv: list[str]) -> None:
    """Headers, JSON and values with a dash hide no secret from us."""
    assert not any("hunter2" in word for word in Redactor().argv(argv))
