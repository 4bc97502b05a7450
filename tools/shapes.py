"""The table of shapes against the official schemas: `python tools/shapes.py FOLDER` compares them,
`--write` makes the table anew.

FOLDER has the official JSON schema of each revision as `REVISION.json`. The table has their names
and types, and nothing of their text. Each definition is held against values made from the schema,
and against mutants of them: a member is left out, a value has another type. `examples.json` there
may have messages of the specification; they and their mutants go through the rule.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mcpmock.protocol.messages import C2S, parse
from mcpmock.protocol.methods import LATEST, REVISIONS
from mcpmock.protocol.revisions import VERSION_PATH
from mcpmock.protocol.shape_table import ROWS
from mcpmock.protocol.shapes import shapes_of
from mcpmock.rules.context import Phase, ServerState, State
from mcpmock.rules.exchange import CheckedExchange
from mcpmock.rules.messages import Judge, MessageChecker
from mcpmock.rules.specification import Violation

TABLE = Path(__file__).parents[1] / "mcpmock" / "protocol" / "shape_table.py"
Schema = dict[str, Any]
Definitions = dict[str, Schema]

_MODULE = '''"""The names and types in messages of all five revisions, made by `tools/shapes.py`.

A row without indentation is a definition: an object, whose members follow, or what is behind `=`.
`?` marks a member that may be missing, `[]` a list, `{}` an object with members of a type, `|` one
of several. `since`, `until` and `in` name the first, the last and the only revision that has it.
"""

ROWS = """\\
%s
"""
'''

_MAX_BRANCHING_DEPTH = 4
_STAY_INTEGERS = {"RequestId", "ProgressToken", "code"}
"""Where the schemas mean an integer. Everywhere else `number` of schema.ts became one."""
_ENVELOPE = {"id", "jsonrpc"}
"""Members of which the rules of JSON-RPC speak."""
_ROOTS = r"(Request|Notification|Result)$|^(JSONRPCError|Error)$|^\w+Error$"
_NOT_ROOTS = (
    r"^(JSONRPC\w*(Request|Notification)|Request|Notification|(Paginated|Client|Server|Empty)\w+"
    r"|Cacheable\w+|(Parse|Internal|Invalid\w+|MethodNotFound)Error)$"
)


def read_definitions(folder: Path, revision: str) -> Definitions:
    """Return the definitions of a revision."""
    schema = json.loads((folder / f"{revision}.json").read_text("utf-8"))
    found: Definitions = schema.get("$defs") or schema["definitions"]
    return found


class Facts:
    """The facts of one revision: by definition its type, or its members."""

    def __init__(self, definitions: Definitions, later: dict[str, str]) -> None:
        self.definitions = definitions
        self.later = later
        """By place, the name that a later revision has for what is there."""
        self.types: dict[str, str] = {}
        self.members: dict[str, dict[str, str]] = {}
        for name in definitions:
            if re.search(_ROOTS, name) and not re.search(_NOT_ROOTS, name):
                self.add(name, definitions[name])

    def add(self, name: str, schema: Schema) -> None:
        """Add a definition and what it refers to."""
        if name in self.types or name in self.members:
            return
        schema = self.flat(schema)
        if schema.get("type") != "object" or not schema.get("properties"):
            self.types[name] = ""
            self.types[name] = self.type_of(schema, name)
            return
        members = self.members[name] = {}
        required = schema.get("required", ())
        for member, inside in schema["properties"].items():
            if member in _ENVELOPE and re.search(r"(Request|Notification|Error)$", name):
                continue
            optional = "" if member in required else "?"
            members[member + optional] = self.type_of(inside, f"{name}.{member}")

    def flat(self, schema: Schema) -> Schema:
        """Return the schema with the two of an `allOf` made one."""
        if "allOf" not in schema:
            return schema
        whole: Schema = {"type": "object", "properties": {}, "required": []}
        for part in schema["allOf"]:
            part = self.definitions[_target(part)] if "$ref" in part else part
            whole["properties"] |= part.get("properties", {})
            whole["required"] += part.get("required", [])
        return whole

    def type_of(self, schema: Schema, place: str) -> str:
        """Return a type as the table writes it; objects with members get the name of their
        place.
        """
        schema = self.flat(schema)
        if "$ref" in schema:
            return self.refer(_target(schema), place)
        if "const" in schema:
            return json.dumps(schema["const"])
        if "enum" in schema:
            return "|".join(json.dumps(one) for one in schema["enum"])
        if "anyOf" in schema:
            return "|".join(self.type_of(one, place) for one in schema["anyOf"])
        kinds = schema.get("type", "any")
        if isinstance(kinds, list):
            return "|".join(self.type_of({**schema, "type": kind}, place) for kind in kinds)
        if kinds == "array":
            inside = self.type_of(schema.get("items", {}), place)
            most = f"..{schema['maxItems']}" if "maxItems" in schema else ""
            return f"({inside})[{most}]" if "|" in inside else f"{inside}[{most}]"
        if kinds == "object" and schema.get("properties"):
            name = self.later.get(place, place)
            if name in self.definitions:
                name = place
            self.add(name, schema)
            return name
        if kinds == "object":
            more = schema.get("additionalProperties")
            inside = self.type_of(more, place) if isinstance(more, dict) else "any"
            return "object" if inside == "any" else f"{{{inside}}}"
        if kinds == "integer" and re.split(r"[.\[{]", place)[-1] not in _STAY_INTEGERS:
            kinds = "number"
        if {"minimum", "maximum"} & schema.keys():
            return f"{kinds}({schema.get('minimum', '')}..{schema.get('maximum', '')})"
        return str(kinds)

    def refer(self, name: str, place: str) -> str:
        """Return the name of a definition. The params of a request had no name of their own before
        2025-11-25, and have the name of their place here.
        """
        if name == "JSONValue":
            return "any"
        if f"{place.partition('.')[0]}Params" == name:
            self.add(place, self.definitions[name])
            return place
        self.later.setdefault(place, name)
        self.add(name, self.definitions[name])
        return "object" if self.types.get(name) == "object" else name


def _target(schema: Schema) -> str:
    return str(schema["$ref"]).rpartition("/")[2]


def table_of(folder: Path) -> str:
    """Return the rows for all revisions."""
    later: dict[str, str] = {}
    facts = {
        revision: Facts(read_definitions(folder, revision), later)
        for revision in reversed(REVISIONS)
    }
    facts = {revision: facts[revision] for revision in REVISIONS}
    names = sorted({n for one in facts.values() for n in (*one.types, *one.members)})
    lines = []
    for name in names:
        kinds = {r: one.types[name] for r, one in facts.items() if name in one.types}
        if (
            all(kind == "object" and not name.endswith("Result") for kind in kinds.values())
            and kinds
        ):
            kinds = {}
        lines += [f"{name} = {kind}{span}" for kind, span in _runs(kinds)]
        inside = {r: one.members[name] for r, one in facts.items() if name in one.members}
        lines += [f"{name}{span}" for _, span in _runs(dict.fromkeys(inside, ""))]
        for member in dict.fromkeys(m.rstrip("?") for one in inside.values() for m in one):
            spelled = {
                r: f"{member}{mark} {one[member + mark]}"
                for r, one in inside.items()
                for mark in ("", "?")
                if member + mark in one
            }
            lines += [f"    {text}{span}" for text, span in _runs(spelled, within=list(inside))]
    return "\n".join(lines)


def _runs(values: dict[str, str], within: list[str] | None = None) -> Iterator[tuple[str, str]]:
    """Yield each value with the revisions in which it holds, one after the other, as the table
    writes them.
    """
    known = within or list(REVISIONS)
    runs: list[tuple[str, list[str]]] = []
    for revision in REVISIONS:
        if revision not in values:
            runs.append(("", []))
        elif runs and runs[-1][1] and runs[-1][0] == values[revision]:
            runs[-1][1].append(revision)
        else:
            runs.append((values[revision], [revision]))
    for value, revisions in runs:
        if revisions:
            since = "" if revisions[0] == known[0] else f" since {revisions[0]}"
            until = "" if revisions[-1] == known[-1] else f" until {revisions[-1]}"
            only = f" in {revisions[0]}" if len(revisions) == 1 and since and until else ""
            yield value, only or since + until


def corrected(schema: Any, place: str = "") -> Any:
    """Return a schema with what schema.ts says where schema.json says something else."""
    if isinstance(schema, list):
        return [corrected(one, place) for one in schema]
    if not isinstance(schema, dict):
        return schema
    whole: Schema = {}
    for name, inside in schema.items():
        if name in ("properties", "$defs", "definitions"):
            whole[name] = {one: corrected(inside[one], one) for one in inside}
        elif name == "type" and place not in _STAY_INTEGERS:
            kinds = inside if isinstance(inside, list) else [inside]
            whole[name] = ["number" if kind == "integer" else kind for kind in kinds]
        elif name in ("const", "enum", "required"):
            whole[name] = inside
        else:
            whole[name] = corrected(inside, place)
    return {} if place == "JSONValue" else whole


def samples(facts: Definitions, schema: Schema, depth: int = 0) -> Iterator[Any]:
    """Yield values of a schema: with all members, and one for each branch."""
    if "$ref" in schema:
        yield from samples(facts, facts[_target(schema)], depth)
    elif "const" in schema:
        yield schema["const"]
    elif "enum" in schema:
        yield from schema["enum"][:2]
    elif "anyOf" in schema:
        for one in schema["anyOf"]:
            yield from samples(facts, one, depth)
    elif "allOf" in schema:
        parts = [next(samples(facts, one, depth)) for one in schema["allOf"]]
        yield {name: value for part in parts for name, value in part.items()}
    else:
        yield from _plain_samples(facts, schema, depth)


def _plain_samples(facts: Definitions, schema: Schema, depth: int) -> Iterator[Any]:
    kind = schema.get("type", "string")
    for one in kind if isinstance(kind, list) else [kind]:
        if one == "array":
            yield list(samples(facts, schema.get("items", {}), depth + 1))[:6]
        elif one == "object":
            yield from _object_samples(facts, schema, depth)
        else:
            low = schema.get("minimum", 0)
            yield {"string": "x", "boolean": True, "null": None}.get(one, low)


def _object_samples(facts: Definitions, schema: Schema, depth: int) -> Iterator[Any]:
    members = schema.get("properties", {})
    made = {name: list(samples(facts, inside, depth + 1)) for name, inside in members.items()}
    more = schema.get("additionalProperties")
    if isinstance(more, dict) and more and not members:
        made["a"] = list(samples(facts, more, depth + 1))
    yield {name: values[0] for name, values in made.items()}
    for name, values in made.items() if depth < _MAX_BRANCHING_DEPTH else ():
        for value in values[1:]:
            yield {**{other: ones[0] for other, ones in made.items()}, name: value}


def mutants(value: Any) -> Iterator[Any]:
    """Yield copies of a value with one change: a member left out, a value of another type."""
    for other in (None, 5, 1.5, -1, "x", True, [], {}, [5], {"a": 5}, ["x"] * 101):
        if type(other) is not type(value) or other != value:
            yield other
    if isinstance(value, dict):
        for name, inside in value.items():
            yield {other: one for other, one in value.items() if other != name}
            yield from ({**value, name: mutant} for mutant in mutants(inside))
    elif isinstance(value, list):
        for index, inside in enumerate(value):
            yield from ([*value[:index], m, *value[index + 1 :]] for m in mutants(inside))


def compare_definitions(folder: Path, revision: str) -> Iterator[str]:
    """Yield how the table judges a value otherwise than the schema."""
    import jsonschema_rs

    definitions = corrected({"$defs": read_definitions(folder, revision)})["$defs"]
    text = json.dumps(definitions).replace("#/definitions/", "#/$defs/")
    definitions = json.loads(text)
    shapes = shapes_of(revision)
    judged = refused = 0
    for name in sorted(set(shapes) & set(definitions)):
        schema = definitions[name]
        open_members = _ENVELOPE if re.search(r"(Request|Notification|Error)$", name) else set()
        if open_members & set(schema.get("properties", {})):
            needed = [one for one in schema["required"] if one not in open_members]
            schema = {**schema, "required": needed}
            kept = {n: v for n, v in schema["properties"].items() if n not in open_members}
            schema["properties"] = kept
        validator = jsonschema_rs.validator_for(
            {**schema, "$defs": definitions}, validate_formats=False
        )
        for sample in samples(definitions, schema):
            for value in (sample, *mutants(sample)):
                expected, told = validator.is_valid(value), shapes.fits(name, value)
                judged += 1
                refused += not expected
                if expected is not told or told is not (not list(shapes.misfits(name, value))):
                    yield f"{revision} {name}: {json.dumps(value)}: fits {told}, not {expected}"
    print(f"{revision}: {judged} values, {refused} of them refused")


def check_examples(folder: Path, revision: str) -> Iterator[str]:
    """Yield the examples of the specification that do not fit, and those mutants that do though the
    schema refuses them.
    """
    import jsonschema_rs

    examples = json.loads((folder / "examples.json").read_text("utf-8"))
    definitions = corrected({"$defs": read_definitions(folder, revision)})["$defs"]
    definitions = json.loads(json.dumps(definitions).replace("#/definitions/", "#/$defs/"))
    messages = examples[revision]
    validators: dict[str, Any] = {}
    judged = refused = 0
    for example in messages:
        message, method = example["message"], example.get("answers")
        for value in (message, *mutants(message)):
            if not isinstance(value, dict) or not _is_message(value, message):
                continue
            name, member = _definition_of(revision, value, method)
            if name in ("JSONRPCRequest", "JSONRPCNotification"):
                continue  # of methods that are not the protocol's
            if name not in validators:
                schema = definitions.get(name) or definitions["Result"]
                validators[name] = jsonschema_rs.validator_for({**schema, "$defs": definitions})
            found = _breaches(revision, value, example["side"], method)
            expected = validators[name].is_valid(value if member == "" else value[member])
            judged += 1
            refused += not expected
            if "shape" in found if expected else not found:
                yield f"{revision} {name} {json.dumps(value)}: {found or 'fits'}"
    print(f"{revision}: {len(messages)} examples, {judged} with mutants, {refused} refused")


def _breaches(revision: str, message: Schema, side: str, method: str | None) -> list[str]:
    """Return the rules that a message alone breaks."""
    server = ServerState(modern=revision == LATEST)
    state = State(server=server)
    if revision != LATEST:
        state.phase, state.revision = Phase.READY, revision
    checker = MessageChecker(state, Judge(state))
    way = C2S if side == "client" else C2S.back
    if method is not None:
        params = {"_meta": {VERSION_PATH[-1]: LATEST}} if revision == LATEST else {"task": {}}
        asks = {"jsonrpc": "2.0", "id": message["id"], "method": method, "params": params}
        raw = json.dumps(asks).encode()
        checker.check(way.back, raw, parse(raw), None)
    raw = json.dumps(message).encode()
    exchange = CheckedExchange(1, revision=revision)
    found = checker.check(way, raw, parse(raw), exchange)[1]
    return [one.rule.name for one in found if isinstance(one, Violation)]


def _is_message(mutant: Schema, message: Schema) -> bool:
    """Return whether a mutant of a message is one of the same kind: of others JSON-RPC speaks."""
    for name in ("jsonrpc", "id", "method"):
        if mutant.get(name) != message.get(name):
            return False
    parts = {name for name in ("params", "result", "error") if name in message}
    return all(isinstance(mutant.get(name, {}), dict) for name in parts) and (
        parts & {"result", "error"} <= mutant.keys()
    )


def _definition_of(revision: str, message: Schema, method: str | None) -> tuple[str, str]:
    shapes = shapes_of(revision)
    if "method" in message:
        generic = "JSONRPCRequest" if "id" in message else "JSONRPCNotification"
        return shapes.methods.get(message["method"], generic), ""
    if "error" in message:
        code = message["error"].get("code")
        typed = shapes.errors.get(code, "") if isinstance(code, int) else ""
        if typed:
            return typed.removesuffix(".error"), ""
        names = {"2025-11-25": "JSONRPCErrorResponse", LATEST: "JSONRPCErrorResponse"}
        return names.get(revision, "JSONRPCError"), ""
    if message["result"].get("resultType") == "input_required":
        return "InputRequiredResult", "result"
    augmented = method in ("tools/call", "sampling/createMessage", "elicitation/create")
    if augmented and "task" in message["result"]:
        return "CreateTaskResult", "result"
    return shapes.methods.get(method or "", "").removesuffix("Request") + "Result", "result"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--write", action="store_true", help="make the table anew")
    given = parser.parse_args()
    table = table_of(given.folder)
    if given.write:
        TABLE.write_text(_MODULE % table, "utf-8")
        return 0
    wrong = [] if table == ROWS.strip() else ["the table is not that of the schemas"]
    for revision in REVISIONS:
        wrong += compare_definitions(given.folder, revision)
        if (given.folder / "examples.json").exists():
            wrong += check_examples(given.folder, revision)
    print("\n".join(wrong) or "ok")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
