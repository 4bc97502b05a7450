"""Streamable HTTP: the words of its headers, and both sides in a row, which carry bare messages
unchanged.
"""

from __future__ import annotations

import random
from itertools import count
from typing import Any

import pytest

from mcpmock.protocol.messages import C2S, S2C, Frame, HttpRequest, Request, parse
from mcpmock.protocol.mirrored_headers import fields_of
from mcpmock.transports.streamable_http.client import StreamableHttpClient
from mcpmock.transports.streamable_http.common import (
    mismatch,
)
from mcpmock.transports.streamable_http.server import StreamableHttpServer
from tests.support import (
    INITIALIZE,
    INITIALIZED,
    LOG,
    WELCOME,
    Script,
    batch,
    cancelled,
    error,
    hangs_up,
    notification,
    progress,
    request,
    response,
    script,
)

META = {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}


@pytest.mark.parametrize("method", ["tools/call", "prompts/get", "resources/read", "tools/list"])
def test_what_one_side_writes_the_other_takes(method: str) -> None:
    """The standard headers of a request agree with it; without any one of them they do not."""
    message = parse(request(1, method, {"name": "é", "uri": "x://é", **META}))
    assert isinstance(message, Request)
    fields = fields_of(message, "2026-07-28")

    assert None is mismatch(HttpRequest("POST", "/", fields), message)
    assert (2 if method == "tools/list" else 3) == len(fields)
    for field in fields:
        without = [other for other in fields if other != field]
        wrong = [*without, (field[0], "wrong")]
        for one in (without, wrong):
            why = mismatch(HttpRequest("POST", "/", one), message)
            assert why is not None
            assert why.startswith(field[0])


def test_tasks_may_be_named() -> None:
    """The name header of a task method is optional, but must match."""
    message = parse(request(1, "tasks/get", {"taskId": "t", **META}))
    assert isinstance(message, Request)
    *fields, name = fields_of(message, "2026-07-28")

    assert ("Mcp-Name", "t") == name
    assert None is mismatch(HttpRequest("POST", "/", fields), message)
    assert None is not mismatch(HttpRequest("POST", "/", [*fields, ("Mcp-Name", "u")]), message)


def pair(*, stateless: bool = False) -> Script:
    return script(
        StreamableHttpClient("/mcp", [], count(1)),
        StreamableHttpServer("/mcp", lambda: "s1", stateless=stateless),
    )


def opened(revision: str = "2025-11-25") -> Script:
    initialize = INITIALIZE.replace(b"2025-11-25", revision.encode())
    welcome = WELCOME.replace(b"2025-11-25", revision.encode())
    return (
        pair()
        .at(0, client=initialize, to_server=initialize)
        .at(0, server=welcome, to_client=welcome)
        .at(0, client=INITIALIZED, to_server=INITIALIZED)
    )


@pytest.mark.parametrize("revision", ["2025-03-26", "2025-06-18", "2025-11-25"])
def test_a_session_passes_unchanged(revision: str) -> None:
    """Calls, progress, pushes, requests of the server's and cancels, in the order sent."""
    asked = request(1, "a", token=b"1.0")
    opened(revision).at(1, client=asked, to_server=asked).at(
        2, server=progress(b"1.0"), to_client=progress(b"1.0")
    ).at(3, server=request(1, "roots/list"), to_client=request(1, "roots/list")).at(
        4, client=response(1), to_server=response(1)
    ).at(5, server=error(1), to_client=error(1)).at(6, server=LOG, to_client=LOG).at(
        7, client=request(b"1e0", "b"), to_server=request(b"1e0", "b")
    ).at(8, client=cancelled(b"1e0"), to_server=cancelled(b"1e0")).at(
        9, server=response(1), to_client=response(1)
    ).at(10, client=hangs_up(C2S), to_server=hangs_up(C2S)).nothing_more()


def test_an_answer_whose_id_is_a_text_of_the_number() -> None:
    """Clients take it for the answer, so it passes on the exchange of the request."""
    asked = request(1, "a")
    opened().at(1, client=asked, to_server=asked).at(
        2, server=response("1"), to_client=response("1")
    ).nothing_more()


def test_batches_pass_unchanged() -> None:
    """Batches of 2025-03-26 pass unchanged."""
    asked, answered = batch(request(1, "a"), INITIALIZED), batch(response(1))
    opened("2025-03-26").at(1, client=asked, to_server=asked).at(
        2, server=batch(LOG, LOG), to_client=batch(LOG, LOG)
    ).at(3, server=answered, to_client=answered).nothing_more()


def test_pushes_wait_for_the_standalone_stream() -> None:
    """Messages sent before the standalone stream is open are held for it."""
    pair().at(0, client=INITIALIZE, to_server=INITIALIZE).at(
        0, server=WELCOME, to_client=WELCOME
    ).at(0, server=LOG).at(0, client=INITIALIZED, to_client=LOG, to_server=INITIALIZED)


def test_the_modern_era_passes_unchanged() -> None:
    """Probes, calls with progress, listens and cancels."""
    probe, asked = request("p", "server/discover", META), request(1, "a", META)
    listen = request("l", "subscriptions/listen", META)
    tag = {"_meta": {"io.modelcontextprotocol/subscriptionId": "l"}}
    changed = notification("notifications/tools/list_changed", tag)
    pair(stateless=True).at(1, client=probe, to_server=probe).at(
        2, server=error("p", -32601), to_client=error("p", -32601)
    ).at(3, client=listen, to_server=listen).at(4, client=asked, to_server=asked).at(
        5, server=changed, to_client=changed
    ).at(6, server=LOG, to_client=LOG).at(7, client=cancelled(1), to_server=cancelled(1)).at(
        8, server=cancelled("l"), to_client=cancelled("l")
    ).at(9, client=hangs_up(C2S), to_server=hangs_up(C2S)).nothing_more()


def test_the_server_that_ends_is_an_error_to_who_asked() -> None:
    """The client gets an error for its request, and the end of the server."""
    asked = request(1, "a")
    wire = opened().at(1, client=asked, to_server=asked)
    told = [frame.raw for frames in wire.pipeline.enter([hangs_up(S2C)], 2) for frame in frames]

    assert error(1, -32000, "mcpmock: the server ended") == told[0]
    wire.abandon()


@pytest.mark.parametrize("seed", range(20))
def test_any_interleaving_keeps_its_order(seed: int) -> None:
    """However calls, their progress and their answers are mixed: each arrives once, unchanged, and
    those of one call in order.
    """
    dice = random.Random(seed)
    wire = opened(dice.choice(["2025-06-18", "2025-11-25"])).pipeline
    waiting: dict[int, list[bytes]] = {}
    heard: list[bytes] = []
    sent: list[bytes] = []
    numbers = iter(range(1, 41))
    number: Any = next(numbers)
    while number is not None or waiting:
        if number is not None and (not waiting or dice.random() < 0.4):
            asked = request(number, "a", token=number)
            assert [asked] == [f.raw for fs in wire.enter([Frame(C2S, asked)], 0) for f in fs]
            says = [progress(number, n) for n in range(dice.randrange(4))]
            waiting[number] = [*says, response(number)]
            number = next(numbers, None)
        else:
            said = _next_of(waiting, dice)
            sent.append(said)
            heard += [f.raw for fs in wire.enter([Frame(S2C, said)], 0) for f in fs]

    assert sent == heard


def _next_of(waiting: dict[int, list[bytes]], dice: random.Random) -> bytes:
    number = dice.choice(list(waiting))
    said = waiting[number].pop(0)
    if not waiting[number]:
        del waiting[number]
    return said
