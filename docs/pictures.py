"""Takes the pictures of the docs: `make tour`, or `python docs/pictures.py`.

Needs tmux and the default models. Uses the same tour as the tests: the installed program with the real small
model, in a real terminal, in two sizes.
"""

import re
import shutil
import sys
import tempfile
from io import StringIO
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from atlas_desktop.paths import Paths, find_home

FOLDER = Path(__file__).resolve().parent / "pictures"
SIZES = ((80, 24), (140, 45))
README_PICTURE = "chat-140x45"
# The colours of the dark theme, for text in the terminal's default colours.
_GROUND = TerminalTheme((20, 23, 28), (217, 220, 227), [(20, 23, 28)] * 8, [(217, 220, 227)] * 8)
_FONTS = re.compile(r"@font-face \{.*?\}", re.DOTALL)


def svg(screen: str, columns: int) -> str:
    """Returns a picture of a terminal's screen, without fonts that would be fetched from somewhere."""
    console = Console(record=True, width=columns, file=StringIO(), color_system="truecolor")
    for line in screen.removesuffix("\n").split("\n"):
        console.print(Text.from_ansi(line, no_wrap=True), crop=True, overflow="crop")
    return _FONTS.sub("", console.export_svg(title="Atlas", theme=_GROUND, unique_id="atlas"))


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
    from tests.e2e.tour import Tour

    def keep(name: str, screen: str) -> None:
        picture = FOLDER / f"{name}-{columns}x{rows}.svg"
        picture.write_text(svg(screen, columns), encoding="utf-8")
        sys.stdout.write(f"{picture.name}\n")
        sys.stdout.flush()

    with tempfile.TemporaryDirectory() as made:
        person = Path(made) / "ada"
        person.mkdir()
        Tour(home_with_models(person), person, keep, columns=columns, rows=rows).walk()


def missing() -> str:
    """Returns what the tour needs and is missing; empty if nothing is."""
    from tests.e2e.tmux import INSTALLED

    models = Paths(find_home()).models
    if not INSTALLED:
        return "tmux is not installed: `apt-get install tmux`, or what your system has for it."
    if not any(models.glob("*.gguf")):
        return f"No models are in {models}: `make setup` fetches them."
    return ""


def main() -> int:
    sys.path.insert(0, str(FOLDER.parent.parent))
    if lacking := missing():
        sys.exit(lacking)
    FOLDER.mkdir(exist_ok=True)
    for columns, rows in SIZES:
        take(columns, rows)
    shutil.copy(FOLDER / f"{README_PICTURE}.svg", FOLDER / "chat.svg")
    return 0


if __name__ == "__main__":
    sys.exit(main())
