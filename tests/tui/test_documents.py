"""The files that conversations read, in a window of their own."""

from collections.abc import Callable

from textual.pilot import Pilot
from textual.widgets import OptionList

from atlas_desktop.tui.chat.screen import ChatScreen
from atlas_desktop.tui.dialogs.choices import PickScreen
from atlas_desktop.tui.dialogs.forms import FieldsScreen
from atlas_desktop.tui.dialogs.messages import ConfirmScreen
from atlas_desktop.tui.documents import DocumentsScreen
from memory.attachments import NewAttachment
from tests.fakes.clock import FakeClock
from tests.stores import InMemoryStore
from tests.tui.desk import NOW, Stage, talk
from tests.tui.driving import assert_until, chat, on, say, settle, shown

Make = Callable[..., Stage]
TIMES = NewAttachment("ferries.md", "text/markdown", 20, "Ferries go at eight.")
MAP = NewAttachment("map.txt", "text/plain", 12, "North is up.")


async def readers() -> tuple[InMemoryStore, list[str]]:
    """Two conversations that read the ferries, the second of which reads the map, too."""
    store = InMemoryStore(FakeClock(NOW))
    ids = []
    for title in ("Lofoten", "Islands"):
        session = await talk(store, title, [("When do we go?", "At eight.")])
        await store.attachments.attach(session.id, TIMES)
        ids.append(session.id)
    await store.attachments.attach(ids[1], MAP)
    return store, ids


async def look(pilot: Pilot[None], place: Stage, words: str) -> None:
    """Opens the window, and waits for these words in it."""
    await say(pilot, "/documents")
    await assert_until(pilot, lambda: on(place.app, DocumentsScreen) and words in shown(place))


async def test_the_window_leads_to_what_reads_a_file_and_reads_it_here_too(make: Make) -> None:
    store, ids = await readers()
    place = make(store=store)
    async with place.app.run_test(size=(100, 30)) as pilot:
        await settle(pilot)
        await look(pilot, place, "ferries.md")
        assert "20 characters · Islands, Lofoten" in shown(place)
        await pilot.press("end", "enter")
        await assert_until(pilot, lambda: chat(place.app).current.id == ids[1])
        await assert_until(pilot, lambda: on(place.app, ChatScreen))

        await look(pilot, place, "used here")
        await pilot.press("home", "enter")
        await assert_until(pilot, lambda: on(place.app, PickScreen) and "Which conversation?" in shown(place))
        await pilot.press("end", "enter")
        await assert_until(pilot, lambda: chat(place.app).current.id == ids[0])

        await settle(pilot)
        await look(pilot, place, "map.txt")
        await pilot.press("end", "h")
        await assert_until(pilot, lambda: on(place.app, ChatScreen))
        await settle(pilot)
        assert [one.text for one in await store.attachments.attached(ids[0])] == [TIMES.text, MAP.text]
        assert "map.txt" in shown(place)


async def test_a_file_is_taken_out_of_all_that_read_it_when_that_is_agreed_to(make: Make) -> None:
    store, ids = await readers()
    place = make(store=store)
    async with place.app.run_test(size=(120, 30)) as pilot:
        await settle(pilot)
        await look(pilot, place, "ferries.md")
        await pilot.press("d")
        await assert_until(pilot, lambda: on(place.app, ConfirmScreen))
        await assert_until(pilot, lambda: "from the 2" in shown(place))
        await pilot.press("escape")
        await assert_until(pilot, lambda: on(place.app, DocumentsScreen))
        assert len(await store.attachments.attached(ids[0])) == 1
        await pilot.press("d")
        await assert_until(pilot, lambda: on(place.app, ConfirmScreen))
        await pilot.press("tab", "enter")
        await assert_until(pilot, lambda: on(place.app, DocumentsScreen) and "ferries" not in shown(place))
        assert [one.name for session in ids for one in await store.attachments.attached(session)] == [
            "map.txt"
        ]
        await pilot.press("e")
        await settle(pilot, but="tools")
        assert on(place.app, DocumentsScreen), "what was read of a file is not edited"


async def test_without_any_it_says_how_to_attach_one_and_does(make: Make) -> None:
    place = make()
    async with place.app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await say(pilot, "/documents")
        await assert_until(pilot, lambda: "No documents yet" in shown(place))
        assert not place.app.screen.query_one(OptionList).display
        await pilot.press("a")
        await assert_until(pilot, lambda: on(place.app, FieldsScreen))
        await pilot.press("escape")
        await assert_until(pilot, lambda: on(place.app, ChatScreen))
