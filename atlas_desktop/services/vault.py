"""The vault operations for the interfaces. Wrong passphrases delay the next attempt."""

import asyncio
import math
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from atlas_desktop.interrupts import run_to_completion
from atlas_desktop.paths import PRIVATE_DIR, PRIVATE_FILE
from memory.errors import KeyslotsDamaged, KeyslotsMissing, StorageFull, VaultMissing
from memory.kinds import RoomKind
from memory.vault.keys import Passphrase, RoomKey, Strength, estimate
from memory.vault.status import VaultStatus, noticed_at
from memory.vault.vault import Keys, Vault, Vaults

if TYPE_CHECKING:
    from memory.entities import RoomReport
    from memory.storage.store import Store


FREE = 3
LONGEST_S = 60.0


def delay_after(wrong: int) -> float:
    """Returns the seconds to wait after `wrong` attempts in a row: 0 for fewer than 3, then 2, 4, 8 … 60."""
    return 0.0 if wrong < FREE else min(2.0 ** min(wrong - FREE + 1, 16), LONGEST_S)


@dataclass(slots=True)
class Attempts:
    """Counts wrong attempts, across restarts. `now` returns seconds that also pass while nothing runs."""

    path: Path
    now: Callable[[], float] = time.time

    def left(self) -> int:
        """Returns the whole seconds until the next attempt is allowed; 0: now."""
        wrong, last = self._read()
        now = self.now()
        if last > now:
            # A clock that was set back must not lock anyone out for longer: the wait starts now.
            with suppress(OSError):
                self._write(wrong)
            last = now
        return math.ceil(max(0.0, last + delay_after(wrong) - now))

    def wrong(self) -> None:
        """Counts one wrong attempt. Raises OSError."""
        self._write(self._read()[0] + 1)

    def right(self) -> None:
        """Resets the count. Raises OSError."""
        self.path.unlink(missing_ok=True)

    def _read(self) -> tuple[int, float]:
        try:
            count, last = self.path.read_text(encoding="ascii").split()
            return max(0, int(count)), float(last)
        except (OSError, ValueError):
            return 0, 0.0

    def _write(self, wrong: int) -> None:
        self.path.parent.mkdir(mode=PRIVATE_DIR, parents=True, exist_ok=True)
        handle = os.open(
            self.path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0), PRIVATE_FILE
        )
        with os.fdopen(handle, "w", encoding="ascii") as out:
            out.write(f"{wrong} {self.now():.0f}\n")


OpenStore = Callable[[RoomKey, RoomKind, bool], Awaitable["Store"]]
"""Opens a room with its key; the last argument determines whether to create it if it does not exist."""


@dataclass(frozen=True, slots=True)
class Created:
    """The open room's key of a new vault, and the recovery key, which cannot be retrieved again."""

    key: RoomKey
    recovery_key: str
    keys: Keys | None = None


@dataclass(frozen=True, slots=True)
class VaultReport:
    """The result of checking keyslots and room."""

    status: VaultStatus
    room: "RoomReport"

    @property
    def sound(self) -> bool:
        return self.status.copies_sound and not self.room.problems


