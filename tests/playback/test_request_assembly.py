"""The live client's frames put together."""

from __future__ import annotations

import pytest

from mcpmock.playback.request_assembly import ClientMessage, RequestAssembly
from mcpmock.protocol.messages import C2S, S2C, Fragment, Frame, HttpBody
from mcpmock.protocol.reassembly import MAX_MESSAGE_BYTES
from tests.support import (
    INITIALIZE,
    INITIALIZED,
    accepts,
    answers,
    batch,
    bodiless,
    c2s,
    call,
    ends,
    post,
    response,
    s2c,
)


def piece(raw: bytes, x: int | None, last: bool = False) -> Frame:
    return Frame(C2S, raw, fact=Fragment(last), exchange=x)


def assembled(
    assembly: RequestAssembly, *frames: Frame
) -> list[tuple[int | None, bytes, str | None]]:
    found = (assembly.add(frame) for frame in frames)
    return [
        (one.exchange, one.frame.raw, None if one.head is None else one.head.target)
        for one in found
        if one is not None
    ]


def test_stdio() -> None:
    """A message is heard as it comes, a long line when it is whole."""
    assembly = RequestAssembly()

    assert [(None, b"a", None)] == assembled(assembly, c2s(b"a"))
    assert [(None, b"xyz", None)] == assembled(
        assembly, piece(b"x", None), piece(b"yz", None, True)
    )


def test_a_request_over_http() -> None:
    """A request is heard with its body, one without a body at once; bodies in pieces mix."""
    assembly = RequestAssembly()
    (one, _), (other, _) = post(1, b""), post(2, b"", to="/m")

    assert [] == assembled(assembly, one, other, piece(b"a", 1), piece(b"b", 2))
    assert [(2, b"bb", "/m"), (1, b"aa", "/mcp")] == assembled(
        assembly, piece(b"b", 2, True), piece(b"a", 1, True)
    )
    assert [(3, b"", "/x")] == assembled(assembly, *bodiless(3, "GET", to="/x"))
    assert ({1, 2, 3}, {"/mcp", "/m"}) == (assembly.open, assembly.paths)


def test_a_body_that_is_no_message() -> None:
    """It is heard as its head, once."""
    assembly = RequestAssembly()
    body = Frame(C2S, b"x=1", fact=HttpBody(), exchange=1)
    [found] = [one for frame in (post(1, b"")[0], body, body) if (one := assembly.add(frame))]

    assert found.frame.fact is found.head is not None
    assert set() == assembly.paths


def test_a_client_that_goes() -> None:
    """Nothing is open any more, nor waited for."""
    assembly = RequestAssembly()
    left = ends(1, "closed", C2S)

    assert [(1, b"", None)] == assembled(assembly, post(1, b"")[0], piece(b"x", 1), left)
    assert set() == assembly.open
    assert [(1, b"y", None)] == assembled(assembly, piece(b"y", 1, True))


def test_what_is_too_long() -> None:
    """Of what is too long to look at the size is known."""
    assembly = RequestAssembly()
    found = [
        assembly.add(piece(b"x" * (MAX_MESSAGE_BYTES // 2 + 1), None, last))
        for last in (False, True)
    ]

    assert isinstance(found[1], ClientMessage)
    assert MAX_MESSAGE_BYTES + 2 == found[1].size


def test_nothing_leaves_on_what_is_over() -> None:
    """What would go out behind the end of an exchange, or on an unknown one, is left out."""
    assembly = RequestAssembly()
    assembled(assembly, *post(1, INITIALIZE))
    banner = s2c(b"x")

    assert [*accepts(1), banner] == assembly.sendable([*accepts(1), *answers(1, b""), banner])
    assert [] == assembly.sendable([Frame(S2C, b"x", exchange=9)])
    assembled(assembly, *post(2, INITIALIZE))
    head = answers(2, b"")[0]
    assert [head] == assembly.sendable([head, head])


@pytest.mark.parametrize(
    ("frame", "name"),
    [
        (c2s(INITIALIZE), "initialize"),
        (c2s(response(1)), "response"),
        (c2s(b"x"), "noise"),
        (bodiless(1, "GET", to="/x")[0], "GET /x"),
    ],
)
def test_what_it_is_called(frame: Frame, name: str) -> None:
    """Its method, or what it is."""
    assert name == ClientMessage(frame).name


@pytest.mark.parametrize(
    ("raw", "ids"),
    [
        (batch(call(1, "a"), INITIALIZED, response(3), call("z", "b")), [b"1", b'"z"']),
        (call(1, "a"), [b"1"]),
        (INITIALIZED, []),
        (b"[x", []),
    ],
)
def test_the_requests_in_it(raw: bytes, ids: list[bytes]) -> None:
    """Those of a batch, without what needs no answer."""
    assert ids == ClientMessage(c2s(raw)).ids


def test_a_message_without_a_head() -> None:
    """Over pipes nothing names a session, nor ends one."""
    found = ClientMessage(c2s(INITIALIZE))

    assert (False, False, True) == (found.names_session, found.ends_session, found.is_posted)


def test_stdio_leaves_as_it_is() -> None:
    """Where there are no exchanges, nothing is looked at."""
    frames = [s2c(b"a")]

    assert frames is RequestAssembly().sendable(frames)
