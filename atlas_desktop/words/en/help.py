"""The help."""

TEXTS = {
    "title": "Help",
    "closes": "Esc closes",
    "by_name": "by name",
    "palette": "Every action is also in the command palette ({key}), by its name.",
}
