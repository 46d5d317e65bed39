"""Keys that come quicker than the program, in any order: a message that is sent afterwards is stored."""

import random
from collections.abc import Callable

import pytest
from textual import events
from textual.pilot import Pilot

from atlas_desktop.tui.actions import ACTIONS, Where
from atlas_desktop.tui.app import AtlasApp
from atlas_desktop.tui.chat.screen import ChatScreen
from memory.entities import RoomKind, Session
from models.messages import Role
from tests.tui.desk import PASSPHRASE, Stage, talk
from tests.tui.driving import assert_until, chat, on, open_private, settle, shown, turn_to

Make = Callable[..., Stage]
LEAVE = {"app.quit", "app.lock", "app.demo"}
OPENING = sorted(
    key
    for action in ACTIONS
    if action.where in (Where.CHAT, Where.VIEWS, Where.EVERYWHERE) and action.id not in LEAVE
    for key in action.key.split(",")
    if key
)
OTHERS = [
    "escape",
    "enter",
    "tab",
    "shift+tab",
    "up",
    "down",
    "left",
    "right",
    "delete",
    "space",
    "a",
    "e",
    "m",
    "v",
]

BURSTS = [
    *([key] for key in OPENING + OTHERS),
    *([*text, "enter"] for text in (PASSPHRASE, "/off", "/normal", "/private", "/new", "/nothing", "hello")),
]


@pytest.fixture(autouse=True)
def nobody_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    """The palette offers to quit, too."""

    async def stay(_: AtlasApp) -> None:
        """Goes on."""

    monkeypatch.setattr(AtlasApp, "action_quit", stay)


def press_at_once(app: AtlasApp, keys: list[str]) -> None:
    """Keys that come in one read of the terminal: none waits for what the one before has done."""
    for key in keys:
        app.post_message(events.Key(key, " " if key == "space" else key if len(key) == 1 else None))


async def back_at_the_prompt(pilot: Pilot[None], place: Stage) -> None:
    """What a person does who wants to write: Esc until nothing lies over the conversation."""
    for _ in range(12):
        for _ in range(10):
            await pilot.pause(0.005)
        if on(place.app, ChatScreen) and chat(place.app).prompt.has_focus:
            return
        await pilot.press("escape")
    raise AssertionError(f"Esc does not lead back from {place.app.screen_stack}: {shown(place)}")


async def said_in(place: Stage, session: Session) -> list[str]:
    room = place.desk.at(session.room)
    return [message.content for message in await room.store.branch(session.id)]


async def all_said(place: Stage) -> list[str]:
    sessions = [one for room in place.desk.open_rooms for one in await room.store.list_sessions()]
    return [text for one in sessions for text in await said_in(place, one)]


async def assert_stored(pilot: Pilot[None], place: Stage, words: str) -> None:
    chat(place.app).prompt.put("")
    press_at_once(place.app, [*words, "enter"])
    for _ in range(200):
        shown_now = place.app.chat
        session = None if shown_now is None else shown_now.current.session
        if session is not None and any(words in one for one in await said_in(place, session)):
            return
        if any(words in one for one in await all_said(place)):
            return
        await pilot.pause(0.01)
    raise AssertionError(f"{words!r} is nowhere: {shown(place)}")


@pytest.mark.parametrize(
    ("times", "between"), [(2, []), (3, ["escape"])], ids=["twice at once", "three times with Esc between"]
)
async def test_a_key_that_comes_several_times_at_once_swallows_no_message(
    make: Make, times: int, between: list[str]
) -> None:
    place = make()
    await talk(place.store, "Tides", [("Why?", "The moon.")])
    async with place.app.run_test(size=(140, 40)) as pilot:
        await settle(pilot)
        for number, key in enumerate(OPENING):
            press_at_once(place.app, [key, *[*between, key] * (times - 1)])
            await back_at_the_prompt(pilot, place)
            await assert_stored(pilot, place, f"word {number} after {key.replace('+', ' ')}")


