"""How much there is of something."""

TEXTS = {
    "sessions.one": "1 conversation",
    "sessions.other": "{count} conversations",
    "messages.one": "1 message",
    "messages.other": "{count} messages",
    "held": "{sessions} with {messages}",
    "open_to_others.one": "Others may enter or read a file or folder of the home.",
    "open_to_others.other": "Others may enter or read {count} files or folders of the home.",
    "there": "There is {held} now.",
    "was": "There was {held}.",
}
