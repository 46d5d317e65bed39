"""Notes of a room: written, linked, renamed, imported, exported, recalled, removed."""

import hashlib
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atlas_desktop.errors import DocumentRefused
from atlas_desktop.services.notes.folders import put_file
from atlas_desktop.services.notes.notebook import cleaned
from atlas_desktop.services.turns import TurnOptions
from memory.documents.entities import DocumentKind
from memory.entities import MemoryMode, Target
from memory.errors import AmbiguousId, NoteNotFound, NoteTitleTaken, TitleMissing, VersionNotFound
from memory.memories.entities import MemoryFilter
from memory.notes.entities import LinkKind, LinkReason
from memory.search.entities import ItemKind, Order
from memory.search.language import parse
from tests.fakes.models import HashEmbedder, ScriptedChatModel
from tests.unit.services.scene import Scene


def write(path: Path, text: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def vault(folder: Path) -> Path:
    write(folder / "Boat.md", "The boat lies in [[Harbour]]. See [log](sea/Log.md).\n")
    write(folder / "Harbour.md", "---\naliases: [Port]\n---\nBerth 12. #place\r\n")
    write(folder / "sea" / "Log.md", b"\xef\xbb\xbfSailed to the [[port]]. ![[map.png]] [[Nowhere]]\n\n\n")
    write(folder / "sea" / "map.png", b"\x89PNG\x00\x01")
    write(folder / ".obsidian" / "app.json", "{}")
    return folder


def files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and ".obsidian" not in path.parts
    }


async def links(scene: Scene, title: str) -> list[tuple[str, str | None]]:
    note = await scene.room.notes.get(title)
    return [(one.text, one.title if one.to else None) for one in note.links]


# --- writing ----------------------------------------------------------------------------------------


async def test_a_link_leads_to_a_note_by_title_or_alias_whenever_it_is_written() -> None:
    scene = Scene()
    await scene.room.notes.new("Boat", "Lies in [[harbour]] and [[Port]]; [[Nowhere]]")
    assert await links(scene, "Boat") == [("harbour", None), ("Port", None), ("Nowhere", None)]
    harbour = await scene.room.notes.new("Harbour", "---\naliases: Port\n---\nBerth 12.")
    assert await links(scene, "Boat") == [("harbour", "Harbour"), ("Port", "Harbour"), ("Nowhere", None)]
    (back,) = (await scene.room.notes.get(harbour.id)).backlinks
    assert (back.title, back.snippet) == ("Boat", "Lies in [[harbour]] and [[Port]]; [[Nowhere]]")


async def test_among_documents_a_note_has_the_date_of_its_last_change() -> None:
    scene = Scene()
    note = await scene.room.notes.new("Boat", "Berth 12.")
    scene.clock.advance(timedelta(days=3))
    changed = await scene.room.notes.edit(note.id, "Berth 14.")
    assert changed.updated_at > note.updated_at
    assert (await scene.store.documents.get(note.id)).modified_at == changed.updated_at


async def test_links_lead_to_sessions_messages_and_documents(tmp_path: Path) -> None:
    scene = Scene()
    replied, _ = await scene.say("where do owls sleep?")
    await scene.room.sessions.rename(replied.session.id, "Owls at night")
    report = await scene.room.documents.add([write(tmp_path / "gull.md", "# Gulls\n\nThey steal.")])
    text = f"[[owls at night]] [[Gulls]] [[message:{replied.message.id}|his reply]]"
    note = await scene.room.notes.new("Birds", text)
    assert [(one.kind, one.to) for one in note.links] == [
        (LinkKind.SESSION, replied.session.id),
        (LinkKind.DOCUMENT, report.documents[0]),
        (LinkKind.MESSAGE, replied.message.id),
    ]
    for target in (replied.session.id, replied.message.id, report.documents[0]):
        assert [one.title for one in await scene.store.notes.backlinks(target)] == ["Birds"]
    assert await scene.store.notes.linked([replied.message.id, "x"]) == {replied.message.id}
    # The session is called something else now: the link still leads there.
    await scene.room.sessions.rename(replied.session.id, "Night birds")
    note = await scene.room.notes.extend(note.id, "More.")
    assert (note.links[0].to, note.links[0].title) == (replied.session.id, "Night birds")
    await scene.store.erase_session(replied.session.id)
    assert [one.to for one in (await scene.room.notes.get("Birds")).links] == [
        None,
        report.documents[0],
        None,
    ]


