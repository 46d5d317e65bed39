"""What is written can be read: the contrast of every colour of words with what lies below it (WCAG 2.1)."""

import pytest
from textual.color import Color

from atlas_desktop.settings.file import describe
from atlas_desktop.settings.schema import UiSettings
from atlas_desktop.tui.appearance import THEMES


def luminance(color: str) -> float:
    """Relative luminance, from 0 for black to 1 for white."""

    def linear(part: int) -> float:
        share = part / 255
        return share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4

    red, green, blue = Color.parse(color).rgb
    return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize(
    ("name", "on_page", "on_cursor"),
    [
        ("dark", 4.5, 4.5),
        ("light", 4.5, 4.5),
        ("sepia", 4.5, 4.5),
        ("contrast-dark", 7.0, 4.5),
        ("contrast-light", 7.0, 4.5),
    ],
)
def test_words_can_be_read(name: str, on_page: float, on_cursor: float) -> None:
    theme = THEMES[name]
    marks = (theme.primary, theme.accent, theme.success, theme.warning, theme.error)
    words = (theme.foreground, theme.variables["quiet"], theme.variables["mine"], *marks)
    for word in words:
        assert word is not None
        for page in (theme.background, theme.surface):
            assert page is not None
            assert contrast(word, page) >= on_page, (word, page)
        assert contrast(word, theme.variables["block-cursor-background"]) >= on_cursor, word


def test_every_choice_of_colours_is_there_and_the_first_is_the_default() -> None:
    info = next(info for info in describe() if info.key == "ui.theme")
    assert tuple(THEMES) == tuple(info.bounds.split(", "))
    assert UiSettings().theme == next(iter(THEMES))
