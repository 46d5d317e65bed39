"""Pictures on screens: what the terminal is given for them, and when."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.color import ColorSystem
from textual.pilot import Pilot

from atlas_desktop.parsing.protocol import PagePicture, Pixels
from atlas_desktop.tui.chat.screen import ChatScreen
from atlas_desktop.tui.documents.reader import ReaderScreen
from atlas_desktop.tui.images import ImageTerminal, Inquiry, Protocol, kitty_row
from atlas_desktop.tui.pictures import PictureScreen
from memory.entities import RoomKind
from tests.tui.desk import Stage
from tests.tui.driving import assert_until, chat, on, settle, shown
from tests.unit.parsing.samples import pdf

Make = Callable[..., Stage]
CELL = (10, 20)
KITTY = re.compile("\x1b_Ga=T,U=1,q=2,f=24,o=z,t=d,i=(\\d+),s=(\\d+),v=(\\d+),c=(\\d+),r=(\\d+)")
SIXELS = re.compile('\x1b7\x1b\\[(\\d+);(\\d+)H\x1bP0;1q"1;1;(\\d+);(\\d+)')
ITERM = re.compile("\x1b7\x1b\\[(\\d+);(\\d+)H\x1b]1337;File=inline=1;size=\\d+;width=(\\d+);height=(\\d+)")


async def drawn(page: int, width: int) -> PagePicture:
    """Three pages, each half again as high as wide, with a mark at two thirds."""
    height = width * 3 // 2
    colour = bytes((page * 40, 100, 200))
    return PagePicture(Pixels(width, height, colour * (width * height)), 3, height * 2 // 3)


def terminal(place: Stage, protocol: Protocol) -> list[str]:
    """Gives the application a terminal; returns what it writes besides Textual's own updates."""
    place.app.inquiry = Inquiry(ImageTerminal(protocol, CELL))
    written: list[str] = []
    assert place.app.driver is not None
    place.app.driver.write = written.append  # type: ignore[assignment]
    return written


async def opened(pilot: Pilot[None], place: Stage, protocol: Protocol) -> tuple[PictureScreen, list[str]]:
    await settle(pilot)
    written = terminal(place, protocol)
    screen = PictureScreen(place.app, "Tides", drawn)
    place.app.push_screen(screen)
    await assert_until(pilot, lambda: screen.picture.rows > 0)
    await settle(pilot)
    return screen, written


def matches(pattern: "re.Pattern[str]", written: list[str]) -> list[tuple[int, ...]]:
    return [tuple(map(int, found.groups())) for found in pattern.finditer("".join(written))]


