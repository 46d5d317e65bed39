"""Pictures of a terminal: words in their cells, frames as lines, and frames of a film that share rows."""

from xml.etree import ElementTree as ET

import pytest

from docs.terminal_svg import CELL_HEIGHT, CELL_WIDTH, animated, svg

SVG = "{http://www.w3.org/2000/svg}"


def test_every_word_is_fitted_into_its_cells() -> None:
    root = ET.fromstring(svg("one  two\n   <&>\n", 12))
    words = list(root.iter(f"{SVG}text"))
    assert [one.text for one in words] == ["one", "two", "<&>"]
    assert [float(one.get("x", "")) for one in words] == pytest.approx([0, 5 * CELL_WIDTH, 3 * CELL_WIDTH])
    assert [float(one.get("textLength", "")) for one in words] == pytest.approx([3 * CELL_WIDTH] * 3)


def test_wide_letters_take_two_cells() -> None:
    (word,) = ET.fromstring(svg("月月", 8)).iter(f"{SVG}text")
    assert float(word.get("textLength", "")) == 4 * CELL_WIDTH


def test_frames_bars_and_dots_are_shapes_and_not_letters() -> None:
    picture = svg("╭──╮\n│██│\n│⣿░│\n╰━━╯\n", 4)
    root = ET.fromstring(picture)
    assert list(root.iter(f"{SVG}text")) == []
    assert len(list(root.iter(f"{SVG}path"))) >= 5
    assert f"H{3 * CELL_WIDTH:g}" in picture, "a horizontal line is one line"


def test_colours_and_styles_of_the_terminal_are_kept() -> None:
    picture = svg("\x1b[1;38;2;255;0;0mred\x1b[0m \x1b[48;2;0;0;255mblue\x1b[0m \x1b[3mslanted\x1b[0m", 20)
    assert '<g fill="#ff0000" class="b">' in picture
    assert 'fill="#0000ff"' in picture
    assert 'class="i"' in picture


def test_a_film_stores_a_row_once_and_shows_each_frame_for_its_time() -> None:
    picture = animated([("same\none", 1.0), ("same\ntwo", 3.0)], 8)
    root = ET.fromstring(picture)
    texts = [one.text for one in root.iter(f"{SVG}text")]
    assert sorted(map(str, texts)) == ["one", "same", "two"]
    frames = [one for one in root.iter(f"{SVG}g") if one.get("class") == "f"]
    assert [len(list(one)) for one in frames] == [2, 2]
    assert "4.0s step-end infinite" in picture
    assert "25.000%" in picture
    first, second = frames[0]
    assert float(second.get("y", "")) - float(first.get("y", "")) == CELL_HEIGHT


def test_nothing_is_fetched_from_elsewhere() -> None:
    picture = animated([("one", 1.0)], 8)
    assert "http" not in picture.replace("http://www.w3.org/2000/svg", "")
    assert "url(" not in picture
