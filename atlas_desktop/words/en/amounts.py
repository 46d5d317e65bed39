"""How much there is of something."""

TEXTS = {
    "sessions.one": "1 conversation",
    "sessions.other": "{count} conversations",
    "messages.one": "1 message",
    "messages.other": "{count} messages",
    "held": "{sessions} with {messages}",
    "open_to_others.one": "Others may enter or read a file or folder of the home.",
    "open_to_others.other": "Others may enter or read {count} files or folders of the home.",
    "whole.one": "1 whole conversation",
    "whole.other": "{count} whole conversations",
    "memories.one": "1 memory",
    "memories.other": "{count} memories",
    "backups.one": "1 backup",
    "backups.other": "{count} backups",
    "backups_left.one": "1 backup is left: it opens with the passphrase still.",
    "backups_left.other": "{count} backups are left: they open with the passphrase still.",
    "for_days.one": "for 1 day",
    "for_days.other": "for {count} days",
    "lost": "{messages}, {sessions} and {memories}",
    "there": "Here now: {held}.",
    "was": "Here before: {held}.",
}
