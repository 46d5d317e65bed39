"""Attacks: the figures they add up to, and a room to attack."""

from pathlib import Path

import pytest

from memory.vault.keys import RoomKey
from tests.security.figures import Figures
from tests.storage.conftest import Place

_FIGURES = pytest.StashKey[Figures]()


@pytest.fixture(scope="session")
def figures(request: pytest.FixtureRequest) -> Figures:
    return request.config.stash.setdefault(_FIGURES, Figures())


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, exitstatus: int, config: pytest.Config
) -> None:
    lines = config.stash.setdefault(_FIGURES, Figures()).lines()
    if lines:
        terminalreporter.section("attacks")
        for line in lines:
            terminalreporter.line(line)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path / "home" / "rooms" / "open.db", RoomKey.generate())
