"""Who decides the record mode."""

from __future__ import annotations

import pytest

from mcpmock.errors import McpMockError
from mcpmock.testing.record_mode import ENVIRONMENT, check_choice, config_mode, resolve_mode


@pytest.mark.parametrize(
    ("option", "environment", "marker", "ini", "mode"),
    [
        (None, "", None, "", "none"),
        (None, "", None, "once", "once"),
        (None, "", "all", "once", "all"),
        (None, "once", "all", "all", "once"),
        ("none", "once", "all", "all", "none"),
    ],
)
def test_who_comes_first(
    option: str | None, environment: str, marker: str | None, ini: str, mode: str
) -> None:
    """Command line, environment, marker, ini."""
    assert mode == resolve_mode(option, environment, marker, ini)


def test_no_mode() -> None:
    """A word that is none is refused, with those that are."""
    with pytest.raises(McpMockError, match="no record mode 'sometimes': choose one of none"):
        resolve_mode(None, "sometimes", None, "")
    assert "a" == check_choice("a", ("a", "b"), "letter")


def test_from_a_run(monkeypatch: pytest.MonkeyPatch, pytester: pytest.Pytester) -> None:
    """The options of the plugin and the environment."""
    monkeypatch.setenv(ENVIRONMENT, "all")
    config = pytester.parseconfig("-p", "mcpmock.pytest_plugin")

    assert "all" == config_mode(config)
