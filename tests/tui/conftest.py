"""What every test of the interface shares."""

import gc
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import reportlab
from textual import _wait, screen

from atlas_desktop.exporting import pdf
from atlas_desktop.services.documents.watching import FileFollower
from tests.tui.desk import Stage, stage

FRAME_S = 1 / 200
"""How often a screen is laid out and painted: more often than in the program, so that tests wait less."""


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a key the Pilot waits in steps of 20 ms until a step takes no processor time: most of a test.

    Screens paint once a step, as they do without this.
    """
    monkeypatch.setattr(screen, "UPDATE_PERIOD", FRAME_S)
    monkeypatch.setattr(_wait, "SLEEP_GRANULARITY", FRAME_S * 1.2)


@pytest.fixture(autouse=True)
def unfollowed_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """The documents of these tests are stored as if they had been read from files: nobody looks for these."""
    monkeypatch.setattr(FileFollower, "start", lambda _self, _on_fault: None)


@pytest.fixture(autouse=True, scope="module")
def apps_go() -> Iterator[None]:
    """The program leaves what has lasted out of the search for garbage, as it is one program for hours.

    Here each test has its own, and all would stay: 4 MB a test.
    """
    yield
    gc.unfreeze()
    gc.collect()
    gc.freeze()


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
