"""Words for what is printed."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from importlib.resources import files

import pytest

from mcpmock.printable import did_you_mean, duration, first_lines, first_of


def test_what_is_left_out_is_counted() -> None:
    """Of a list in a line, and of lines."""
    assert "a, b" == first_of(["a", "b"], 2)
    assert "a, b and 1 more" == first_of(["a", "b", "c"], 2)
    assert ["a", "and 2 more"] == first_lines(["a", "b", "c"], 1)
    assert ["a"] == first_lines(["a"], 1)


def test_the_nearest_words() -> None:
    """The nearest first, each once; nothing if none is near."""
    known = ["uuid", "uid", "date", "uuid"]

    assert "; did you mean uuid?" == did_you_mean("uuidd", known)
    assert "; did you mean uuid or uid?" == did_you_mean("uuidd", known, most=2)
    assert "" == did_you_mean("x", known)
    assert "; did you mean Date?" == did_you_mean("DATE", ["UUID", "Date"])


DURATIONS = [
    (0, "0 ms"),
    (600, "0.6 ms"),
    (41_210, "41 ms"),
    (1_519_000, "1.52 s"),
    (123_000_000, "2:03 min"),
    (-500, "-0.5 ms"),
    (40, "0.0 ms"),
    (250, "0.3 ms"),
    (9_949, "9.9 ms"),
    (9_950, "10 ms"),
    (12_500, "13 ms"),
    (999_499, "999 ms"),
    (999_500, "1.00 s"),
    (1_005_000, "1.01 s"),
    (59_994_999, "59.99 s"),
    (59_995_000, "1:00 min"),
    (60_500_000, "1:01 min"),
    (-60_500_000, "-1:01 min"),
    (3_600_000_000, "60:00 min"),
]


@pytest.mark.parametrize(("microseconds", "text"), DURATIONS)
def test_durations_are_for_people(microseconds: int, text: str) -> None:
    """A duration has the unit that fits it."""
    assert text == duration(microseconds)


@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node")
def test_a_page_says_the_same() -> None:
    """Its script has the function once more."""
    script = (files("mcpmock.view") / "page/page.js").read_text("utf-8")
    [function] = re.findall(r"^function duration\(us\) \{.*?^\}", script, re.S | re.M)
    times = [microseconds for microseconds, _ in DURATIONS]
    program = f"{function} console.log(JSON.stringify({times}.map(duration)))"
    ran = subprocess.run(["node", "-e", program], capture_output=True, check=True)

    assert [text for _, text in DURATIONS] == json.loads(ran.stdout)
