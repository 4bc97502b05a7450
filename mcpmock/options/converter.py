"""`table_converter`, with which each reader of a file that people write (fault plans, mocks, the
rules of a project file) makes values of its tables, by cattrs; and `read_table`, which finds all
mistakes at once, each with its path and the nearest known word.

The types of frozen attrs classes say what may be written. `units` reads the values inside, so no
text becomes a number. Imported only where such a file is read: cattrs takes 15 ms.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache, partial
from typing import Annotated, Any, TypeVar, get_args, get_origin

import attrs
from cattrs import Converter
from cattrs.cols import list_structure_factory, mapping_structure_factory
from cattrs.errors import (
    AttributeValidationNote,
    ClassValidationError,
    ForbiddenExtraKeysError,
    IterableValidationError,
    IterableValidationNote,
)
from cattrs.gen import make_dict_structure_fn, override

from mcpmock.printable import did_you_mean

from .units import read_value, shown

_Value = TypeVar("_Value")


class TableError(ValueError):
    """A table has mistakes. `mistakes` are all of them, each behind its path:
    `tool[0].answer[1].after: expected ...`.
    """

    def __init__(self, mistakes: Iterable[str]) -> None:
        self.mistakes = list(mistakes)
        super().__init__("; ".join(self.mistakes))


@attrs.frozen
class ParsedText:
    """What a text has to be: `parse` makes a value of it, or raises ValueError."""

    parse: Callable[[str], Any]
    what: str = "a text"

    def read(self, value: object) -> Any:
        """Return the value. Raises ValueError with what the text has to be."""
        if not isinstance(value, str):
            raise ValueError(f"expected {self.what}, not {shown(value)}")
        return self.parse(value)


def table_converter() -> Converter:
    """Return a converter that is as strict as a reader of people's files has to be. Its user adds
    hooks for classes that are written in another way than their fields.
    """
    converter = Converter(forbid_extra_keys=True)
    for plain in (str, bool, int):  # else cattrs calls `int("5")`
        converter.register_structure_hook(plain, read_value)
    converter.register_structure_hook_func(lambda type_: not _holds_table(type_), read_value)
    converter.register_structure_hook_factory(
        _is_list_of_tables, partial(_list_hook, "tables, as in [[name]]")
    )
    converter.register_structure_hook_factory(_is_list_of_texts, partial(_list_hook, "texts"))
    converter.register_structure_hook_factory(_is_table_of_values, _values_hook)
    converter.register_structure_hook_factory(attrs.has, table_hook)
    return converter


def read_table(converter: Converter, written: object, cls: type[_Value]) -> _Value:
    """Return the value of a table. Raises TableError with all mistakes."""
    return read_by(partial(converter.structure, cl=cls), written)


def read_rule_lists(written: object, cls: type[_Value]) -> tuple[list[_Value], list[str]]:
    """Return what is good in a table of lists of rules, and its mistakes, each behind its path
    (`.like[1]: ...`). Without mistakes it is one value, otherwise one for each rule that is good.
    """
    converter = _rules_converter()
    try:
        return [read_table(converter, written, cls)], []
    except TableError as error:
        mistakes = [one if one.startswith(":") else f".{one}" for one in error.mistakes]
    good = []
    lists = written.items() if isinstance(written, Mapping) else ()
    for name, texts in lists:
        for one in [[text] for text in texts] if isinstance(texts, list) else [texts]:
            with suppress(TableError):
                good.append(read_table(converter, {name: one}, cls))
    return good, mistakes


@cache
def _rules_converter() -> Converter:
    """Return one for all: each take of a cassette may have rules in its header."""
    return table_converter()


def read_by(hook: Callable[[Any], _Value], written: object) -> _Value:
    """Return what a hook makes of a table. Raises TableError with all mistakes."""
    try:
        return hook(written)
    except Exception as error:
        raise TableError(_mistakes_in(error, "")) from error


def table_hook(cls: Any, converter: Converter) -> Any:
    """Return the hook that makes a class of a table with its fields, without others. A field whose
    key is a word of Python ends with `_`.
    """
    named: Any = {name: override(rename=_key(name)) for name in attrs.fields_dict(cls)}
    read = make_dict_structure_fn(cls, converter, _cattrs_forbid_extra_keys=True, **named)

    def read_checked(written: Any, _type: Any = None) -> Any:
        if not isinstance(written, Mapping):
            raise ValueError(f"expected a table, not {shown(written)}")
        return read(written, cls)

    return read_checked


def unknown_key(key: str, known: Iterable[str]) -> str:
    """Return the mistake of a key that a table does not have."""
    near = did_you_mean(key, known, most=3) or ";"
    return f"{key}: unknown key{near} known: {', '.join(sorted(known))}"


def _holds_table(type_: Any) -> bool:
    args = get_args(type_)
    if get_origin(type_) is Annotated:
        args = () if isinstance(args[1], ParsedText) else args[:1]
    return attrs.has(type_) or any(map(_holds_table, args))


def _is_list_of_tables(type_: Any) -> bool:
    return get_origin(type_) is tuple and _holds_table(type_)


def _list_hook(what: str, type_: Any, converter: Converter) -> Any:
    items: Any = list[get_args(type_)[0]]  # type: ignore[misc]
    read = list_structure_factory(items, converter)

    def read_checked(written: Any, _type: Any) -> Any:
        if not isinstance(written, list):
            raise ValueError(f"expected a list of {what}, not {shown(written)}")
        return tuple(read(written, items))

    return read_checked


def _is_list_of_texts(type_: Any) -> bool:
    item = get_args(type_)[0] if get_origin(type_) is tuple else None
    return get_origin(item) is Annotated and isinstance(get_args(item)[1], ParsedText)


def _is_table_of_values(type_: Any) -> bool:
    return get_origin(type_) is dict


def _values_hook(type_: Any, converter: Converter) -> Any:
    read = mapping_structure_factory(type_, converter)

    def read_checked(written: Any, _type: Any) -> Any:
        if not isinstance(written, Mapping):
            raise ValueError(f"expected a table, not {shown(written)}")
        return read(written, type_)

    return read_checked


def _mistakes_in(error: BaseException, path: str) -> Iterator[str]:
    if isinstance(error, ClassValidationError | IterableValidationError):
        noted, others = error.group_exceptions()
        for inner, note in noted:
            yield from _mistakes_in(inner, f"{path}{_step(note)}")
        for inner in others:
            yield from _mistakes_in(inner, path)
        return
    named = partial(_at, path)
    if isinstance(error, ForbiddenExtraKeysError):
        known = [_key(field.name) for field in attrs.fields(error.cl)]
        yield from (named(unknown_key(key, known)) for key in sorted(error.extra_fields))
    elif isinstance(error, KeyError):
        yield f"{path.lstrip('.')}: missing"
    elif (mistakes := getattr(error, "keyed", getattr(error, "mistakes", None))) is not None:
        yield from map(named, mistakes)
    else:
        yield f"{path.lstrip('.')}: {error}"


def _step(note: AttributeValidationNote | IterableValidationNote) -> str:
    if isinstance(note, AttributeValidationNote):
        return f".{_key(note.name)}"
    return f".{note.index}" if isinstance(note.index, str) else f"[{note.index}]"


def _key(name: str) -> str:
    return name.rstrip("_")


def _at(path: str, mistake: str) -> str:
    return (path + mistake if mistake.startswith(":") else f"{path}.{mistake}").lstrip(".")
