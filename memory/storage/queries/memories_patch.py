"""Changes of memories, with the versions that they leave behind."""

from datetime import datetime

from memory.clock import micros, moment
from memory.memories.entities import FINDABLE, Memory, MemoryKind, MemoryPatch, MemoryTier, Unset
from memory.storage.connection import Connection
from memory.storage.queries import memories
from memory.storage.values import storable

KEPT_VERSIONS = 10
"""Earlier versions of a procedure that are kept."""


def apply(conn: Connection, memory_id: str, patch: MemoryPatch, now: datetime) -> None:
    """Changes what the patch gives; nothing, when it is so already. Raises `MemoryNotFound`."""
    memory = memories.get(conn, memory_id)
    changes = _columns(memory, patch)
    if not changes:
        return
    if "text" in changes or "subject" in changes:
        conn.execute(
            """
            INSERT INTO memory_versions (memory_id, version, subject, text, created_at)
            SELECT id, version, subject, text, worded_at FROM memories WHERE id = ?
            """,
            (memory_id,),
        )
        changes["version"] = memory.version + 1
        changes["worded_at"] = micros(now)
    if patch.state in FINDABLE:
        changes["superseded_by"] = None
    changes["updated_at"] = micros(now)
    memories.set_columns(conn, [memory_id], changes)
    after = memories.get(conn, memory_id)
    if after.kind is MemoryKind.PROCEDURE or after.tier is MemoryTier.PROCEDURAL:
        conn.execute(
            "DELETE FROM memory_versions WHERE memory_id = ? AND version < ?",
            (memory_id, after.version - KEPT_VERSIONS),
        )


def _columns(memory: Memory, patch: MemoryPatch) -> dict[str, object]:
    """The columns that will hold something else."""
    changes: dict[str, object] = {}
    for name in ("kind", "tier", "state"):
        value = getattr(patch, name)
        if value is not None and value is not getattr(memory, name):
            changes[name] = value.value
    for name in ("subject", "text"):
        words = getattr(patch, name)
        if words is not None and storable(words) != getattr(memory, name):
            changes[name] = storable(words)
    for name in ("confidence", "importance"):
        number = getattr(patch, name)
        if number is not None and number != getattr(memory, name):
            changes[name] = number
    if patch.pinned is not None and patch.pinned is not memory.pinned:
        changes["pinned"] = int(patch.pinned)
    for name in ("valid_from", "valid_until", "expires_at"):
        at = getattr(patch, name)
        if not isinstance(at, Unset) and _whole(at) != getattr(memory, name):
            changes[name] = None if at is None else micros(at)
    return changes


def _whole(at: datetime | None) -> datetime | None:
    return None if at is None else moment(micros(at))