async def assert_nothing_is_lost(make: Make, seed: int, rounds: int) -> None:
    """So many random sequences in one run of the program, each with a message after it."""
    chance = random.Random(seed)
    place = make()
    await talk(place.store, "Tides", [("Why?", "The moon.")])
    async with place.app.run_test(size=chance.choice([(140, 40), (80, 24)])) as pilot:
        await settle(pilot)
        for number in range(rounds):
            keys = [key for one in chance.choices(BURSTS, k=chance.randint(2, 6)) for key in one]
            press_at_once(place.app, keys)
            try:
                await back_at_the_prompt(pilot, place)
                await assert_stored(pilot, place, f"word {seed} {number}")
            except Exception as error:
                error.add_note(f"after {keys}")
                raise


@pytest.mark.parametrize("seed", range(3))
async def test_after_any_keys_at_once_a_message_is_stored(make: Make, seed: int) -> None:
    await assert_nothing_is_lost(make, seed, 10)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(1000, 1100))
async def test_ten_thousand_random_sequences_lose_no_message(make: Make, seed: int) -> None:
    await assert_nothing_is_lost(make, seed, 100)


async def test_what_is_typed_after_the_key_that_closes_the_private_room_is_done_in_its_order(
    make: Make,
) -> None:
    place = make()
    async with place.app.run_test(size=(140, 40)) as pilot:
        await settle(pilot)
        await pilot.press("ctrl+g")
        await open_private(pilot, place, PASSPHRASE)
        await settle(pilot)
        press_at_once(place.app, ["ctrl+g", *"/off", "enter", *"nobody", "enter"])
        await settle(pilot)
        await assert_until(pilot, lambda: chat(place.app).current.id is not None)
        await settle(pilot)
        assert await place.store.list_sessions() == []
        off = place.desk.at(RoomKind.OFF_RECORD).store
        [session] = await off.list_sessions()
        assert (await off.branch(session.id))[0].content == "nobody"


async def test_what_is_typed_right_after_enter_is_another_message(make: Make) -> None:
    place = make()
    async with place.app.run_test(size=(140, 40)) as pilot:
        await settle(pilot)
        press_at_once(place.app, [*"one", "enter", *"two", "enter", *"three"])
        await assert_until(pilot, lambda: chat(place.app).prompt.text == "three")
        await settle(pilot)
        [session] = await place.store.list_sessions()
        said = [m.content for m in await place.store.branch(session.id) if m.role is Role.USER]
        assert said == ["one", "two"]


async def test_a_message_sent_from_far_above_the_end_of_a_long_conversation_is_stored(make: Make) -> None:
    place = make()
    session = await talk(place.store, "Tides", [(f"Question {n}?", f"Answer {n}.") for n in range(24)])
    async with place.app.run_test(size=(140, 40)) as pilot:
        await settle(pilot)
        screen = await turn_to(pilot, place, session.id)
        for _ in range(12):
            await pilot.press("pageup")
            await settle(pilot)
        # So many are mounted that the farthest have to go, and the view is not at the end.
        assert len(screen.transcript.blocks) > 38
        await pilot.press("ctrl+end")
        await settle(pilot)
        await pilot.press("pageup", "pageup")
        await assert_stored(pilot, place, "from above")
        await assert_until(pilot, lambda: "from above" in shown(place))


async def test_enter_twice_on_the_palette_takes_the_conversation_away_from_nobody(make: Make) -> None:
    place = make()
    async with place.app.run_test(size=(140, 40)) as pilot:
        await settle(pilot)
        for words in ("off the", "four quiet", "theme"):
            press_at_once(place.app, ["ctrl+p", *words, "enter", *words, "enter", "enter"])
            await back_at_the_prompt(pilot, place)
            await assert_stored(pilot, place, f"after {words}")


async def test_the_palette_opens_again_while_it_is_still_closing(make: Make) -> None:
    place = make()
    async with place.app.run_test(size=(140, 40)) as pilot:
        await settle(pilot)
        for _ in range(3):
            place.app.action_command_palette()
            await pilot.pause()
            place.app.screen.dismiss()
            place.app.action_command_palette()
            await back_at_the_prompt(pilot, place)
        await assert_stored(pilot, place, "after the palette")
