"""Other words for a message, and copies of a branch."""

from dataclasses import replace

import pytest

from memory.context.entities import NewEpoch, NewSummary, Summary, SummaryState, TierUse, TurnRecord
from memory.entities import (
    MemoryMode,
    Message,
    MessagePatch,
    MessageStatus,
    NewMessage,
    NewSession,
    SessionPatch,
    TitleSource,
)
from memory.errors import MessageNotFound, RoomClosed, SessionBinned, SessionNotFound
from memory.memories.entities import MemoryKind, MemoryOrigin, MemorySource, NewMemory
from memory.storage.queries import session_merge
from memory.storage.queries.table_ownership import tables
from memory.storage.store import Store
from models.messages import Role
from tests.contract.reading import asked_about, read, shelved
from tests.contract.talk import assistant, talk, texts, user
from tests.storage.conftest import database_of

NOBODY = "00000000-0000-7000-8000-000000000000"


# --- the preface -----------------------------------------------------------------------------------


async def test_a_preface_is_no_part_of_the_text_and_no_use(store: Store) -> None:
    session, said = await talk(store, 2)
    assert said[0].preface == ""
    told = await store.update_message(said[0].id, MessagePatch(preface="It is noon, quokka. \ud800"))

    assert (told.preface, told.content) == ("It is noon, quokka. \ufffd", "message 0")
    assert await store.branch(session.id) == [told, said[1]]
    assert await store.get_session(session.id) == session
    assert await store.search("quokka") == []
    assert [hit.message for hit in await store.search('"message 0"')] == [told]
    assert (await store.update_message(told.id, MessagePatch(preface=""))).preface == ""
    assert (await store.verify()).problems == ()


# --- edits -----------------------------------------------------------------------------------------


async def test_an_edit_is_a_new_variant_and_keeps_what_was(store: Store) -> None:
    session, said = await talk(store, 4)
    await store.update_message(
        said[2].id, MessagePatch(important=True, tokens=(1, 2), token_model="m", preface="noon", model="m")
    )
    edited = await store.edit_message(said[2].id, "other words \udfff")

    assert (edited.parent_id, edited.role, edited.content) == (said[1].id, Role.USER, "other words \ufffd")
    assert (edited.important, edited.tokens, edited.preface, edited.model) == (True, (), "", None)
    assert edited.status is MessageStatus.COMPLETE
    now = await store.get_session(session.id)
    assert (now.head_id, now.message_count, now.updated_at) == (edited.id, 5, edited.created_at)
    assert await store.branch(session.id) == [*said[:2], edited]
    assert texts(await store.branch(session.id, said[3].id)) == [m.content for m in said]
    assert [one.id for one in await store.variants(edited.id)] == [said[2].id, edited.id]


async def test_the_first_message_can_be_edited_and_so_can_a_reply(store: Store) -> None:
    session, _ = await store.create_session(NewSession("t"), NewMessage(Role.USER, "one", speaker="Ada"))
    root = (await store.branch(session.id))[0]
    reply = await store.append_message(session.id, assistant("two"))
    other_root = await store.edit_message(root.id, "uno")
    assert (other_root.parent_id, other_root.speaker) == (None, "Ada")
    assert await store.branch(session.id) == [other_root]
    other_reply = await store.edit_message(reply.id, "due")
    assert (other_reply.role, other_reply.parent_id) == (Role.ASSISTANT, root.id)
    assert texts(await store.branch(session.id)) == ["one", "due"]
    assert (await store.verify()).problems == ()


async def test_what_cannot_be_edited(store: Store) -> None:
    session, said = await talk(store, 1)
    with pytest.raises(MessageNotFound):
        await store.edit_message(NOBODY, "x")
    gone = await store.bin_session(session.id)
    with pytest.raises(SessionBinned):
        await store.edit_message(said[0].id, "x")
    assert await store.get_session(session.id) == gone


# --- forks -----------------------------------------------------------------------------------------


def kept(message: Message) -> Message:
    """What a copy has in common with the message that it was made from."""
    return replace(message, id="", session_id="", parent_id=None)


