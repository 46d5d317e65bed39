"""Random work on a room leaves its sessions and trees as a plain list of what was done says."""

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, TypeVar

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, multiple, rule

from memory.entities import Message, MessagePatch, MessageStatus, NewMessage, NewSession
from memory.errors import SessionBinned
from models.messages import Role
from tests.stores import InMemoryStore

T = TypeVar("T")
Place = tuple[str, str]
"""A session and one of its messages."""

CONTENT = st.text(alphabet="abc \u00e9", max_size=8)
NEW = st.builds(
    NewMessage, role=st.sampled_from(Role), content=CONTENT, status=st.sampled_from(MessageStatus)
)


@dataclass(frozen=True)
class Expected:
    """A message as it should be."""

    session: str
    parent: str | None
    role: Role
    content: str
    status: MessageStatus

    @classmethod
    def of(cls, message: Message) -> "Expected":
        return cls(message.session_id, message.parent_id, message.role, message.content, message.status)


class Trees(RuleBasedStateMachine):
    messages: Bundle[Place] = Bundle("messages")

    @initialize()
    def open(self) -> None:
        self.runner = asyncio.Runner()
        self.store = InMemoryStore()
        self.known: dict[str, Expected] = {}
        self.heads: dict[str, str] = {}
        self.used: dict[str, int] = {}
        self.binned: set[str] = set()
        self.moments = count()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(work)

    def added(self, session: str, parent: str | None, new: NewMessage, message: Message) -> Place:
        expected = Expected(session, parent, new.role, new.content, new.status)
        assert Expected.of(message) == expected
        self.known[message.id] = expected
        self.heads[session] = message.id
        self.used[session] = next(self.moments)
        return session, message.id

    def branch(self, message_id: str) -> list[str]:
        path: list[str] = []
        at: str | None = message_id
        while at is not None:
            path.append(at)
            at = self.known[at].parent
        return path[::-1]

    @rule(target=messages, first=NEW)
    def create(self, first: NewMessage) -> Place:
        session, message = self.run(self.store.create_session(NewSession("t"), first))
        return self.added(session.id, None, first, message)

    @rule(target=messages, at=messages, new=NEW, at_head=st.booleans())
    def append(self, at: Place, new: NewMessage, *, at_head: bool) -> Place:
        session, parent = at
        message = self.run(self.store.append_message(session, new, parent_id=None if at_head else parent))
        return self.added(session, self.heads[session] if at_head else parent, new, message)

    @rule(target=messages, at=messages, said=NEW, reply=NEW)
    def turn(self, at: Place, said: NewMessage, reply: NewMessage) -> Any:
        session, _ = at
        try:
            now, question, answer = self.run(self.store.begin_turn(session, None, said, reply))
        except SessionBinned:
            assert session in self.binned
            return multiple()
        assert session not in self.binned
        assert now.head_id == answer.id
        asked = self.added(session, self.heads[session], said, question)
        return multiple(asked, self.added(session, question.id, reply, answer))

    @rule(at=messages, content=st.none() | CONTENT, status=st.none() | st.sampled_from(MessageStatus))
    def change(self, at: Place, content: str | None, status: MessageStatus | None) -> None:
        session, message_id = at
        changed = self.run(
            self.store.update_message(message_id, MessagePatch(content=content, status=status))
        )
        was = self.known[message_id]
        self.known[message_id] = replace(
            was,
            content=was.content if content is None else content,
            status=was.status if status is None else status,
        )
        assert Expected.of(changed) == self.known[message_id]
        if status is not None:
            self.used[session] = next(self.moments)

    @rule(at=messages)
    def choose(self, at: Place) -> None:
        session, message_id = at
        assert self.run(self.store.set_head(session, message_id)).head_id == message_id
        self.heads[session] = message_id

    @rule(at=messages)
    def look(self, at: Place) -> None:
        session, message_id = at
        for leaf, asked in ((message_id, message_id), (self.heads[session], None)):
            found = self.run(self.store.branch(session, asked))
            assert [one.id for one in found] == self.branch(leaf)
            assert [Expected.of(one) for one in found] == [self.known[one] for one in self.branch(leaf)]
        own = self.known[message_id]
        family = (own.session, own.parent, own.role)
        found = self.run(self.store.variants(message_id))
        assert [one.id for one in found] == [
            key for key, one in self.known.items() if (one.session, one.parent, one.role) == family
        ]

    @rule(at=messages, back=st.booleans())
    def throw_away(self, at: Place, *, back: bool) -> None:
        session, _ = at
        if back:
            self.run(self.store.restore_session(session))
            self.binned.discard(session)
        else:
            self.run(self.store.bin_session(session))
            self.binned.add(session)

    @rule(query=st.text(alphabet="abc", min_size=1, max_size=3))
    def search(self, query: str) -> None:
        found = {hit.message.id for hit in self.run(self.store.search(query, limit=1000))}
        shown = {
            key: one
            for key, one in self.known.items()
            if one.session not in self.binned and one.status is not MessageStatus.STREAMING
        }
        # It knows stems, too, so it may find more, never less.
        assert found <= shown.keys()
        assert found >= {key for key, one in shown.items() if query in one.content.split()}

    @invariant()
    def lists_agree(self) -> None:
        for binned in (False, True):
            found = self.run(self.store.list_sessions(binned=binned))
            shown = [one for one in self.heads if (one in self.binned) is binned]
            assert [(row.id, row.message_count) for row in found] == [
                (session, sum(one.session == session for one in self.known.values()))
                for session in sorted(shown, key=lambda one: -self.used[one])
            ]

    def teardown(self) -> None:
        report = self.run(self.store.verify())
        self.run(self.store.close())
        self.runner.close()
        assert report.problems == ()


TestTrees = Trees.TestCase
TestTrees.settings = settings(max_examples=25, stateful_step_count=25, deadline=None)
