"""Where one session ends and another begins, and what is told when one is taken up again."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from atlas_desktop.services.context import recalled_since_gone, tier_name
from atlas_desktop.services.turns import TurnOptions
from memory.context.assembly import time_line
from memory.context.entities import NewSummary, TierUse
from memory.entities import MemoryMode
from models.errors import ModelsError
from tests.fakes.models import ScriptedChatModel
from tests.unit.services.scene import Scene

SEA = "the sea is wide and the gulls are loud"
TAX = "quarterly depreciation schedules need auditing"


def settings(new_session: str, **more: object) -> dict[str, dict[str, object]]:
    return {"sessions": {"new_session": new_session, "topic_similarity": -1.0, **more}}


async def at_a_boundary(scene: Scene, why: str) -> tuple[str, str]:
    """A session that is over for that reason, and the words that come next."""
    done, _ = await scene.say(SEA)
    match why:
        case "pause":
            scene.clock.advance(timedelta(minutes=31))
            return done.session.id, SEA
        case "length":
            await scene.say(SEA, done.session)
            return done.session.id, SEA
        case _:
            await scene.say(SEA, done.session)
            return done.session.id, TAX


REASONS: dict[str, tuple[dict[str, object], str]] = {
    "pause": ({"after_minutes": 30}, "a while ago"),
    "length": ({"after_turns": 2}, "become long"),
    "topic": ({"topic_similarity": 0.3}, "topic"),
}


@pytest.mark.parametrize("why", REASONS)
@pytest.mark.parametrize("how", ["off", "offer", "automatic"])
async def test_a_new_session_is_offered_begun_or_neither(how: str, why: str) -> None:
    changed, words = REASONS[why]
    scene = Scene(settings(how, **changed))
    session, text = await at_a_boundary(scene, why)
    done, notices = await scene.say(text, session)
    codes = [notice.code for notice in notices]
    match how:
        case "off":
            assert codes == []
        case "offer":
            assert codes == ["boundary"]
            assert "/new" in notices[0].text
        case _:
            assert codes == ["new_session"]
    assert all(words in notice.text for notice in notices)
    assert (done.session.id != session) == (how == "automatic")


@pytest.mark.parametrize("how", ["offer", "automatic"])
async def test_before_a_boundary_nothing_is_told(how: str) -> None:
    scene = Scene(settings(how, topic_similarity=0.3))
    done, notices = await scene.say(SEA)
    assert notices == []
    scene.clock.advance(timedelta(minutes=29))
    again, notices = await scene.say(f"{SEA}, still", done.session)
    assert (again.session.id, notices) == (done.session.id, [])


async def test_another_answer_and_an_edit_are_no_turns() -> None:
    scene = Scene(settings("offer", after_turns=2))
    done, _ = await scene.say(SEA)
    chat, session = scene.room.chat, done.session.id
    await scene.run(chat.regenerate(session))
    await scene.run(chat.edit(session, (await scene.store.branch(session))[0].id, TAX))
    assert (await scene.store.get_session(session)).message_count == 5
    _, notices = await scene.say(SEA, session)
    assert notices == []
    _, notices = await scene.say(SEA, session)
    assert [notice.code for notice in notices] == ["boundary"]


async def test_an_answer_of_a_word_is_no_change_of_topic() -> None:
    scene = Scene(settings("automatic", topic_similarity=0.3))
    done, _ = await scene.say(SEA)
    again, notices = await scene.say("Go on.", done.session)
    assert (again.session.id, notices) == (done.session.id, [])


async def test_a_question_about_the_newest_reply_is_no_change_of_topic() -> None:
    scene = Scene(settings("offer", topic_similarity=0.3), model=ScriptedChatModel([TAX, "Yes."]))
    done, _ = await scene.say(SEA)
    _, notices = await scene.say(f"{TAX} monthly", done.session)
    assert notices == []
    # What was answered before that is another matter.
    _, notices = await scene.say("gulls steal sandwiches near harbours", done.session)
    assert [notice.code for notice in notices] == ["boundary"]


async def test_a_session_begun_by_itself_takes_along_what_it_was_begun_with() -> None:
    scene = Scene(settings("automatic"))
    options = TurnOptions(memory_mode=MemoryMode.BLANK, system="Be brief.", project="sails")
    first, _ = await scene.say(SEA, options=options)
    scene.clock.advance(timedelta(hours=2))
    second, _ = await scene.say(SEA, first.session)
    assert second.session.id != first.session.id
    assert second.session.memory_mode is MemoryMode.BLANK
    assert (second.session.project, second.session.system_prompt) == ("sails", "Be brief.")


async def test_parts_of_one_message_stay_together() -> None:
    scene = Scene(settings("automatic", topic_similarity=0.3))
    first, _ = await scene.say(SEA)
    second, notices = await scene.say(TAX, first.session, TurnOptions(continues=True))
    assert (second.session.id, notices) == (first.session.id, [])


async def test_an_embedding_model_that_fails_costs_no_turn() -> None:
    scene = Scene(settings("offer", topic_similarity=0.3))
    done, _ = await scene.say(SEA)

    async def fail(texts: Sequence[str]) -> list[list[float]]:
        raise ModelsError

    scene.embedder.embed = fail  # type: ignore[method-assign]
    again, notices = await scene.say(TAX, done.session)
    assert (again.message.content, notices) == ("Hello.", [])


async def test_a_session_that_rests_is_told_of_and_the_model_is_not() -> None:
    scene = Scene(settings("off"))
    done, _ = await scene.say("We go to Reine in June.")
    await scene.say("And the ferry is booked.", done.session)
    session = await scene.store.get_session(done.session.id)
    assert await scene.room.continuity.reminder(session) is None

    scene.clock.advance(timedelta(minutes=31))
    found = await scene.room.continuity.reminder(session)
    assert found is not None
    assert found.text == "We go to Reine in June. … And the ferry is booked."
    assert found.turns == 2

    said = [message.id for message in await scene.store.branch(session.id)][:2]
    await scene.store.context.add_summary(session.id, NewSummary("They plan a trip to Reine.", tuple(said)))
    found = await scene.room.continuity.reminder(session)
    assert found is not None
    assert found.text == "They plan a trip to Reine."

    scene.settings = Scene({"sessions": {"reminder": False}}).settings
    assert await scene.room.continuity.reminder(session) is None
    await scene.say("Go on.", session)
    sent = "\n".join(message.content for message in scene.model.prompts[-1])
    assert "They plan a trip to Reine." not in sent


async def test_a_model_whose_prompts_cannot_only_grow_is_told_of_once() -> None:
    class Rewriting(ScriptedChatModel):
        def __init__(self) -> None:
            super().__init__()
            self._info = replace(self._info, prefix_stable=False)

    scene = Scene(settings("off"), model=Rewriting())
    first, notices = await scene.say(SEA)
    assert [notice.code for notice in notices] == ["not_append_only"]
    _, notices = await scene.say("more", first.session)
    assert notices == []
    _, notices = await Scene().say(SEA)
    assert notices == []


def test_a_recall_that_has_left_the_room_is_told_from_a_date_alone() -> None:
    for month in range(1, 13):
        line = time_line(datetime(2026, month, 28, 23, 59, tzinfo=UTC), None)
        date = TierUse("recall", len(line), ())
        assert not recalled_since_gone(date)
        assert tier_name(date) == "date and time"
    gone = TierUse("recall", 81, ())
    assert recalled_since_gone(gone)
    assert tier_name(gone) == "recalled"
    assert not recalled_since_gone(TierUse("recall", 81, ("m1",)))
