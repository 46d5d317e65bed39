"""The locked door."""

import asyncio
from collections.abc import Callable

from textual.widgets import Input

from atlas_desktop.tui.chat.screen import ChatScreen
from atlas_desktop.tui.dialogs.questions import ErrorScreen
from atlas_desktop.tui.settings.dialogs import NewPassphraseScreen
from atlas_desktop.tui.setup.unlock import UnlockScreen
from memory.entities import MessageStatus, NewMessage
from memory.errors import FutureSchema
from models.messages import Role
from tests.fakes.clock import FakeClock
from tests.stores import InMemoryStore
from tests.tui.desk import NOW, PASSPHRASE, RECOVERY_KEY, FakeVault, Stage, talk
from tests.tui.driving import assert_until, on, settle, shown, type_text

Make = Callable[..., Stage]


async def test_the_passphrase_opens(make: Make) -> None:
    place = make(unlocked=False)
    async with place.app.run_test() as pilot:
        await settle(pilot)
        assert on(place.app, UnlockScreen)
        await type_text(pilot, PASSPHRASE)
        await pilot.press("enter")
        await settle(pilot)
        assert on(place.app, ChatScreen)


async def test_a_wrong_passphrase_is_told_and_can_be_typed_again(make: Make) -> None:
    place = make(unlocked=False)
    async with place.app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await type_text(pilot, "not it")
        await pilot.press("enter")
        await settle(pilot)
        assert "Wrong passphrase" in shown(place)
        field = place.app.screen.query_one("#secret", Input)
        assert field.value == ""
        assert field.has_focus
        await type_text(pilot, PASSPHRASE)
        await pilot.press("enter")
        await settle(pilot)
        assert on(place.app, ChatScreen)


async def test_keys_typed_while_a_passphrase_is_refused_are_the_next_attempt(make: Make) -> None:
    gate = asyncio.Event()
    place = make(unlocked=False, vault=FakeVault(gate=gate))
    async with place.app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await type_text(pilot, "not it")
        await pilot.press("enter")
        await type_text(pilot, PASSPHRASE[:4])
        gate.set()
        await assert_until(pilot, lambda: "Wrong passphrase" in shown(place))
        await type_text(pilot, PASSPHRASE[4:])
        assert place.app.screen.query_one("#secret", Input).value == PASSPHRASE
        await pilot.press("enter")
        await settle(pilot)
        assert on(place.app, ChatScreen)


async def test_unlocking_is_said_while_the_key_is_derived(make: Make) -> None:
    gate = asyncio.Event()
    place = make(unlocked=False, vault=FakeVault(gate=gate))
    async with place.app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await type_text(pilot, PASSPHRASE)
        await pilot.press("enter")
        await assert_until(pilot, lambda: "Unlocking…" in shown(place))
        gate.set()
        await settle(pilot)
        assert on(place.app, ChatScreen)


async def test_the_recovery_key_opens(make: Make) -> None:
    place = make(unlocked=False)
    async with place.app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("ctrl+r")
        await type_text(pilot, RECOVERY_KEY)
        assert RECOVERY_KEY in shown(place)
        await pilot.press("enter")
        # Whoever needed it has forgotten the passphrase, or fears that somebody else knows it.
        await assert_until(pilot, lambda: "Opened with the recovery key" in shown(place))
        assert on(place.app, NewPassphraseScreen)
        await pilot.press("escape")
        await settle(pilot)
        assert on(place.app, ChatScreen)


async def test_what_was_wrong_with_one_key_is_not_said_of_the_other(make: Make) -> None:
    place = make(unlocked=False)
    async with place.app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await type_text(pilot, "not it")
        await pilot.press("enter")
        await assert_until(pilot, lambda: "Wrong passphrase" in shown(place))
        await pilot.press("ctrl+r")
        await assert_until(pilot, lambda: "Wrong passphrase" not in shown(place))
        await settle(pilot)
        await type_text(pilot, "NOT-IT")
        await pilot.press("enter")
        await assert_until(pilot, lambda: "does not open this vault" in shown(place))
        await pilot.press("ctrl+r")
        await assert_until(pilot, lambda: "does not open this vault" not in shown(place))


