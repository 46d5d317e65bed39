"""What every session store finds."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory.entities import (
    MessagePatch,
    MessageStatus,
)
from memory.errors import (
    BadQuery,
)
from memory.storage.store import Store
from tests.contract.talk import assistant, begin


async def test_search_finds_all_words_phrases_and_beginnings(store: Store) -> None:
    session, message = await begin(store, "The quick brown fox jumps over the lazy dog", title="Pangram")
    await begin(store, "A lazy afternoon")

    async def found(query: str) -> list[str]:
        return [hit.message.id for hit in await store.search(query)]

    assert await found("fox dog") == [message.id]
    assert await found("QUICK") == [message.id]
    assert await found('"brown fox"') == [message.id]
    assert await found('"fox brown"') == []
    assert await found("qui") == [message.id]
    assert await found("qui* fox") == [message.id]
    assert await found("qui fox") == []
    assert await found("fox cat") == []
    assert len(await found("lazy")) == 2
    assert len(await store.search("lazy", limit=1)) == 1
    assert await store.search("lazy", limit=0) == []
    hit = (await store.search("fox"))[0]
    assert (hit.session_title, hit.message.session_id) == ("Pangram", session.id)
    assert "fox" in hit.snippet
    assert hit.score > 0


async def test_better_matches_come_first(store: Store) -> None:
    await begin(store, "nothing of the kind " * 20)
    await begin(store, "a long text in which a heron is named but once " + "and much else " * 40)
    await begin(store, "heron heron heron")
    hits = await store.search("heron")
    assert [hit.message.content[:5] for hit in hits] == ["heron", "a lon"]
    assert hits[0].score > hits[1].score


async def test_a_streaming_reply_is_found_when_it_has_ended(store: Store) -> None:
    session, _ = await begin(store)
    reply = await store.append_message(session.id, assistant("", MessageStatus.STREAMING))
    await store.update_message(reply.id, MessagePatch(content="a wombat"))
    assert await store.search("wombat") == []
    await store.update_message(reply.id, MessagePatch(status=MessageStatus.PARTIAL))
    assert len(await store.search("wombat")) == 1
    await store.update_message(reply.id, MessagePatch(content="a numbat"))
    assert await store.search("wombat") == []
    assert len(await store.search("numbat")) == 1
    assert (await store.verify()).problems == ()


@pytest.mark.parametrize("query", ["", "   ", '"', '""', "***", "!?", "\x00", "(", ":", "- -"])
async def test_a_query_without_words_is_refused(store: Store, query: str) -> None:
    with pytest.raises(BadQuery):
        await store.search(query)


@pytest.mark.parametrize(
    "query",
    [
        "fox AND",
        "NEAR(fox)",
        "fox OR",
        "content:fox",
        "^fox",
        "{a b}:fox",
        '"fox',
        'fo"x',
        "fox\x00",
        "NOT fox",
    ],
)
async def test_the_index_s_own_syntax_means_nothing(store: Store, query: str) -> None:
    await begin(store, "near fox and content fox or a b fox, not fo x")
    assert len(await store.search(query)) == 1


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(query=st.text(max_size=40) | st.text(alphabet='ab"*()^:{}-+ \x00\u0301é中', max_size=20))
async def test_no_query_can_break_search(store: Store, query: str) -> None:
    try:
        hits = await store.search(query)
    except BadQuery:
        hits = []
    listed = await store.list_sessions(containing=query)
    assert (hits, listed) == ([], [])
