"""Sync of two devices, and of devices whose folder, room or program is not as it should be."""

import errno
import shutil
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from memory.entities import Message, MessagePatch, NewMessage, NewSession, RoomKind, SessionPatch, Target
from memory.errors import SyncFolderUnusable
from memory.memories.entities import (
    Memory,
    MemoryKind,
    MemoryOrigin,
    MemoryPatch,
    MemorySource,
    NewMemory,
)
from memory.organising import MarksPatch
from memory.sync import folder as sync_folder
from memory.sync.entities import Change, FileProblem
from memory.sync.exchange import head_name, segment_name
from memory.sync.folder import Kind
from models.messages import Role
from tests.contract.reading import asked_about, read, shelved
from tests.fakes.clock import FakeClock
from tests.stores import InMemoryStore, copied
from tests.unit.sync.devices import TestDevice, TestFolder, settle


@pytest.fixture
def folder(tmp_path: Path) -> TestFolder:
    path = tmp_path / "folder"
    path.mkdir()
    return TestFolder(path)


async def _talk(device: TestDevice, title: str = "Ropes", project: str | None = None) -> str:
    new = NewSession(title=title, project=project)
    session, _ = await device.store.create_session(new, NewMessage(Role.USER, f"About {title}"))
    await device.store.append_message(session.id, NewMessage(Role.ASSISTANT, f"Yes, {title}"))
    return session.id


async def _pair(folder: TestFolder) -> tuple[TestDevice, TestDevice, str]:
    """Two devices with one talk."""
    one = await folder.device("one")
    talk = await _talk(one)
    two = await folder.device("two")
    await settle(one, two)
    return one, two, talk


async def test_a_device_that_joins_gets_everything(folder: TestFolder) -> None:
    one, two, _ = await _pair(folder)
    assert await two.exported() == await one.exported()
    assert len(await two.exported()) == 1


async def test_a_sync_without_news_writes_nothing(folder: TestFolder) -> None:
    one, two, _ = await _pair(folder)
    before = {file: file.stat().st_mtime_ns for file in folder.path.rglob("*")}
    for device in (one, two):
        report = await device.sync()
        assert (report.sent_bytes, report.received_bytes, report.problems) == (0, 0, [])
    assert {file: file.stat().st_mtime_ns for file in folder.path.rglob("*")} == before


async def test_both_branches_of_a_talk_continued_on_two_devices_survive(folder: TestFolder) -> None:
    one, two, talk = await _pair(folder)
    await one.store.append_message(talk, NewMessage(Role.USER, "From one"))
    await two.store.append_message(talk, NewMessage(Role.USER, "From two"))
    await settle(one, two)
    (session,) = await one.exported()
    assert {"From one", "From two"} <= {message.content for message in session.messages}
    assert await one.exported() == await two.exported()


async def test_a_title_and_a_tag_given_on_two_devices_both_hold(folder: TestFolder) -> None:
    one, two, talk = await _pair(folder)
    await one.store.update_session(talk, SessionPatch(title="Knots"))
    await two.store.organising.apply([talk], MarksPatch(add_tags=("sea",)))
    await settle(one, two)
    for device in (one, two):
        session = await device.store.get_session(talk)
        assert (session.title, session.tags) == ("Knots", ("sea",))


async def test_what_was_forgotten_on_one_device_is_gone_from_all(folder: TestFolder) -> None:
    one, two, talk = await _pair(folder)
    await one.store.forget(Target(sessions=(talk,)))
    await two.store.update_session(talk, SessionPatch(title="Edited meanwhile"))
    await settle(one, two)
    assert await one.exported() == await two.exported() == []


async def test_old_files_do_not_bring_back_what_was_forgotten(folder: TestFolder, tmp_path: Path) -> None:
    one, two, talk = await _pair(folder)
    shutil.copytree(folder.path, tmp_path / "old")
    await one.store.forget(Target(sessions=(talk,)))
    await settle(one, two)
    shutil.copytree(tmp_path / "old", folder.path, dirs_exist_ok=True)
    await settle(one, two)
    three = await folder.device("three")
    await settle(three, one, two)
    assert await one.exported() == await two.exported() == await three.exported() == []


