"""How long, drawn anew each time: `fixed`, `uniform`, `normal`, `lognormal`, and `empirical`, drawn
from the latencies of a recording.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from random import Random
from typing import Literal

Distribution = Literal["fixed", "uniform", "normal", "lognormal", "empirical"]


def draw(
    middle: float,
    jitter: float,
    distribution: Distribution,
    samples: Sequence[float],
    random: Random,
) -> float:
    """Return seconds, never below 0.

    `middle` is the mean. `jitter` is half the width of `uniform`, and the standard deviation of
    `normal` and `lognormal`. `empirical` takes one of the samples and adds `middle`.
    """
    match distribution:
        case "fixed":
            return middle
        case "uniform":
            drawn = random.uniform(middle - jitter, middle + jitter)
        case "normal":
            drawn = random.gauss(middle, jitter)
        case "lognormal" if middle > 0:
            variance = math.log1p((jitter / middle) ** 2)
            drawn = random.lognormvariate(math.log(middle) - variance / 2, math.sqrt(variance))
        case "lognormal":
            return 0.0
        case "empirical":
            drawn = middle + random.choice(samples)
    return max(0.0, drawn)
