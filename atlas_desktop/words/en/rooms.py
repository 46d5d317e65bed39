"""The rooms, and what is asked before a conversation moves between them or changes its memory mode."""

TEXTS = {
    "private": "The private room",
    "private_closed": "The private room is closed.",
    "begins_in_it": "What is new begins in it.",
    "listed_while_open": "What is in it is shown in the list while it is open.",
    "open": "The open room",
    "open_locked": "It is locked: your passphrase opens it.",
    "move_to_open": "Move to the open room",
    "saved_already": "This conversation is saved already.",
    "change_mode": "Change the memory mode",
    "one_at_a_time": "Another change of the room or the memory mode is under way. Nothing else was changed.",
    "mode_not_set": "The memory mode was not changed: another conversation is shown now. "
    "The line above it says what holds for it.",
    "do_it": "Do it",
    "leave_it": "Leave it",
}
