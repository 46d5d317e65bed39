"""Random work with summaries, epochs, forks and erasing leaves the SQL store and the in-memory one alike."""

import asyncio
import operator
from collections.abc import Callable, Coroutine
from dataclasses import fields, is_dataclass
from datetime import datetime
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, multiple, rule

from memory.context.entities import Epoch, NewEpoch, NewSummary, Summary, TierUse, TurnRecord
from memory.entities import MessagePatch, MessageStatus, NewMessage, NewSession
from memory.errors import MemoryFault
from memory.ports import SessionStore
from memory.storage.room import open_off_record
from memory.testing import FakeClock, InMemorySessionStore
from models.messages import Role

Pair = tuple[str, str]
Place = tuple[Pair, Pair]
Of = Callable[[Pair], str]
Call = Callable[[SessionStore, Of], Coroutine[Any, Any, Any]]

MODEL = "m"
NEW = st.builds(
    NewMessage,
    role=st.sampled_from([Role.USER, Role.ASSISTANT]),
    content=st.sampled_from(["", "a", "b c"]),
    status=st.sampled_from([MessageStatus.COMPLETE, MessageStatus.STREAMING]),
)


class Context(RuleBasedStateMachine):
    messages: Bundle[Place] = Bundle("messages")
    summaries: Bundle[Pair] = Bundle("summaries")
    epochs: Bundle[Pair] = Bundle("epochs")

    @initialize(target=messages)
    def open(self) -> Any:
        self.runner = asyncio.Runner()
        real: SessionStore = self.runner.run(open_off_record(FakeClock()))
        self.stores: tuple[SessionStore, SessionStore] = real, InMemorySessionStore(FakeClock())
        self.names: dict[str, str] = {}
        self.sessions: list[Pair] = []
        return self.create(NewMessage(Role.USER, "a"))

    def both(self, call: Call) -> Any:
        """The same call on both stores, each with its own ids; the two results, or None when both refused."""
        results: list[Any] = []
        for side, store in enumerate(self.stores):
            try:
                results.append(self.runner.run(call(store, operator.itemgetter(side))))
            except (MemoryFault, ValueError) as fault:
                results.append(fault)
        ours, theirs = results
        if isinstance(ours, Exception) or isinstance(theirs, Exception):
            assert type(ours) is type(theirs)
            return None
        return ours, theirs

    def alias(self, ours: Any, theirs: Any) -> Pair:
        name = f"#{len(self.names)}"
        self.names.setdefault(ours.id, name)
        self.names.setdefault(theirs.id, name)
        return ours.id, theirs.id

    def named(self, value: Any) -> Any:
        """A value without its times, with names in place of the ids of either store."""
        if isinstance(value, str):
            return self.names.get(value, value)
        if isinstance(value, list | tuple):
            return [self.named(one) for one in value]
        if is_dataclass(value):
            known = {field.name: getattr(value, field.name) for field in fields(value)}
            kept = {name: one for name, one in known.items() if not isinstance(one, datetime)}
            found = {name: self.named(one) for name, one in kept.items() if name != "room"}
            if "recalled_in" in found:
                # In no order: each store has its own.
                found["recalled_in"] = sorted(found["recalled_in"])
            return found
        return value

    def agree(self, found: Any) -> None:
        if found is not None:
            assert self.named(found[0]) == self.named(found[1])

    def new(self, made: Any) -> Any:
        """What was made joins its bundle, unless it was refused."""
        if made is None:
            return multiple()
        pair = self.alias(*made)
        self.agree(made)
        return pair

    def message(self, at: Place, made: Any) -> Any:
        return multiple() if made is None else (at[0], self.new(made))

    def create(self, first: NewMessage) -> Place:
        made = self.both(lambda store, _: store.create_session(NewSession("t"), first))
        (session, message), (other, twin) = made
        pair = self.alias(session, other)
        self.sessions.append(pair)
        return pair, self.alias(message, twin)

    @rule(target=messages, first=NEW)
    def begin(self, first: NewMessage) -> Place:
        return self.create(first)

    @rule(target=messages, at=messages, new=NEW)
    def append(self, at: Place, new: NewMessage) -> Any:
        made = self.both(lambda store, of: store.append_message(of(at[0]), new, parent_id=of(at[1])))
        return self.message(at, made)

    @rule(target=messages, at=messages)
    def edit(self, at: Place) -> Any:
        return self.message(at, self.both(lambda store, of: store.edit_message(of(at[1]), "other words")))

    @rule(at=messages)
    def tell(self, at: Place) -> None:
        patch = MessagePatch(preface="noon", tokens=(1, 2), token_model=MODEL)
        self.agree(self.both(lambda store, of: store.update_message(of(at[1]), patch)))

    @rule(target=messages, at=messages)
    def fork(self, at: Place) -> Any:
        made = self.both(lambda store, of: store.fork_session(of(at[0]), of(at[1]), "a fork"))
        if made is None:
            return multiple()
        session = self.alias(*made)
        self.sessions.append(session)
        copies = self.pairs(lambda store, of: store.branch(of(session)))
        self.pairs(lambda store, of: store.context.summaries(of(session)))
        self.pairs(lambda store, of: store.context.epochs(of(session), MODEL))
        return multiple(*((session, copy) for copy in copies))

    def pairs(self, call: Call) -> list[Pair]:
        """Names for the copies that a fork made."""
        ours, theirs = self.both(call)
        return [self.alias(*copies) for copies in zip(ours, theirs, strict=True)]

    @rule(at=messages)
    def forget(self, at: Place) -> None:
        self.agree(self.both(lambda store, of: store.forget_message(of(at[1]))))

    @rule(at=messages)
    def erase(self, at: Place) -> None:
        self.agree(self.both(lambda store, of: store.erase_session(of(at[0]))))

    @rule(
        target=summaries,
        at=messages,
        first=st.integers(0, 2),
        level=st.integers(0, 2),
        fallback=st.booleans(),
        replaced=st.lists(summaries, max_size=2, unique=True),
    )
    def sum_up(self, at: Place, first: int, level: int, *, fallback: bool, replaced: list[Pair]) -> Any:
        async def add(store: SessionStore, of: Of) -> Summary:
            covers = tuple(message.id for message in await store.branch(of(at[0]), of(at[1])))[first:]
            replaces = tuple(map(of, replaced))
            new = NewSummary("s", covers, level=level, fallback=fallback, replaces=replaces)
            return await store.context.add_summary(of(at[0]), new)

        return self.new(self.both(add))

    @rule(which=summaries, fallback=st.booleans(), edited=st.booleans())
    def rewrite(self, which: Pair, *, fallback: bool, edited: bool) -> None:
        self.agree(
            self.both(
                lambda store, of: store.context.rewrite_summary(
                    of(which), "r", fallback=fallback, edited=edited
                )
            )
        )

    @rule(at=messages)
    def age(self, at: Place) -> None:
        self.agree(self.both(lambda store, of: store.context.age_summaries([of(at[1])])))

    @rule(target=epochs, at=messages, held=st.none() | summaries)
    def start(self, at: Place, held: Pair | None) -> Any:
        def add(store: SessionStore, of: Of) -> Coroutine[Any, Any, Epoch]:
            parts = () if held is None else (TierUse("summary", 1, (of(held),)),)
            return store.context.add_epoch(NewEpoch(of(at[0]), MODEL, "head", parts, of(at[1])))

        return self.new(self.both(add))

    @rule(at=messages, epoch=st.none() | epochs, recalled=messages)
    def record(self, at: Place, epoch: Pair | None, recalled: Place) -> None:
        def keep(store: SessionStore, of: Of) -> Coroutine[Any, Any, None]:
            parts = (TierUse("recall", 1, (of(recalled[1]),)),)
            epoch_id = None if epoch is None else of(epoch)
            turn = TurnRecord(of(at[1]), of(at[0]), epoch_id, MODEL, "ab", 1, parts)
            return store.context.record_turn(turn)

        self.both(keep)

    @rule(at=messages)
    def drop(self, at: Place) -> None:
        self.agree(self.both(lambda store, of: store.context.drop_epochs(of(at[0]))))

    @rule(at=messages)
    def look(self, at: Place) -> None:
        self.agree(self.both(lambda store, of: store.branch(of(at[0]), of(at[1]))))
        self.agree(self.both(lambda store, of: store.variants(of(at[1]))))
        self.agree(self.both(lambda store, of: store.context.turn(of(at[1]))))

    def teardown(self) -> None:
        if not hasattr(self, "stores"):
            return
        calls: list[Call] = [lambda store, _: store.context.to_improve(limit=1000)]
        for one in self.sessions:
            calls += [
                lambda store, of, one=one: store.get_session(of(one)),  # type: ignore[misc]
                lambda store, of, one=one: store.context.summaries(of(one)),  # type: ignore[misc]
                lambda store, of, one=one: store.context.epochs(of(one), MODEL),  # type: ignore[misc]
            ]
        for call in calls:
            self.agree(self.both(call))
        real, _ = self.stores
        report = self.runner.run(real.verify())
        self.runner.run(real.close())
        self.runner.close()
        assert report.problems == ()


TestContext = Context.TestCase
TestContext.settings = settings(max_examples=25, stateful_step_count=25, deadline=None)
