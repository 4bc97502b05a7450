"""A value has one form: behind the command line no function takes options, and beside them one of
their fields.
"""

from __future__ import annotations

import ast
import importlib
import pkgutil
from collections.abc import Iterator, Mapping

import mcpmock
import mcpmock.options
from mcpmock.options.option import OptionTable
from mcpmock.playback.session_selection import PlayerOptions
from mcpmock.playback.timing import Pace

from .test_house import PACKAGE, trees


def tables() -> dict[str, set[str]]:
    """The fields of all options, by the name of the class."""
    modules = pkgutil.iter_modules(mcpmock.options.__path__, "mcpmock.options.")
    found = [
        one
        for module in modules
        for one in vars(importlib.import_module(module.name)).values()
        if isinstance(one, type) and issubclass(one, OptionTable)
    ]
    read = {one.__name__: {*one.__struct_fields__} for one in (PlayerOptions, Pace)}
    return {one.__name__: {*one.types} for one in found} | read


def test_options_come_alone() -> None:
    """Whoever has them has all of them."""
    known = tables()
    found = [
        f"{path.relative_to(PACKAGE)}: {what}"
        for path, tree in trees().items()
        if path.parent.name != "cli"
        for what in doubled(tree, known)
    ]

    assert [] == found


def test_what_is_doubled() -> None:
    """What the law finds: in any place, of optional options too."""
    source = """
def plays(options: PlayerOptions, cassette: Cassette, *, no_rules: bool = False): ...
def may_play(pace: Pace | None, timing: Timing): ...
def answers(options: PlayerOptions, cassette: Cassette): ...
def reads(no_rules: bool): ...
"""
    found = [*doubled(ast.parse(source), tables())]

    assert ["plays takes PlayerOptions and no_rules", "may_play takes Pace and timing"] == found


def doubled(tree: ast.AST, known: Mapping[str, set[str]]) -> Iterator[str]:
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        given = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
        types = {
            name.id
            for one in given
            if one.annotation is not None
            for name in ast.walk(one.annotation)
            if isinstance(name, ast.Name)
        }
        for table in sorted(types & known.keys()):
            for one in given:
                if one.arg in known[table]:
                    yield f"{function.name} takes {table} and {one.arg}"
