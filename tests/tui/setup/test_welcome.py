"""The way from nothing to the first conversation."""

import asyncio
from collections.abc import Callable

import pytest
from textual.widgets import Checkbox, Input

from atlas_desktop.error_table import explain
from atlas_desktop.services.vault import Created
from atlas_desktop.tui.chat.screen import ChatScreen
from atlas_desktop.tui.models.onboarding import Offer
from atlas_desktop.tui.setup.first_model import ModelScreen
from atlas_desktop.tui.setup.welcome import CLAIM, RecoveryScreen, WelcomeScreen
from memory.errors import StorageFull, WeakPassphrase
from memory.vault.keys import RoomKey
from models.errors import DownloadFailed
from tests.tui.desk import OFFERS, PASSPHRASE, RECOVERY_KEY, FakeShelf, FakeVault, NamedModel, Stage
from tests.tui.driving import assert_until, on, settle, shown, type_text

Make = Callable[..., Stage]
NEW = {"unlocked": False}


async def test_from_nothing_to_the_first_conversation(make: Make) -> None:
    shelf = FakeShelf(chosen=None)
    place = make(vault=FakeVault(made=False), shelf=shelf, **NEW)
    async with place.app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        assert on(place.app, WelcomeScreen)
        screen = " ".join(shown(place).split())
        assert str(place.desk.paths.home)[:20] in screen
        assert " ".join(CLAIM.split()[:12]) in screen
        await type_text(pilot, PASSPHRASE)
        await pilot.press("enter")
        await type_text(pilot, PASSPHRASE)
        await pilot.press("enter")
        await settle(pilot)

        recovery = place.app.screen
        assert isinstance(recovery, RecoveryScreen)
        groups = RECOVERY_KEY.split("-")
        assert all(group in shown(place) for group in groups)
        asked = [groups[number] for number in recovery._ask]
        await type_text(pilot, asked[0].lower())
        await pilot.press("enter")
        await type_text(pilot, asked[1])
        await pilot.press("enter")
        await settle(pilot)

        assert on(place.app, ModelScreen)
        assert "start now" in shown(place)
        assert "fits · 98.4 MB · Apache-2.0" in shown(place)
        assert "may be slow" in shown(place)
        assert "won't fit" in shown(place)
        await pilot.press("enter")
        await settle(pilot)
        assert on(place.app, ChatScreen)
        assert shelf.chosen == "smollm2-135m"


async def test_a_model_that_is_there_is_not_asked_for(make: Make) -> None:
    place = make(vault=FakeVault(made=False), **NEW)
    async with place.app.run_test() as pilot:
        await settle(pilot)
        await place.app.enter(place.vault.key)
        await settle(pilot)
        assert on(place.app, ChatScreen)


async def test_two_different_passphrases_are_not_taken(make: Make) -> None:
    place = make(vault=FakeVault(made=False), **NEW)
    async with place.app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await assert_until(pilot, lambda: place.app.screen.query_one("#passphrase", Input).has_focus)
        await pilot.press("enter")
        await assert_until(pilot, lambda: place.app.screen.query_one("#again", Input).has_focus)
        await pilot.press("enter")
        await assert_until(pilot, lambda: "Enter a passphrase." in shown(place))
        await type_text(pilot, "one")
        await pilot.press("tab")
        await type_text(pilot, "two")
        await pilot.press("enter")
        await pilot.pause()
        assert "differ" in shown(place)
        assert not place.vault.made


async def test_the_meter_follows_the_passphrase(make: Make) -> None:
    place = make(vault=FakeVault(made=False), **NEW)
    async with place.app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await type_text(pilot, "short")
        await assert_until(pilot, lambda: "very weak" in shown(place))
        await type_text(pilot, " but then it grows longer")
        await assert_until(pilot, lambda: "strong" in shown(place))


async def test_what_is_typed_after_a_refused_passphrase_replaces_it(make: Make) -> None:
    class Choosy(FakeVault):
        async def create(self, passphrase: str, *, confirm: bool = False) -> Created:
            if len(passphrase) < 8:
                raise WeakPassphrase(8)
            return await super().create(passphrase, confirm=confirm)

    place = make(vault=Choosy(made=False), **NEW)
    async with place.app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        for field in ("abc", "abc"):
            await type_text(pilot, field)
            await pilot.press("enter")
        await assert_until(pilot, lambda: "too short" in shown(place))
        for field in (PASSPHRASE, PASSPHRASE):
            await type_text(pilot, field)
            await pilot.press("enter")
        await assert_until(pilot, lambda: on(place.app, RecoveryScreen))


