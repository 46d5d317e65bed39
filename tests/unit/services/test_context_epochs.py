"""What is kept of what the model has read of a session."""

from models.messages import common_tokens
from tests.unit.services.scene import Scene

LONG = "heliotrope " + "word " * 300


async def test_after_a_compaction_the_new_beginning_is_what_is_kept() -> None:
    scene = Scene()
    done, _ = await scene.say(LONG)
    session = done.session
    for n in range(7):
        await scene.say(f"{n} {LONG}", session)
    assert scene.snapshots is not None
    await scene.room.epochs.keep(session.id)
    (before,) = scene.snapshots.states.values()

    assert await scene.room.epochs.summarise_now(session.id) is not None
    assert (await scene.room.background.run()).failed == 0
    await scene.room.epochs.close()
    (kept,) = scene.snapshots.states.values()
    assert kept.tokens != before.tokens
    await scene.say("and now?", session)
    prompt = await scene.model.render(scene.model.prompts[-1])
    assert common_tokens(kept.tokens, prompt) == len(kept.tokens)
    assert common_tokens(before.tokens, prompt) < len(kept.tokens)
