"""One registry: every action has words, can be reached, and does something."""

from collections.abc import Callable
from typing import Any

import pytest
from textual.command import CommandList
from textual.screen import Screen
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from atlas_desktop.tui.actions import ACTIONS, BY_ID, Action, Where, bindings, key_words, typed
from atlas_desktop.tui.base import reading_s
from atlas_desktop.tui.chat.screen import ChatScreen
from atlas_desktop.tui.documents.reader import ReaderScreen
from atlas_desktop.tui.documents.screen import DocumentsScreen
from atlas_desktop.tui.help import HelpScreen, fitness
from atlas_desktop.tui.history.screen import HistoryScreen
from atlas_desktop.tui.insights.screen import InsightsScreen
from atlas_desktop.tui.keymap import keys_of
from atlas_desktop.tui.memories.screen import MemoryScreen
from atlas_desktop.tui.models.screen import ModelsScreen
from atlas_desktop.tui.notes.screen import NotesScreen
from atlas_desktop.tui.projects.screen import ProjectScreen
from atlas_desktop.tui.settings.dialogs import ThemeScreen
from atlas_desktop.tui.settings.screen import SettingsScreen
from atlas_desktop.tui.tasks.screen import TasksScreen
from atlas_desktop.tui.transfer import ExportDialog, ImportDialog
from atlas_desktop.tui.widgets import Key, KeyLine, fitting
from tests.tui.desk import Stage, talk
from tests.tui.driving import assert_until, on, settle, shown, type_text

Make = Callable[..., Stage]


_SCREENS: dict[Where, object] = {
    Where.HISTORY: HistoryScreen,
    Where.INSIGHTS: InsightsScreen,
    Where.DOCUMENTS: DocumentsScreen,
    Where.READER: ReaderScreen,
    Where.NOTES: NotesScreen,
    Where.MEMORIES: MemoryScreen,
    Where.PROJECT: ProjectScreen,
    Where.TASKS: TasksScreen,
    Where.SETTINGS: SettingsScreen,
    Where.MODELS: ModelsScreen,
}


def test_every_action_has_help_and_a_way_to_it() -> None:
    assert len({action.id for action in ACTIONS}) == len(ACTIONS)
    for action in ACTIONS:
        assert action.name
        assert action.help.endswith((".", ")."))
        assert action.key or action.in_palette or action.slash, action.id


def test_no_two_actions_of_one_place_want_the_same_key_at_once() -> None:
    for where in Where:
        keys = [key for action in ACTIONS if action.where is where for key in action.key.split(",") if key]
        twice = {key for key in keys if keys.count(key) > 1}
        # Esc stops a reply, and when there is none it leads back to typing.
        assert twice <= {"escape"}


def test_bindings_carry_the_ids_that_a_keymap_names() -> None:
    ids = {binding.id for where in Where for binding in bindings(where)}
    assert ids == {action.id for action in ACTIONS if action.key}


def test_keys_are_written_as_people_write_them() -> None:
    assert key_words("ctrl+n") == "Ctrl+N"
    assert key_words("delete,d") == "Del or d"
    assert key_words("f1") == "F1"
    assert key_words("a") == "a"
    assert key_words("A") == "Shift+A"


def test_what_is_typed_is_an_action_or_a_message() -> None:
    assert typed("/memories") == (BY_ID["memory.show"], ())
    assert typed("/remember  my bus is the 12") == (BY_ID["memory.remember"], ("my bus is the 12",))
    assert typed("/memories are made of this") is None
    assert typed("remember /this") is None


async def test_every_action_exists_where_it_says(make: Make) -> None:
    place = make()
    async with place.app.run_test() as pilot:
        await settle(pilot)
        for action in ACTIONS:
            target: object = place.app if action.where is Where.EVERYWHERE else place.app.screen
            target = _SCREENS.get(action.where, target)
            assert hasattr(target, f"action_{action.run}"), action.id


async def test_help_shows_every_action(make: Make) -> None:
    place = make()
    async with place.app.run_test(size=(120, 1100)) as pilot:
        await settle(pilot)
        await pilot.press("f1")
        await assert_until(pilot, lambda: on(place.app, HelpScreen) and "Every action" in shown(place))
        text = shown(place)
        for action in ACTIONS:
            assert action.name in text
        await pilot.press("escape")
        assert on(place.app, ChatScreen)


