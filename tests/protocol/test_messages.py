"""Classification that never fails, ids as spelled, and frames."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpmock.protocol.messages import (
    C2S,
    S2C,
    Batch,
    Fact,
    Fragment,
    Frame,
    Message,
    Notification,
    Opaque,
    ProcessExit,
    Request,
    Response,
    Stderr,
    StreamEnd,
    answers_id,
    canonical,
    decode,
    member,
    parse,
    parse_items,
    same_id,
)
from tests.support import INITIALIZE, batch, c2s, notification, request, response

DEEP = b"[" * 100_000 + b"]" * 100_000
DIGITS = b"9" * 5000

ODD_VALUES = [
    b"NaN",
    b"-Infinity",
    b"1e400",
    b"-0",
    b"0.60000000000000009",
    DIGITS,
    b'"\\ud800"',
    b'"\\u0000"',
    b'"\x7f"',
    '"\u2028\u2029\u0085"'.encode(),
    DEEP,
    b'{"a":1,"a":2}',
    b"9007199254740993",
]


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b'{"jsonrpc":"2.0","id":1,"method":"ping"}', Request(b"1", "ping")),
        (b'{"id":"1","method":"x","params":[1]}', Request(b'"1"', "x", b"[1]")),
        (b'{"id":null,"method":"ping"}', Request(b"null", "ping")),
        (b'{"id":1.0,"method":"ping"}', Request(b"1.0", "ping")),
        (b'{"id":1e2,"method":"ping"}', Request(b"1e2", "ping")),
        (b'{"id":true,"method":"ping"}', Request(b"true", "ping")),
        (b'{"id":{"a":1},"method":"ping"}', Request(b'{"a":1}', "ping")),
        (b'{"id":9007199254740993,"method":"p"}', Request(b"9007199254740993", "p")),
        (b'{"id":1,"id":2,"method":"p"}', Request(b"2", "p")),
        (b'{"method":"notifications/x"}', Notification("notifications/x")),
        (b'{"method":"n","params":{ "a" : 1 }}', Notification("n", b'{ "a" : 1 }')),
        (b'{"method":"\\u0070ing","id":1}', Request(b"1", "ping")),
        (b'{"id":1,"result":{}}', Response(b"1", b"{}")),
        (b'{"id":1,"result":null}', Response(b"1", b"null")),
        (b'{"id":1,"error":{"code":0}}', Response(b"1", None, b'{"code":0}')),
        (b'{"id":1,"result":{},"error":null}', Response(b"1", b"{}")),
        (b'{"id":1,"result":null,"error":{}}', Response(b"1", b"null", b"{}")),
        (b'{"id":1,"error":null}', Response(b"1", None, b"null")),
        (b'{"id":null,"error":{}}', Response(None, None, b"{}")),
        (b'{"error":{}}', Response(None, None, b"{}")),
        (b' \t{"id":1,"method":"ping"} ', Request(b"1", "ping")),
        (b'{"id":1,"foo":[1],"method":"ping"}', Request(b"1", "ping")),
        (b'{"id":1}', Opaque()),
        (b"{}", Opaque()),
        (b'{"method":5,"id":1}', Opaque()),
        (b"", Opaque()),
        (b" ", Opaque()),
        (b"null", Opaque()),
        (b"42", Opaque()),
        (b'"text"', Opaque()),
        (b"server listening on 3000", Opaque()),
        (b'{"id":1,"method":"pi', Opaque()),
        (b'noise{"id":1,"method":"ping"}', Opaque()),
        (b'{"id":1,"method":"ping"}noise', Opaque()),
        (b'{"id":1,"method":"ping","params":"\xff"}', Request(b"1", "ping", b'"\xff"')),
        (b'{"id":1,"method":"p\xff"}', Request(b"1", "p\ufffd")),
        (b'\xef\xbb{"id":1,"method":"ping"}', Opaque()),
        ('{"id":1,"method":"ping"}'.encode("utf-16"), Opaque()),
        (b"\x00", Opaque()),
        (b"\xef\xbb\xbf", Opaque()),
        (b"[]", Opaque()),
        (b"[1,2]", Opaque()),
        (b"[[]]", Opaque()),
        (b"[", Opaque()),
        (DEEP, Opaque()),
        (b'[{"id":1,"method":"ping"}]', Batch()),
        (b' [1,{"method":"n"}]', Batch()),
    ],
)
def test_parse(raw: bytes, expected: Message) -> None:
    """Bytes are classified leniently; those that are not JSON-RPC are opaque."""
    assert expected == parse(raw)


PADDING = [
    "\ufeff",
    "\ufeff\ufeff",
    "\0",
    "\r",
    "\x0b\x0c",
    "\x1e",
    "\x85",
    "\xa0",
    "\u3000",
    " \ufeff \0",
]
"""What clients take away from a message before they parse it, or ignore."""


@pytest.mark.parametrize("padding", PADDING, ids=ascii)
@pytest.mark.parametrize("at", ["before", "behind", "both"])
def test_bytes_around_a_message_are_read_past(padding: str, at: str) -> None:
    """What clients survive around a message hides neither the message nor its members."""
    before = padding.encode() if at != "behind" else b""
    behind = padding.encode() if at != "before" else b""

    def pad(text: bytes) -> bytes:
        return before + text + behind

    answer = pad(b'{"id":7,"result":{"a":1}}')
    assert Response(b"7", b'{"a":1}') == parse(answer)
    assert member(answer, "result", "a") == b"1"
    assert decode(answer) == {"id": 7, "result": {"a": 1}}
    assert Batch() == parse(pad(b"[%b]" % answer.strip(before).strip(behind)))
    assert [Notification("n")] == parse_items(pad(b'[{"method":"n"}]'))


@pytest.mark.parametrize("value", ODD_VALUES, ids=lambda value: value[:12].decode())
def test_odd_values_do_not_hide_what_a_message_is(value: bytes) -> None:
    """A value that msgspec or a recursive parser refuses is an ordinary value in a message."""
    assert Request(b"1", "x", b'{"a":%b}' % value) == parse(
        b'{"id":1,"method":"x","params":{"a":%b}}' % value
    )
    assert Response(b"1", value) == parse(b'{"id":1,"result":%b}' % value)


SCRAPS = (
    b'"', b"{", b"}", b"[", b"]", b":", b",", b"1", b'"id"', b'"method"', b"\\", b"\xff", b" ",
    b"\n",
)  # fmt: skip


@given(st.lists(st.sampled_from(SCRAPS), max_size=14).map(b"".join) | st.binary(max_size=40))
def test_parse_never_fails(raw: bytes) -> None:
    """Whatever the bytes are, there is an answer and no error."""
    assert isinstance(parse(raw), Message)


@given(
    flips=st.lists(st.tuples(st.integers(0, len(INITIALIZE) - 1), st.integers(0, 255)), max_size=3),
    cut=st.integers(0, len(INITIALIZE)),
)
def test_mutated_messages_never_fail(flips: list[tuple[int, int]], cut: int) -> None:
    """A message with some bytes changed or lost is still classified."""
    raw = bytearray(INITIALIZE)
    for place, byte in flips:
        raw[place] = byte

    assert isinstance(parse(bytes(raw[:cut])), Message)


def test_items_of_a_batch() -> None:
    """The members of a batch are classified one by one."""
    raw = batch(request(1, "ping"), notification("n"), response("a", {}), b"5", b"[]")

    assert [
        Request(b"1", "ping"),
        Notification("n"),
        Response(b'"a"', b"{}"),
        Opaque(),
        Opaque(),
    ] == parse_items(raw)


def test_items_of_what_is_no_batch() -> None:
    """A message outside a batch is its own only member."""
    assert [Request(b"1", "ping")] == parse_items(request(1, "ping"))
    assert [Opaque()] == parse_items(b"[torn")


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b'{"a":1.0}', {"a": 1.0}),
        (b"null", None),
        (b'"\\ud800"', "\ud800"),
        (DEEP, None),
        (b"torn", None),
        (b"\xff", None),
        (b'{"a":1,"a":2}', {"a": 2}),
    ],
)
def test_decode(raw: bytes, expected: object) -> None:
    """A text that no decoder accepts is None."""
    assert expected == decode(raw)


def test_canonical_values() -> None:
    """Equal for equal values; of what JSON cannot spell too."""
    assert canonical({"a": 1, "b": [2]}) == canonical({"b": [2], "a": 1})
    assert canonical("a") != canonical(b"a")
    assert canonical(["\ud800"]) == canonical(["\ud800"]) != canonical(["\ud801"])


def test_member() -> None:
    """A raw value is found by its path and comes as it was spelled."""
    params = b'{"_meta":{"progressToken":1.0}}'

    assert b"1.0" == member(params, "_meta", "progressToken")
    assert None is member(params, "_meta", "other")
    assert None is member(None, "_meta")


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (b"1", b"1", True),
        (b"1", b"1.0", True),
        (b"1e2", b"100", True),
        (b'"a"', b'"\\u0061"', True),
        (b"1", b'"1"', False),
        (b"1", b"true", False),
        (b"0", b"false", False),
        (b"0", b"null", False),
        (b"9007199254740993", b"9007199254740992", False),
        (b'"1"', b'"1.0"', False),
        (b"null", b"null", True),
        (b'{"a":1}', b'{"a":2}', False),
        (b'"\\ud800"', b'"\\ud801"', False),
        (DIGITS, DIGITS + b"0", False),
    ],
)
def test_same_id(one: bytes, other: bytes, expected: bool) -> None:
    """Ids are the same by type and value, never through a float."""
    assert expected is same_id(one, other)
    assert expected is same_id(other, one)


@pytest.mark.parametrize(
    ("asked", "answered", "expected"),
    [
        (b"1", b'"1"', True),
        (b"1.0", b'"1"', True),
        (b"1", b"1.0", True),
        (b'"1"', b"1", False),
        (b"1", b'"2"', False),
        (b"1", b'" 1"', False),
        (b"1", b"null", False),
    ],
)
def test_answers_id(asked: bytes, answered: bytes, expected: bool) -> None:
    """Clients take an answer to "1" for one to 1, and no other text for a number."""
    assert expected is answers_id(asked, answered)


@pytest.mark.parametrize("fact", [Fragment(), Stderr(), StreamEnd(), ProcessExit(1)])
def test_a_fact_is_no_message(fact: Fact) -> None:
    """A frame that is a transport's fact is that, whatever its bytes look like."""
    assert fact == Frame(S2C, request(1, "ping"), b"", fact).content


def test_content_is_decoded_once() -> None:
    """Looking twice decodes once."""
    frame = c2s(request(1, "ping"))

    assert frame.content is frame.content


def test_size_is_that_of_the_wire() -> None:
    """A frame's size counts its line end too."""
    assert 6 == Frame(C2S, b"1234", b"\r\n").size
