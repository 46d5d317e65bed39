"""Skills in the memory browser and below replies."""

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, TextArea

from atlas_desktop.services.skills import SkillService
from atlas_desktop.tui.dialogs.forms import FieldsScreen, TextEditScreen
from atlas_desktop.tui.dialogs.questions import ConfirmScreen, PickScreen
from memory.entities import NewMessage, NewSession
from memory.skills.entities import (
    NewSkill,
    Skill,
    SkillAuthor,
    SkillSource,
    SkillState,
    SkillText,
    SourceKind,
    UsedSkill,
    Verdict,
)
from models.messages import Role
from tests.fakes.clock import FakeClock
from tests.stores import InMemoryStore
from tests.tui.desk import NOW, Stage, stage
from tests.tui.driving import assert_until, on, say, settle, shown, type_text
from tests.tui.test_snapshots import THEMES, Snap, still, taken, unwritten

__all__ = ["still", "unwritten"]
HOME = Path("/home/ada/.local/share/atlas-desktop")
SIZE = (120, 40)
OWN_SIZES = pytest.mark.parametrize("size", [(80, 24), (200, 60)], ids=["80x24", "200x60"])
Make = Callable[..., Stage]
TAB = ["right"] * 5
SAILING, WHAT = "pack-for-sailing", "How to pack for a weekend of sailing."


async def skilled() -> InMemoryStore:
    """A room with a skill in use that waits for a new version, a draft with a source, and a harmful skill."""
    clock = FakeClock(NOW)
    store = InMemoryStore(clock)
    session, said = await store.create_session(
        NewSession("Invoices"), NewMessage(Role.USER, "I always send the invoice on Friday.")
    )
    skills = SkillService(store)
    await skills.new(SAILING, WHAT, "1. Read the forecast.\n2. Pack two ropes.\n")
    await skills.edit(SAILING, body="1. Read the forecast.\n2. Pack three ropes.\n")
    sailing = NewSkill(
        SAILING, SkillText(WHAT, "1. Read the forecast.\n2. Pack a rope.\n"), SkillAuthor.IMPORT
    )
    await skills.propose(sailing)
    await skills.propose(
        NewSkill(
            "send-the-invoice",
            SkillText("Send the invoice on Friday.", "1. Send the invoice on Friday.\n"),
            SkillAuthor.ATLAS,
            (SkillSource(SourceKind.MESSAGE, said.id),),
        )
    )
    harmful = await skills.new("answer-in-verse", "Answer in verse.", "1. Rhyme.\n")
    for _ in range(2):
        reply = await store.append_message(session.id, NewMessage(Role.ASSISTANT, "A reply."))
        await store.skills.begin_use(session.id, reply.id, UsedSkill(harmful.id, harmful.name, 1, said.id))
        await store.skills.count_uses(reply.id)
        await store.skills.judge(reply.id, Verdict.HARMED)
    return store


async def opened(pilot: Pilot[None], place: Stage) -> None:
    await settle(pilot)
    await pilot.press("f3")
    await assert_until(pilot, lambda: "What Atlas remembers" in shown(place))
    await pilot.press(*TAB)
    await assert_until(pilot, lambda: "answer-in-verse" in shown(place))


async def skill(place: Stage, name: str) -> Skill:
    return await place.app.room.skills.get(name)


@OWN_SIZES
@THEMES
def test_skills(snap_compare: Snap, size: tuple[int, int], theme: str) -> None:
    place = stage(HOME, theme=theme, store=asyncio.run(skilled()), clock=FakeClock(NOW))
    assert taken(snap_compare, place, size, opened)


@OWN_SIZES
def test_a_skill_in_use(snap_compare: Snap, size: tuple[int, int]) -> None:
    async def steps(pilot: Pilot[None], place: Stage) -> None:
        await opened(pilot, place)
        await pilot.press("down", "down", "down")
        await assert_until(pilot, lambda: "Pack three ropes" in shown(place))

    place = stage(HOME, store=asyncio.run(skilled()), clock=FakeClock(NOW))
    assert taken(snap_compare, place, size, steps)


