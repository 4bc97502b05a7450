"""What echo.c is, for machines without a C compiler: slower, but the same for every row."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

_ID = re.compile(rb'"id":([^,}]+)')
_PICK = re.compile(rb'"pick":(\d+)')


def main(path: str) -> None:
    bodies = Path(path).read_bytes().splitlines()
    rest = b""
    while data := os.read(0, 1 << 16):
        *lines, rest = (rest + data).split(b"\n")
        answers = []
        for line in lines:
            id_, pick = _ID.search(line), _PICK.search(line)
            if id_ is not None:
                body = bodies[int(pick[1]) % len(bodies) if pick else 0]
                answers.append(b'{"jsonrpc":"2.0","id":%b,"result":%b}\n' % (id_[1], body))
        view = memoryview(b"".join(answers))
        while view:
            view = view[os.write(1, view) :]


if __name__ == "__main__":
    main(sys.argv[1])
