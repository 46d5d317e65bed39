"""What every test of the interface shares."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.tui.desk import Stage, stage


@pytest.fixture
def make(tmp_path: Path) -> Callable[..., Stage]:
    """Builds an application on fakes, in a home of its own."""

    def build(**options: object) -> Stage:
        return stage(tmp_path, **options)  # type: ignore[arg-type]

    return build
