"""The vault as the interfaces use it; wrong passphrases make the next attempt wait."""

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

from atlas_desktop.paths import PRIVATE_DIR, PRIVATE_FILE
from atlas_desktop.services.run_to_completion import unbroken
from memory.errors import KeyslotsDamaged, KeyslotsMissing, StorageFull, VaultMissing
from memory.kinds import RoomKind
from memory.vault.counter import noticed_at
from memory.vault.keys import RoomKey
from memory.vault.passphrase import Passphrase, Strength, estimate
from memory.vault.status import VaultStatus
from memory.vault.vault import Vault
from memory.vault.vaults import Keys, Vaults

if TYPE_CHECKING:
    from memory.entities import RoomReport
    from memory.storage.store import Store


FREE = 3
LONGEST_S = 60.0


def delay_after(wrong: int) -> float:
    """Seconds to wait after so many wrong attempts in a row: none for the first three, then 2, 4, 8 … 60."""
    return 0.0 if wrong < FREE else min(2.0 ** min(wrong - FREE + 1, 16), LONGEST_S)


@dataclass(slots=True)
class Attempts:
    """Counts wrong attempts, across restarts. `now` tells seconds that also pass while nothing runs."""

    path: Path
    now: Callable[[], float] = time.time

    def left(self) -> int:
        """Whole seconds until the next attempt may be made; 0: now."""
        wrong, last = self._read()
        now = self.now()
        if last > now:
            # A clock that was set back must not lock anyone out for longer: the wait begins now.
            with suppress(OSError):
                self._write(wrong)
            last = now
        return math.ceil(max(0.0, last + delay_after(wrong) - now))

    def wrong(self) -> None:
        """Counts one. Raises OSError."""
        self._write(self._read()[0] + 1)

    def right(self) -> None:
        """Begins anew. Raises OSError."""
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
"""Opens a room with its key; the last argument says whether to make it when it is not there."""


@dataclass(frozen=True, slots=True)
class Created:
    """The open room's key of a new vault, and the recovery key, which cannot be had again."""

    key: RoomKey
    recovery_key: str
    keys: Keys | None = None


@dataclass(frozen=True, slots=True)
class VaultReport:
    """What a check of keyslots and room found."""

    status: VaultStatus
    room: "RoomReport"

    @property
    def sound(self) -> bool:
        return self.status.copies_sound and not self.room.problems


