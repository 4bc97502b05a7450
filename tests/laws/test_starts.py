"""What the start of a command imports: a client waits for it. Over pipes it needs neither HTTP nor
what the session may never come to, and few attrs classes, each of which takes 0.4 ms to make.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import c, cassette_bytes, request, response, s

_HTTP = ("h11", "mcpmock.channels.http", "mcpmock.sessions.http_front")
_CODE = """
import atexit, json, sys

def imported():
    modules = {name for name in sys.modules if name.partition(".")[0] == "mcpmock"}
    classes = {
        one for name in modules for one in vars(sys.modules[name]).values()
        if isinstance(one, type) and "__attrs_attrs__" in vars(one)
        and one.__module__ in modules
    }
    print(json.dumps([sorted(sys.modules), len(modules), len(classes)]), file=sys.stderr)

atexit.register(imported)
from mcpmock.cli import main
sys.argv[0] = "mcpmock"
main()
"""


@pytest.mark.parametrize(
    ("arguments", "unneeded", "modules", "attrs_classes"),
    [
        (["proxy", "--", "{server}"], [*_HTTP, "mcpmock.playback", "mcpmock.redaction"], 56, 28),
        (["record", "-o", "{new}", "--", "{server}"], [*_HTTP, "rich", "mcpmock.playback"], 72, 42),
        (["replay", "{file}"], [*_HTTP, "rich", "mcpmock.recording"], 93, 76),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else None,
)
def test_what_a_start_imports(
    tmp_path: Path, arguments: list[str], unneeded: list[str], modules: int, attrs_classes: int
) -> None:
    """No module that is not needed, and at most so many modules and attrs classes of ours."""
    file = tmp_path / "a.jsonl"
    file.write_bytes(cassette_bytes(c(request(1, "ping")), s(response(1))))
    server = tmp_path / "server"
    server.write_text("#!/bin/sh\n")
    server.chmod(0o700)
    words = [
        word.format(file=file, new=tmp_path / "new.jsonl", server=server) for word in arguments
    ]
    command = [sys.executable, "-c", _CODE, *words]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    found, ours, classes = json.loads(done.stderr.splitlines()[-1])

    assert [] == sorted({*unneeded} & {*found})
    assert (ours <= modules, classes <= attrs_classes) == (True, True), (ours, classes)
