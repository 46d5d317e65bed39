"""What is done with one message, and what a conversation is given."""

from collections.abc import Callable
from pathlib import Path

import pytest
from textual.events import Key, Paste
from textual.widgets import Static

from atlas_desktop.tui.chat.attachments import Chips
from atlas_desktop.tui.chat.markdown import CodeHead
from atlas_desktop.tui.chat.messages import BranchScreen
from atlas_desktop.tui.dialogs.forms import FieldsScreen
from atlas_desktop.tui.dialogs.questions import PickScreen
from atlas_desktop.tui.provenance.screen import LongText, WholeScreen, WhyScreen
from atlas_desktop.tui.provenance.sources import Chosen
from memory.entities import MessagePatch, MessageStatus, TitleSource
from memory.personas import NewPersona, NewTemplate
from tests.fakes.clock import FakeClock
from tests.stores import InMemoryStore
from tests.tui.desk import LOFOTEN, NOW, NamedModel, Stage, talk
from tests.tui.driving import assert_until, chat, command, on, say, settle, shown, turn_to, type_text

Make = Callable[..., Stage]
SIZE = (120, 40)


async def branch(place: Stage) -> list[str]:
    session = await place.store.get_session("last")
    return [m.content for m in await place.store.branch(session.id)]


async def test_the_message_that_keys_are_about_is_marked_at_once(make: Make) -> None:
    place = make(model=NamedModel(["Because of the moon."]))
    async with place.app.run_test(size=(100, 30)) as pilot:
        await settle(pilot)
        await say(pilot, "Why tides?")
        await settle(pilot)
        assert "▸" not in shown(place)
        await pilot.press("alt+up")
        await settle(pilot)
        assert "▸ Atlas" in shown(place)
        await pilot.press("up")
        await settle(pilot)
        assert "▸ You" in shown(place)
        await pilot.press("escape")
        await settle(pilot)
        assert "▸" not in shown(place)


async def test_among_the_messages_a_slash_begins_a_command(make: Make) -> None:
    place = make(model=NamedModel(["Because of the moon."]))
    async with place.app.run_test(size=(140, 30)) as pilot:
        await settle(pilot)
        await say(pilot, "Why tides?")
        await settle(pilot)
        await pilot.press("alt+up")
        await assert_until(pilot, lambda: "esc Back" in shown(place).splitlines()[-1])
        assert "tab Sources" in shown(place).splitlines()[-1]
        # Keys that come at once, as through a slow line: none of them acts on the message.
        for key, character in (("slash", "/"), ("h", "h"), ("e", "e"), ("l", "l"), ("p", "p")):
            place.app.post_message(Key(key, character))
        await assert_until(pilot, lambda: chat(place.app).prompt.text == "/help")


async def test_a_window_hides_the_keys_of_the_screen_below(make: Make) -> None:
    place = make(model=NamedModel(["Because of the moon."]))
    async with place.app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await say(pilot, "Why tides?")
        await settle(pilot)
        await pilot.press("alt+up", "o")
        await assert_until(pilot, lambda: on(place.app, WholeScreen) and "Fork" not in shown(place))
        await pilot.press("escape")
        await assert_until(pilot, lambda: "f Fork" in shown(place).splitlines()[-1])


async def test_a_found_message_of_another_branch_is_shown_and_that_is_said(make: Make) -> None:
    place = make(model=NamedModel(["First.", "Second."]))
    async with place.app.run_test(size=SIZE, notifications=True) as pilot:
        await settle(pilot)
        await say(pilot, "one heron")
        await settle(pilot)
        await pilot.press("alt+up", "up", "e", "X", "enter")
        await settle(pilot)
        assert await branch(place) == ["one heronX", "Second."]
        session = chat(place.app).current.id
        assert session is not None
        first = next(node.id for node in await place.store.outline(session))
        chat(place.app).navigation.place_chosen(Chosen(session, first))
        await assert_until(pilot, lambda: "1/2" in shown(place))
        await settle(pilot)
        assert await branch(place) == ["one heron", "First."]
        (told,) = [note.message for note in place.app._notifications if "another branch" in note.message]
        assert "b shows all branches" in told


