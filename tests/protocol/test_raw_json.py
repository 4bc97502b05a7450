"""Finding values in raw bytes, and putting others in their place."""

from __future__ import annotations

import json
from time import process_time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpmock.protocol.raw_json import (
    all_members,
    elements,
    items,
    locate,
    locate_id,
    members,
    splice,
    value_at,
    walk,
)

DEEP = b"[" * 100_000 + b"]" * 100_000


def texts(raw: bytes) -> dict[str, bytes] | None:
    found = members(raw)
    return None if found is None else {name: raw[slice(*span)] for name, span in found.items()}


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b"{}", {}),
        (b" { } ", {}),
        (b'{"a":1}', {"a": b"1"}),
        (b' {\t"a" :\r\n 1.0 , "b": "x,}\\"" } \n', {"a": b"1.0", "b": b'"x,}\\""'}),
        (b'{"a":{"b":[1,"]"]},"c":null}', {"a": b'{"b":[1,"]"]}', "c": b"null"}),
        (b'{"a":1,"a":2}', {"a": b"2"}),
        (b'{"a":1,"b":1,"a":1}', {"a": b"1", "b": b"1"}),
        (b'{"a":1,"a":1,"b":1}', {"a": b"1", "b": b"1"}),
        (b'{"a":NaN,"b":-Infinity}', {"a": b"NaN", "b": b"-Infinity"}),
        (b'{"a":"\\ud800","b":2}', {"a": b'"\\ud800"', "b": b"2"}),
        (b'{"a":' + b"9" * 5000 + b"}", {"a": b"9" * 5000}),
        (b'{"a":' + DEEP + b',"b":1}', {"a": DEEP, "b": b"1"}),
        (b'{"\\u0061":1}', {"a": b"1"}),
        ('{"é":"\u2028"}'.encode(), {"é": '"\u2028"'.encode()}),
        (b"[]", None),
        (b"1", None),
        (b"", None),
        (b"banner", None),
        (b'{"a":1', None),
        (b'{"a":"x', None),
        (b'{"a":1} {"b":2}', None),
        (b'\xef\xbb\xbf{"a":1}', {"a": b"1"}),
        (b'\xef\xbb{"a":1}', None),
    ],
)
def test_members(raw: bytes, expected: dict[str, bytes] | None) -> None:
    """The members of an object are found where they stand, of a name used twice the last one."""
    assert expected == texts(raw)
    assert (expected or {}) == {name: raw[slice(*span)] for name, span in all_members(raw)}
    assert (expected or {}).get("a") == value_at(raw, ("a",))


@pytest.mark.parametrize(
    ("raw", "before"),
    [
        ('{"jsonrpc":"2.0","id":1,"result":{}}', 22),
        ('{"jsonrpc":"2.0","id":1,"result":{},"id":2}', 41),
        ('{"jsonrpc":"2.0","id":1,"result":{},"id":1}', 41),
        ('{"jsonrpc":"2.0","id":1,"id":"2","result":{"id":1}}', 29),
        ('{"jsonrpc":"2.0","id":1,"result":{"id":1}}', 22),
        ('{"jsonrpc":"2.0","id":1,"result":{"id":7,"a":[{"id":1}]}}', 22),
        ('{"jsonrpc":"2.0","id":1,"result":{"a":"\\"id\\":2"}}', 22),
        ('{"id":1,"jsonrpc":"2.0","result":{},"id":2}', 41),
        ('{"result":{},"id":1,"jsonrpc":"2.0","id":2}', 41),
    ],
)
def test_the_id_of_a_message(raw: str, before: int) -> None:
    """Of two the last counts, as for readers of JSON."""
    span = locate_id(raw.encode())
    assert span is not None
    assert before == span.start
    assert json.dumps(json.loads(raw)["id"]) == raw[slice(*span)]


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b"[]", []),
        (b" [ ] ", []),
        (b'[1, "a]" ,{"b":[2]}]', [b"1", b'"a]"', b'{"b":[2]}']),
        (b"[" + DEEP + b",1]", [DEEP, b"1"]),
        (b"[1", None),
        (b"[1] x", None),
        (b"{}", None),
        (b"", None),
    ],
)
def test_elements(raw: bytes, expected: list[bytes] | None) -> None:
    """The elements of an array are found where they stand."""
    spans = elements(raw)

    assert expected == (None if spans is None else [raw[slice(*span)] for span in spans])
    assert expected == items(raw)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ((), b'{"params":{"_meta":{"progressToken":1.0},"x":[{"_meta":2}]}}'),
        (("params", "_meta", "progressToken"), b"1.0"),
        (("params", "x"), b'[{"_meta":2}]'),
        (("params", "x", "_meta"), None),
        (("params", "_meta", "progressToken", "deeper"), None),
        (("nothing",), None),
    ],
)
def test_locate(path: tuple[str, ...], expected: bytes | None) -> None:
    """A value is found by its path of names, never by its looks."""
    raw = b'{"params":{"_meta":{"progressToken":1.0},"x":[{"_meta":2}]}}'
    span = locate(raw, path)

    assert expected == (None if span is None else raw[slice(*span)])
    assert expected == value_at(raw, path)


