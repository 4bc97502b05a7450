"""What a command has imported when its server is asked first: that waits for it. Over pipes it
needs neither HTTP nor what the session may never come to, few attrs classes, each of which takes
0.4 ms to make, and hardly an expression (`lazy_pattern`).
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import c, cassette_bytes, request, response, s

from .test_house import MODULES

_HTTP = ("h11", "mcpmock.channels.http", "mcpmock.sessions.http_front")
_REPORTS = ("mcpmock.semantic_diff", "mcpmock.matching", "mcpmock.view", "mcpmock.cli.reports")
_COMPILED = re.compile(r"^\S.*\bre\.compile\(", re.MULTILINE)
_NEEDED_AT_ONCE = {"mcpmock.redaction.secret_formats"}
"""The one expression that every message is searched for."""
_CODE = """
import atexit, json, os, signal, sys

def imported(*_signal):
    modules = {name for name in sys.modules if name.partition(".")[0] == "mcpmock"}
    classes = {
        one for name in modules for one in vars(sys.modules[name]).values()
        if isinstance(one, type) and "__attrs_attrs__" in vars(one)
        and one.__module__ in modules
    }
    print(json.dumps([sorted(sys.modules), len(modules), len(classes)]), file=sys.stderr)
    sys.stderr.flush()
    os._exit(0)

atexit.register(imported)
signal.signal(signal.SIGUSR1, imported)
from mcpmock.cli import main
sys.argv[0] = "mcpmock"
main()
"""


@pytest.mark.parametrize(
    ("arguments", "unneeded", "modules", "attrs_classes"),
    [
        (["proxy", "--", "{server}"], [*_HTTP, "mcpmock.playback", "mcpmock.redaction"], 52, 0),
        (["record", "-o", "{new}", "--", "{server}"], [*_HTTP, "rich", "mcpmock.playback"], 74, 2),
        (
            ["replay", "{file}"],
            [*_HTTP, "rich", "mcpmock.recording", "mcpmock.playback.plan.builder"],
            96,
            24,
        ),
        (["control"], ["pytest", "mcpmock.semantic_diff", "mcpmock.view.report"], 205, 127),
        (["drive", "{file}", "--", "{server}"], [*_HTTP, "rich", *_REPORTS], 103, 12),
        (["verify", "{file}", "--", "{server}"], [*_HTTP, "rich", *_REPORTS], 102, 12),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else None,
)
def test_what_a_start_imports(
    tmp_path: Path, arguments: list[str], unneeded: list[str], modules: int, attrs_classes: int
) -> None:
    """No module that is not needed, at most so many modules and attrs classes of ours, and no
    module that compiles an expression.
    """
    file = tmp_path / "a.jsonl"
    file.write_bytes(cassette_bytes(c(request(1, "ping")), s(response(1))))
    server = tmp_path / "server"
    server.write_text("#!/bin/sh\nread request; kill -USR1 $PPID; read more\n")
    server.chmod(0o700)
    words = [
        word.format(file=file, new=tmp_path / "new.jsonl", server=server) for word in arguments
    ]
    command = [sys.executable, "-c", _CODE, *words]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    found, ours, classes = json.loads(done.stderr.splitlines()[-1])

    assert [] == sorted({*unneeded} & {*found})
    assert (ours <= modules, classes <= attrs_classes) == (True, True), (ours, classes)
    assert [] == [
        name
        for name in {*found} & MODULES.keys() - _NEEDED_AT_ONCE
        if _COMPILED.search(MODULES[name].read_text("utf-8"))
    ]
