"""Finds the values in JSON whose name is a value beside them: `{"name": "API_KEY", "value": "x"}`,
and the option in front of an argument, `["--password", "x"]`.

`text_redactor` reads such a value as it reads the member of that name. What is a name of a secret,
`secret_names` and the rules of the user say.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct

from mcpmock.lazy_pattern import lazy_pattern
from mcpmock.protocol.messages import decode
from mcpmock.protocol.raw_json import walk

_NAMES = {
    spelled
    for name in ("name", "key", "id", "variable", "header", "field", "option", "selector")
    for spelled in (name, name.title())
}
"""The members that may hold the name of what `value` in the same object is."""
_VALUES = ("value", "Value")
_MAX_NAME_BYTES = 64
_MAX_STEPS = 64
"""In objects that lie deeper nothing has a name beside it: reading all of a path for each scalar
would cost the square of the depth, and depth is not bounded.
"""
_OPTION = lazy_pattern(rb'"--?(?P<name>[A-Za-z][\w.-]*+)"')
_NAME_BESIDE = lazy_pattern(
    rb'"(?:%b)\\*+"\s*+:\s*+\\*+"(?P<name>[^,{}]{2,64}?)\\*+"\s*+[,}]'
    % "|".join(sorted(_NAMES)).encode()
)


class _NamedValue(Struct):
    """An object with a name and a value, as far as it was read: where it is, the name, and where
    the value starts.
    """

    place: list[str | int]
    name: str = ""
    start: int = -1


def names_of_values(data: bytes) -> set[str]:
    """Return the names that may stand beside values in JSON lines, or in a text in quotes: a quick
    look that misses none but those that have escapes.
    """
    return {match["name"].decode("utf-8", "replace") for match in _NAME_BESIDE.finditer(data)}


def names_beside(raw: bytes, is_secret: Callable[[str], bool]) -> Mapping[int, str]:
    """Return the names of secrets that stand beside their values, by where the values start."""
    if b"alue" not in raw and b'"-' not in raw:
        return {}
    names: dict[int, str] = {}
    objects: dict[int, _NamedValue] = {}
    option = ""
    behind_option: list[str | int] = []
    for path, span in walk(raw):
        if not 0 < len(path) <= _MAX_STEPS:
            continue
        step, text = path[-1], raw[span.start : span.end]
        if isinstance(step, int):
            if path == behind_option and not text.startswith(b'"-'):
                names[span.start] = option
            found = _OPTION.fullmatch(text)
            option = "" if found is None else found["name"].decode()
            behind_option = [*path[:-1], step + 1] if option and is_secret(option) else []
        elif step in _VALUES or step in _NAMES:
            one = objects.get(len(path))
            if one is None or one.place != path[:-1]:
                one = objects[len(path)] = _NamedValue(path[:-1])
            if step in _VALUES:
                one.start = span.start
            elif len(text) <= _MAX_NAME_BYTES and is_secret(name := str(decode(text))):
                one.name = name
            if one.name and one.start >= 0:
                names[one.start] = one.name
    return names