async def test_help_begins_with_where_one_is_and_finds_what_is_typed(make: Make) -> None:
    place = make()
    async with place.app.run_test(size=(100, 30)) as pilot:
        await settle(pilot)
        await pilot.press("f1")
        await assert_until(pilot, lambda: Where.CHAT.label in shown(place))
        await type_text(pilot, "export")
        await assert_until(pilot, lambda: "/export" in shown(place) and "Stop the reply" not in shown(place))
        await type_text(pilot, " nothing is called so")
        await assert_until(pilot, lambda: "No matching actions" in shown(place))
        await pilot.press("down", "pageup", "enter")
        await settle(pilot)
        assert on(place.app, ChatScreen)
        await pilot.press("f3")
        await settle(pilot)
        await pilot.press("f1")
        await assert_until(pilot, lambda: Where.MEMORIES.label in shown(place))
        assert Where.CHAT.label not in shown(place)
        before = shown(place)
        await pilot.press("pagedown", "pagedown")
        await assert_until(pilot, lambda: shown(place) != before)


async def test_help_begins_with_what_has_the_focus(make: Make) -> None:
    place = make()
    await talk(place.store, "The bread", [("How long?", "An hour.")])
    async with place.app.run_test(size=(120, 30)) as pilot:
        await settle(pilot)
        await pilot.press("ctrl+o")
        await settle(pilot)
        await pilot.press("down", "f1")
        await settle(pilot)
        assert first_section(place) == Where.SESSIONS.label
        await pilot.press("escape", "enter")
        await assert_until(pilot, lambda: "An hour." in shown(place))
        await pilot.press("alt+up", "f1")
        await settle(pilot)
        assert first_section(place) == Where.MESSAGES.label
        await pilot.press("escape", "escape", "f12", "f1")
        await settle(pilot)
        assert first_section(place) == Where.CHAT.label


# Keys that a widget passes on if it cannot scroll, and those with which a list says what was chosen.
_PASSED_ON = ("scroll_", "cursor_", "page_", "select", "submit", "delete_right")


def _does_nothing(place: Stage, action: Action) -> bool:
    """Whether no key of an action is listened to at this moment."""
    active = place.app.screen.active_bindings
    for key in keys_of(action, {}).split(","):
        if (found := active.get(key)) is not None and found.enabled:
            run = found.binding.action.split(".")[-1]
            if run == action.run or run.startswith(_PASSED_ON):
                return False
    return True


def _promised(place: Stage) -> set[str]:
    """Returns the ids of the actions whose keys the help offers for this moment."""
    listed = place.app.screen.query_one(OptionList)
    found: set[str] = set()
    where = None
    for at in range(listed.option_count):
        words = str(listed.get_option_at_index(at).prompt).strip()
        if any(words in (one.label, f"Elsewhere: {one.label}") for one in Where):
            where = next((one for one in Where if one.label == words), None)
            continue
        for action in ACTIONS:
            ways = " ".join(way for way in (key_words(action.key), action.slash) if way)
            if action.where is where and action.key and words.startswith(ways):
                name = words.removeprefix(ways).strip().splitlines()[0]
                if name == action.name:
                    found.add(action.id)
    return found


@pytest.mark.parametrize("talked", [False, True])
@pytest.mark.parametrize(
    "keys",
    [
        (),
        ("ctrl+o", "down"),
        ("alt+up",),
        *((f"f{n}",) for n in (2, 3, 4, 7, 8, 9)),
        ("f2", "down"),
        ("f2", "slash"),
        ("slash", *"task", "enter"),
    ],
    ids="-".join,
)
async def test_help_names_no_dead_key(make: Make, keys: tuple[str, ...], *, talked: bool) -> None:
    place = make()
    if talked:
        await talk(place.store, "The bread", [("How long?", "An hour.")])
    async with place.app.run_test(size=(140, 40)) as pilot:
        await settle(pilot)
        if talked and keys == ("alt+up",):
            await pilot.press("ctrl+o", "down", "enter")
            await assert_until(pilot, lambda: "An hour." in shown(place))
        for key in keys:
            await pilot.press(key)
            await settle(pilot)
        dead = {action.id for action in ACTIONS if action.key and _does_nothing(place, action)}
        await pilot.press("f1")
        await assert_until(pilot, lambda: on(place.app, HelpScreen))
        await settle(pilot)
        promised = _promised(place)
        assert {"app.quit", "app.help"} <= promised
        assert promised & dead == set()


