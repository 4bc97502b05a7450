"""A server of few words, for the end-to-end tests: how it speaks, and how it ends.

    scripted.py [OPTION].. MODE [ARGUMENT]

It first says a line with the process ids to wait for (`ready`), then does what MODE says:

    echo            every byte back as it came, until the end of its input
    rpc             an answer to each request, naming its params and how many came before
    idle            nothing; ends with its input
    say FILE        the bytes of FILE, and keeps what it is told until the end of its input
    quit TEXT       once it was told a line: TEXT, without a line end, and exits
    die NUMBER      once it was told a line: ends by this signal
    flood BYTES     so many bytes in lines, while it reads at the same time
    log BYTES       as echo, after so many bytes on standard error

Options:

    --log FILE      notes the bytes that it reads there, before it does anything with them
    --noisy         notes each read on standard error
    --ignore NAME   ignores this signal: TERM, INT or HUP
    --fork          leaves its pipes to a grandchild as well, which ignores all three
    --deaf          does not end by itself
    --status N      exits with N
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import threading
from collections.abc import Iterator

SIGNALS = {"TERM": signal.SIGTERM, "INT": signal.SIGINT, "HUP": signal.SIGHUP}
LINE = (
    b'{"jsonrpc":"2.0","method":"notifications/flood","params":{"filler":"' + b"x" * 900 + b'"}}\n'
)


class Server:
    """Our stdio, and what is noted of it."""

    def __init__(self, log: str | None, *, noisy: bool) -> None:
        self._noisy = noisy
        self._log = None if log is None else os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def hear(self) -> Iterator[bytes]:
        """What comes in, read by read; each is noted first."""
        while data := os.read(0, 1 << 16):
            if self._log is not None:
                write(self._log, data)
            if self._noisy:
                write(2, b"%d bytes read\n" % len(data))
            yield data

    def hear_lines(self) -> Iterator[bytes]:
        rest = b""
        for data in self.hear():
            *lines, rest = (rest + data).split(b"\n")
            yield from lines

    def echo(self) -> None:
        for data in self.hear():
            write(1, data)

    def rpc(self) -> None:
        for nth, text in enumerate(self.hear_lines()):
            message = json.loads(text)
            if "id" in message and "method" in message:
                result = {"nth": nth, "method": message["method"], "given": message.get("params")}
                say({"id": message["id"], "result": result})

    def idle(self) -> None:
        for _ in self.hear():
            pass

    def say(self, file: str) -> None:
        with open(file, "rb") as said:
            while data := said.read(1 << 16):
                write(1, data)
        self.idle()

    def quit(self, text: str) -> None:
        next(self.hear_lines())
        write(1, text.encode())

    def die(self, number: str) -> None:
        next(self.hear_lines())
        os.kill(os.getpid(), int(number))

    def flood(self, count: str) -> None:
        lines = int(count) // len(LINE)
        talking = threading.Thread(target=write, args=(1, LINE * lines))
        talking.start()
        self.idle()
        talking.join()

    def log(self, count: str) -> None:
        write(2, b"n" * int(count))
        self.echo()


def write(fd: int, data: bytes) -> None:
    """All of it."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def say(message: dict[str, object]) -> None:
    write(1, json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")


def fork() -> list[int]:
    """A grandchild that keeps all our pipes and sleeps through every signal but SIGKILL."""
    before = {number: signal.signal(number, signal.SIG_IGN) for number in SIGNALS.values()}
    child = os.fork()
    while not child:
        signal.pause()
    for number, handler in before.items():
        signal.signal(number, handler)
    return [child]


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--log")
    parser.add_argument("--ignore", action="append", default=[], choices=SIGNALS)
    parser.add_argument("--fork", action="store_true")
    parser.add_argument("--deaf", action="store_true")
    parser.add_argument("--noisy", action="store_true")
    parser.add_argument("--status", type=int, default=0)
    parser.add_argument("mode")
    parser.add_argument("argument", nargs="*")
    args = parser.parse_args()
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    for name in args.ignore:
        signal.signal(SIGNALS[name], signal.SIG_IGN)
    pids = [os.getpid(), *(fork() if args.fork else [])]
    say({"method": "notifications/ready", "params": {"pids": pids}})
    getattr(Server(args.log, noisy=args.noisy), args.mode)(*args.argument)
    while args.deaf:
        signal.pause()
    return int(args.status)


if __name__ == "__main__":
    sys.exit(main())
