"""Plans in TOML files, with the recordings that their faults draw from. The only module of this
room that reads files; what the parsing of a plan needs is imported only then.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .plan import Plan


def load_plan(file: Path | None, shorthands: Sequence[str] = (), seed: int | None = None) -> Plan:
    """The plan in a TOML file, if there is one, and behind its faults those of the shorthands;
    `seed` overrules the file's. Raises PlanError with all mistakes, and CassetteError for a
    recording that it draws from.
    """
    from .plan_parser import read_plan

    return sampled(read_plan(_read_text(file), str(file), shorthands, seed), file)


def sampled(plan: Plan, file: Path | None = None) -> Plan:
    """With the recordings loaded that it names, from where the plan is. Raises CassetteError."""
    from mcpmock.cassette.file import load

    folder = Path() if file is None else file.parent
    return plan.with_samples(lambda name: load(folder / name))


def _read_text(file: Path | None) -> str:
    if file is None:
        return ""
    from .fault import PlanError

    try:
        return file.read_text("utf-8")
    except OSError as error:
        raise PlanError([f"{file}: {error.strerror}"]) from error
    except UnicodeDecodeError as error:
        raise PlanError([f"{file}: not UTF-8: {error}"]) from error
