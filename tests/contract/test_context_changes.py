"""Random work with summaries, epochs, forks and erasing changes what follows from it, and nothing else."""

import asyncio
from collections.abc import Collection, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, multiple, rule

from memory.context.entities import (
    TOLD,
    Epoch,
    NewEpoch,
    NewSummary,
    Summary,
    SummaryState,
    TierUse,
    TurnRecord,
)
from memory.entities import Message, MessagePatch, MessageStatus, NewMessage, NewSession
from memory.errors import MemoryFault, SessionNotFound, SummaryStale
from models.messages import Role
from tests.stores import InMemoryStore

T = TypeVar("T")
Place = tuple[str, str]
"""A session and one of its messages."""

MODEL = "m"
NEW = st.builds(
    NewMessage,
    role=st.sampled_from([Role.USER, Role.ASSISTANT]),
    content=st.sampled_from(["", "a", "b c"]),
    status=st.sampled_from([MessageStatus.COMPLETE, MessageStatus.STREAMING]),
)


@dataclass
class State:
    """All that a room holds, by id; turns by their replies."""

    messages: dict[str, Message]
    summaries: dict[str, Summary]
    epochs: dict[str, Epoch]
    turns: dict[str, TurnRecord]

    def covering(self, message_id: str) -> set[str]:
        return {one.id for one in self.summaries.values() if message_id in one.covers}

    def recalling(self, ids: Collection[str]) -> list[TurnRecord]:
        return [
            turn
            for turn in self.turns.values()
            if any(part.tier in TOLD and not set(ids).isdisjoint(part.ids) for part in turn.parts)
        ]

    def holding(self, ids: Collection[str]) -> set[str]:
        """Epochs with one of these in their head."""
        return {one.id for one in self.epochs.values() if _holds(one.parts, ids)}

    def epochs_of(self, sessions: Collection[str]) -> set[str]:
        return {one.id for one in self.epochs.values() if one.session_id in sessions}


def _holds(parts: Sequence[TierUse], ids: Collection[str]) -> bool:
    return any(not set(ids).isdisjoint(part.ids) for part in parts)


