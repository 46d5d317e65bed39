"""Replaces all rooms at once by new ones: for restoring, rekeying and salvaging.

The new rooms are prepared in a folder beside the present one. When they are complete and durable, a note is
written; from then on they are the rooms, even if the program is killed repeatedly. `recover` completes the
remaining steps at the next start:

    1. rooms -> rooms.former    2. rooms.next -> rooms    3. rooms.former: kept under a name, or destroyed

Before the note is written, nothing has changed.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

import msgspec

from memory.errors import ExchangeUnfinished, StorageFull
from memory.vault.files import make_private_folder, shred_folder, sync_folder, translated_os, write_durably

WAIT_S = 10.0


class _Note(msgspec.Struct, frozen=True):
    """`keep` is the name under which the former rooms are kept; empty when they are to be destroyed."""

    keep: str = ""


class AtomicRoomSwap:
    """The exchange of the rooms of one home."""

    def __init__(self, rooms: Path) -> None:
        self.rooms = rooms
        self.next = rooms.with_name(f"{rooms.name}.next")
        self._former = rooms.with_name(f"{rooms.name}.former")
        self._note = rooms.with_name(f"{rooms.name}.exchange")
        self._lock = rooms.with_name(f"{rooms.name}.lock")

    @contextmanager
    def prepared(self) -> Iterator[Path]:
        """Yields an empty folder for the new rooms, removed at the end unless `put_in_place` was called.

        Raises `ExchangeUnfinished` while another process does the same, `StorageFull`.
        """
        with self._locked(WAIT_S):
            self._finish()
            make_private_folder(self.next)
            try:
                yield self.next
            finally:
                shred_folder(self.next)

    def put_in_place(self, *, keep: str = "") -> None:
        """Makes the prepared rooms the present ones; call it inside `prepared`. Raises `StorageFull`: nothing
        changed."""
        with translated_os():
            for file in self.next.iterdir():
                _sync(file)
            sync_folder(self.next)
        write_durably(self._note, msgspec.json.encode(_Note(keep)))
        self._finish()

    def carry_over(self, name: str) -> None:
        """Copies a file of the present rooms unchanged to the prepared ones. Raises `StorageFull`."""
        source, target = self.rooms / name, self.next / name
        with translated_os():
            try:
                os.link(source, target)
            except OSError:
                shutil.copyfile(source, target)
                target.chmod(0o600)

    def recover(self) -> None:
        """Finishes an exchange that a killed process had begun; removes rooms that were only prepared.

        Does nothing while another process is at it. Raises `StorageFull`.
        """
        if not (self._note.exists() or self.next.exists()):
            return
        with suppress(ExchangeUnfinished), self._locked(WAIT_S if self._note.exists() else 0.0):
            self._finish()

    @contextmanager
    def _locked(self, wait_s: float) -> Iterator[None]:
        from filelock import FileLock, Timeout

        make_private_folder(self.rooms.parent)
        lock = FileLock(self._lock, mode=0o600, thread_local=False)
        try:
            lock.acquire(timeout=wait_s, poll_interval=0.05)
        except Timeout as error:
            raise ExchangeUnfinished from error
        except OSError as error:
            raise StorageFull(error.strerror or type(error).__name__) from error
        try:
            yield
        finally:
            lock.release()

    def _finish(self) -> None:
        with translated_os():
            note = self._read_note()
            if note is None:
                shred_folder(self.next)
                self._note.unlink(missing_ok=True)
                return
            if self.next.exists():
                if self._former.exists() and self.rooms.exists():
                    # Created by a process that looked in between; it is empty.
                    self.rooms.rmdir()
                elif self.rooms.exists():
                    self.rooms.rename(self._former)
                self.next.rename(self.rooms)
                sync_folder(self.rooms.parent)
            if self._former.exists():
                if note.keep:
                    self._former.rename(self.rooms.with_name(note.keep))
                else:
                    shred_folder(self._former)
                sync_folder(self.rooms.parent)
            self._note.unlink(missing_ok=True)
            sync_folder(self.rooms.parent)

    def _read_note(self) -> _Note | None:
        try:
            return msgspec.json.decode(self._note.read_bytes(), type=_Note)
        except FileNotFoundError:
            return None
        except msgspec.DecodeError:
            # Empty, or written by another program. The exchange is finished, and the former rooms are kept.
            return _Note(self._unused_name()) if self._former.exists() else None

    def _unused_name(self) -> str:
        names = (f"{self.rooms.name}.kept-{number}" for number in count(1))
        return next(name for name in names if not self.rooms.with_name(name).exists())


def _sync(file: Path) -> None:
    descriptor = os.open(file, os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
