"""Stores what is typed in notes, soon after it is typed."""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from memory.errors import MemoryFault, NoteNotFound, RoomClosed

if TYPE_CHECKING:
    from textual.worker import Worker

    from atlas_desktop.services.room import RoomServices
    from memory.notes.entities import Note

PAUSE_S = 0.5
"""How long the user has to pause before the text is stored."""
LATEST_S = 0.9
"""The longest time from a typed character until storing begins."""
_SWITCH_S = 0.0005
AGAIN_S = 5.0
"""When storing is tried again after it failed."""

Attempt = Callable[..., "Worker[Any]"]
Place = tuple[str, str]
"""The kind of a room, and the id of a note in it."""


@asynccontextmanager
async def _gently() -> AsyncIterator[None]:
    """Lets keys interrupt the thread that reads a text: by default each of them waits 5 ms for it, several
    times."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH_S)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def _nobody(_room: "RoomServices", _note: "Note") -> None:
    """No screen listens for stored notes."""


def _nothing() -> None:
    """No screen has an editor."""


@dataclass(slots=True)
class Typed:
    """A note with text that is not stored. `read` returns the text."""

    room: "RoomServices"
    note: str
    read: Callable[[], str] = field(repr=False)


def _frozen(one: Typed, text: str) -> Typed:
    return Typed(one.room, one.note, lambda: text)


class NoteKeeping:
    """The texts of notes that have been typed and are not stored yet."""

    def __init__(
        self, attempt: Attempt, failed: Callable[[BaseException], None], is_open: Callable[[], bool]
    ) -> None:
        """`attempt` runs work in the background; `failed` is called with the first of several failures in a
        row; `is_open` returns whether a room is open and not about to close."""
        self._attempt, self._failed, self._is_open = attempt, failed, is_open
        self._typed: dict[Place, Typed] = {}
        self._soon: asyncio.TimerHandle | None = None
        self._since = 0.0
        self._failing = False
        self._writing = asyncio.Lock()
        self.stored: Callable[[RoomServices, Note], object] = _nobody
        """Called with each note that has been stored."""
        self.take: Callable[[], object] = _nothing
        """Makes the editor report its text, if it has not reported its last change."""

    @property
    def waiting(self) -> bool:
        """Whether something is not stored yet."""
        return bool(self._typed)

    @property
    def failing(self) -> bool:
        """Whether the last attempt to store failed."""
        return self._failing

    def typed(self, room: "RoomServices", note: str, read: Callable[[], str]) -> None:
        """Schedules storing the text of a note. `read` returns it when it is stored."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        if not self._typed:
            self._since = now
        self._typed[room.store.room, note] = Typed(room, note, read)
        delay = AGAIN_S if self._failing else min(PAUSE_S, max(self._since + LATEST_S - now, 0))
        self._schedule(delay)

    def text_of(self, room: "RoomServices", note: str) -> str | None:
        """Returns the text of a note that is not stored yet; None if there is none."""
        found = self._typed.get((room.store.room, note))
        return None if found is None else found.read()

    def unlisten(self, stored: "Callable[[RoomServices, Note], object]") -> None:
        """Stops calling a screen, unless another one has taken its place."""
        if self.stored == stored:
            self.stored, self.take = _nobody, _nothing

    def gather(self) -> None:
        """Takes what is typed on the screen, which is about to close."""
        self.take()
        self.keep_soon()

    def freeze(self) -> None:
        """Takes the texts as they are now, because the editor is about to show something else."""
        for place, one in self._typed.items():
            self._typed[place] = _frozen(one, one.read())

    def keep_soon(self) -> None:
        """Stores everything in the background, without the pause."""
        self.freeze()
        if self._typed:
            self._schedule(0)

    def _schedule(self, delay: float) -> None:
        if self._soon is not None:
            self._soon.cancel()
        self._soon = asyncio.get_running_loop().call_later(delay, self._due)

    def _due(self) -> None:
        self._soon = None
        if self._is_open():
            self._attempt(self._keep_in_time, group="notes-keep")

    async def _keep_in_time(self) -> None:
        """Stores everything. A failure is reported once and tried again."""
        try:
            await self.keep_all()
        except (MemoryFault, OSError) as error:
            if not self._failing:
                self._failed(error)
            self._failing = True
            self._schedule(AGAIN_S)

    async def keep_all(self) -> None:
        """Stores everything that was typed. After trying all notes, it raises the first error; what could not
        be stored is tried again next time."""
        if self._soon is not None:
            self._soon.cancel()
            self._soon = None
        errors: list[MemoryFault | OSError] = []
        async with self._writing, _gently():
            for place in list(self._typed):
                one = self._typed.pop(place)
                text = one.read()
                try:
                    note = await one.room.notes.edit(one.note, text)
                except NoteNotFound:
                    # It was deleted for good meanwhile.
                    continue
                except RoomClosed:
                    # Its room stores what was typed before it closes.
                    continue
                except (MemoryFault, OSError) as error:
                    self._typed.setdefault(place, _frozen(one, text))
                    errors.append(error)
                except asyncio.CancelledError:
                    self._typed.setdefault(place, _frozen(one, text))
                    raise
                else:
                    self.stored(one.room, note)
            self._since = asyncio.get_running_loop().time()
        self._failing = bool(errors)
        if errors:
            raise errors[0]
