"""Summaries that were made without a model are made anew by one that can."""

from collections.abc import Sequence
from dataclasses import replace

from models.errors import NoModel
from models.messages import ChatMessage, ModelInfo
from tests.unit.services.scene import Scene

BETTER = "They went to Oslo by train."


async def test_what_one_model_could_not_do_is_tried_by_the_next_that_replies() -> None:
    scene = Scene({"sessions": {"new_session": "off"}, "chat": {"automatic_titles": False}})
    done, _ = await scene.say("We went to Oslo by train. " + "word " * 40)
    session = done.session
    for n in range(4):
        await scene.say(f"{n} " + "word " * 40, session)
    await scene.room.epochs.summarise_now(session.id)
    await scene.room.background.run()
    (made,) = await scene.store.context.summaries(session.id)
    assert (made.fallback, made.model) == (True, "5c")

    await scene.say("and now?", session)
    await scene.room.background.run()
    assert await scene.store.context.summaries(session.id) == [made]

    def answer(messages: Sequence[ChatMessage]) -> str:
        return BETTER if "Oslo" in messages[-1].content else "Hello."

    scene.model.script = answer
    scene.model._info = replace(scene.model._info, fingerprint="77")
    await scene.say("and then?", session)
    assert [job.key for job in await scene.store.jobs.list() if job.kind == "improve"] == ["all"]
    await scene.room.background.run()
    (better,) = await scene.store.context.summaries(session.id)
    assert (better.id, better.fallback, better.model) == (made.id, False, "77")
    assert better.text.startswith(BETTER)


async def test_what_another_model_left_is_found_without_a_reply() -> None:
    scene = Scene({"sessions": {"new_session": "off"}, "chat": {"automatic_titles": False}})
    done, _ = await scene.say("We went to Oslo by train. " + "word " * 40)
    for n in range(4):
        await scene.say(f"{n} " + "word " * 40, done.session)
    await scene.room.epochs.summarise_now(done.session.id)
    await scene.room.background.run()
    await scene.room.summaries.catch_up()
    assert await scene.store.jobs.list() == []

    info = scene.model._info
    scene.model._info = replace(info, fingerprint="77")
    scene.model.info = missing  # type: ignore[method-assign]
    await scene.room.summaries.catch_up()
    assert await scene.store.jobs.list() == []
    del scene.model.info
    await scene.room.summaries.catch_up()
    assert [(job.kind, job.key) for job in await scene.store.jobs.list()] == [("improve", "all")]


async def missing() -> ModelInfo:
    raise NoModel("chat")
