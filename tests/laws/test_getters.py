"""A getter does not act: reading a property changes nothing but a value that it keeps for the next
reader.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .test_house import PACKAGE, trees

_CHANGES = {"add", "append", "appendleft", "clear", "discard", "extend", "heappop", "heappush"}
_CHANGES |= {"insert", "pop", "popleft", "remove", "setdefault", "sort", "update"}


def test_reading_changes_nothing() -> None:
    """Neither a container of the object, nor anything that another method changes."""
    found = [
        f"{path.relative_to(PACKAGE)}: {name}"
        for path, tree in trees().items()
        for name in acting_getters(tree)
    ]

    assert [] == found


def test_what_acts() -> None:
    """What the law finds, and what it allows."""
    source = """
class A:
    @property
    def pops(self): return self.waiting.pop()
    @property
    def calls(self):
        self.take_over()
        return self.lead
    @property
    def counts(self):
        self.count += 1
        return self.count
    @cached_property
    def fills(self):
        found = []
        found.append(1)
        self.other.update(found)
        return found
    @property
    def keeps(self):
        if self._kept is None:
            self._kept = make(self.value)
        return self._kept
    def method(self): self.waiting.pop()
"""
    assert ["pops", "calls", "counts", "fills"] == [*acting_getters(ast.parse(source))]


def acting_getters(tree: ast.AST) -> Iterator[str]:
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    getters = (one for one in functions if any(map(_is_getter, one.decorator_list)))
    yield from (one.name for one in getters if any(map(_acts, ast.walk(one))))


def _is_getter(decorator: ast.expr) -> bool:
    return isinstance(decorator, ast.Name) and decorator.id in ("property", "cached_property")


def _acts(node: ast.AST) -> bool:
    if isinstance(node, ast.AugAssign | ast.Delete):
        return _is_own(node)
    if isinstance(node, ast.Expr):  # called for what it does
        return isinstance(node.value, ast.Call) and _is_own(node.value.func)
    if not isinstance(node, ast.Call):
        return False
    called = node.func
    name = getattr(called, "attr", getattr(called, "id", ""))
    target = node.args[0] if name.startswith("heap") and node.args else called
    return name in _CHANGES and _is_own(target)


def _is_own(node: ast.AST) -> bool:
    return any(isinstance(one, ast.Name) and one.id == "self" for one in ast.walk(node))
