"""How commands print, and `--color`.

Recorded text is hostile: an escape sequence in a tool's result must not move the cursor. Everything
printed goes through `printable` first.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TextIO

import click

from mcpmock.channels.standard_streams import write_log_line
from mcpmock.lazy_pattern import lazy_pattern
from mcpmock.printable import printable

if TYPE_CHECKING:
    from mcpmock.cassette.model import Notice
    from mcpmock.options.console import ConsoleOptions

UNLIMITED = sys.maxsize
"""The width of a line that is not shown on a terminal: a pipe, a file, a log of CI."""
_MIN_COLUMNS = 80
MAX_ALIGNED_COLUMNS = 80
"""Of a line without a limit: a longer name pushes what stands behind it to the right."""
_MIN_DRAWING_COLUMNS = 100
_LINES_TOGETHER = 500
_SIZE_UNITS = ("kB", "MB", "GB")


class NamedFile(click.Path):
    """The name of a file or a folder. The empty one of a variable that is not set would be the
    current folder.
    """

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        if os.fspath(value) == "":
            self.fail("the name is empty", param, ctx)
        if os.fspath(value) == "-" and not self.allow_dash:
            self.fail("'-' stands for no file here; './-' is a file of that name", param, ctx)
        return super().convert(value, param, ctx)


CASSETTE, FILE_NAME = NamedFile(path_type=Path), NamedFile()


_BARE_NUMBER = lazy_pattern(r"[0-9]+(\.[0-9]+)?")


class Duration(click.ParamType):  # type: ignore[type-arg]  # not generic in click 8.2
    """A time as `90`, `0.5`, `90s`, `250ms` or `1h`, given in seconds."""

    name = "time"

    def __init__(self, *, positive: bool = False) -> None:
        self.positive = positive

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        if param is not None and value == param.default:
            return float(value)

        from mcpmock.options.units import Seconds, read_value  # few give a duration

        bare = isinstance(value, str) and _BARE_NUMBER.fullmatch(value)
        try:
            seconds: float = read_value(float(value) if bare else value, Seconds)
        except ValueError as error:
            self.fail(str(error), param, ctx)
        if self.positive and not seconds:
            self.fail(f"expected a time above 0, not {value!r}", param, ctx)
        return seconds


GOOD, BAD, ODD, REMARK = "green", "red", "magenta", "cyan"
"""Colors that can be read on a light and on a dark background; yellow, blue and gray cannot."""


def terminal_size() -> os.terminal_size:
    """Return columns and lines of the terminal."""
    import shutil  # bz2 and lzma come with it, and most commands print no table

    return shutil.get_terminal_size()


def columns() -> int:
    """Return the width of a line: that of the terminal, at least 80. Without a terminal nothing is
    cut or wrapped, unless COLUMNS is set.
    """
    given = os.environ.get("COLUMNS", "")
    if not sys.stdout.isatty() and not (given.isdecimal() and int(given)):
        return UNLIMITED
    return max(terminal_size().columns, _MIN_COLUMNS)


class TextFormatter(click.HelpFormatter):
    """The text that click makes of options and lists, which it would wrap in a pipe as well."""

    def __init__(
        self, indent_increment: int = 2, width: int | None = None, max_width: int | None = None
    ) -> None:
        if columns() == UNLIMITED:
            width = UNLIMITED
        super().__init__(indent_increment, width, max_width)

    def write_dl(
        self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2
    ) -> None:
        wide = MAX_ALIGNED_COLUMNS if self.width == UNLIMITED else col_max
        super().write_dl(rows, wide, col_spacing)


def is_styled() -> bool:
    """Return whether standard output has colors, as `--color` and the terminal say."""
    context = click.get_current_context(silent=True)
    given = None if context is None else context.color
    return sys.stdout.isatty() if given is None else given


def drawing_columns() -> int:
    """Return how many columns of a line a drawing beside the text may have: none without a
    terminal, or if it is narrow.
    """
    if not sys.stdout.isatty() or columns() < _MIN_DRAWING_COLUMNS:
        return 0
    return columns() // 4


def can_print(text: str) -> bool:
    """Return whether standard output has these characters."""
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "ascii")
    except UnicodeEncodeError:
        return False
    return True


def print_lines(lines: Iterable[str], *, paged: bool = True) -> None:
    """Print lines to stdout; on a terminal that is too short for them, in the user's pager."""
    left = iter(lines)
    if paged and sys.stdout.isatty():
        first = list(islice(left, terminal_size().lines))
        left = chain(first, left)
        if len(first) == terminal_size().lines:
            click.echo_via_pager(f"{line}\n" for line in left)
            return
    # A call writes and flushes: 5 us a line, if each has its own.
    while together := list(islice(left, _LINES_TOGETHER)):
        click.echo("\n".join(together))


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield columns as wide as needed, without empty ones. A name that is too long stands on a line
    of its own, above its numbers.
    """
    kept = [place for place in range(1, len(heads)) if any(row[place] for row in rows)]
    widths = [max(len(row[place]) for row in (heads, *rows)) for place in kept]
    most = columns()
    left = MAX_ALIGNED_COLUMNS if most == UNLIMITED else most - sum(widths) - 2 * len(widths)
    fitting = [width for row in (heads, *rows) if (width := cells(row[0])) <= left]
    for row in (heads, *rows) if rows else ():
        name, numbers = row[0], [row[place] for place in kept]
        if cells(name) > left and most != UNLIMITED:
            yield name
            name = ""
        filled = (f"{cell:>{width}}" for cell, width in zip(numbers, widths, strict=True))
        line = "  ".join([fill(name, max(fitting)), *filled]).rstrip()
        if line:
            yield line


def cells(text: str) -> int:
    """Return the columns of a terminal that a printable text takes."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def fill(text: str, width: int) -> str:
    """Return the text with spaces up to so many columns; a longer one as it is."""
    return text + " " * (width - cells(text))


