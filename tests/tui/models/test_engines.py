"""Engines in the interface: added by a form, chosen, chatted with; what leaves this computer says so."""

import asyncio
from collections.abc import Callable
from typing import cast

import pytest
from textual.pilot import Pilot
from textual.widgets import OptionList

from atlas_desktop.bootstrap import _start_model
from atlas_desktop.services.engines import EngineService, Probe
from atlas_desktop.tui.chat.screen import ChatScreen
from atlas_desktop.tui.dialogs.forms import FieldsScreen
from atlas_desktop.tui.dialogs.questions import ConfirmScreen
from atlas_desktop.tui.models.engines import EnginesScreen
from atlas_desktop.tui.models.screen import ModelsScreen
from memory.entities import MessageStatus
from memory.errors import KeyringUnavailable
from memory.kinds import RoomKind
from memory.vault.keyring import KeyringPort
from models.engines.client import EngineClient
from models.engines.model import EngineModel
from models.engines.spec import EngineReport, EngineSpec
from tests.fakes.engines import Asked, FakeEngine, reply, running
from tests.tui.desk import Stage
from tests.tui.driving import assert_until, make_private, on, say, settle, shown, type_text
from tests.tui.models.test_screen import shelf

Make = Callable[..., Stage]


class NoKeyring:
    """A computer without a keyring: keys rest in the room."""

    def store(self, entry: str, secret: bytes) -> str:
        raise KeyringUnavailable("", "none")


def with_engines(place: Stage, probe: Probe | None = None) -> None:
    """Gives the desk the real service of engines, and models as the composition root starts them."""

    async def really(spec: EngineSpec, model: str) -> EngineReport:
        engine = EngineModel(EngineClient(spec), model)
        try:
            return await engine.report()
        finally:
            await engine.close()

    desk, own = place.desk, place.desk.start_model
    service = EngineService(
        desk.settings_file,
        cast("KeyringPort", NoKeyring()),
        lambda: desk.at(RoomKind.OPEN).store,
        probe or really,
    )
    desk.make_engines = lambda: service
    desk.start_model = lambda settings, chosen: (
        _start_model(desk.paths, settings, chosen, lambda: service)
        if ":" in (chosen or settings.models.chat_engine)
        else own(settings, chosen)
    )
    shelf(place, "first")


async def open_engines(pilot: Pilot[None], place: Stage) -> None:
    await settle(pilot)
    await pilot.press("f6")
    await assert_until(pilot, lambda: on(place.app, ModelsScreen) and "Installed" in shown(place))
    await pilot.press("e")
    await assert_until(pilot, lambda: on(place.app, EnginesScreen) and "a adds" in shown(place))


async def fill_in(pilot: Pilot[None], place: Stage, *fields: str) -> None:
    await pilot.press("a")
    await assert_until(pilot, lambda: on(place.app, FieldsScreen))
    for field in fields:
        await type_text(pilot, field)
        await pilot.press("enter")


def rows(place: Stage) -> list[str]:
    """The rows of the list of engines. The list of models behind it shows what is in use, too."""
    return [str(option.prompt).strip() for option in place.app.screen.query_one(OptionList).options]


async def back_to_chat(pilot: Pilot[None], place: Stage) -> None:
    await pilot.press("escape")
    await assert_until(pilot, lambda: on(place.app, ModelsScreen))
    await pilot.press("escape")
    await assert_until(pilot, lambda: on(place.app, ChatScreen))


async def test_an_engine_is_added_chosen_and_chatted_with(make: Make) -> None:
    place = make()
    with_engines(place)
    async with running(FakeEngine(lambda asked: reply(asked, "Good ", "morning."))) as server:  # noqa: SIM117
        async with place.app.run_test(size=(110, 36)) as pilot:
            await open_engines(pilot, place)
            await fill_in(pilot, place, "box", f"127.0.0.1:{server.port}", "sk-secret")
            await assert_until(pilot, lambda: "box added" in shown(place))
            assert "sk-secret" not in shown(place)
            assert "streams replies" in shown(place)
            await pilot.press("enter")
            await assert_until(pilot, lambda: rows(place)[-1].endswith("in use: chat"))
            assert 'chat_engine = "box:small"' in place.desk.paths.config.read_text()
            await back_to_chat(pilot, place)
            await assert_until(pilot, lambda: "box:small" in shown(place))
            await say(pilot, "Hello there")
            await assert_until(pilot, lambda: "Good morning." in shown(place))
            assert "leaves this computer" not in shown(place)
            # This server does not count tokens.
            await assert_until(pilot, lambda: "context ~" in shown(place))
            last = server.bodies()[-1]
            assert last["messages"][-1]["content"].endswith("Hello there")
            assert {one.headers["authorization"] for one in server.asked} == {"Bearer sk-secret"}
            await pilot.press("f6")
            await assert_until(pilot, lambda: "chat: small" in shown(place))
            # An own model takes its place again.
            listing = place.app.screen.query_one("#models", OptionList)
            listing.highlighted = listing.get_option_index("first")
            await pilot.press("enter")
            await assert_until(pilot, lambda: "The next reply will come from first" in shown(place))
            assert place.desk.settings.models.chat_engine == ""
    assert "sk-secret" not in place.desk.paths.config.read_text()


