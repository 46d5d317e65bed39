"""The whole check of a room: all that can be held against something else."""

from memory.entities import Freshness, RoomKind, RoomReport
from memory.errors import RoomDamaged, StorageFull
from memory.storage.database import Database
from memory.storage.queries import check
from memory.storage.schema import version_of


async def verified(database: Database, room: RoomKind, freshness: Freshness) -> RoomReport:
    """What every check finds, also when another has met damage."""
    problems: list[str] = []
    counted, version = (0, 0), 0
    try:
        counted = await database.read(check.counts)
        version = await database.read(version_of)
    except RoomDamaged as fault:
        problems.append(f"counts: {fault.detail}")
    # A page may be torn in the file, by a crash while it was written, and whole in the log: what is
    # checked page by page is the file.
    await database.fold()
    for run, checks in ((database.read, check.READING), (database.write, check.WRITING)):
        for one in checks:
            try:
                problems += await run(one)
            except RoomDamaged as fault:
                problems.append(f"{one.__name__}: {fault.detail}")
            except StorageFull:
                # FTS5 checks itself by what SQLite takes for a write.
                if not database.read_only:
                    raise
    return RoomReport(room, *counted, version, tuple(problems), freshness)