async def test_renaming_a_note_rewrites_the_links_that_name_it() -> None:
    scene = Scene()
    boat = await scene.room.notes.new("Boat", "I am [[Boat]].")
    await scene.room.notes.new("Log", "[[Boat|she]] sails. [[boat#Sails]] `[[Boat]]`")
    await scene.room.notes.new("Other", "a boat")
    renamed = await scene.room.notes.rename(boat.id, "  Aurelia\n")
    assert (renamed.id, renamed.title, renamed.text) == (boat.id, "Aurelia", "I am [[Aurelia]].")
    log = await scene.room.notes.get("Log")
    assert log.text == "[[Aurelia|she]] sails. [[Aurelia#Sails]] `[[Boat]]`"
    assert [one.to for one in log.links] == [boat.id, boat.id]
    assert (await scene.room.notes.get("Other")).version == 1
    with pytest.raises(NoteNotFound):
        await scene.room.notes.get("Boat")


async def test_titles_are_unique_and_never_empty() -> None:
    scene = Scene()
    await scene.room.notes.new("Boat")
    log = await scene.room.notes.new("Log")
    with pytest.raises(NoteTitleTaken):
        await scene.room.notes.new(" BOAT ")
    with pytest.raises(NoteTitleTaken):
        await scene.room.notes.rename(log.id, "boat")
    with pytest.raises(TitleMissing):
        await scene.room.notes.new(" \n")
    assert (await scene.room.notes.rename(log.id, "LOG")).title == "LOG"


async def test_earlier_texts_come_back_and_quick_changes_count_as_one() -> None:
    scene = Scene()
    note = await scene.room.notes.new("Log", "one")
    for text in ("one t", "one tw", "one two"):
        scene.clock.advance(timedelta(seconds=5))
        await scene.room.notes.edit(note.id, text)
    assert [one.text for one in await scene.room.notes.versions("Log")] == []
    scene.clock.advance(timedelta(hours=1))
    await scene.room.notes.edit(note.id, "three")
    assert [one.text for one in await scene.room.notes.versions("Log")] == ["one two"]
    back = await scene.room.notes.revert("Log")
    assert back.text == "one two"
    assert [one.text for one in await scene.room.notes.versions("Log")] == ["three", "one two"]
    with pytest.raises(VersionNotFound):
        await scene.room.notes.revert("Log", 99)
    same = await scene.room.notes.edit(note.id, "one two")
    assert same.version == back.version


@pytest.mark.parametrize("rest", ["", "The ferry", "Something else, which is just as long"])
async def test_a_text_that_was_just_written_and_is_cleared_comes_back(rest: str) -> None:
    scene = Scene()
    note = await scene.room.notes.new("Log")
    text = "The ferry leaves at eight from Bodø."
    for typed in (text[:20], text, rest):
        scene.clock.advance(timedelta(seconds=5))
        await scene.room.notes.edit(note.id, typed)
    assert [one.text for one in await scene.room.notes.versions("Log")] == [text]
    assert (await scene.room.notes.revert("Log")).text == text


async def test_text_is_cleaned_of_what_could_reach_the_terminal() -> None:
    note = await Scene().room.notes.new("A\x1b]52;c;x\x07b", "a\x1b[31mb\r\nc\u202e")
    assert note.title == "A]52;c;xb"
    assert note.text == "a[31mb\nc"


# --- finding ----------------------------------------------------------------------------------------


