"""What people write into files is read in one place: `options.converter` makes the values, so each
reader finds all mistakes at once, with their paths and the nearest known key.
"""

from __future__ import annotations

from .test_house import MODULES, imports

CONVERTER = "mcpmock.options.converter"
READERS = {"tomllib", "cattrs"}
EXCEPTIONS = {
    "mcpmock.options.project_file": "only opens the file: those who know a table read it, rules by "
    "the converter, options as the command line reads them",
    "mcpmock.client_config.toml": "clients own these files: they are edited byte for byte, and "
    "tomllib only tells whether the result is still TOML",
    "mcpmock.faults.shorthand": "no file: asks whether a word of a shorthand is a value of TOML",
}
"""Modules that read TOML without the converter, each with the reason."""


def offenders() -> list[str]:
    return [
        module
        for module in MODULES
        if (found := {name.partition(".")[0]: name for name in imports(module)})
        and READERS & found.keys()
        and module != CONVERTER
        and CONVERTER not in set(imports(module))
    ]


def test_people_s_files_go_through_one_converter() -> None:
    """Whoever imports a reader of TOML, or cattrs, uses it; the exceptions are all needed."""
    assert sorted(EXCEPTIONS) == sorted(offenders())


def test_one_module_makes_a_converter() -> None:
    """Its rules are the same for all files: others add hooks to it and make none of their own."""
    own = [
        module
        for module in MODULES
        if module != CONVERTER and "Converter(" in MODULES[module].read_text("utf-8")
    ]

    assert [] == own
