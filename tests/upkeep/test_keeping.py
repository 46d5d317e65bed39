"""What goes by itself, and what is made by itself."""

from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from atlas_desktop.services.background import BackgroundService
from atlas_desktop.services.backup import ScheduledBackups
from atlas_desktop.services.context import EpochService
from atlas_desktop.services.retention import HeldBack, RetentionService
from atlas_desktop.settings.schema import BackupSettings, JobSettings, RetentionSettings
from memory.entities import MessagePatch, NewMessage, NewSession, SessionPatch
from memory.errors import ProjectNotFound, SessionNotFound
from memory.jobs.foreground_gate import ForegroundGate
from memory.jobs.queue import JobState
from memory.storage.store import Store
from models.messages import Role
from tests.upkeep.conftest import Home


class NoEpochs:
    """States of a model that nobody started."""

    async def forget(self, session_ids: list[str]) -> int:
        return 0


@pytest.fixture
async def store(made: Home) -> AsyncIterator[Store]:
    opened = await made.open()
    yield opened
    await opened.close()


@pytest.fixture
def background(made: Home, store: Store) -> BackgroundService:
    return BackgroundService(store, made.clock, ForegroundGate(), JobSettings())


def retention(
    made: Home, store: Store, background: BackgroundService, settings: RetentionSettings
) -> RetentionService:
    epochs: EpochService = NoEpochs()  # type: ignore[assignment]
    return RetentionService(store, made.clock, background, epochs, lambda: settings)


async def begun(store: Store, title: str, project: str | None = None) -> str:
    session, _ = await store.create_session(NewSession(title, project=project), NewMessage(Role.USER, title))
    return session.id


async def test_the_daily_duty_removes_what_the_preview_names(
    made: Home, store: Store, background: BackgroundService
) -> None:
    service = retention(made, store, background, RetentionSettings(open_days=30))
    old = await begun(store, "old")
    starred = await begun(store, "starred")
    await store.update_session(starred, SessionPatch(starred=True))
    marked = await begun(store, "marked")
    await store.update_message((await store.branch(marked))[0].id, MessagePatch(important=True))
    garden = await begun(store, "garden", "garden")
    await service.set_project("garden", 0)
    binned = await begun(store, "binned")
    await store.bin_session(binned)
    assert await service.preview() == []

    made.clock.advance(timedelta(days=31))
    new = await begun(store, "new")
    named = {one.candidate.session_id for one in await service.preview()}
    assert {old, binned} < named
    assert not {starred, marked, garden, new} & named
    report = await background.run()
    assert (report.done, report.failed) == (1, 0)
    assert {s.id for s in await store.list_sessions()} == {starred, marked, garden, new}
    with pytest.raises(SessionNotFound):
        await store.get_session(binned)
    assert (await background.run()).done == 0


async def test_a_clock_that_is_a_year_ahead_erases_nothing_until_somebody_agrees(
    made: Home, store: Store, background: BackgroundService
) -> None:
    service = retention(made, store, background, RetentionSettings())
    told: list[HeldBack] = []
    service.on_held_back = told.append
    binned = await begun(store, "binned")
    await store.bin_session(binned)
    assert (await background.run()).done == 1
    made.clock.advance(timedelta(days=365))
    assert (await background.run()).done == 1
    assert (await store.get_session(binned)).deleted_at is not None
    assert [one.sessions for one in told] == [1]
    # Time that really passes counts: day after day it comes nearer, by the clock that is ahead.
    for _ in range(22):
        made.clock.advance(timedelta(days=1))
        await background.run()
    assert (await store.get_session(binned)).deleted_at is not None
    made.clock.advance(timedelta(days=2))
    await background.run()
    with pytest.raises(SessionNotFound):
        await store.get_session(binned)


async def test_who_applies_it_says_that_the_clock_is_right(
    made: Home, store: Store, background: BackgroundService
) -> None:
    service = retention(made, store, background, RetentionSettings())
    binned = await begun(store, "binned")
    await store.bin_session(binned)
    assert await service.held_back() is None
    made.clock.advance(timedelta(days=40))
    held = await service.held_back()
    assert held is not None
    assert (held.sessions, held.ahead.days) == (1, 33)
    assert [one.candidate.session_id for one in await service.preview()] == [binned]
    assert (await service.apply()).sessions == 1
    assert await service.held_back() is None


async def test_days_of_a_project_can_be_taken_back(
    made: Home, store: Store, background: BackgroundService
) -> None:
    service = retention(made, store, background, RetentionSettings())
    await begun(store, "garden", "garden")
    await service.set_project("garden", 7)
    assert (await service.policy()).projects == {"garden": 7}
    made.clock.advance(timedelta(days=8))
    assert (await service.apply()).sessions == 1
    with pytest.raises(ProjectNotFound):
        await service.set_project("kitchen", 7)
    await begun(store, "again", "garden")
    await service.set_project("garden", None)
    assert (await service.policy()).projects == {}


async def test_backups_are_made_when_they_are_due_and_the_oldest_go(
    made: Home, background: BackgroundService
) -> None:
    settings = BackupSettings(every_days=2, keep=2)
    ScheduledBackups(background, made.backups, made.key(), lambda: settings)
    for day in range(8):
        assert (await background.run()).done == (day % 2 == 0)
        made.clock.advance(timedelta(days=1))
    kept = made.backups().kept()
    assert len(kept) == 2
    assert [file.name[:16] for file in kept] == ["atlas-2026-01-05", "atlas-2026-01-07"]


async def test_a_backup_that_cannot_be_made_is_in_the_list_of_jobs(
    made: Home, background: BackgroundService
) -> None:
    (made.folder / "backups").write_text("no folder")
    ScheduledBackups(background, made.backups, made.key(), lambda: BackupSettings(every_days=1))
    assert (await background.run()).failed == 1
    (job,) = (await background.overview()).jobs
    assert (job.kind, job.state, job.error) == ("backup", JobState.QUEUED, "OutputRefused")
