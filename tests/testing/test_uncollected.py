"""Who else uses a cassette, in a run that was given single tests."""

from __future__ import annotations

import pytest

from mcpmock.testing.uncollected import siblings_of

PLUGIN = ("-p", "no:mcpmock", "-p", "mcpmock.pytest_plugin")
SOURCE = """
import pytest

pytestmark = pytest.mark.mcpmock("shared.jsonl")

def test_a(): pass
def test_b(): pass
@pytest.mark.mcpmock(unused="fail")
def test_c(): pass
@pytest.mark.mcpmock("other.jsonl")
def test_other(): pass
@pytest.mark.parametrize("n", range(2))
def test_many(n): pass
def helper(): pass

@pytest.mark.mcpmock(cassette="other.jsonl")
class TestOthers:
    def test_d(self): pass
    @pytest.mark.mcpmock("shared.jsonl")
    def test_e(self): pass
"""


@pytest.mark.parametrize(
    ("test", "siblings"),
    [
        ("test_a", ["test_b", "test_c", "test_many", "TestOthers::test_e"]),
        ("test_other", ["TestOthers::test_d"]),
        ("test_e", ["test_a", "test_b", "test_c", "test_many"]),
        ("test_many[1]", ["test_a", "test_b", "test_c", "TestOthers::test_e", "test_many[...]"]),
    ],
)
def test_siblings(pytester: pytest.Pytester, test: str, siblings: list[str]) -> None:
    """Those with the same cassette by their nearest marker."""
    module = pytester.getmodulecol(SOURCE, configargs=PLUGIN)
    [item] = [item for item in pytester.genitems([module]) if item.name == test]

    assert siblings == [*siblings_of(item, [item], [f"test_a.py::{test}"])]


def test_without_a_name(pytester: pytest.Pytester) -> None:
    """A cassette that is named after its test is nobody else's."""
    source = "import pytest\n@pytest.mark.mcpmock\ndef test_a(): pass\ndef test_b(): pass"
    items = pytester.genitems([pytester.getmodulecol(source, configargs=PLUGIN)])

    assert [] == [*siblings_of(items[0], items[:1], ["test_a.py::test_a"])]
