"""Values by the ids of messages, however they are spelled."""

from __future__ import annotations

import doctest
from collections.abc import Callable, Sequence

import pytest

from mcpmock.protocol import id_table as module
from mcpmock.protocol.correlation import Correlation
from mcpmock.protocol.id_table import IdTable
from mcpmock.protocol.messages import C2S, S2C, parse, plain_id
from tests.support import request, response
from tests.support.steps import count_steps


def table(*ids: bytes) -> IdTable[bytes]:
    """Each id is its own value."""
    made: IdTable[bytes] = IdTable()
    for id_ in ids:
        made.set(id_, id_)
    return made


@pytest.mark.parametrize(
    ("id_", "plain"),
    [
        (b"1", b"1"),
        (b"-1", b"-1"),
        (b"100", b"100"),
        (b"1e2", b"100"),
        (b"1.0", b"1"),
        (b"-0", b"0"),
        (b"0.00", b"0"),
        (b"1.50", b"15e-1"),
        (b"-2.5E1", b"-25"),
        (b"1e999999999", b"1e999999999"),
        (b"10e999999998", b"1e999999999"),
        (b'"1"', b'"1"'),
        (b'"\\u0031"', b'"1"'),
        (b"null", b"null"),
        (b"Infinity", b"Infinity"),
        (b"\xff", b"\xff"),
        (b'"\\', b'"\\'),
    ],
)
def test_the_plain_spelling(id_: bytes, plain: bytes) -> None:
    """It is the same for all ids of one value, and of itself."""
    assert plain == plain_id(id_) == plain_id(plain)


@pytest.mark.parametrize(
    ("ids", "sought", "found"),
    [
        ([b"1"], b"1", b"1"),
        ([b"1"], b"1.0", b"1"),
        ([b"1.0"], b"1", b"1.0"),
        ([b"1e2", b"100.0"], b"100", b"1e2"),
        ([b"1.0", b"1"], b"1", b"1"),
        ([b"1", b"1.0"], b"1.0", b"1.0"),
        ([b"1"], b'"1"', None),
        ([b"2"], b"1", None),
    ],
)
def test_an_id_is_found(ids: Sequence[bytes], sought: bytes, found: bytes | None) -> None:
    """As spelled, else the first of the same value."""
    assert found == table(*ids).find(sought)


def test_what_is_removed_is_not_found() -> None:
    """Neither as spelled nor in another way."""
    ids = table(b"1.0", b"1.00", b"2")

    assert b"1.0" == ids.pop_oldest()
    assert b"1.00" == ids.find(b"1")
    assert b"1.00" == ids.pop(b"1.00")
    assert None is ids.find(b"1")
    assert None is ids.pop(b"2.0")
    assert 1 == len(ids)


def _many_open(number: int) -> None:
    calls = Correlation()
    for id_ in range(number):
        calls.note(C2S, parse(request(id_, "tools/call")), id_)
    for id_ in range(number):
        calls.note(S2C, parse(response(id_ + number)), id_)


def _spelled_alike(number: int) -> None:
    ids = table(*(b"1." + b"0" * (digits % 40 + 1) + b"0" for digits in range(number)))
    for _ in range(number):
        ids.find(b"1")


@pytest.mark.parametrize("work", [_many_open, _spelled_alike])
def test_the_work_grows_with_the_number_of_messages(work: Callable[[int], None]) -> None:
    """Not with how many calls are open: answers with unknown ids looked at each of them once."""
    work(1)  # what is done once

    assert count_steps(lambda: work(400)) < 2.1 * count_steps(lambda: work(200))


def test_the_examples_in_the_module_run() -> None:
    """The docstring shows what the code does."""
    assert 0 == doctest.testmod(module).failed
