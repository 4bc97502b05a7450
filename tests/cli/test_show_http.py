"""`mcpmock show` of what was recorded over HTTP."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcpmock.cassette.model import event_line
from mcpmock.protocol.messages import (
    C2S,
    S2C,
    ExchangeEnd,
    Fact,
    Frame,
    HttpBody,
    HttpRequest,
    HttpResponse,
    SseMeta,
)
from tests.cli.conftest import Run
from tests.support import HEADER, INITIALIZE, WELCOME, call, request, response

TARGET = "/message?sessionId=mcpmock:secret:session-id:1"
EVENTS: list[tuple[float, int, Frame]] = []


def up(t: float, s: int, x: int, raw: bytes = b"", fact: Fact | None = None) -> None:
    EVENTS.append((t, s, Frame(C2S, raw, fact=fact, exchange=x)))


def down(t: float, s: int, x: int, raw: bytes = b"", fact: Fact | None = None) -> None:
    EVENTS.append((t, s, Frame(S2C, raw, fact=fact, exchange=x)))


up(0, 1, 1, fact=HttpRequest("GET", "/.well-known/oauth-protected-resource", [("Host", "h")]))
down(0.012, 1, 1, fact=HttpResponse(404, "Not Found", [("content-type", "text/html")]))
down(0.012, 1, 1, b"<html>\x1b[2J", HttpBody())
down(0.012, 1, 1, fact=ExchangeEnd())
up(1, 2, 2, fact=HttpRequest("POST", "/mcp", [("A", "1\x1b"), ("a", "2")]))
up(1, 2, 2, INITIALIZE)
down(1.2, 2, 2, fact=HttpResponse(200, "OK", [("Content-Type", "text/event-stream")]))
down(1.3, 2, 2, fact=SseMeta(id="3", retry=500))
down(1.3, 2, 2, b"")
down(1.4, 2, 2, WELCOME)
down(1.4, 2, 2, fact=ExchangeEnd())
up(2, 2, 13, fact=HttpRequest("POST", TARGET, []))
up(2, 2, 13, call(7, "add", a=1))
down(2.5, 2, 13, fact=HttpResponse(200, "OK", [("Content-Type", "application/json")]))
down(2.5, 2, 13, response(7, {"content": [{"type": "text", "text": "one"}]}))
up(3, 2, 14, fact=HttpRequest("POST", "/" + "a" * 200, []))
up(3, 2, 14, request(8, "ping"))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "h.jsonl"
    lines = [
        event_line(n, round(t * 1_000_000), frame, session=s)
        for n, (t, s, frame) in enumerate(EVENTS, 1)
    ]
    path.write_bytes(HEADER.replace(b"stdio", b"streamable-http") + b"".join(lines))
    return path


def test_the_timeline_of_http(run: Run, file: Path) -> None:
    """Session and exchange stand beside each event; heads and metadata say what they are in
    80 columns.
    """
    _, out, _ = run("show", file, "-q", "-v")

    assert [
        "take 1  2026-11-20T10:00:00.000Z  streamable-http  17 events  incomplete",
        " 1   +0 ms ->    x1  GET      /.well-known/oauth-protected-resource",
        " 2  +12 ms <-    x1  404      Not Found text/html      (12 ms)",
        " 3  +12 ms <-    x1  body                              <html>\\u001b[2J",
        " 4  +12 ms <-    x1  end                               eof",
        " 5 +1.00 s -> s2 x2  POST     /mcp",
        " 6 +1.00 s -> s2 x2  request  initialize #0            2025-11-25",
        " 7 +1.20 s <- s2 x2  200      text/event-stream        (200 ms)",
        " 8 +1.30 s <- s2 x2  event    id=3 retry=500",
        " 9 +1.30 s <- s2 x2  opaque",
        "10 +1.40 s <- s2 x2  response initialize #0            (400 ms) 2025-11-25",
        "11 +1.40 s <- s2 x2  end                               eof",
        f"12 +2.00 s -> s2 x13 POST     {TARGET}",
        '13 +2.00 s -> s2 x13 request  tools/call #7            add {"a":1}',
        "14 +2.50 s <- s2 x13 200      application/json         (500 ms)",
        "15 +2.50 s <- s2 x13 response tools/call #7            (500 ms) add: one",
        "16 +3.00 s -> s2 x14 POST     /" + "a" * 46 + "...",
        "17 +3.00 s -> s2 x14 request  ping #8                  [unanswered]",
    ] == out.splitlines()
    assert 80 == max(map(len, out.splitlines()))


def test_one_exchange_shows_its_heads(run: Run, file: Path) -> None:
    """`--id` shows what HTTP said around a request: fields one a line, nothing for an end."""
    _, out, _ = run("show", file, "-q", "--id", "0")
    lines = [line for line in out.splitlines() if not line.startswith("       ")]

    assert [
        " 5 +1.00 s -> s2 x2 POST     /mcp",
        "      POST /mcp",
        "      A: 1\\u001b",
        "      a: 2",
    ] == lines[1:5]
    assert " 8 +1.30 s <- s2 x2 event    id=3 retry=500" in lines
    assert "      Content-Type: text/event-stream" in lines
    assert "11 +1.40 s <- s2 x2 end                         eof" == lines[-1]


def test_a_diagram_of_http(run: Run, file: Path) -> None:
    """Heads are notes at the side that sent them."""
    _, out, _ = run("show", file, "-q", "--mermaid", "--filter", "x=2 kind=http")

    assert [
        "    Note over c: POST /mcp",
        "    Note over s: (200 ms) 200 text/event-stream",
    ] == out.splitlines()[4:]


def test_a_failed_exchange(run: Run, file: Path) -> None:
    """`status=` finds all of an exchange, and its status stands out."""
    _, out, _ = run("show", file, "-q", "--filter", "status=404", "--color", "always")

    assert 5 == len(out.splitlines())
    assert "\x1b[31m404\x1b[0m     " in out


def test_exchanges_that_went_well_are_folded(run: Run, file: Path) -> None:
    """Heads, ends, events without data, as on the page; what failed stays, a filter shows all."""
    folded = run("show", file, "-q")[1].splitlines()
    whole = run("show", file, "-q", "-v")[1].splitlines()
    filtered = run("show", file, "-q", "--filter", "kind=http")[1].splitlines()

    hidden = len(whole) - len(folded)
    assert folded[0] == f"{whole[0]}  {hidden} events of HTTP folded (-v shows them)"
    assert hidden > 3
    assert set(folded[2:]) <= set(whole)
    assert any(" 404 " in line for line in folded) is any(" 404 " in line for line in whole)
    assert len(filtered) > 3
