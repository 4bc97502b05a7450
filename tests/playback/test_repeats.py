"""Answers played once more."""

from __future__ import annotations

from typing import Any

import pytest

from mcpmock.playback.candidates import Candidate
from mcpmock.playback.repeats import Repeats
from mcpmock.playback.request_assembly import ClientMessage
from mcpmock.playback.session_selection import PlayerOptions, SessionSelection
from mcpmock.protocol.messages import Frame, HttpRequest
from tests.support import (
    accepts,
    answers,
    call,
    get,
    in_session,
    opens,
    over_http,
    post,
    request,
    response,
    says,
    shown,
)

A = call(1, "a")


def beside(*steps: Frame | list[Frame], **playing: Any) -> tuple[Repeats, Candidate]:
    selection = SessionSelection(over_http(in_session(1, *steps)), PlayerOptions(**playing))
    repeats = Repeats(selection, lambda: "live")
    return repeats, selection.stateless(lambda: "live")


def message_of(frames: list[Frame]) -> ClientMessage:
    head = frames[0].fact
    return ClientMessage(frames[-1], head if isinstance(head, HttpRequest) else None)


def said(repeats: Repeats) -> list[str]:
    return shown(frame for repeat in repeats.playing for frame in repeat.send_due(0.0))


TWICE = [step for n in (1, 2) for step in (post(n, A), answers(n, response(1, {"n": n})))]


@pytest.mark.parametrize(
    ("playing", "expected"),
    [
        ({}, [2, 2, 2]),
        ({"repeats": "last"}, [2, 2, 2]),
        ({"repeats": "cycle"}, [1, 2, 1]),
        ({"order": "any"}, [1, 2, 1]),
        ({"order": "any", "repeats": "last"}, [2, 2, 2]),
    ],
)
def test_which_of_several(playing: dict[str, str], expected: list[int]) -> None:
    """The last one stays, or all of them come again in turn."""
    repeats, candidate = beside(*TWICE, **playing)

    for x, n in enumerate(expected, 7):
        assert repeats.add(candidate, message_of(post(x, A)), None, 0.0)
        assert f"{x} {response(1, {'n': n}).decode()}" in said(repeats)


@pytest.mark.parametrize(
    ("playing", "expected"),
    [
        ({}, [False, True]),
        ({"repeats": "last"}, [True, True]),
        ({"repeats": "cycle"}, [True, True]),
        ({"repeats": "error"}, [False, False]),
        ({"order": "any", "repeats": "error"}, [True, True]),
        ({"order": "any"}, [True, True]),
        ({"order": "strict"}, [False, False]),
        ({"order": "strict", "repeats": "last"}, [True, True]),
        ({"on_miss": "live"}, [False, False]),
    ],
)
def test_what_is_answered_once_more(playing: dict[str, str], expected: list[bool]) -> None:
    """By default what changes nothing; stubs answer everything again."""
    repeats, _ = beside(*TWICE, **playing)
    asked = post(7, A), post(7, request(1, "ping"))

    assert expected == [repeats.allowed(message_of(frames)) for frames in asked]


def test_whose_stream_a_stub_opens() -> None:
    """Answers to other requests come on it; a request of its own leads to no other answers."""
    repeats, candidate = beside(get(3), opens(3), *TWICE, order="any")
    repeats.add(candidate, message_of(post(7, A)), None, 0.0)
    assert {} == candidate.ids.exchanges
    repeats.add(candidate, message_of(get(8)), None, 0.0)
    assert {3: 8} == candidate.ids.exchanges

    repeats, candidate = beside(get(1), opens(1), repeats="last")
    repeats.add(candidate, message_of(get(8)), None, 0.0)
    assert {} == candidate.ids.exchanges


def test_what_was_never_recorded() -> None:
    """There is no repeat of what nothing is like, nor at a level at which nothing is."""
    repeats, candidate = beside(*TWICE)

    assert not repeats.add(candidate, message_of(post(7, call(1, "b"))), None, 0.0)
    assert not repeats.add(candidate, message_of(post(7, A, accept="*/*")), 0, 0.0)
    assert repeats.add(candidate, message_of(post(7, A, accept="*/*")), 3, 0.0)


def test_nothing_is_kept() -> None:
    """What is finished is forgotten, and what nobody listens to any more."""
    repeats, candidate = beside(*TWICE, get(3), opens(3), says(3, b"{}"), post(4, A), get(5))
    repeats.add(candidate, message_of(post(7, A)), None, 0.0)
    said(repeats)
    repeats.drop_finished()
    assert [] == repeats.playing

    repeats.add(candidate, message_of(get(8)), None, 0.0)
    repeats.drop_exchange(9)
    assert 1 == len(repeats.playing)
    repeats.drop_exchange(8)
    assert [] == repeats.playing


def test_two_at_a_time() -> None:
    """Each goes out on its own exchange."""
    repeats, candidate = beside(get(1), accepts(1, 405))
    for x in (7, 8):
        repeats.add(candidate, message_of(get(x)), None, 0.0)

    assert ["7 405", "7 eof", "8 405", "8 eof"] == said(repeats)
