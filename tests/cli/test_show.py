"""`mcpmock show`: timeline, exchange, frames, diagram; and nothing hostile gets through."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import click
import pytest

from mcpmock.cli import main
from tests.cli.conftest import Run
from tests.support import batch, cassette_bytes, error, progress, request, response
from tests.support.hostile import loadable_and_not
from tests.support.processes import END, MCPMOCK

SESSION = cassette_bytes(
    (0.041, "c2s", request(0, "initialize", {"clientInfo": {"name": "c", "version": "1"}})),
    (0.082, "s2c", response(0, {"serverInfo": {"name": "s", "version": "2"}})),
    (1.5, "c2s", request(7, "tools/call", {"name": "add", "arguments": {"a": 1}}, token=7)),
    (1.6, "s2c", progress(7)),
    (1.7, "s2c", request(7, "roots/list")),
    (1.8, "c2s", response(7, {"roots": []})),
    (3.0, "s2c", error(7, -32602, "no such tool")),
    (3.1, "s2c", b"a banner"),
    (3.2, "stderr", "up\n"),
    (123.0, "c2s", request("x y", "ping")),
    (124.0, "end", {"exit": 0}),
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "s.jsonl"
    path.write_bytes(SESSION)
    return path


def test_a_folder(run: Run, file: Path) -> None:
    """Of several recordings the newest is shown, and said."""
    (file.parent / "a.jsonl").write_bytes(b"{}")
    os.utime(file.parent / "a.jsonl", (0, 0))
    status, out, err = run("show", file.parent)

    assert (0, True) == (status, "initialize #0" in out)
    assert f"mcpmock: {file} is the newest recording in this folder" in err


def test_the_timeline_has_a_line_for_each_event(run: Run, file: Path) -> None:
    """Number, time, direction, kind, method and id, latency, notes and words, in 80 columns."""
    status, out, err = run("show", file)

    assert 0 == status
    assert f"mcpmock: {file}:1: incomplete: its recorder was stopped" in err
    assert [
        "take 1  2026-11-20T10:00:00.000Z  stdio  11 events  incomplete",
        " 1    +41 ms -> request  initialize #0           c 1",
        " 2    +82 ms <- response initialize #0           (41 ms) s 2",
        ' 3   +1.50 s -> request  tools/call #7           add {"a":1}',
        " 4   +1.60 s <- notify   notifications/progress  1",
        " 5   +1.70 s <- request  roots/list #7",
        " 6   +1.80 s -> response roots/list #7           (100 ms)",
        " 7   +3.00 s <- error    tools/call #7           (1.50 s) add: -32602 no such...",
        " 8   +3.10 s <- opaque                           a banner",
        " 9   +3.20 s    stderr                           up",
        '10 +2:03 min -> request  ping #"x y"             [unanswered]',
        "11 +2:04 min    end                              exit 0",
    ] == out.splitlines()


def test_wider_terminals_show_more(run: Run, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line is as long as the terminal is wide, in cells, and what is cut ends in dots."""
    file.write_bytes(cassette_bytes(("s2c", "\u6f22".encode() * 300)))
    _, narrow, _ = run("show", file)
    monkeypatch.setenv("COLUMNS", "120")
    _, wide, _ = run("show", file)

    assert narrow.splitlines()[-1].endswith("...")
    grown = wide.count("\u6f22") - narrow.count("\u6f22")
    assert 20 == grown


def on_a_terminal(monkeypatch: pytest.MonkeyPatch, lines: int = 50) -> None:
    """Standard output is a terminal of 100 columns."""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    for name, value in (("COLUMNS", "100"), ("LINES", str(lines)), ("NO_COLOR", "1")):
        monkeypatch.setenv(name, value)


