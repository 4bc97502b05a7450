"""Servers in a thread."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import mcpmock


def test_nothing_is_started_for_nobody(weather: Path) -> None:
    """A server that no client asks for costs no thread."""
    with mcpmock.serve(weather) as server:
        pass

    assert server._place is None


@pytest.mark.e2e
def test_whoever_asks_first_starts_it(weather: Path) -> None:
    """From several threads at once it is one server; closed it is not started again."""
    with mcpmock.serve(weather) as server, ThreadPoolExecutor(4) as pool:
        urls = set(pool.map(lambda _: server.url, range(4)))
        assert 1 == len(urls)
        server.close()
        with pytest.raises(RuntimeError, match="is closed: start another"):
            _ = server.url
