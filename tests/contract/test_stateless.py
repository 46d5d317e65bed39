"""Prompts of conversations that other programs repeat: nothing is stored, nothing is read twice."""

from collections.abc import Collection

import pytest

from memory.context.entities import Limits
from memory.context.library import LibraryContext
from memory.context.recalling import ContextRecall
from memory.context.stateless import StatelessContext, StatelessRequest
from memory.documents.entities import DocumentHit, DocumentQuery
from memory.entities import MemoryMode, NewMessage, NewSession
from memory.errors import ContextTooSmall
from memory.memories.entities import MemoryKind, MemoryOrigin, MemoryState, MemoryTier, NewMemory
from memory.memories.profile import ProfileMaker
from memory.recall.engine import RecallEngine
from memory.storage.store import Store
from models.messages import ChatMessage, Completion, Role, StopReason, Timings
from tests.fakes.clock import FakeClock
from tests.fakes.models import ScriptedChatModel, WordCounter


class NoDocuments:
    async def search(self, _query: DocumentQuery) -> Collection[DocumentHit]:
        return ()


@pytest.fixture
def context(store: Store, clock: FakeClock) -> StatelessContext:
    counter = WordCounter()
    return StatelessContext(
        ScriptedChatModel(),
        counter,
        clock,
        limits=Limits,
        recalling=ContextRecall(counter, clock, recall=RecallEngine(store.evidence, clock)),
        profile=ProfileMaker(store.memories, counter, clock),
        library=LibraryContext(store, counter, NoDocuments()),  # type: ignore[arg-type]
        erasures=lambda: store.erasures,
    )


def said(*texts: str) -> tuple[ChatMessage, ...]:
    roles = (Role.USER, Role.ASSISTANT)
    return tuple(ChatMessage(roles[at % 2], text) for at, text in enumerate(texts))


def request(*texts: str, mode: MemoryMode = MemoryMode.READS, owner: str = "editor") -> StatelessRequest:
    return StatelessRequest(owner, "You are Atlas.", said(*texts), mode=mode)


async def remember(store: Store, text: str) -> str:
    session, _message = await store.create_session(NewSession("Earlier"), NewMessage(Role.USER, text))
    return session.id


ASKED = "Where does my sister Zephyra live?"


async def test_what_was_said_before_is_added_to_a_question(store: Store, context: StatelessContext) -> None:
    await remember(store, "My sister Zephyra lives in Graz.")
    made = await context.prepare(request(ASKED), reply=100)
    assert [hit.text for hit in made.recalled] == ["My sister Zephyra lives in Graz."]
    assert "My sister Zephyra lives in Graz." in made.prompt.messages[-1].content
    assert made.prompt.messages[-1].content.endswith(ASKED)
    assert sum(tier.tokens for tier in made.prompt.tiers) == made.prompt.tokens


async def test_nothing_is_added_without_memory(store: Store, context: StatelessContext) -> None:
    await remember(store, "My sister Zephyra lives in Graz.")
    made = await context.prepare(request(ASKED, mode=MemoryMode.BLANK), reply=100)
    assert made.recalled == ()
    assert "Graz" not in "".join(one.content for one in made.prompt.messages)


async def test_a_repeated_history_begins_with_the_whole_prompt_before(
    store: Store, context: StatelessContext
) -> None:
    await remember(store, "My sister Zephyra lives in Graz.")
    first = await context.prepare(request(ASKED), reply=100)
    done = Completion("In Graz.", (7, 8, 9), StopReason.STOP, Timings())
    context.settle(first, "In Graz.", done)
    await remember(store, "My sister Zephyra lives in Vienna now.")
    second = await context.prepare(request(ASKED, "In Graz.", "And before?"), reply=100)
    assert second.prompt.messages[: len(first.prompt.messages)] == first.prompt.messages
    assert second.prompt.messages[len(first.prompt.messages)].tokens == (7, 8, 9)


async def test_programs_do_not_share_what_was_added(store: Store, context: StatelessContext) -> None:
    await remember(store, "My sister Zephyra lives in Graz.")
    await context.prepare(request(ASKED), reply=100)
    made = await context.prepare(request(ASKED, "In Graz.", "Thank you.", owner="other"), reply=100)
    assert all("From memory" not in one.content for one in made.prompt.messages[:-1])


async def test_what_is_erased_is_not_repeated(store: Store, context: StatelessContext) -> None:
    session = await remember(store, "My sister Zephyra lives in Graz.")
    await context.prepare(request(ASKED), reply=100)
    await store.erase_session(session)
    made = await context.prepare(request(ASKED, "In a town.", "Which one?"), reply=100)
    assert "Graz" not in "".join(one.content for one in made.prompt.messages)


async def test_a_proposal_is_not_told_before_it_is_accepted(store: Store, context: StatelessContext) -> None:
    new = NewMemory(
        MemoryKind.FACT,
        "Zephyra lives on the Moon.",
        MemoryOrigin.PERSON,
        tier=MemoryTier.LONG_TERM,
        state=MemoryState.INBOX,
        proposed_by="editor",
    )
    await store.memories.add(new)
    made = await context.prepare(request(ASKED), reply=100)
    assert "Moon" not in "".join(one.content for one in made.prompt.messages)


async def test_a_conversation_that_does_not_fit_is_refused_whole(context: StatelessContext) -> None:
    with pytest.raises(ContextTooSmall):
        await context.prepare(request("word " * 3_000), reply=100)
