import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def real_models() -> Path:
    """The models folder that `make setup` filled; tests only read its files."""
    root = Path(__file__).resolve().parents[3]
    for home in (os.environ.get("ATLAS_HOME"), root / ".home"):
        if home and (folder := Path(home) / "models").is_dir():
            return folder
    pytest.skip("no models: run `make setup`")
