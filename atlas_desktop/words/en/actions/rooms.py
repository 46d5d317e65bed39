"""Where a conversation is kept, and what memory does in it."""

TEXTS = {
    "room.make_private.name": "Move to the private room",
    "room.make_private.help": "With all that was learned from this conversation alone; the passphrase is "
    "asked for again.",
    "room.make_open.name": "Move to the open room",
    "room.make_open.help": "Out of the private room, with all that was learned from this conversation alone.",
    "room.close_private.name": "Open or close the private room",
    "room.close_private.help": "Open the private room to look into it, or close it: nothing shows then what "
    "is in it.",
    "room.keep.name": "Keep this conversation",
    "room.keep.help": "Save what was said off the record.",
    "room.go_off_record.name": "Off the record",
    "room.go_off_record.help": "Go on in memory alone: what was said so far stays saved, the rest ends with "
    "the program.",
    "room.use_reads.name": "Memory: read only",
    "room.use_reads.help": "Use memories and add none.",
    "room.use_blank.name": "Memory: none",
    "room.use_blank.help": "Neither use memories nor add any.",
    "room.use_normal.name": "Memory: normal",
    "room.use_normal.help": "Use memories, and learn.",
}