async def test_a_draft_is_approved_and_another_rejected(make: Make) -> None:
    place = make(store=await skilled())
    async with place.app.run_test(size=SIZE) as pilot:
        await opened(pilot, place)
        assert "+2. Pack a rope." in shown(place)
        await pilot.press("a")
        await assert_until(pilot, lambda: "approved · version 3" in shown(place))
        assert "Pack a rope" in (await skill(place, SAILING)).body
        await assert_until(pilot, lambda: "I always send the invoice" in shown(place))
        await pilot.press("r")
        await assert_until(pilot, lambda: on(place.app, ConfirmScreen))
        await pilot.click("#yes")
        await assert_until(pilot, lambda: "send-the-invoice" not in shown(place))
        assert await place.app.room.skills.drafts() == []


async def test_what_was_done_to_a_skill_is_undone_and_no_memory_with_it(make: Make) -> None:
    store = await skilled()
    place = make(store=store)
    async with place.app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        memory = await place.app.room.knowledge.add("I work from Mondays to Thursdays.")
        await place.app.room.knowledge.pin([memory.id])
        await opened(pilot, place)
        await pilot.press("a")
        await assert_until(pilot, lambda: "approved · version 3" in shown(place))
        await pilot.press("u")
        await assert_until(pilot, lambda: "approved · version 2" in shown(place))
        await pilot.press("end", "t")
        await assert_until(pilot, lambda: "retired · version 2" in shown(place))
        await pilot.press("u")
        await assert_until(pilot, lambda: "approved · version 2" in shown(place))
        assert (await skill(place, SAILING)).state is SkillState.APPROVED
        assert (await store.memories.get(memory.id)).pinned
        # Before these, the pin was the latest change.
        await pilot.press("u")
        await settle(pilot)
        assert not (await store.memories.get(memory.id)).pinned


async def test_drafts_are_in_the_inbox_as_well(make: Make) -> None:
    place = make(store=await skilled())
    async with place.app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await pilot.press("f3")
        await assert_until(pilot, lambda: "Inbox 2" in shown(place))
        assert "waits for your approval" in shown(place)


async def test_an_earlier_version_is_used_again_and_an_edit_makes_a_new_one(make: Make) -> None:
    place = make(store=await skilled())
    async with place.app.run_test(size=SIZE) as pilot:
        await opened(pilot, place)
        await pilot.press("end", "b")
        await assert_until(pilot, lambda: on(place.app, PickScreen))
        await pilot.press("enter")
        await assert_until(pilot, lambda: "Pack two ropes" in shown(place))
        assert (await skill(place, SAILING)).version == 1
        await pilot.press("e")
        await assert_until(pilot, lambda: on(place.app, TextEditScreen))
        place.app.screen.query_one(TextArea).text = "1. Pack nothing."
        await pilot.press("ctrl+s")
        await assert_until(pilot, lambda: "Pack nothing" in shown(place))
        assert (await skill(place, SAILING)).version == 4


async def test_a_retired_skill_has_a_key_that_uses_it_again(make: Make) -> None:
    place = make(store=await skilled())
    async with place.app.run_test(size=(160, 40)) as pilot:
        await opened(pilot, place)
        await pilot.press("end")
        await assert_until(pilot, lambda: "t Retire" in shown(place))
        assert "Use again" not in shown(place)
        await pilot.press("t")
        await assert_until(pilot, lambda: "t Use again" in shown(place))
        await pilot.press("b")
        await assert_until(pilot, lambda: on(place.app, PickScreen))
        await pilot.press("enter")
        said = "Version 1 is chosen, but the skill is retired: t uses it again."
        await assert_until(pilot, lambda: any(said in one.message for one in place.app._notifications))
        await pilot.press("t")
        await assert_until(pilot, lambda: "t Retire" in shown(place))
        assert (await skill(place, SAILING)).state is SkillState.APPROVED


