"""How much has to be covered, as users write it."""

from __future__ import annotations

import pytest

from mcpmock.coverage.bounds import CoverageBounds
from mcpmock.coverage.coverage import Covered


@pytest.mark.parametrize(
    ("texts", "shares"),
    [
        ([], {}),
        (["80%"], {"total": 80}),
        (["0%", "tools=100%"], {"total": 0, "tools": 100}),
        (["80%", "total=90.5%"], {"total": 90.5}),
    ],
)
def test_what_is_a_bound(texts: list[str], shares: dict[str, float]) -> None:
    """A share of all, or of a kind; the last one counts."""
    assert shares == CoverageBounds.parse(texts).shares


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("80", "expected, for example, 80%"),
        ("101%", "expected"),
        ("-1%", "expected"),
        ("%", "expected"),
        ("", "expected"),
        ("nan%", "expected"),
        ("parameter=5%", "did you mean parameters?"),
        ("Tools=5%", "did you mean tools?"),
        ("zzz=5%", "known: tools, prompts"),
        ("=5%", "no kind ''"),
        ("tools=5%=6%", "no kind"),
    ],
)
def test_what_is_no_bound(text: str, words: str) -> None:
    """It is refused; an unknown kind with the nearest."""
    with pytest.raises(ValueError, match=words.replace("?", r"\?")):
        CoverageBounds.parse([text])


def test_what_is_below() -> None:
    """100 is all; a share is rounded down; of nothing no share is covered."""
    counts = {"total": Covered(999, 1000), "tools": Covered(2, 3), "values": Covered()}
    parse = CoverageBounds.parse

    assert [] == list(parse(["99.9%", "tools=66%"]).missed(counts))
    assert ["total: 999 of 1000 (99%) are covered, at least 100% are to be"] == list(
        parse(["100%"]).missed(counts)
    )
    assert ["tools: 2 of 3 (66%) are covered, at least 66.7% are to be"] == list(
        parse(["tools=66.7%"]).missed(counts)
    )
    assert ["values: nothing is listed, at least 0% are to be covered"] == list(
        parse(["values=0%"]).missed(counts)
    )