@pytest.mark.parametrize("colours", ["truecolor", "256"])
async def test_kitty_gets_the_picture_once_and_its_cells_are_text(
    make: Make, monkeypatch: pytest.MonkeyPatch, colours: str
) -> None:
    monkeypatch.setattr("textual.constants.COLOR_SYSTEM", colours)
    place = make()
    async with place.app.run_test(size=(90, 24)) as pilot:
        screen, written = await opened(pilot, place, Protocol.KITTY)
        ((number, width, height, columns, rows),) = matches(KITTY, written)
        assert (columns, rows) == (width // 10, height // 20) == (89, 67)
        images = place.app.images
        assert images is not None
        assert images.kept == {number}
        await assert_until(pilot, lambda: screen.query_one("#view").scroll_y > 0)
        (row,) = screen.picture.render_line(3)
        assert row.text == kitty_row(3, 89)
        assert row.style is not None
        assert row.style.color is not None
        red, green, blue = row.style.color.get_truecolor()
        by_palette = row.style.color.downgrade(ColorSystem.EIGHT_BIT).number
        assert number == (red << 16 | green << 8 | blue if colours == "truecolor" else by_palette)
        assert not any("1337" in one for one in written), "nothing is painted over the cells"
        await pilot.press("escape")
        await assert_until(pilot, lambda: on(place.app, ChatScreen) and not images.kept)
        assert f"\x1b_Ga=d,d=I,i={number},q=2\x1b\\" in written
        await settle(pilot)


async def test_another_page_replaces_the_picture(make: Make) -> None:
    place = make()
    async with place.app.run_test(size=(90, 24)) as pilot:
        screen, written = await opened(pilot, place, Protocol.KITTY)
        assert "page 1 of 3" in shown(place)
        await pilot.press("left")
        await pilot.press("right")
        await assert_until(pilot, lambda: "page 2 of 3" in shown(place))
        images = place.app.images
        assert images is not None
        (first, *_), (second, *_) = matches(KITTY, written)
        assert first != second
        assert images.kept == {second}
        await pilot.press("plus")
        await assert_until(pilot, lambda: "page 2 of 3 · 150%" in shown(place))
        assert screen.picture.columns == pytest.approx(1.5 * 89, abs=1)
        await settle(pilot)


@pytest.mark.parametrize(("protocol", "pattern"), [(Protocol.SIXEL, SIXELS), (Protocol.ITERM, ITERM)])
async def test_the_part_in_view_is_painted_again_with_its_cells(
    make: Make, protocol: Protocol, pattern: "re.Pattern[str]"
) -> None:
    place = make()
    in_cells = CELL if protocol is Protocol.SIXEL else (1, 1)
    whole = (2, 1, 89 * in_cells[0], 22 * in_cells[1])
    async with place.app.run_test(size=(90, 24), notifications=True) as pilot:
        screen, written = await opened(pilot, place, protocol)
        await assert_until(pilot, lambda: whole in matches(pattern, written))
        written.clear()
        await pilot.press("pagedown")
        await assert_until(pilot, lambda: whole in matches(pattern, written))
        await settle(pilot)
        written.clear()
        await pilot.press("f1")
        await settle(pilot)
        assert not matches(pattern, written), "painted over a window"
        await pilot.press("escape")
        await assert_until(pilot, lambda: whole in matches(pattern, written))
        place.app.say("A notice lies over the picture.")
        await assert_until(pilot, lambda: any(one.region for one in screen.query("Toast")))
        written.clear()
        screen.picture.refresh()
        await settle(pilot)
        assert not matches(pattern, written), "painted over a notice"
        place.app.clear_notifications()
        await assert_until(pilot, lambda: whole in matches(pattern, written))


async def test_a_wide_picture_is_painted_in_tiles(make: Make) -> None:
    place = make()
    async with place.app.run_test(size=(140, 24)) as pilot:
        _screen, written = await opened(pilot, place, Protocol.SIXEL)
        await pilot.press("plus")
        await assert_until(
            pilot, lambda: {(2, 1, 960, 420), (2, 97, 430, 420)} <= {*matches(SIXELS, written)}
        )
        await settle(pilot)


# --- the reader -------------------------------------------------------------------------------------


async def with_document(place: Stage, folder: Path) -> str:
    path = folder / "tides.pdf"
    lines = [f"Line {at} about the water." for at in range(20)]
    path.write_bytes(pdf([lines, [*lines, "At new moon the tides are highest."]]))
    documents = place.desk.at(RoomKind.OPEN).documents
    report = await documents.add([path])
    return report.documents[0]


async def read(
    pilot: Pilot[None], place: Stage, document: str, room: RoomKind = RoomKind.OPEN
) -> ReaderScreen:
    text = await place.desk.at(room).store.documents.text(document)
    assert text is not None
    begin = text.index("new moon")
    screen = ReaderScreen(place.app, place.desk.at(room), document, passage=(begin, begin + 8))
    place.app.push_screen(screen, chat(place.app).documents.left)
    await settle(pilot)
    return screen


async def test_the_reader_shows_the_page_of_a_passage(make: Make, tmp_path: Path) -> None:
    place = make()
    async with place.app.run_test(size=(90, 24)) as pilot:
        await settle(pilot)
        document = await with_document(place, tmp_path)
        written = terminal(place, Protocol.KITTY)
        reader = await read(pilot, place, document)
        assert "v Picture" in shown(place)
        await pilot.press("v")
        await assert_until(pilot, lambda: "page 2 of 2" in shown(place) and matches(KITTY, written))
        screen = place.app.screen
        assert isinstance(screen, PictureScreen)
        await settle(pilot)
        assert screen.query_one("#view").scroll_y > 0, "scrolled to the passage"
        await pilot.press("left")
        await assert_until(pilot, lambda: len(matches(KITTY, written)) == 2)
        await pilot.press("escape")
        await assert_until(pilot, lambda: on(place.app, ReaderScreen))
        await assert_until(pilot, lambda: reader.view.top == 0)
        await settle(pilot)


async def test_without_a_terminal_for_pictures_the_reader_offers_none(make: Make, tmp_path: Path) -> None:
    place = make()
    async with place.app.run_test(size=(90, 24)) as pilot:
        await settle(pilot)
        document = await with_document(place, tmp_path)
        await read(pilot, place, document)
        assert "Picture" not in shown(place)
        await pilot.press("v")
        await settle(pilot)
        assert on(place.app, ReaderScreen)


async def test_a_file_that_has_changed_is_not_shown(make: Make, tmp_path: Path) -> None:
    place = make()
    async with place.app.run_test(size=(90, 24)) as pilot:
        await settle(pilot)
        document = await with_document(place, tmp_path)
        written = terminal(place, Protocol.KITTY)
        await read(pilot, place, document)
        (tmp_path / "tides.pdf").write_bytes(pdf([["Something else"]]))
        await pilot.press("v")
        await assert_until(pilot, lambda: "It has changed since it was read as a document." in shown(place))
        assert not matches(KITTY, written)
        await settle(pilot)