async def test_the_keyring_is_offered_only_where_one_answers(make: Make) -> None:
    without = make(vault=FakeVault(made=False), **NEW)
    async with without.app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        assert "keyring" not in shown(without).split("recover your data.")[1]


async def test_the_keyring_is_turned_on_when_wanted(make: Make) -> None:
    place = make(vault=FakeVault(made=False, keyring="Secret Service"), **NEW)
    async with place.app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        assert "Secret Service" in shown(place)
        screen = place.app.screen
        screen.query_one("#passphrase", Input).value = PASSPHRASE
        screen.query_one("#again", Input).value = PASSPHRASE
        screen.query_one("#keyring", Checkbox).value = True
        # What appears later moves the button: the box once the keyring was found, and the strength.
        await assert_until(pilot, lambda: "Secret Service" in shown(place) and "guessed in" in shown(place))
        await settle(pilot)
        await pilot.click("#create")
        await assert_until(pilot, lambda: on(place.app, RecoveryScreen))
        assert place.vault.keyring_slot
        assert on(place.app, RecoveryScreen)


@pytest.mark.parametrize("failure", [StorageFull(), OSError("no bus")], ids=["full disk", "system"])
async def test_the_recovery_key_is_shown_even_when_the_keyring_fails(make: Make, failure: Exception) -> None:
    class FailingVault(FakeVault):
        async def keyring_on(self, key: RoomKey) -> str:
            raise failure

    place = make(vault=FailingVault(made=False, keyring="Secret Service"), **NEW)
    async with place.app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        screen = place.app.screen
        screen.query_one("#passphrase", Input).value = PASSPHRASE
        screen.query_one("#again", Input).value = PASSPHRASE
        screen.query_one("#keyring", Checkbox).value = True
        # What appears later moves the button: the box once the keyring was found, and the strength.
        await assert_until(pilot, lambda: "Secret Service" in shown(place) and "guessed in" in shown(place))
        await settle(pilot)
        await pilot.click("#create")
        await assert_until(pilot, lambda: on(place.app, RecoveryScreen))
        assert on(place.app, RecoveryScreen)
        words = " ".join(shown(place).split())
        assert explain(failure).title in words
        assert "Your passphrase unlocks Atlas." in words


async def test_an_empty_group_is_asked_for(make: Make) -> None:
    place = make(**NEW)
    async with place.app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await place.app.turn_to(RecoveryScreen(place.app, place.vault.key, RECOVERY_KEY, ask=(1, 4)))
        await pilot.press("enter")
        await assert_until(pilot, lambda: "Group 2 is missing." in shown(place))
        # What is typed goes into the field that was empty.
        await type_text(pilot, "EFGH")
        await pilot.press("enter", "enter")
        await assert_until(pilot, lambda: "Group 5 is missing." in shown(place))
        assert on(place.app, RecoveryScreen)


async def test_a_wrong_group_is_named(make: Make) -> None:
    place = make(**NEW)
    async with place.app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await place.app.turn_to(RecoveryScreen(place.app, place.vault.key, RECOVERY_KEY, ask=(1, 4)))
        await type_text(pilot, "EFGH")
        await pilot.press("enter")
        await type_text(pilot, "NOPE")
        await pilot.press("enter")
        await pilot.pause()
        assert "Group 5 does not match." in shown(place)
        assert on(place.app, RecoveryScreen)


async def test_a_download_can_be_stopped_and_taken_up_again(make: Make) -> None:
    shelf = FakeShelf(chosen=None, gate=asyncio.Event())
    place = make(shelf=shelf)
    async with place.app.run_test(size=(80, 24)) as pilot:
        await assert_until(pilot, lambda: "SmolLM2" in shown(place))
        await pilot.press("enter")
        await assert_until(
            pilot, lambda: "Downloading SmolLM2 135M Instruct: 0 bytes of 98.4 MB" in shown(place)
        )
        await pilot.press("escape")
        await assert_until(pilot, lambda: "Stopped." in shown(place))
        assert "The partial download is kept" in shown(place)
        assert shelf.gate is not None
        shelf.gate.set()
        await pilot.press("enter")
        await settle(pilot)
        assert on(place.app, ChatScreen)