class VaultService:
    """The vaults of both rooms, and the rooms. Raises the vault's own errors (`memory.errors`).

    What is said of "the" vault or key is said of the open room's; the private room's key is given for the
    passphrase only (`unlock_private`), or with the open one's to who may change both (`unlock_both`).
    """

    def __init__(self, vaults: Vaults, open_store: OpenStore) -> None:
        self._vaults = vaults
        self._vault = vaults.open
        self._open_store = open_store
        self._unseen: Keys | None = None

    @property
    def rooms(self) -> tuple[Vault, ...]:
        """The vault of each room that is kept, the open one first."""
        return self._vaults.rooms

    async def exists(self) -> bool:
        return await asyncio.to_thread(self._vault.exists)

    async def status(self) -> VaultStatus:
        return await asyncio.to_thread(self._vault.status)

    async def private_status(self) -> VaultStatus | None:
        """Of the private room's keys; None when they are not there, or cannot be read."""
        try:
            return await asyncio.to_thread(self._vaults.private.status)
        except (VaultMissing, KeyslotsMissing, KeyslotsDamaged):
            return None

    async def private_missing(self) -> bool:
        """Whether there should be a private room, and its database or its key file is not there."""
        return await asyncio.to_thread(self._vaults.private_missing)

    async def rollback_noticed_at(self) -> datetime | None:
        """When a room was last found older than it had been, as far as can be told without a key."""
        found = [await asyncio.to_thread(noticed_at, vault.database_path) for vault in self._vaults.rooms]
        return max((one for one in found if one is not None), default=None)

    async def strength(self, passphrase: str) -> Strength:
        return await asyncio.to_thread(estimate, passphrase)

    async def create(self, passphrase: str, *, confirm: bool = False) -> Created:
        """Makes keyslots, then the empty rooms. Killed in between, the next unlock makes the rooms.

        With `confirm` the status says `recovery_unseen` until `recovery_key_seen` is called.

        When the rooms cannot be made the keyslots are taken back, so that nothing stays that would open by a
        recovery key nobody has seen, and the error is raised: `create` can be called again.
        """
        keys, recovery_key = await asyncio.to_thread(self._vaults.create, passphrase, confirm=confirm)
        try:
            await self._make_rooms_if_new(keys)
        except Exception as error:
            taken_back = await asyncio.to_thread(self._vaults.take_back, keys)
            # With the database in place the vault is whole, even if there was no space left to work in it or
            # to note it: the recovery key has to be shown, and the next unlock does the rest.
            if taken_back or not isinstance(error, StorageFull):
                raise
        return Created(keys.open, recovery_key, keys)

    @asynccontextmanager
    async def creating(self, passphrase: str) -> AsyncIterator[Created]:
        """As `create`: inside, the recovery key is shown. When that fails there is no vault; killed
        meanwhile, the status says `recovery_unseen`."""
        created = await self.create(passphrase, confirm=True)
        try:
            yield created
        except BaseException:
            if created.keys is not None:
                await unbroken(asyncio.to_thread(self._vaults.undo_create, created.keys))
            raise
        await self.recovery_key_seen()

    async def unlock(self, passphrase: str) -> RoomKey:
        given = Passphrase(passphrase)
        key = await asyncio.to_thread(self._vaults.unlock, given)
        await self._make_room_if_new(self._vault, key)
        private = await self.private_status()
        if (private is not None and not private.room_made) or (await self.status()).recovery_unseen:
            # A disk that takes nothing must not keep anyone out of the room that is there.
            with suppress(StorageFull):
                await self.unlock_both(given)
        return key

    async def unlock_both(self, passphrase: str | Passphrase) -> Keys:
        """The keys of both rooms, for one derivation. Keep the private one no longer than it is needed."""
        keys = await self._with_rooms(await asyncio.to_thread(self._vaults.unlock_both, passphrase))
        if (await self.status()).recovery_unseen:
            # A new recovery key is about to be made, which is to open both rooms.
            self._unseen = keys
        return keys

    async def unlock_private(self, passphrase: str) -> RoomKey:
        """The private room's key."""
        key = await asyncio.to_thread(self._vaults.unlock_private, passphrase)
        await self._make_room_if_new(self._vaults.private, key)
        return key

    async def unlock_with_recovery(self, key_text: str) -> RoomKey:
        return (await self.unlock_both_with_recovery(key_text)).open

    async def unlock_both_with_recovery(self, key_text: str) -> Keys:
        return await self._with_rooms(await asyncio.to_thread(self._vaults.unlock_with_recovery, key_text))

    async def unlock_with_keyring(self) -> RoomKey:
        """The open room's key; the keyring opens no other."""
        key = await asyncio.to_thread(self._vault.unlock_with_keyring)
        return (await self._with_rooms(Keys(key))).open

    async def change_passphrase(self, keys: RoomKey | Keys, new: str) -> None:
        """Of every room whose key is given."""
        await asyncio.to_thread(self._vaults.change_passphrase, self._known(keys), new)

    async def new_recovery_key(self, keys: RoomKey | Keys) -> str:
        """For every room whose key is given."""
        text = await asyncio.to_thread(self._vaults.new_recovery_key, self._known(keys))
        self._unseen = None
        return text

    @asynccontextmanager
    async def replacing_recovery_key(self, keys: RoomKey | Keys) -> AsyncIterator[str]:
        """A new recovery key for every room whose key is given: inside, it is shown. Only then the old one
        stops working; when showing it fails the old one stays, and killed meanwhile both work."""
        text, salt = await asyncio.to_thread(self._vaults.add_recovery_key, self._known(keys))
        try:
            yield text
        except BaseException:
            await unbroken(asyncio.to_thread(self._vaults.end_recovery_keys, salt, added=True))
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
        """The name of the system keyring, if one answers that could be used."""
        return await asyncio.to_thread(self._vault.keyring_backend)

    async def keyring_on(self, key: RoomKey) -> str:
        """Returns the name of the keyring that from now on opens the vault."""
        return await asyncio.to_thread(self._vault.keyring_on, key)

    async def keyring_off(self) -> bool:
        """Returns whether the keyring's own entry is gone as well as the slot."""
        return await asyncio.to_thread(self._vault.keyring_off)

    async def copies(self, room: RoomKind) -> dict[str, str]:
        """The state of each copy of a room's keyslot file; nothing for a room that has none yet.

        Raises `KeyslotsMissing`, `KeyslotsDamaged`.
        """
        vault = self._vaults.open if room is RoomKind.OPEN else self._vaults.private
        if room is not RoomKind.OPEN and not vault.exists():
            return {}
        return {name: state.value for name, state in (await asyncio.to_thread(vault.status)).copies.items()}

    async def verify(self, key: RoomKey, room: RoomKind = RoomKind.OPEN) -> VaultReport:
        """Reads every page of the room. The room must not be open elsewhere in this process."""
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
