"""A message that is too long: refused with a choice, and said in parts; edits and forks."""

from dataclasses import replace

import pytest

from atlas_desktop.error_table import explain
from atlas_desktop.services.turns import ACKNOWLEDGEMENT, TurnOptions, part_options
from memory.attachments import NewAttachment
from memory.entities import MessageStatus
from memory.errors import AmbiguousId, ContextTooSmall, MessageNotFound
from models.messages import GenerationParams
from tests.fakes.models import ScriptedChatModel
from tests.unit.services.scene import Scene

PARAGRAPHS = "\n\n".join(f"Paragraph {n} has these words." + " more" * 60 for n in range(30))
LONG = f"{PARAGRAPHS}\n\nHow many paragraphs were there?"
OPTIONS = TurnOptions(params=GenerationParams(max_tokens=50))


def small() -> Scene:
    return Scene(model=ScriptedChatModel(context_length=1000))


async def test_a_message_that_is_too_long_is_saved_and_refused_with_choices() -> None:
    scene = small()
    with pytest.raises(ContextTooSmall) as caught:
        await scene.say(LONG, options=OPTIONS)
    words = explain(caught.value)
    assert words.code == "message_too_long"
    assert "--split" in words.next_step
    assert "/split" in words.next_step
    (session,) = await scene.store.list_sessions()
    said, reply = await scene.store.branch(session.id)
    assert said.content == LONG
    assert reply.status is MessageStatus.FAILED
    done, _ = await scene.say("A short one.", session, OPTIONS)
    assert done.message.content == "Hello."


async def test_it_is_said_in_parts_each_of_which_fits() -> None:
    scene = small()
    chat = scene.room.chat
    parts = await chat.in_parts(LONG, session=None, options=OPTIONS)
    assert len(parts) > 3
    session = None
    for number, part in enumerate(parts, 1):
        done, _ = await scene.say(part, session, part_options(OPTIONS, number, len(parts)))
        session = done.session
    assert session is not None
    said = [m.content for m in await scene.store.branch(session.id) if m.role == "user"]
    assert said == parts
    bodies = [part.partition("\n\n")[2] for part in parts]
    assert "\n\n".join(bodies).split() == LONG.split()
    assert all(f"Part {n} of {len(parts)}" in part for n, part in enumerate(parts, 1))
    assert parts[-1].endswith("How many paragraphs were there?")
    assert all(body.startswith("Paragraph") for body in bodies[:-1])
    assert len(await scene.store.list_sessions()) == 1


async def test_what_fits_is_said_as_it_is() -> None:
    scene = small()
    assert await scene.room.chat.in_parts("Hello there.", session=None, options=OPTIONS) == ["Hello there."]
    done, _ = await scene.say("Hello there.", options=OPTIONS)
    found = await scene.room.chat.in_parts("And you?", session=done.session.id, options=OPTIONS)
    assert found == ["And you?"]


def test_all_parts_but_the_last_ask_for_a_word_only() -> None:
    made = [part_options(OPTIONS, number, 3) for number in (1, 2, 3)]
    assert [one.params.max_tokens for one in made] == [ACKNOWLEDGEMENT, ACKNOWLEDGEMENT, 50]
    assert [one.continues for one in made] == [False, True, True]
    assert part_options(OPTIONS, 1, 1) == OPTIONS


async def test_other_words_take_the_place_of_a_message_and_the_old_ones_stay() -> None:
    scene = Scene(model=ScriptedChatModel(["One.", "Two.", "Three."]))
    first, _ = await scene.say("a")
    second, _ = await scene.say("b", first.session)
    branch = await scene.store.branch(first.session.id)
    events = await scene.run(scene.room.chat.edit(first.session.id, branch[2].id, "c"))
    assert events
    after = [m.content for m in await scene.store.branch(first.session.id)]
    assert after == ["a", "One.", "c", "Three."]
    assert [m.content for m in await scene.store.variants(branch[2].id)] == ["b", "c"]
    # What stood before the edited message was sent as it had been.
    assert scene.model.prompts[2][:3] == scene.model.prompts[1][:3]
    assert second.session.id == first.session.id


