"""Takes the pictures of the docs: `make tour`, or `python docs/pictures.py [names]`.

Needs tmux and the default models. Shows the installed program with the real small model in a real terminal: the
first run in an empty home, and everything else in the demonstration. What a new user meets first is shown in the
smallest usual size, the rest in a wide one.
"""

import shutil
import sys
import tempfile
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from atlas_desktop.paths import Paths, find_home
from docs.terminal_svg import animated, svg
from docs.tour import FILM, FOLDER, WIDE, DemoTour
from tests.e2e.tmux import INSTALLED
from tests.e2e.tour import Tour

SIZES = ((80, 24), (140, 45))
FILM_SIZE = (110, 32)


def home_with_models(folder: Path) -> Path:
    """Creates a home for a user whose files are in `folder`, with the models of this computer."""
    home = Paths(folder / ".local" / "share" / "atlas-desktop")
    home.ensure()
    for source in Paths(find_home()).models.iterdir():
        if source.suffix == ".gguf":
            (home.models / source.name).symlink_to(source)
        elif source.is_file():
            shutil.copy(source, home.models / source.name)
    return home.home


def take(columns: int, rows: int) -> None:
    """Takes all pictures of one size."""

    def keep(name: str, screen: str) -> None:
        _store(f"{name}-{columns}x{rows}.svg", svg(screen, columns))

    if columns < WIDE:
        with tempfile.TemporaryDirectory() as made:
            user = Path(made) / "nora"
            user.mkdir()
            Tour(home_with_models(user), user, keep, columns=columns, rows=rows).begin_and_lock()
    with tempfile.TemporaryDirectory() as made:
        user = Path(made) / "nora"
        user.mkdir()
        DemoTour(home_with_models(user), user, columns=columns, rows=rows).walk(keep)


def film() -> None:
    """Makes the animated picture of the README."""
    columns, rows = FILM_SIZE
    screens: list[tuple[str, float]] = []
    with tempfile.TemporaryDirectory() as made:
        user = Path(made) / "nora"
        user.mkdir()
        tour = DemoTour(home_with_models(user), user, columns=columns, rows=rows)
        tour.film(lambda screen, seconds: screens.append((screen, seconds)))
    _store(FILM, animated(screens, columns))


def _store(name: str, picture: str) -> None:
    (FOLDER / name).write_text(picture, encoding="utf-8")
    sys.stdout.write(f"{name}: {len(picture) // 1024} kB\n")
    sys.stdout.flush()


def missing() -> str:
    """Returns what the tour needs and is missing; empty if nothing is."""
    models = Paths(find_home()).models
    if not INSTALLED:
        return "tmux is not installed: `apt-get install tmux`, or what your system has for it."
    if not any(models.glob("*.gguf")):
        return f"No models are in {models}: `make setup` fetches them."
    return ""


def main(wanted: list[str]) -> int:
    if lacking := missing():
        sys.exit(lacking)
    FOLDER.mkdir(exist_ok=True)
    for columns, rows in SIZES:
        if not wanted or f"{columns}x{rows}" in wanted:
            take(columns, rows)
    if not wanted or "film" in wanted:
        film()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
