"""The pictures that README and docs show."""

import re
from pathlib import Path

from docs.tour import FILM, FOLDER

ROOT = FOLDER.parent.parent
_PICTURE = re.compile(r"!\[[^\]\n]{1,200}\]\(([^)\s]{1,100}\.svg)\)")
FILM_LIMIT, PICTURE_LIMIT = 3_000_000, 100_000


def shown() -> dict[Path, set[Path]]:
    """Returns the pictures that each text shows."""
    texts = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    return {
        text: {(text.parent / name).resolve() for name in _PICTURE.findall(text.read_text(encoding="utf-8"))}
        for text in texts
    }


def test_every_picture_that_is_shown_exists_and_every_one_that_exists_is_shown() -> None:
    wanted = {picture for pictures in shown().values() for picture in pictures if picture.parent == FOLDER}
    assert wanted == set(FOLDER.iterdir())


def test_pictures_are_light() -> None:
    for picture in FOLDER.iterdir():
        limit = FILM_LIMIT if picture.name == FILM else PICTURE_LIMIT
        assert picture.stat().st_size <= limit, picture.name


def test_the_readme_begins_with_memory_at_work_and_has_the_film() -> None:
    first, second = _PICTURE.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    assert first == "docs/pictures/chat-140x45.svg"
    assert second == f"docs/pictures/{FILM}"
    assert "I get a rash from epoxy." in _text(FOLDER / "chat-140x45.svg")


def _text(picture: Path) -> str:
    return " ".join(re.findall(r">([^<>]{1,200})</text>", picture.read_text(encoding="utf-8")))
