"""All kinds of fault."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import attrs

from mcpmock import faults
from mcpmock.faults.fault import Fault
from mcpmock.faults.match import Match
from mcpmock.faults.registry import KINDS, THEMES
from tests.support import (
    answers,
    c2s,
    call,
    get,
    logs,
    opens,
    post,
    progress,
    request,
    response,
    s2c,
)
from tests.support.faulty import faulty


def test_a_kind_has_a_name_and_says_what_it_does() -> None:
    """It is found by its own name, and explains itself and is frozen."""
    for kind in KINDS:
        fault = KINDS[kind]

        assert kind == fault.kind
        assert fault.__doc__
        assert issubclass(fault, Fault)
        assert (fault.apply is not Fault.apply) is (kind not in THEMES["auth"])
        assert attrs.has(fault)


def test_a_theme_lists_its_classes() -> None:
    """In the table stands what its module defines, and type checkers see every theme."""
    for theme, kinds in THEMES.items():
        module = import_module(f"mcpmock.faults.kinds.{theme}")
        public = (found for name, found in vars(module).items() if not name.startswith("_"))
        found = [cls for cls in public if isinstance(cls, type)]
        own = {cls.kind for cls in found if issubclass(cls, Fault) and cls is not Fault}
        assert own == set(kinds) - {"cancel_race"}, theme
        assert f"from .kinds.{theme} import *" in Path(faults.__file__).read_text("utf-8")


def test_only_the_theme_of_a_kind_is_loaded() -> None:
    """The others would cost a recorder time to start."""
    code = (
        "import sys; from mcpmock.faults import parse; parse('latency:latency=1s');"
        "print([name for name in sys.modules if name.startswith('mcpmock.faults.kinds.')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)

    assert b"['mcpmock.faults.kinds.timing']" == done.stdout.strip()


NEEDED: dict[str, dict[str, object]] = {
    "cancel_race": {"cell": "cancel_before_start"},
    "inject": {"text": "x"},
    "latency": {"latency": 1},
    "limit_data": {"bytes": 1},
    "replace": {"text": "x"},
}
NO_TOOL = {
    *("version_mismatch", "initialize_error", "capability_lie", "no_initialized", "cursor_loop"),
    *("down", "ignore_eof"),
}
"""What these act on is about no tool."""
OTHERS = [
    c2s(call(1, "y")),
    s2c(progress(1)),
    s2c(response(1)),
    c2s(request(2, "ping")),
    s2c(response(2)),
    s2c(request(1, "roots/list")),
    c2s(response(1)),
    s2c(b"banner"),
    logs("log"),
]
ENDS = (
    *("limit_data", "exit", "reset_peer", "garbage_then_close", "reorder"),
    *("black_hole", "half_close"),
)
"""What others are meant to feel (as they do what blocks): the session ends, or they pull it along.
"""
OTHER_EXCHANGES = [post(1, call(1, "y")), answers(1, response(1)), get(2), opens(2)]


def test_nothing_else_is_touched() -> None:
    """What a fault is not for leaves in the frames and batches that it came in; so does everything
    else while the fault is at work.
    """
    for kind in set(KINDS) - NO_TOOL - set(THEMES["auth"]):
        fault = KINDS[kind](match=Match(tool="x"), toward="both", **NEEDED.get(kind, {}))  # type: ignore[arg-type]
        for busy in (False, True):
            for transport, batches in (
                ("stdio", [[f] for f in OTHERS]),
                ("streamable-http", OTHER_EXCHANGES),
            ):
                pipeline = faulty(fault, transport=transport).abandon().pipeline
                apart = not (fault.blocks or kind in ENDS)
                if busy and apart and transport == "stdio":
                    pipeline.enter([c2s(call(77, "x"))], 0)
                for batch in batches:
                    assert [batch] == pipeline.enter(batch, 0)


def test_without_probability_it_is_as_if_it_were_not_there() -> None:
    """The very same batches."""
    for kind in KINDS:
        fault = KINDS[kind](match=Match(probability=0), **NEEDED.get(kind, {}))  # type: ignore[arg-type]
        pipeline = faulty(fault).pipeline

        for frame in OTHERS:
            [batch] = pipeline.enter([frame], 0)
            assert frame is batch[0]
