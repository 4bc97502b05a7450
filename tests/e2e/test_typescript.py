"""The TypeScript tests of the manual, by vitest and by `node --test`: they pass, and a miss that
the client hides fails them.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mcpmock.printable import shell_command

from .parts import PARTS, not_installed

pytestmark = [
    pytest.mark.parts,
    pytest.mark.e2e,
    pytest.mark.skipif(shutil.which("node") is None, reason="needs Node"),
    pytest.mark.skipif(not_installed("vitest", "x") is not None, reason="run e2e_parts.sh vitest"),
]
ROOT = Path(__file__).parents[2]
PAGE = ROOT / "mcpmock" / "help" / "replay.md"
FILE = re.compile(r"^```[jt]s\n// ([\w.]+)\n(.*?)^```$", re.M | re.S)
CALL = "await client.callTool("
HIDDEN = "await client.callTool({ name: 'weather', arguments: { city: 'Rome' } }).catch(() => 0);\n"
RUNNERS = {
    "weather.test.ts": ["npx", "--no-install", "vitest", "run", "weather.test.ts"],
    "node.test.mjs": ["node", "--test", "node.test.mjs"],
}


@pytest.mark.parametrize("hides", [False, True])
@pytest.mark.parametrize("name", RUNNERS)
def test_the_manual(tmp_path: Path, name: str, hides: bool) -> None:
    """What a client does not tell is in the exit status of the replay."""
    files = dict(FILE.findall(PAGE.read_text("utf-8")))
    if hides:
        line = next(line for line in files[name].splitlines() if CALL in line)
        files[name] = files[name].replace(line, f"  {HIDDEN}{line}")
    for file, text in files.items():
        (tmp_path / file).write_text(text, "utf-8")
    (tmp_path / "node_modules").symlink_to(PARTS / "vitest" / "node_modules")
    script = tmp_path / "mcpmock"
    script.write_text(f'#!/bin/sh\nexec {shell_command([sys.executable])} -m mcpmock "$@"\n')
    script.chmod(0o755)
    path = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT), "CI": "1"}
    environment = {**os.environ, **path}
    demo = [str(script), "demo", "-q", "-o", "."]
    subprocess.run(demo, cwd=tmp_path, env=environment, check=True, capture_output=True)
    ran = subprocess.run(
        RUNNERS[name], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    told = ran.stdout + ran.stderr

    assert hides is bool(ran.returncode), told
    assert hides is ("nothing recorded in demo.jsonl answers tools/call weather" in told), told
