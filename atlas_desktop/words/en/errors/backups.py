"""Backups and repairs."""

TEXTS = {
    "not_a_backup.title": "This file is not a backup of Atlas",
    "not_a_backup.what": "It cannot be restored: {detail}. Nothing was changed.",
    "not_a_backup.next": "Choose a file that `atlas vault backup` made.",
    "backup_damaged.title": "The backup is damaged",
    "backup_damaged.what": "It was refused: {detail}. Nothing was changed.",
    "backup_damaged.next": "Use another backup, or copy this one again from where it came from.",
    "future_backup.title": "This backup was made by a newer Atlas",
    "future_backup.what": "Its format is {found}; this program knows up to {known}. Nothing was changed.",
    "future_backup.next": "Install the newer version of Atlas to restore it.",
    "wrong_backup_passphrase.title": "That does not open the backup",
    "wrong_backup_passphrase.what": "The backup is sound, but it was made when another passphrase or "
    "recovery key was in force. Nothing was changed.",
    "wrong_backup_passphrase.next": "Give the passphrase of the time of the backup, or its recovery key with "
    "--recovery-key.",
    "output_refused.title": "The backup cannot be written there",
    "output_refused.what": "The system says: {detail}. No backup was made; older ones are as they were.",
    "output_refused.next": "Choose a folder that you may write to, with --output or the setting "
    "backup.folder.",
    "nothing_to_salvage.title": "There is nothing to salvage",
    "nothing_to_salvage.what": "Every page and every reference of the room is sound. Nothing was changed.",
    "nothing_to_salvage.next": "Use it as before; `atlas vault verify` tells more.",
    "nothing_readable.title": "Nothing can be read of the {room} room",
    "nothing_readable.what": "{bad_pages} of its {pages} pages are damaged, and the others hold no message, "
    "memory or project. An empty room in its place would help nobody, so nothing was changed.",
    "nothing_readable.next": "Put a backup back: `atlas vault restore FILE`. Without one, keep a copy of the "
    "folder `rooms` and begin anew in another home (--home).",
    "exchange_unfinished.title": "Another Atlas is putting rooms in place",
    "exchange_unfinished.what": "A restore, a new key or a salvage is under way in this home. Nothing was "
    "changed.",
    "exchange_unfinished.next": "Wait until it is done, then try again.",
}
