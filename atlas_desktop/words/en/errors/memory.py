"""The vault, its rooms, and what is in them."""

_RESTORE = "Put a backup back: `atlas vault restore FILE` says what would be lost."
_SESSIONS = "`atlas sessions list` shows what there is; `--binned` shows the bin."

TEXTS = {
    "no_vault.title": "There is no vault yet",
    "no_vault.what": "Nothing has been set up in this home.",
    "no_vault.next": "Run `atlas` for the guided start, or `atlas vault create`.",
    "vault_exists.title": "There already is a vault",
    "vault_exists.what": "This home holds a vault or its data; a new key would make it unreadable. Nothing "
    "was changed.",
    "vault_exists.next": "Unlock it, or choose another home with --home.",
    "wrong_passphrase.title": "That passphrase does not open the vault",
    "wrong_passphrase.what": "The key file is sound, the passphrase is another one. Nothing was changed.",
    "wrong_passphrase.next": "Try again, or use your recovery key: `atlas vault change-passphrase "
    "--recovery-key`.",
    "recovery_key_mistyped.title": "The recovery key has a typing error",
    "recovery_key_mistyped.what": "Its built-in checksum does not hold. Nothing was changed.",
    "recovery_key_mistyped.next": "Compare it with your note, group by group.",
    "wrong_recovery_key.title": "That recovery key belongs to another vault",
    "wrong_recovery_key.what": "It is well formed but opens nothing here; a newer one may have replaced it. "
    "Nothing was changed.",
    "wrong_recovery_key.next": "Look for the newest recovery key of this vault, or use the passphrase.",
    "too_many_attempts.title": "Too many wrong attempts",
    "too_many_attempts.what": "The next passphrase or recovery key can be given in {seconds} s. This one was "
    "not looked at.",
    "too_many_attempts.next": "Wait, then run the command again.",
    "keyslots_missing.title": "The key file is missing",
    "keyslots_missing.what": "Neither copy of {file} is there, without which nobody can open the database. "
    "Nothing was changed.",
    "keyslots_missing.next": _RESTORE,
    "keyslots_damaged.title": "The key file is damaged",
    "keyslots_damaged.what": "Neither copy of it can be read, so no passphrase can be checked. Nothing was "
    "changed.",
    "keyslots_damaged.next": _RESTORE,
    "weak_passphrase.title": "The passphrase is too short",
    "weak_passphrase.what": "It needs at least {minimum} characters.",
    "weak_passphrase.next": "Four or five words that mean something only to you are good and easy to type.",
    "keyring_unavailable.title": "The system keyring cannot be used",
    "keyring_unavailable.what": "{trouble}{where}. Nothing was changed.",
    "keyring_unavailable.next": "Unlock with your passphrase or recovery key; `atlas vault keyring off` "
    "forgets the keyring slot.",
    "keyring.none": "No system keyring answers here",
    "keyring.untrusted": "The keyring found here does not protect what it keeps, or is not one that is known "
    "to",
    "keyring.timeout": "The keyring did not answer in time (it may be waiting for its own password)",
    "keyring.locked": "The keyring is locked",
    "keyring.failed": "The keyring refused",
    "keyring.changed": "Another keyring answers than the one that holds this vault's key",
    "keyring.lost": "The keyring no longer holds this vault's key",
    "keyring.not_kept": "The keyring did not keep what it was given",
    "keyring.not_for_this_room": "This room is never opened by the keyring",
    "locked.title": "The vault is locked",
    "locked.what": "No passphrase was given, and this vault is not unlocked by the system keyring.",
    "locked.next": "Give --passphrase-file or --passphrase-fd, or run the command in a terminal.",
    "room_missing.title": "The database is missing",
    "room_missing.what": "The key file is there, the database it opens is not. Nothing was changed.",
    "room_missing.next": _RESTORE,
    "not_a_room.title": "The database cannot be opened",
    "not_a_room.what": "{file} does not open with this vault's key: it belongs to another vault, is damaged, "
    "or is cut short. It was not changed.",
    "not_a_room.next": "Put a backup back with `atlas vault restore`, or bring out what can be read: `atlas "
    "vault salvage`.",
    "future_schema.title": "This vault was written by a newer Atlas",
    "future_schema.what": "Its format is {found}; this program knows up to {known}. It was not changed.",
    "future_schema.next": "Install the newer version of Atlas to open it.",
    "upgrade_failed.title": "This vault could not be brought up to date",
    "upgrade_failed.what": "Of {sessions_held} sessions with {messages_held} messages, {sessions_made} with "
    "{messages_made} came out. So it was put back as it was, and nothing is lost.",
    "upgrade_failed.next": "Go on with the Atlas that you had, and report this as a fault of the new one.",
    "room_damaged.title": "The database is damaged",
    "room_damaged.what": "A page of it cannot be read as it was written. Atlas stopped rather than write "
    "over it.",
    "room_damaged.next": "`atlas vault salvage` brings out what can be read and keeps the old files; or "
    "restore a backup.",
    "room_moved.title": "The room's file is gone",
    "room_moved.what": "It was removed or replaced while Atlas had it open. Nothing more is written: it "
    "would be lost with the end of the program. What is open can still be read.",
    "room_moved.next": "Before you close Atlas, write what you want to keep to files with `/export`. Then "
    "put the file back, or restore a backup.",
    "storage_full.title": "The disk does not take any more",
    "storage_full.what": "Writing failed: the disk is full or refuses. Everything acknowledged before is "
    "saved.",
    "storage_full.next": "Free some space, then try again.",
    "storage_busy.title": "Another program holds the database",
    "storage_busy.what": "It stayed locked for too long. Nothing was changed.",
    "storage_busy.next": "Close the other program and try again.",
    "room_closed.title": "The room is closed",
    "room_closed.what": "It was locked while this was under way.",
    "room_closed.next": "Unlock it and try again.",
    "parcel_unreadable.title": "A conversation that was being moved cannot be opened",
    "parcel_unreadable.what": "It was on its way between the rooms, and these rooms do not belong together: "
    "one of them was put back from a backup. Nothing was changed.",
    "parcel_unreadable.next": "Put both rooms back from the same backup.",
    "session_binned.title": "This conversation is in the bin",
    "session_binned.what": "Nothing was said or changed.",
    "session_binned.next": "`atlas sessions restore` brings it back first.",
    "none_with_id": "Nothing here has the id {ref}.",
    "session_not_found.title": "There is no such session",
    "session_not_found.next": _SESSIONS,
    "message_not_found.title": "There is no such message",
    "message_not_found.next": _SESSIONS,
    "summary_not_found.title": "There is no such summary",
    "summary_not_found.next": _SESSIONS,
    "memory_not_found.title": "There is no such memory",
    "memory_not_found.next": "`atlas memory list --state all` shows what there is.",
    "change_not_found.title": "There is no such change",
    "change_not_found.next": "`atlas memory changes` shows what there is.",
    "nothing_to_answer.title": "There is nothing to answer again",
    "nothing_to_answer.what": "Your newest words were forgotten, or none are here. Nothing was changed.",
    "nothing_to_answer.next": "Say something new, or put other words in their place: /edit.",
    "cannot_undo.title": "This change cannot be undone",
    "cannot_undo.what": "It was undone before, or what it changed has been changed or forgotten since. "
    "Nothing was changed.",
    "cannot_undo.next": "Edit the memory itself instead.",
    "summary_stale.title": "The conversation changed meanwhile",
    "summary_stale.what": "A summary was about to be used whose messages have been changed. Nothing of it "
    "was sent.",
    "summary_stale.next": "Send again.",
    "ambiguous_id.title": "More than one thing has an id like that",
    "ambiguous_id.what": "{matches} ids begin with {ref}.",
    "ambiguous_id.next": "Give more characters of the id.",
    "message_too_long.title": "This message is too long for the model",
    "message_too_long.what": "With the instructions and room for a reply it needs {needed} tokens; the model "
    "reads {limit}. The message is saved; nothing was cut.",
    "message_too_long.next": "Say it in parts (`atlas ask --split`, or /split in a chat), allow a shorter "
    "reply, or choose a model with a longer context.",
}