class Context(RuleBasedStateMachine):
    messages: Bundle[Place] = Bundle("messages")
    summaries: Bundle[str] = Bundle("summaries")
    epochs: Bundle[str] = Bundle("epochs")

    @initialize(target=messages)
    def open(self) -> Place:
        self.runner = asyncio.Runner()
        self.store = InMemoryStore()
        self.known: dict[str, dict[str, str | None]] = {}
        self.recorded: set[str] = set()
        return self.created(NewMessage(Role.USER, "a"))

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(work)

    def state(self) -> State:
        state = State({}, {}, {}, {})
        for session, messages in self.known.items():
            for leaf in messages.keys() - messages.values():
                found = self.run(self.store.branch(session, leaf))
                state.messages.update((one.id, one) for one in found)
            for reply in messages.keys() & self.recorded:
                turn = self.run(self.store.context.turn(reply))
                assert turn is not None
                state.turns[reply] = turn
            state.summaries.update((s.id, s) for s in self.run(self.store.context.summaries(session)))
            state.epochs.update((e.id, e) for e in self.run(self.store.context.epochs(session, MODEL)))
        return state

    def ended(self, before: State, after: State) -> set[str]:
        """The epochs that are gone. What is left is as it was, and no turn names one that is gone."""
        assert all(before.epochs[one] == epoch for one, epoch in after.epochs.items())
        gone = before.epochs.keys() - after.epochs.keys()
        assert all(turn.epoch_id not in gone for turn in after.turns.values())
        return gone

    def is_there(self, at: Place) -> bool:
        return at[0] in self.known

    def put(self, session: str, message: Message) -> Place:
        self.known.setdefault(session, {})[message.id] = message.parent_id
        return session, message.id

    @rule(target=messages, first=NEW)
    def begin(self, first: NewMessage) -> Place:
        return self.created(first)

    def created(self, first: NewMessage) -> Place:
        session, message = self.run(self.store.create_session(NewSession("t"), first))
        return self.put(session.id, message)

    @rule(target=messages, at=messages, new=NEW)
    def append(self, at: Place, new: NewMessage) -> Any:
        if not self.is_there(at):
            return multiple()
        return self.put(at[0], self.run(self.store.append_message(at[0], new, parent_id=at[1])))

    @rule(target=messages, at=messages)
    def edit(self, at: Place) -> Any:
        if not self.is_there(at):
            return multiple()
        before = self.run(self.store.branch(*at))
        edited = self.run(self.store.edit_message(at[1], "other words"))
        assert self.run(self.store.branch(*at)) == before
        assert [one.id for one in self.run(self.store.branch(at[0]))] == [
            *(one.id for one in before[:-1]),
            edited.id,
        ]
        assert edited.id in {one.id for one in self.run(self.store.variants(at[1]))}
        return self.put(at[0], edited)

    @rule(at=messages)
    def tell(self, at: Place) -> None:
        if self.is_there(at):
            patch = MessagePatch(preface="noon", tokens=(1, 2), token_model=MODEL)
            assert self.run(self.store.update_message(at[1], patch)).preface == "noon"

    @rule(target=messages, at=messages)
    def fork(self, at: Place) -> Any:
        if not self.is_there(at):
            return multiple()
        before = self.state()
        fork = self.run(self.store.fork_session(*at, "a fork"))
        branch, copies = self.run(self.store.branch(*at)), self.run(self.store.branch(fork.id))
        assert [(one.role, one.content, one.preface, one.tokens) for one in branch] == [
            (one.role, one.content, one.preface, one.tokens) for one in copies
        ]
        assert all(one.status is not MessageStatus.STREAMING for one in copies)
        names = {one.id: copy.id for one, copy in zip(branch, copies, strict=True)}
        whole = [
            s for s in before.summaries.values() if s.session_id == at[0] and set(s.covers) <= set(names)
        ]
        taken = self.run(self.store.context.summaries(fork.id))
        assert sorted((s.text, tuple(names[one] for one in s.covers)) for s in whole) == sorted(
            (s.text, s.covers) for s in taken
        )
        for epoch in self.run(self.store.context.epochs(fork.id, MODEL)):
            assert epoch.start_id in names.values()
            assert not _holds(epoch.parts, before.summaries)
        assert self.state() == before
        self.recorded |= {one.id for one in copies if self.run(self.store.context.turn(one.id))}
        return multiple(*[self.put(fork.id, copy) for copy in copies])

    @rule(at=messages)
    def forget(self, at: Place) -> None:
        if not self.is_there(at):
            return
        before = self.state()
        stale = self.run(self.store.forget_message(at[1]))
        after = self.state()
        emptied = after.messages[at[1]]
        assert (emptied.content, emptied.preface, emptied.tokens) == ("", "", ())
        covering = before.covering(at[1])
        assert {one.id for one in stale} == covering
        for one in after.summaries.values():
            if one.id in covering:
                assert (one.state, one.text, one.topics) == (SummaryState.STALE, "", ())
            else:
                assert one == before.summaries[one.id]
        recalling = before.recalling([at[1]])
        self.prefaces_are_gone(recalling, after)
        touched = {at[0], *(turn.session_id for turn in recalling)}
        assert self.ended(before, after) == before.epochs_of(touched)

    @rule(at=messages)
    def erase(self, at: Place) -> None:
        if not self.is_there(at):
            return
        before = self.state()
        assert self.run(self.store.erase_session(at[0])).verified
        del self.known[at[0]]
        for look in (self.store.get_session, self.store.context.summaries, self.store.context.drop_epochs):
            try:
                self.run(look(at[0]))
            except SessionNotFound:
                continue
            raise AssertionError(look)
        after = self.state()
        gone = {at[0], *(before.messages.keys() - after.messages.keys())}
        gone |= {one.id for one in before.summaries.values() if one.session_id == at[0]}
        assert all(one == before.summaries[one.id] for one in after.summaries.values())
        recalling = [turn for turn in before.recalling(gone) if turn.session_id != at[0]]
        self.prefaces_are_gone(recalling, after)
        touched = {at[0], *(turn.session_id for turn in recalling)}
        assert self.ended(before, after) == before.epochs_of(touched) | before.holding(gone)
        assert not any(
            part.tier in TOLD and _holds([part], gone) for t in after.turns.values() for part in t.parts
        )

    def prefaces_are_gone(self, recalling: Sequence[TurnRecord], after: State) -> None:
        for turn in recalling:
            said = after.messages[turn.reply_id].parent_id
            assert said is None or after.messages[said].preface == ""

    @rule(
        target=summaries,
        at=messages,
        first=st.integers(0, 2),
        level=st.integers(0, 2),
        fallback=st.booleans(),
        replaced=st.lists(summaries, max_size=2, unique=True),
    )
    def sum_up(self, at: Place, first: int, level: int, *, fallback: bool, replaced: list[str]) -> Any:
        before = self.state()
        covers = (
            tuple(one.id for one in self.run(self.store.branch(*at)))[first:] if self.is_there(at) else ()
        )
        new = NewSummary("s", covers, level=level, fallback=fallback, replaces=tuple(replaced))
        try:
            made = self.run(self.store.context.add_summary(at[0], new))
        except (MemoryFault, ValueError):
            there = [before.summaries[one] for one in replaced if one in before.summaries]
            wider = all(one.level < level and set(one.covers) <= set(covers) for one in there)
            assert not covers or len(there) < len(replaced) or not wider
            assert self.state() == before
            return multiple()
        assert (made.covers, made.text, made.level, made.fallback) == (covers, "s", level, fallback)
        after = self.state()
        for one in replaced:
            found, was = after.summaries[one], before.summaries[one].state
            assert found.merged_into == made.id
            assert found.state is (was if was is SummaryState.STALE else SummaryState.MERGED)
        return made.id

    @rule(which=summaries, fallback=st.booleans(), edited=st.booleans())
    def rewrite(self, which: str, *, fallback: bool, edited: bool) -> None:
        before = self.state()
        if which not in before.summaries:
            return
        work = self.store.context.rewrite_summary(which, "r", fallback=fallback, edited=edited)
        changed = self.run(work)
        after = self.state()
        assert (changed.text, changed.fallback, changed.edited) == ("r", fallback, edited)
        assert changed.state is (SummaryState.CURRENT if changed.merged_into is None else SummaryState.MERGED)
        was = before.summaries[which]
        ends = edited or was.state is SummaryState.STALE
        held = before.holding([which]) & before.epochs_of([was.session_id])
        assert self.ended(before, after) == (held if ends else set())
        to_improve = {one.id for one in self.run(self.store.context.to_improve(limit=1000))}
        assert to_improve == {
            one.id
            for one in after.summaries.values()
            if not one.edited and (one.fallback or one.state is SummaryState.STALE)
        }

    @rule(at=messages)
    def age(self, at: Place) -> None:
        if not self.is_there(at):
            return
        before = self.state()
        aged = {one.id for one in self.run(self.store.context.age_summaries([at[1]]))}
        after = self.state()
        assert aged == before.covering(at[1])
        for one in after.summaries.values():
            assert one.text == before.summaries[one.id].text
            assert one.state is (SummaryState.STALE if one.id in aged else before.summaries[one.id].state)
        assert self.ended(before, after) == before.holding({at[1], *aged}) & before.epochs_of([at[0]])

    @rule(target=epochs, at=messages, held=st.none() | summaries)
    def start(self, at: Place, held: str | None) -> Any:
        if not self.is_there(at):
            return multiple()
        before = self.state()
        parts = () if held is None else (TierUse("summary", 1, (held,)),)
        known = before.summaries.get(held or "")
        if known is not None and known.session_id != at[0]:
            # A head holds summaries of its own session only.
            return multiple()
        try:
            epoch = self.run(self.store.context.add_epoch(NewEpoch(at[0], MODEL, "head", parts, at[1])))
        except SummaryStale:
            assert known is not None
            assert known.state is SummaryState.STALE
            return multiple()
        assert known is None or known.state is not SummaryState.STALE
        assert self.state().epochs == {**before.epochs, epoch.id: epoch}
        return epoch.id

    @rule(at=messages, epoch=st.none() | epochs, recalled=messages)
    def record(self, at: Place, epoch: str | None, recalled: Place) -> None:
        if not self.is_there(at):
            return
        before = self.state()
        turn = TurnRecord(at[1], at[0], epoch, MODEL, "ab", 1, (TierUse("recall", 1, (recalled[1],)),))
        try:
            self.run(self.store.context.record_turn(turn))
        except MemoryFault:
            assert before.messages[at[1]].role is not Role.ASSISTANT
            return
        self.recorded.add(at[1])
        kept = self.state().turns[at[1]]
        serves = epoch is not None and epoch in before.epochs_of([at[0]])
        assert (kept.epoch_id, kept.parts) == (epoch if serves else None, turn.parts)

    @rule(at=messages)
    def drop(self, at: Place) -> None:
        if not self.is_there(at):
            return
        before = self.state()
        count = self.run(self.store.context.drop_epochs(at[0]))
        ended = self.ended(before, self.state())
        assert (ended, len(ended)) == (before.epochs_of([at[0]]), count)

    def teardown(self) -> None:
        if not hasattr(self, "store"):
            return
        report = self.run(self.store.verify())
        self.run(self.store.close())
        self.runner.close()
        assert report.problems == ()


TestContext = Context.TestCase
TestContext.settings = settings(max_examples=25, stateful_step_count=25, deadline=None)
