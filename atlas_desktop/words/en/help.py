"""The help."""

TEXTS = {
    "title": "Help",
    "find": "Type what you are looking for",
    "none": "No action is called so, or is about that.",
    "closes": "Esc closes",
    "by_name": "by name",
    "palette": "Every action is also in the command palette ({key}), by its name.",
}
