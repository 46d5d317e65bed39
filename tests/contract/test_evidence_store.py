"""What recall can read of every store."""

from collections import Counter
from dataclasses import replace

import pytest

from memory.context.entities import NewSummary
from memory.entities import MemoryMode, MessagePatch, MessageStatus, NewMessage, NewSession, SessionPatch
from memory.errors import BadQuery
from memory.memories.entities import (
    MemoryKind,
    MemoryOrigin,
    MemoryPatch,
    MemorySource,
    MemoryState,
    NewMemory,
)
from memory.recall.entities import Posting
from memory.recall.words import only_asks
from memory.storage.store import Store
from models.messages import Role
from tests.contract.talk import assistant, begin, talk, user


async def test_entries_are_finished_messages_in_the_order_of_storing(store: Store) -> None:
    session, said = await talk(store, 3)
    growing = await store.append_message(session.id, assistant("growing", MessageStatus.STREAMING))
    found = await store.evidence.entries()
    assert [entry.id for entry in found] == [message.id for message in said]
    assert [entry.parent_id for entry in found] == [None, said[0].id, said[1].id]
    assert [entry.machine for entry in found] == [False, True, False]
    assert {entry.session_id for entry in found} == {session.id}
    assert {entry.length for entry in found} == {2}
    page = await store.evidence.entries(after=found[0].seq, limit=1)
    assert [entry.id for entry in page] == [said[1].id]
    await store.update_message(growing.id, MessagePatch(content="grown", status=MessageStatus.COMPLETE))
    assert (await store.evidence.entries())[-1].id == growing.id


async def test_an_entry_says_what_its_words_are_like(store: Store) -> None:
    session, _ = await begin(store, "Did you go there last week?")
    named = NewMessage(Role.ASSISTANT, "Yes, in 2023.", speaker="Ada")
    await store.append_message(session.id, named)
    asked, said = await store.evidence.entries()
    assert (asked.asks, asked.machine) == (True, False)
    assert (said.asks, said.machine, said.speaker) == (False, False, "Ada")


async def test_the_wording_of_messages_is_read_for_those_that_are_asked_for(store: Store) -> None:
    session, dated = await begin(store, "We went there last week.")
    await store.append_message(session.id, assistant("I like tea."))
    liked = await store.append_message(session.id, user("I like tea."))
    await store.append_message(session.id, assistant("I like", MessageStatus.STREAMING))
    seqs = {entry.id: entry.seq for entry in await store.evidence.entries()}
    every = [*seqs.values(), max(seqs.values()) + 1, max(seqs.values()) + 2]
    found = {one.seq: one for one in await store.evidence.wordings(every)}
    assert found.keys() == set(seqs.values())
    assert [one.seq for one in found.values() if one.dated] == [seqs[dated.id]]
    assert [one.seq for one in found.values() if one.prefers] == [seqs[liked.id]]
    assert [one.seq for one in await store.evidence.wordings([seqs[liked.id]])] == [seqs[liked.id]]


async def test_what_ends_with_a_question_mark_asks(store: Store) -> None:
    ends = ["?", "？", "? ", '?"', "?)\n", "?”", "？’ \t", "", "?.", "? é", "?\u00a0", "'", "¿", "？!"]
    texts = [f"Tea{end}" for end in ends] + ["?", "？", "”"]
    session, _ = await begin(store, texts[0])
    for text in texts[1:]:
        await store.append_message(session.id, user(text))
    found = await store.evidence.entries()
    assert [entry.asks for entry in found] == [only_asks(text) for text in texts]
    assert sum(entry.asks for entry in found) == 9


async def test_sessions_that_add_no_memory_do_not_lend(store: Store) -> None:
    normal, _ = await store.create_session(NewSession("a", project="Home"), user("x"))
    reads, _ = await store.create_session(NewSession("b", memory_mode=MemoryMode.READS), user("x"))
    await store.bin_session(normal.id)
    found = {one.id: one for one in await store.evidence.session_entries()}
    assert (found[normal.id].project, found[normal.id].lends, found[normal.id].binned) == ("Home", True, True)
    assert (found[reads.id].project, found[reads.id].lends, found[reads.id].binned) == (None, False, False)
    assert [one.id for one in await store.evidence.session_entries([reads.id])] == [reads.id]


