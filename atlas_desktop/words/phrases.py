"""Phrases that both interfaces use: amounts, freshness, the vault, changes of memory mode and room."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from atlas_desktop.words.catalogue import texts, tr
from memory.entities import MemoryMode, RoomKind
from memory.vault.status import VaultStatus

if TYPE_CHECKING:
    from atlas_desktop.services.retention import HeldBack


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


def held(sessions: int, messages: int) -> str:
    """As in: 1 conversation with 4 messages."""
    return tr(
        "amounts.held",
        sessions=tr("amounts.sessions", count=sessions),
        messages=tr("amounts.messages", count=messages),
    )


def lost(sessions: int, messages: int, memories: int) -> str:
    """As in: 4 messages, 1 whole conversation and 2 memories."""
    return tr(
        "amounts.lost",
        messages=tr("amounts.messages", count=messages),
        sessions=tr("amounts.whole", count=sessions),
        memories=tr("amounts.memories", count=memories),
    )


def freshness_text(room: str, freshness: str) -> str:
    """Empty for a room that is as new as it was."""
    return tr(f"freshness.{freshness}", room=room) if freshness in texts("freshness") else ""


def held_back_text(held: "HeldBack") -> str:
    return tr(
        "freshness.held_back",
        sessions=tr("amounts.sessions", count=held.sessions),
        days=tr("amounts.days", count=max(held.ahead.days, 1)),
    )


def unknown_variable(name: str, near: str) -> str:
    """Of a variable that looks like a setting's and is none's; `near` is one that is, if any is like it."""
    if near:
        return tr("settings.unknown_variable.meant", name=name, near=near)
    return tr("settings.unknown_variable", name=name)


def spoilt(room: VaultStatus) -> tuple[str, str] | None:
    """What is wrong with a room's file at first sight, and what to do. One that was never made is made at the
    next unlock: nothing is wrong with it."""
    name = f"{room.room.value}.db"
    if not room.database_present:
        return (tr("doctor.absent", file=name), tr("doctor.restore")) if room.room_made else None
    if room.flaw is None:
        return None
    return tr(f"doctor.{room.flaw.value}", file=name), tr("doctor.salvage")
