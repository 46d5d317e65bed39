"""What every test of the interface shares."""

from collections.abc import Callable
from pathlib import Path

import pytest
import reportlab

from atlas_desktop.exporting import pdf
from tests.tui.desk import Stage, stage


@pytest.fixture
def make(tmp_path: Path) -> Callable[..., Stage]:
    """Builds an application on fakes, in a home of its own."""

    def build(**options: object) -> Stage:
        return stage(tmp_path, **options)  # type: ignore[arg-type]

    return build


@pytest.fixture
def some_font(monkeypatch: pytest.MonkeyPatch) -> None:
    """A font for pictures, also on a computer without any."""
    font = Path(reportlab.__file__).parent / "fonts" / "Vera.ttf"
    monkeypatch.setattr(pdf, "font_files", lambda: {pdf.MONO[0].lower(): font})
