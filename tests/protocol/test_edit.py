"""One place of a message, and nothing else."""

from __future__ import annotations

import json

import pytest

from mcpmock.protocol import edit
from tests.support import cancelled, error, notification, request, response


def test_a_member_is_replaced_or_added() -> None:
    """Every other byte stays."""
    raw = b'{ "a": {"b":1 , "c": 2.0} }'

    assert b'{ "a": {"b":9 , "c": 2.0} }' == edit.with_member(raw, ["a", "b"], b"9")
    assert b'{ "a": {"b":1 , "c": 2.0,"d":9} }' == edit.with_member(raw, ["a", "d"], b"9")
    assert b'{"a":9}' == edit.with_member(b"{}", ["a"], b"9")
    assert raw == edit.with_member(raw, ["x", "y"], b"9")
    assert b"banner" == edit.with_member(b"banner", ["x"], b"9")


def test_a_member_is_taken_out() -> None:
    """Where there is one."""
    raw = b'{"a":{"b":1,"c":2}}'

    assert b'{"a":{"c":2}}' == edit.without_member(raw, ["a", "b"])
    assert b"{}" == edit.without_member(raw, ["a"])
    assert raw == edit.without_member(raw, ["a", "x"])
    assert raw == edit.without_member(raw, ["x", "y"])


def test_messages() -> None:
    """The builders write compact JSON."""
    assert response(1, {"a": 1}) == edit.response(b"1", {"a": 1})
    assert error(1, -1, "no") == edit.error(b"1", -1, "no")
    assert notification("a", {"b": 1}) == edit.notification("a", {"b": 1})
    assert notification("a") == edit.notification("a")
    assert request(1, "a", {"b": 1}) == edit.request(b"1", "a", {"b": 1})
    assert cancelled(1) == edit.cancelled(b"1")


def test_results_by_revision() -> None:
    """From 2026-07-28 on they say that they are whole."""
    assert {"a": 1} == edit.result({"a": 1}, "2025-11-25") == edit.result({"a": 1}, None)
    assert {"resultType": "complete", "a": 1} == edit.result({"a": 1}, "2026-07-28")


def test_enlarging() -> None:
    """In the result or the params, else at the top."""
    assert b'"result":{"mcpmock":9}' in edit.enlarged(response(1), b"9")
    assert b'"params":{"b":1,"mcpmock":9}' in edit.enlarged(notification("a", {"b": 1}), b"9")
    assert edit.enlarged(error(1), b"9").endswith(b',"mcpmock":9}')


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b'{"id":null,"result":1}', b'{"id":"x","result":1}'),
        (b'{"result":{"id":1}}', b'{"result":{"id":1},"id":"x"}'),
        (b' {"error":{} } ', b' {"error":{} ,"id":"x"} '),
    ],
)
def test_an_id_is_put_in(raw: bytes, expected: bytes) -> None:
    """In the place of the old one, or behind all else; every other byte stays."""
    assert expected == edit.with_id(raw, b'"x"')


def test_errors_are_well_formed() -> None:
    """Whatever the message holds."""
    value = json.loads(edit.error(b'"x"', -1, 'a "b"\n\ud800'))

    assert {"jsonrpc": "2.0", "id": "x", "error": {"code": -1, "message": 'a "b"\n\ud800'}} == value