async def test_notes_are_found_apart_from_documents(tmp_path: Path) -> None:
    scene = Scene()
    await scene.room.documents.add([write(tmp_path / "owl.md", "# Owls\n\nThe owl hunts.")])
    await scene.room.notes.new("My owl", "The owl sleeps.")
    hits = (await scene.room.notes.search("owl")).hits
    assert [(hit.title, hit.kind) for hit in hits] == [("My owl", DocumentKind.NOTE)]
    assert [one.title for one in await scene.room.documents.list()] == ["Owls"]
    assert (await scene.room.documents.status()).counts == {"indexed": 1}
    await scene.room.notes.delete(["My owl"])
    assert (await scene.room.notes.search("owl")).hits == ()


async def test_notes_are_listed_by_project_and_tag() -> None:
    scene = Scene()
    await scene.room.notes.new("A", "#sea/north", project="Trip")
    await scene.room.notes.new("B", "#sea")
    await scene.room.notes.new("C", "#seaside")
    assert [one.title for one in await scene.room.notes.list(tag="#sea")] == ["B", "A"]
    assert [one.title for one in await scene.room.notes.list(project="Trip")] == ["A"]
    assert await scene.store.notes.tags() == {"sea": 1, "sea/north": 1, "seaside": 1}


async def test_completion_offers_notes_aliases_documents_and_sessions(tmp_path: Path) -> None:
    scene = Scene()
    await scene.room.notes.new("Harbour", "---\naliases: Port of call\n---\n")
    await scene.room.documents.add([write(tmp_path / "p.md", "# Harbour fees\n\nx")])
    replied, _ = await scene.say("hello there, how are harbours built?")
    await scene.room.sessions.rename(replied.session.id, "The harbour")
    found = await scene.room.notes.targets("harb")
    assert [(one.kind, one.title) for one in found] == [
        (LinkKind.NOTE, "Harbour"),
        (LinkKind.DOCUMENT, "Harbour fees"),
        (LinkKind.SESSION, "The harbour"),
    ]
    assert [(one.title, one.alias) for one in await scene.room.notes.targets("call port")] == [
        ("Harbour", "Port of call")
    ]


async def test_a_note_is_recalled_in_any_conversation_and_cited() -> None:
    model = ScriptedChatModel(["The boat lies at berth 12 [1].", "Paris.", "Fine."])
    scene = Scene(model=model)
    note = await scene.room.notes.new("Boat", "The boat lies at berth 12 in Kappeln.")
    await scene.room.background.run()
    replied, _ = await scene.say("where does the boat lie at berth?")
    assert "[1] Boat: The boat lies at berth 12 in Kappeln." in model.prompts[-1][-1].content
    assert replied.cited is not None
    (citation,) = replied.cited.citations
    assert (citation.document, citation.kind, citation.verified) == (note.id, DocumentKind.NOTE, True)
    await scene.say("what is the capital of France?", replied.session)
    assert "berth" not in model.prompts[-1][-1].content
    earlier = [message.content for message in model.prompts[0]]
    assert [message.content for message in model.prompts[1]][: len(earlier)] == earlier


@pytest.mark.parametrize("mode", [MemoryMode.BLANK, MemoryMode.OFF])
async def test_a_conversation_without_memory_reads_no_notes(mode: MemoryMode) -> None:
    model = ScriptedChatModel(["I do not know."])
    scene = Scene(model=model)
    await scene.room.notes.new("Boat", "The boat lies at berth 12.")
    await scene.say("where does the boat lie at berth?", options=TurnOptions(memory_mode=mode))
    assert "berth 12" not in str(model.prompts)


async def test_what_a_note_said_before_it_changed_is_no_longer_cited() -> None:
    model = ScriptedChatModel(["At berth 12 [1].", "At berth 12 [1]."])
    scene = Scene(model=model)
    note = await scene.room.notes.new("Boat", "The boat lies at berth 12.")
    replied, _ = await scene.say("where does the boat lie at berth?")
    await scene.room.notes.edit(note.id, "The boat lies at berth 40.")
    second, _ = await scene.say("where does the boat lie at berth now?", replied.session)
    assert second.cited is not None
    assert [one.marker for one in second.cited.citations if one.verified] == []


# --- removing ---------------------------------------------------------------------------------------


