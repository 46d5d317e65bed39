"""Nothing from outside reaches the terminal as anything but text."""

import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest
from textual import events
from textual.drivers.headless_driver import HeadlessDriver
from textual.pilot import Pilot

from atlas_desktop.errors import Explained
from atlas_desktop.tui.app import AtlasApp
from atlas_desktop.tui.chat.markdown import SafeMarkdown
from atlas_desktop.tui.dialogs.questions import ErrorScreen
from atlas_desktop.tui.markdown_text import parser
from atlas_desktop.tui.models.onboarding import Offer
from memory.entities import MessagePatch, NewMessage, NewSession, SessionPatch, TitleSource
from models.messages import Role
from tests.fakes.clock import FakeClock
from tests.stores import InMemoryStore
from tests.tui.desk import NOW, FakeShelf, FakeVault, NamedModel, Stage
from tests.tui.driving import assert_until, chat, settle, shown
from tests.tui.payloads import DECODED, MARKUP, TERMINAL

Make = Callable[..., Stage]

# What Textual itself writes: colours and styles, moves, synchronised updates, modes, the pointer.
OURS = re.compile(
    r"\x1b\[[0-9;:]*m|\x1b\[\d+;\d+H|\x1b\[\?\d+[hl]|\x1b\[[<>=]\d*u|\x1b\[H|\x1b\[\d* q"
    r"|\x1b\]22;[a-z-]+(?:\x07|\x1b\\)"
)
FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


class Recorder(HeadlessDriver):
    """A driver that keeps what would have gone to the terminal."""

    written: list[str]

    @property
    def is_headless(self) -> bool:
        return False

    def write(self, data: str) -> None:
        self.written.append(data)


@asynccontextmanager
async def recorded(
    place: Stage, size: tuple[int, int] = (140, 45)
) -> AsyncIterator[tuple[Pilot[None], list[str]]]:
    """Runs the application with everything that it writes to the terminal recorded."""
    written: list[str] = []

    class Here(Recorder):
        pass

    Here.written = written
    place.app._build_driver = lambda *_a, **_k: Here(place.app, size=size)  # type: ignore[method-assign]
    async with place.app.run_test(size=size) as pilot:
        yield pilot, written


def attacks(written: Sequence[str]) -> list[str]:
    """What is left of the output when Textual's own sequences are taken out and is no text; and payloads
    that are there as they were (some look like Textual's own sequences)."""
    output = "".join(written)
    whole = [payload for payload in TERMINAL if payload[:8] in output and FORBIDDEN.search(payload[:8])]
    return FORBIDDEN.findall(OURS.sub("", output)) + whole


def test_the_recorder_would_see_an_attack() -> None:
    assert attacks(["\x1b[31mred\x1b[0m\x1b[2;3Hfine\x1b]22;default\x1b\\"]) == []
    assert [payload for payload in TERMINAL if not attacks([payload])] == []
    assert len(TERMINAL) >= 40


async def test_replies_titles_and_model_names(make: Make) -> None:
    everything = "\n\n".join((*TERMINAL, *DECODED))
    place = make(model=NamedModel([everything], name=f"evil{TERMINAL[0]}\x9b31m"))
    async with recorded(place) as (pilot, written):
        await settle(pilot)
        await pilot.press("h", "enter")
        await settle(pilot)
        chat(place.app).transcript.scroll_home(animate=False)
        await settle(pilot)
        for _ in range(12):
            await pilot.press("pagedown")
            await pilot.pause()
        assert len("".join(written)) > 5_000
        assert attacks(written) == []


async def test_a_stream_cut_anywhere() -> None:
    """Every character is a piece of its own; what is shown holds none that is forbidden."""
    from textual.app import App, ComposeResult

    class Page(App[None]):
        def compose(self) -> ComposeResult:
            yield SafeMarkdown()

    from atlas_desktop.services.cleaning import clean

    app = Page()
    found: dict[str, list[str]] = {}
    async with app.run_test(size=(80, 20)) as pilot:
        for payload in (*TERMINAL, *DECODED):
            await app.query_one(SafeMarkdown).remove()
            page = SafeMarkdown()
            await app.mount(page)
            for piece in payload:
                await page.append(clean(piece))
            await pilot.pause()
            strips = app.screen._compositor.render_strips()
            found[payload] = FORBIDDEN.findall("".join(s.text for strip in strips for s in strip))
    assert len(found) > 50
    assert {payload: signs for payload, signs in found.items() if signs} == {}


async def test_the_stored_past_cannot_attack_either(make: Make) -> None:
    """Rows that were written by another program, or before cleaning existed."""
    clock = FakeClock(NOW)
    store = InMemoryStore(clock)
    for number, payload in enumerate((*TERMINAL, *MARKUP)):
        clock.advance(timedelta(hours=-number))
        session, _ = await store.create_session(NewSession("x"), NewMessage(Role.USER, payload))
        patch = SessionPatch(title=f"t{number} {payload}", title_source=TitleSource.IMPORTED)
        await store.update_session(session.id, patch)
        reply = await store.append_message(session.id, NewMessage(Role.ASSISTANT, payload, model=payload))
        await store.update_message(reply.id, MessagePatch(model=payload))
    place = make(store=store)
    async with recorded(place) as (pilot, written):
        await settle(pilot)
        for session in await store.list_sessions():
            chat(place.app).open_session(session.id)
            await settle(pilot)
        assert "[red]not red[/]" in shown(place) or len(written) > 100
        assert attacks(written) == []