async def test_a_skill_is_retired_and_removed(make: Make) -> None:
    place = make(store=await skilled())
    async with place.app.run_test(size=SIZE) as pilot:
        await opened(pilot, place)
        await pilot.press("down", "down")
        await assert_until(pilot, lambda: "Rhyme" in shown(place))
        assert "harms more than it helps" in shown(place)
        await pilot.press("t")
        await assert_until(pilot, lambda: "retired · version 1" in shown(place))
        assert (await skill(place, "answer-in-verse")).state is SkillState.RETIRED
        await pilot.press("delete")
        await assert_until(pilot, lambda: on(place.app, ConfirmScreen))
        await pilot.click("#yes")
        await assert_until(pilot, lambda: "answer-in-verse" not in shown(place))


def says(place: Stage, text: str) -> bool:
    return text in shown(place)


async def test_a_skill_is_written_and_a_bad_name_is_explained(make: Make) -> None:
    place = make(store=await skilled())
    async with place.app.run_test(size=SIZE) as pilot:
        await opened(pilot, place)
        await pilot.press("c")
        await assert_until(pilot, lambda: on(place.app, FieldsScreen))
        first, second = place.app.screen.query(Input)
        second.value = "What it is for"
        second.focus()
        for name, reason in (("Bad Name", "at most 64 characters"), (SAILING, "There is already a skill")):
            first.value = name
            await pilot.press("enter")
            await assert_until(pilot, partial(says, place, reason))
            # What was typed stays.
            assert (first.value, second.value) == (name, "What it is for")
        first.value = "good-name"
        await pilot.press("enter")
        await assert_until(pilot, lambda: on(place.app, TextEditScreen))
        await pilot.press("ctrl+s")
        await assert_until(pilot, partial(says, place, "a skill without instructions does nothing"))
        place.app.screen.query_one(TextArea).text = "1. Do it."
        await pilot.press("ctrl+s")
        await assert_until(pilot, lambda: not on(place.app, TextEditScreen) and "good-name" in shown(place))
        assert (await skill(place, "good-name")).state is SkillState.APPROVED


async def test_a_reply_says_which_skill_it_used_also_when_it_is_opened_again(make: Make) -> None:
    store = InMemoryStore(FakeClock(NOW))
    await SkillService(store).new(SAILING, WHAT, "1. Pack two ropes.")
    place = make(store=store)
    async with place.app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await say(pilot, "How do I pack for a weekend of sailing?")
        await assert_until(pilot, lambda: f"Used skill: {SAILING}" in shown(place))
        await pilot.press("ctrl+n")
        await assert_until(pilot, lambda: "Used skill" not in shown(place))


async def test_you_say_that_the_skill_of_a_reply_helped_and_take_it_back(make: Make) -> None:
    store = InMemoryStore(FakeClock(NOW))
    await SkillService(store).new(SAILING, WHAT, "1. Pack two ropes.")
    place = make(store=store)
    async with place.app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await say(pilot, "How do I pack for a weekend of sailing?")
        await assert_until(pilot, lambda: f"Used skill: {SAILING}" in shown(place))
        await pilot.press("escape", "shift+tab", "minus")
        await assert_until(pilot, lambda: f"Used skill: {SAILING} · it did not help" in shown(place))
        await pilot.press("plus")
        await assert_until(pilot, lambda: f"Used skill: {SAILING} · it helped" in shown(place))
        judged = await skill(place, SAILING)
        assert (judged.helped, judged.harmed) == (1, 0)
        await pilot.press("plus")
        await assert_until(pilot, lambda: "it helped" not in shown(place))
        assert (await skill(place, SAILING)).helped == 0


async def test_a_reply_without_a_skill_has_none_to_judge(make: Make) -> None:
    place = make(store=InMemoryStore(FakeClock(NOW)))
    async with place.app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await say(pilot, "Hello.")
        await type_text(pilot, "/helped")
        await pilot.press("enter")
        await assert_until(
            pilot,
            lambda: any("this reply used no skill" in one.message for one in place.app._notifications),
        )


async def test_a_command_shows_the_skills(make: Make) -> None:
    place = make(store=await skilled())
    async with place.app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await say(pilot, "/skills")
        await assert_until(pilot, lambda: "pack-for-sailing" in shown(place))