async def test_a_deleted_note_waits_in_the_bin_and_comes_back_with_its_links() -> None:
    scene = Scene()
    boat = await scene.room.notes.new("Boat", "x")
    await scene.room.notes.new("Log", "[[Boat]]")
    assert await scene.room.notes.delete(["Boat"]) == 1
    assert [one.title for one in await scene.room.notes.list()] == ["Log"]
    assert [one.title for one in await scene.room.notes.list(binned=True)] == ["Boat"]
    with pytest.raises(NoteNotFound):
        await scene.room.notes.get("Boat")
    await scene.room.notes.restore([boat.id])
    assert await links(scene, "Log") == [("Boat", "Boat")]


async def test_the_bin_is_emptied_after_its_days_and_not_by_a_clock_set_ahead() -> None:
    scene = Scene()
    await scene.room.notes.new("Boat", "x")
    await scene.room.notes.delete(["Boat"])
    await scene.room.background.run()
    for _ in range(29):
        scene.clock.advance(timedelta(days=1))
        await scene.room.background.run()
    assert [one.title for one in await scene.room.notes.list(binned=True)] == ["Boat"]
    for _ in range(3):
        scene.clock.advance(timedelta(days=1))
        await scene.room.background.run()
    assert await scene.room.notes.list(binned=True) == []


async def test_a_forgotten_note_leaves_nothing_and_links_lead_nowhere() -> None:
    model = ScriptedChatModel(["At berth 12 [1]."])
    scene = Scene(model=model)
    boat = await scene.room.notes.new("Boat", "The boat lies at berth 12.")
    await scene.room.notes.new("Log", "[[Boat]]")
    replied, _ = await scene.say("where does the boat lie at berth?")
    erased = await scene.room.notes.forget([boat.id])
    assert (erased.documents, erased.verified) == (1, True)
    assert await links(scene, "Log") == [("Boat", None)]
    assert (await scene.store.documents.cited(replied.message.id)).citations == ()
    with pytest.raises(NoteNotFound):
        await scene.room.notes.get(boat.id)


# --- folders ----------------------------------------------------------------------------------------


async def test_a_folder_comes_in_with_its_links_and_goes_out_byte_for_byte(tmp_path: Path) -> None:
    scene, folder = Scene(), vault(tmp_path / "in")
    report = await scene.room.note_folders.take(folder)
    assert (report.notes, report.added, report.files, report.skipped) == (3, 3, 1, [])
    assert (report.links, report.unresolved) == (4, 1)
    assert await links(scene, "Boat") == [("Harbour", "Harbour"), ("sea/Log.md", "Log")]
    assert await links(scene, "Log") == [("port", "Harbour"), ("Nowhere", None)]
    assert (await scene.room.notes.get("sea/Log.md")).title == "Log"
    exported = await scene.room.note_folders.write(tmp_path / "out")
    assert (exported.written, exported.conflicts, exported.skipped) == (4, [], [])
    assert files(tmp_path / "out") == files(folder)
    again = await scene.room.note_folders.take(folder)
    assert (again.added, again.updated, again.unchanged) == (0, 0, 3)


async def test_a_second_import_takes_what_changed_and_keeps_what_was_changed_here(tmp_path: Path) -> None:
    scene, folder = Scene(), vault(tmp_path / "in")
    await scene.room.note_folders.take(folder)
    boat = await scene.room.notes.get("Boat")
    write(folder / "Boat.md", "The boat has moved.\n")
    write(folder / "Harbour.md", "changed on disk\n")
    await scene.room.notes.edit("Harbour", "changed here\n")
    await scene.room.notes.delete(["Log"])
    report = await scene.room.note_folders.take(folder)
    assert (report.updated, report.unchanged, report.conflicts) == (1, 1, ["Harbour.md"])
    assert (await scene.room.notes.get(boat.id)).text == "The boat has moved.\n"
    assert (await scene.room.notes.get("Harbour")).text == "changed here\n"
    titles = [one.title for one in await scene.room.notes.list()]
    (copy,) = [one for one in titles if one.startswith("Harbour (")]
    assert (await scene.room.notes.get(copy)).text == "changed on disk\n"
    assert "Log" not in titles
    third = await scene.room.note_folders.take(folder)
    assert (third.added, third.conflicts) == (0, [])


