"""Tests that a run does not collect because single tests were selected by their ids: others of the
same module may use the same cassette, and may send the requests that seem unused.

The plugin looks for them only in such runs. `unused_cassettes` then never judges the cassette.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest


def siblings_of(
    item: pytest.Item, items: Sequence[pytest.Item], ids: Sequence[str]
) -> Iterator[str]:
    """The names of tests in the same module that use the same cassette and were not collected;
    `[...]` stands for other parameters of this test, which are not known. `ids` are the ids that
    were selected.
    """
    function = item if isinstance(item, pytest.Function) else None
    module = None if function is None else function.module
    marks = [mark for mark in item.iter_markers("mcpmock") if _named([mark]) is not None]
    cassette = _named(marks[:1])
    if function is None or module is None or cassette is None:
        return
    chosen = {other.originalname for other in items if isinstance(other, pytest.Function)}
    shared = _marks(module)
    for name, found in vars(module).items():
        if name.startswith("test") and callable(found):
            if name not in chosen and cassette == _named([*_marks(found), *shared]):
                yield name
        elif name.startswith("Test") and isinstance(found, type):
            of_all = [*_marks(found), *shared]
            for inner, method in vars(found).items():
                named = callable(method) and _named([*_marks(method), *of_all])
                if inner.startswith("test") and inner not in chosen and cassette == named:
                    yield f"{name}::{inner}"
    if any(id_.endswith(f"::{function.name}") for id_ in ids) and "[" in function.name:
        yield f"{function.originalname}[...]"


def _marks(where: Any) -> list[pytest.Mark]:
    """The markers of a function, class or module, the nearest first."""
    given: Any = getattr(where, "pytestmark", [])
    marks: list[Any] = given if isinstance(given, list) else [given]
    return [mark for mark in (getattr(one, "mark", one) for one in marks) if mark.name == "mcpmock"]


def _named(marks: Sequence[pytest.Mark]) -> object:
    """The cassette that the nearest of these markers names."""
    for mark in marks:
        named = mark.args[0] if mark.args else mark.kwargs.get("cassette")
        if named is not None:
            return str(named)
    return None
