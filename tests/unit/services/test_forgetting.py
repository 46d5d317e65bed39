"""Erasing a session: what goes, what else it reaches, and that nothing comes back."""

from collections.abc import Sequence

import pytest

from memory.context.entities import NewSummary, SummaryState, TierUse, TurnRecord
from memory.entities import Target
from memory.errors import SessionNotFound, StorageFull
from memory.recall.entities import RecallQuery
from memory.summaries.compaction import IMPROVE
from models.errors import WorkerUnresponsive
from models.messages import ModelState
from tests.fakes.models import ScriptedChatModel, WordCounter
from tests.stores import InMemorySnapshots
from tests.unit.services.scene import Scene

LONG = "heliotrope " + "word " * 300


async def test_a_session_goes_with_its_states_and_its_jobs() -> None:
    scene = Scene()
    kept, _ = await scene.say(LONG.replace("heliotrope", "kept"))
    done, _ = await scene.say(LONG)
    await scene.room.epochs.keep(kept.session.id)
    await scene.room.epochs.keep(done.session.id)
    assert scene.snapshots is not None
    assert len(scene.snapshots.states) == 2

    receipt = await scene.room.forgetting.erase_session(done.session.id)
    assert receipt.verified
    assert (receipt.erased.messages, receipt.snapshots) == (2, 1)
    assert receipt.erased.jobs >= 1
    assert {session for session, _ in scene.snapshots.states} == {kept.session.id}
    with pytest.raises(SessionNotFound):
        await scene.store.get_session(done.session.id)
    assert scene.model.held == []


async def test_a_state_that_was_about_to_be_kept_is_not() -> None:
    scene = Scene()
    done, _ = await scene.say(LONG)
    await scene.room.forgetting.erase_session(done.session.id)
    assert not await scene.room.epochs.keep(done.session.id)
    await scene.room.epochs.close()
    assert scene.snapshots is not None
    assert scene.snapshots.states == {}


async def test_keeping_a_state_lets_go_of_those_of_other_models() -> None:
    scene = Scene()
    done, _ = await scene.say(LONG)
    assert scene.snapshots is not None
    await scene.snapshots.put("an older session", ModelState("another model", (1, 2), (b"state",), ""))
    await scene.room.epochs.keep(done.session.id)
    assert [session for session, _ in scene.snapshots.states] == [done.session.id]


async def test_states_of_sessions_that_recalled_it_go_too() -> None:
    scene = Scene()
    source, _ = await scene.say("the code word is heliotrope")
    other, _ = await scene.say(f"what was the code word, heliotrope or not? {'word ' * 300}")
    assert {hit.source.session for hit in other.recalled} == {source.session.id}
    await scene.room.epochs.keep(other.session.id)
    receipt = await scene.room.forgetting.erase_session(source.session.id)
    assert receipt.verified
    assert receipt.erased.recalled_in == (other.session.id,)
    assert receipt.snapshots == 1
    assert (await scene.store.branch(other.session.id))[0].preface == ""
    await scene.say("and now?", other.session)
    sent = "\n".join(message.content for message in scene.model.prompts[-1])
    assert "the code word is heliotrope" not in sent


async def test_what_the_disk_does_not_let_go_of_leaves_the_session_whole() -> None:
    class Stuck(InMemorySnapshots):
        async def drop_session(self, session_id: str) -> int:
            raise StorageFull(session_id)

    scene = Scene()
    done, _ = await scene.say(LONG)
    scene.room.epochs._snapshots = Stuck()
    with pytest.raises(StorageFull):
        await scene.room.forgetting.erase_session(done.session.id)
    assert len(await scene.store.branch(done.session.id)) == 2


async def test_a_room_that_leaves_nothing_behind_keeps_no_states_to_erase() -> None:
    scene = Scene(snapshots=False, model=ScriptedChatModel(["Yes."]))
    done, _ = await scene.say(LONG)
    receipt = await scene.room.forgetting.erase_session(done.session.id)
    assert (receipt.snapshots, receipt.verified) == (0, True)


