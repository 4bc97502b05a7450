"""Whether an answer of a stub breaks what the server itself declares: the shape of its revision,
and the `outputSchema` of its tool. `server` warns of it, once for each name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcpmock.protocol.json_schema import NoSchemaError, UnjudgedSchemaError, compile_schema
from mcpmock.protocol.messages import decode, encode
from mcpmock.protocol.methods import LAST_LEGACY
from mcpmock.protocol.shapes import shapes_of

from .results import STRUCTURED

_INPUT_REQUIRED = "input_required"


def misfit_of(method: str, listed: Mapping[str, Any], result: bytes, revision: str) -> str | None:
    """Return what is wrong with a result, None if nothing is; `listed` is what the list says of the
    tool, empty for what is not one.
    """
    value = decode(result)
    if not isinstance(value, dict) or value.get("resultType") == _INPUT_REQUIRED:
        return None
    shapes = shapes_of(revision)
    definition = shapes.result_of(method)
    for misfit in shapes.misfits(definition, value):
        return f"{_place(misfit.steps)}: {misfit.problem}: {misfit.sentence}"
    if "outputSchema" not in listed or value.get("isError") is True or revision < STRUCTURED:
        return None
    return _misfit_of_schema(listed["outputSchema"], value, len(result), revision)


def _misfit_of_schema(schema: Any, value: dict[str, Any], size: int, revision: str) -> str | None:
    if "structuredContent" not in value:
        return "structuredContent is missing, which its outputSchema describes"
    try:
        compiled = compile_schema(encode(schema), lenient=revision < LAST_LEGACY)
        found = compiled.misfits(value["structuredContent"], size)
    except NoSchemaError as error:
        return f"its outputSchema is no schema: {error}"
    except UnjudgedSchemaError:
        return None
    if not found:
        return None
    where = _place(("structuredContent", *found[0].path))
    return f"its outputSchema refuses {where}: {found[0].problem}"


def _place(steps: tuple[str | int, ...]) -> str:
    return "".join(f"[{s}]" if isinstance(s, int) else f".{s}" for s in steps).removeprefix(".")
