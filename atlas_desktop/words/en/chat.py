"""The conversation: its messages, the prompt, and what is done with them."""

TEXTS = {
    "older.one": "↑ 1 older message",
    "older.other": "↑ {count} older messages",
    "newer.one": "↓ 1 newer message",
    "newer.other": "↓ {count} newer messages",
}