async def test_the_model_for_meaning_comes_along_and_a_conversation_does_not_wait_for_it(make: Make) -> None:
    meaning = Offer("minilm", "MiniLM", 46_000_000, "Apache-2.0", "fits")
    shelf = FakeShelf(chosen=None, meaning=meaning)
    place = make(shelf=shelf)
    async with place.app.run_test(size=(80, 24)) as pilot:
        await assert_until(pilot, lambda: "search by meaning: 46.0 MB" in " ".join(shown(place).split()))
        await pilot.press("enter")
        await settle(pilot)
        assert on(place.app, ChatScreen)
        assert shelf.pulled == ["smollm2-135m", "minilm"]


async def test_many_models_leave_the_progress_in_sight(make: Make) -> None:
    files = tuple(Offer(f"file:{n}", f"Found {n}", 9, "", "", program="Ollama") for n in range(20))
    shelf = FakeShelf(chosen=None, gate=asyncio.Event(), offered=(*OFFERS[:1], *files, *OFFERS[1:]))
    place = make(shelf=shelf)
    async with place.app.run_test(size=(80, 24)) as pilot:
        await assert_until(pilot, lambda: "found in Ollama" in shown(place))
        await assert_until(pilot, lambda: "Choose" in shown(place).splitlines()[-1])
        await pilot.press("end", "enter")
        await assert_until(pilot, lambda: "Downloading Big 70B" in shown(place))
        assert "won't fit" in shown(place)
        assert "Cancel the download" in shown(place)


async def test_a_failed_download_is_explained(make: Make) -> None:
    shelf = FakeShelf(chosen=None, failure=DownloadFailed("the registry", "no route to host"))
    place = make(shelf=shelf)
    async with place.app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await pilot.press("enter")
        await settle(pilot)
        assert "The download did not finish" in shown(place)
        assert "no route to host" in shown(place)
        assert on(place.app, ModelScreen)


async def test_conversations_can_be_read_without_a_model(make: Make) -> None:
    place = make(shelf=FakeShelf(chosen=None), model=NamedModel(missing=True))
    async with place.app.run_test() as pilot:
        await settle(pilot)
        assert on(place.app, ModelScreen)
        await pilot.press("ctrl+s")
        await settle(pilot)
        assert on(place.app, ChatScreen)


async def test_a_model_that_has_gone_leads_to_the_choice(make: Make) -> None:
    place = make(model=NamedModel(missing=True))
    async with place.app.run_test() as pilot:
        await assert_until(pilot, lambda: on(place.app, ModelScreen) and "Choose a model" in shown(place))
        assert "SmolLM2" in shown(place)


async def test_a_recovery_key_that_nobody_confirmed_is_replaced_at_the_next_start(make: Make) -> None:
    vault = FakeVault(made=False)
    first = make(vault=vault, **NEW)
    async with first.app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        for _ in range(2):
            await type_text(pilot, PASSPHRASE)
            await pilot.press("enter")
        await settle(pilot)
        assert on(first.app, RecoveryScreen)

    second = make(vault=vault, **NEW)
    async with second.app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await type_text(pilot, PASSPHRASE)
        await pilot.press("enter")
        await settle(pilot)
        recovery = second.app.screen
        assert isinstance(recovery, RecoveryScreen)
        assert "never confirmed" in shown(second)
        assert vault.renewed == 1
        for number in recovery._ask:
            await type_text(pilot, RECOVERY_KEY.split("-")[number])
            await pilot.press("enter")
        await settle(pilot)
        assert on(second.app, ChatScreen)
        assert not vault.recovery_unseen


async def test_a_full_disk_does_not_keep_out_who_never_confirmed_the_recovery_key(make: Make) -> None:
    class Full(FakeVault):
        async def new_recovery_key(self, key: RoomKey) -> str:
            raise StorageFull

    place = make(vault=Full(recovery_unseen=True))
    async with place.app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        assert on(place.app, ChatScreen)
