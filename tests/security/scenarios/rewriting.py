"""Forking, summing up, rewriting, erasing: each step is done whole or not at all.

Every session that is made has `LENGTH` messages and is the fork of a fork, so that no two states that the
process passes through look alike.
"""

from collections import Counter
from collections.abc import Sequence
from itertools import count

import pytest

from memory.context.entities import NewSummary, Summary, SummaryState
from memory.entities import NewMessage, NewSession, Session
from memory.errors import SessionNotFound, SummaryNotFound
from memory.storage.store import Store
from models.messages import Role
from tests.security.crash import Said, Say, Scenario

LENGTH = 12


async def begin(store: Store, say: Say) -> Session:
    """The newest session, alone in the room, or a first one."""
    sessions = await store.list_sessions()
    for session in sessions[1:]:
        await store.erase_session(session.id)
        say("erased", session.id)
    if sessions:
        return sessions[0]
    session, _ = await store.create_session(NewSession("t"), NewMessage(Role.USER, "0"))
    for n in range(1, LENGTH):
        await store.append_message(session.id, NewMessage(Role.ASSISTANT if n % 2 else Role.USER, str(n)))
    return await store.get_session(session.id)


class Rewriting(Scenario):
    name = "fork, rewrite, erase"

    async def act(self, given: str, say: Say) -> None:
        store = await self.place.open(create=True)
        session = await begin(store, say)
        say("made", session.id)
        for n in count():
            ids = tuple(message.id for message in await store.branch(session.id))
            level = max((one.level for one in await store.context.summaries(session.id)), default=-1) + 1
            narrow = await store.context.add_summary(session.id, NewSummary("a", ids[:4], level=level))
            wide = await store.context.add_summary(
                session.id, NewSummary("b", ids[:8], level=level + 1, replaces=(narrow.id,))
            )
            say("merged", narrow.id, wide.id)
            await store.context.age_summaries(ids[:1])
            await store.context.rewrite_summary(wide.id, f"{n} " + "word " * 500, topics=(str(n),))
            say("rewritten", wide.id, str(n))
            fork = await store.fork_session(session.id, ids[-1], str(n))
            say("made", fork.id)
            await store.erase_session(session.id)
            say("erased", session.id)
            session = fork

    async def look(self, said: Sequence[Said]) -> None:
        """Asserts that the room is in a state between two steps, and not before any that was told of."""
        store = await self.place.open()
        try:
            assert (await store.verify()).problems == ()
            sessions = await store.list_sessions()
            assert 1 <= len(sessions) <= 2
            found = [await contents(store, session) for session in sessions]
            assert all(one == found[0] for one in found)
            assert {session.message_count for session in sessions} == {LENGTH}
            for session in sessions:
                summaries = await store.context.summaries(session.id)
                assert all(map(is_whole, summaries))
                narrow = Counter(one.merged_into for one in summaries)
                assert all(narrow[one.id] == (one.text != "a") for one in summaries)
            await look_for(store, said, {session.id for session in sessions})
        finally:
            await store.close()


async def look_for(store: Store, said: Sequence[Said], present: set[str]) -> None:
    for what, ref, *rest in said:
        if what == "erased":
            with pytest.raises(SessionNotFound):
                await store.get_session(ref)
        elif what == "merged" and (one := await kept(store, ref)) is not None:
            assert one.merged_into == rest[0]
        elif what == "rewritten" and (one := await kept(store, ref)) is not None:
            assert (one.topics, one.state) == (tuple(rest), SummaryState.CURRENT)
    made = [words[1] for words in said if words[0] == "made"]
    # The first steps may be of sessions that a former process left.
    if made:
        assert made[-1] in present
        assert made[-1] not in {words[1] for words in said if words[0] == "erased"}


def is_whole(summary: Summary) -> bool:
    """Whether text and topics are of one writing."""
    if summary.text in {"a", "b"}:
        return summary.topics == ()
    return summary.text == f"{summary.topics[0]} " + "word " * 500


async def contents(store: Store, session: Session) -> list[object]:
    """What a fork has in common with the session that it was made from."""
    told = [(m.role, m.content, m.created_at) for m in await store.branch(session.id)]
    summed = [(one.text, one.level, one.state) for one in await store.context.summaries(session.id)]
    return [told, summed]


async def kept(store: Store, summary_id: str) -> Summary | None:
    """None when its session has been erased."""
    try:
        return await store.context.summary(summary_id)
    except SummaryNotFound:
        return None