async def test_a_message_is_edited_and_both_branches_can_be_gone_to(make: Make) -> None:
    place = make(model=NamedModel(["First.", "Second.", "Third."]))
    async with place.app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await say(pilot, "one")
        await settle(pilot)
        await say(pilot, "two")
        await settle(pilot)
        await type_text(pilot, "draft")
        await pilot.press("alt+up", "up", "e")
        await assert_until(pilot, lambda: chat(place.app).prompt.text == "two")
        assert "Editing an earlier message" in shown(place)
        await pilot.press("escape")
        assert chat(place.app).prompt.text == "draft"

        await pilot.press("alt+up", "up", "e", "X", "enter")
        await settle(pilot)
        assert await branch(place) == ["one", "First.", "twoX", "Third."]
        assert chat(place.app).prompt.text == "draft"
        assert "Second." not in shown(place)
        assert "2/2" in shown(place)

        await pilot.press("alt+up", "up", "left")
        await assert_until(pilot, lambda: "Second." in shown(place))
        await settle(pilot)
        assert "1/2" in shown(place)
        assert await branch(place) == ["one", "First.", "two", "Second."]

        await pilot.press("b")
        await assert_until(pilot, lambda: on(place.app, BranchScreen) and "twoX" in shown(place))
        assert "2 branches" in shown(place)
        await pilot.press("down", "enter")
        await assert_until(pilot, lambda: "Third." in shown(place))


async def test_branches_that_begin_alike_are_told_apart(make: Make) -> None:
    place = make()
    long = "Tell me a story about a lighthouse keeper named Ole, with a boat and a dog, which ends {}."
    session = await talk(place.store, "Ole", [(long.format("well"), "Good.")])
    first = (await place.store.branch(session.id))[0]
    await place.store.edit_message(first.id, long.format("in a storm"))
    place.app._resume = session.id
    async with place.app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await pilot.press("alt+up", "b")
        await assert_until(pilot, lambda: on(place.app, BranchScreen))
        assert "ends well." in shown(place)
        assert "ends in a storm." in shown(place)


async def test_a_reply_that_was_cut_is_gone_on_with(make: Make) -> None:
    place = make(model=NamedModel(["and the rest."]))
    session = await talk(place.store, "Tides", [("Why tides?", "The moon, ")])
    cut = (await place.store.branch(session.id))[-1]

    partial = MessagePatch(status=MessageStatus.PARTIAL, stop_reason="cancelled")
    await place.store.update_message(cut.id, partial)
    place.app._resume = session.id
    async with place.app.run_test(size=SIZE) as pilot:
        await assert_until(pilot, lambda: "The moon," in shown(place))
        await settle(pilot)
        assert "Stopped here." in shown(place)
        assert "/continue continues the reply" in shown(place)
        await pilot.press("alt+up", "c")
        await settle(pilot)
        assert await branch(place) == ["Why tides?", "The moon, and the rest."]
        assert [m.content for m in place.model.prompts[-1][-2:]] == ["Why tides?", "The moon, "]
        await assert_until(pilot, lambda: "The moon, and the rest." in shown(place))
        assert chat(place.app).check_action("message_continue", ()) is None
        assert "Stopped here." not in shown(place)


