"""The names that users type: none is lost. `public_names.txt` holds them, one on a line. Add a name
with the change that makes it.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import attrs
import click
import pytest

import mcpmock
import mcpmock.faults
import mcpmock.testing
from mcpmock import pytest_plugin
from mcpmock.cli.commands import cli
from mcpmock.faults.registry import KINDS
from mcpmock.testing.control import KEYWORDS, ControlledServers

RECORDED = Path(__file__).with_name("public_names.txt")


def commands() -> Iterator[str]:
    """Each command with its options and arguments."""
    context = click.Context(cli)
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        assert command is not None
        yield f"command {name}"
        for parameter in command.params:
            for spelled in (*parameter.opts, *parameter.secondary_opts):
                yield f"command {name} {spelled}"
            if isinstance(parameter.type, click.Choice):
                yield from (
                    f"command {name} {parameter.opts[0]}={c}" for c in parameter.type.choices
                )


def python_names() -> Iterator[str]:
    """What is in `__all__`: the parameters of functions, the public members of classes."""
    for module in (mcpmock, mcpmock.faults, mcpmock.testing):
        for name in module.__all__:
            found = getattr(module, name)
            yield f"python {module.__name__}.{name}"
            if inspect.isclass(found) and module is not mcpmock.faults:
                members = [member for member in dir(found) if not member.startswith("_")]
                fields = [field.name for field in attrs.fields(found)] if attrs.has(found) else []
                for member in {*members, *fields}:
                    yield f"python {module.__name__}.{name}.{member}"
            if inspect.isfunction(found):
                for word, parameter in inspect.signature(found).parameters.items():
                    if parameter.kind is not parameter.VAR_KEYWORD:
                        yield f"python {module.__name__}.{name}({word})"


def fault_kinds() -> Iterator[str]:
    """Each kind with its knobs."""
    for kind in KINDS:
        yield f"fault {kind}"
        yield from (f"fault {kind}:{field.alias}" for field in attrs.fields(KINDS[kind]))
        yield from (f"fault {kind}:{alias}" for alias in KINDS[kind].aliases)


def plugin_names(config: pytest.Config) -> Iterator[str]:
    """The words of the marker; fixtures; options and settings as pytest knows them."""
    marker = next(line for line in config.getini("markers") if line.startswith("mcpmock("))
    yield from (f"marker {word}" for word in re.findall(r"(\w+)=", marker.partition(")")[0]))
    for name, found in vars(pytest_plugin).items():
        if name.startswith("mcpmock_"):
            yield f"fixture {name}"
            assert found is not None
    parser = pytest.Parser(_ispytest=True)
    pytest_plugin.pytest_addoption(parser)
    for group in parser._groups:
        for option in group.options:
            yield from (f"pytest {name}" for name in option.names())
    yield from (f"pytest ini {name}" for name in parser._inidict)


def names_for_other_languages() -> Iterator[str]:
    """The requests of `mcpmock control` with their parameters, and its options; what the npm
    package exports.
    """
    servers = ControlledServers()
    for method, act in servers.methods.items():
        yield f"control {method}"
        yield from (f"control {method} {word}" for word in inspect.signature(act).parameters)
    yield from (f"control option {word}" for word in KEYWORDS)
    npm = Path(__file__).parents[2] / "tools" / "npm"
    for types, subject in (("index.d.cts", "mcpmock"), ("vitest.d.mts", "mcpmock/vitest")):
        text = (npm / types).read_text("utf-8")
        yield from (
            f"npm {subject} {name}" for name in re.findall(r"^export \w+ (\w+)", text, re.M)
        )
        for owner, body in re.findall(r"^export interface (\w+)[^{]*\{(.*?)^\}", text, re.M | re.S):
            members = re.findall(r"^  (?:readonly )?(\w+)[?(:]", body, re.M)
            yield from (f"npm {subject} {owner}.{member}" for member in members)


def names_in_ci() -> Iterator[str]:
    """The inputs and outputs of the Action, and the hooks of pre-commit."""
    root = Path(__file__).parents[2]
    action = (root / ".github" / "actions" / "mcpmock" / "action.yml").read_text("utf-8")
    for kind in ("inputs", "outputs"):
        section = action.partition(f"\n{kind}:\n")[2].partition("\n\n")[0]
        yield from (f"action {kind} {name}" for name in re.findall(r"^  ([\w-]+):$", section, re.M))
    hooks = (root / ".pre-commit-hooks.yaml").read_text("utf-8")
    yield from (f"hook {name}" for name in re.findall(r"^- id: (\S+)$", hooks, re.M))


def test_none_is_lost(pytestconfig: pytest.Config) -> None:
    """Each recorded name is still there."""
    recorded = set(RECORDED.read_text("utf-8").splitlines())
    found = {*commands(), *python_names(), *fault_kinds(), *plugin_names(pytestconfig)}
    found |= {*names_for_other_languages(), *names_in_ci()}

    assert set() == recorded - found