async def test_a_fork_is_a_copy_of_a_branch(store: Store) -> None:
    new = NewSession(
        "Garden", memory_mode=MemoryMode.READS, project="Home", system_prompt="Be brief.", model="small"
    )
    session, first = await store.create_session(new, NewMessage(Role.USER, "wombat", speaker="Ada"))
    reply = await store.append_message(session.id, assistant("two"))
    await store.update_message(
        reply.id,
        MessagePatch(stop_reason="stop", tokens=(7, 2**32 - 1), token_model="f", model="m", important=True),
    )
    await store.update_message(first.id, MessagePatch(preface="noon"))
    end = await store.append_message(session.id, user("three"))
    await store.append_message(session.id, assistant("left out"))
    await store.append_message(session.id, assistant("another branch"), parent_id=first.id)
    source = await store.update_session(session.id, SessionPatch(starred=True, important=True))
    fork = await store.fork_session(session.id, end.id, "Garden (fork) \ud800")

    assert (fork.title, fork.title_source) == ("Garden (fork) \ufffd", TitleSource.PERSON)
    unnamed = await store.fork_session(session.id, end.id)
    assert (unnamed.title, unnamed.title_source) == ("Garden", TitleSource.FIRST_WORDS)
    await store.erase_session(unnamed.id)
    assert (fork.memory_mode, fork.project, fork.system_prompt) == (MemoryMode.READS, "Home", "Be brief.")
    assert (fork.model, fork.starred, fork.important, fork.message_count) == ("small", False, True, 3)
    assert fork.created_at == fork.updated_at > source.updated_at
    assert await store.get_session("last") == fork
    assert await store.get_session(session.id) == source
    copies, originals = await store.branch(fork.id), await store.branch(session.id, end.id)
    assert [kept(message) for message in copies] == [kept(message) for message in originals]
    assert {message.session_id for message in copies} == {fork.id}
    assert copies[-1].id == fork.head_id
    assert {m.id for m in copies}.isdisjoint(m.id for m in originals)
    assert {hit.message.session_id for hit in await store.search("wombat")} == {session.id, fork.id}
    more = await store.append_message(fork.id, user("on"))
    assert await store.branch(fork.id) == [*copies, more]
    assert (await store.verify()).problems == ()


async def test_nobody_goes_on_writing_at_a_fork(store: Store) -> None:
    session, said = await talk(store, 1)
    for content, status in (("", MessageStatus.FAILED), ("half", MessageStatus.PARTIAL)):
        reply = await store.append_message(
            session.id, assistant(content, MessageStatus.STREAMING), parent_id=said[0].id
        )
        fork = await store.fork_session(session.id, reply.id, "f")
        assert [m.status for m in await store.branch(fork.id)] == [MessageStatus.COMPLETE, status]
        assert (await store.branch(session.id, reply.id))[-1].status is MessageStatus.STREAMING
    assert len(await store.search("half")) == 1
    assert (await store.verify()).problems == ()


async def test_a_fork_goes_on_with_the_same_prompt(store: Store) -> None:
    session, said = await talk(store, 8)
    ids = [message.id for message in said]
    add = store.context.add_summary
    narrow = await add(session.id, NewSummary("a", tuple(ids[:2]), topics=("t",), fallback=True, model="m"))
    beside = await add(session.id, NewSummary("b", tuple(ids[2:4])))
    wide = await add(session.id, NewSummary("ab", tuple(ids[:4]), level=1, replaces=(narrow.id, beside.id)))
    later = await add(session.id, NewSummary("c", tuple(ids[4:6])))

    async def epoch(start: str, *held: str) -> str:
        parts = (TierUse("system", 5), TierUse("summary", 9, held))
        return (await store.context.add_epoch(NewEpoch(session.id, "m", "frozen", parts, start))).id

    inside, outside = await epoch(ids[4], wide.id, "a memory"), await epoch(ids[4], later.id)
    afterwards, foreign = await epoch(ids[6]), await epoch(ids[0], ids[7])
    parts = (TierUse("recall", 3, (ids[1], "x")), TierUse("user", 4, (ids[4],)))
    await store.context.record_turn(TurnRecord(ids[3], session.id, inside, "m", "ab", 7, parts))
    await store.context.record_turn(TurnRecord(ids[1], session.id, outside, "m", "cd", 8, ()))
    await store.context.record_turn(TurnRecord(ids[7], session.id, inside, "m", "ef", 9, ()))
    fork = await store.fork_session(session.id, ids[4], "f")
    copies = [message.id for message in await store.branch(fork.id)]

    a, b, ab = await store.context.summaries(fork.id)
    assert [(one.text, one.level, one.state) for one in (a, b, ab)] == [
        ("a", 0, SummaryState.MERGED),
        ("b", 0, SummaryState.MERGED),
        ("ab", 1, SummaryState.CURRENT),
    ]
    assert (a.merged_into, b.merged_into, ab.merged_into) == (ab.id, ab.id, None)
    assert (a.covers, ab.covers) == (tuple(copies[:2]), tuple(copies[:4]))
    assert (a.topics, a.fallback, a.model, a.created_at) == (("t",), True, "m", narrow.created_at)
    (copied,) = await store.context.epochs(fork.id, "m")
    assert (copied.head, copied.start_id) == ("frozen", copies[4])
    assert copied.parts == (TierUse("system", 5), TierUse("summary", 9, (ab.id, "a memory")))
    moved = (TierUse("recall", 3, (copies[1], "x")), TierUse("user", 4, (copies[4],)))
    assert await store.context.turn(copies[3]) == TurnRecord(
        copies[3], fork.id, copied.id, "m", "ab", 7, moved
    )
    assert await store.context.turn(copies[1]) == TurnRecord(copies[1], fork.id, None, "m", "cd", 8, ())
    assert len(await store.context.epochs(session.id, "m")) == len({inside, outside, afterwards, foreign})
    assert (await store.verify()).problems == ()


