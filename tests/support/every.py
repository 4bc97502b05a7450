"""Whether every row of a long table is to run, and the tests that take long, or a sample."""

from __future__ import annotations

import os
from collections.abc import Collection
from itertools import product
from typing import Any

EVERY = bool(os.environ.get("MCPMOCK_E2E_ALL"))


def covering(step: int, *axes: Collection[Any]) -> list[tuple[Any, ...]]:
    """Every so many rows of a product of three or more axes, so that two values of different axes
    are in a row together if each axis has that many values; with MCPMOCK_E2E_ALL=1 all.
    """
    return [
        tuple(value for _, value in row)
        for row in product(*map(enumerate, axes))
        if EVERY or sum(place for place, _ in row) % step == 0
    ]
