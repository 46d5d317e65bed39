"""Erasing a session: what goes, what else it reaches, and that nothing comes back."""

import pytest

from memory.errors import SessionNotFound, StorageFull
from memory.testing.snapshots import InMemorySnapshots
from models.testing import ScriptedChatModel
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
    before = await scene.room.recall.recall("heliotrope code word")
    assert done.session.id in {hit.source.session for hit in before}
    await scene.room.forgetting.erase_session(done.session.id)
    after = await scene.room.recall.recall("heliotrope code word")
    assert done.session.id not in {hit.source.session for hit in after}
    assert all("heliotrope" not in hit.text for hit in after)
