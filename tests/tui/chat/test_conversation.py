"""Sending, streaming, stopping, answering again, and what happens when the model fails."""

import asyncio
from collections.abc import Callable

from textual.widgets import Static

from atlas_desktop.tui.chat.message import MessageBlock
from atlas_desktop.tui.chat.prompt import Prompt
from memory.entities import Message, MessageStatus, NewMessage, NewSession, Session
from memory.errors import StorageFull
from models.errors import WorkerCrashed
from models.messages import Role
from tests.stores import InMemoryStore
from tests.tui.desk import NamedModel, Stage
from tests.tui.driving import assert_until, chat, say, settle, shown
from tests.tui.scripted import gated, let_go, stored

Make = Callable[..., Stage]


async def test_a_message_is_answered_and_saved(make: Make) -> None:
    place = make(model=NamedModel(["The **moon** pulls."]))
    async with place.app.run_test() as pilot:
        await settle(pilot)
        await say(pilot, "Why tides?")
        await settle(pilot)
        await assert_until(pilot, lambda: "The moon pulls." in shown(place))
        assert await stored(place) == [
            ("user", "Why tides?", "complete"),
            ("assistant", "The **moon** pulls.", "complete"),
        ]
        assert chat(place.app).prompt.text == ""
        assert "of 1,024 tokens" in shown(place)
        assert place.app.sub_title == ""


async def test_a_long_prompt_shows_for_how_long_it_is_read(make: Make) -> None:
    model = gated("One two three.")
    place = make(model=model)
    async with place.app.run_test(size=(120, 30)) as pilot:
        await settle(pilot)
        await say(pilot, "count")
        await assert_until(pilot, lambda: "Writing" in shown(place))
        current = chat(place.app).current
        current.partial_text = ""
        current.began -= 61
        await assert_until(pilot, lambda: "Reading · 6" in shown(place))
        let_go(model)
        await settle(pilot)
        assert "Reading" not in shown(place)


async def test_the_reply_is_shown_while_it_comes(make: Make) -> None:
    model = gated("One two three.")
    place = make(model=model)
    async with place.app.run_test() as pilot:
        await settle(pilot)
        await say(pilot, "Count")
        await assert_until(pilot, lambda: "Writing" in shown(place) and "One" in shown(place))
        assert "three." not in shown(place)
        await say(pilot, "/copy")
        await say(pilot, "/why")
        await assert_until(pilot, lambda: len(place.app._notifications) == 2)
        why = "is not available now: the reply is still being written."
        assert [one.message for one in place.app._notifications] == [f"/copy {why}", f"/why {why}"]
        let_go(model)
        await settle(pilot)
        await assert_until(pilot, lambda: "One two three." in shown(place))
        assert "Ready" in shown(place)


def lines_after(place: Stage, words: str) -> list[str]:
    """What stands below a line that is these words, without empty lines."""
    lines = [line.strip("▏▐▌│ ") for line in shown(place).splitlines()]
    return [line for line in lines[lines.index(words) + 1 :] if line]


async def test_esc_stops_and_keeps_what_came(make: Make) -> None:
    place = make(model=gated("One two three."))
    async with place.app.run_test() as pilot:
        await settle(pilot)
        await say(pilot, "Count")
        await assert_until(pilot, lambda: "Writing" in shown(place))
        await pilot.press("escape")
        await settle(pilot)
        assert "stopped" in shown(place)
        assert lines_after(place, "One")[0] == "■ Stopped here."
        assert (await stored(place))[-1] == ("assistant", "One", "partial")


