"""Memories for tests of pure rules."""

from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import strategies as st

from memory.memories.entities import Memory, MemoryKind, MemoryOrigin, MemoryState, MemoryTier

NOW = datetime(2026, 3, 12, 15, 30, tzinfo=UTC)


def known(text: str = "The boat is green", *, id: str = "a", **changes: Any) -> Memory:  # noqa: A002
    usual: dict[str, Any] = {
        "kind": MemoryKind.FACT,
        "tier": MemoryTier.SHORT_TERM,
        "state": MemoryState.INBOX,
        "origin": MemoryOrigin.PATTERN,
        "subject": "",
        "confidence": 0.9,
        "importance": 0.5,
        "created_at": NOW - timedelta(days=1),
        "updated_at": NOW - timedelta(days=1),
    }
    return Memory(id=id, text=text, **(usual | changes))


shares = st.floats(0, 1)
memories = st.builds(
    known,
    id=st.uuids().map(str),
    text=st.sampled_from(
        ["The boat is green", "I like tea", "I do not like tea", "Rent is 900", "Rent is 950"]
    ),
    kind=st.sampled_from(MemoryKind),
    tier=st.sampled_from(MemoryTier),
    state=st.sampled_from(MemoryState),
    importance=shares,
    uses=st.integers(0, 20),
    pinned=st.booleans(),
    project=st.sampled_from([None, "Boat"]),
    expires_at=st.one_of(st.none(), st.floats(-100, 100).map(lambda hours: NOW + timedelta(hours=hours))),
    updated_at=st.floats(0, 900).map(lambda days: NOW - timedelta(days=days)),
)