async def test_the_number_of_a_file_that_a_crash_interrupted_is_not_used_again(
    folder: TestFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two, talk = await _pair(folder)
    before = set(folder.path.rglob("*"))
    await one.store.append_message(talk, NewMessage(Role.USER, "Before the crash"))

    async def killed(*_given: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(one.store.sync, "end_file", killed)
        with pytest.raises(KeyboardInterrupt):
            await one.sync()
    (file,) = set(folder.path.rglob("*")) - before
    state = await one.store.sync.state()
    assert state is not None
    # Without the list of its files, the other device reads every file that is there.
    (folder.path / state.own.place / head_name(folder.keys.keys[-1], state.own.place)).unlink()
    await two.sync()
    file.unlink()
    await one.store.append_message(talk, NewMessage(Role.ASSISTANT, "After the crash"))
    await settle(one, two)
    assert [message.content for message in await two.store.branch(talk)][-2:] == [
        "Before the crash",
        "After the crash",
    ]


async def test_the_files_that_contained_a_forgotten_thing_are_removed(folder: TestFolder) -> None:
    one, _two, talk = await _pair(folder)
    (before,) = await one.store.sync.files()
    await one.store.forget(Target(sessions=(talk,)))
    await one.sync()
    assert before.name not in {file.name for file in folder.path.rglob("*")}


async def test_the_status_tells_which_device_has_not_heard_of_a_forgetting(folder: TestFolder) -> None:
    one, two, talk = await _pair(folder)
    await one.store.forget(Target(sessions=(talk,)))
    await one.sync()
    assert all((await one.store.sync.status()).not_forgotten.values())
    await two.sync()
    await one.sync()
    assert not any((await one.store.sync.status()).not_forgotten.values())


async def test_two_projects_of_one_name_become_one(folder: TestFolder) -> None:
    one, two = await folder.device("one"), await folder.device("two")
    await _talk(one, "a", project="Boat")
    await _talk(two, "b", project="Boat")
    await settle(one, two)
    for device in (one, two):
        assert [project.name for project in await device.store.projects.list()] == ["Boat"]
        assert {session.project for session in await device.exported()} == {"Boat"}


async def test_a_project_that_became_another_may_come_back_from_another_room(folder: TestFolder) -> None:
    one, two, _ = await _pair(folder)
    await two.store.projects.create("House")
    talk = await _talk(one, "Roof", project="House")
    await settle(one)
    await two.sync()
    await two.store.projects.delete("House")
    await two.sync()
    sealer = await one.store.moves.sealer()
    await one.store.moves.depart(talk, RoomKind.PRIVATE, sealer)
    await one.store.moves.take_back(talk, sealer)
    await settle(one, two)
    for device in (one, two):
        assert (await device.store.get_session(talk)).project == "House"


async def test_foreign_doubled_and_cut_files_are_told_and_harmless(folder: TestFolder) -> None:
    one, two, talk = await _pair(folder)
    place = next(path for path in folder.path.iterdir() if path.is_dir())
    file = next(path for path in place.iterdir())
    (folder.path / "foreign.txt").write_text("hello")
    shutil.copy(file, file.with_name(f"{file.name}.conflict"))
    await one.store.update_session(talk, SessionPatch(title="Later"))
    await one.sync()
    state = await one.store.sync.state()
    assert state is not None
    newest = folder.path / state.own.place / (await one.store.sync.files())[-1].name
    whole = newest.read_bytes()
    newest.write_bytes(whole[:100])
    report = await two.sync()
    assert {problem.why for problem in report.problems} == {FileProblem.FOREIGN, FileProblem.INCOMPLETE}
    newest.write_bytes(whole)
    await two.sync()
    assert (await two.store.get_session(talk)).title == "Later"


async def test_a_file_found_damaged_elsewhere_is_written_again(folder: TestFolder) -> None:
    one, two, talk = await _pair(folder)
    await one.store.update_session(talk, SessionPatch(title="Later"))
    await one.sync()
    state = await one.store.sync.state()
    assert state is not None
    newest = folder.path / state.own.place / (await one.store.sync.files())[-1].name
    data = bytearray(newest.read_bytes())
    data[-1] ^= 1
    newest.write_bytes(data)
    assert [problem.why for problem in (await two.sync()).problems] == [FileProblem.DAMAGED]
    await settle(one, two)
    assert (await two.store.get_session(talk)).title == "Later"


async def test_a_lost_folder_is_filled_again(folder: TestFolder) -> None:
    one, two, _ = await _pair(folder)
    for path in list(folder.path.iterdir()):
        shutil.rmtree(path)
    await settle(one, two)
    three = await folder.device("three")
    await settle(three, one, two)
    assert await three.exported() == await one.exported()


async def test_a_newer_log_is_left_alone_and_read_later(folder: TestFolder) -> None:
    one, two, talk = await _pair(folder)
    await one.store.update_session(talk, SessionPatch(title="Later"))
    await one.sync()
    state = await one.store.sync.state()
    assert state is not None
    newest = folder.path / state.own.place / (await one.store.sync.files())[-1].name
    whole = newest.read_bytes()
    newest.write_bytes(whole[:8] + b"\xc8" + whole[9:])
    assert [problem.why for problem in (await two.sync()).problems] == [FileProblem.NEWER]
    newest.write_bytes(whole)
    await two.sync()
    assert (await two.store.get_session(talk)).title == "Later"


async def test_fields_of_a_newer_program_are_kept(folder: TestFolder) -> None:
    one, two, talk = await _pair(folder)
    await one.store.update_session(talk, SessionPatch(title="Later"))
    out = await one.store.sync.outgoing(1 << 20)
    state = await one.store.sync.state()
    assert state is not None
    (change,) = [change for change in out.changes if change.table == "sessions"]
    change.fields["mood"] = (*change.fields["title"][:2], "calm")
    number = state.last + 1
    segment = {
        "device": state.own.id,
        "number": number,
        "previous": state.digest,
        "devices": out.devices,
        "changes": out.changes,
        "weather": "fair",
    }
    data = sync_folder.write(
        Kind.SEGMENT, folder.keys.keys[0], msgspec.msgpack.encode(segment), state.signing
    )
    one.folder.write(state.own.place, segment_name(folder.keys.keys[0], state.own.place, number), data)
    (folder.path / state.own.place / _head(folder, state.own.place)).unlink()
    await two.sync()
    assert (await two.store.get_session(talk)).title == "Later"
    assert (await two.store.sync.status()).waiting == 1


def _head(folder: TestFolder, place: str) -> str:
    return sync_folder.name_of(folder.keys.keys[0], "head", place)


async def test_a_restored_room_becomes_a_new_device_and_catches_up(folder: TestFolder) -> None:
    one, two, talk = await _pair(folder)
    earlier = copied(one.store._connection)
    await one.store.update_session(talk, SessionPatch(title="After the backup"))
    lost = await _talk(one, "Written after the backup")
    await settle(one, two)
    again = TestDevice("one", one.folder, InMemoryStore(one.clock, state=earlier), one.clock)
    report = await again.sync()
    assert report.new_identity
    await settle(again, two)
    assert (await again.store.get_session(lost)).title == "Written after the backup"
    assert await again.exported() == await two.exported()


async def test_a_long_value_has_a_file_of_its_own(folder: TestFolder) -> None:
    one, two, talk = await _pair(folder)
    await one.store.append_message(talk, NewMessage(Role.USER, "long " * 40_000))
    await one.sync()
    await two.sync()
    assert await two.exported() == await one.exported()
    before = sum(file.stat().st_size for file in folder.path.rglob("*") if file.is_file())
    await one.store.update_session(talk, SessionPatch(title="Short"))
    report = await one.sync()
    after = sum(file.stat().st_size for file in folder.path.rglob("*") if file.is_file())
    assert report.sent_bytes <= 3 * 4096
    assert after - before <= 3 * 4096


async def test_a_device_that_joins_after_a_long_value_was_replaced_is_not_kept_waiting(
    folder: TestFolder,
) -> None:
    one, two, talk = await _pair(folder)
    said = await one.store.append_message(talk, NewMessage(Role.USER, "long " * 40_000))
    await one.sync()
    await one.store.update_message(said.id, MessagePatch(content="longer " * 40_000))
    await one.sync()
    three = await folder.device("three")
    for device in (two, three):
        assert (await device.sync()).problems == []
    assert await two.exported() == await three.exported() == await one.exported()


async def test_a_long_value_that_another_device_replaced_keeps_nobody_waiting(folder: TestFolder) -> None:
    one, two, talk = await _pair(folder)
    said = await one.store.append_message(talk, NewMessage(Role.USER, "long " * 40_000))
    await settle(one, two)
    await one.store.update_message(said.id, MessagePatch(content="longer " * 40_000))
    await one.sync()
    await two.store.update_message(said.id, MessagePatch(content="Short"))
    await settle(two, one)
    three = await folder.device("three")
    assert (await three.sync()).problems == []
    assert await three.exported() == await two.exported() == await one.exported()


async def test_a_long_value_missing_from_a_file_that_another_device_wants_is_made_up_for(
    folder: TestFolder,
) -> None:
    one, two, talk = await _pair(folder)
    said = await one.store.append_message(talk, NewMessage(Role.USER, "long " * 40_000))
    await one.sync()
    state = await one.store.sync.state()
    assert state is not None
    (name,) = await one.store.sync.blob_names()
    await one.store.update_message(said.id, MessagePatch(content="Short"))
    (folder.path / state.own.place / name).unlink()
    one.store._connection.execute("DELETE FROM sync_blobs")
    assert [problem.why for problem in (await two.sync()).problems] == [FileProblem.INCOMPLETE]
    await settle(one, two)
    assert (await two.store.branch(talk))[-1].content == "Short"


async def test_a_file_of_this_device_in_the_place_of_another_does_not_stop_sync(folder: TestFolder) -> None:
    one, two, talk = await _pair(folder)
    said = await one.store.append_message(talk, NewMessage(Role.USER, "long " * 40_000))
    await one.sync()
    state = await one.store.sync.state()
    assert state is not None
    own = folder.path / state.own.place
    (head,) = {file.name for file in own.iterdir()} - {
        *[file.name for file in await one.store.sync.files()],
        *await one.store.sync.blob_names(),
    }
    first = (await one.store.sync.files())[0].name
    (own / first).write_bytes((own / head).read_bytes())
    await one.store.update_message(said.id, MessagePatch(content="longer " * 40_000))
    await settle(one, two)
    assert (await two.store.branch(talk))[-1].content == "longer " * 40_000


async def test_many_small_files_become_few(folder: TestFolder) -> None:
    one, two, talk = await _pair(folder)
    for number in range(80):
        await one.store.update_session(talk, SessionPatch(title=f"Title {number}"))
        await one.sync()
    assert len(await one.store.sync.files()) <= 16
    await two.sync()
    assert (await two.store.get_session(talk)).title == "Title 79"


async def test_a_clock_years_ahead_does_not_decide_for_ever(folder: TestFolder) -> None:
    one, two, talk = await _pair(folder)
    ahead = await folder.device("ahead", clock=FakeClock(datetime(2040, 1, 1, tzinfo=UTC)))
    await settle(ahead, one, two)
    await ahead.store.update_session(talk, SessionPatch(title="From 2040"))
    await settle(ahead, one, two)
    await one.store.update_session(talk, SessionPatch(title="From now"))
    await settle(one, two, ahead)
    for device in (one, two, ahead):
        assert (await device.store.get_session(talk)).title == "From now"


async def test_a_room_that_is_not_synced_notes_nothing(folder: TestFolder) -> None:
    store = InMemoryStore()
    await store.create_session(NewSession(title="Alone"), NewMessage(Role.USER, "hello"))
    assert store._connection.execute("SELECT count(*) FROM sync_stamps").fetchone() == (0,)
    assert store._connection.execute(
        "SELECT count(*) FROM sqlite_temp_master WHERE name GLOB 'sync_*'"
    ).fetchone() == (0,)


async def test_no_word_is_in_the_log_of_changes(folder: TestFolder) -> None:
    one, _two, talk = await _pair(folder)
    await one.store.organising.apply([talk], MarksPatch(add_tags=("canary",)))
    await one.store.organising.apply([talk], MarksPatch(remove_tags=("canary",)))
    rows = one.store._connection.execute("SELECT tbl, key, field FROM sync_stamps").fetchall()
    assert "canary" not in str(rows)


async def test_a_note_that_two_devices_edit_keeps_both_texts_and_can_be_edited_again(
    folder: TestFolder,
) -> None:
    from atlas_desktop.services.notes.notebook import read_note, rewritten

    one, two, _talk_id = await _pair(folder)
    (note_id,) = await one.store.notes.put([read_note("Knots", "first text")])
    await settle(one, two)
    for device, text in ((one, "text of one"), (two, "text of two")):
        note = await device.store.notes.get(note_id)
        await device.store.notes.put([rewritten(note, text)])
    await settle(one, two)
    texts = {device.name: (await device.store.notes.get(note_id)).text for device in (one, two)}
    assert texts["one"] == texts["two"]
    lost = ({"text of one", "text of two"} - {texts["one"]}).pop()
    for device in (one, two):
        assert lost in {version.text for version in await device.store.notes.versions(note_id)}
    await two.store.notes.put([rewritten(await two.store.notes.get(note_id), "a third text")])
    await settle(two, one)
    assert (await one.store.notes.get(note_id)).text == "a third text"


async def test_a_long_value_found_damaged_elsewhere_is_written_again(folder: TestFolder) -> None:
    one, two, talk = await _pair(folder)
    await one.store.append_message(talk, NewMessage(Role.USER, "long " * 40_000))
    await one.sync()
    state = await one.store.sync.state()
    assert state is not None
    (name,) = await one.store.sync.blob_names()
    file = folder.path / state.own.place / name
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)
    assert [problem.why for problem in (await two.sync()).problems] == [FileProblem.INCOMPLETE]
    await settle(one, two)
    assert (await two.store.branch(talk))[-1].content == "long " * 40_000


async def test_a_long_value_exchanged_with_another_file_is_written_again(folder: TestFolder) -> None:
    one, two, talk = await _pair(folder)
    for text in ("long ", "longer "):
        await one.store.append_message(talk, NewMessage(Role.USER, text * 40_000))
    await one.sync()
    state = await one.store.sync.state()
    assert state is not None
    first, second = sorted(await one.store.sync.blob_names())
    place = folder.path / state.own.place
    (place / first).write_bytes((place / second).read_bytes())
    assert [problem.why for problem in (await two.sync()).problems] == [FileProblem.INCOMPLETE]
    await settle(one, two)
    assert await two.exported() == await one.exported()


async def test_words_forgotten_in_what_waits_for_other_rows_are_forgotten_everywhere(
    folder: TestFolder,
) -> None:
    one, two, talk = await _pair(folder)
    three = await folder.device("three")
    await settle(three, one, two)
    await one.store.append_message(talk, NewMessage(Role.USER, "Which plants?"))
    await one.sync()
    await two.sync()
    said = await two.store.append_message(talk, NewMessage(Role.ASSISTANT, "Borage, says Quellisa"))
    await two.sync()
    state = await one.store.sync.state()
    assert state is not None
    late = folder.path / state.own.place / (await one.store.sync.files())[-1].name
    kept = late.read_bytes()
    late.unlink()
    await three.sync()
    # The message, and that the talk ends with it.
    assert (await three.store.sync.status()).waiting == 2
    forgotten = await three.store.forget(Target(about="Quellisa"))
    assert forgotten.erased.verified
    late.write_bytes(kept)
    await settle(three, one, two)
    for device in (one, two, three):
        assert [(m.id, m.content) for m in await device.store.branch(talk)][-1] == (said.id, "")


async def test_what_was_said_after_a_merge_stays_where_it_was_said_when_that_comes_apart(
    folder: TestFolder,
) -> None:
    one, two, other = await _pair(folder)
    first = (await one.store.branch(other))[-1].id
    into, _ = await two.store.create_session(NewSession(title="Knots"), NewMessage(Role.USER, "Hm"))
    await two.store.organising.merge(into.id, [other])
    await two.sync()
    merged = [file.number for file in await two.store.sync.files()]
    said = await two.store.append_message(into.id, NewMessage(Role.USER, "Said since"), parent_id=first)
    await two.sync()
    await two.store.restore_session(other)
    await two.store._database.write(
        lambda conn: conn.execute("UPDATE messages SET parent_id = NULL WHERE id = ?", (said.id,))
    )
    await two.sync()
    # Written again, that file says nothing of where the messages were meanwhile.
    await two.store.sync.mark_stale(merged)
    await two.sync()
    three = await folder.device("three")
    await settle(three, two, one)
    for device in (one, two, three):
        found = await device.store._database.read(
            lambda conn: conn.execute(
                "SELECT session_id, parent_id FROM messages WHERE id = ?", (said.id,)
            ).fetchone()
        )
        assert tuple(found) == (into.id, None)


@pytest.mark.parametrize("heard", [True, False])
async def test_what_was_said_after_a_merge_stays_although_the_other_conversation_is_forgotten(
    folder: TestFolder, heard: bool
) -> None:
    one, two, first = await _pair(folder)
    second = await _talk(one, "Sails")
    await one.store.organising.merge(first, [second])
    await settle(one, two)
    three = await folder.device("three")
    if heard:
        await settle(three)
    said = await two.store.append_message(first, NewMessage(Role.USER, "After the merge"))
    await two.sync()
    await one.store.restore_session(second)
    await one.store.forget(Target(sessions=(second,)))
    await two.store.restore_session(second)
    await one.sync()
    await settle(three, one, two)
    for device in (one, two, three):
        assert [message.content for message in await device.store.branch(first, said.id)] == [
            "About Ropes",
            "Yes, Ropes",
            "After the merge",
        ]
        assert not (await device.store.verify()).problems


async def test_what_was_said_in_a_session_that_was_merged_stays_although_another_device_forgot_it(
    folder: TestFolder,
) -> None:
    one, two, first = await _pair(folder)
    second = await _talk(one, "Sails")
    three = await folder.device("three")
    await settle(one, two, three)
    said = await two.store.append_message(second, NewMessage(Role.USER, "And jibs?"))
    await two.store.append_message(second, NewMessage(Role.ASSISTANT, "Jibs as well"))
    await two.sync()
    await three.store.organising.merge(first, [second])
    await three.sync()
    await two.sync()
    await one.store.forget(Target(sessions=(second,)))
    # It hears what was said in the session that it has forgotten, before the others have decided on that.
    await one.sync()
    await settle(one, two, three)
    for device in (one, two, three):
        assert [message.content for message in await device.store.branch(first)][-2:] == [
            "And jibs?",
            "Jibs as well",
        ]
        assert {message.session_id for message in await device.store.branch(first, said.id)} == {first}
        assert not (await device.store.verify()).problems


@pytest.mark.parametrize(
    "syncs",
    [
        {"said": "23", "restored": "2", "left": "1", "forgotten": ""},
        {"said": "3", "restored": "2", "left": "1", "forgotten": "12"},
        {"said": "3", "restored": "112", "left": "132", "forgotten": "12"},
    ],
)
async def test_what_followed_a_session_away_is_in_the_same_place_everywhere_when_that_is_forgotten(
    folder: TestFolder, syncs: dict[str, str]
) -> None:
    one, two, first = await _pair(folder)
    second = await _talk(one, "Sails")
    three = await folder.device("three")
    await settle(one, two, three)
    await one.store.organising.merge(first, [second])
    await settle(one, two, three)
    devices = {"1": one, "2": two, "3": three}

    async def after(event: str) -> None:
        for number in syncs[event]:
            await devices[number].sync()

    # It is said after the last message of the second session, and follows it wherever that is moved.
    await two.store.append_message(first, NewMessage(Role.USER, "And jibs?"))
    await two.store.append_message(first, NewMessage(Role.ASSISTANT, "Jibs as well"))
    await after("said")
    await one.store.restore_session(second)
    await after("restored")
    sealer = await one.store.moves.sealer()
    await one.store.moves.depart(second, RoomKind.PRIVATE, sealer)
    await after("left")
    await one.store.moves.take_back(second, sealer)
    await one.store.forget(Target(sessions=(second,)))
    await after("forgotten")
    await settle(one, two, three)
    rows = "SELECT content, session_id, parent_id FROM messages ORDER BY id"
    there = [[tuple(row) for row in device.store._connection.execute(rows)] for device in (one, two, three)]
    assert there[0] == there[1] == there[2]
    for device in (one, two, three):
        assert not (await device.store.verify()).problems


@pytest.mark.parametrize("merged_by", ["the device that forgets", "another device"])
async def test_a_merged_session_stays_if_a_device_that_knew_it_apart_forgets_the_other_one(
    folder: TestFolder, merged_by: str
) -> None:
    one, two, first = await _pair(folder)
    second = await _talk(one, "Sails")
    await settle(one, two)
    if merged_by == "another device":
        await two.store.organising.merge(first, [second])
    else:
        await one.store.organising.merge(first, [second])
        await settle(one, two)
        await one.store.restore_session(second)
    await one.store.forget(Target(sessions=(first,)))
    await settle(one, two)
    for device in (one, two):
        (left,) = await device.exported()
        assert [message.content for message in left.messages] == ["About Sails", "Yes, Sails"]
        assert (await device.store.get_session(second)).deleted_at is None
        assert not (await device.store.verify()).problems


async def test_the_first_message_of_a_restored_session_leaves_the_one_it_still_follows_elsewhere(
    folder: TestFolder,
) -> None:
    one, two, first = await _pair(folder)
    second = await _talk(one, "Sails")
    await one.store.organising.merge(first, [second])
    await settle(one, two)
    (root,) = [each.id for each in await one.store.branch(first) if each.content == "About Sails"]
    # As if a third device had said so, whose file the second device has not received.
    one.store._connection.execute("UPDATE messages SET parent_id = NULL WHERE id = ?", (root,))
    one.store._connection.execute("UPDATE sync_stamps SET sent = 0 WHERE field = 'parent_id'")
    await one.store.restore_session(second)
    await settle(one, two)
    for device in (one, two):
        assert [each.content for each in await device.store.branch(second)] == ["About Sails", "Yes, Sails"]


async def test_what_follows_a_message_without_a_place_comes_back_with_it(folder: TestFolder) -> None:
    one, two, first = await _pair(folder)
    second = await _talk(one, "Sails")
    await settle(one, two)
    said = [
        await two.store.append_message(first, NewMessage(Role.USER, "And jibs?")),
        await two.store.append_message(first, NewMessage(Role.ASSISTANT, "Jibs as well")),
    ]
    (last,) = (await one.store.outline(second))[-1:]
    await one.store.forget(Target(sessions=(first,)))
    changes = [
        one
        for one in (await two.store.sync.outgoing(1 << 20)).changes
        if one.key in {each.id for each in said}
    ]
    number = 2
    assert (await one.store.sync.devices())[-1].number == number
    await one.store.sync.apply(changes, [number])
    assert (await one.store.sync.status()).waiting == 2
    place = Change(
        "messages",
        said[0].id,
        fields={"parent_id": (1 << 60, 0, last.id), "session_id": (1 << 60, 0, second)},
    )
    await one.store.sync.apply([place], [number])
    assert (await one.store.sync.status()).waiting == 0
    assert [message.content for message in await one.store.branch(second, said[1].id)] == [
        "About Sails",
        "Yes, Sails",
        "And jibs?",
        "Jibs as well",
    ]


async def test_a_memory_whose_conversations_both_left_waits_for_one_of_them(folder: TestFolder) -> None:
    one, two, first = await _pair(folder)
    second = await _talk(one, "Sails")
    said = [(await one.store.branch(talk))[0] for talk in (first, second)]
    memory = await _learned(one, said[0])
    await one.store.memories.add_sources(memory.id, [MemorySource(said[1].id, second, said[1].content)])
    await settle(one, two)
    sealers = [await device.store.moves.sealer() for device in (one, two)]
    await one.store.moves.depart(first, RoomKind.PRIVATE, sealers[0])
    await two.store.moves.depart(second, RoomKind.PRIVATE, sealers[1])
    await settle(one, two)
    assert await _memories(one, two) == [[], []]
    await one.store.moves.take_back(first, sealers[0])
    await settle(one, two)
    assert await _memories(one, two) == [["About Ropes"]] * 2
    for device in (one, two):
        assert not (await device.store.verify()).problems


async def test_a_memory_that_comes_back_by_another_way_keeps_the_text_that_waits_with_it(
    folder: TestFolder,
) -> None:
    one, two, first = await _pair(folder)
    second, third = await _talk(one, "Sails"), await _talk(one, "Knots")
    said = [(await one.store.branch(talk))[0] for talk in (first, second, third)]
    sources = [MemorySource(each.id, each.session_id, each.content) for each in said]
    new = NewMemory(MemoryKind.FACT, "Of wool", MemoryOrigin.PATTERN, sources=tuple(sources[:2]))
    memory = await one.store.memories.add(new)
    three = await folder.device("three")
    await settle(one, two, three)
    await one.store.memories.change(memory.id, MemoryPatch(text="Of hemp"))
    two.clock.advance(timedelta(minutes=1))
    await two.store.memories.change(memory.id, MemoryPatch(text="Of flax"))
    for device, talk in ((three, first), (two, second)):
        await device.store.moves.depart(talk, RoomKind.PRIVATE, await device.store.moves.sealer())
        await device.sync()
    await two.sync()
    assert await _memories(two) == [[]]
    # It is written anew as a whole, with a source that nobody has moved away.
    state = await one.store.sync.state()
    assert state is not None
    for file in (folder.path / state.own.place).iterdir():
        file.unlink()
    await one.store.memories.add_sources(memory.id, sources[2:])
    await settle(one, two, three)
    assert await _memories(one, two, three) == [["Of flax"]] * 3


async def test_a_message_forgotten_here_loses_the_text_that_waits_for_another_place(
    folder: TestFolder,
) -> None:
    one, two, first = await _pair(folder)
    three = await folder.device("three")
    await settle(one, two, three)
    talk = await _talk(one, "Quellisa")
    await settle(one, two, three)
    late = await two.store.append_message(first, NewMessage(Role.USER, "And knots?"))
    before = set(folder.path.rglob("*"))
    await two.sync()
    hidden = {file: file.read_bytes() for file in set(folder.path.rglob("*")) - before}
    await three.sync()
    await three.store.organising.merge(first, [talk])
    await three.sync()
    for file in hidden:
        file.unlink()
    await one.sync()
    said = (await one.store.branch(talk))[0]
    waiting = one.store._connection.execute("SELECT change FROM sync_waiting").fetchall()
    assert "Quellisa" in str([row[0] for row in waiting]), late
    await one.store.forget(Target(messages=(said.id,)))
    waiting = one.store._connection.execute("SELECT change FROM sync_waiting").fetchall()
    assert "About Quellisa" not in str([row[0] for row in waiting])
    for file, data in hidden.items():
        file.write_bytes(data)
    await settle(one, two, three)
    for device in (one, two, three):
        assert await device.store.search("About Quellisa") == []


async def test_a_session_whose_messages_moved_on_another_device_is_counted_again(folder: TestFolder) -> None:
    one, two, first = await _pair(folder)
    second = await _talk(one, "Knots")
    await settle(one, two)
    await one.store.organising.merge(first, [second])
    await settle(one, two)
    assert (await two.store.verify()).problems == ()


async def test_two_sessions_that_were_merged_into_each_other_are_one_on_every_device(
    folder: TestFolder,
) -> None:
    one, two, first = await _pair(folder)
    second = await _talk(one, "Knots")
    await settle(one, two)
    await one.store.organising.merge(first, [second])
    await two.store.organising.merge(second, [first])
    await settle(one, two)
    places = []
    for device in (one, two):
        rows = device.store._connection.execute("SELECT id, session_id, parent_id FROM messages ORDER BY id")
        places.append([tuple(row) for row in rows])
        assert (await device.store.verify()).problems == ()
    assert places[0] == places[1]
    assert len({session for _, session, _ in places[0]}) == 1
    (begin,) = [message for message, _, parent in places[0] if parent is None]
    below = {parent: message for message, _, parent in places[0] if parent is not None}
    chain = [begin]
    while chain[-1] in below:
        chain.append(below[chain[-1]])
    assert len(chain) == len(places[0]) == 4


async def test_a_session_that_comes_out_of_a_merge_with_more_messages_can_be_removed(
    folder: TestFolder,
) -> None:
    one, two, first = await _pair(folder)
    second = await _talk(one, "Knots")
    await settle(one, two)
    await one.store.edit_message((await one.store.outline(second))[0].id, "About bends")
    await two.store.organising.merge(first, [second])
    await settle(one, two)
    await two.store.restore_session(second)
    assert (await two.store.verify()).problems == ()
    await settle(two, one)
    await one.store.moves.depart(second, RoomKind.PRIVATE, await one.store.moves.sealer())
    await settle(one, two)
    assert await two.store.transfer.all_ids() == await one.store.transfer.all_ids() == [first]


async def test_what_was_said_in_a_merged_session_leaves_and_comes_back_with_the_other(
    folder: TestFolder,
) -> None:
    one, two, first = await _pair(folder)
    second = await _talk(one, "Knots")
    await settle(one, two)
    said = await two.store.edit_message((await two.store.outline(second))[0].id, "About bends")
    await one.store.organising.merge(first, [second])
    await settle(one, two)
    sealer = await one.store.moves.sealer()
    await one.store.moves.depart(first, RoomKind.PRIVATE, sealer)
    await settle(one, two)
    assert await two.store.transfer.all_ids() == await one.store.transfer.all_ids() == []
    await one.store.moves.take_back(first, sealer)
    await settle(one, two)
    for device in (one, two):
        assert [m.content for m in await device.store.branch(second, said.id)] == ["About bends"]
        assert (await device.store.verify()).problems == ()


async def test_words_forgotten_elsewhere_do_not_come_back_from_another_room(folder: TestFolder) -> None:
    one, two, talk = await _pair(folder)
    said = await one.store.append_message(talk, NewMessage(Role.USER, "The herb is Quellisa"))
    await settle(one, two)
    sealer = await one.store.moves.sealer()
    await one.store.moves.depart(talk, RoomKind.PRIVATE, sealer)
    await two.store.forget(Target(about="Quellisa"))
    await settle(two, one)
    await one.store.moves.take_back(talk, sealer)
    await settle(one, two)
    for device in (one, two):
        assert [(m.id, m.content) for m in await device.store.branch(talk)][-1] == (said.id, "")
        assert await device.store.search("Quellisa") == []


async def _learned(device: TestDevice, message: Message) -> Memory:
    """What is learned from a message without its being asked for."""
    source = MemorySource(message.id, message.session_id, message.content)
    new = NewMemory(MemoryKind.FACT, message.content, MemoryOrigin.PATTERN, sources=(source,))
    return await device.store.memories.add(new)


async def _memories(*devices: TestDevice) -> list[list[str]]:
    return [[one.text for one in await device.store.memories.select()] for device in devices]


async def test_what_was_learned_while_its_conversation_left_comes_back_with_it(folder: TestFolder) -> None:
    one, two, talk = await _pair(folder)
    said = await one.store.append_message(talk, NewMessage(Role.USER, "The herb is Quellisa"))
    await settle(one, two)
    sealer = await one.store.moves.sealer()
    await one.store.moves.depart(talk, RoomKind.PRIVATE, sealer)
    await _learned(two, said)
    three = await folder.device("three")
    await two.sync()
    await settle(three, one, two)
    assert await _memories(one, two, three) == [[], [], []]
    for device in (one, two, three):
        assert not (await device.store.verify()).problems
    await one.store.moves.take_back(talk, sealer)
    await settle(one, two, three)
    assert await _memories(one, two, three) == [["The herb is Quellisa"]] * 3
    for device in (one, two, three):
        (memory,) = await device.store.memories.select()
        assert [source.message_id for source in await device.store.memories.sources(memory.id)] == [said.id]


async def test_a_memory_that_waits_comes_back_in_a_project_that_arrives_meanwhile(folder: TestFolder) -> None:
    one, two, talk = await _pair(folder)
    said = await one.store.append_message(talk, NewMessage(Role.USER, "The herb is Quellisa"))
    three, four = await folder.device("three"), await folder.device("four")
    await settle(one, two, three, four)
    before = set(folder.path.rglob("*"))
    await one.store.projects.create("House")
    await one.sync()
    late = {file: file.read_bytes() for file in set(folder.path.rglob("*")) - before}
    await three.sync()
    source = MemorySource(said.id, talk, said.content)
    new = NewMemory(MemoryKind.FACT, said.content, MemoryOrigin.PATTERN, sources=(source,), project="House")
    await three.store.memories.add(new)
    await three.sync()
    for file in late:
        file.unlink()
    await two.sync()
    assert [one.project for one in await two.store.memories.select()] == [None]
    sealer = await four.store.moves.sealer()
    await four.store.moves.depart(talk, RoomKind.PRIVATE, sealer)
    await four.sync()
    await two.sync()
    for file, data in late.items():
        file.write_bytes(data)
    await settle(two)
    assert await _memories(two) == [[]]
    await four.store.moves.take_back(talk, sealer)
    await settle(four, one, two, three)
    for device in (one, two, three, four):
        assert [one.project for one in await device.store.memories.select()] == ["House"]


@pytest.mark.parametrize("whole", [True, False])
async def test_what_was_learned_from_something_forgotten_elsewhere_goes_while_it_waits(
    folder: TestFolder, whole: bool
) -> None:
    one, two, talk = await _pair(folder)
    said = await one.store.append_message(talk, NewMessage(Role.USER, "The herb is Quellisa"))
    other = await one.store.append_message(talk, NewMessage(Role.USER, "The tree is an oak"))
    three = await folder.device("three")
    await settle(one, two, three)
    sealer = await one.store.moves.sealer()
    await one.store.moves.depart(talk, RoomKind.PRIVATE, sealer)
    await _learned(two, said)
    kept = await _learned(two, other)
    await settle(one, two)
    await three.store.forget(Target(sessions=(talk,)) if whole else Target(messages=(said.id,)))
    await settle(three, one, two)
    await one.store.moves.take_back(talk, sealer)
    await settle(one, two, three)
    assert await _memories(one, two, three) == [[] if whole else [kept.text]] * 3
    for device in (one, two, three):
        assert not (await device.store.verify()).problems
        waiting = device.store._connection.execute("SELECT change FROM sync_waiting").fetchall()
        assert not any("Quellisa" in row[0] for row in waiting)


@pytest.mark.parametrize("forgotten", [0, 1])
async def test_a_memory_with_two_sources_waits_for_the_one_that_was_not_forgotten(
    folder: TestFolder, forgotten: int
) -> None:
    one, two, first = await _pair(folder)
    talks = [first, await _talk(one, "Sails")]
    three = await folder.device("three")
    await settle(one, two, three)
    sources = [(await one.store.branch(talk))[0] for talk in talks]
    sealer = await one.store.moves.sealer()
    for talk in talks:
        await one.store.moves.depart(talk, RoomKind.PRIVATE, sealer)
    new = NewMemory(
        MemoryKind.FACT,
        "Both are of hemp",
        MemoryOrigin.PATTERN,
        sources=tuple(MemorySource(each.id, each.session_id, each.content) for each in sources),
    )
    await two.store.memories.add(new)
    await settle(one, two)
    assert await _memories(one, two) == [[], []]
    await three.store.forget(Target(sessions=(talks.pop(forgotten),)))
    await settle(three, one, two)
    assert await _memories(one, two, three) == [[], [], []]
    await one.store.moves.take_back(talks[0], sealer)
    await settle(one, two, three)
    assert await _memories(one, two, three) == [["Both are of hemp"]] * 3


async def test_a_wrong_count_of_messages_does_not_stop_sync(folder: TestFolder) -> None:
    one, two, talk = await _pair(folder)
    two.store._connection.execute("UPDATE sessions SET message_count = 1")
    await one.store.moves.depart(talk, RoomKind.PRIVATE, await one.store.moves.sealer())
    await settle(one, two)
    assert await two.store.transfer.all_ids() == []


async def test_a_session_without_its_head_goes_on_after_the_latest_message(folder: TestFolder) -> None:
    """Merging on one device and forgetting on another can leave it like this."""
    one = await folder.device("one")
    talk = await _talk(one)
    last = (await one.store.outline(talk))[-1].id
    one.store._connection.execute("UPDATE sessions SET head_id = NULL")
    assert (await one.store.get_session(talk)).head_id == last
    said = await one.store.append_message(talk, NewMessage(Role.USER, "And knots?"))
    assert said.parent_id == last


async def test_words_forgotten_in_a_title_that_waits_for_its_session_are_forgotten_everywhere(
    folder: TestFolder,
) -> None:
    one, two, _ = await _pair(folder)
    three = await folder.device("three")
    await settle(three, one, two)
    talk = await _talk(one, "Herbs")
    await one.sync()
    await two.sync()
    await two.store.update_session(talk, SessionPatch(title="Borage, says Quellisa"))
    await two.store.update_session(talk, SessionPatch(system_prompt="Be brief"))
    await two.sync()
    state = await one.store.sync.state()
    assert state is not None
    late = folder.path / state.own.place / (await one.store.sync.files())[-1].name
    kept = late.read_bytes()
    late.unlink()
    await three.sync()
    assert (await three.store.sync.status()).waiting > 0
    forgotten = await three.store.forget(Target(about="Quellisa"))
    assert forgotten.erased.verified
    late.write_bytes(kept)
    await settle(three, one, two)
    for device in (one, two, three):
        session = await device.store.get_session(talk)
        assert (session.title, session.system_prompt) == ("", "Be brief")


async def test_a_session_that_left_and_came_back_is_later_than_all_its_changes(folder: TestFolder) -> None:
    ahead = FakeClock(datetime(2029, 1, 1, tzinfo=UTC))
    one = await folder.device("one", clock=ahead)
    talk = await _talk(one)
    two = await folder.device("two")
    await settle(one, two)
    for title in ("Knots", "Knots and bends", "Hitches"):
        await two.store.update_session(talk, SessionPatch(title=title))
    await settle(two, one)
    sealer = await two.store.moves.sealer()
    await two.store.moves.depart(talk, RoomKind.PRIVATE, sealer)
    await two.store.moves.take_back(talk, sealer)
    await two.store.update_session(talk, SessionPatch(title="Splices"))
    await settle(two, one)
    assert [(await device.store.get_session(talk)).title for device in (one, two)] == ["Splices"] * 2


async def test_a_message_forgotten_elsewhere_loses_its_text_while_it_waits(folder: TestFolder) -> None:
    one, two, talk = await _pair(folder)
    three = await folder.device("three")
    await settle(three, one, two)
    await one.store.append_message(talk, NewMessage(Role.USER, "Which plants?"))
    await one.sync()
    await two.sync()
    said = await two.store.append_message(talk, NewMessage(Role.ASSISTANT, "Borage, says Quellisa"))
    await two.sync()
    state = await one.store.sync.state()
    assert state is not None
    late = folder.path / state.own.place / (await one.store.sync.files())[-1].name
    kept = late.read_bytes()
    late.unlink()
    await three.sync()
    await two.store.forget(Target(messages=(said.id,)))
    await two.sync()
    await three.sync()
    waiting = three.store._connection.execute("SELECT change FROM sync_waiting").fetchall()
    assert waiting
    assert "Quellisa" not in str([row[0] for row in waiting])
    late.write_bytes(kept)
    await settle(three, one, two)
    assert (await three.store.branch(talk))[-1].content == ""


async def test_a_full_folder_is_told_and_what_could_not_be_written_is_sent_later(
    folder: TestFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two, _ = await _pair(folder)
    await _talk(one, "Knots")

    def full(_file: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("os.fsync", full)
        with pytest.raises(SyncFolderUnusable, match="No space left"):
            await one.sync()
    assert not [file for file in folder.path.rglob("*") if file.suffix == ".tmp"]
    await settle(one, two)
    assert len(await two.exported()) == 2
    assert await two.exported() == await one.exported()


async def test_what_a_forgotten_reply_cites_does_not_come_back_with_its_document(tmp_path: Path) -> None:
    folder = TestFolder(tmp_path)
    one, two, three = [await folder.device(name) for name in ("one", "two", "three")]
    await settle(one, two, three)
    document = await shelved(one.store, read("/papers/tides.md", "The moon raises the tides."))
    await one.sync()
    state = await one.store.sync.state()
    assert state is not None
    late = tmp_path / state.own.place / (await one.store.sync.files())[-1].name
    kept = late.read_bytes()
    await three.sync()
    session, _, reply = await asked_about(three.store, document)
    (citation,) = (await three.store.documents.cited(reply)).citations
    said = replace(citation, quote="The zeppelin raises the tides.", verified=False)
    await three.store.documents.put_citations(session.id, reply, [said], [(0, 5)])
    await three.sync()
    # The file with the document has not been copied yet: on this device the citation waits for it.
    late.unlink()
    await two.sync()
    assert (await two.store.forget(Target(messages=(reply,)))).erased.verified
    late.write_bytes(kept)
    await two.sync()
    assert (await two.store.documents.get(document)).id == document
    assert (await two.store.documents.cited(reply)).citations == ()
    await settle(two, one, three)
    for device in (one, two, three):
        assert (await device.store.documents.cited(reply)).citations == ()
