"""The room's schema, one step a module. A step that has been released never changes."""

from typing import Protocol

from memory.storage.connection import Connection
from memory.storage.migrations import (
    m0001_first_conversations,
    m0002_background_work,
    m0003_context,
    m0004_vectors,
    m0005_memories,
    m0006_rooms,
    m0007_considered,
    m0008_desk,
    m0009_search,
    m0010_archive,
    m0011_vectors_in_rows,
    m0012_kept_in,
)


class Migration(Protocol):
    """A module with a version (1, 2, 3 …), a name, and the step itself."""

    VERSION: int
    NAME: str

    def apply(self, conn: Connection) -> None: ...


ALL: tuple[Migration, ...] = (
    m0001_first_conversations,
    m0002_background_work,
    m0003_context,
    m0004_vectors,
    m0005_memories,
    m0006_rooms,
    m0007_considered,
    m0008_desk,
    m0009_search,
    m0010_archive,
    m0011_vectors_in_rows,
    m0012_kept_in,
)
LATEST = ALL[-1].VERSION