async def test_a_reply_stopped_before_its_first_word_was_stopped_and_has_not_failed(make: Make) -> None:
    place = make(model=gated(" One two three."))
    async with place.app.run_test() as pilot:
        await settle(pilot)
        await say(pilot, "Count")
        await assert_until(pilot, lambda: len(place.model.prompts) == 1)
        await pilot.press("escape")
        await settle(pilot)
        assert "· stopped" in shown(place)
        assert "Stopped before the first word. Ctrl+R tries again." in shown(place)
        assert "failed" not in shown(place)
        assert "No reply." not in shown(place)
        session = await place.store.get_session("last")
        reply = (await place.store.branch(session.id))[-1]
        assert (reply.content, reply.stop_reason) == ("", "cancelled")
    await place.app.desk.close()
    again = make(store=place.store.reopened(), resume=session.id)
    async with again.app.run_test() as pilot:
        await assert_until(pilot, lambda: "Stopped before the first word" in shown(again))


async def test_ctrl_c_says_what_stops_a_reply_and_says_it_once(make: Make) -> None:
    model = gated("One two three.")
    place = make(model=model)

    def remarks() -> list[str]:
        return [one.message for one in place.app._notifications]

    async with place.app.run_test() as pilot:
        await settle(pilot)
        await say(pilot, "Count")
        await assert_until(pilot, lambda: "Writing" in shown(place))
        await pilot.press("ctrl+c", "ctrl+c")
        await settle(pilot, but="turns")
        await assert_until(
            pilot, lambda: remarks() == ["Esc stops the reply, Ctrl+Q quits. Ctrl+C copies the selection."]
        )
        place.app.clear_notifications()
        let_go(model)
        await settle(pilot)
        await pilot.press("ctrl+c")
        await assert_until(pilot, lambda: remarks() == ["Ctrl+Q quits. Ctrl+C copies the selection."])


async def test_answering_again_keeps_the_earlier_answer(make: Make) -> None:
    place = make(model=NamedModel(["First try.", "Second try."]))
    async with place.app.run_test() as pilot:
        await settle(pilot)
        await say(pilot, "Go")
        await settle(pilot)
        await pilot.press("ctrl+r")
        await settle(pilot)
        await assert_until(pilot, lambda: "Second try." in shown(place))
        assert "First try." not in shown(place)
        session = await place.store.get_session("last")
        branch = await place.store.branch(session.id)
        assert [m.content for m in await place.store.variants(branch[-1].id)] == ["First try.", "Second try."]


async def test_a_crash_of_the_model_is_told_and_the_conversation_goes_on(make: Make) -> None:
    model = NamedModel(["One two three four."], failure=WorkerCrashed(-11), fail_after=2)
    place = make(model=model)
    async with place.app.run_test() as pilot:
        await settle(pilot)
        await say(pilot, "Count")
        await settle(pilot)
        assert "The model process stopped" in shown(place)
        assert "SIGSEGV" in shown(place)
        assert "partial" in shown(place)
        assert (await stored(place))[-1] == ("assistant", "One two", "partial")
        model.failure = None
        await say(pilot, "Again")
        await settle(pilot)
        assert (await stored(place))[-1] == ("assistant", "One two three four.", "complete")


async def test_a_reply_without_a_word_says_how_to_ask_again(make: Make) -> None:
    model = NamedModel(["One"], failure=WorkerCrashed(-9), fail_after=0)
    place = make(model=model)
    async with place.app.run_test() as pilot:
        await settle(pilot)
        await say(pilot, "Count")
        await settle(pilot)
        assert "failed" in shown(place)
        assert "Ctrl+R tries again" in shown(place)
        assert "was restarted" in shown(place)
        model.failure = None
        await pilot.press("ctrl+r")
        await settle(pilot)
        assert (await stored(place))[-1] == ("assistant", "One", "complete")


async def test_words_that_could_not_be_stored_go_back_to_the_prompt(make: Make) -> None:
    class FullStore(InMemoryStore):
        async def begin_turn(
            self,
            session_id: str | None,
            new_session: NewSession | None,
            said: NewMessage,
            reply: NewMessage,
        ) -> tuple[Session, Message, Message]:
            raise StorageFull

    place = make(store=FullStore())
    async with place.app.run_test() as pilot:
        await settle(pilot)
        await say(pilot, "Do not lose me")
        await settle(pilot)
        assert "Writing to the disk failed" in shown(place)
        assert chat(place.app).prompt.text == "Do not lose me"


