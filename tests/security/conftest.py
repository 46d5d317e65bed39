"""Attacks: the figures they add up to, and a room to attack."""

from pathlib import Path

import pytest

from memory.vault.keys import RoomKey
from tests.security.figures import Figures
from tests.storage.conftest import Place


@pytest.fixture
def figures(request: pytest.FixtureRequest) -> Figures:
    return Figures(request.node.user_properties)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path / "home" / "rooms" / "open.db", RoomKey.generate())
