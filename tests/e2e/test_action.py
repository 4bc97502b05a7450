"""The GitHub Action and the hooks of pre-commit, run as they are written, in a user's
repository.

What GitHub does is done here as it is documented: a shell for each step, expressions replaced,
files for outputs. pre-commit is the real one.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import attrs
import pytest

from . import parts
from .parts import PARTS, not_installed

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.parts,
    pytest.mark.skipif(not_installed("py2", "x") is not None, reason="run e2e_parts.sh py2"),
    pytest.mark.skipif(not_installed("pip", "x") is not None, reason="run e2e_parts.sh py2"),
    pytest.mark.skipif(shutil.which("git") is None, reason="there is no git here"),
]
ROOT = Path(__file__).parents[2]
ACTION = ROOT / ".github" / "actions" / "mcpmock" / "action.yml"
PYTHON = PARTS / "py2" / "bin" / "python"
LIMIT_S = 120
# What is required, hatchling too, is found among the packages of the part, and pip in its own.
PACKAGES = [
    str(folder) for part in ("py2", "pip") for folder in PARTS.glob(f"{part}/lib/*/site-packages")
]
WITHOUT_REGISTRY = {
    "PYTHONPATH": ":".join(PACKAGES),
    "PIP_NO_INDEX": "1",
    "PIP_NO_DEPS": "1",
    "PIP_NO_BUILD_ISOLATION": "0",
    "PIP_COMPILE": "0",
}
PYTHON_WITH_PIP = f"""#!/bin/sh
# To put pip into a new environment takes twice as long as all that pip does there then.
[ "$1 $2" != "-m venv" ] || set -- "$@" --without-pip
exec {PYTHON} "$@"
"""
EXPRESSION = re.compile(r"\$\{\{ ([\w.-]+) \}\}")
AFTER_A_FAILURE = "${{ !cancelled() && steps.install.outcome == 'success' }}"
TOKEN = b"ghp_" + b"abcdefghijklmnopqrstuvwxyz" + b"0123456789"


def load(file: Path) -> Any:
    code = "import json, sys, yaml; print(json.dumps(yaml.safe_load(open(sys.argv[1]))))"
    ran = subprocess.run([PYTHON, "-c", code, file], check=True, capture_output=True)
    return json.loads(ran.stdout)


@attrs.frozen
class Job:
    """A job that uses the action, as a runner runs it."""

    repository: Path
    temporary: Path

    def run(self, steps: list[dict[str, Any]], known: dict[str, str]) -> tuple[bool, str]:
        """Runs the steps; gives whether none failed, and the log. The outputs go into `known`."""
        good, log = True, ""
        for step in steps:
            if good or step.get("if") == AFTER_A_FAILURE:
                status, printed = self._run_step(step, known)
                good, log = good and status == 0, log + printed
        return good, log

    def _run_step(self, step: dict[str, Any], known: dict[str, str]) -> tuple[int, str]:
        script, outputs = self.temporary / "step.sh", self.temporary / "outputs"
        script.write_text(replaced(step["run"], known), "utf-8")
        outputs.write_bytes(b"")
        assert step["shell"] == "bash"
        ran = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", script],
            cwd=self.repository, env=self._environment(step, known), timeout=LIMIT_S, check=False,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        for line in outputs.read_text("utf-8").splitlines():
            name, _, value = line.partition("=")
            known[f"steps.{step['id']}.outputs.{name}"] = value
        return ran.returncode, ran.stdout

    def _environment(self, step: dict[str, Any], known: dict[str, str]) -> dict[str, str]:
        return {
            **{name: os.environ[name] for name in ("HOME", "PATH")},
            **{name: replaced(text, known) for name, text in step["env"].items()},
            "GITHUB_ACTION_PATH": str(ACTION.parent),
            "GITHUB_OUTPUT": str(self.temporary / "outputs"),
            "RUNNER_TEMP": str(self.temporary),
            **WITHOUT_REGISTRY,
        }


def replaced(text: str, known: dict[str, str]) -> str:
    """What GitHub makes of `${{ name }}`: an output that was not set is empty."""
    return EXPRESSION.sub(lambda found: known.get(found[1], ""), text)


@pytest.fixture(scope="module")
def action() -> Any:
    return load(ACTION)


@pytest.fixture(scope="module")
def installed(action: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What the first step leaves: its outputs."""
    job = Job(tmp_path_factory.mktemp("repository"), tmp_path_factory.mktemp("runner"))
    python = job.temporary / "python"
    python.write_text(PYTHON_WITH_PIP)
    python.chmod(0o755)
    known = {"inputs.python": str(python)}
    good, log = job.run(action["runs"]["steps"][:1], known)
    assert good, log
    return known


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Of a user, with two cassettes that are in order, and a file that is none."""
    folder = tmp_path / "repository"
    (folder / "cassettes" / "deep").mkdir(parents=True)
    for name in ("time.jsonl", "deep/memory.jsonl"):
        shutil.copy(ROOT / "cassettes" / Path(name).name, folder / "cassettes" / name)
    (folder / "data.jsonl").write_bytes(b'{"no": "cassette"}\n')
    return folder


def spoil(folder: Path, *, how: str) -> None:
    """A secret in a cassette, one of a format that is not known, one that is none or is cut off."""
    file = folder / "cassettes" / "time.jsonl"
    whole = file.read_bytes()
    if how == "cut":
        (folder / "cassettes" / "cut off.jsonl.gz").write_bytes(gzip.compress(whole)[:-9])
        return
    file.write_bytes({
        "secret": whole.replace(b"UTC", TOKEN),
        "format": whole.replace(b'"mcpmock":1', b'"mcpmock":2'),
        "other": b'{"no": "cassette"}\n',
    }[how])  # fmt: skip
    assert file.read_bytes() != whole


CHECK = {"scan": "false"}
COVERAGE = {"check": "false", "scan": "false"}
NONE = {"errors": "0", "warnings": "0"}
ONE = {**NONE, "errors": "1"}
FULL = {**NONE, "secrets": "0"}
FULL_BUT_ONE = {**FULL, "errors": "1"}


@pytest.mark.parametrize(
    ("spoiled", "inputs", "good", "outputs"),
    [
        ("", {}, True, FULL),
        ("", {"cassettes": "cassettes/time.jsonl\n\ncassettes/deep\n"}, True, FULL),
        ("", {"check": "false"}, True, {"secrets": "0"}),
        ("", CHECK, True, NONE),
        ("", {"check": "yes", "scan": ""}, True, FULL),  # only the word leaves a check out
        ("", {"check-options": "--expect-tool\nnowhere"}, False, FULL_BUT_ONE),
        ("", {**CHECK, "check-options": "--fail-on=never\n--expect-tool=get *"}, False, ONE),
        (
            "",
            {**CHECK, "check-options": "--expect-tool=get_*\n--expect-tool=read_graph"},
            True,
            NONE,
        ),
        ("", {**COVERAGE, "coverage": "80%\ntools=50%"}, True, {"coverage": "91"}),
        ("", {**COVERAGE, "coverage": "95%"}, False, {"coverage": "91"}),
        ("", {"cassettes": "nowhere"}, False, FULL_BUT_ONE),
        ("secret", {}, False, None),
        ("format", {}, False, {**FULL, "errors": "2"}),
        ("format", {**CHECK, "check-options": "--fail-on=never"}, False, {**NONE, "errors": "2"}),
    ],
)
def test_the_action(
    action: Any,
    installed: dict[str, str],
    repository: Path,
    tmp_path: Path,
    spoiled: str,
    inputs: dict[str, str],
    good: bool,
    outputs: dict[str, str] | None,
) -> None:
    """It fails where a finding says so, and its outputs count what was found."""
    if spoiled:
        spoil(repository, how=spoiled)
    was_good, log, found = use(action, installed, Job(repository, tmp_path), inputs)
    sarif = found.pop("sarif", None)

    assert good == was_good, log
    if outputs is None:
        assert int(found["secrets"]) > 0
        assert TOKEN.decode() not in log
    else:
        assert outputs == found, log
    assert (sarif is not None) == ("errors" in found)


def test_names_are_no_commands(
    action: Any, installed: dict[str, str], repository: Path, tmp_path: Path
) -> None:
    """A file is one file, whatever its name: no other one is looked at, which would be no cassette
    or not be there.
    """
    names = ["two words.jsonl", "$(touch made).jsonl", "`touch made`.jsonl", "*.jsonl", "-q.jsonl"]
    for name in names:
        shutil.copy(ROOT / "cassettes" / "time.jsonl", repository / name)
    good, log, found = use(
        action,
        installed,
        Job(repository, tmp_path),
        {"cassettes": "\n".join(names), "coverage": "100%"},
    )

    assert good, log
    assert "100" == found["coverage"]
    assert not (repository / "made").exists()


def use(
    action: Any, installed: dict[str, str], job: Job, inputs: dict[str, str]
) -> tuple[bool, str, dict[str, str]]:
    """Uses the action with these inputs, and gives the outputs that are set."""
    assert set(inputs) <= set(action["inputs"])
    given = {name: inputs.get(name, one["default"]) for name, one in action["inputs"].items()}
    known = installed | {f"inputs.{name}": text for name, text in given.items()}
    good, log = job.run(action["runs"]["steps"][1:], known)
    outputs = {name: replaced(one["value"], known) for name, one in action["outputs"].items()}
    return good, log, {name: text for name, text in outputs.items() if text}


@pytest.fixture(scope="module")
def pre_commit(
    distributions: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory
) -> tuple[dict[str, str], dict[str, str]]:
    """What a configuration names: the repository of the hooks; and the variables of a run."""
    folder = tmp_path_factory.mktemp("hooks")
    with tarfile.open(distributions[1]) as archive:
        archive.extractall(folder, filter="data")
    (source,) = folder.iterdir()
    return {"repo": str(source), "rev": commit(source)}, {
        **{name: os.environ[name] for name in ("HOME", "PATH")},
        **WITHOUT_REGISTRY,
        "PRE_COMMIT_HOME": str(tmp_path_factory.mktemp("pre-commit")),
    }


@pytest.mark.parametrize(
    ("hook", "spoiled", "said"),
    [
        ("mcpmock-scan", "", None),
        ("mcpmock-scan", "secret", " secrets"),
        ("mcpmock-scan", "other", "is not a cassette"),
        ("mcpmock-scan", "cut", "the packed file was cut off; `mcpmock recover "),
        ("mcpmock-check", "", None),
        ("mcpmock-check", "secret", "error: edited since it was recorded"),
        ("mcpmock-check", "format", "error: has format 2, this mcpmock reads 1"),
        ("mcpmock-check", "other", "is not a cassette"),
        ("mcpmock-check", "cut", "the packed file was cut off; `mcpmock recover "),
    ],
)
def test_the_hooks(
    pre_commit: tuple[dict[str, str], dict[str, str]],
    repository: Path,
    hook: str,
    spoiled: str,
    said: str | None,
) -> None:
    """They see the cassettes and no other file, and print nothing where all is well."""
    source, environment = pre_commit
    if spoiled:
        spoil(repository, how=spoiled)
    config = {"repos": [{**source, "hooks": [{"id": hook}]}]}
    (repository / ".pre-commit-config.yaml").write_text(json.dumps(config), "utf-8")
    commit(repository)
    ran = subprocess.run(
        [PYTHON, "-m", "pre_commit", "run", "--all-files", "--color=never"],
        cwd=repository, env=environment, text=True, capture_output=True, timeout=LIMIT_S,
        check=False,
    )  # fmt: skip

    assert int(said is not None) == ran.returncode, ran.stdout + ran.stderr
    _, _, printed = ran.stdout.partition("- hook id: ")
    assert (said or "") in printed
    assert "data.jsonl" not in printed
    assert (said is None) == (printed == ""), printed


def commit(folder: Path) -> str:
    """Commits all files; gives the commit."""
    environment = parts.environment(folder)

    def git(*arguments: str) -> str:
        return subprocess.run(
            ["git", *arguments], cwd=folder, env=environment, check=True, text=True,
            stdout=subprocess.PIPE, timeout=LIMIT_S,
        ).stdout.strip()  # fmt: skip

    git("init", "-q")
    git("add", "-A")
    git("commit", "-q", "-m", "all")
    return git("rev-parse", "HEAD")
