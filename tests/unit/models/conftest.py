from pathlib import Path

import pytest

from atlas_desktop.paths import find_home


@pytest.fixture(scope="session")
def real_models() -> Path:
    """The models folder that `make setup` filled; tests only read its files."""
    folder = find_home() / "models"
    if not folder.is_dir():
        pytest.skip("no models: run `make setup`")
    return folder
