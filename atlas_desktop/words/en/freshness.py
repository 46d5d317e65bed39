"""A room that is not as new as it was, or cannot be written to."""

TEXTS = {
    "rolled_back": "The {room} room is older than it was when it was last used: an older file was put in its "
    "place, or the last changes were lost. If you did not do that, restore a backup.",
    "missing": "The {room} room cannot be opened: its database or its key file is missing. Backups that are "
    "made now do not hold it. Put one back that does (`atlas vault restore`), or begin with an empty one: "
    "`atlas vault salvage --new-private`.",
    "held_back": "{sessions} would be erased for age now, but the clock is {days} later than expected, so "
    "nothing was erased. If the date is right, `atlas sessions retention --apply` erases what is due. "
    "Otherwise set the clock.",
    "unknown": "Whether the {room} room is as new as it was cannot be told: its counter is gone or foreign.",
    "read_only": "The {room} room is open for reading only: the disk is full or cannot be written to. You "
    "can read, search and export. Free some space to go on writing.",
}
