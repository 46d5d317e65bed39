"""Random work on the SQL store and on the in-memory one leaves both with the same sessions and trees."""

import asyncio
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, multiple, rule

from memory.entities import Message, MessagePatch, MessageStatus, NewMessage, NewSession
from memory.errors import SessionBinned
from memory.ports import SessionStore
from memory.storage.room import open_off_record
from memory.testing import FakeClock, InMemorySessionStore
from models.messages import Role

Pair = tuple[str, str]

CONTENT = st.text(alphabet="abc \u00e9", max_size=8)
NEW = st.builds(
    NewMessage, role=st.sampled_from(Role), content=CONTENT, status=st.sampled_from(MessageStatus)
)


class Trees(RuleBasedStateMachine):
    sessions: Bundle[Pair] = Bundle("sessions")
    messages: Bundle[tuple[Pair, Pair]] = Bundle("messages")

    @initialize()
    def open(self) -> None:
        self.runner = asyncio.Runner()
        self.real: SessionStore = self.run(open_off_record(FakeClock()))
        self.fake: SessionStore = InMemorySessionStore(FakeClock())
        self.names: dict[str, str] = {}
        self.known: list[Pair] = []

    def run(self, work: Any) -> Any:
        return self.runner.run(work)

    def both(self, name: str, refs: tuple[Pair, ...], *args: Any, **options: Any) -> tuple[Any, Any]:
        """The same call on both stores; `options` that are pairs of ids go to the store they belong to."""
        results = []
        for side, store in enumerate((self.real, self.fake)):
            own = {key: value[side] if isinstance(value, tuple) else value for key, value in options.items()}
            results.append(self.run(getattr(store, name)(*(ref[side] for ref in refs), *args, **own)))
        return results[0], results[1]

    def alias(self, real: str, fake: str) -> Pair:
        self.names[real] = self.names[fake] = f"#{len(self.names)}"
        return real, fake

    def named(self, message: Message) -> tuple[object, ...]:
        parent = None if message.parent_id is None else self.names[message.parent_id]
        return self.names[message.id], parent, message.role, message.content, message.status

    @rule(target=messages, first=NEW)
    def create(self, first: NewMessage) -> tuple[Pair, Pair]:
        (session, message), (other, twin) = self.both("create_session", (), NewSession("t"), first)
        pair = self.alias(session.id, other.id)
        self.known.append(pair)
        return pair, self.alias(message.id, twin.id)

    @rule(target=messages, at=messages, new=NEW, at_head=st.booleans())
    def append(self, at: tuple[Pair, Pair], new: NewMessage, *, at_head: bool) -> tuple[Pair, Pair]:
        session, parent = at
        options = {} if at_head else {"parent_id": parent}
        message, twin = self.both("append_message", (session,), new, **options)
        return session, self.alias(message.id, twin.id)

    @rule(target=messages, at=messages, said=NEW, reply=NEW)
    def turn(self, at: tuple[Pair, Pair], said: NewMessage, reply: NewMessage) -> Any:
        session, _ = at
        try:
            (now, question, answer), (other, asked, answered) = self.both(
                "begin_turn", (session,), None, said, reply
            )
        except SessionBinned:
            assert self.run(self.fake.get_session(session[1])).deleted_at is not None
            return multiple()
        pairs = self.alias(question.id, asked.id), self.alias(answer.id, answered.id)
        assert self.named(question) == self.named(asked)
        assert self.named(answer) == self.named(answered)
        assert (now.head_id, other.head_id, now.message_count) == (*pairs[1], other.message_count)
        return multiple(*((session, pair) for pair in pairs))

    @rule(at=messages, content=st.none() | CONTENT, status=st.none() | st.sampled_from(MessageStatus))
    def change(self, at: tuple[Pair, Pair], content: str | None, status: MessageStatus | None) -> None:
        message, twin = self.both("update_message", (at[1],), MessagePatch(content=content, status=status))
        assert self.named(message) == self.named(twin)

    @rule(at=messages)
    def choose(self, at: tuple[Pair, Pair]) -> None:
        session, other = self.both("set_head", at)
        assert self.names[session.head_id] == self.names[other.head_id]

    @rule(at=messages)
    def look(self, at: tuple[Pair, Pair]) -> None:
        session, message = at
        for name, refs in (("branch", (session, message)), ("branch", (session,)), ("variants", (message,))):
            found, expected = self.both(name, refs)
            assert [self.named(row) for row in found] == [self.named(row) for row in expected]

    @rule(at=messages, back=st.booleans())
    def throw_away(self, at: tuple[Pair, Pair], *, back: bool) -> None:
        self.both("restore_session" if back else "bin_session", (at[0],))

    @rule(query=st.text(alphabet="abc", min_size=1, max_size=3))
    def search(self, query: str) -> None:
        found, expected = self.both("search", (), query, limit=1000)
        # The real one knows stems, too, so it may find more, never less.
        assert {self.names[hit.message.id] for hit in found} >= {
            self.names[hit.message.id] for hit in expected
        }

    @invariant()
    def lists_agree(self) -> None:
        for binned in (False, True):
            found, expected = self.both("list_sessions", (), binned=binned)
            assert [(self.names[row.id], row.message_count) for row in found] == [
                (self.names[row.id], row.message_count) for row in expected
            ]

    def teardown(self) -> None:
        report = self.run(self.real.verify())
        self.run(self.real.close())
        self.runner.close()
        assert report.problems == ()


TestTrees = Trees.TestCase
TestTrees.settings = settings(max_examples=25, stateful_step_count=25, deadline=None)
