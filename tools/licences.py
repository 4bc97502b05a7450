"""The licences of what mcpmock requires, read from the metadata of what is installed.

    python tools/licences.py [--extra NAME]...

One line each. Exit status 1 if a licence is unknown, or not one of those that ask for a notice at
most: a copyleft licence would bind those who ship mcpmock.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from importlib.metadata import PackageMetadata, PackageNotFoundError, distribution

from packaging.requirements import Requirement

PERMISSIVE = {
    "0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "MIT-0", "PSF-2.0",
    "Unlicense",
}  # fmt: skip
SPELLED = {
    "MIT License": "MIT",
    "Apache Software License": "Apache-2.0",
    "Apache License 2.0": "Apache-2.0",
    "BSD License": "BSD-3-Clause",
    "BSD": "BSD-3-Clause",
    "ISC License (ISCL)": "ISC",
    "Python Software Foundation License": "PSF-2.0",
    "PSF": "PSF-2.0",
}
"""How older metadata names a licence -> its SPDX identifier."""


def required(name: str, extras: frozenset[str]) -> Iterator[str]:
    """The names of what a distribution requires here, with these extras."""
    for line in distribution(name).requires or []:
        one = Requirement(line)
        if one.marker is None or any(one.marker.evaluate({"extra": e}) for e in extras | {""}):
            yield from (f"{one.name}[{extra}]" for extra in one.extras or {""})


def closure(extras: frozenset[str]) -> list[str]:
    """The names of all that `mcpmock` requires, directly and through others."""
    seen: set[str] = set()
    waiting = [*required("mcpmock", extras)]
    while waiting:
        asked = waiting.pop()
        if asked not in seen:
            seen.add(asked)
            name, extra = re.fullmatch(r"([^[]+)\[(.*)\]", asked).groups()  # type: ignore[union-attr]
            waiting.extend(required(name, frozenset({extra})))
    return sorted({asked.partition("[")[0].lower() for asked in seen} - {"mcpmock"})


def licence(metadata: PackageMetadata) -> str:
    """The licence as an SPDX expression, or what the metadata says instead. Several classifiers do
    not say whether one may choose, so all of them count.
    """
    if said := metadata.get_all("License-Expression"):
        return str(said[0])
    classifiers = metadata.get_all("Classifier") or []
    named = [one.rpartition(" :: ")[2] for one in classifiers if one.startswith("License :: ")]
    if not named:
        named = [text.strip().partition("\n")[0] for text in metadata.get_all("License") or []]
    return " AND ".join(SPELLED.get(one, one) for one in named if one) or "unknown"


def permitted(expression: str) -> bool:
    """Whether one of the alternatives asks for a notice at most."""
    alternatives = expression.replace("(", "").replace(")", "").split(" OR ")
    return any(set(one.split(" AND ")) <= PERMISSIVE for one in alternatives)


def main() -> int:
    parser = argparse.ArgumentParser(description="The licences of what mcpmock requires.")
    parser.add_argument("--extra", action="append", default=[], help="an extra of mcpmock")
    refused = 0
    for name in closure(frozenset(parser.parse_args().extra)):
        try:
            said = licence(distribution(name).metadata)
        except PackageNotFoundError:
            said = "not installed"
        good = permitted(said)
        refused += not good
        print(f"{'ok' if good else 'REFUSED':8}{name:24}{said}")
    return int(refused > 0)


if __name__ == "__main__":
    sys.exit(main())