async def test_esc_ends_the_request(make: Make) -> None:
    place = make()
    with_engines(place)
    gone = asyncio.Event()

    async def chat(asked: Asked) -> None:
        await asked.begin_stream()
        await asked.word("Once upon a time")
        if asked.body["max_tokens"] < 100:
            await asked.end()
            return
        await asked.until_gone()
        gone.set()

    async with running(FakeEngine(chat)) as server:
        await place.desk.engines.add("box", server.url)
        place.desk.engines.choose("box:small", "chat")
        async with place.app.run_test(size=(110, 36)) as pilot:
            await settle(pilot)
            await say(pilot, "Tell me a story")
            await assert_until(pilot, lambda: "Once upon a time" in shown(place))
            await pilot.press("escape")
            await asyncio.wait_for(gone.wait(), 10)
            session = await place.store.get_session("last")

            async def stored() -> MessageStatus:
                return (await place.store.branch(session.id))[-1].status

            async with asyncio.timeout(10):
                while await stored() is MessageStatus.STREAMING:
                    await pilot.pause()
            assert await stored() is MessageStatus.PARTIAL


async def test_what_came_before_a_cut_is_kept_and_the_error_is_in_words(make: Make) -> None:
    place = make()
    with_engines(place)

    async def chat(asked: Asked) -> None:
        await asked.begin_stream()
        await asked.word("Once upon a time")
        if asked.body["max_tokens"] < 100:
            await asked.end()
        asked.writer.transport.abort()

    async with running(FakeEngine(chat)) as server:
        await place.desk.engines.add("box", server.url)
        place.desk.engines.choose("box:small", "chat")
        async with place.app.run_test(size=(110, 36)) as pilot:
            await settle(pilot)
            await say(pilot, "Tell me a story")
            await assert_until(pilot, lambda: "The engine box cut the connection" in shown(place))
            session = await place.store.get_session("last")
            said, told = await place.store.branch(session.id)
    assert said.content == "Tell me a story"
    assert (told.content, told.status) == ("Once upon a time", MessageStatus.PARTIAL)


async def test_what_leaves_this_computer_is_asked_shown_and_kept_out_of_the_private_room(make: Make) -> None:
    place = make()
    with_engines(place)
    async with running(FakeEngine(lambda asked: reply(asked, "Far away."))) as server:
        async with place.app.run_test(size=(130, 36)) as pilot:
            await open_engines(pilot, place)
            # Not an address of this computer by its text, but one that answers here.
            await fill_in(pilot, place, "far", f"0.0.0.0:{server.port}", "")
            await assert_until(pilot, lambda: on(place.app, ConfirmScreen))
            assert "not encrypted" in shown(place)
            await pilot.press("escape")
            await assert_until(pilot, lambda: on(place.app, EnginesScreen))
            assert server.asked == []
            await fill_in(pilot, place, "far", f"0.0.0.0:{server.port}", "")
            await assert_until(pilot, lambda: on(place.app, ConfirmScreen))
            await pilot.press("tab", "enter")
            await assert_until(pilot, lambda: "far added" in shown(place))
            await pilot.press("enter")
            await assert_until(pilot, lambda: rows(place)[-1].endswith("in use: chat"))
            await back_to_chat(pilot, place)
            await assert_until(pilot, lambda: "leaves this computer" in shown(place))
            await say(pilot, "Hello there")
            await assert_until(pilot, lambda: "Far away." in shown(place))
            await settle(pilot)
            before = len(server.bodies())
            await make_private(pilot, place)
            assert "leaves this computer" not in shown(place)
            await say(pilot, "A private matter")
            await assert_until(pilot, lambda: "The private room stays on this computer" in shown(place))
        assert len(server.bodies()) == before
        assert not any("private matter" in str(one.body) for one in server.asked)


@pytest.mark.parametrize("name", ["box", "no such"])
async def test_an_engine_that_fails_is_explained_in_the_window(make: Make, name: str) -> None:
    place = make()
    with_engines(place)
    async with running(FakeEngine()) as server:
        url = server.url
    async with place.app.run_test(size=(110, 36)) as pilot:
        await open_engines(pilot, place)
        await fill_in(pilot, place, name, url, "")
        told = "does not answer" if name == "box" else "cannot be used"
        await assert_until(pilot, lambda: told in shown(place))
        assert place.desk.engines.list() == []


async def test_an_engine_is_used_for_now_for_search_and_removed(make: Make) -> None:
    place = make()
    with_engines(place)
    async with running(FakeEngine(lambda asked: reply(asked, "Hi."))) as server:
        await place.desk.engines.add("box", server.url)
        async with place.app.run_test(size=(110, 36)) as pilot:
            await open_engines(pilot, place)
            await assert_until(pilot, lambda: "streams replies" in shown(place))
            # On the row of the engine, Enter leads to its first model.
            await pilot.press("enter", "o")
            await assert_until(pilot, lambda: "in use for now" in shown(place))
            assert place.desk.chosen_model == "box:small"
            await pilot.press("v")
            await assert_until(pilot, lambda: "in use: search by meaning" in shown(place))
            assert place.desk.settings.models.embed_engine == "box:small"
            await pilot.press("d")
            await assert_until(pilot, lambda: on(place.app, ConfirmScreen))
            await pilot.press("tab", "enter")
            await assert_until(pilot, lambda: "box removed" in shown(place))
    assert not place.desk.chosen_model
    assert not place.desk.settings.models.embed_engine
    assert not place.desk.engines.list()