async def test_changes_name_messages_and_sessions(store: Store) -> None:
    session, first = await begin(store, "one")
    start = (await store.evidence.changes(None)).version
    second = await store.append_message(session.id, user("two"))
    changes = await store.evidence.changes(start)
    (entry,) = await store.evidence.entries_of(changes.messages)
    assert entry.id == second.id
    await store.forget_message(first.id)
    await store.update_session(session.id, SessionPatch(memory_mode=MemoryMode.BLANK))
    later = await store.evidence.changes(changes.version)
    assert await store.evidence.entries_of(later.messages) == []
    assert later.sessions == {session.id}
    assert (await store.evidence.changes(later.version)).messages == frozenset()


async def test_words_are_found_where_they_are(store: Store) -> None:
    session, _ = await begin(store, "tea, tea and coffee")
    await store.append_message(session.id, user("coffee"))
    stems = await store.evidence.stems("Coffee tea coffee juice")
    assert len(stems) == 3
    first, second = [entry.seq for entry in await store.evidence.entries()]
    found = {one.term: dict(Counter(one.seqs)) for one in await postings(store, stems)}
    assert found == {stems[0]: {first: 1, second: 1}, stems[1]: {first: 2}}
    common, rare = await store.evidence.postings(stems, at_most=1)
    assert (common.term, common.common, list(common.seqs)) == (stems[0], True, [])
    assert (rare.term, rare.common, list(rare.seqs)) == (stems[1], False, [first, first])


async def postings(store: Store, stems: list[str]) -> list[Posting]:
    return await store.evidence.postings(stems, at_most=100)


async def test_what_the_program_computed_for_itself_is_kept(store: Store) -> None:
    assert await store.evidence.fixed("topics") is None
    await store.evidence.keep_fixed("topics", "once")
    await store.evidence.keep_fixed("topics", "again")
    assert await store.evidence.fixed("topics") == "again"


async def test_scripts_without_spaces_are_found_by_pieces(store: Store) -> None:
    session, _ = await begin(store, "昨日は東京タワーに行きました。")
    await store.append_message(session.id, user("京都 is nice"))
    tower, kyoto = [entry.seq for entry in await store.evidence.entries()]
    found = {
        one.term: list(one.seqs) for one in await postings(store, await store.evidence.stems("東京タワ"))
    }
    assert found == {"東": [tower], "京": [tower, kyoto], "タ": [tower], "ワ": [tower]} | {
        pair: [tower] for pair in ("東京", "京タ", "タワ")
    }
    short = {one.term: list(one.seqs) for one in await postings(store, await store.evidence.stems("京都"))}
    assert short == {"京": [tower, kyoto], "都": [kyoto], "京都": [kyoto]}
    long, mixed = await store.evidence.entries()
    assert (long.length, mixed.length) == (15 + 1, 2 + 3)


async def test_texts_come_with_their_source(store: Store) -> None:
    session, message = await begin(store, "hello there")
    (entry,) = await store.evidence.entries()
    (text,) = await store.evidence.texts([entry.seq, entry.seq + 1000])
    assert (text.seq, text.text) == (entry.seq, "hello there")
    assert (text.source.session, text.source.message) == (session.id, message.id)
    assert text.source.created_at == message.created_at


async def test_texts_name_what_the_user_has_corrected_or_rejected(store: Store) -> None:
    session, (said, reply, *_) = await talk(store, 4)
    quote = said.content[:5]
    memory = await store.memories.add(
        NewMemory(
            MemoryKind.FACT,
            "The boat is blue.",
            MemoryOrigin.PATTERN,
            (MemorySource(said.id, session.id, quote),),
            state=MemoryState.KEPT,
        )
    )

    async def corrected() -> dict[str | None, tuple[str, ...]]:
        texts = await store.evidence.texts(range(1, 20))
        return {text.source.message: text.source.corrected for text in texts if text.source.corrected}

    async def among_sources() -> bool:
        (item,) = await store.evidence.items_of([memory.id])
        return not item.corrected

    assert await corrected() == {}
    assert await among_sources()
    await store.memories.change(memory.id, MemoryPatch(text="The boat is green."))
    assert await corrected() == {said.id: (quote,), reply.id: (quote,)}
    assert not await among_sources()
    await store.memories.change(memory.id, MemoryPatch(state=MemoryState.ARCHIVED))
    assert await corrected() == {}
    await store.memories.change(memory.id, MemoryPatch(state=MemoryState.REJECTED))
    assert await corrected() == {said.id: (quote,), reply.id: (quote,)}