def test_a_wide_terminal_shows_a_waterfall(
    run: Run, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bar from each request to its answer, in a column of its own; a filter keeps the scale."""
    on_a_terminal(monkeypatch)
    _, out, _ = run("show", "-q", file, "--filter", "kind=request")

    assert [
        "0                2:04 min",
        "\u2501",
        "     " + "\u2501" * 7,
        "      \u2501",
        "                    \u2501" + "\u254c" * 4,
    ] == [line[75:] for line in out.splitlines()]


STYLED = {
    '{"a":1}': "\x1b[2m->\x1b[0m \x1b[36mrequest\x1b[0m  tools/call\x1b[2m #7\x1b[0m",
    "add\x1b[0m {": "\x1b[1madd\x1b[0m {",
    "add\x1b[0m: -32602": "\x1b[36m(1.50 s)\x1b[0m \x1b[1madd\x1b[0m: -32602",
    "tools/call\x1b[2m": "\x1b[31merror\x1b[0m    tools/call",
    "roots/list": "\x1b[32mresponse\x1b[0m roots/list",
    "progress": "\x1b[2m<-\x1b[0m \x1b[35mnotify\x1b[0m   notifications/progress",
}


def test_colors_tell_the_kinds(run: Run, file: Path) -> None:
    """Kinds have colors, tools are bold, arrows and ids dim; without color it is the same text."""
    _, plain, _ = run("show", file)
    _, out, _ = run("show", "--color", "always", file)

    for text, styled in STYLED.items():
        assert (text, True) == (text, styled in out)
    assert plain == click.unstyle(out)


def test_a_long_timeline_is_paged(run: Run, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only on a terminal, and only if that has fewer lines."""
    paged: list[str] = []
    monkeypatch.setattr(click, "echo_via_pager", paged.extend)
    on_a_terminal(monkeypatch)
    _, short, _ = run("show", "-q", file)
    assert (12, []) == (len(short.splitlines()), paged)

    on_a_terminal(monkeypatch, lines=12)
    assert (0, "", "") == run("show", "-q", file)
    assert short == click.unstyle("".join(paged))


@pytest.mark.e2e
@pytest.mark.parametrize("form", [(), ("--json",), ("--raw",)])
def test_following_a_recording(file: Path, form: tuple[str, ...]) -> None:
    """What is recorded is shown at once, from a file that is not there yet; Ctrl-C ends it."""
    late = file.with_name("late.jsonl")
    command = [*MCPMOCK, "show", "--follow", *form, "--filter", "kind=request", str(late)]
    lines = SESSION.splitlines(keepends=True)
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        with late.open("ab", buffering=0) as growing:
            growing.write(b"".join(lines[:3]))
            shown = [process.stdout.readline() for _ in range(1 if form else 2)]
            growing.write(lines[3][:20])
            growing.write(lines[3][20:])
            shown.append(process.stdout.readline())
        process.send_signal(signal.SIGINT)
        assert 130 == process.wait(END)

    assert b"initialize" in shown[-2]
    assert b"tools/call" in shown[-1]
    assert form or shown[0].startswith(b"take 1  2026-11-20T10:00:00.000Z  stdio")


def test_dropped_times_are_not_shown_as_zero(run: Run, file: Path) -> None:
    """A formatted cassette has neither times nor latencies."""
    run("fmt", file)
    _, out, _ = run("show", file)

    assert "ms" not in out
    assert " 1 -> request  initialize #0           c 1" == out.splitlines()[1]


def test_one_exchange_is_shown_whole(run: Run, file: Path) -> None:
    """`--id` shows a request with all that belongs to it, each payload indented and no more."""
    file.write_bytes(SESSION.replace(b'{"a":1}', b'{"a":1.0,"u":"\\u00e9"}'))
    status, out, _ = run("show", file, "--id", "7")

    assert 0 == status
    assert [3, 4, 5, 6, 7] == [int(n) for n in re.findall(r"^(\d) ", out, re.M)]
    assert '            "a": 1.0,\n            "u": "\\u00e9"\n' in out
    assert '      {\n        "jsonrpc": "2.0",' in out


def test_what_no_formatter_takes_is_shown_as_it_is(run: Run, file: Path) -> None:
    """A payload with NaN is a payload all the same."""
    odd = b'{"jsonrpc":"2.0","id":1,"method":"x","params":[NaN]}'
    file.write_bytes(cassette_bytes(("c2s", odd)))

    assert f"      {odd.decode()}" == run("show", file, "--id", "1")[1].splitlines()[-1]


def test_an_id_nobody_used_is_a_failure(run: Run, file: Path) -> None:
    """There is nothing to show, and that is said."""
    assert (1, "") == run("show", file, "--id", "99", "-q")[:2]
    assert "there is no request with the id 99" in run("show", file, "--id", "99")[2]
    assert 0 == run("show", file, "--id", "x y")[0]


def test_a_filter_chooses_events(run: Run, file: Path) -> None:
    """Only events for which all terms hold are shown."""
    _, out, _ = run("show", file, "--filter", "method=tools/* !kind=error")

    heading, line = out.splitlines()
    assert heading.startswith("take 1 ")
    assert '3 +1.50 s -> request  tools/call #7  add {"a":1}' == line
    assert "" == run("show", file, "--filter", "take=2")[1]


def test_raw_gives_the_very_bytes_of_the_frames(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    """One frame a line, byte for byte, with batches once and nothing that is no message."""
    both = batch(request(1, "a"), request(2, "b"))
    file.write_bytes(cassette_bytes(("c2s", both), ("s2c", b"\xff\x1b[2J"), ("stderr", "up\n")))
    monkeypatch.setattr(sys, "argv", ["mcpmock", "show", str(file), "--raw"])
    with pytest.raises(SystemExit):
        main()

    assert both + b"\n\xff\x1b[2J\n" == capsysbinary.readouterr().out


def test_json_gives_an_object_for_each_event(run: Run, file: Path) -> None:
    """What is known of an event stands beside the event as it was recorded."""
    _, out, _ = run("show", file, "--json")
    found = [json.loads(line) for line in out.splitlines()]

    assert {"event"} == {event["type"] for event in found}
    answer = found[6]
    assert ("error", "tools/call", "7", "add", 1_500_000, 3) == tuple(
        answer[name] for name in ("kind", "method", "id", "tool", "latency", "call")
    )
    assert json.loads(error(7, -32602, "no such tool")) == answer["event"]["m"]
    assert ["unanswered"] == found[9]["notes"]


def test_a_diagram_for_markdown(run: Run, file: Path) -> None:
    """`--mermaid` draws requests, answers, errors and what happened beside them."""
    _, out, _ = run("show", file, "--mermaid", "--filter", "!id=0 !id=x*")

    assert [
        "sequenceDiagram",
        "    participant c as client",
        "    participant s as server",
        "    Note over c,s: take 1",
        "    c->>s: tools/call #35;7 add #123;#34;a#34;#58;1#125;",
        "    s-)c: notifications/progress 1",
        "    s->>c: roots/list #35;7",
        "    c-->>s: roots/list #35;7 (100 ms)",
        "    s--xc: tools/call #35;7 (1.50 s) -32602 no such tool",
        "    s->>c: opaque a banner",
        "    Note over s: stderr up",
        "    Note over s: #101;#110;#100; exit 0",
    ] == out.splitlines()


def test_hostile_labels_stay_text_in_a_diagram(run: Run, tmp_path: Path) -> None:
    """No line of a diagram is more than a message or a note, and its label has no markup."""
    (tmp_path / "a.jsonl").write_bytes(loadable_and_not()[0])
    _, out, _ = run("show", "-q", tmp_path / "a.jsonl", "--mermaid")
    body = out.splitlines()[4:]

    arrows = r"(?:c|s)(?:->>|-->>|--x|-\))(?:c|s)|Note over (?:c|s|c,s)"
    assert body
    for line in body:
        label = re.fullmatch(rf"    (?:{arrows}): (.*)", line)
        assert label is not None
        assert re.fullmatch(r"(?:[\w .,/()-]|#\d+;)+", label[1])
        assert not re.search(r"\bend\b", label[1])


def talked(tmp_path: Path) -> Path:
    call = b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"%b","arguments":{}}}'
    answer = b'{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"%b"}]}}'
    file = tmp_path / "talked.jsonl"
    file.write_bytes(
        cassette_bytes(
            ("c2s", call % (1, b"add")),
            ("c2s", call % (2, b"echo")),
            ("s2c", answer % (2, b"two")),
            ("s2c", answer % (1, b"one")),
        )
    )
    return file


def test_an_answer_names_its_tool(run: Run, tmp_path: Path) -> None:
    """Numbers need not be matched by eye."""
    lines = run("show", talked(tmp_path))[1].splitlines()[1:]

    assert ["add", "echo", "echo:", "add:"] == [
        next(word for word in line.split() if word.startswith(("add", "echo"))) for line in lines
    ]


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("tool=nosuch", "nothing matches; tools here: add, echo"),
        ("method=tools/lst", "nothing matches; methods here: tools/call"),
        (
            "tool=x kind=error",
            "nothing matches; tools here: add, echo; kinds here: request, response",
        ),
        ("take=7", "nothing matches; takes here: 1"),
        ("text=nowhere", "nothing matches"),
    ],
)
def test_a_filter_that_nothing_matches(
    run: Run, tmp_path: Path, expression: str, said: str
) -> None:
    file = talked(tmp_path)

    status, out, err = run("show", "--filter", expression, file)

    assert (0, "", f"mcpmock: {said}") == (status, out, err.splitlines()[-1])
    assert (0, "", "") == run("show", "-q", "--filter", expression, file)
