"""A room that is not as new as it was."""

TEXTS = {
    "rolled_back": "The {room} room is older than it was when it was last used: an older file was put in its "
    "place, or the last changes were lost. If you did not do that, restore a backup.",
    "missing": "The {room} room cannot be opened: its database or its key file is missing. Backups that are "
    "made now do not hold it. Put one back that does: `atlas vault restore`.",
    "held_back": "{sessions} would now be erased for their age, but the clock is {days} later than Atlas "
    "expected, so they stay. If the date is right, `atlas sessions retention --apply` erases them. Otherwise "
    "set the clock; nothing is lost.",
    "unknown": "Whether the {room} room is as new as it was cannot be told: its counter is gone or foreign.",
}