def test_splice_leaves_every_other_byte() -> None:
    """Values are replaced in any order given, and every other byte stays."""
    raw = b'{ "id" : 1 , "t": "a" }'
    id_, token = locate(raw, ("id",)), locate(raw, ("t",))
    assert id_ is not None
    assert token is not None

    assert b'{ "id" : "seven" , "t": 2.0 }' == splice(raw, [(token, b"2.0"), (id_, b'"seven"')])


def test_splice_of_nothing_is_the_same_object() -> None:
    """Without replacements the very same bytes come back."""
    raw = b'{"id":1}'

    assert splice(raw, []) is raw


def test_walk_gives_all_scalars_with_their_paths() -> None:
    """All scalars come in the order written, duplicate names included."""
    raw = b'{"a":[1,{"b":"x"},[]],"c":{},"a":true, "d":{"e":null}}'

    assert [
        (("a", 0), b"1"),
        (("a", 1, "b"), b'"x"'),
        (("a",), b"true"),
        (("d", "e"), b"null"),
    ] == [(tuple(path), raw[slice(*span)]) for path, span in walk(raw)]


@pytest.mark.parametrize(
    "raw", [b"", b"{", b"]", b'{"a":', b'{"a":"x', b"banner: x", b'{"a" 1}', b"\xff\xfe"]
)
def test_walk_ends_where_the_text_is_no_json(raw: bytes) -> None:
    """Text that stops being JSON ends the walk without an error."""
    assert all(span.end <= len(raw) for _, span in walk(raw))


# Without lone surrogates, which no decoder takes: a name that has one stays as it is spelled.
NAMES = st.sampled_from(["", "x]},{[", '\\"\n\u2028']) | st.text(max_size=8)
TEXTS = NAMES | st.just("\ud800")
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


@given(value=st.dictionaries(NAMES, VALUES, max_size=4), indent=st.sampled_from([None, 1]))
def test_spans_agree_with_a_parser(value: dict[str, Any], indent: int | None) -> None:
    """For any JSON, however it is spaced, each member's span decodes to the value of a parser."""
    raw = json.dumps(value, indent=indent).encode()
    found = texts(raw)
    assert found is not None

    assert value == {name: json.loads(text) for name, text in found.items()}
    assert found == {name: value_at(raw, (name,)) for name in value}


def test_a_prefix_is_no_object() -> None:
    """No proper prefix of an object is taken for one, and none is an error."""
    raw = b'{"jsonrpc":"2.0","id":1,"result":{"content":[{"text":"{}"}]}}'

    assert [] == [cut for cut in range(len(raw)) if members(raw[:cut]) is not None]


@pytest.mark.parametrize(
    "raw",
    [
        b'{"result":{"content":["' + b'\\"' * 25_000,
        b'{"a":' * 50_000,
        b'["a",' * 50_000,
        b'{"a":{' + b'"' * 100_001,
    ],
    ids=["escaped quotes", "open objects", "open arrays", "odd quotes"],
)
def test_torn_text_costs_linear_time(raw: bytes) -> None:
    """A torn line is found to be torn in far less than a second."""
    began = process_time()

    assert members(raw) is None
    assert process_time() - began < 1


def test_walking_deep_nesting_costs_linear_time() -> None:
    """Nesting of 20,000 with a value at each level is walked in far less than a second."""
    raw = b'{"a":"x","b":' * 20_000 + b"1" + b"}" * 20_000
    began = process_time()

    assert 20_001 == sum(1 for _ in walk(raw))
    assert process_time() - began < 1