async def test_recall_finds_nothing_of_it_any_more() -> None:
    scene = Scene()
    done, _ = await scene.say("the code word is heliotrope")
    await scene.say("something else entirely")
    await scene.room.recall.prepare()
    await scene.room.background.run()
    before = await scene.room.recall.recall(RecallQuery("heliotrope code word"))
    assert done.session.id in {hit.source.session for hit in before}
    await scene.room.forgetting.erase_session(done.session.id)
    after = await scene.room.recall.recall(RecallQuery("heliotrope code word"))
    assert done.session.id not in {hit.source.session for hit in after}
    assert all("heliotrope" not in hit.text for hit in after)


# --- whatever is meant -----------------------------------------------------------------------------


async def test_a_preview_changes_nothing_and_tells_what_goes() -> None:
    scene = Scene()
    done, _ = await scene.say("my zeppelin leaks")
    memory = await scene.room.knowledge.add("Has a zeppelin")
    affected = await scene.room.forgetting.preview(Target(about="zeppelin"))
    assert (affected.erased.messages, affected.erased.memories) == (1, 1)
    assert [one.id for one in affected.memories] == [memory.id]
    assert (await scene.store.branch(done.session.id))[0].content == "my zeppelin leaks"
    receipt = await scene.room.forgetting.forget(Target(about="zeppelin"), previewed=affected)
    assert receipt.verified
    assert receipt.erased.messages == affected.erased.messages
    assert await scene.store.memories.select() == []
    with pytest.raises(ValueError, match="to forget"):
        await scene.room.forgetting.forget(Target())


async def test_summaries_and_titles_are_made_anew_from_what_is_left() -> None:
    scene = Scene()
    done, _ = await scene.say("my zeppelin leaks and must be mended")
    for text in ("the garden needs water before noon", "tomatoes want a taller stake", "beans climb"):
        await scene.say(text, done.session)
    said = await scene.store.branch(done.session.id)
    covers = tuple(message.id for message in said[:6])
    summary = await scene.store.context.add_summary(done.session.id, NewSummary("A zeppelin leaks.", covers))
    receipt = await scene.room.forgetting.forget(Target(messages=(said[0].id,)))
    assert (receipt.verified, receipt.rewritten) == (True, 1)
    made = await scene.store.context.summary(summary.id)
    assert made.text
    assert made.fallback
    assert "zeppelin" not in made.text
    assert made.state is SummaryState.CURRENT
    assert (await scene.store.get_session(done.session.id)).title == "the garden needs water before noon"
    jobs = [(job.kind, job.session_id) for job in await scene.store.jobs.list()]
    assert (IMPROVE, done.session.id) in jobs


async def test_without_a_model_summaries_stay_empty_until_there_is_one() -> None:
    scene = Scene()
    done, _ = await scene.say("my zeppelin leaks")
    said = await scene.store.branch(done.session.id)
    summary = await scene.store.context.add_summary(
        done.session.id, NewSummary("A zeppelin leaks.", tuple(message.id for message in said))
    )

    class Silent(WordCounter):
        async def count(self, texts: Sequence[str]) -> list[int]:
            raise WorkerUnresponsive

    scene.counter = Silent()
    receipt = await scene.room.forgetting.forget(Target(messages=(said[0].id,)))
    assert (receipt.verified, receipt.rewritten) == (True, 0)
    left = await scene.store.context.summary(summary.id)
    assert (left.text, left.state) == ("", SummaryState.STALE)


async def test_states_of_sessions_that_recalled_a_memory_go_with_it() -> None:
    scene = Scene()
    done, _ = await scene.say(LONG)
    memory = await scene.room.knowledge.add("Likes heliotrope")
    reply = done.message.id
    parts = (TierUse("recall", 3, (memory.id,)),)
    await scene.store.context.record_turn(TurnRecord(reply, done.session.id, None, "m", "ab", 7, parts))
    await scene.room.epochs.keep(done.session.id)
    receipt = await scene.room.forgetting.forget(Target(ids=(memory.id,)))
    assert (receipt.erased.memories, receipt.snapshots, receipt.verified) == (1, 1, True)
    assert scene.model.held == []
