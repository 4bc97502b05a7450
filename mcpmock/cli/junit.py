"""A test report as JUnit XML, for commands whose result is one: `diff`, `verify`, `drive`,
`explore`.

Names and texts may be recorded, so they are made printable, and fit for XML.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from mcpmock.printable import printable, printable_lines

_NO_XML = re.compile("[\ufffe\uffff]")


class JunitFailure(NamedTuple):
    """Why a case failed: a word to group by, a line, and lines of detail."""

    type: str
    message: str
    text: str = ""


class JunitCase(NamedTuple):
    """One test; `output` is what else is known of it."""

    name: str
    failure: JunitFailure | None = None
    output: str = ""


def junit_report(suite: str, classname: str, cases: Sequence[JunitCase]) -> str:
    """The report of one suite."""
    from xml.etree import ElementTree

    failures = sum(case.failure is not None for case in cases)
    numbers = {"tests": str(len(cases)), "failures": str(failures)}
    top = ElementTree.Element("testsuites", numbers)
    inner = ElementTree.SubElement(top, "testsuite", {"name": suite, **numbers})
    for case in cases:
        about = {"classname": classname, "name": _fit(printable(case.name))}
        element = ElementTree.SubElement(inner, "testcase", about)
        if case.failure is not None:
            kind, message, text = case.failure
            about = {"type": kind, "message": _fit(printable(message))}
            ElementTree.SubElement(element, "failure", about).text = _fit(printable_lines(text))
        if case.output:
            output = ElementTree.SubElement(element, "system-out")
            output.text = _fit(printable_lines(case.output))
    ElementTree.indent(top)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(top, "unicode")


def _fit(text: str) -> str:
    """Without the characters that XML 1.0 forbids and `printable` lets pass."""
    return _NO_XML.sub(lambda mark: f"\\u{ord(mark[0]):04x}", text)
