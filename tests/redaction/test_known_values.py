"""Values that are known to be secret: where they stand, and what is learned of them."""

from __future__ import annotations

import pytest

from mcpmock.redaction.encodings import is_json
from mcpmock.redaction.known_values import MAX_SEARCHED_VALUES, KnownValues
from mcpmock.redaction.placeholder_table import PlaceholderTable, unescaped
from mcpmock.redaction.secret_names import SESSION_ID, OwnKind


@pytest.mark.parametrize(
    ("text", "places"),
    [
        (b"Reykjavik", [(0, 9)]),
        (b"to Reykjavik, Reykjavik.", [(3, 12), (14, 23)]),
        (b"Reykjaviker", []),
        (b"NewReykjavik", []),
        (b"Reykjavik2", []),
        (b"2Reykjavik", []),
        (b"(Reykjavik)", [(1, 10)]),
        (b"Reykjaviker Reykjavik", [(12, 21)]),
        ("\u00e9Reykjavik".encode(), []),
        ("Reykjavik\u00e9".encode(), []),
    ],
)
def test_an_ordinary_word_is_no_part_of_another(text: bytes, places: list[tuple[int, int]]) -> None:
    """One that a rule of the user took for secret."""
    known = KnownValues()
    known.learn(b"Reykjavik", OwnKind("city"))

    assert places == [(found.start, found.end) for found, _ in known.find(text, own=True)]


@pytest.mark.parametrize("kind", ["token", OwnKind("owner")])
@pytest.mark.parametrize(
    "value", [b"of mcpmock:secret:token:1", b"mcpmock:secret:owner:2", b"short"]
)
def test_what_is_never_known(value: bytes, kind: str) -> None:
    """What has a placeholder in it, and what is short."""
    known = KnownValues()

    assert not known.learn(value, kind)
    assert not known.occur(value)


def test_a_session_id_hides_no_secret_that_was_learned_before_it() -> None:
    """What stands before the secret is looked through again at the end; an id asks for nothing."""
    table = PlaceholderTable()
    table.learn(b"session-0123456789", SESSION_ID)
    assert not table.learned

    table.learn(b"hunter2hunter2", "password")
    table.learn(b"session-9876543210", SESSION_ID)

    assert table.learned


@pytest.mark.parametrize("others", [0, MAX_SEARCHED_VALUES - 1, MAX_SEARCHED_VALUES])
def test_beyond_a_number_of_values_only_words_are_found(others: int) -> None:
    """A recording may hold any number; each of them is one to hide, as a word of its own."""
    known = KnownValues()
    for number in range(others):
        known.learn(b"c0rrect-horse-%04d" % number, "token")
    assert known.learn(b"b4ttery-staple", "token")
    assert known.learn(b"b4ttery, staple", "password")
    text = b"b4ttery-staple xxb4ttery-staplexx of b4ttery, staple"
    found = [text[span.start : span.end] for span, _ in known.find(text)]

    few = others < MAX_SEARCHED_VALUES
    assert [b"b4ttery-staple"] * (2 if few else 1) == [one for one in found if b"," not in one]
    assert (b"b4ttery, staple" in found) is (others + 1 < MAX_SEARCHED_VALUES)
    assert known.occur(text)


@pytest.mark.parametrize(
    ("spelled", "secret"),
    [
        (b"plain", b"plain"),
        (rb"p\"w", b'p"w'),
        (rb"p\u0061w", b"paw"),
        (rb"p\\nw", rb"p\nw"),
        (rb"p\\u0061w", b"paw"),
        (rb"p\\\\nw\\u0061", rb"p\nwa"),
        (b"torn\\", b"torn\\"),
    ],
)
def test_a_secret_has_one_value_in_all_its_spellings(spelled: bytes, secret: bytes) -> None:
    """Of JSON inside of JSON an escape of a letter says it; a backslash of its own stays."""
    assert secret == unescaped(spelled)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b'{"a":1}', True), (b"[1]", True), (b" \n[]", True), (b"\t{}", True), (b"[1] ", True),
        (b"", False), (b'"a"', False), (b"1", False), (b"null", False), (b"[1", False),
        (b"{}{}", False), (b"[x]", False), (b"{a}", False),
    ],
)  # fmt: skip
def test_a_text_that_is_json(text: bytes, expected: bool) -> None:
    """It is one object or array: a scalar is looked through as any text."""
    assert expected is is_json(text)
