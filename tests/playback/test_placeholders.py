"""A redacted recording answers a client with other secrets, whatever spells them."""

from __future__ import annotations

import json
from base64 import b64decode

import pytest

from mcpmock.playback.session_player import SessionPlayer
from mcpmock.playback.session_selection import PlayerOptions, SessionSelection
from mcpmock.protocol.messages import C2S, S2C, Frame
from mcpmock.redaction.placeholders import fill
from mcpmock.redaction.redactor import Redactor
from tests.redaction.canaries import CANARY, SPELLINGS
from tests.support import c, call, cassette, response, s, script

LIVE = '0ther/v+alue\u00fc=x\'y.Z9\\ "q"'


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_the_live_value_takes_the_place_of_the_recorded_one(spelling: str) -> None:
    """A request with the secret in a spelling is answered, and the answer has the live value in the
    spelling that the recorded one had.
    """
    spell, redactor = SPELLINGS[spelling], Redactor()
    first = call(1, "login", password=CANARY)
    asked = call(2, "echo", text=spell(CANARY))
    told = response(2, {"text": spell(CANARY)})
    recorded = [
        redactor.frame(Frame(way, raw)).raw
        for way, raw in ((C2S, first), (C2S, asked), (S2C, told))
    ]
    played = script(
        SessionPlayer(
            SessionSelection(
                cassette(c(recorded[0]), s(response(1)), c(recorded[1]), s(recorded[2])),
                PlayerOptions(),
            ),
            lambda _told: None,
        )
    )
    played.heard(call(7, "login", password=LIVE))
    [raw] = played.heard(call(8, "echo", text=spell(LIVE)))
    answer = json.loads(raw)

    assert "result" in answer
    assert _meaning(spell(LIVE)) == _meaning(answer["result"]["text"])


def _meaning(text: str) -> object:
    """A text, or the value of one that is JSON: a server may escape more than a replay. Base64 in
    lines becomes one line.
    """
    try:
        if text.startswith(("eyJ", "ZmlsbGVy")):
            text = b64decode(text).decode()
        value = json.loads(text)
    except ValueError:
        return text
    return {k: _meaning(v) if isinstance(v, str) else v for k, v in value.items()}


@pytest.mark.parametrize(
    ("raw", "filled"),
    [
        (b'{"a":"H"}', rb'{"a":"x\"\\y"}'),
        (rb'{"a":"{\"b\":\"H\"}"}', rb'{"a":"{\"b\":\"x\\\"\\\\y\"}"}'),
        (rb'{"a":"{\"b\":\"{\\\"c\\\":\\\"H\\\"}\"}"}', None),
        (b'{"a":"mcpmock%3Asecret%3Atoken%3A1"}', b'{"a":"x%22%5Cy"}'),
        (b'{"a":"mcpmock:secret:token:2"}', b'{"a":"mcpmock:secret:token:2"}'),
    ],
)
def test_a_value_is_escaped_as_deep_as_it_stands(raw: bytes, filled: bytes | None) -> None:
    """In JSON inside a string the value is escaped once more for each string."""
    hole, value = "mcpmock:secret:token:1", 'x"\\y'
    new = fill(raw.replace(b"H", hole.encode()), {hole: value})

    if filled is not None:
        assert filled == new
    else:
        assert value == json.loads(json.loads(json.loads(new)["a"])["b"])["c"]
