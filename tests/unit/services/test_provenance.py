"""Why something is known, was told, or was not."""

from dataclasses import replace

import pytest

from atlas_desktop.cli.memory_view import described, why_as_json
from atlas_desktop.services.provenance import ProvenanceService, Why
from memory.context.entities import Outcome, RecallDecision, TierUse, TurnRecord
from memory.documents.entities import StoredPassage
from memory.entities import NewMessage, NewSession
from memory.errors import MemoryNotFound, MessageNotFound
from memory.memories.entities import (
    MemoryKind,
    MemoryOrigin,
    MemoryPatch,
    MemorySource,
    MemoryState,
    NewMemory,
    UseKind,
)
from memory.recall.engine import RecallEngine
from models.messages import Role
from tests.contract.reading import read, shelved
from tests.fakes.clock import FakeClock
from tests.stores import InMemoryStore


class Scene:
    """A memory learned from the person's words, a reply for which it was looked at, and another session."""

    def __init__(self) -> None:
        self.store = InMemoryStore(FakeClock())
        engine = RecallEngine(self.store.evidence, FakeClock())
        self.service = ProvenanceService(self.store, engine, FakeClock())  # type: ignore[arg-type]

    async def fill(self) -> None:
        store = self.store
        self.session, self.said = await store.create_session(
            NewSession("boats"), NewMessage(Role.USER, "My boat lies in Brest.")
        )
        self.reply = await store.append_message(self.session.id, NewMessage(Role.ASSISTANT, "Good."))
        source = MemorySource(self.said.id, self.session.id, "boat lies in Brest")
        self.memory = await store.memories.add(
            NewMemory(MemoryKind.FACT, "The boat lies in Brest.", MemoryOrigin.PATTERN, (source,))
        )
        self.other, _ = await store.create_session(
            NewSession("plans"), NewMessage(Role.USER, "In Brest the boat is safe.")
        )
        for text in ("The weather is fine.", "What is for lunch?", "I like soup."):
            await store.append_message(self.other.id, NewMessage(Role.USER, text))
        parts = TierUse("profile", 4, (self.memory.id,)), TierUse("recent", 9, (self.said.id,))
        await store.context.record_turn(TurnRecord(self.reply.id, self.session.id, None, "m", "", 13, parts))
        told = RecallDecision("memory", self.memory.id, Outcome.TOLD, 0.75, {"lexical": 0.5})
        left = RecallDecision("message", self.said.id, Outcome.TOO_FAR, 0.25, {"lexical": 0.1})
        await store.context.record_considered(self.session.id, self.reply.id, [told, left])
        await store.memories.use(
            [self.memory.id], reply_id=self.reply.id, session_id=self.session.id, how=UseKind.CITED
        )


@pytest.fixture
async def scene() -> Scene:
    made = Scene()
    await made.fill()
    return made


def sessions(found: Why) -> list[str | None]:
    return [hit.source.session for hit in found.mentions]


async def test_a_memory_tells_its_words_its_uses_and_where_else_it_is_mentioned(scene: Scene) -> None:
    found = await scene.service.why(scene.memory.id)
    assert (found.kind, found.hidden) == ("memory", "")
    ((source, said),) = found.sources
    assert (source.quote, said) == ("boat lies in Brest", scene.said)
    assert [(use.reply_id, use.how) for use in found.uses] == [(scene.reply.id, "cited")]
    assert [(one.reply, one.considered.outcome) for one in found.looked] == [(scene.reply.id, "told")]
    assert sessions(found) == [scene.other.id]
    assert why_as_json(found)["sources"][0]["message"] == scene.said.id
    assert "“boat lies in Brest”" in described(found)


async def test_a_message_leads_to_what_was_learned_from_it(scene: Scene) -> None:
    found = await scene.service.why(scene.said.id)
    assert (found.kind, [one.id for one in found.memories]) == ("message", [scene.memory.id])
    assert [one.considered.outcome for one in found.looked] == ["too_far"]
    assert sessions(found) == [scene.other.id]
    assert why_as_json(found)["memories"][0]["id"] == scene.memory.id


async def test_a_reply_tells_what_it_was_given_and_what_lost(scene: Scene) -> None:
    found = await scene.service.of_last_reply(scene.session.id)
    assert found == await scene.service.why(scene.reply.id)
    assert (found.kind, found.shown) == ("reply", 1)
    assert [(item.considered.id, item.text) for item in found.told] == [(scene.memory.id, scene.memory.text)]
    assert [(item.considered.outcome, item.text) for item in found.left_out] == [
        ("too_far", scene.said.content)
    ]
    assert [(item.session, item.said) for item in (*found.told, *found.left_out)] == [
        (scene.session.id, scene.said),
        (scene.session.id, scene.said),
    ]
    assert [one.id for one in found.profile] == [scene.memory.id]
    shape = why_as_json(found)
    assert shape["recalled"][0]["parts"] == {"lexical": 0.5}
    assert shape["considered"][0]["fate"] == "too_far"
    assert [one["id"] for one in shape["profile"]] == [scene.memory.id]
    assert "From your profile" in described(found)
    assert "not relevant enough" in described(found)


async def test_a_reply_names_the_passages_that_came_with_its_message(scene: Scene) -> None:
    document = await shelved(scene.store, read("/rules.txt", "Fees fall due in May.", "Dogs stay aboard."))
    fees = StoredPassage(1, document, "", 7, (1, 1), 0, 21, (), "Fees fall due in May.", "", scene.said.id)
    dogs = replace(fees, marker=2, message=scene.reply.id, text="Dogs stay aboard.")
    await scene.store.documents.put_passages(scene.session.id, [fees, dogs])
    found = await scene.service.why(scene.reply.id)
    assert [one.text for one in found.passages] == ["Fees fall due in May."]
    assert why_as_json(found)["passages"] == [
        {
            "marker": 1,
            "kind": "document",
            "document": document,
            "title": "rules.txt",
            "page": 7,
            "text": "Fees fall due in May.",
        }
    ]
    assert "[1] rules.txt, page 7" in described(found)


async def test_what_is_not_found_any_more_says_why(scene: Scene) -> None:
    await scene.store.memories.change(scene.memory.id, MemoryPatch(state=MemoryState.ARCHIVED))
    found = await scene.service.why(scene.memory.id)
    assert (found.hidden, why_as_json(found)["hidden"]) == ("archived", "archived")
    assert "It is archived." in described(found)


async def test_nothing_of_that_id(scene: Scene) -> None:
    with pytest.raises(MemoryNotFound):
        await scene.service.why("ffffffff")
    with pytest.raises(MessageNotFound):
        await scene.service.of_last_reply(scene.other.id)
