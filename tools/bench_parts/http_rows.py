"""The rows over Streamable HTTP. All that record stand before one server, which `upstream` runs.

mcp-cassette is given what helps it: as it comes it redacts progress tokens as well, and cannot then
play what it recorded.
"""

from __future__ import annotations

import dataclasses
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from bench_parts.over_http import HttpSession
from bench_parts.rows import CASSETTE_SERVE, HERE, IDLE_PLAN, NO_COMPILER, Row, Workshop, peer

_ANYWHERE = "127.0.0.1:0"


@contextmanager
def upstream(shop: Workshop) -> Iterator[int | None]:
    """The port of the server, while it runs; None without a compiler for it."""
    if shop.http_server is None:
        yield None
        return
    with HttpSession([*shop.http_server, "0"], shop.env) as server:
        yield server.listening()


def http_rows(shop: Workshop, port: int | None) -> list[Row]:
    """In the order in which they are run and shown; `port` is that of the server."""
    origin = f"http://127.0.0.1:{port}"
    url = f"{origin}/mcp"
    direct = [*(shop.http_server or ()), "0"]
    relay = [sys.executable, str(HERE / "http_relay.py"), str(port)]
    record = [*shop.mcpmock, "record", "--url", url, "--listen", _ANYWHERE]
    replay = [*shop.mcpmock, "replay", "--listen", _ANYWHERE]
    cassette = ["record", "--no-default-redactions", "--url", url, "--cassette"]
    recorder = ["record", "--target", origin, "--output"]
    recorder_replay = ["replay", "--cassette"]
    rows = [
        Row("http-direct", lambda _: direct),
        Row("http-relay", lambda _: relay),
        Row("http-record", lambda file: [*record, "-o", str(file)], records=True),
        Row("http-record-faults", lambda file: [*record, *IDLE_PLAN, "-o", str(file)]),
        Row("http-replay", lambda file: [*replay, str(file)], plays="http-record"),
        Row(
            "http-replay-faults",
            lambda file: [*replay, *IDLE_PLAN, str(file)],
            plays="http-record",
        ),
        peer("mcp-cassette", lambda file: [*cassette, str(file)]),
        peer("mcp-cassette", lambda file: [*CASSETTE_SERVE, str(file)], plays="http-mcp-cassette"),
        peer("mcp-recorder", lambda file: [*recorder, str(file), *_free_port()]),
        peer(
            "mcp-recorder",
            lambda file: [*recorder_replay, str(file), *_free_port()],
            plays="http-mcp-recorder",
        ),
    ]
    return [_over_http(row, None if port else NO_COMPILER) for row in rows]


def _over_http(row: Row, missing: str | None) -> Row:
    name = row.name if row.name.startswith("http-") else f"http-{row.name}"
    streams = name != "http-mcp-recorder-replay"  # plays the first event of a stream as the answer
    return dataclasses.replace(
        row, name=name, http=True, streams=streams, missing=missing or row.missing
    )


def _free_port() -> list[str]:
    """For those that say where they listen only as they were told."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        return ["--port", str(free.getsockname()[1])]
