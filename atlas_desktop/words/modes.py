"""What a change of memory mode, or a move to another room, does to what is there: said before it happens."""

from dataclasses import dataclass

from atlas_desktop.words.catalogue import tr
from memory.entities import MemoryMode, RoomKind


@dataclass(frozen=True, slots=True)
class Consequence:
    """What will happen. `asks` says that it cannot be taken back, so that the person is asked first."""

    words: str
    asks: bool = False


def _now(mode: MemoryMode) -> str:
    return tr(f"modes.now.{mode.value}")


def _room(room: RoomKind) -> str:
    return tr(f"modes.room.{room.value}")


def of_mode(now: MemoryMode, then: MemoryMode, *, room: RoomKind, begun: bool) -> Consequence:
    """Of another memory mode for a session in `room`; `begun` says whether anything was said in it."""
    if then is now:
        return Consequence(tr("modes.same"))
    if not begun:
        return Consequence(_now(then))
    if then is MemoryMode.OFF:
        words = tr("modes.goes_off", room=_room(room), now=_now(then))
        return Consequence(f"{words} {tr('modes.kept_in_open')}" if room is RoomKind.PRIVATE else words)
    if room is RoomKind.OFF_RECORD:
        return Consequence(tr("modes.saved", now=_now(then)), asks=True)
    if then is MemoryMode.NORMAL:
        return Consequence(tr("modes.not_learned", now=_now(then)))
    return Consequence(tr("modes.stays", now=_now(then)))


def of_move(source: RoomKind, destination: RoomKind) -> Consequence:
    """Of a session's move from one room to another."""
    if source is destination:
        return Consequence(tr("modes.same_room", room=_room(source)))
    if destination is RoomKind.PRIVATE:
        return Consequence(tr("modes.to_private"))
    if source is RoomKind.PRIVATE:
        return Consequence(tr("modes.to_open"), asks=True)
    return Consequence(tr("modes.saved", now=_now(MemoryMode.NORMAL)), asks=True)


def of_beginning(destination: RoomKind) -> Consequence:
    """Of where a session will begin, of which nothing has been said yet."""
    if destination is RoomKind.PRIVATE:
        return Consequence(tr("modes.begins_private"))
    return Consequence(tr("modes.begins", room=_room(destination)))


def leaving_off_record() -> str:
    """Of a conversation that is off the record, when it is left."""
    return tr("modes.leaving")


def stuck(conversations: int) -> str:
    """Of conversations that were moving when the room that holds the key to them was lost."""
    return tr("modes.stuck", count=conversations)
