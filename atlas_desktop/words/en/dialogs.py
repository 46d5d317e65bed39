"""Small windows: an error, a new title."""

TEXTS = {
    "close": "Close",
    "error": "Something went wrong",
    "cancel": "Cancel",
    "rename": "Rename the conversation",
    "rename_hint": "Enter saves · Esc leaves it as it is",
    "save": "Save",
    "goes_on": "Enter goes on · Esc leaves",
    "chooses": "Enter chooses · Esc leaves",
    "saves": "Ctrl+S saves · Esc leaves it as it is",
    "name": "Name",
    "name_and_text": "A name and a text are needed.",
}
