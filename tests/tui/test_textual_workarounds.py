"""Drawing less must not draw anything else."""

import random

import pytest
from textual._compositor import Compositor
from textual.app import App, ComposeResult
from textual.containers import Horizontal, VerticalScroll
from textual.events import Resize
from textual.geometry import Region
from textual.screen import Screen
from textual.strip import Strip
from textual.widgets import Input, Static, TextArea

from atlas_desktop.tui.textual_workarounds import Ground, SparingCompositor, SparingScreen


class Page(Screen[None]):
    CSS = """
    #side { width: 20; border: round $primary; }
    #over { layer: above; dock: right; width: 18; height: 9; background: $panel; offset: -6 4; }
    Page { layers: base above; }
    .block { margin: 1 2; padding: 1; border: solid $secondary; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._compositor = SparingCompositor()

    row: type[Horizontal] = Horizontal
    main: type[VerticalScroll] = VerticalScroll

    def compose(self) -> ComposeResult:
        with self.row(id="row"):
            yield Static("\n".join(f"row {n} 漢字 {'x' * n}" for n in range(40)), id="side")
            with self.main(id="main"):
                for n in range(12):
                    yield Static(f"block {n}\n" * (n % 4 + 1), classes="block")
        yield TextArea("typed\nwords", id="area")
        yield Input("one line")
        yield Static("over\nit all", id="over")


class Paper(App[None]):
    def on_mount(self) -> None:
        self.push_screen(Page())


def drawn(screen: Page, crop: Region) -> list[Strip | None]:
    """What is painted of `crop`: of each line the pieces between cuts that reach into it."""
    compositor = screen._compositor
    chops = compositor._render_chops(crop, lambda y: crop.y <= y < crop.bottom)
    return [
        strip
        for y in range(crop.y, crop.bottom)
        for (begin, strip), end in zip(chops[y].items(), compositor.cuts[y][1:], strict=True)
        if begin < crop.right and end > crop.x
    ]


async def test_it_paints_what_textual_paints(monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(7)
    async with Paper().run_test(size=(90, 30)) as pilot:
        await pilot.pause()
        screen = pilot.app.screen
        assert isinstance(screen, Page)
        screen.query_one("#main").scroll_to(y=11, animate=False, immediate=True)
        await pilot.pause()
        for _ in range(120):
            x, y = chance.randrange(90), chance.randrange(30)
            crop = Region(x, y, chance.randint(1, 90 - x), chance.randint(1, 30 - y))
            sparing = drawn(screen, crop)
            with monkeypatch.context() as patch:
                patch.setattr(SparingCompositor, "_get_renders", Compositor._get_renders)
                whole = drawn(screen, crop)
            assert sparing == whole
            assert None not in sparing


async def test_widgets_away_from_what_changed_are_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    render = Static.render_lines

    def noting(self: Static, crop: Region) -> list[Strip]:
        asked.append(f"{self.id} {crop.height}")
        return render(self, crop)

    async with Paper().run_test(size=(90, 30)) as pilot:
        await pilot.pause()
        screen = pilot.app.screen
        assert isinstance(screen, Page)
        monkeypatch.setattr(Static, "render_lines", noting)
        drawn(screen, Region(2, 3, 10, 2))
    assert asked == ["side 2"]


class Measured(Static):
    """Notes the widths that it is told."""

    def __init__(self) -> None:
        super().__init__("new")
        self.widths: list[int] = []

    def on_resize(self, event: Resize) -> None:
        self.widths.append(event.size.width)


async def test_a_widget_whose_place_was_asked_for_before_it_was_laid_out_is_told_its_size() -> None:
    async with Paper().run_test(size=(90, 30)) as pilot:
        await pilot.pause()
        screen = pilot.app.screen
        assert isinstance(screen, Page)
        compositor, main, new = screen._compositor, screen.query_one("#main"), Measured()
        main.scroll_to(y=3, animate=False, immediate=True)
        await main.mount(new, before=0)
        assert not new.widths
        # What a scroll does; then a place is asked for, which computes all of them.
        compositor.reflow_visible(screen, screen.size)
        assert new in compositor.full_map
        await pilot.pause()
        assert new.widths == [new.size.width]


def whole(screen: Page) -> list[str]:
    """Every line of the screen, with the looks of each of its cells."""
    return [repr([*strip]) for strip in screen._compositor.render_strips()]


class Row(Ground, Horizontal):
    pass


class Main(Ground, VerticalScroll):
    pass


class OnGround(Page):
    """As `Page`, with containers that know that they are nothing but ground."""

    row = Row
    main = Main


@pytest.mark.parametrize("theme", ["textual-light", "ansi-dark"])
async def test_ground_looks_as_it_would_otherwise_and_keeps_one_line(theme: str) -> None:
    pictures = []
    app = Paper()
    async with app.run_test(size=(90, 30)) as pilot:
        app.theme = theme
        for screen in (Page(), OnGround()):
            await app.push_screen(screen)
            await pilot.pause()
            main = screen.query_one("#main")
            shown = []
            for y in (0, 7, 30):
                main.scroll_to(y=y, animate=False, immediate=True)
                await pilot.pause()
                shown.append(whole(screen))
            pictures.append(shown)
        row = screen.query_one(Row)
        assert list(row._styles_cache._cache) == [0]
    assert pictures[0] == pictures[1]


class Scrolled(Page):
    def compose(self) -> ComposeResult:
        with Main(id="main"):
            for n in range(12):
                yield Static(f"block {n}\n" * (n % 4 + 1), classes="block")
        yield Static("over\nit all", id="over")


async def test_what_differs_after_a_layout_is_painted_and_what_is_scrolled_along_is_not() -> None:
    chance = random.Random(3)
    app = Paper()
    async with app.run_test(size=(90, 30)) as pilot:
        screen = Scrolled()
        await app.push_screen(screen)
        main = screen.query_one(Main)
        main.scroll_to(y=14, animate=False, immediate=True)
        await pilot.pause()
        for step in range(30):
            before, blocks = whole(screen), list(main.children)
            with app.batch_update():
                if above := step % 3 == 0:
                    await main.mount(Static("above", classes="block"), before=blocks[0])
                    main.set_reactive(Main.scroll_y, main.scroll_y + 6)
                elif step % 3 == 1:
                    await chance.choice(blocks).remove()
                else:
                    await main.mount(Static(f"{step}\n" * 3, classes="block"), before=chance.choice(blocks))
                screen._compositor._dirty_regions.clear()
                screen._compositor.reflow(screen, screen.size)
                painted = {y for one in screen._compositor._dirty_regions for y in range(one.y, one.bottom)}
                after = whole(screen)
            differs = {y for y in range(30) if before[y] != after[y]}
            assert differs <= painted, step
            if above:
                assert painted == differs == set(), step
            await pilot.pause()


class Told(Static):
    """Notes what was painted of it."""

    def __init__(self) -> None:
        super().__init__("old")
        self.painted: list[str] = []

    def render_lines(self, crop: Region) -> list[Strip]:
        lines = super().render_lines(crop)
        self.painted += [line.text.strip() for line in lines]
        return lines


class Sparing(SparingScreen[None]):
    def compose(self) -> ComposeResult:
        yield Told()


async def test_what_changes_between_a_layout_and_its_painting_is_painted() -> None:
    app = Paper()
    async with app.run_test(size=(90, 30)) as pilot:
        screen = Sparing()
        await app.push_screen(screen)
        await pilot.pause()
        told = screen.query_one(Told)
        assert told.painted[-1] == "old"
        told.update("new", layout=False)
        # The screen hears of the change after the layout, and before it paints.
        told._check_refresh()
        screen._refresh_layout()
        await pilot.pause()
        assert told.painted[-1] == "new"
