"""The stage that an embedding program puts next to the client."""

from __future__ import annotations

from mcpmock.pipeline.stage import Stage
from mcpmock.sessions.observers import watching


def test_one_stage_or_none() -> None:
    """It is made for the conversation; nobody who watches costs nothing."""
    asked: list[object] = []
    stage = Stage()

    assert [] == watching(None, 1)

    def watch(*what: object) -> Stage:
        asked.append(what)
        return stage

    assert [stage] == watching(watch, 7)
    assert [(7, None)] == asked