async def test_an_export_overwrites_no_file_that_changed_meanwhile(tmp_path: Path) -> None:
    scene, folder = Scene(), vault(tmp_path / "in")
    await scene.room.note_folders.take(folder)
    await scene.room.notes.edit("Boat", "edited here\n")
    await scene.room.notes.edit("Harbour", "edited here, too\n")
    write(folder / "Harbour.md", "newer on disk\n")
    report = await scene.room.note_folders.write(folder)
    assert (folder / "Boat.md").read_text() == "edited here\n"
    assert (folder / "Harbour.md").read_text() == "newer on disk\n"
    (beside,) = report.conflicts
    assert (folder / beside).read_text() == "edited here, too\n"


async def test_notes_of_the_same_name_in_two_folders_are_told_apart_by_path(tmp_path: Path) -> None:
    scene = Scene()
    write(tmp_path / "a" / "Log.md", "north [[Boat]]")
    write(tmp_path / "b" / "Log.md", "south")
    write(tmp_path / "b" / "Boat.md", "see [[Log]] and [[a/Log]]")
    await scene.room.note_folders.take(tmp_path)
    with pytest.raises(AmbiguousId):
        await scene.room.notes.get("Log")
    here, there = (await scene.room.notes.get("Boat")).links
    assert here.to == (await scene.room.notes.get("b/Log.md")).id
    assert there.to == (await scene.room.notes.get("a/Log.md")).id


async def test_what_is_no_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DocumentRefused):
        await Scene().room.note_folders.take(write(tmp_path / "x.md", "x"))