async def test_texts_name_what_a_newer_memory_supersedes_and_what_replies_repeat(store: Store) -> None:
    session, said = await begin(store, "Remember that Karl lives in Ghent.")

    async def kept(text: str, source: str, *, instead_of: tuple[str, ...] = ()) -> str:
        where = (MemorySource(source, session.id, text),)
        new = NewMemory(MemoryKind.FACT, text, MemoryOrigin.PERSON, where, state=MemoryState.KEPT)
        return (await store.memories.add(replace(new, supersedes=instead_of))).id

    async def corrected() -> set[str | None]:
        texts = await store.evidence.texts(range(1, 20))
        return {text.source.message for text in texts if text.source.corrected}

    ghent = await kept("Karl lives in Ghent", said.id)
    other, asked = await begin(store, "Where does Karl live?")
    wrong, right, both = [
        await store.append_message(other.id, NewMessage(Role.ASSISTANT, text))
        for text in ("Karl’s home is in Ghent.", "Karl lives in Namur.", "Karl left Ghent for Namur.")
    ]
    assert await corrected() == set()
    later = await store.append_message(session.id, user("Karl lives in Namur now."))
    namur = await kept("Karl lives in Namur", later.id, instead_of=(ghent,))
    assert await corrected() == {said.id, wrong.id}
    await store.memories.change(namur, MemoryPatch(state=MemoryState.REJECTED))
    # What was rejected is not repeated, and what it had replaced does not hold again.
    assert await corrected() == {said.id, wrong.id, later.id, right.id}
    assert {asked.id, both.id}.isdisjoint(await corrected())


async def test_texts_tell_what_the_user_has_edited(store: Store) -> None:
    session, said = await begin(store, "My train leaves at 8:10.")
    reply = await store.append_message(session.id, NewMessage(Role.ASSISTANT, "At 8:10, then."))

    async def replaced() -> set[str | None]:
        texts = await store.evidence.texts(range(1, 20))
        return {text.source.message for text in texts if text.source.replaced}

    assert await replaced() == set()
    edited = await store.edit_message(said.id, "My train leaves at 9:40.")
    answer = await store.append_message(session.id, NewMessage(Role.ASSISTANT, "At 9:40, then."))
    assert await replaced() == {said.id, reply.id}
    # The user has gone back to the earlier version.
    await store.set_head(session.id, reply.id)
    assert await replaced() == {edited.id, answer.id}
    # The reply to a question stays true if another one is asked.
    asked = await store.append_message(session.id, user("Which train goes to Ghent on Friday?"))
    await store.append_message(session.id, NewMessage(Role.ASSISTANT, "The one at noon."))
    await store.edit_message(asked.id, "Which train goes to Bruges on Friday?")
    assert await replaced() == {edited.id, answer.id}
    # In other words, it is another message.
    await store.set_head(session.id, answer.id)
    other = await store.edit_message(edited.id, "What grows well in the shade of a wall?")
    assert other.parent_id == edited.parent_id
    assert await replaced() == set()


async def test_memories_and_summaries_are_found_by_all_their_words(store: Store) -> None:
    session, said = await talk(store, 2)
    known = await store.memories.add(
        NewMemory(MemoryKind.FACT, "The boat is painted blue.", MemoryOrigin.PERSON)
    )
    told = await store.context.add_summary(
        session.id, NewSummary("We painted the boat.", (said[0].id, said[1].id))
    )

    async def found(query: str, *kinds: str, limit: int = 5) -> set[str]:
        hits = await store.evidence.items_matching(query, kinds=kinds, limit=limit)
        assert all(hit.score > 0 for hit in hits)
        return {hit.item.id for hit in hits}

    assert await found("painted boat", "memory", "summary") == {known.id, told.id}
    assert await found("boat", "memory") == {known.id}
    assert await found('"the boat"', "summary", limit=0) == set()
    assert await found('"painted blue"', "memory", "summary") == {known.id}
    assert await found("pain", "summary") == {told.id}
    assert await found("boat oar", "memory", "summary") == set()
    await store.bin_session(session.id)
    assert await found("boat", "memory", "summary") == {known.id}
    with pytest.raises(BadQuery):
        await found("…", "memory")
