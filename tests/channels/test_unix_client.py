"""The command that hands over its stdio."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from threading import Thread

import pytest

from mcpmock.channels.unix_client import UNREACHABLE_STATUS, visit
from mcpmock.errors import CannotReach


def test_it_brings_three_and_waits(tmp_path: Path) -> None:
    """The exit status is the one that comes back."""
    path = str(tmp_path / "s")
    brought: list[int] = []

    def host(listener: socket.socket) -> None:
        way, _ = listener.accept()
        with way:
            brought.extend(socket.recv_fds(way, 1, 3)[1])
            way.send(b"\x07")

    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        thread = Thread(target=host, args=[listener])
        thread.start()
        assert 7 == visit(path)
        thread.join()
    assert 3 == len(brought)
    for fd in brought:
        os.close(fd)


def test_nobody_is_there(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """It says so, with the exit status of every server that cannot be reached."""
    assert CannotReach.exit_code == UNREACHABLE_STATUS == visit(str(tmp_path / "s"))
    assert "is gone" in capfd.readouterr().err
