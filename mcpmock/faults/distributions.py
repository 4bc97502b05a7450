"""How long, drawn anew each time: `fixed`, `uniform`, `normal`, `lognormal`, and `empirical`, drawn
from the latencies of a recording.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from random import Random
from typing import Literal

from mcpmock.cassette.model import Cassette, Episode
from mcpmock.protocol.correlation import Correlation, PendingCall
from mcpmock.protocol.messages import Response

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


def latencies(cassette: Cassette) -> Iterator[tuple[PendingCall, float]]:
    """Yield every request of a recording that was answered, and how long that took, in seconds."""
    for episode in cassette.episodes():
        yield from _latencies(episode)


def _latencies(episode: Episode) -> Iterator[tuple[PendingCall, float]]:
    session = Correlation()
    for index, event in enumerate(episode.events):
        frame = event.frame
        if frame is None or frame.fact is not None:
            continue
        message = frame.content
        note = session.note(frame.direction, message, index)  # type: ignore[arg-type]
        if isinstance(message, Response) and note.call is not None and not note.late:
            yield note.call, (event.t - episode.events[note.call.index].t) / 1_000_000
