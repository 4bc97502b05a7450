"""Replays of skills whose files were redacted."""

from __future__ import annotations

from typing import Any

import pytest

from mcpmock.playback.session_player import SessionPlayer
from mcpmock.playback.session_selection import PlayerOptions, SessionSelection
from mcpmock.protocol.skills import digest_of
from tests.support import INITIALIZE, WELCOME, Script, c, cassette, request, response, s

SKILL = "skill://refunds/SKILL.md"
TEXT = "---\nname: refunds\n---\ntoken: mcpmock:secret:token:1\n"


def entry(content: str) -> dict[str, Any]:
    raw = content.encode()
    files = [{"uri": SKILL, "digest": digest_of(raw), "size": len(raw)}]
    return {"uri": SKILL, "frontmatter": {"name": "refunds"}, "resources": files}


LIST, GET, READ = (
    request(1, "skills/list"),
    request(2, "skills/get", {"uri": SKILL}),
    request(3, "resources/read", {"uri": SKILL}),
)
CONTENTS = response(3, {"contents": [{"uri": SKILL, "text": TEXT}]})


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_what_is_sent_fits_its_digest(order: tuple[int, ...]) -> None:
    """Whatever the client asks for first."""
    recorded = entry("the true text")
    asked, told = (
        (LIST, GET, READ),
        (
            response(1, {"skills": [recorded]}),
            response(2, {"skill": recorded}),
            CONTENTS,
        ),
    )
    sent = (response(1, {"skills": [entry(TEXT)]}), response(2, {"skill": entry(TEXT)}), CONTENTS)
    pairs = zip(asked, told, strict=True)
    events = [event for asks, answer in pairs for event in (c(asks), s(answer))]
    selection = SessionSelection(
        cassette(c(INITIALIZE), s(WELCOME), *events), PlayerOptions(order="any")
    )
    played = Script([SessionPlayer(selection, lambda _note: None)])
    played.at(0, client=INITIALIZE, to_client=WELCOME)
    for now, place in enumerate(order, 1):
        played.at(now, client=asked[place], to_client=sent[place])
