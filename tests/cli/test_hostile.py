"""No recorded text acts on a terminal or a CI system, whichever command prints it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from mcpmock.cassette.parser import read
from mcpmock.channels.channel import MemoryChannel
from mcpmock.protocol.messages import C2S
from mcpmock.sessions import drive
from mcpmock.sessions.run import Setup
from tests.cli.conftest import Run
from tests.support import c2s, call, hangs_up, notification, request
from tests.support.foreign import lines, rec, snoop
from tests.support.hostile import HOSTILE, loadable_and_not, offenders, plain

TYPED = HOSTILE.replace("\x00", "")
"""No argument of a process holds a null."""
FORMATS = ("text", "markdown", "junit", "json")
COMMANDS: list[tuple[str, ...]] = [
    ("check", "F"),
    ("check", "-v", "F"),
    ("check", "--json", "F"),
    ("convert", "F", "-o", "OUT"),
    ("convert", "--json", "F", "-o", "OUT"),
    *[("diff", "PLAIN", "F", "--format", form) for form in FORMATS],
    *[("diff", "F", "PLAIN", "--format", form) for form in FORMATS],
    ("merge", "F", "PLAIN", "-o", "OUT"),
    ("recover", "F", "-o", "OUT"),
    ("recover", "--json", "F", "-o", "OUT"),
    ("redact", "F"),
    ("redact", "F", "-o", "OUT"),
    ("redact", "--json", "F", "-o", "OUT"),
    ("replay", "-v", "F"),
    ("replay", "-v", "--json", "F"),
    ("replay", "-v", "--match", "exact", "F", "--order", "strict"),
    ("report", "F", "-o", "OUT"),
    ("scan", "F"),
    ("scan", "--json", "F"),
    ("show", "F"),
    ("show", "--json", "F"),
    ("show", "--mermaid", "F"),
    ("show", "--raw", "F"),
    ("show", "--id", HOSTILE, "F"),
    *[("show", "--id", str(id_), "F") for id_ in (0, 1, 2, 3, 4)],
    ("show", "--filter", "text=a", "F"),
    ("show", "--filter", "method=::error*", "F"),
    ("stats", "F"),
    ("stats", "--json", "F"),
    *[("verify", "F", "--format", form, "--", "server") for form in FORMATS],
    ("fmt", "--times", "round", "F"),
    ("fmt", "--json", "F"),
]
MISUSES: list[tuple[str, ...]] = [
    (TYPED,),
    ("show", TYPED),
    ("show", "F", TYPED),
    ("show", "F", "--filter", TYPED),
    ("show", "F", "--color", TYPED),
    ("diff", "F", "F", "--ignore", TYPED),
    ("diff", "F", "F", "--tolerance", TYPED),
    ("faults", TYPED),
    ("help", TYPED),
    ("replay", "F", "--listen", TYPED),
    ("replay", "F", "--fault", TYPED),
    ("replay", "F", "--fault", f"latency:latency={TYPED}"),
    ("replay", "F", "--fault", f"latency:{TYPED}=1"),
    ("replay", "F", "--faults", "PLAN"),
    ("replay", "F", "--timing", TYPED),
    ("record", "-o", "OUT", "--", TYPED),
    ("record", "-o", "OUT", "--url", TYPED),
    ("drive", "F", "--", TYPED),
    ("drive", "F", "--url", "http://127.0.0.1:1/mcp", "--header", TYPED),
    ("proxy", "--cassette", TYPED, "--", "x"),
]


@pytest.fixture
def places(
    tmp_path: Path, client: MemoryChannel, monkeypatch: pytest.MonkeyPatch
) -> dict[str, str]:
    """The files of the commands. A client of `replay` asks what was not recorded, and the server of
    `verify` answers as in PLAIN.
    """
    found = {name: str(tmp_path / name) for name in ("F", "OUT", "PLAIN", "PLAN")}
    Path(found["PLAIN"]).write_bytes(plain())
    Path(found["PLAN"]).write_text(f"[[fault]]\n{json.dumps(HOSTILE)} = 1\nkind = 'latency'\n")
    asked = [
        request(HOSTILE, "initialize", {"protocolVersion": HOSTILE, "clientInfo": {HOSTILE: 1}}),
        notification(HOSTILE),
        call(1, HOSTILE),
        call(2, "add", a="y", **{HOSTILE: HOSTILE}),
        request(3, HOSTILE, {HOSTILE: HOSTILE}),
        HOSTILE.encode(),
    ]
    client.send_nowait([*map(c2s, asked), hangs_up(C2S)])

    async def run_sessions(setup: Setup) -> int:
        assert setup.recording is not None
        setup.recording.output.write_bytes(plain())
        return 0

    monkeypatch.setattr(drive, "run_sessions", run_sessions)
    return found


def printed(run: Run, places: dict[str, str], words: tuple[str, ...], data: bytes) -> str:
    Path(places["F"]).write_bytes(data)
    Path(places["OUT"]).unlink(missing_ok=True)
    status, out, err = run(*(places.get(word, word) for word in words))
    assert data != loadable_and_not()[0] or status in (0, 1), err
    return out + err


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_command_prints_no_recorded_text_as_it_is(
    run: Run, places: dict[str, str], words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The hostile string stands in every place of a cassette that loads. `--raw` prints bytes as
    they are where there is no terminal.
    """
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("NO_COLOR", "1")
    text = printed(run, places, words, loadable_and_not()[0])

    assert [] == offenders(text)
    assert text


def test_the_cassette_loads() -> None:
    """What is hostile in a take does no damage either when more of it is."""
    cassette = read("x", loadable_and_not()[0])

    assert not cassette.damage
    assert len(cassette.takes) > 100


def test_a_damaged_cassette_is_refused_in_safe_words(run: Run, places: dict[str, str]) -> None:
    """Wherever the hostile string is that damages it."""
    found = {
        place: offenders(printed(run, places, words, data))
        for place, data in loadable_and_not()[1].items()
        for words in (("check", "F"), ("show", "F"), ("recover", "F", "-o", "OUT"))
    }
    assert {} == {place: lines for place, lines in found.items() if lines}
    assert found


@pytest.mark.parametrize(
    "data",
    [
        lines(snoop(1, HOSTILE, raw=1, session_id=HOSTILE)),
        lines(snoop(1, "c2s", raw=1, session_id=HOSTILE)),
        lines(rec(1.0, "c2s", 1) | {"dir": HOSTILE}),
    ],
)
def test_recordings_of_other_tools(run: Run, places: dict[str, str], data: bytes) -> None:
    """They are converted or refused in safe words."""
    text = printed(run, places, ("convert", "F", "-o", "OUT"), data)

    assert [] == offenders(text)
    assert text


@pytest.mark.parametrize("words", MISUSES, ids=lambda words: ascii(" ".join(words))[:60])
def test_a_mistake_is_repeated_in_safe_words(
    run: Run, places: dict[str, str], words: tuple[str, ...]
) -> None:
    """What was typed may have been pasted."""
    text = printed(run, places, words, plain())

    assert [] == offenders(text)
    assert text
