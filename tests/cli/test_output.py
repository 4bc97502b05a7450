"""What the commands share: nothing hostile gets to a terminal, what cannot be said ends nothing."""

from __future__ import annotations

import sys
import unicodedata
from json import dumps, loads

import click
import pytest

from mcpmock.cassette.model import Notice
from mcpmock.cli.option_table import options
from mcpmock.cli.output import Announcer, Duration, cells, columns, emit, say, say_notices, wrap
from mcpmock.options.console import ConsoleOptions
from mcpmock.printable import printable, printable_lines
from tests.cli.conftest import CONTROLS
from tests.support.hostile import HOSTILE

INVISIBLE = {"Cc", "Cf", "Cs", "Zl", "Zp"}
# Format characters that are seen, or that only shape what is.
SHOWN = {*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD}
DEPRECATED = {*range(0x206A, 0x2070)}
SHAPING = {*range(0x13430, 0x13440), *range(0x1BCA0, 0x1BCA4), *range(0x1D173, 0x1D17B)}


def test_every_character_that_a_terminal_acts_on_is_spelled() -> None:
    """Controls, bidi controls, zero widths, separators, surrogates and tags do not come through."""
    hostile = [
        chr(code)
        for code in range(sys.maxunicode + 1)
        if unicodedata.category(chr(code)) in INVISIBLE and code not in SHOWN | SHAPING | DEPRECATED
    ]
    through = [f"{ord(one):04x}" for one in hostile if one in printable(one)]

    assert [] == through


def test_deprecated_controls_are_spelled_too() -> None:
    """Those that nobody sees any more are no better."""
    assert [] == [one for one in map(chr, DEPRECATED) if one in printable(one)]


@pytest.mark.parametrize(
    ("text", "spelled"),
    [
        ("\x1b[2J", "\\u001b[2J"),
        ("\r\n\t\x00\x7f", "\\u000d\\u000a\\u0009\\u0000\\u007f"),
        ("\x9b31m\x85", "\\u009b31m\\u0085"),
        ("\u202e\u2066\u200b\u2028\ufeff", "\\u202e\\u2066\\u200b\\u2028\\ufeff"),
        ("\U000e0041", "\\udb40\\udc41"),
        ("\ud800", "\\ud800"),
        ("é 漢 😀 \\u001b", "é 漢 😀 \\u001b"),
        ("", ""),
    ],
)
def test_how_it_is_spelled(text: str, spelled: str) -> None:
    """As JSON spells it; all else stays as it is."""
    assert spelled == printable(text)


def test_text_of_several_lines_keeps_them() -> None:
    """`printable_lines` leaves line feeds, and nothing else."""
    assert "a\nb\\u000d\n" == printable_lines("a\nb\r\n")


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("a ##[error]b ##vso[x] ## [c]", "a \\u0023#[error]b \\u0023#vso[x] ## [c]"),
        ("##teamcity[x]", "\\u0023#teamcity[x]"),
        ("::error::x", "\\u003a:error::x"),
        ("\u3000 ::set-output name=a:b::x", "\u3000 \\u003a:set-output name=a:b::x"),
        ("::1 and a::b", "\\u003a:1 and a::b"),
        ("::1", "::1"),
        ("a ::error::x", "a ::error::x"),
    ],
)
def test_no_line_is_a_command_to_a_ci_system(text: str, escaped: str) -> None:
    """Commands of GitHub, Azure and TeamCity are escaped where their runners look for them."""
    assert escaped == printable(text)


def test_lines_are_as_wide_as_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """But have room for 80 columns at least."""
    found = []
    for width in ("20", "120"):
        monkeypatch.setenv("COLUMNS", width)
        found.append(columns())

    assert [80, 120] == found


LONG = "a.jsonl:12: " + click.style("error", fg="red") + ": " + "wide \u6f22\u5b57 words " * 9


@pytest.mark.parametrize(
    "text", [LONG, "    " + LONG, "x" * 200 + " and more", "a  b " * 30, "short", ""]
)
def test_lines_break_at_words(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """On a terminal no line is wider, but for a word that is; in a pipe, which is for `grep`,
    nothing is broken.
    """
    monkeypatch.setenv("COLUMNS", "80")
    assert [text] == list(wrap(text, "    "))
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    first, *more = wrap(text, "    ")

    assert text.split() == " ".join([first, *more]).split()
    assert all(line.startswith("    ") and line[4:5] != " " for line in more)
    for line in (first, *more):
        assert cells(click.unstyle(line)) <= 80 or len(line.split()) == 1


@pytest.mark.parametrize("word", ["::set-output", "##[error]", " ::set-output"])
def test_no_line_begins_like_a_command(monkeypatch: pytest.MonkeyPatch, word: str) -> None:
    """Of a CI system: such a word stays in the line before."""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)

    assert all(line.split()[0] == "ab" for line in wrap(f"ab {word} " * 30, "    "))