def shorten(text: str, width: int) -> str:
    """Return the text, cut with a sign if it takes more columns."""
    return text if cells(text) <= width else fit(text, width - 3) + "..."


def fit(text: str, width: int) -> str:
    """Return the text in so many columns, cut or filled up."""
    if text.isascii():
        return text[:width].ljust(width)
    from rich.cells import set_cell_size

    return set_cell_size(text, width)


def wrap(text: str, indent: str) -> Iterator[str]:
    """Yield a line, broken at its spaces into lines as wide as the terminal; without one as it is.
    A word that is too long stays whole. Styled words count as they look.
    """
    if not sys.stdout.isatty():
        yield text
        return
    line, left = "", columns()
    for word in text.split(" "):
        wide = cells(click.unstyle(word)) + 1
        # A CI system takes a line that begins with `::` or `##` for a command to it.
        if wide - 1 > left and line.strip() and word[:1] not in ("", ":", "#"):
            yield line.rstrip()
            line, left = indent, columns() - len(indent)
        line, left = f"{line}{word} ", left - wide
    yield line.rstrip()


def say(text: str) -> None:
    """Print one line to stderr. A stderr that cannot be written to changes nothing else."""
    if _bars:
        click.echo("\r\033[K", nl=False, err=True)
    write_log_line(f"mcpmock: {text}")


def without_secrets(message: str) -> str:
    """Return a message that repeats what was typed, with `***` for the secrets in its URLs."""
    if ":/" not in message:
        return message

    from mcpmock.redaction.masks import masked_urls

    return masked_urls(message)


def shown_file(file: Path | str) -> str:
    """Return what a report calls a file or a URL."""
    return without_secrets(printable(str(file)))


def say_waiting(text: str, console: ConsoleOptions) -> None:
    """Say on a terminal, where silence looks like a hang, what the command waits for."""
    if is_terminal(sys.stderr) and not (console.quiet or console.json):
        say(text)


def is_terminal(stream: TextIO | None) -> bool:
    """Return whether a person is at a standard stream, which may be closed."""
    return stream is not None and not stream.closed and stream.isatty()


class Progress(Protocol):
    """Called with how much of a work is done, how much there is, and figures to show behind it."""

    def __call__(self, done: int, total: int, figures: str = "") -> None: ...


_bars: list[str] = []
"""The bar that stands on the last line of stderr, if there is one."""