async def test_the_view_follows_only_at_the_end(make: Make) -> None:
    model = gated("\n\n".join(f"line {n}" for n in range(60)))
    place = make(model=model)
    async with place.app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await say(pilot, "Go")
        await assert_until(pilot, lambda: "Writing" in shown(place))
        let_go(model)
        await settle(pilot)
        view = chat(place.app).transcript
        await assert_until(pilot, lambda: "line 59" in shown(place))
        assert view.scroll_y == view.max_scroll_y
        await pilot.press("pageup")
        await pilot.pause()
        up = view.scroll_y
        assert up < view.max_scroll_y
        block = view.blocks[-1]
        block.stream("\n\nmore\n\nand more", 30)
        await assert_until(pilot, lambda: view.max_scroll_y > up + 20)
        assert view.scroll_y == up
        await pilot.press("ctrl+end")
        await pilot.pause()
        assert view.scroll_y == view.max_scroll_y


async def test_leaving_while_a_reply_comes_saves_it(make: Make) -> None:
    place = make(model=gated("One two three."))
    async with place.app.run_test() as pilot:
        await settle(pilot)
        await say(pilot, "Count")
        await assert_until(pilot, lambda: "Writing" in shown(place))
        closed = asyncio.Event()
        saved: list[tuple[str, str, str]] = []
        close = place.store.close

        async def note_and_close() -> None:
            saved.extend(await stored(place))
            await close()
            closed.set()

        place.store.close = note_and_close  # type: ignore[method-assign]
        await pilot.press("ctrl+q")
        await asyncio.wait_for(closed.wait(), 5)
    assert saved[-1] == ("assistant", "One", "partial")
    assert place.app.return_code == 0


async def test_a_reply_goes_on_while_another_conversation_is_open(make: Make) -> None:
    model = gated("One two three.")
    place = make(model=model)
    async with place.app.run_test() as pilot:
        await settle(pilot)
        await say(pilot, "Count")
        await assert_until(pilot, lambda: "Writing" in shown(place))
        first = chat(place.app).current
        assert first.id is not None
        await pilot.press("ctrl+n")
        await assert_until(pilot, lambda: chat(place.app).current is not first)
        chat(place.app).open_session(first.id)
        await assert_until(pilot, lambda: chat(place.app).current is first)
        let_go(model)
        await settle(pilot)
        await assert_until(pilot, lambda: "One two three." in shown(place))
        assert (await stored(place))[-1][2] == MessageStatus.COMPLETE


async def test_titles_are_given_when_there_is_nothing_else_to_do(make: Make) -> None:
    place = make(model=NamedModel(["Because of the moon.", "Tides and the moon"]), titles=True)
    async with place.app.run_test(size=(120, 30)) as pilot:
        await settle(pilot)
        await say(pilot, "Why are there tides on some coasts and not on others, please?")
        await settle(pilot)
        await assert_until(pilot, lambda: "Tides and the moon" in shown(place))
        assert (await place.store.get_session("last")).title == "Tides and the moon"


async def test_a_message_block_tells_roles_apart_by_word(make: Make) -> None:
    place = make()
    async with place.app.run_test() as pilot:
        await settle(pilot)
        await say(pilot, "Hi")
        await settle(pilot)
        blocks = chat(place.app).transcript.query(MessageBlock)
        heads = [str(b.query_one(".head", Static).content) for b in blocks]
        assert [b.message.role for b in blocks] == [Role.USER, Role.ASSISTANT]
        assert heads[0].startswith("You")
        assert heads[1].startswith("Atlas")
        assert isinstance(chat(place.app).focused, Prompt)
