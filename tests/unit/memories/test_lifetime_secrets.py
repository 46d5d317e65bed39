"""Which texts count as secrets, and that such memories wait for the user's consent."""

from datetime import UTC, datetime

import pytest

from memory.clock import SystemClock
from memory.entities import NewMessage, NewSession
from memory.learning.entities import Utterance
from memory.learning.memory_writer import MemoryWriter
from memory.learning.reader import read
from memory.memories.entities import Memory, MemoryPatch, MemoryState
from memory.memories.lifetime import Retention, Standing, ground, in_use, looks_secret
from memory.memories.profile import candidates
from memory.memories.upkeep import may_consolidate
from memory.recall.engine import RecallEngine
from memory.recall.entities import RecallQuery
from memory.storage.store import Store
from models.messages import Role
from tests.stores import InMemoryStore

NOW = datetime(2026, 3, 4, 15, tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    [
        "My PIN is 4711.",
        "My password is hunter2.",
        "Our wifi password is Sommer-2024!",
        "The code of our alarm is 4821.",
        "My safe's combination is 12-34-56.",
        "My card is 4111 1111 1111 1111.",
        "I pay from DE89 3704 0044 0532 0130 00 every month.",
        "I use ghp_abcdefghijklmnopqrstuvwxyz0123456789 for GitHub.",
        "My key: sk-proj-abcdefghijklmnop1234",
        "I keep Xk29fLq81ZmPw03Rt77Yv in a drawer.",
        "Mein Passwort ist Hund123.",
        "Die Geheimzahl ist 4711.",
        "Mon mot de passe est chat99.",
        "Mi contraseña es gato99.",
        "我的密码是abc123。",
    ],
)
def test_secrets(text: str) -> None:
    assert looks_secret(text)


@pytest.mark.parametrize(
    "text",
    [
        "I live in Leeds.",
        "My password is too short.",
        "My passwords are in a manager.",
        "I use a password manager.",
        "I have 3 cats and was born on 3 May 1984.",
        "My order 4111 1111 1111 1112 has not come.",
        "We spent 12,000 on the kitchen in 2021.",
        "I code in Rust 2021.",
        "My laptop is a ThinkPad X1 Carbon Gen 9.",
        "I read https://example.org/2024/AbCdEfGhIjKlMnOp123456.",
        "My key goal is to run 10 km.",
        "Ich wohne in Graz.",
        "我住在成都。",
    ],
)
def test_what_is_no_secret(text: str) -> None:
    assert not looks_secret(text)


async def learned(store: Store, *said: str) -> list[Memory]:
    writer = MemoryWriter(store.memories, SystemClock(), Retention)
    found: list[Memory] = []
    for text in said:
        session, message = await store.create_session(NewSession("a"), NewMessage(Role.USER, text))
        found += await writer.add(read(Utterance(message.id, session.id, text, NOW)))
    return found


async def test_a_learned_secret_is_not_used_before_it_is_accepted() -> None:
    store = InMemoryStore()
    secret, plain = await learned(store, "My alarm code is 4821.", "My alarm clock is a Braun.")
    engine = RecallEngine(store.evidence, SystemClock())

    async def recalled() -> set[str]:
        found = await engine.recall(RecallQuery("alarm", k=9, kinds=frozenset({"memory"})))
        return {hit.id for hit in found}

    assert secret.state is MemoryState.INBOX
    assert not in_use(secret)
    assert in_use(plain)
    assert await recalled() == {plain.id}
    kept = await store.memories.change(secret.id, MemoryPatch(state=MemoryState.KEPT), action="accept")
    assert in_use(kept)
    assert await recalled() == {plain.id, secret.id}


async def test_a_secret_that_waits_is_neither_merged_nor_promoted_nor_in_the_profile() -> None:
    (secret,) = await learned(InMemoryStore(), "My PIN is 4711.")
    assert not may_consolidate(secret)
    assert ground(Standing(secret, ended_turns=9, similarity=1.0), Retention(promote_importance=0.0)) is None
    assert candidates([secret], NOW) == []


async def test_a_secret_that_the_user_asks_to_remember_is_used_at_once() -> None:
    (told,) = await learned(InMemoryStore(), "Remember that my PIN is 4711.")
    assert told.state is MemoryState.KEPT
    assert in_use(told)