@contextmanager
def progress_bar(label: str, *, shown: bool = True) -> Iterator[Progress | None]:
    """Show a bar on stderr, if that is a terminal; else give None, and nothing is shown."""
    if not shown or sys.stderr is None or not sys.stderr.isatty():
        yield None
        return

    def show(done: int, total: int, figures: str = "") -> None:
        bar.update(done * 1000 // max(total, 1) - bar.pos, figures)

    with click.progressbar(
        length=1000, label=label, file=sys.stderr, item_show_func=lambda figures: figures or None
    ) as bar:
        _bars.append(label)
        try:
            yield show
        finally:
            _bars.remove(label)


_NOTICES_SHOWN = 10
"""How many notices are printed: a recorder that was killed 1,000 times leaves 1,000 of them."""


def say_notices(
    notices: Iterable[Notice],
    name: str = "",
    *,
    quiet: bool,
    of_lines: bool = True,
    say: Callable[[str], None] = say,
) -> None:
    """Print the first notices with their places; without `of_lines` only those on whole files.
    `name` is the cassette's, for a notice that names no other file.
    """
    told = [] if quiet else [one for one in notices if of_lines or not one.line]
    for notice in told[:_NOTICES_SHOWN]:
        line = f":{notice.line}" if notice.line else ""
        say(f"{notice.file or name}{line}: {notice.text}")
    if len(told) > _NOTICES_SHOWN:
        more = f"{len(told) - _NOTICES_SHOWN:,} more such lines"
        say(f"and {more}; `mcpmock check -v` lists all of them")


class Announcer:
    """Makes the address the first line on stderr, where programs read it: lines printed before are
    held back until it is known.
    """

    def __init__(self, *, json: bool) -> None:
        self._json = json
        self._held: list[str] | None = []

    def announce(self, url: str, token: str | None) -> None:
        if self._json:
            more = {} if token is None else {"token": token}
            emit({"type": "listening", "url": url, **more}, err=True)
        else:
            write_log_line(f"listening on {url}")
            if token is not None:
                say(f"clients must send the header Authorization: Bearer {token}")
        held, self._held = self._held or [], None
        for text in held:
            self.say(text)

    def say(self, text: str) -> None:
        if self._held is not None:
            self._held.append(text)
        elif self._json:
            emit({"type": "note", "text": text}, err=True)
        else:
            say(text)


def one_line(text: str) -> str:
    """Return recorded text as one safe line, in short if it is for a terminal."""
    from mcpmock.view.summary import brief

    return printable(brief(text, text_limit()))


def text_limit() -> int | None:
    """Return how many characters of recorded text a line shows; None for all."""
    from mcpmock.view.summary import MAX_SUMMARY_CHARS

    return None if columns() == UNLIMITED else MAX_SUMMARY_CHARS


def emit(value: dict[str, Any], *, err: bool = False) -> None:
    """Print one JSON object on a line, for `--json`: to stdout, or with `err` to stderr, where
    stdout carries the protocol.
    """
    from mcpmock.protocol.messages import encode

    text = encode(value).decode("utf-8", "replace")
    if err:
        write_log_line(text)
    else:
        click.echo(printable(text))


def encodable(path: Path | str) -> str:
    """Return a path as text for JSON: a file name may hold bytes that are not UTF-8."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def data_size(size: int) -> str:
    """Format a size: `847 B`, `1.2 kB`, `34 MB`."""
    if size < 1000:
        return f"{size} B"
    number, units = size / 1000, list(_SIZE_UNITS)
    while number >= 999.5 and len(units) > 1:
        number /= 1000
        del units[0]
    return f"{number:.0f} {units[0]}" if number >= 9.95 else f"{number:.1f} {units[0]}"


def counts(made: object, *names: str) -> dict[str, int]:
    """Return attributes as members for `--json`; of a list its length."""
    values = ((name, getattr(made, name)) for name in names)
    return {name: value if isinstance(value, int) else len(value) for name, value in values}


def report(
    kind: str,
    file: Path,
    members: dict[str, Any],
    lines: Iterable[str],
    console: ConsoleOptions,
) -> int:
    """Print the result of a command that wrote a file: an object for `--json`, and lines on stderr
    unless `--quiet`. Gives the exit status 0.
    """
    if console.json:
        emit({"type": kind, "file": encodable(file), **members})
    for line in () if console.quiet else lines:
        say(line)
    return 0


def _set_color(context: click.Context, _option: click.Parameter, value: str) -> None:
    """Prefer the option to NO_COLOR, that to FORCE_COLOR, that to the terminal (by click)."""
    if value != "auto":
        context.color = value == "always"
    elif os.environ.get("NO_COLOR"):
        context.color = False
    elif os.environ.get("FORCE_COLOR"):
        context.color = True


COLOR = click.option(
    "--color",
    type=click.Choice(["auto", "always", "never"]),
    default="auto",
    callback=_set_color,
    expose_value=False,
    help="Color the output; `auto` follows NO_COLOR, FORCE_COLOR and the terminal.",
)