async def test_only_what_the_person_said_in_that_session_can_be_edited() -> None:
    scene = Scene()
    first, _ = await scene.say("a")
    other, _ = await scene.say("b")
    reply = first.message.id
    theirs = (await scene.store.branch(other.session.id))[0].id
    for message_id in (reply, theirs, "nothing"):
        with pytest.raises(MessageNotFound):
            await scene.run(scene.room.chat.edit(first.session.id, message_id, "c"))
    assert len(await scene.store.branch(first.session.id)) == 2


async def test_a_fork_goes_on_from_where_it_was_made() -> None:
    scene = Scene()
    first, _ = await scene.say("a")
    await scene.say("b", first.session)
    branch = await scene.store.branch(first.session.id)
    whole = await scene.room.sessions.fork(first.session.id)
    part = await scene.room.sessions.fork(first.session.id, message=branch[1].id, title="other")
    assert [m.content for m in await scene.store.branch(whole.id)] == [m.content for m in branch]
    assert [m.content for m in await scene.store.branch(part.id)] == ["a", "Hello."]
    assert (whole.title, part.title) == (f"{first.session.title} (2)", "other")
    with pytest.raises(MessageNotFound):
        await scene.room.sessions.fork(first.session.id, message="zz")
    with pytest.raises(AmbiguousId):
        await scene.room.sessions.fork(first.session.id, message="")
    # What the model has read of the session serves the fork.
    done, _ = await scene.say("c", whole)
    sent = scene.model.prompts[-1]
    assert [m.content for m in sent[:5]] == [m.content for m in scene.model.prompts[1]] + ["Hello."]
    new = sum(tier.tokens for tier in done.context if tier.tier in {"user", "recall"})
    assert done.completion.timings.evaluated_tokens <= new
    # What the fork copied is in its prompt: it is not recalled from the session it was copied from.
    assert done.recalled == ()


@pytest.mark.parametrize("instructions", [10, 300, 430])
@pytest.mark.parametrize("length", [420, 560, 1500])
async def test_what_is_refused_can_be_said_in_parts(instructions: int, length: int) -> None:
    scene = small()
    begun = replace(
        OPTIONS,
        system="word " * instructions,
        attachments=(NewAttachment("notes.txt", "text/plain", 900, "A line of notes. " * 50),),
    )
    text = " ".join(f"Sentence {n}." for n in range(length))
    refused = None
    try:
        await scene.say(text, options=begun)
    except ContextTooSmall as error:
        refused = error
    if refused is None:
        return
    assert refused.in_parts
    (session,) = await scene.store.list_sessions()
    parts = await scene.room.chat.in_parts(text, session=session.id, options=OPTIONS)
    assert len(parts) > 1
    for number, part in enumerate(parts, 1):
        await scene.say(part, session, part_options(OPTIONS, number, len(parts)))


async def test_instructions_that_leave_no_room_are_named_and_shorter_ones_help() -> None:
    scene = small()
    with pytest.raises(ContextTooSmall) as caught:
        await scene.say("Hello there.", options=replace(OPTIONS, system="word " * 1200))
    words = explain(caught.value)
    assert words.code == "instructions_too_long"
    assert "--split" not in words.next_step
    (session,) = await scene.store.list_sessions()
    with pytest.raises(ContextTooSmall) as caught:
        await scene.room.chat.in_parts("Hello there.", session=session.id, options=OPTIONS)
    assert explain(caught.value).code == "instructions_too_long"
    await scene.room.personas.instruct(session.id, "Be brief.")
    done, _ = await scene.say("Hello there.", session, OPTIONS)
    assert done.message.content == "Hello."
