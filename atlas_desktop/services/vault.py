"""The vault as the interfaces use it. Deriving a key takes time, so all of it runs in threads."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from memory.entities import RoomReport
from memory.errors import StorageFull
from memory.ports import SessionStore
from memory.vault.keys import RoomKey
from memory.vault.status import VaultStatus
from memory.vault.strength import Strength, estimate
from memory.vault.vault import Vault

OpenStore = Callable[[RoomKey, bool], Awaitable[SessionStore]]
"""Opens the vault's room with its key; the second argument says whether to make it when it is not there."""


@dataclass(frozen=True, slots=True)
class Created:
    """A new vault's key, and the recovery key, which cannot be had again."""

    key: RoomKey
    recovery_key: str


@dataclass(frozen=True, slots=True)
class VaultReport:
    """What a check of keyslots and room found."""

    status: VaultStatus
    room: RoomReport

    @property
    def sound(self) -> bool:
        return self.status.copies_sound and not self.room.problems


class VaultService:
    """One vault and its room. Raises the vault's own errors (`memory.errors`)."""

    def __init__(self, vault: Vault, open_store: OpenStore) -> None:
        self._vault = vault
        self._open_store = open_store

    async def exists(self) -> bool:
        return await asyncio.to_thread(self._vault.exists)

    async def status(self) -> VaultStatus:
        return await asyncio.to_thread(self._vault.status)

    async def strength(self, passphrase: str) -> Strength:
        return await asyncio.to_thread(estimate, passphrase)

    async def create(self, passphrase: str, *, confirm: bool = False) -> Created:
        """Makes keyslots, then the empty room. Killed in between, the next unlock makes the room.

        With `confirm` the status says `recovery_unseen` until `recovery_key_seen` is called.

        When the room cannot be made the keyslots are taken back, so that nothing stays that would open by a
        recovery key nobody has seen, and the error is raised: `create` can be called again.
        """
        key, recovery_key = await asyncio.to_thread(self._vault.create, passphrase, confirm=confirm)
        try:
            await self._make_room_if_new(key)
        except Exception as error:
            taken_back = await asyncio.to_thread(self._vault.take_back, key)
            # With the database in place the vault is whole, even if there was no space left to work in it or
            # to note it: the recovery key has to be shown, and the next unlock does the rest.
            if taken_back or not isinstance(error, StorageFull):
                raise
        return Created(key, recovery_key)

    async def unlock(self, passphrase: str) -> RoomKey:
        return await self._with_room(await asyncio.to_thread(self._vault.unlock, passphrase))

    async def unlock_with_recovery(self, key_text: str) -> RoomKey:
        return await self._with_room(await asyncio.to_thread(self._vault.unlock_with_recovery, key_text))

    async def unlock_with_keyring(self) -> RoomKey:
        return await self._with_room(await asyncio.to_thread(self._vault.unlock_with_keyring))

    async def change_passphrase(self, key: RoomKey, new: str) -> None:
        await asyncio.to_thread(self._vault.change_passphrase, key, new)

    async def new_recovery_key(self, key: RoomKey) -> str:
        return await asyncio.to_thread(self._vault.new_recovery_key, key)

    async def recovery_key_seen(self) -> None:
        await asyncio.to_thread(self._vault.recovery_key_seen)

    async def keyring_backend(self) -> str:
        """The name of the system keyring, if one answers that could be used."""
        return await asyncio.to_thread(self._vault.keyring_backend)

    async def keyring_on(self, key: RoomKey) -> str:
        """Returns the name of the keyring that from now on opens the vault."""
        return await asyncio.to_thread(self._vault.keyring_on, key)

    async def keyring_off(self) -> bool:
        """Returns whether the keyring's own entry is gone as well as the slot."""
        return await asyncio.to_thread(self._vault.keyring_off)

    async def verify(self, key: RoomKey) -> VaultReport:
        """Reads every page of the room. The room must not be open elsewhere in this process."""
        status = await self.status()
        store = await self._open_store(key, False)  # noqa: FBT003  # OpenStore is a plain callable
        try:
            return VaultReport(status, await store.verify())
        finally:
            await store.close()

    async def _with_room(self, key: RoomKey) -> RoomKey:
        await self._make_room_if_new(key)
        return key

    async def _make_room_if_new(self, key: RoomKey) -> None:
        if (await self.status()).room_made:
            return
        store = await self._open_store(key, True)  # noqa: FBT003  # as above
        await store.close()
        await asyncio.to_thread(self._vault.mark_room_made)