async def test_help_offers_what_can_be_done(make: Make) -> None:
    place = make()
    await talk(place.store, "The bread", [("How long?", "An hour.")])
    async with place.app.run_test(size=(140, 40)) as pilot:
        await settle(pilot)
        await pilot.press("f1")
        await settle(pilot)
        assert not {"chat.regenerate", "session.rename", "chat.stop"} & _promised(place)
        assert {"chat.send", "session.new", "history.show"} <= _promised(place)
        await pilot.press("escape", "ctrl+o", "down", "enter")
        await assert_until(pilot, lambda: "An hour." in shown(place))
        await pilot.press("f1")
        await settle(pilot)
        assert {"chat.regenerate", "session.rename"} <= _promised(place)
        await pilot.press("escape", "f3")
        await settle(pilot)
        await pilot.press("f1")
        await settle(pilot)
        # There is no memory to accept.
        assert "memories.accept" not in _promised(place)
        assert {"memories.next", "history.show"} <= _promised(place)


def first_section(place: Stage) -> str:
    assert on(place.app, HelpScreen)
    return str(place.app.screen.query_one(OptionList).get_option_at_index(0).prompt).strip()


async def test_the_palette_finds_and_runs_actions(make: Make) -> None:
    place = make()
    await talk(place.store, "Something", [("a", "b")])
    async with place.app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("ctrl+p")
        await type_text(pilot, "colours")
        await assert_until(pilot, lambda: "high contrast, or" in shown(place))
        await pilot.pause(0.2)
        await pilot.press("enter")
        await assert_until(pilot, lambda: on(place.app, ThemeScreen))


@pytest.mark.parametrize("key", ["page_up", "page_down"])
async def test_a_page_key_before_the_palette_is_laid_out_does_nothing(make: Make, key: str) -> None:
    place = make()
    async with place.app.run_test(size=(100, 32)) as pilot:
        await settle(pilot)
        await pilot.press("ctrl+p")
        await settle(pilot)
        palette = place.app.screen
        with place.app.batch_update():
            # As it is between its first commands and its first layout.
            listing = CommandList(Option("one"), Option("two"))
            await palette.query_one(CommandList).remove()
            await palette.query_one("#--container").mount(listing)
            listing.highlighted = 0
            await palette.run_action(f"command_list('{key}')")
            assert listing.highlighted == 0


def test_the_palette_puts_what_is_named_so_before_what_only_mentions_it() -> None:
    def best(typed: str) -> str:
        return max(ACTIONS, key=lambda action: fitness(action, typed.split())).name

    assert best("theme") == "Theme"
    assert best("quit") == "Quit"
    assert best("move priv") == "Move to the private room"
    assert not any(fitness(action, ["zzyzx"]) for action in ACTIONS)


async def test_the_palette_offers_only_what_can_be_done(make: Make) -> None:
    place = make()
    async with place.app.run_test(size=(100, 50)) as pilot:
        await settle(pilot)
        await pilot.press("ctrl+p")
        await assert_until(pilot, lambda: "New conversation" in shown(place))
        await pilot.pause(0.2)
        assert "Undo deletion" not in shown(place)
        assert "Delete the conversation" not in shown(place)


@pytest.mark.parametrize("key", ["f2", "f3", "f8", "f9"])
@pytest.mark.parametrize(
    ("words", "name", "window"),
    [
        ("import con", "Import conversations…", ImportDialog),
        ("export", "Export the conversation", ExportDialog),
    ],
)
async def test_the_palette_imports_and_exports_over_every_screen(
    make: Make, key: str, words: str, name: str, window: type[Screen[Any]]
) -> None:
    place = make()
    await talk(place.store, "The bread", [("How long?", "An hour.")])
    async with place.app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("ctrl+o", "down", "enter")
        await assert_until(pilot, lambda: "An hour." in shown(place))
        await pilot.press(key)
        await settle(pilot)
        await pilot.press("ctrl+p")
        await type_text(pilot, words)
        await assert_until(pilot, lambda: name in shown(place))
        await settle(pilot)
        await pilot.press("enter")
        await assert_until(pilot, lambda: on(place.app, window))