def test_json_stays_json(capsys: pytest.CaptureFixture[str]) -> None:
    """What `emit` writes is one line that means what was given, without a character to act on."""
    emit({"type": "x", "text": HOSTILE + "\U000e0041"})
    out = capsys.readouterr().out

    assert {"type": "x", "text": HOSTILE + "\U000e0041"} == loads(out)
    assert out.endswith("\n")
    assert [] == CONTROLS.findall(out[:-1])


def test_saying_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    """It goes to standard error, with our name, whatever it is."""
    say(HOSTILE)
    out, err = capsys.readouterr()

    assert ("", 1) == (out, err.count("\n"))
    assert err.startswith("mcpmock: ::error::a\\u001b[2J")


@click.command()
@options()
def shown(console: ConsoleOptions) -> None:
    """Tells what it was asked for."""
    color = click.get_current_context().color
    click.echo(dumps([color, console.quiet, console.verbose, console.json]))


@pytest.mark.parametrize(
    ("flag", "no_color", "force_color", "color"),
    [
        (None, None, None, None),
        ("auto", None, None, None),
        ("always", None, None, True),
        ("never", None, None, False),
        (None, "1", None, False),
        (None, None, "1", True),
        (None, "1", "1", False),
        (None, "", "", None),
        (None, "", "1", True),
        ("auto", "1", None, False),
        ("always", "1", None, True),
        ("never", None, "1", False),
    ],
)
def test_color(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    flag: str | None,
    no_color: str | None,
    force_color: str | None,
    color: bool | None,
) -> None:
    """The flag, then NO_COLOR, then FORCE_COLOR, then whether it is a terminal (None)."""
    for name, value in (("NO_COLOR", no_color), ("FORCE_COLOR", force_color)):
        if value is None:
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, value)
    shown.main([] if flag is None else ["--color", flag], standalone_mode=False)

    assert [color, False, False, False] == loads(capsys.readouterr().out)


@pytest.mark.parametrize("options", [["-q", "-v", "--json"], ["--quiet", "--verbose", "--json"]])
def test_the_options_of_every_command(
    capsys: pytest.CaptureFixture[str], options: list[str]
) -> None:
    """Quiet, verbose and JSON, short and long."""
    shown.main([*options, "--color", "never"], standalone_mode=False)

    assert [False, True, True, True] == loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("token", "lines"),
    [
        (None, ["listening on http://x"]),
        (
            "t0",
            [
                "listening on http://x",
                "mcpmock: clients must send the header Authorization: Bearer t0",
            ],
        ),
    ],
)
def test_where_we_listen_comes_first(
    capsys: pytest.CaptureFixture[str], token: str | None, lines: list[str]
) -> None:
    """What is said before waits for it, and what is said later does not."""
    announcer = Announcer(json=False)
    announcer.say("early")
    assert ("", "") == capsys.readouterr()

    announcer.announce("http://x", token)
    announcer.say("late")
    out, err = capsys.readouterr()
    assert ("", [*lines, "mcpmock: early", "mcpmock: late"]) == (out, err.splitlines())


def test_where_we_listen_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    """Each line is an object with a type."""
    announcer = Announcer(json=True)
    announcer.say("\x1b[2J")
    announcer.announce("http://x", "t0")
    out, err = capsys.readouterr()

    assert "" == out
    assert [
        {"type": "listening", "url": "http://x", "token": "t0"},
        {"type": "note", "text": "\x1b[2J"},
    ] == [loads(line) for line in err.splitlines()]


def test_the_notices_of_a_thousand_takes_are_eleven_lines(
    capsys: pytest.CaptureFixture[str],
) -> None:
    notices = [Notice(0, "is empty"), *(Notice(line, "torn") for line in range(1, 1000))]

    say_notices(notices, "a.jsonl", quiet=False)
    say_notices(notices, "b.jsonl", quiet=False, of_lines=False)
    say_notices(notices, "c.jsonl", quiet=True)

    assert capsys.readouterr().err.splitlines() == [
        "mcpmock: a.jsonl: is empty",
        *(f"mcpmock: a.jsonl:{line}: torn" for line in range(1, 10)),
        "mcpmock: and 990 more such lines; `mcpmock check -v` lists all of them",
        "mcpmock: b.jsonl: is empty",
    ]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90.0), ("0.5", 0.5), ("250ms", 0.25), ("1.5h", 5400.0), (".5", None), ("1e3", None)],
)
def test_a_duration(text: str, seconds: float | None) -> None:
    """A bare number is in seconds, whole or not."""
    if seconds is None:
        with pytest.raises(click.BadParameter, match="or a number of seconds"):
            Duration().convert(text, None, None)
    else:
        assert seconds == Duration().convert(text, None, None)
