"""What a person does with memories."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from atlas_desktop.cli import output
from atlas_desktop.services.background import BackgroundService
from atlas_desktop.services.memories import LONGEST, KnowledgeService, UpkeepService, Wish, rules_of
from atlas_desktop.settings.schema import MemorySettings, Settings
from memory.entities import NewMessage, NewSession
from memory.errors import AmbiguousId, CannotUndo, ChangeNotFound, MemoryNotFound
from memory.jobs.foreground_gate import ForegroundGate
from memory.memories.entities import (
    MemoryFilter,
    MemoryKind,
    MemoryOrigin,
    MemoryPatch,
    MemorySource,
    MemoryState,
    MemoryTier,
    NewMemory,
    TimesOutOfOrder,
)
from memory.memories.lifetime import FadingReason, Retention
from models.messages import Role
from tests.fakes.clock import FakeClock
from tests.fakes.models import ScriptedChatModel
from tests.stores import InMemoryStore


class Place:
    """A room with its knowledge; `embedded` counts how often new words were told of."""

    def __init__(self, settings: MemorySettings | None = None) -> None:
        self.clock = FakeClock()
        self.store = InMemoryStore(self.clock)
        self.embedded = 0
        chosen = settings or MemorySettings()

        async def changed() -> None:
            self.embedded += 1

        self.knowledge = KnowledgeService(self.store, self.clock, lambda: chosen, changed)
        self.background = BackgroundService(
            self.store, self.clock, ForegroundGate(), Settings().jobs, power=None
        )
        self.upkeep = UpkeepService(
            self.store,
            self.clock,
            self.background,
            lambda: Settings(memory=chosen),
            ScriptedChatModel,
            changed,
        )


async def test_nothing_ends_before_it_begins() -> None:
    place = Place()
    now = place.clock.now()
    before = now - timedelta(days=1)
    with pytest.raises(TimesOutOfOrder):
        await place.knowledge.add("I lived in Graz", Wish(valid_from=now, valid_until=before))
    assert await place.knowledge.select() == []
    known = await place.knowledge.add("I lived in Graz", Wish(valid_from=now, valid_until=now))
    for patch in (MemoryPatch(valid_until=before), MemoryPatch(valid_from=now + timedelta(days=1))):
        with pytest.raises(TimesOutOfOrder):
            await place.knowledge.edit(known.id, patch)
    await place.knowledge.edit(known.id, MemoryPatch(valid_from=before, valid_until=before))
    open_end = await place.knowledge.edit(known.id, MemoryPatch(valid_from=now, valid_until=None))
    assert (open_end.valid_from, open_end.valid_until) == (now, None)


async def test_what_a_person_adds_is_kept_at_once_where_it_belongs() -> None:
    place = Place()
    fact = await place.knowledge.add("  My bus is the \x1b[31m12 ")
    assert fact.text == "My bus is the [31m12"
    assert (fact.state, fact.origin, fact.tier) == (
        MemoryState.KEPT,
        MemoryOrigin.PERSON,
        MemoryTier.LONG_TERM,
    )
    brief = await place.knowledge.add("The parcel comes", Wish(tier=MemoryTier.SHORT_TERM, importance=0.0))
    assert brief.expires_at is not None
    assert timedelta(hours=24) <= brief.expires_at - fact.created_at < timedelta(hours=25)
    how = await place.knowledge.add("Water first", Wish(kind=MemoryKind.PROCEDURE))
    liked = await place.knowledge.add("I prefer short answers", Wish(pinned=True))
    assert (liked.kind, liked.pinned) == (MemoryKind.PREFERENCE, True)
    assert (how.tier, how.state) == (MemoryTier.PROCEDURAL, MemoryState.KEPT)
    assert place.embedded == 4
    for bad in (" \x1b ", "x" * (LONGEST + 1)):
        with pytest.raises(ValueError, match="a memory"):
            await place.knowledge.add(bad)


async def learned(place: Place, text: str, **given: object) -> str:
    usual: dict[str, object] = {"kind": MemoryKind.FACT, "origin": MemoryOrigin.MODEL}
    return (await place.store.memories.add(NewMemory(text=text, **(usual | given)))).id  # type: ignore[arg-type]


async def test_the_inbox_is_accepted_in_one_step_that_is_undone_as_one() -> None:
    place = Place()
    ids = [await learned(place, f"Thing {n}") for n in range(3)]
    assert [one.id for one in await place.knowledge.inbox()] == ids[::-1]
    await place.knowledge.accept_all()
    assert await place.knowledge.inbox() == []
    await place.knowledge.undo("last")
    assert len(await place.knowledge.inbox()) == 3
    assert await Place().knowledge.accept_all() == []


async def test_a_correction_is_kept_and_another_tier_brings_its_own_end() -> None:
    place = Place()
    key = await learned(place, "Her cat is grey")
    edited = await place.knowledge.edit(key, MemoryPatch(text=" Her cat is black "))
    assert (edited.text, edited.version, edited.state) == ("Her cat is black", 2, MemoryState.KEPT)
    brief = await place.knowledge.edit(key, MemoryPatch(tier=MemoryTier.SHORT_TERM))
    assert brief.expires_at is not None
    lasting = await place.knowledge.edit(key, MemoryPatch(tier=MemoryTier.LONG_TERM))
    assert lasting.expires_at is None
    details = await place.knowledge.details(key)
    assert [one.text for one in details.versions] == ["Her cat is grey"]
    assert len(details.changes) == 4
    with pytest.raises(ValueError, match="a memory"):
        await place.knowledge.edit(key, MemoryPatch(text=" "))


async def test_reject_pin_and_rescue() -> None:
    place = Place()
    key = await learned(place, "Thing")
    assert (await place.knowledge.reject([key]))[0].state is MemoryState.REJECTED
    assert (await place.knowledge.accept([key, key]))[0].state is MemoryState.KEPT
    assert (await place.knowledge.pin([key]))[0].pinned
    assert not (await place.knowledge.pin([key], pinned=False))[0].pinned
    end = place.clock.now() - timedelta(hours=1)
    going = await learned(place, "Going", tier=MemoryTier.SHORT_TERM, expires_at=end)
    assert [expiry.why for expiry in await place.upkeep.fading()] == [FadingReason.EXPIRED]
    await place.upkeep.collect()
    (again,) = await place.knowledge.accept([going])
    assert again.expires_at is not None
    assert again.expires_at > place.clock.now()
    (back,) = await place.knowledge.rescue([going])
    assert (back.state, back.tier, back.expires_at) == (MemoryState.KEPT, MemoryTier.LONG_TERM, None)
    assert await place.upkeep.fading() == []


async def test_the_newest_memory_is_pinned_unless_one_is_named() -> None:
    place = Place()
    assert await place.knowledge.pin_latest() is None
    first, second = await learned(place, "First"), await learned(place, "Second")
    newest = await place.knowledge.pin_latest()
    assert newest is not None
    assert newest.id == second
    named = await place.knowledge.pin_latest(first)
    assert named is not None
    assert named.id == first


async def test_ids_that_mean_nothing_or_too_much() -> None:
    place = Place()
    first, second = await learned(place, "First"), await learned(place, "Second")
    with pytest.raises(MemoryNotFound):
        await place.knowledge.accept(["ffff"])
    common = next(first[:n] for n in range(len(first), 0, -1) if second.startswith(first[:n]))
    with pytest.raises(AmbiguousId):
        await place.knowledge.details(common)
    with pytest.raises(ChangeNotFound):
        await place.knowledge.undo("ffff")
    with pytest.raises(ChangeNotFound):
        await place.knowledge.undo(" ")
    changes = await place.knowledge.changes()
    undone = await place.knowledge.undo(changes[0].id)
    with pytest.raises(CannotUndo):
        await place.knowledge.undo(undone.id)


async def test_a_view_tells_of_the_words_behind_a_memory() -> None:
    place = Place()
    said = NewMessage(Role.USER, "My sister Anna lives in Oslo.")
    session, message = await place.store.create_session(NewSession("Anna"), said)
    source = MemorySource(message.id, session.id, "Anna lives in Oslo")
    key = await learned(place, "Her sister Anna lives in Oslo", sources=(source,))
    (view,) = await place.knowledge.views([await place.store.memories.get(key)])
    shape = output.memory(view)
    assert shape["sources"] == [
        {
            "session": session.id,
            "message": message.id,
            "external_id": None,
            "quote": "Anna lives in Oslo",
            "created_at": message.created_at.isoformat(),
        }
    ]
    assert shape["half_life_days"] == pytest.approx(28.881, abs=1e-3)


async def test_what_belongs_to_a_project_goes_some_time_after_it() -> None:
    place = Place()
    how = {"tier": MemoryTier.EPISODIC, "project": "Boat"}
    key = await learned(place, "The hull is oak", **how)
    await learned(place, "Elsewhere", tier=MemoryTier.EPISODIC)
    ended = place.clock.now()
    (one,) = await place.knowledge.end_project("Boat", ended)
    assert (one.id, one.expires_at) == (key, ended + timedelta(days=30))
    (again,) = await place.knowledge.end_project("Boat", None)
    assert again.expires_at is None
    await place.knowledge.end_project("Boat", ended - timedelta(days=31))
    await place.upkeep.collect()
    (back,) = await place.knowledge.end_project("Boat", None)
    assert (back.id, back.state, back.expires_at) == (key, MemoryState.INBOX, None)
    assert await place.knowledge.end_project("Ship", ended) == []


async def test_the_duties_come_round_and_do_their_work() -> None:
    place = Place()
    end = place.clock.now() - timedelta(hours=1)
    going = await learned(place, "Going", tier=MemoryTier.SHORT_TERM, expires_at=end)
    names = {state.duty.name for state in (await place.background.overview()).duties}
    assert names == {"promote memories", "collect faded memories", "consolidate memories"}
    report = await place.background.run()
    assert (report.done, report.failed) == (3, 0)
    assert (await place.store.memories.get(going)).state is MemoryState.ARCHIVED
    assert (await place.background.run()).done == 0


def test_the_settings_are_the_rules() -> None:
    assert rules_of(MemorySettings()) == Retention()
    assert rules_of(MemorySettings(archive_days=9, often=7)) == Retention(archive_days=9, often=7)


@pytest.mark.parametrize(
    ("names", "kinds"),
    [
        (output.KINDS, MemoryKind),
        (output.STATES, MemoryState),
        (output.TIERS, MemoryTier),
        (tuple(output.WHY), FadingReason),
    ],
)
def test_the_command_line_knows_every_name(names: tuple[str, ...], kinds: Callable[[], object]) -> None:
    assert set(names) == {str(one) for one in kinds}  # type: ignore[attr-defined]


async def test_other_states_are_listed_only_when_asked_for() -> None:
    place = Place()
    await learned(place, "Old", state=MemoryState.ARCHIVED)
    assert await place.knowledge.select() == []
    assert len(await place.knowledge.select(MemoryFilter(states=None))) == 1
