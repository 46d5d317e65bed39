"""The commands of `atlas chat` that change where a conversation is kept, and what is learned from it."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from atlas_desktop.words import modes
from memory.entities import MemoryMode, RoomKind

if TYPE_CHECKING:
    from atlas_desktop.cli.chat import Conversation
    from atlas_desktop.services.rooms import RoomsService
    from memory.entities import Session

Command = Callable[[str], Awaitable[None]]
_YES = "yes"


class RoomCommands:
    """Each says first what it does to what is there; what cannot be taken back waits for a yes."""

    def __init__(self, talk: "Conversation") -> None:
        self._talk = talk

    def by_name(self) -> dict[str, Command]:
        return {
            "/private": self.private,
            "/open": self.open,
            "/close": self.close,
            "/keep": self.keep,
            "/off": self.off,
            "/reads": self.reads,
            "/blank": self.blank,
            "/normal": self.normal,
        }

    @property
    def _rooms(self) -> "RoomsService":
        return self._talk.ctx.desk.rooms

    @property
    def _here(self) -> RoomKind:
        return self._talk.room.store.room

    # --- rooms ------------------------------------------------------------------------------------

    async def private(self, _rest: str) -> None:
        """/private: move this session to the private room (the passphrase is asked for), and go on there."""
        if not self._agreed("/private", modes.of_move(self._here, RoomKind.PRIVATE), _YES):
            return
        talk = self._talk
        private = await talk.ctx.enter_private()
        self._rooms.on_closing = self._closing
        self._rooms.watch()
        if talk.session is not None:
            await self._rooms.move(talk.session, RoomKind.PRIVATE)
        self._set(None)
        talk.enter(private)
        talk.tell("private", "You are in the private room. /open moves the session back, /close leaves it.")

    async def open(self, rest: str) -> None:
        """/open: move this session from the private room to the open one."""
        talk = self._talk
        if not self._agreed("/open", modes.of_move(self._here, RoomKind.OPEN), rest):
            return
        if self._here is RoomKind.OFF_RECORD:
            await self.keep("")
            return
        if talk.session is not None:
            await self._rooms.move(talk.session, RoomKind.OPEN)
        talk.enter(talk.ctx.desk.at(RoomKind.OPEN))
        talk.tell("open", "You are in the open room.")

    async def close(self, _rest: str) -> None:
        """/close: close the private room; what is in it is not seen until it is opened again."""
        await self._rooms.leave_private()
        self._talk.tell("closed", "The private room is closed.")

    async def keep(self, _rest: str) -> None:
        """/keep: save this session, which is off the record, to the open room."""
        talk = self._talk
        if self._here is not RoomKind.OFF_RECORD:
            talk.tell("kept", "Everything here is saved already.")
            return
        await self._keep(MemoryMode.NORMAL)
        talk.tell("kept", "It is saved in the open room.")

    async def _keep(self, mode: MemoryMode) -> None:
        talk = self._talk
        opened = await talk.ctx.enter_open()
        if talk.session is not None:
            await self._rooms.keep(talk.session, mode)
        self._set(mode)
        talk.enter(opened)

    # --- memory modes -----------------------------------------------------------------------------

    async def off(self, rest: str) -> None:
        """/off: go on off the record: nothing more is written, and it ends with the program."""
        await self._mode(MemoryMode.OFF, rest)

    async def reads(self, rest: str) -> None:
        """/reads: use memories and add none."""
        await self._mode(MemoryMode.READS, rest)

    async def blank(self, rest: str) -> None:
        """/blank: neither use memories nor add any."""
        await self._mode(MemoryMode.BLANK, rest)

    async def normal(self, rest: str) -> None:
        """/normal: use memories, and learn."""
        await self._mode(MemoryMode.NORMAL, rest)

    async def _mode(self, mode: MemoryMode, rest: str) -> None:
        talk = self._talk
        session = None if talk.session is None else await talk.room.store.get_session(talk.session)
        now = self._present(session)
        change = modes.of_mode(now, mode, room=self._here, begun=session is not None)
        if not self._agreed(f"/{mode}", change, rest) or mode is now:
            return
        if mode is MemoryMode.OFF:
            if session is not None:
                talk.session = (await self._rooms.off_the_record(session.id)).id
            talk.enter(await self._rooms.off_record())
        elif self._here is RoomKind.OFF_RECORD:
            await self._keep(mode)
        elif session is not None:
            await self._rooms.set_mode(session.id, mode)
        self._set(mode)
        talk.tell("memory", f"The memory mode is {mode}.")

    def _present(self, session: "Session | None") -> MemoryMode:
        if self._here is RoomKind.OFF_RECORD:
            return MemoryMode.OFF
        if session is not None:
            return session.memory_mode
        return self._talk.options.memory_mode or MemoryMode.NORMAL

    # --- what they share --------------------------------------------------------------------------

    def _agreed(self, command: str, change: modes.Consequence, rest: str) -> bool:
        """Says what will happen; False when that waits for the person's yes."""
        waits = change.asks and rest.strip().lower() != _YES and not self._talk.ctx.yes
        self._talk.tell(
            "consequence", f"{change.words} Write {command} {_YES} to do it." if waits else change.words
        )
        return not waits

    def _set(self, mode: MemoryMode | None) -> None:
        """The mode of the turns from now on; without one a session's own."""
        self._talk.options = replace(self._talk.options, memory_mode=mode)

    async def _closing(self) -> None:
        talk = self._talk
        if self._here is RoomKind.PRIVATE:
            talk.session = None
            talk.enter(talk.ctx.desk.open_rooms[0])
            talk.tell("leaving", "You leave the private room, which closes.")