async def test_a_narrow_summary_stands_again_where_the_wider_one_is_cut_off(store: Store) -> None:
    session, said = await talk(store, 4)
    ids = tuple(message.id for message in said)
    add = store.context.add_summary
    first = await add(session.id, NewSummary("a", ids[:1]))
    second = await add(session.id, NewSummary("b", ids[1:2]))
    await add(session.id, NewSummary("ab", ids, level=1, replaces=(first.id, second.id)))
    await store.context.age_summaries([ids[1]])

    async def of_fork() -> list[Summary]:
        return await store.context.summaries((await store.fork_session(session.id, ids[2], "f")).id)

    assert [(one.state, one.merged_into) for one in await of_fork()] == [
        (SummaryState.CURRENT, None),
        (SummaryState.STALE, None),
    ]


async def test_what_cannot_be_forked(store: Store) -> None:
    session, said = await talk(store, 2)
    _, theirs = await talk(store, 2)
    for leaf in (NOBODY, theirs[0].id):
        with pytest.raises(MessageNotFound):
            await store.fork_session(session.id, leaf, "f")
    with pytest.raises(SessionNotFound):
        await store.fork_session(NOBODY, said[0].id, "f")
    assert len(await store.list_sessions()) == 2
    await store.close()
    with pytest.raises(RoomClosed):
        await store.fork_session(session.id, said[0].id, "f")
    with pytest.raises(RoomClosed):
        await store.edit_message(said[0].id, "x")


async def test_what_was_learned_rests_on_the_copy_too(store: Store) -> None:
    session, said = await talk(store, 4)
    known = await store.memories.add(
        NewMemory(
            MemoryKind.FACT,
            "Tea is green.",
            MemoryOrigin.PATTERN,
            (
                MemorySource(said[0].id, session.id, "message 0"),
                MemorySource(said[2].id, session.id, "message 2"),
            ),
        )
    )
    fork = await store.fork_session(session.id, said[1].id, "copy")
    copy = (await store.branch(fork.id))[0]

    assert await store.memories.learned_from([copy.id]) == [known]
    held = await store.memories.sources(known.id)
    assert sorted(one.session_id for one in held) == [session.id] * 2 + [fork.id]
    await store.erase_session(session.id)
    assert await store.memories.sources(known.id) == [MemorySource(copy.id, fork.id, "message 0")]
    await store.erase_session(fork.id)
    assert await store.memories.select() == []
    assert (await store.verify()).problems == ()


# --- documents -------------------------------------------------------------------------------------


async def test_a_copy_cites_what_its_branch_cites_and_goes_on_counting(store: Store) -> None:
    document = await shelved(store, read("/home/me/heron.txt", "Herons wade."))
    session, said, reply = await asked_about(store, document)
    await store.append_message(session.id, NewMessage(Role.ASSISTANT, "Otherwise."), parent_id=said)
    copy = await store.fork_session(session.id, reply)
    own = [one.id for one in await store.branch(copy.id)]
    (passage,) = await store.documents.passages(session.id)
    assert await store.documents.passages(copy.id) == [replace(passage, message=own[0])]
    assert await store.documents.cited(own[1]) == await store.documents.cited(reply)
    assert [one.id for one in await store.documents.bound(copy.id)] == [document]
    erased = await store.documents.erase([document])
    assert erased.verified
    assert set(erased.recalled_in) == {session.id, copy.id}
    assert [one.preface for one in await store.branch(copy.id)] == ["", ""]


async def test_every_column_of_what_was_read_is_copied(store: Store) -> None:
    known = await database_of(store).read(tables)
    for table, owner, columns in session_merge._READING:
        named = {"session_id", owner, *(name.strip(' "') for name in columns.split(","))}
        assert named == set(known[table].columns)
