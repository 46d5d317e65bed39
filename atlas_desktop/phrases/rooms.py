"""Texts of both interfaces: amounts, freshness, the vault, changes of memory mode and room."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from atlas_desktop.errors import room_name
from atlas_desktop.locale import N_, _, ngettext
from memory.entities import MemoryMode, RoomKind
from memory.vault.status import VaultStatus

if TYPE_CHECKING:
    from atlas_desktop.services.retention import HeldBack
_NOW_TEXTS = {
    "normal": N_("From here on, Atlas uses memories and may learn from what you say."),
    "reads": N_("From here on, Atlas uses memories but adds none."),
    "blank": N_("From here on, no memories are used or added. The conversation itself is saved."),
    "off": N_(
        "No memories are used and nothing is written anywhere. The conversation is gone when "
        "Atlas closes unless you /keep it."
    ),
}
_ROOM_TEXTS = {"open": N_("the open room"), "private": N_("the private room"), "off": N_("memory")}
_FRESHNESS_TEXTS = {
    "rolled_back": N_(
        "The {room} room is older than when you last used it: an older file replaced it, or the "
        "last changes were lost. If you did not do this, restore a backup."
    ),
    "missing": N_(
        "The {room} room cannot be opened: its database or its key file is missing. Backups made "
        "now do not contain it. Restore one that does (`atlas vault restore`), or start with an "
        "empty room: `atlas vault salvage --new-private`."
    ),
    "unknown": N_(
        "Cannot tell whether the {room} room holds its latest data: its counter is missing or invalid."
    ),
    "read_only": N_(
        "The {room} room is read-only: the disk is full or cannot be written to. You can read, "
        "search and export. Free some space to write again."
    ),
}
_DOCTOR_TEXTS = {
    "empty": N_("The database is empty: {file} has 0 bytes."),
    "cut": N_("The database is damaged: {file} is cut off mid-page."),
    "foreign": N_("The database is damaged: the start of {file} was altered, or it belongs to other keys."),
}


@dataclass(frozen=True, slots=True)
class Consequence:
    """What will happen. `asks`: it cannot be undone, so the user is asked first."""

    words: str
    asks: bool = False


def _now(mode: MemoryMode) -> str:
    return _(_NOW_TEXTS[mode.value])


def _room(room: RoomKind) -> str:
    return _(_ROOM_TEXTS[room.value])


def of_mode(now: MemoryMode, then: MemoryMode, *, room: RoomKind, begun: bool) -> Consequence:
    """Returns the effect of another memory mode on a session in `room`; `begun`: it has messages."""
    if then is now:
        return Consequence(_("Nothing changes: this mode is already set."))
    if not begun:
        return Consequence(_now(then))
    if then is MemoryMode.OFF:
        words = _(
            "The conversation so far stays saved in {room}, with everything learned from it. You "
            "continue in a copy. {now}",
            room=_room(room),
            now=_now(then),
        )
        return Consequence(
            f"{words} {_('/keep saves the copy to the open room.')}" if room is RoomKind.PRIVATE else words
        )
    if room is RoomKind.OFF_RECORD:
        return Consequence(
            _(
                "Everything said off the record here is saved to the open room, where you can list and "
                "find it. {now}",
                now=_now(then),
            ),
            asks=True,
        )
    if then is MemoryMode.NORMAL:
        return Consequence(
            _("Atlas will not learn from what was said so far in this mode. {now}", now=_now(then))
        )
    return Consequence(_("What Atlas learned here so far stays until you forget it. {now}", now=_now(then)))


def of_move(source: RoomKind, destination: RoomKind, documents: int = 0) -> Consequence:
    """Returns the effect of moving a session from one room to another; it uses so many documents."""
    told = _of_move(source, destination)
    if source is destination or not documents:
        return told
    return Consequence(f"{told.words} {losing_documents(documents, source)}", told.asks)


def losing_documents(documents: int, source: RoomKind) -> str:
    """Tells what becomes of the documents that sessions use, when the sessions leave their room."""
    return ngettext(
        "A document in use stays in {room}: what moves loses the link to it, its passages and its citations.",
        "{count} documents in use stay in {room}: what moves loses the links to them, their passages and "
        "their citations.",
        documents,
        room=_room(source),
    )


def lost_documents(documents: int, source: RoomKind) -> str:
    """Tells what became of the documents that a session used before it left their room."""
    return ngettext(
        "A document in use stayed in {room}: the session lost the link to it, its passages and its "
        "citations.",
        "{count} documents in use stayed in {room}: the session lost the links to them, their passages and "
        "their citations.",
        documents,
        room=_room(source),
    )


def _of_move(source: RoomKind, destination: RoomKind) -> Consequence:
    if source is destination:
        return Consequence(_("Nothing changes: it is already in {room}.", room=_room(source)))
    if destination is RoomKind.PRIVATE:
        return Consequence(
            _(
                "It moves to the private room with its summaries and everything learned only from it. "
                "Nobody can see it while that room is closed. Replies in other conversations that had it "
                "in context keep their text."
            )
        )
    if source is RoomKind.PRIVATE:
        return Consequence(
            _(
                "It moves to the open room with its summaries and everything learned only from it. There "
                "it is listed, found and recalled whenever Atlas is unlocked."
            ),
            asks=True,
        )
    return Consequence(
        _(
            "Everything said off the record here is saved to the open room, where you can list and "
            "find it. {now}",
            now=_now(MemoryMode.NORMAL),
        ),
        asks=True,
    )


def of_beginning(destination: RoomKind) -> Consequence:
    """Describes where a session without messages will begin."""
    if destination is RoomKind.PRIVATE:
        return Consequence(
            _("This conversation starts in the private room. Nobody can see it while that room is closed.")
        )
    return Consequence(_("This conversation starts in {room}.", room=_room(destination)))


def leaving_off_record() -> str:
    """Warns when a session off the record is left."""
    return _(
        "The conversation you left is off the record. It stays in memory until Atlas closes, and "
        "then it is gone. Go back and use /keep to save it."
    )


def stuck(conversations: int) -> str:
    """Describes sessions whose move was interrupted by the loss of the room with their key."""
    return ngettext(
        "A conversation that was being moved between rooms cannot be opened: its key was lost "
        "with a damaged room.",
        "{count} conversations that were being moved between rooms cannot be opened: their key "
        "was lost with a damaged room.",
        conversations,
    )


def held(sessions: int, messages: int) -> str:
    """Returns text such as: 1 conversation with 4 messages."""
    return _(
        "{sessions} with {messages}",
        sessions=ngettext("1 conversation", "{count} conversations", sessions),
        messages=ngettext("1 message", "{count} messages", messages),
    )


def lost(sessions: int, messages: int, memories: int, documents: int) -> str:
    """Returns text such as: 4 messages, 1 whole conversation, 2 memories and 1 document."""
    return _(
        "{messages}, {sessions}, {memories} and {documents}",
        messages=ngettext("1 message", "{count} messages", messages),
        sessions=ngettext("1 whole conversation", "{count} whole conversations", sessions),
        memories=ngettext("1 memory", "{count} memories", memories),
        documents=ngettext("1 document", "{count} documents", documents),
    )


def freshness_text(room: str, freshness: str) -> str:
    """Describes a room that is not current; empty for one that is."""
    return _(_FRESHNESS_TEXTS[freshness], room=room_name(room)) if freshness in _FRESHNESS_TEXTS else ""


def held_back_text(held: "HeldBack") -> str:
    return _(
        "{sessions} would now be erased because of age, but the clock is {days} later than "
        "expected, so nothing was erased. If the date is right, `atlas sessions retention "
        "--apply` erases what is due. Otherwise, correct the clock.",
        sessions=ngettext("1 conversation", "{count} conversations", held.sessions),
        days=ngettext("1 day", "{count} days", max(held.ahead.days, 1)),
    )


def unknown_variable(name: str, near: str) -> str:
    """Describes a variable that resembles a setting's but is none; `near` is the most similar one, if any."""
    if near:
        return _("{name} has no effect: there is no such setting. Did you mean {near}?", name=name, near=near)
    return _("{name} has no effect: there is no such setting.", name=name)


def spoilt(room: VaultStatus) -> tuple[str, str] | None:
    """Returns what is visibly wrong with a room's file, and what to do; None if nothing is.

    A room that was never made is not a fault: the next unlock makes it.
    """
    name = f"{room.room.value}.db"
    if not room.database_present:
        return (
            (
                _("Key file found, but the database is missing ({file}).", file=name),
                _("Restore a backup: `atlas vault restore`."),
            )
            if room.room_made
            else None
        )
    if room.flaw is None:
        return None
    return _(_DOCTOR_TEXTS[room.flaw.value], file=name), _(
        "Restore a backup (`atlas vault restore`), or see what is still readable: `atlas vault salvage`."
    )