async def test_the_footer_is_made_of_the_registry(make: Make) -> None:
    place = make()
    async with place.app.run_test() as pilot:
        await settle(pilot)
        labels = {b.binding.description for b in place.app.screen.active_bindings.values() if b.binding.show}
        assert labels <= {action.label for action in ACTIONS if action.label}
        assert place.app.screen.query_one(KeyLine).display
        assert "New" in shown(place).splitlines()[-1]


def test_a_narrow_line_of_keys_keeps_the_way_out_and_the_help() -> None:
    words = {"enter": "open", "x": "export", "escape": "back", "ctrl+q": "quit", "f1": "help"}
    keys = [Key(key, key, word, f"app.{word}", True) for key, word in words.items()]
    kept = {room: [key.word for key in fitting(keys, room)] for room in (80, 40, 30, 24)}
    assert kept[80] == [*words.values()]
    assert kept[40] == ["open", "export", "back", "help"]
    assert kept[30] == ["open", "back", "help"]
    assert kept[24] == ["back", "help"]


async def test_the_theme_is_kept(make: Make) -> None:
    place = make(theme="none")
    async with place.app.run_test() as pilot:
        await settle(pilot)
        assert place.app.theme == "atlas-dark"
        await pilot.press("f12", "down")
        assert place.app.theme == "atlas-light"
        await pilot.press("escape")
        assert place.app.theme == "atlas-dark"
        await pilot.press("f12", "down", "enter")
        await settle(pilot)
        assert place.app.theme == "atlas-light"
        assert "light" in (place.desk.paths.home / "config.toml").read_text()
        assert place.desk.settings.ui.theme == "light"


async def test_everything_is_usable_at_80_by_24(make: Make) -> None:
    place = make()
    async with place.app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        lines = shown(place).splitlines()
        assert len(lines) == 24
        assert all(len(line) == 80 for line in lines)
        assert "memory normal · open room" in lines[0]
        for selector in ("#prompt", "#status", "#head"):
            region = place.app.screen.query_one(selector).region
            assert region.right <= 80
            assert region.bottom <= 24


async def test_ctrl_c_says_how_to_quit(make: Make) -> None:
    place = make()
    async with place.app.run_test() as pilot:
        await settle(pilot)
        place.app.screen.query_one("#examples").focus()
        await pilot.press("ctrl+c")
        await assert_until(pilot, lambda: any("Ctrl+Q quits" in n.message for n in place.app._notifications))


def told(place: Stage) -> list[str]:
    return [note.message for note in place.app._notifications]


async def test_what_is_said_of_a_screen_goes_with_it_and_news_stay(make: Make) -> None:
    place = make()
    async with place.app.run_test(notifications=True) as pilot:
        await settle(pilot)
        for keys in (["f2"], ["f1"]):
            place.app.say("Star removed.")
            place.app.say("A model has arrived.", anywhere=True)
            await assert_until(pilot, lambda: "Star removed" in shown(place))
            await pilot.press(*keys)
            await settle(pilot)
            assert told(place) == ["A model has arrived."]
            await assert_until(pilot, lambda: "Star removed" not in shown(place))
            place.app.clear_notifications()
            place.app.say("Of the second screen.")
            await assert_until(pilot, lambda: "Of the second" in shown(place))
            await pilot.press("escape")
            await settle(pilot)
            # The history is another place; a window says what it has done before it closes.
            assert bool(told(place)) is (keys == ["f1"])
            place.app.clear_notifications()


def test_a_remark_is_there_for_as_long_as_it_takes_to_read() -> None:
    short, long = reading_s("Starred."), reading_s("word " * 30)
    assert 2 <= short <= 3
    assert 2 * short < long < 10
