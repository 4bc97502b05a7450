"""The `faults=` argument of the Python API, and `FaultControl`: the faults of a fake server while
it runs.

`faults=` takes a plan, a fault, the shorthand of one, a TOML file, or several of these. What the
parsing of a shorthand or a file needs is imported only then. The API and the plugin stand above.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, TypeGuard

from mcpmock.faults.fault import Fault, PlanError
from mcpmock.faults.never_fired import Asked
from mcpmock.faults.plan import Plan, fault_of, load_plan, sampled
from mcpmock.faults.receipts import Armed, FaultRun

Given = Plan | Fault | str | os.PathLike[str]
"""A plan, a fault, a TOML file (a path, or a text that ends in `.toml`), or the shorthand of a
fault: `latency:latency=200ms,tool=get_*`.
"""
Faults = Given | Iterable[Given]
"""One of these, or several."""
_NO_FAULT = (
    "{!r} is not a fault; expected a plan, a fault of mcpmock.faults, a TOML file or a shorthand"
)


def plan_of(faults: Faults | None, seed: int | None = None) -> Plan:
    """Return all that is given as one plan; `seed` overrides theirs, of which the last one counts.

    Raises PlanError with all mistakes, and CassetteError for a recording that a
    fault draws from.
    """
    check_seed(seed)
    plans, mistakes = [], []
    for given in several(faults):
        try:
            plans.append(_plan(given, "faults="))
        except PlanError as error:
            mistakes += error.mistakes
    if mistakes:
        raise PlanError(mistakes)
    seeds = [plan.seed for plan in plans if plan.seed]
    every = tuple(fault for plan in plans for fault in plan.faults)
    used = seed if seed is not None else seeds[-1] if seeds else 0
    orders = (plan.schedule for plan in plans if plan.schedule is not None)
    return Plan(faults=every, seed=used, schedule=next(orders, None))


def run_of(faults: Faults | None, seed: int | None = None) -> FaultRun:
    """Return a run of the faults of `plan_of`. Raises as that does."""
    return FaultRun.of(plan_of(faults, seed))


def check_seed(seed: object) -> None:
    """Raise TypeError for anything but a whole number or None."""
    if isinstance(seed, bool) or not isinstance(seed, int | None):
        raise TypeError(f"seed {seed!r}: say a whole number")


def is_file(given: Given) -> TypeGuard[str | os.PathLike[str]]:
    """Return whether this names a file with a plan."""
    return isinstance(given, os.PathLike) or (isinstance(given, str) and given.endswith(".toml"))


def several(faults: Faults | None) -> Iterator[Given]:
    """Yield what was given, one by one. Raises TypeError for anything else."""
    if faults is None:
        return
    if isinstance(faults, Plan | Fault | str | os.PathLike):
        yield faults
        return
    if isinstance(faults, Mapping) or not isinstance(faults, Iterable):
        raise TypeError(_NO_FAULT.format(faults))
    for given in faults:
        if not isinstance(given, Plan | Fault | str | os.PathLike):
            raise TypeError(_NO_FAULT.format(given))
        yield given


def _plan(given: Given, named: str) -> Plan:
    """Return what was given as a plan; mistakes in a shorthand begin with `named`."""
    if isinstance(given, Plan):
        return sampled(given)
    if isinstance(given, Fault):
        return sampled(Plan(faults=(given,)))
    if is_file(given):
        return load_plan(Path(given))
    try:
        return sampled(Plan(faults=(fault_of(str(given)),)))
    except PlanError as error:
        raise PlanError([f"{named}{given!r}: {mistake}" for mistake in error.keyed]) from error


class FaultControl:
    """The faults of a fake server, of all its sessions: `mcpmock.serve(...).faults`, or the fixture
    `mcpmock_faults`. They may be changed at any time and from any thread. A change applies to
    messages from then on, except those of calls that are open already.

    >>> with mcpmock.serve("weather.jsonl", seed=7) as server:
    ...     slow = server.faults.add("latency:latency=200ms,tool=get_*")
    ...     server.faults.fired("latency")
    0
    """

    def __init__(
        self,
        run: FaultRun,
        asked: Callable[[], Sequence[Asked] | None] = lambda: None,
        lock: AbstractContextManager[object] | None = None,
    ) -> None:
        self._run = run
        self._asked = asked
        self._lock = nullcontext() if lock is None else lock

    @property
    def seed(self) -> int:
        """The random seed of all fault decisions.

        >>> with mcpmock.serve("weather.jsonl", seed=7) as server:
        ...     server.faults.seed
        7
        """
        return self._run.seed

    @property
    def faults(self) -> list[Fault]:
        """The faults that may fire now, in the order in which they are applied.

        >>> with mcpmock.serve("weather.jsonl", faults="drop:tool=get_*") as server:
        ...     [fault.title for fault in server.faults.faults]
        ['drop']
        """
        return [armed.fault for armed in self._run.armed]

    def ever(self) -> list[Fault]:
        """Return all faults, including those that were removed, in the order in which they were
        added.

        >>> with mcpmock.serve("weather.jsonl", faults="drop") as server:
        ...     server.faults.clear()
        ...     [fault.kind for fault in server.faults.ever()]
        ['drop']
        """
        return [one.fault for one in sorted(self._run.all(), key=lambda armed: armed.number)]

    def add(self, fault: Fault | str) -> Armed:
        """Add a fault, or the shorthand of one. The result is what `remove` takes, and knows how
        often the fault `fired`. Raises PlanError for an invalid shorthand.

        >>> with mcpmock.serve("weather.jsonl") as server:
        ...     broken = server.faults.add(mcpmock.faults.Error(match={"tool": "get_weather"}))
        ...     broken.fired
        0
        """
        (one,) = _plan(fault, "add: ").faults
        with self._lock:
            return self._run.add(one)

    def remove(self, armed: Armed) -> None:
        """Remove a fault. What it holds back is sent at its time. A fault that was removed before
        is ignored.

        >>> with mcpmock.serve("weather.jsonl") as server:
        ...     server.faults.remove(server.faults.add("drop"))
        ...     server.faults.faults
        []
        """
        with self._lock:
            self._run.remove(armed)

    def clear(self) -> None:
        """Remove all faults.

        >>> with mcpmock.serve("weather.jsonl", faults=["drop:nth=2", "corrupt"]) as server:
        ...     server.faults.clear()
        ...     server.faults.faults
        []
        """
        with self._lock:
            self._run.clear()

    def fired(self, name: str | None = None) -> int:
        """Return how often the faults of this name or kind fired; without a name, all of them.

        >>> with mcpmock.serve("weather.jsonl", faults="drop:tool=get_*") as server:
        ...     server.faults.fired("drop")
        0
        """
        return sum(
            armed.fired
            for armed in self._run.all()
            if name in (None, armed.fault.name, armed.fault.kind)
        )

    @property
    def receipts(self) -> list[dict[str, Any]]:
        """What fired, in order, as in a recording: `kind`, `name` if there is one, `fired` (how
        many times it has fired, 1 = first), `on` (`request`, ...), `method`, `id`, what was
        `drawn`, and the `session`. The newest thousand.

        >>> with mcpmock.serve("weather.jsonl", faults="drop:tool=get_*") as server:
        ...     server.faults.receipts
        []
        """
        return list(self._run.receipts)

    def tallies(self) -> list[dict[str, Any]]:
        """Return for each fault, including those that were removed: `fault` (its name or kind),
        `kind`, how often it `fired` and `matched`, and `must_fire`.

        >>> with mcpmock.serve("weather.jsonl", faults="drop:tool=get_*,must_fire=true") as server:
        ...     server.faults.tallies()
        [{'fault': 'drop', 'kind': 'drop', 'fired': 0, 'matched': 0, 'must_fire': True}]
        """
        return self._run.tallies()

    def summary(self) -> list[str]:
        """Return the tallies as text, a line for each fault.

        >>> with mcpmock.serve("weather.jsonl", faults="drop") as server:
        ...     server.faults.summary()
        ['fault drop: never fired: no client sent anything']
        """
        return self._run.summary(self._asked())

    def never_fired(self) -> list[str]:
        """Return a line for each fault that never fired, also of those that were removed: why.

        >>> with mcpmock.serve("weather.jsonl", faults="drop:tool=get_wether") as server:
        ...     done = subprocess.run(server.command, input=HELLO, capture_output=True)
        ...     server.faults.never_fired()
        ["fault drop: never fired: no client called the tool 'get_wether'"]
        """
        return self._run.never_fired(self._asked())

    def owing(self) -> list[str]:
        """Return the names of the faults with `must_fire` that never fired; they fail a test.

        >>> with mcpmock.serve("weather.jsonl", faults="drop:must_fire=true") as server:
        ...     server.faults.owing()
        ['drop']
        """
        return [fault.title for fault in self._run.owing()]

    def mistakes(self) -> list[str]:
        """Return internal errors of faults (please report them); the message then passed unchanged.

        >>> with mcpmock.serve("weather.jsonl", faults="drop") as server:
        ...     server.faults.mistakes()
        []
        """
        return list(self._run.mistakes)
