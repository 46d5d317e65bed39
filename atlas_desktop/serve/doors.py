"""The doors of one open room: opened and closed by the user, closed when the room is."""

import socket
from pathlib import Path

from atlas_desktop.serve.app import Endpoint
from atlas_desktop.serve.server import DoorServer
from atlas_desktop.services.desk import AppContext
from atlas_desktop.services.room import RoomServices
from models.messages import Lane


class Doors:
    """What lets other programs in. `lane` is where the model makes their replies."""

    def __init__(self, desk: AppContext, room: RoomServices, lane: Lane = Lane.DOOR) -> None:
        self._room = room
        self._endpoint = Endpoint(desk, room, lane)
        self._server: DoorServer | None = None

    @property
    def url(self) -> str | None:
        """The address while the door is open; else None."""
        return None if self._server is None else self._server.url

    async def open(self, listening: socket.socket, path: Path | None = None) -> str:
        """Answers on a listening socket; returns its address."""
        await self._room.clients.drop_old()
        server = DoorServer(lambda hosts: self._endpoint.app(hosts))
        url = await server.start(listening, path)
        self._server = server
        return url

    async def close(self, *, at_once: bool = False) -> None:
        """Ends within seconds, or `at_once`."""
        server, self._server = self._server, None
        if server is not None:
            await server.stop(at_once=at_once)
