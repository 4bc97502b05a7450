"""A mistake in an expression that is compiled when it is first used is found here."""

from __future__ import annotations

import re
from importlib import import_module

from mcpmock.lazy_pattern import _LazyPattern, lazy_pattern

from .test_house import MODULES


def test_each_lazy_pattern_compiles() -> None:
    """Those of all modules."""
    every = [
        one
        for module in {*MODULES} - {"mcpmock.__main__"}
        for one in vars(import_module(module)).values()
        if isinstance(one, _LazyPattern)
    ]

    assert every
    assert all(one.fullmatch is not None for one in every)


def test_a_lazy_pattern_is_used_as_any_other() -> None:
    pattern = lazy_pattern(r"(?P<word>[a-z]+)\d", re.I)

    assert [found["word"] for found in pattern.finditer("A1 b2 3")] == ["A", "b"]
    assert (pattern.pattern, pattern.groups) == (r"(?P<word>[a-z]+)\d", 1)
    assert pattern.search("?") is None


def test_its_source_is_known_at_once() -> None:
    """Reading it compiles nothing."""
    assert lazy_pattern("(").pattern == "("
