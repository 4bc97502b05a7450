"""The least that a relay on trio can cost: `trio_relay.py CMD..` moves bytes and looks at none."""

from __future__ import annotations

import os
import subprocess
import sys

import trio

CHUNK = 1 << 16


async def pump(source: int, target: int) -> None:
    while True:
        await trio.lowlevel.wait_readable(source)
        data = os.read(source, CHUNK)
        if not data:
            return
        view = memoryview(data)
        while view:
            try:
                view = view[os.write(target, view) :]
            except BlockingIOError:
                await trio.lowlevel.wait_writable(target)


async def main(there: int, back: int) -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(pump, back, 1)
        await pump(0, there)
        os.close(there)


def relay(command: list[str]) -> int:
    (their_in, there), (back, their_out) = os.pipe(), os.pipe()
    child = subprocess.Popen(command, stdin=their_in, stdout=their_out)
    os.close(their_in)
    os.close(their_out)
    os.set_blocking(there, False)
    os.set_blocking(back, False)
    trio.run(main, there, back)
    return child.wait()


if __name__ == "__main__":
    sys.exit(relay(sys.argv[1:]))
