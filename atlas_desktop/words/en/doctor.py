"""What a check without a key says of the vault."""

TEXTS = {
    "sound": "The key files are sound and the rooms begin as they should; opens with {kinds}. "
    "What is inside was not checked: `atlas vault verify` does that, with the passphrase.",
    "copy": "One copy of a key file is damaged.",
    "unlock": "Unlock once: the damaged copy is mended from the other.",
    "absent": "The key file is there, the database is not ({file}).",
    "restore": "Put a backup back: `atlas vault restore`.",
    "empty": "The database is empty: {file} has no bytes in it.",
    "cut": "The database is damaged: {file} ends within a page.",
    "foreign": "The database is damaged: {file} does not begin as it was written, or belongs to other keys.",
    "salvage": "Put a backup back (`atlas vault restore`), "
    "or see what can still be read: `atlas vault salvage`.",
}
