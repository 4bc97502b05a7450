"""The page of `mcpmock report` in a real browser: tests/e2e/browser, run in the part `browser`."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mcpmock.cassette.file import load
from mcpmock.cassette.model import Cassette
from mcpmock.cassette.parser import read
from mcpmock.platforms import try_lock
from mcpmock.view.explore_grid import explore_page
from mcpmock.view.filter import Filter
from mcpmock.view.report import FailedTest, report_page
from mcpmock.view.timeline import timeline
from tests.support import (
    batch,
    call,
    cancelled,
    cassette,
    cassette_bytes,
    dump,
    progress,
    request,
    response,
)
from tests.support.hostile import HOSTILE, loadable_and_not
from tests.support.one_problem import ANSWER, CALL, ONE_PROBLEM, OPENING, c2s, recording, s2c

from .parts import PARTS

pytestmark = [pytest.mark.e2e, pytest.mark.parts]
SHIPPED = Path(__file__).parents[2] / "cassettes"
BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
AXE = PARTS / "axe" / "node_modules" / "axe-core" / "axe.min.js"
MANY_CALLS = 50_000
BAD = f"<img src=x onerror=window.hacked=1></script><script>alert(1)</script>{HOSTILE}"
FILTERS = (
    "method=tools/call",
    "tool=ech* kind=request",
    "!kind=response",
    "kind=response",
    "kind=error",
    "dir=s2c",
    "!dir=c2s !dir=s2c",
    "id=1",
    "x=3",
    "s=2 status=200",
    "take=2",
    "text=hello",
    "method=[!t]*",
    "method=tools/l?st",
)


@pytest.mark.timeout(300)
def test_in_a_browser(tmp_path: Path) -> None:
    """All that browser/page_checks.py says holds of these pages."""
    python = PARTS / "browser" / "bin" / "python"
    if BROWSER is None or not python.exists():
        pytest.skip("there is no Chromium here, or no part `browser`")
    pages = dict(_pages())
    for name, page in pages.items():
        (tmp_path / name).write_bytes(page)
    rows = timeline(load(SHIPPED / "everything-http.jsonl"))
    filters = {query: sum(map(Filter.parse(query).keeps, rows)) for query in FILTERS}
    (tmp_path / "filters.json").write_text(json.dumps(filters))
    axe = {"AXE": str(AXE)} if AXE.exists() else {}
    checks = tmp_path / "test_page.py"  # out of the reach of our own conftest.py
    checks.write_bytes((Path(__file__).parent / "browser" / "page_checks.py").read_bytes())
    with _watched(tmp_path) as (url, pid):
        watched = {"WATCHED": url, "WATCH_PID": str(pid)}
        run = subprocess.run(
            [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", checks],
            env={**os.environ, "PAGES": str(tmp_path), "PYTHONPATH": "", **watched, **axe},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=290,
        )

    assert run.returncode == 0, run.stdout + run.stderr
    assert ("skipped" in run.stdout) is not bool(axe)


@contextmanager
def _watched(folder: Path) -> Iterator[tuple[str, int]]:
    """The URL of a live page, of a recording without its last event, and another one; and the
    process that serves it.
    """
    live = folder / "live"
    live.mkdir()
    whole = cassette_bytes(("c2s", call(1, "add")), ("s2c", response(1, _text("4"))))
    *lines, last = whole.splitlines(keepends=True)
    three = cassette_bytes(*[("c2s", call(n, "add")) for n in range(3)])
    (live / "other.jsonl").write_bytes(three)
    os.utime(live / "other.jsonl", (0, 0))
    (live / "grows.jsonl").write_bytes(b"".join(lines))
    (folder / "appended.jsonl").write_bytes(last)
    command = [sys.executable, "-m", "mcpmock", "watch", str(live)]
    with (
        (live / "grows.jsonl").open("ab") as recorder,
        subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as watch,
    ):
        try_lock(recorder.fileno())
        assert watch.stderr is not None
        try:
            yield watch.stderr.readline().removeprefix("listening on ").strip(), watch.pid
        finally:
            watch.terminate()


def _pages() -> Iterator[tuple[str, bytes]]:
    for name in ("everything", "everything-http"):
        yield f"{name}.html", report_page(load(SHIPPED / f"{name}.jsonl"))
    race = cassette_bytes(
        ("c2s", request(1, "tools/call", {"name": "slow"}, token=1)),
        ("s2c", progress(1)),
        ("c2s", cancelled(1)),
        ("s2c", response(1, {"content": []})),
    )
    yield "race.html", report_page(read("race.jsonl", race))
    old, new = (
        cassette_bytes(
            ("c2s", call(1, "a")),
            ("s2c", response(1, _text(text))),
            ("c2s", call(2, "b")),
            ("s2c", response(2, _text(text))),
        )
        for text in ("4 degrees, snow", "4 degrees, rain")
    )
    yield "not-found.html", report_page(ONE_PROBLEM["404"][0])
    yield "two.html", report_page(read("old.jsonl", old), read("new.jsonl", new))
    same = (read(f"{folder}/s.jsonl", old) for folder in ("old", "new"))
    yield "same.html", report_page(*same)
    failed = FailedTest(BAD, f"AssertionError: {BAD}", f"without an answer: {BAD}")
    yield "failed.html", report_page(ONE_PROBLEM["crash in a call"][0], test=failed)
    yield "empty.html", report_page(cassette())
    session = recording(*OPENING, c2s(10, CALL), s2c(12, ANSWER))
    yield "asserted.html", report_page(session, test=failed)
    yield "contents.html", report_page(_contents())
    yield "hostile.html", report_page(_hostile())
    odd = b'{"jsonrpc":"2.0","id":1,"result":{"n":1.0,"m":12345678901234567890123,"e":1e-400}}'
    yield "odd.html", report_page(read("odd.jsonl", cassette_bytes(("s2c", odd))))
    deep = b'{"jsonrpc":"2.0","id":1,"result":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    long = response(2, _text('a "line"\n' * 70_000))
    payloads = deep, long, response(3, _text("a" * (1 << 20))), b'["' + b"a" * 100
    spoken = cassette_bytes(*(("s2c", payload) for payload in payloads))
    yield "deep.html", report_page(read("deep.jsonl", spoken))
    many = (
        line
        for n in range(MANY_CALLS)
        for line in (("c2s", call(n, f"tool{n % 20}")), ("s2c", response(n, _text(f"result {n}"))))
    )
    yield "many.html", report_page(read("many.jsonl", cassette_bytes(*many)))
    yield "explore.html", _explored("it ended", "tools/call slow")
    yield "explore-hostile.html", _explored(BAD, BAD)


PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAEUlEQVR4nGP4z8DA8B+MgBgAHfAD/dPQfSYAAAAA"
    "SUVORK5CYII="
)
SVG = "PHN2ZyB4bWxucz0iaHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmciIG9ubG9hZD0iYWxlcnQoMSkiLz4="
TRACEBACK = ("Traceback:\n", '  File "a.py"\n', "    run()\n", "KeyError: 'TOKEN'\n")


def _contents() -> Cassette:
    """Two takes; a log in pieces; a text of some lines, an image, and an SVG that would act."""
    image = {"type": "image", "data": PIXEL, "mimeType": "image/png"}
    svg = {"type": "image", "data": SVG, "mimeType": "image/svg+xml"}
    return cassette(
        (0, "c2s", call(1, "look")),
        *((0.5 + n / 1000, "stderr", line) for n, line in enumerate(TRACEBACK)),
        (0.6, "stderr", "    later\n"),
        (1, "s2c", response(1, _text("first line\n  second line"))),
        ("take", None),
        (0, "c2s", call(1, "look")),
        (1, "s2c", response(1, {"content": [image, svg], "path": "/9j/no-image.txt"})),
    )


def _text(text: str) -> dict[str, object]:
    return {"content": [{"type": "text", "text": text}]}


def _explored(text: str, place: str) -> bytes:
    """The grid of an exploration, with these words in every place."""
    row = {"type": "row", "step": "cells", "message": place, "request": text, "at": text}
    run = {"reaction": text, "reached": True, "oracle": text, "place": place, "verdict": "broken"}
    failure = {"type": "failure", "n": 1, "oracle": text, "place": place, "text": text}
    more = dict.fromkeys(("cites", "shrunk", "again", "plan", "cassette", "command"), text)
    lines = (
        {**row, **run, "n": 1, "cell": "cancel_before_start"},
        {**row, "n": 2, "cell": text, "verdict": "ok"},
        {**row, "n": 3, "cell": text, "verdict": text},
        {**row, "n": 4, "step": "faults", "fault": text, "verdict": "unreached"},
        {**failure, **more, "rows": 1, "confirmed": True},
        {"type": "baseline", "oracle": text, "text": text},
        {"type": "untried", "message": place, "why": text},
        {"type": "summary", "runs": 4, "planned": 9, "seed": 0, "file": text, "command": text},
    )
    return explore_page(text, b"".join(dump(line) + b"\n" for line in lines))


def _hostile() -> Cassette:
    """Markup and control characters in every member, after the hostile string in every place."""
    bad = BAD
    lines = [
        {"n": 1, "d": "c2s", "m": json.loads(request(bad, bad, {bad: bad}))},
        {"n": 2, "d": "s2c", "m": json.loads(response(bad, {bad: [bad, {bad: bad}]}))},
        {"n": 3, "d": "s2c", "m": json.loads(batch(response(1, {bad: bad})))},
        {"n": 4, "stderr": bad},
        {
            "n": 5,
            "x": 3,
            "d": "c2s",
            "http": {"method": bad, "target": bad, "headers": [[bad] * 2]},
        },
        {"n": 6, "x": 3, "d": "s2c", "body": bad},
        {"n": 7, "fault": {"kind": bad, "name": bad, "id": bad, "drawn": {bad: bad}}},
    ]
    header = {"mcpmock": 1, "recorded_at": bad, "tool": bad, "transport": bad, "target": [bad, bad]}
    data = b"".join(dump(line) + b"\n" for line in (header, *lines))
    return read(bad, data + loadable_and_not()[0])