async def test_the_keyring_opens_by_itself(make: Make) -> None:
    place = make(unlocked=False, vault=FakeVault(keyring="Secret Service", keyring_slot=True))
    async with place.app.run_test() as pilot:
        await settle(pilot)
        assert on(place.app, ChatScreen)


async def test_a_keyring_that_refuses_leaves_the_passphrase(make: Make) -> None:
    vault = FakeVault(keyring="Secret Service", keyring_slot=True, keyring_refuses=True)
    place = make(unlocked=False, vault=vault)
    async with place.app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        assert "The system keyring cannot be used" in shown(place)
        await type_text(pilot, PASSPHRASE)
        await pilot.press("enter")
        await settle(pilot)
        assert on(place.app, ChatScreen)


async def test_nothing_of_what_is_inside_is_shown(make: Make) -> None:
    place = make(unlocked=False)
    await talk(place.store, "A very private title", [("secret words", "an answer")])
    async with place.app.run_test() as pilot:
        await settle(pilot)
        assert "private title" not in shown(place)
        await pilot.press("ctrl+p")
        await settle(pilot)
        await pilot.press("escape", "ctrl+o", "ctrl+n", "f6", "f9", "f8", "escape")
        await settle(pilot)
        assert on(place.app, UnlockScreen)
        assert "private title" not in shown(place)


async def test_a_room_that_cannot_be_opened_is_explained(make: Make) -> None:
    place = make(unlocked=False)

    async def refuse(_key: object, _room: object) -> object:
        raise FutureSchema(9, 1)

    place.desk.open_store = refuse  # type: ignore[assignment]
    async with place.app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await type_text(pilot, PASSPHRASE)
        await pilot.press("enter")
        await settle(pilot)
        assert isinstance(place.app.screen, UnlockScreen | ErrorScreen)
        assert "This vault is from a newer Atlas" in shown(place)


async def test_after_a_crash_during_a_reply_its_conversation_is_shown(make: Make) -> None:
    store = InMemoryStore(FakeClock(NOW))
    await talk(store, "Tides", [("When is high water?", "At noon.")])
    ropes = await talk(store, "Ropes", [("Which knots?", "The bowline.")])
    await talk(store, "Sails", [("And jibs?", "Small ones.")])
    await store.append_message(ropes.id, NewMessage(Role.USER, "And hitches?"))
    await store.append_message(
        ropes.id, NewMessage(Role.ASSISTANT, "The clove hit", status=MessageStatus.STREAMING)
    )
    await store.close()
    place = make(unlocked=False, store=store.reopened())
    async with place.app.run_test() as pilot:
        await settle(pilot)
        await type_text(pilot, PASSPHRASE)
        await pilot.press("enter")
        await assert_until(pilot, lambda: "The clove hit" in shown(place))
        assert "Interrupted here" in shown(place)
    # It was told once: the next start begins anew.
    await place.store.close()
    assert place.store.reopened().interrupted is None


async def test_a_refused_recovery_key_stays_to_be_compared_with_the_copy(make: Make) -> None:
    place = make(unlocked=False)
    async with place.app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await pilot.press("ctrl+r")
        await type_text(pilot, RECOVERY_KEY[:-1] + "B")
        await pilot.press("enter")
        await assert_until(pilot, lambda: "use your passphrase (Ctrl+R)" in shown(place))
        field = place.app.screen.query_one("#secret", Input)
        assert field.value == RECOVERY_KEY[:-1] + "B"
        await pilot.press("backspace")
        await type_text(pilot, "A")
        await pilot.press("enter")
        await assert_until(pilot, lambda: on(place.app, NewPassphraseScreen))