class VaultService:
    """The vaults of both rooms, and the rooms. Raises the vault's own errors (`memory.errors`).

    "The" vault or key means that of the open room. The private room's key is given only for the passphrase
    (`unlock_private`), or together with the open one's to callers that may change both (`unlock_both`).
    """

    def __init__(self, vaults: Vaults, open_store: OpenStore) -> None:
        self._vaults = vaults
        self._vault = vaults.open
        self._open_store = open_store
        self._unseen: Keys | None = None

    @property
    def rooms(self) -> tuple[Vault, ...]:
        """The vault of each stored room, the open one first."""
        return self._vaults.rooms

    async def exists(self) -> bool:
        return await asyncio.to_thread(self._vault.exists)

    async def status(self) -> VaultStatus:
        return await asyncio.to_thread(self._vault.status)

    async def private_status(self) -> VaultStatus | None:
        """Returns the status of the private room's keys; None when they do not exist or cannot be read."""
        try:
            return await asyncio.to_thread(self._vaults.private.status)
        except (VaultMissing, KeyslotsMissing, KeyslotsDamaged):
            return None

    async def private_missing(self) -> bool:
        """Returns whether there should be a private room, but its database or its key file is missing."""
        return await asyncio.to_thread(self._vaults.private_missing)

    async def rollback_noticed_at(self) -> datetime | None:
        """Returns when a room was last found to be older than before, if that is known without a key."""
        found = [await asyncio.to_thread(noticed_at, vault.database_path) for vault in self._vaults.rooms]
        return max((one for one in found if one is not None), default=None)

    async def strength(self, passphrase: str) -> Strength:
        return await asyncio.to_thread(estimate, passphrase)

    async def create(self, passphrase: str, *, confirm: bool = False) -> Created:
        """Creates keyslots, then the empty rooms.

        If the process is killed in between, the next unlock creates the rooms.

        With `confirm` the status says `recovery_unseen` until `recovery_key_seen` is called.

        When the rooms cannot be created, the keyslots are removed, so that nothing is left that would open
        with a recovery key nobody has seen, and the error is raised: `create` can be called again.
        """
        keys, recovery_key = await asyncio.to_thread(self._vaults.create, passphrase, confirm=confirm)
        try:
            await self._make_rooms_if_new(keys)
        except Exception as error:
            taken_back = await asyncio.to_thread(self._vaults.take_back, keys)
            # Once the database exists, the vault is complete, even if there was no space left to work in it
            # or to record it: the recovery key has to be shown, and the next unlock does the rest.
            if taken_back or not isinstance(error, StorageFull):
                raise
        return Created(keys.open, recovery_key, keys)

    @asynccontextmanager
    async def creating(self, passphrase: str) -> AsyncIterator[Created]:
        """Like `create`, but the recovery key is shown inside the context.

        When that fails there is no vault; if the process is killed meanwhile, the status says
        `recovery_unseen`.
        """
        created = await self.create(passphrase, confirm=True)
        try:
            yield created
        except BaseException:
            if created.keys is not None:
                await run_to_completion(asyncio.to_thread(self._vaults.undo_create, created.keys))
            raise
        await self.recovery_key_seen()

    async def unlock(self, passphrase: str) -> RoomKey:
        given = Passphrase(passphrase)
        key = await asyncio.to_thread(self._vaults.unlock, given)
        await self._make_room_if_new(self._vault, key)
        private = await self.private_status()
        if (private is not None and not private.room_made) or (await self.status()).recovery_unseen:
            # The user must be able to open the existing room even if the disk cannot be written to.
            with suppress(StorageFull):
                await self.unlock_both(given)
        return key

    async def unlock_both(self, passphrase: str | Passphrase) -> Keys:
        """Returns the keys of both rooms, with one derivation. Keep the private one no longer than needed."""
        keys = await self._with_rooms(await asyncio.to_thread(self._vaults.unlock_both, passphrase))
        if (await self.status()).recovery_unseen:
            # A new recovery key is about to be made, and has to open both rooms.
            self._unseen = keys
        return keys

    async def unlock_private(self, passphrase: str) -> RoomKey:
        """Returns the private room's key."""
        key = await asyncio.to_thread(self._vaults.unlock_private, passphrase)
        await self._make_room_if_new(self._vaults.private, key)
        return key

    async def unlock_both_with_recovery(self, key_text: str) -> Keys:
        return await self._with_rooms(await asyncio.to_thread(self._vaults.unlock_with_recovery, key_text))

    async def unlock_with_keyring(self) -> RoomKey:
        """Returns the open room's key; the keyring opens no other."""
        key = await asyncio.to_thread(self._vault.unlock_with_keyring)
        return (await self._with_rooms(Keys(key))).open

    async def change_passphrase(self, keys: RoomKey | Keys, new: str) -> None:
        """Changes the passphrase of every room whose key is given."""
        await asyncio.to_thread(self._vaults.change_passphrase, self._known(keys), new)

    async def new_recovery_key(self, keys: RoomKey | Keys) -> str:
        """Makes and returns a new recovery key for every room whose key is given."""
        text = await asyncio.to_thread(self._vaults.new_recovery_key, self._known(keys))
        self._unseen = None
        return text

    @asynccontextmanager
    async def replacing_recovery_key(self, keys: RoomKey | Keys) -> AsyncIterator[str]:
        """Makes a new recovery key for every room whose key is given, and yields it to be shown.

        Only on leaving does the old one stop working. If showing it fails, the old one stays; if the process
        is killed meanwhile, both work.
        """
        text, salt = await asyncio.to_thread(self._vaults.add_recovery_key, self._known(keys))
        try:
            yield text
        except BaseException:
            await run_to_completion(asyncio.to_thread(self._vaults.end_recovery_keys, salt, added=True))
            raise
        await asyncio.to_thread(self._vaults.end_recovery_keys, salt, added=False)
        await self.recovery_key_seen()
        self._unseen = None

    def _known(self, keys: RoomKey | Keys) -> Keys:
        if isinstance(keys, Keys):
            return keys
        return self._unseen if self._unseen is not None and self._unseen.open == keys else Keys(keys)

    async def recovery_key_seen(self) -> None:
        await asyncio.to_thread(self._vaults.recovery_key_seen)

    async def keyring_backend(self) -> str:
        """Returns the name of the system keyring, if a usable one answers."""
        return await asyncio.to_thread(self._vault.keyring_backend)

    async def keyring_on(self, key: RoomKey) -> str:
        """Lets the system keyring open the vault from now on; returns the keyring's name."""
        return await asyncio.to_thread(self._vault.keyring_on, key)

    async def keyring_off(self) -> bool:
        """Removes the keyring slot; returns whether the keyring's own entry was removed as well."""
        return await asyncio.to_thread(self._vault.keyring_off)

    async def copies(self, room: RoomKind) -> dict[str, str]:
        """Returns the state of each copy of a room's keyslot file; empty for a room that has none yet.

        Raises `KeyslotsMissing`, `KeyslotsDamaged`.
        """
        vault = self._vaults.open if room is RoomKind.OPEN else self._vaults.private
        if room is not RoomKind.OPEN and not vault.exists():
            return {}
        return {name: state.value for name, state in (await asyncio.to_thread(vault.status)).copies.items()}

    async def verify(self, key: RoomKey, room: RoomKind = RoomKind.OPEN) -> VaultReport:
        """Reads every page of the room, which must not be open elsewhere in this process."""
        vault = self._vaults.open if room is RoomKind.OPEN else self._vaults.private
        status = await asyncio.to_thread(vault.status)
        store = await self._open_store(key, room, False)  # noqa: FBT003  # OpenStore is a plain callable
        try:
            return VaultReport(status, await store.verify())
        finally:
            await store.close()

    async def _with_rooms(self, keys: Keys) -> Keys:
        await self._make_rooms_if_new(keys)
        return keys

    async def _make_rooms_if_new(self, keys: Keys) -> None:
        await self._make_room_if_new(self._vault, keys.open)
        if keys.private is not None:
            await self._make_room_if_new(self._vaults.private, keys.private)

    async def _make_room_if_new(self, vault: Vault, key: RoomKey) -> None:
        if (await asyncio.to_thread(vault.status)).room_made:
            return
        store = await self._open_store(key, vault.room, True)  # noqa: FBT003  # as above
        await store.close()
        await asyncio.to_thread(vault.mark_room_made)