def test_a_file_is_never_written_outside_the_folder_or_through_a_link(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    (root / "link").symlink_to(outside)
    (root / "note.md").symlink_to(outside / "x.md")
    for relative in ("../x.md", "link/x.md", "note.md"):
        with pytest.raises(OSError, match=r".*"):
            put_file(root, relative, b"x", "", "now")
    assert list(outside.iterdir()) == []


@settings(max_examples=60)
@given(st.binary(max_size=60), st.binary(max_size=60))
def test_writing_replaces_only_what_was_read(before: bytes, after: bytes) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        (root / "a.md").write_bytes(before)
        known = hashlib.sha256(before).hexdigest()
        first = put_file(root, "a.md", after, "unknown", "now")
        assert (root / "a.md").read_bytes() == before
        assert first == (None if before == after else "a (now).md")
        put_file(root, "a.md", after, known, "later")
        assert (root / "a.md").read_bytes() == after


@given(st.text())
def test_cleaning_twice_changes_nothing_more(text: str) -> None:
    assert cleaned(cleaned(text)) == cleaned(text)


# --- kept in step -----------------------------------------------------------------------------------


async def test_a_folder_in_step_follows_what_happens_here_and_on_disk(tmp_path: Path) -> None:
    scene, folder = Scene(), vault(tmp_path)
    began = await scene.room.note_mirror.begin(folder)
    assert (began.taken.added, began.written) == (3, 0)
    before = files(folder)
    await scene.room.notes.edit("Boat", "edited here\n")
    await scene.room.notes.rename("sea/Log.md", "Diary")
    write(folder / "Harbour.md", "edited on disk\n")
    write(folder / "New.md", "new on disk\n")
    (report,) = await scene.room.note_mirror.step_all()
    assert (report.taken.added, report.taken.updated, report.written) == (1, 1, 2)
    assert files(folder) == {
        "Boat.md": b"edited here\n",
        "Harbour.md": b"edited on disk\n",
        "New.md": b"new on disk\n",
        "sea/Diary.md": before["sea/Log.md"].removeprefix(b"\xef\xbb\xbf"),
        "sea/map.png": before["sea/map.png"],
    }
    assert (await scene.room.notes.get("Harbour")).text == "edited on disk\n"
    (quiet,) = await scene.room.note_mirror.step_all()
    assert (quiet.written, quiet.removed, quiet.taken.updated, quiet.taken.added) == (0, 0, 0, 0)
    await scene.room.notes.new("To do: now?", "written here\n")
    await scene.room.note_mirror.step_all()
    assert files(folder)["To do- now-.md"] == b"written here\n"
    assert (await scene.room.notes.get("To do: now?")).text == "written here\n"
    (quiet,) = await scene.room.note_mirror.step_all()
    assert (quiet.written, quiet.taken.updated, quiet.taken.added) == (0, 0, 0)


async def test_what_changed_on_both_sides_is_kept_twice_and_no_file_is_overwritten(tmp_path: Path) -> None:
    scene = Scene()
    write(tmp_path / "Boat.md", "first\n")
    await scene.room.note_mirror.begin(tmp_path)
    boat = await scene.room.notes.edit("Boat", "edited here\n")
    write(tmp_path / "Boat.md", "newer on disk\n")
    (report,) = await scene.room.note_mirror.step_all()
    assert report.taken.conflicts == ["Boat.md"]
    assert (tmp_path / "Boat.md").read_text() == "newer on disk\n"
    assert (await scene.room.notes.get(boat.id)).text == "newer on disk\n"
    assert sorted(data for data in files(tmp_path).values()) == [b"edited here\n", b"newer on disk\n"]
    (quiet,) = await scene.room.note_mirror.step_all()
    assert (quiet.taken.conflicts, quiet.written, len(files(tmp_path))) == ([], 0, 2)


async def test_a_file_that_is_removed_or_renamed_on_disk_takes_its_note_along(tmp_path: Path) -> None:
    scene = Scene()
    for name in ("A", "B", "C"):
        write(tmp_path / f"{name}.md", f"text of {name}\n")
    await scene.room.note_mirror.begin(tmp_path)
    first = await scene.room.notes.get("A")
    (tmp_path / "A.md").rename(tmp_path / "Renamed.md")
    (tmp_path / "B.md").unlink()
    (report,) = await scene.room.note_mirror.step_all()
    assert report.binned == 1
    assert (await scene.room.notes.get("Renamed")).id == first.id
    assert [one.title for one in await scene.room.notes.list(binned=True)] == ["B"]
    await scene.room.notes.delete(["C"])
    (report,) = await scene.room.note_mirror.step_all()
    assert report.removed == 1
    assert list(files(tmp_path)) == ["Renamed.md"]


async def test_a_folder_that_is_suddenly_empty_or_away_deletes_no_notes(tmp_path: Path) -> None:
    scene, folder = Scene(), tmp_path / "vault"
    for number in range(12):
        write(folder / f"n{number}.md", f"text {number}\n")
    await scene.room.note_mirror.begin(folder)
    folder.rename(tmp_path / "away")
    (report,) = await scene.room.note_mirror.step_all()
    assert report.problems == [str(folder)]
    folder.mkdir()
    (report,) = await scene.room.note_mirror.step_all()
    assert (report.binned, report.held_back) == (0, 12)
    assert len(await scene.room.notes.list()) == 12


async def test_a_folder_that_is_no_longer_in_step_keeps_its_files(tmp_path: Path) -> None:
    scene, folder = Scene(), vault(tmp_path)
    await scene.room.note_mirror.begin(folder)
    before = files(folder)
    await scene.room.note_mirror.end(folder)
    await scene.room.notes.edit("Boat", "edited here\n")
    assert await scene.room.note_mirror.step_all() == []
    assert files(folder) == before


async def test_forgetting_by_words_names_notes_apart_and_clears_earlier_versions() -> None:
    scene = Scene()
    await scene.room.notes.new("Boat", "Aurelia lies here.")
    log = await scene.room.notes.new("Log", "about Aurelia")
    await scene.room.notes.edit(log.id, "about the boat", keep_version=True)
    target = Target(about="Aurelia")
    preview = await scene.room.forgetting.preview(target)
    assert [one.text for one in preview.notes] == ["Boat"]
    assert (preview.erased.notes, preview.erased.documents) == (1, 0)
    receipt = await scene.room.forgetting.forget(target)
    assert (receipt.erased.notes, receipt.erased.verified) == (1, True)
    assert [one.title for one in await scene.room.notes.list()] == ["Log"]
    assert await scene.room.notes.versions("Log") == []


# --- learning ---------------------------------------------------------------------------------------


async def memories(scene: Scene) -> list[str]:
    return sorted(one.text for one in await scene.store.memories.select(MemoryFilter(states=None)))


async def test_memories_are_learned_from_own_words_and_go_with_the_note() -> None:
    scene = Scene()
    text = "I live in Kiel.\n\n> I live in Paris.\n\nSee [[Elsewhere]]."
    note = await scene.room.notes.new("About me", text)
    await scene.room.background.run()
    assert await memories(scene) == ["I live in Kiel."]
    (memory,) = await scene.store.memories.select(MemoryFilter(states=None))
    (view,) = await scene.room.knowledge.views([memory])
    assert [(one.source.quote, one.note) for one in view.sources] == [("I live in Kiel.", "About me")]
    assert (await scene.store.verify()).problems == ()
    # The same text teaches nothing twice.
    await scene.room.notes.edit(note.id, f"{text}\n\nMore.", keep_version=True)
    await scene.room.background.run()
    assert await memories(scene) == ["I live in Kiel."]
    erased = await scene.room.notes.forget([note.id])
    assert (erased.memories, erased.verified) == (1, True)
    assert await memories(scene) == []


async def test_what_was_also_said_elsewhere_stays_when_the_note_goes() -> None:
    scene = Scene()
    await scene.say("I live in Kiel.")
    await scene.room.background.run()
    note = await scene.room.notes.new("About me", "I live in Kiel.")
    await scene.room.background.run()
    erased = await scene.room.notes.forget([note.id])
    assert erased.memories == 0
    assert await memories(scene) == ["I live in Kiel."]


@pytest.mark.parametrize("section", [{"learn": "off"}, {"learn_from_notes": False}])
async def test_nothing_is_learned_from_notes_if_that_is_turned_off(section: dict[str, object]) -> None:
    scene = Scene({"memory": section})
    await scene.room.notes.new("About me", "I live in Kiel.")
    await scene.room.background.run()
    assert await memories(scene) == []


async def test_nothing_is_learned_from_imported_files_until_they_are_edited_here(tmp_path: Path) -> None:
    scene = Scene()
    write(tmp_path / "Me.md", "I live in Kiel.\n")
    await scene.room.note_folders.take(tmp_path)
    await scene.room.background.run()
    assert await memories(scene) == []
    await scene.room.notes.edit("Me", "I live in Kiel, now.\n")
    await scene.room.background.run()
    assert len(await memories(scene)) == 1


async def test_the_file_of_a_note_that_was_deleted_for_good_is_not_imported_again(tmp_path: Path) -> None:
    scene, folder = Scene(), vault(tmp_path)
    await scene.room.note_folders.take(folder)
    await scene.room.notes.forget(["Boat"])
    report = await scene.room.note_folders.take(folder)
    assert (report.notes, report.added) == (2, 0)
    assert [one.why for one in report.skipped] == ["its note was deleted or moved to another room"]


# --- suggestions ------------------------------------------------------------------------------------


async def test_links_are_suggested_with_their_reasons_and_taken() -> None:
    scene = Scene()
    boat = await scene.room.notes.new("Boat", "Her berth is in Kappeln harbour, near the old mill.")
    harbour = await scene.room.notes.new("Kappeln harbour", "Berths, fees, the old mill.")
    await scene.room.notes.new("Bread", "Flour, water, salt.")
    await scene.room.background.run()
    best, *_ = await scene.room.notes.suggest(boat.id)
    assert (best.note, best.reason.why) == (harbour.id, LinkReason.MENTION)
    assert best.reason.at is not None
    assert boat.text[slice(*best.reason.at)] == "Kappeln harbour"
    (mention,) = await scene.room.notes.mentions(harbour.id)
    assert (mention.note, mention.at) == (boat.id, best.reason.at)
    linked = await scene.room.notes.link(boat.id, harbour.id, mention.at)
    assert linked.text == "Her berth is in [[Kappeln harbour]], near the old mill."
    assert harbour.id not in [one.note for one in await scene.room.notes.suggest(boat.id)]
    assert await scene.room.notes.mentions(harbour.id) == []


async def test_a_link_at_the_end_stands_beside_the_others_and_once() -> None:
    scene = Scene()
    note = await scene.room.notes.new("Boat", "Her berth.")
    for title in ("A", "B"):
        await scene.room.notes.new(title, "x")
        await scene.room.notes.link("Boat", title)
    assert (await scene.room.notes.link(note.id, "B")).text == "Her berth.\n\n[[A]] [[B]]\n"


async def test_a_link_to_one_of_two_notes_with_the_same_title_names_its_id(tmp_path: Path) -> None:
    scene = Scene()
    write(tmp_path / "a" / "Log.md", "north")
    write(tmp_path / "b" / "Log.md", "south")
    await scene.room.note_folders.take(tmp_path)
    south = await scene.room.notes.get("b/Log.md")
    note = await scene.room.notes.new("Boat")
    linked = await scene.room.notes.link(note.id, south.id)
    assert linked.text == f"[[note:{south.id}|Log]]\n"
    assert [one.to for one in linked.links] == [south.id]


async def test_suggestions_follow_changes_without_an_embedding_model() -> None:
    scene = Scene()
    boat = await scene.room.notes.new("Boat", "The rudder creaks.")
    assert await scene.room.notes.suggest(boat.id) == []
    rudder = await scene.room.notes.new("Rudder", "Oak and iron.")
    assert [one.note for one in await scene.room.notes.suggest(boat.id)] == [rudder.id]
    await scene.room.notes.delete(["Rudder"])
    assert await scene.room.notes.suggest(boat.id) == []
    assert await scene.room.notes.suggest(rudder.id) == []


async def test_suggestions_compare_the_vectors_of_a_new_embedding_model() -> None:
    scene = Scene()
    boat = await scene.room.notes.new("Boat", "Mast and sail.")
    await scene.room.notes.new("Raft", "Sail and mast.")
    await scene.room.background.run()
    assert [one.parts["chunk"] for one in await scene.room.notes.suggest(boat.id)] == [1.0]
    scene.embedder = HashEmbedder("other")
    scene.embedder.dimension = 32
    assert [one.parts["chunk"] for one in await scene.room.notes.suggest(boat.id)] == [0.0]
    await scene.room.notes.edit("Raft", "Mast, sail and rope.")
    await scene.room.notes.edit(boat.id, "Mast, sail and tiller.")
    await scene.room.background.run()
    assert [one.parts["chunk"] for one in await scene.room.notes.suggest(boat.id)] == [1.0]


async def test_notes_are_read_without_what_links_to_them_if_that_is_not_needed() -> None:
    scene = Scene()
    harbour = await scene.room.notes.new("Harbour")
    boat = await scene.room.notes.new("Boat", "In the [[Harbour]].")
    (whole,) = await scene.store.notes.get_many([harbour.id])
    (part,) = await scene.store.notes.get_many([harbour.id], with_backlinks=False)
    assert [one.note for one in whole.backlinks] == [boat.id]
    assert part == replace(whole, backlinks=())


async def test_the_history_finds_notes_but_none_in_the_bin() -> None:
    scene = Scene()
    await scene.room.notes.new("Owls", "The owl sleeps.")
    await scene.room.notes.new("Gulls", "An owl in the bin.")
    await scene.room.notes.delete(["Gulls"])
    query = parse("owl", scene.clock.now())
    found = await scene.store.find.documents(query, kind=ItemKind.NOTE, order=Order.RECENT, limit=9)
    assert [(one.title.text, one.kind) for one in found.hits] == [("Owls", DocumentKind.NOTE)]
    assert (await scene.store.find.documents(query)).hits == ()
