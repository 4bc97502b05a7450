"""`declare_tool`: a tool of a stub from a typed function. Used by the servers of this package."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, signature
from typing import Any, get_type_hints

import msgspec

from .builder import Stub
from .call import StubCall
from .results import failed


def declare_tool(
    stub: Stub, function: Callable[..., Any], *, exact: bool = False, **more: Any
) -> None:
    """Add a tool of this name: the parameters behind the first, which is the call, are the
    arguments, the docstring is the description, `more` as for `Stub.tool`. With `exact`, arguments
    of other names are refused. Bad arguments are a result, so that the model sees them and can
    correct them.
    """
    name, hints = function.__name__, get_type_hints(function, include_extras=True)
    fields = [
        (p.name, hints[p.name], *(() if p.default is Parameter.empty else (p.default,)))
        for p in list(signature(function).parameters.values())[1:]
    ]
    shape = msgspec.defstruct(name, fields, forbid_unknown_fields=exact)
    _, parts = msgspec.json.schema_components([shape])

    def run(call: StubCall) -> Any:
        given = call.params.get("arguments")
        try:
            arguments = msgspec.convert({} if given is None else _whole(given), shape)
        except msgspec.ValidationError as error:
            return failed(f"{name}: {error}")
        return function(call, **msgspec.structs.asdict(arguments))

    members = ("type", "properties", "required", "additionalProperties")
    schema = {key: parts[name][key] for key in members if key in parts[name]}
    stub.tool(name, schema, description=function.__doc__, **more).run(run)


def _whole(value: Any) -> Any:
    """Return a value of JSON with numbers such as `3.0`, which schemas take for integers, as those:
    some agents write all numbers so.
    """
    match value:
        case dict():
            return {name: _whole(inside) for name, inside in value.items()}
        case list():
            return [_whole(inside) for inside in value]
        case float() if value.is_integer():
            return int(value)
    return value
