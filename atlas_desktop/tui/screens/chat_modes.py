"""The part of the conversation screen that changes what is remembered of a conversation."""

from functools import partial

from atlas_desktop.tui.screens.chat_changes import RoomChanges
from atlas_desktop.tui.turns import Conversation
from atlas_desktop.words import modes
from atlas_desktop.words.catalogue import tr
from memory.entities import MemoryMode, RoomKind

_ACTIONS = ("go_off_record", "use_reads", "use_blank", "use_normal", "keep")


class ModeActions(RoomChanges):
    """Mixed into the conversation screen."""

    _warned = False

    def action_keep(self) -> None:
        self._do(self._keep_now, "keep")

    async def _keep_now(self) -> None:
        if self._here is not RoomKind.OFF_RECORD:
            self.atlas.say(tr("rooms.saved_already"))
        else:
            await self._keep(MemoryMode.NORMAL)

    async def _keep(self, mode: MemoryMode) -> None:
        conversation = self.current
        if not await self._open_room_there():
            return

        async def keep() -> None:
            if conversation.id is None:
                conversation.begins_in, conversation.mode = RoomKind.OPEN, mode
            else:
                conversation.session = await self._rooms.keep(conversation.id, mode)

        await self._at_rest(conversation, keep)

    async def _open_room_there(self) -> bool:
        """A program that was begun off the record has opened no vault."""
        desk = self.atlas.desk
        if any(room.store.room is RoomKind.OPEN for room in desk.open_rooms):
            return True

        async def enter(passphrase: str) -> None:
            self.atlas.look_after(await desk.enter(await desk.vault.unlock(passphrase)))

        return await self._ask(tr("rooms.open"), tr("rooms.open_locked"), enter)

    def action_go_off_record(self) -> None:
        self._do(partial(self._change_mode, MemoryMode.OFF), "go_off_record")

    def action_use_reads(self) -> None:
        self._do(partial(self._change_mode, MemoryMode.READS), "use_reads")

    def action_use_blank(self) -> None:
        self._do(partial(self._change_mode, MemoryMode.BLANK), "use_blank")

    def action_use_normal(self) -> None:
        self._do(partial(self._change_mode, MemoryMode.NORMAL), "use_normal")

    async def _change_mode(self, mode: MemoryMode) -> None:
        shown, here = self.current, self._here
        off = here is RoomKind.OFF_RECORD
        now = MemoryMode.OFF if off else shown.session.memory_mode if shown.session else shown.mode
        change = modes.of_mode(now or MemoryMode.NORMAL, mode, room=here, begun=shown.id is not None)
        if not await self._agreed(tr("rooms.change_mode"), change) or now is mode:
            return
        if off:
            await self._keep(mode)
        elif mode is MemoryMode.OFF:
            await self._off_the_record(shown)
        elif shown.id is not None:
            shown.session = await self._rooms.set_mode(shown.id, mode)
        else:
            shown.mode = mode
        self._told()
        now_at, now_mode = self._standing
        if (mode is MemoryMode.OFF) is not (now_at is RoomKind.OFF_RECORD) or (
            mode is not MemoryMode.OFF and (now_mode or MemoryMode.NORMAL) is not mode
        ):
            # Another conversation has come in its place: the room of this one was closed meanwhile.
            self.atlas.warn(tr("rooms.mode_not_set"))

    async def _off_the_record(self, shown: Conversation) -> None:
        room = await self._rooms.off_record()
        self.atlas.look_after(room)
        if shown.id is None:
            shown.begins_in = RoomKind.OFF_RECORD
            return
        copy = await self._rooms.off_the_record(shown.id)
        await self._open(copy.id)

    def warn_of_leaving(self, conversation: Conversation) -> None:
        """Says once in a run that what is off the record is not saved, when it is left."""
        left = self.current
        unsaved = left.session is not None and left.session.room is RoomKind.OFF_RECORD
        if unsaved and conversation is not left and not self._warned:
            self._warned = True
            self.atlas.say(modes.leaving_off_record())

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action not in _ACTIONS:
            return super().check_action(action, parameters)
        return None if self._cannot_change or (self._begun_off_record and action != "keep") else True
