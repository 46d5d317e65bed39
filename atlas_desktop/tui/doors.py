"""The doors through which other programs use the open interface; settings open them, and a lock closes
them."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from atlas_desktop.locale import _
from memory.clients import Scope
from memory.kinds import RoomKind

if TYPE_CHECKING:
    from atlas_desktop.serve.app import Doors
    from atlas_desktop.serve.listening import Exchange, HomeSocket
    from atlas_desktop.services.desk import AppContext
    from atlas_desktop.tui.base import BaseApp
    from atlas_desktop.tui.dialogs.questions import ConfirmScreen

Consent = Callable[[str, frozenset[Scope]], Awaitable[bool]]
"""Asks the user whether to add a client of this name, with these scopes."""
Commands = Callable[["AppContext", Consent], Callable[["Exchange"], Awaitable[int]]]
"""Makes the function that carries out commands from other terminals."""


class DoorKeeper:
    """Opens the doors that the settings allow, while the open room is open."""

    def __init__(self, app: "BaseApp", commands: Commands | None) -> None:
        self._app = app
        self._commands = commands
        self._doors: Doors | None = None
        self._socket: HomeSocket | None = None
        self._changing = asyncio.Lock()

    @property
    def url(self) -> str | None:
        """The address while the door is open; else None."""
        return None if self._doors is None else self._doors.url

    async def apply(self) -> None:
        """Opens and closes the doors as the settings say. Raises `DoorRefused` if the port cannot be used."""
        async with self._changing:
            open_now = self._is_open
            wanted = self._app.desk.settings.doors
            await self._apply_commands(wanted=open_now and wanted.commands)
            shown = self.url
            if shown is not None and (not wanted.serve or not shown.endswith(f":{wanted.port}")):
                await self._close_door(at_once=False)
            if open_now and wanted.serve and self.url is None:
                await self._open_door(wanted.port)
        self._app.door_url = self.url
        self._app.tell_chat()

    @property
    def _is_open(self) -> bool:
        rooms = self._app.desk.open_rooms
        return not self._app.leaving and any(room.store.room is RoomKind.OPEN for room in rooms)

    async def _open_door(self, port: int) -> None:
        # Imported late: it takes most of a second, and few users need it.
        doors = await asyncio.to_thread(_imported)
        from atlas_desktop.serve.listening import listen_on

        listening = listen_on("127.0.0.1", port)
        self._doors = doors(self._app.desk, self._app.desk.at(RoomKind.OPEN))
        await self._doors.open(listening)

    async def _close_door(self, *, at_once: bool) -> None:
        doors, self._doors = self._doors, None
        if doors is not None:
            await doors.close(at_once=at_once)

    async def _apply_commands(self, *, wanted: bool) -> None:
        if not wanted:
            await self._close_socket()
        elif self._socket is None and self._commands is not None:
            from atlas_desktop.serve.listening import HomeSocket

            desk = self._app.desk
            self._socket = HomeSocket(desk.paths, self._commands(desk, self.consent))
            await self._socket.start()

    async def _close_socket(self) -> None:
        socket, self._socket = self._socket, None
        if socket is not None:
            await socket.stop()

    async def close(self) -> None:
        """Closes all doors at once; the room is about to close."""
        async with self._changing:
            await asyncio.gather(self._close_door(at_once=True), self._close_socket())

    async def _ask(self, question: "ConfirmScreen") -> bool:
        agreed: bool = await self._app.push_screen_wait(question)
        return agreed

    async def consent(self, name: str, scopes: frozenset[Scope]) -> bool:
        """Asks the user about a client that another terminal wants to add."""
        answer: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

        async def ask() -> None:
            from atlas_desktop.phrases import scope_text
            from atlas_desktop.tui.dialogs.questions import ConfirmScreen

            may = "\n".join(f"· {scope_text(one)}" for one in Scope if one in scopes)
            question = ConfirmScreen(
                _("Let a program in?"),
                _("A command in another terminal adds the program “{name}”. It may:", name=name) + f"\n{may}",
                agree=_("Allow"),
                refuse=_("Refuse"),
            )
            agreed = False
            try:
                agreed = await self._ask(question)
            finally:
                if not answer.done():
                    answer.set_result(agreed)

        self._app.attempt(ask, group="consent")
        return await answer


def _imported() -> "type[Doors]":
    from atlas_desktop.serve.app import Doors

    return Doors
