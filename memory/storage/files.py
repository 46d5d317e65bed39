"""Rooms as files: `memory.vault.upkeep.RoomFiles` and `RoomRepairs`."""

from pathlib import Path

from memory.entities import RoomKind
from memory.ports import Clock
from memory.storage import archive, backup, connection
from memory.storage.freshness import start_counting
from memory.vault.keys import RoomKey
from memory.vault.upkeep import BackupFacts, BackupMade, RoomContents, RoomKeys, Salvaged, Unpacked


class SqlRoomFiles:
    """What is done with rooms as files, with SQLCipher."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def back_up(
        self, rooms: Path, keys: RoomKeys, target: Path, *, program: str, sequence: int = 1
    ) -> BackupMade:
        return backup.back_up(rooms, keys, target, program=program, sequence=sequence, clock=self._clock)

    def unpack(self, file: Path, folder: Path) -> Unpacked:
        return backup.unpack(file, folder)

    def remove_drafts(self, folder: Path) -> None:
        archive.remove_drafts(folder)

    def facts(self, file: Path) -> BackupFacts:
        return backup.facts(file)

    def check_seals(self, file: Path, keys: RoomKeys) -> None:
        backup.check_seals(file, keys)

    def contents(self, path: Path, key: RoomKey) -> RoomContents:
        return backup.contents(path, key)

    def start_counting(self, path: Path, room: RoomKind, key: RoomKey) -> None:
        conn = connection.open_file(path, key, journal="DELETE")
        try:
            start_counting(conn, path, room, key)
        finally:
            conn.close()

    def check(self, path: Path, key: RoomKey) -> None:
        backup.check_copy(path, key)

    def rekey(self, path: Path, key: RoomKey, target: Path, new: RoomKey) -> None:
        from memory.storage.rekey import rekey

        rekey(path, key, target, new)

    def salvage(self, path: Path, key: RoomKey, target: Path) -> Salvaged:
        from memory.storage.salvage import salvage

        return salvage(path, key, target, self._clock.now())
