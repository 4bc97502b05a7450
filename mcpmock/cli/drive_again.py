"""A plan with a `[schedule]`, as `mcpmock explore` writes it, played to a server and judged."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from mcpmock.printable import printable

if TYPE_CHECKING:
    from mcpmock.cassette.model import Cassette
    from mcpmock.explore.results import JudgedRun
    from mcpmock.faults.receipts import FaultRun
    from mcpmock.sessions.servers import Server


def drive_again(cassette: Cassette, server: Server, faults: FaultRun) -> int:
    """Plays the session in the order of the plan. Prints what is broken; 1 if anything is, else
    0.
    """
    import trio

    from mcpmock.explore.variant import variant_of
    from mcpmock.faults.plan import Plan
    from mcpmock.sessions.explore import play_again
    from mcpmock.sessions.explore_server import ExploredServer

    schedule = faults.schedule
    assert schedule is not None
    armed = tuple(one.fault for one in faults.armed)
    variant = variant_of(Plan(faults=armed, seed=faults.seed, schedule=schedule))
    subject = ExploredServer(
        cassette=cassette,
        server=server,
        take=schedule.take,
        session=schedule.session,
        keep=schedule.keep,
        seed=faults.seed,
    )
    run = trio.run(play_again, subject, variant)
    return show_run(run, cassette.name, strict=schedule.strict)


def show_run(run: JudgedRun, name: str, *, strict: bool) -> int:
    """Prints what does not hold in one run. Gives the exit status."""
    for one in run.broken:
        click.echo(printable(f"{run.variant.text}: {one.text}"))
        if one.cites:
            click.echo(printable(f"  {one.cites}"))
    if not run.broken:
        click.echo(printable(f"{name}: {run.variant.text}: nothing is broken"))
    return int(run.verdict(strict=strict) == "broken")
