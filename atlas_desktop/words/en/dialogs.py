"""Small windows: an error, a new title."""

TEXTS = {
    "close": "Close",
    "error": "Something went wrong",
    "cancel": "Cancel",
    "rename": "Rename the conversation",
    "rename_hint": "Enter saves · Esc leaves it as it is",
}
