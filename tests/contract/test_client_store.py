"""Clients, their sessions, their log, and what they propose, in every store."""

from datetime import timedelta

import pytest

from atlas_desktop.errors import BadClient
from atlas_desktop.services.clients import ClientService, digest, scopes_of
from memory.clients import Access, AccessKind, AccessOutcome, NewClient, Scope
from memory.entities import MemoryMode, NewMessage, NewSession
from memory.errors import ClientNotFound, NameTaken
from memory.memories.entities import MemoryKind, MemoryOrigin, MemoryPatch, MemoryState, MemoryTier, NewMemory
from memory.memories.lifetime import in_use
from memory.storage.store import Store
from models.messages import Role
from tests.fakes.clock import FakeClock

BOTH = frozenset({Scope.RECALL, Scope.CHAT})


async def test_a_token_is_known_by_its_digest_until_it_is_revoked(store: Store, clock: FakeClock) -> None:
    service = ClientService(store, clock)
    client, token = await service.add(NewClient("editor", BOTH))
    assert len(token) > 40
    assert await service.authenticate(token) == client
    assert await service.authenticate(token, name="Editor") == client
    assert await service.authenticate(token, name="other") is None
    assert await service.authenticate(token + "x") is None
    assert await service.authenticate("") is None
    await service.revoke("editor")
    assert await service.authenticate(token) is None
    assert [one.name for one in await service.list(revoked=True)] == ["editor"]
    assert await service.list() == []


async def test_the_token_itself_is_stored_nowhere(store: Store, clock: FakeClock) -> None:
    _client, token = await ClientService(store, clock).add(NewClient("editor", BOTH))
    stored = await store._database.read(lambda conn: conn.execute("SELECT * FROM clients").fetchall())
    assert token.encode() not in repr(stored).encode()
    assert digest(token) in [value for row in stored for value in row if isinstance(value, bytes)]


async def test_a_name_is_free_again_once_its_client_is_revoked(store: Store, clock: FakeClock) -> None:
    service = ClientService(store, clock)
    await service.add(NewClient("editor", BOTH))
    with pytest.raises(NameTaken):
        await service.add(NewClient("EDITOR", BOTH))
    await service.revoke("editor")
    await service.add(NewClient("editor", BOTH))
    with pytest.raises(ClientNotFound):
        await service.get("nobody")


@pytest.mark.parametrize(
    ("new", "reason"),
    [
        (NewClient("two words", BOTH), "name"),
        (NewClient("", BOTH), "name"),
        (NewClient("x" * 41, BOTH), "name"),
        (NewClient("editor", frozenset()), "scopes"),
        (NewClient("editor", BOTH, rate=0), "rate"),
    ],
)
async def test_a_bad_client_is_refused(store: Store, clock: FakeClock, new: NewClient, reason: str) -> None:
    with pytest.raises(BadClient) as refused:
        await ClientService(store, clock).add(new)
    assert refused.value.reason == reason


def test_scopes_are_read_in_any_case_and_unknown_ones_refused() -> None:
    assert scopes_of("chat, RECALL") == BOTH
    for wrong in ("", "chat,everything"):
        with pytest.raises(BadClient):
            scopes_of(wrong)


async def test_the_log_counts_by_kind_and_minute_and_holds_no_more(store: Store, clock: FakeClock) -> None:
    service = ClientService(store, clock)
    client, _token = await service.add(NewClient("editor", BOTH))
    await store.clients.record([Access(client.id, AccessKind.RECALL, items=3)])
    await store.clients.record([Access(client.id, AccessKind.RECALL, items=2)])
    await store.clients.record([Access(client.id, AccessKind.CHAT, AccessOutcome.REFUSED)])
    refused, recalled = sorted(await service.log("editor"), key=lambda one: one.kind)
    assert (recalled.kind, recalled.requests, recalled.items) == (AccessKind.RECALL, 2, 5)
    assert (refused.kind, refused.outcome) == (AccessKind.CHAT, AccessOutcome.REFUSED)
    used_at = (await service.get("editor")).used_at
    assert used_at is not None
    assert client.created_at < used_at <= clock.now()
    clock.advance(timedelta(days=91))
    assert await service.drop_old() == 2
    assert await service.log() == []


async def test_a_client_goes_on_only_with_sessions_that_it_began(store: Store, clock: FakeClock) -> None:
    service = ClientService(store, clock)
    one, _ = await service.add(NewClient("one", BOTH))
    two, _ = await service.add(NewClient("two", BOTH))
    new = NewSession("Theirs", memory_mode=MemoryMode.READS)
    session, _message = await store.create_session(new, NewMessage(Role.USER, "Hello"))
    await store.clients.begins(one.id, session.id)
    assert await store.clients.began(one.id, session.id)
    assert not await store.clients.began(two.id, session.id)


async def test_what_a_client_proposes_is_in_use_only_once_it_is_accepted(store: Store) -> None:
    new = NewMemory(
        MemoryKind.FACT,
        "The user lives on the Moon.",
        MemoryOrigin.PERSON,
        tier=MemoryTier.LONG_TERM,
        state=MemoryState.INBOX,
        proposed_by="somebody",
    )
    made = await store.memories.add(new)
    assert made.proposed_by == "somebody"
    assert not in_use(made)
    kept = await store.memories.change(made.id, MemoryPatch(state=MemoryState.KEPT))
    assert in_use(kept)