async def test_a_copy_says_what_tmux_needs_for_it(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    store = InMemoryStore(FakeClock(NOW))
    session = await talk(store, "Lofoten", LOFOTEN)
    place = make(store=store, resume=session.id)
    async with place.app.run_test(size=SIZE) as pilot:
        await assert_until(pilot, lambda: "when you are done" in shown(place))
        for within in ("", "/tmp/tmux-0/default,1,0"):
            monkeypatch.setenv("TMUX", within)
            await pilot.press("alt+up", "y")
            await settle(pilot)
            said = [one.message for one in place.app._notifications]
            assert any("set-clipboard on" in one for one in said) is bool(within)


async def test_messages_are_copied_marked_asked_why_and_forked(make: Make) -> None:
    store = InMemoryStore(FakeClock(NOW))
    session = await talk(store, "Lofoten", LOFOTEN)
    place = make(store=store, resume=session.id)
    async with place.app.run_test(size=SIZE) as pilot:
        await assert_until(pilot, lambda: "when you are done" in shown(place))
        await settle(pilot)
        await pilot.press("alt+up", "Y")
        await settle(pilot)
        assert place.app.clipboard.startswith("PACKING = [")
        head = place.app.screen.query_one(CodeHead)
        place.app.copy_to_clipboard("")
        await pilot.click(head, offset=(head.content_size.width, 0))
        await settle(pilot)
        assert place.app.clipboard.startswith("PACKING = [")
        await pilot.press("up", "y", "i")
        await settle(pilot)
        assert place.app.clipboard == LOFOTEN[1][0]
        assert "★ important" in shown(place)
        await pilot.press("w")
        await settle(pilot)
        assert "Nothing was learned from it" in " ".join(n.message for n in place.app._notifications)
        assert not on(place.app, WhyScreen)
        await pilot.press("f")
        await settle(pilot)
        assert [m.content for m in await store.branch(session.id)][2] == (await branch(place))[-1]
        assert len(await branch(place)) == 3


async def test_a_slip_in_a_command_is_not_said_and_commands_are_completed(make: Make) -> None:
    place = make()
    async with place.app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await say(pilot, "/forgte")
        await settle(pilot)
        assert place.model.prompts == []
        chat(place.app).prompt.put("")
        await type_text(pilot, "/tem")
        await assert_until(pilot, lambda: chat(place.app).menu.is_open)
        assert "Choose a prompt" in shown(place)
        await pilot.press("tab")
        assert chat(place.app).prompt.text == "/template "
        await settle(pilot)
        assert not chat(place.app).menu.is_open


async def test_enter_sends_a_command_that_was_typed_faster_than_the_list_follows(make: Make) -> None:
    place = make(model=NamedModel(["Arr."]))
    async with place.app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await say(pilot, "hello")
        await settle(pilot)
        prompt = chat(place.app).prompt
        await type_text(pilot, "/re")
        await assert_until(pilot, lambda: chat(place.app).menu.is_open)
        for character in "name Tides":
            prompt.post_message(Key("space" if character == " " else character, character))
        prompt.post_message(Key("enter", "\r"))
        await assert_until(pilot, lambda: not prompt.text)
        await settle(pilot)
        assert (await place.store.get_session("last")).title == "Tides"


async def test_an_attachment_of_one_character_is_counted_as_one(make: Make, tmp_path: Path) -> None:
    place = make()
    note = tmp_path / "x.txt"
    note.write_text("x")
    async with place.app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await say(pilot, f"/attach {note}")
        await settle(pilot)
        told = " ".join(one.message for one in place.app._notifications)
        assert "1 character" in told
        assert "1 characters" not in told


async def test_files_are_attached_shown_and_taken_out(make: Make, tmp_path: Path) -> None:
    place = make(model=NamedModel(["Alba."]))
    note = tmp_path / "a note.md"
    note.write_text("The boat is called Alba.")
    async with place.app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await say(pilot, f"/attach {note}")
        await settle(pilot)
        await assert_until(pilot, lambda: "a note.md" in shown(place))
        await say(pilot, "What is the boat called?")
        await settle(pilot)
        assert "The boat is called Alba." in place.model.prompts[-1][-1].content
        await assert_until(pilot, lambda: "Read: a note.md (in full" in shown(place))
        session = await place.store.get_session("last")
        assert [one.name for one in await place.store.attachments.attached(session.id)] == ["a note.md"]

        prompt = chat(place.app).prompt
        await prompt.on_paste(paste("one\rtwo\r\nthree\n"))
        assert prompt.text == "one\ntwo\nthree\n"
        prompt.put("")
        await prompt.on_paste(paste(str(note)))
        await assert_until(pilot, lambda: on(place.app, PickScreen))
        await pilot.press("escape")
        chips = place.app.screen.query_one(Chips)
        chips.post_message(Chips.Removed(chips._chips[0].ref))
        await settle(pilot)
        assert await place.store.attachments.attached(session.id) == []
        await assert_until(pilot, lambda: "a note.md" not in shown(place))


def paste(text: str) -> Paste:

    return Paste(text)


async def test_personas_templates_stars_and_tags(make: Make) -> None:
    place = make(model=NamedModel(["Arr."]))
    async with place.app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        personas = place.app.room.personas
        await personas.add(NewPersona("Pirate", "You talk like a pirate.", temperature=0.1))
        await personas.add_template(NewTemplate("letter", "Write to {whom}."))
        await say(pilot, "/persona pirate")
        await settle(pilot)
        told = " ".join(one.message for one in place.app._notifications)
        assert "Persona changed to Pirate. This applies from your first message." in told
        await say(pilot, "/template letter")
        await assert_until(pilot, lambda: on(place.app, FieldsScreen))
        await type_text(pilot, "Ines")
        await pilot.press("enter")
        await assert_until(pilot, lambda: chat(place.app).prompt.text == "Write to Ines.")
        await pilot.press("enter")
        await settle(pilot)
        assert place.model.prompts[-1][0].content == "You talk like a pirate."
        await say(pilot, "/star")
        await say(pilot, "/tag sea 'two words'")
        await settle(pilot)
        session = await place.store.get_session("last")
        assert session.starred
        assert session.tags == ("sea", "two words")
        await say(pilot, "/system You are a poet.")
        await assert_until(pilot, lambda: "With your next message" in shown(place))
        await say(pilot, "Go")
        await settle(pilot)
        assert place.model.prompts[-1][0].content == "You are a poet."


async def test_forks_are_told_apart_by_their_titles_also_where_these_are_cut(make: Make) -> None:
    title = "A weekend in the Lofoten islands, with ferries, huts and rain"
    store = InMemoryStore(FakeClock(NOW))
    session = await talk(store, title, LOFOTEN)
    place = make(store=store, resume=session.id)
    async with place.app.run_test(size=(120, 40)) as pilot:
        await assert_until(pilot, lambda: "when you are done" in shown(place))
        for number in (2, 3):
            await pilot.press("alt+up", "f")
            await settle(pilot)
            current = chat(place.app).current.session
            assert current is not None
            assert (current.title, current.title_source) == (f"{title} ({number})", TitleSource.PERSON)
            listed = [line[2:25] for line in shown(place).splitlines() if line.startswith("  A weekend")]
            assert len(set(listed)) == len(listed) == number
            assert f"… ({number})" in shown(place).splitlines()[0]
        await pilot.press("f2")
        await assert_until(pilot, lambda: "3 conversations" in shown(place) and "(3)" in shown(place))


async def test_what_is_marked_without_a_selected_message_is_said(make: Make) -> None:
    def told() -> str:
        return " ".join(note.message for note in place.app._notifications)

    place = make()
    async with place.app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        assert not chat(place.app).check_action("message_important", ())
        await say(pilot, "Hello")
        await settle(pilot)
        await pilot.press("ctrl+p")
        await type_text(pilot, "important")
        await assert_until(pilot, lambda: "Mark as important" in shown(place))
        await pilot.press("down", "enter")
        await assert_until(pilot, lambda: "the latest one. Alt+Up selects another" in told())
        assert "★ important" in shown(place)
        place.app.clear_notifications()
        await pilot.press("alt+up", "up", "i")
        await assert_until(pilot, lambda: "No longer marked as important" in told())
        assert "latest" not in told()


async def test_of_a_message_of_megabytes_the_beginning_is_shown_and_a_key_shows_all(make: Make) -> None:
    place = make()
    huge = "one two three " * 700_000 + "the very end"
    session = await talk(place.store, "Long", [(huge, f"{huge} of the reply")])
    async with place.app.run_test(size=(140, 40)) as pilot:
        await settle(pilot)
        screen = await turn_to(pilot, place, session.id)
        mine, theirs = screen.transcript.blocks
        for block in (mine, theirs):
            assert block.size.height < 1_000
            assert "characters. Press o on the selected message" in str(
                block.query_one(".end", Static).render()
            )
        assert mine.message.content == huge
        await command(pilot, "/whole")
        whole = place.app.screen.query_one(LongText)
        whole.focus()
        await settle(pilot)
        await pilot.press("end")
        await assert_until(pilot, lambda: "the very end of the reply" in shown(place))
        await pilot.press("escape")
        await settle(pilot)
        assert place.app.screen is screen


async def test_the_path_of_a_file_is_attached_or_sent_as_it_is(make: Make, tmp_path: Path) -> None:
    file = tmp_path / "list.txt"
    file.write_text("Nails, two boards")
    place = make(model=NamedModel(["A path.", "A command?"]))
    async with place.app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        prompt = chat(place.app).prompt
        prompt.put(str(file))
        await pilot.press("enter")
        await assert_until(pilot, lambda: on(place.app, PickScreen))
        await pilot.press("escape")
        await settle(pilot)
        assert prompt.text == str(file)
        await pilot.press("enter")
        await assert_until(pilot, lambda: on(place.app, PickScreen))
        await pilot.press("down", "enter")
        await settle(pilot)
        assert await branch(place) == [str(file), "A path."]
        prompt.put(str(file))
        await pilot.press("enter")
        await assert_until(pilot, lambda: on(place.app, PickScreen))
        await pilot.press("enter")
        await assert_until(pilot, lambda: "list.txt" in str(chat(place.app).query_one(Chips).render()))
        assert prompt.text == ""
        # A path that leads to no file is a message like any other.
        prompt.put(f"{file}x is missing")
        await pilot.press("enter")
        await settle(pilot)
        assert (await branch(place))[-2] == f"{file}x is missing"


async def test_editing_at_a_reply_says_that_the_message_before_it_is_edited(make: Make) -> None:
    place = make(model=NamedModel(["First."]))
    async with place.app.run_test(size=SIZE, notifications=True) as pilot:
        await settle(pilot)
        await say(pilot, "one")
        await settle(pilot)
        await pilot.press("alt+up", "e")
        await assert_until(pilot, lambda: "A reply cannot be edited." in shown(place))
        assert chat(place.app).prompt.text == "one"