async def test_errors_offers_and_remarks(make: Make) -> None:
    offers = tuple(
        Offer(f"m{n}", f"name {p}", 10, f"licence {p}", "fits", p) for n, p in enumerate(TERMINAL[:8])
    )
    place = make(shelf=FakeShelf(chosen=None, offered=offers))
    async with recorded(place) as (pilot, written):
        await settle(pilot)
        for payload in (*TERMINAL, *MARKUP):
            words = Explained("x", f"title {payload}", f"message {payload}", f"next {payload}")
            place.app.say_error(words)
            place.app.say(f"remark {payload}")
            await settle(pilot)
            assert isinstance(place.app.screen, ErrorScreen)
            await pilot.press("escape")
        assert attacks(written) == []


async def test_a_keyring_and_a_home_with_a_bad_name(make: Make) -> None:
    place = make(unlocked=False, vault=FakeVault(made=False, keyring=f"Evil {TERMINAL[1]}\x9b2J"))
    async with recorded(place) as (pilot, written):
        await settle(pilot)
        assert "Evil" in shown(place)
        assert attacks(written) == []


async def test_pasted_text(make: Make) -> None:
    place = make()
    async with recorded(place) as (pilot, written):
        await settle(pilot)
        for payload in TERMINAL:
            place.app.screen.query_one("#prompt").post_message(events.Paste(payload))
            place.app.screen.query_one("#filter").post_message(events.Paste(payload))
        await settle(pilot)
        assert FORBIDDEN.findall(chat(place.app).prompt.text.replace("\n", "").replace("\t", "")) == []
        assert attacks(written) == []


@pytest.mark.parametrize("payload", MARKUP)
async def test_markup_is_shown_as_it_is(make: Make, payload: str) -> None:
    place = make(model=NamedModel([payload]))
    async with place.app.run_test(size=(140, 45)) as pilot:
        await settle(pilot)
        chat(place.app).prompt.put(payload)
        await pilot.press("enter")
        await settle(pilot)
        await assert_until(pilot, lambda: shown(place).count(payload) >= 3)
        place.app.say_error(Explained("x", payload, payload, payload))
        await assert_until(pilot, lambda: shown(place).count(payload) >= 6)
        place.app.push_screen(ErrorScreen(Explained("x", payload, payload, payload)))
        await settle(pilot)
        # What is behind the window can be seen, too.
        box = place.app.screen.children[0].region
        lines = shown(place).split("\n")[box.y : box.bottom]
        assert "\n".join(line[box.x : box.right] for line in lines).count(payload) == 3
        assert place.app.is_running


async def test_html_is_shown_not_hidden(make: Make) -> None:
    written = "<script>alert(1)</script> and <b>bold</b> <!-- not hidden -->"
    place = make(model=NamedModel([written]))
    async with place.app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("h", "enter")
        await settle(pilot)
        await assert_until(
            pilot, lambda: "<script>alert(1)</script> and <b>bold</b> <!-- not hidden -->" in shown(place)
        )


async def test_addresses_are_shown_in_full_and_nothing_can_be_clicked(make: Make) -> None:
    opened: list[str] = []
    place = make(
        model=NamedModel(["[my bank](http://evil.example/login) ![cat](http://evil.example/cat.png)"])
    )
    place.app.open_url = lambda url, **_k: opened.append(url)  # type: ignore[method-assign]
    async with place.app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("h", "enter")
        await settle(pilot)
        await assert_until(pilot, lambda: "my bank (http://evil.example/login)" in shown(place))
        assert "[image: cat] (http://evil.example/cat.png)" in " ".join(shown(place).split())
        block = chat(place.app).transcript.blocks[-1]
        for column in range(0, 70, 5):
            await pilot.click(block, offset=(column, 1))
        assert opened == []


@pytest.mark.parametrize("payload", DECODED)
def test_what_the_parser_decodes_is_cleaned(payload: str) -> None:
    for token in parser().parse(payload):
        for each in (token, *(token.children or ())):
            assert FORBIDDEN.findall(each.content) == []
            assert not each.type.startswith(("link", "image", "html"))


async def test_the_window_title_is_never_set(make: Make) -> None:
    place = make(model=NamedModel(["Secret words"]))
    async with recorded(place) as (pilot, written):
        await settle(pilot)
        await pilot.press("h", "enter")
        await settle(pilot)
        assert "\x1b]" not in re.sub(r"\x1b\]22;", "", "".join(written))
        assert isinstance(place.app, AtlasApp)
        assert (place.app.title, place.app.sub_title) == ("Atlas", "")
