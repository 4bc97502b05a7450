"""Excerpts of two texts that differ, and what a miss shows of them."""

from __future__ import annotations

import pytest

from mcpmock.playback.miss import Miss, NearMiss, miss_error
from mcpmock.playback.variables import Mismatch
from mcpmock.printable import excerpts

LONG = "x" * 200


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (LONG + "1", LONG + "2"),
        (LONG + "1" + LONG, LONG + "2" + LONG),
        ("1" + LONG, "2" + LONG),
        (LONG, LONG + "2"),
        (LONG, "short"),
        (f'{{"a":"{LONG}","b":1}}', f'{{"a":"{LONG}","b":2}}'),
        ("\u4e2d" * 99 + "1", "\u4e2d" * 99 + "2"),
    ],
)
@pytest.mark.parametrize("most", [20, 60, 160])
def test_an_excerpt_shows_the_difference(one: str, other: str, most: int) -> None:
    """However long the common beginning is; and it is short."""
    found = excerpts(one, other, most)

    assert found[0] != found[1]
    assert max(map(len, found)) <= most


@pytest.mark.parametrize(
    ("one", "other", "shown"),
    [
        ("caf\u00e9", "cafe\u0301", ("caf\\u00e9", "cafe\\u0301")),
        ("a\u00a0b", "a b", ("a\\u00a0b", "a b")),
        ("p\u0430y", "pay", ("p\\u0430y", "pay")),
        ("\u03a1\u0421", "PC", ("\\u03a1\\u0421", "PC")),
        ("1\u20132", "1-2", ("1\\u20132", "1-2")),
        ("it\u2019s", "it's", ("it\\u2019s", "it's")),
        ("\uff21", "A", ("\\uff21", "A")),
        ("\U0001d400", "A", ("\\ud835\\udc00", "A")),
        ("\ufb01n", "fin", ("\\ufb01n", "fin")),
        ("na\u00efve a\u2212b", "na\u00efve a-b", ("na\u00efve a\\u2212b", "na\u00efve a-b")),
        ("Z\u00fcrich", "Zurich", ("Z\u00fcrich", "Zurich")),
        ("\u00e4", "\u00f6", ("\u00e4", "\u00f6")),
        ("a", "a", ("a", "a")),
    ],
)
def test_what_looks_alike_is_escaped(one: str, other: str, shown: tuple[str, str]) -> None:
    """Where it differs, and nowhere else."""
    assert shown == excerpts(one, other, 60)


def test_the_message_of_a_miss_is_short_and_prints_safely() -> None:
    """Whatever stands in the request, the recording and the rules."""
    odd = "\x1b[2J\u202e\n" * 500
    name = odd + "n"
    rule = "ignore", f"tools/call $.{'a' * 5000}"
    near = NearMiss(7, "different", (Mismatch(f"$.{name}", odd, odd + "1"),) * 9, (rule,))
    miss = Miss("tools/call", (near,), asked="f {}")

    assert len(miss.sentence) < 2000
    assert miss.sentence.isascii()
    assert miss.sentence.isprintable()
    assert b"nearest: event 7, " in miss_error([b"1"], miss, batch=False).raw


def test_the_sentence_of_a_miss() -> None:
    """The request, the nearest difference, how many more, and what would allow it."""
    rules = ("ignore", "tools/call weather $.arguments.city"), ("like", "$.arguments.id=uuid")
    places = (Mismatch("$.arguments.city", "Oslo", "Rome"), Mismatch("$.arguments.id", 1, 2))
    asked = 'weather {"city":"Rome"}'
    start = 'nothing recorded answers tools/call weather {"city":"Rome"}; nearest: event 11, '

    def sentence(*given: object) -> str:
        return Miss("tools/call", (NearMiss(11, *given),), asked=asked).sentence  # type: ignore[arg-type]

    city = "$.arguments.city"
    allow = f"; allow with --ignore 'tools/call weather {city}'"
    assert sentence("different", places[:1], rules[:1]) == f'{start}{city} "Oslo"{allow}'
    assert (
        sentence("different", places, rules)
        == f'{start}{city} "Oslo" and 1 more{allow} and 1 more rule'
    )
    assert (
        sentence("already used", (), (), (("repeats", "last"),))
        == f"{start}already used; allow with --repeats last"
    )
    assert sentence("different", places[:1]) == f'{start}{city} "Oslo"'
    assert Miss("ping", ()).sentence == "nothing recorded answers ping"
