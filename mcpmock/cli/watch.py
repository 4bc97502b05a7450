"""`mcpmock watch`: the report page, following cassettes while they are recorded."""

from __future__ import annotations

import os
from pathlib import Path

import click

from mcpmock.channels.standard_streams import write_log_line
from mcpmock.errors import McpMockError
from mcpmock.options.console import ConsoleOptions
from mcpmock.options.views import WatchOptions

from .interrupts import run_trio
from .option_table import options
from .output import CASSETTE, emit, say


@click.command(short_help="Serve a live page of a cassette that is being recorded.")
@click.argument("file", type=CASSETTE)
@click.option("--beside", is_flag=True, hidden=True)  # for `record --watch` alone
@options(watching=WatchOptions)
def watch(file: Path, beside: bool, watching: WatchOptions, console: ConsoleOptions) -> int:
    """Serve the page of `mcpmock report` on loopback, and follow FILE while it is recorded.

    The recorder does not notice. The first line on stderr is the URL with its token: keep it to
    yourself. A FILE that is not there yet is waited for; of a folder the page lists the cassettes,
    the newest first, as they come. Stop it with Ctrl-C.
    """
    from mcpmock.channels.browser import open_page
    from mcpmock.channels.http.addresses import ListenAddress
    from mcpmock.sessions.watch import Watch

    try:
        address = ListenAddress.parse(watching.listen)
    except McpMockError as error:
        raise click.BadParameter(str(error), param_hint="--listen") from error

    def announce(url: str) -> None:
        if console.json:
            emit({"type": "watching" if beside else "listening", "url": url}, err=True)
        elif beside:
            say(f"watch the recording at {url}")
        else:
            write_log_line(f"listening on {url}")
        if not (beside or console.json or console.quiet or file.exists()):
            write_log_line(f"waiting for {file}, which is not there yet")
        if watching.opens:
            open_page(url)
        if beside:  # who reads the recorder's stderr waits for its end, not for ours
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)

    page = Watch(file, address, announce, beside)
    return run_trio(page.run_beside if beside else page.run)
