"""What a change of memory mode, or a move to another room, does to what is there."""

TEXTS = {
    "now.normal": "From here on memories are used, and what you say may be learned.",
    "now.reads": "From here on memories are used and none are added.",
    "now.blank": "From here on no memories are used and none added. The conversation itself is saved.",
    "now.off": "No memories are used, and nothing is written anywhere. It ends with the program unless you "
    "/keep it.",
    "room.open": "the open room",
    "room.private": "the private room",
    "room.off": "memory",
    "same": "Nothing changes: this is how it is already.",
    "goes_off": "What was said so far stays saved in {room}, with what was learned from it. The conversation "
    "goes on as a copy. {now}",
    "kept_in_open": "What is kept so is in the open room.",
    "saved": "Everything that was said here off the record is saved to the open room, where it is listed and "
    "found. {now}",
    "stays": "What was learned from it before stays, until you forget it. {now}",
    "not_learned": "What was said up to here in this mode is not learned from. {now}",
    "same_room": "Nothing changes: it is in {room} already.",
    "to_private": "It moves to the private room with its summaries and all that was learned from it alone. "
    "Nobody sees it while that room is closed. Answers in other conversations that were given with it in "
    "view keep their words.",
    "to_open": "It moves to the open room with its summaries and all that was learned from it alone: listed, "
    "found and recalled there, whenever Atlas is unlocked.",
    "begins_private": "This conversation begins in the private room. Nobody sees it while that room is "
    "closed.",
    "begins": "This conversation begins in {room}.",
    "leaving": "This conversation is off the record: once you leave it, it is still in memory until the "
    "program ends, and then it is gone. /keep saves it.",
    "stuck.one": "A conversation on the way between the rooms cannot be opened: the key to it was lost with "
    "a damaged room.",
    "stuck.other": "{count} conversations on the way between the rooms cannot be opened: the key to them was "
    "lost with a damaged room.",
}
