"""What a change of memory mode, or a move to another room, does to what is there: said before it happens."""

from dataclasses import dataclass

from memory.entities import MemoryMode, RoomKind

_FROM_NOW_ON = {
    MemoryMode.NORMAL: "From here on memories are used, and what you say may be learned.",
    MemoryMode.READS: "From here on memories are used and none are added.",
    MemoryMode.BLANK: "From here on no memories are used and none added. The conversation itself is saved.",
    MemoryMode.OFF: (
        "No memories are used, and nothing is written anywhere. It ends with the program unless you /keep it."
    ),
}
_ROOMS = {RoomKind.OPEN: "the open room", RoomKind.PRIVATE: "the private room", RoomKind.OFF_RECORD: "memory"}


@dataclass(frozen=True, slots=True)
class Consequence:
    """What will happen. `asks` says that it cannot be taken back, so that the person is asked first."""

    words: str
    asks: bool = False


def of_mode(now: MemoryMode, then: MemoryMode, *, room: RoomKind, begun: bool) -> Consequence:
    """Of another memory mode for a session in `room`; `begun` says whether anything was said in it."""
    if then is now:
        return Consequence("Nothing changes: this is how it is already.")
    if not begun:
        return Consequence(_FROM_NOW_ON[then])
    if then is MemoryMode.OFF:
        where = " What is kept so is in the open room." if room is RoomKind.PRIVATE else ""
        return Consequence(
            f"What was said so far stays saved in {_ROOMS[room]}, with what was learned from it. The "
            f"conversation goes on as a copy. {_FROM_NOW_ON[then]}{where}"
        )
    if room is RoomKind.OFF_RECORD:
        return Consequence(
            "Everything that was said here off the record is saved to the open room, where it is listed and "
            f"found. {_FROM_NOW_ON[then]}",
            asks=True,
        )
    kept = "What was learned from it before stays, until you forget it."
    if then is MemoryMode.NORMAL:
        kept = "What was said up to here in this mode is not learned from."
    return Consequence(f"{kept} {_FROM_NOW_ON[then]}")


def of_move(source: RoomKind, destination: RoomKind) -> Consequence:
    """Of a session's move from one room to another."""
    if source is destination:
        return Consequence(f"Nothing changes: it is in {_ROOMS[source]} already.")
    if destination is RoomKind.PRIVATE:
        return Consequence(
            "It moves to the private room with its summaries and all that was learned from it alone. Nobody "
            "sees it while that room is closed. Answers in other conversations that were given with it in "
            "view keep their words."
        )
    if source is RoomKind.PRIVATE:
        return Consequence(
            "It moves to the open room with its summaries and all that was learned from it alone: listed, "
            "found and recalled there, whenever Atlas is unlocked.",
            asks=True,
        )
    return Consequence(
        "Everything that was said here off the record is saved to the open room, where it is listed and "
        f"found. {_FROM_NOW_ON[MemoryMode.NORMAL]}",
        asks=True,
    )


def of_beginning(destination: RoomKind) -> Consequence:
    """Of where a session will begin, of which nothing has been said yet."""
    if destination is RoomKind.PRIVATE:
        return Consequence(
            "This conversation begins in the private room. Nobody sees it while that room is closed."
        )
    return Consequence(f"This conversation begins in {_ROOMS[destination]}.")


LEAVING_OFF_RECORD = (
    "This conversation is off the record: once you leave it, it is still in memory until the program ends, "
    "and then it is gone. /keep saves it."
)


def stuck(conversations: int) -> str:
    """Of conversations that were moving when the room that holds the key to them was lost."""
    which, key = "A conversation", "the key to it"
    if conversations > 1:
        which, key = f"{conversations} conversations", "the key to them"
    return f"{which} on the way between the rooms cannot be opened: {key} was lost with a damaged room."
