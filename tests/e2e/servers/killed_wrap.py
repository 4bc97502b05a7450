"""Wraps and unwraps a server in children that die at one line each of what writes, and tells what
they left.

    killed_wrap.py FOLDER

Standard output: how often the file was the old and the new one, after each command, and what was
neither or could not be taken back.
"""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from types import FrameType
from typing import Any

from mcpmock.cli.commands import cli

TEXT = '{"mcpServers": {"a": {"command": "x", /* c */ "args": ["y"]}}}\n'
WRAP, UNWRAP, UNWRAP_ALL = ("wrap", "a"), ("unwrap", "a"), ("unwrap", "--all")
WRITING = {
    "write_edit", "prepare_edit", "finish_edit", "save", "forget", "make_private_folder",
    "write_config", "replace_file", "_temporary",
}  # fmt: skip


def die_at(line: int) -> None:
    """End this process, without any cleaning up, before so many more lines of `WRITING` run."""
    left = line

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal left
        if frame.f_code.co_name not in WRITING:
            return None
        left -= event == "line"
        if left < 0:
            os._exit(9)
        return trace

    sys.settrace(trace)


def run(command: tuple[str, ...]) -> None:
    with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        cli(args=[*command, "--yes"], standalone_mode=False)


def is_whole(line: int, command: tuple[str, ...]) -> bool:
    """Run a command in a child that dies at a line; whether it came to its end before."""
    child = os.fork()
    if child == 0:
        die_at(line)
        run(command)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def main(folder: Path) -> int:
    file = folder / ".cursor/mcp.json"
    file.parent.mkdir()
    file.write_text(TEXT, "utf-8")
    for name in [name for name in os.environ if name.startswith("XDG_")]:
        del os.environ[name]
    os.environ["HOME"] = str(folder)
    os.chdir(folder)
    run(WRAP)
    texts = {TEXT: "old", file.read_text("utf-8"): "new"}
    run(UNWRAP)
    left: dict[str, Counter[str]] = {}
    broken: list[str] = []
    for command in (WRAP, UNWRAP):
        kinds = left[command[0]] = Counter()
        whole, line = False, 0
        while not whole:
            if command == UNWRAP:
                run(WRAP)
            whole = is_whole(line, command)
            found = file.read_text("utf-8")
            kinds[texts.get(found, "broken")] += 1
            run(UNWRAP_ALL)
            if found not in texts or file.read_text("utf-8") != TEXT:
                broken.append(f"{command[0]}, line {line}: {found}")
                file.write_text(TEXT, "utf-8")
            line += 1
    json.dump({**left, "broken": broken}, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
