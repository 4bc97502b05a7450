"""What is left over of a cassette, over several tests."""

from __future__ import annotations

from mcpmock.testing.unused_cassettes import CassetteUse, UnusedTally


def told(*left: str, session: str = "1", unused: str = "fail") -> CassetteUse:
    """What a test tells that did not ask these."""
    numbers = {"a": "4", "b": "6"}
    return CassetteUse(
        cassette="/a.jsonl",
        shown="a.jsonl",
        unused=unused,
        left=[(session, {numbers[one]: f"tools/{one}" for one in left})],
    )


def judged(**tests: CassetteUse | None) -> list[str]:
    """The verdicts on tests of one cassette: what each told, or None for one that did not pass."""
    leftovers = UnusedTally()
    for name in tests:
        leftovers.expect("/a.jsonl", name)
    for name, what in tests.items():
        if what is not None:
            leftovers.passed(name, what)
    return [f"{v.test} {v.unused} {v.text}" for v in leftovers.verdicts()]


LEFT = "mcpmock: 1 recorded requests of a.jsonl were not sent: tools/b"


def test_one_test() -> None:
    """What it did not ask is left over."""
    assert [f"t fail {LEFT}"] == judged(t=told("b"))
    assert [f"t warn {LEFT}"] == judged(t=told("b", unused="warn"))
    assert [] == judged(t=told("b", unused="ignore"))
    assert [] == judged(t=told())


def test_two_tests_add_up() -> None:
    """In either order; the last that passed and minds is named."""
    assert [] == judged(one=told("a"), two=told("b"))
    assert [] == judged(two=told("b"), one=told("a"))
    assert [f"two fail {LEFT}"] == judged(one=told("a", "b"), two=told("b"))
    assert [f"one fail {LEFT}"] == judged(one=told("b"), two=told("b", unused="warn"))


def test_another_session() -> None:
    """What one session left is no matter of another one."""
    assert [f"two fail {LEFT}"] == judged(one=told("b"), two=told(session="2"))


def test_one_did_not_pass() -> None:
    """It may have been the one that asks."""
    assert [] == judged(failed=None, t=told("b"))


def test_what_a_worker_tells() -> None:
    """All tests of each cassette."""
    leftovers = UnusedTally()
    leftovers.expect("/a.jsonl", "two")
    leftovers.expect("/a.jsonl", "one")

    assert {"/a.jsonl": ["one", "two"]} == leftovers.expected
