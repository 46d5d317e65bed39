"""The tour of a new person, in a real terminal with the real model, in the smallest usual size."""

from pathlib import Path

import pytest

from atlas_desktop.paths import Paths
from tests.e2e.tmux import INSTALLED
from tests.e2e.tour import Tour

pytestmark = [pytest.mark.real_model, pytest.mark.skipif(not INSTALLED, reason="tmux is not installed")]


def test_the_tour(home_with_models: Paths, tmp_path: Path) -> None:
    pictures: dict[str, str] = {}
    folder = tmp_path / "person"
    folder.mkdir()
    exported = Tour(home_with_models.home, folder, pictures.__setitem__).walk()
    assert "Until it wrinkles on a cold plate" in exported.read_text(encoding="utf-8")
    assert len(pictures) == 13
