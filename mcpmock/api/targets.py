"""How a program names a real server, for `record`, `drive` and the fixtures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mcpmock.channels.standard_streams import write_log_line
from mcpmock.sessions.servers import Command, Server
from mcpmock.sessions.url_server import Url


def parse_server(server: Sequence[str] | None, url: str | None) -> Server:
    """Return the server that `server=` or `url=` names. Raises TypeError unless exactly one is
    given.
    """
    if (server is None) is (url is None):
        raise TypeError("give either server=[COMMAND, ...] or url=")
    if url is None:
        return Command(command_words(server))
    if not isinstance(url, str):
        raise TypeError(f"url={url!r}: give a URL, such as http://127.0.0.1:8000/mcp")
    return Url.parse(url)


def command_words(server: object) -> list[str]:
    """Return the words of a command line. Raises TypeError for a string, which is not split into
    words, and for anything else that is not a list of words.
    """
    if (
        isinstance(server, str | bytes)
        or not isinstance(server, Iterable)
        or not (words := [str(word) for word in server])
    ):
        raise TypeError(f"server={server!r}: give the words of a command, [COMMAND, ...]")
    return words


def say(line: str) -> None:
    """Show the user one line."""
    write_log_line(f"mcpmock: {line}")
