"""Words for what can go wrong with backups and repairs."""

from atlas_desktop.explain import Exit, Explained, Words, named
from memory import errors as memory

WORDS: Words = {
    memory.NotABackup: lambda e: Explained(
        "not_a_backup",
        "This file is not a backup of Atlas",
        f"It cannot be restored: {e.detail}. Nothing was changed.",
        "Choose a file that `atlas vault backup` made.",
        Exit.DAMAGED,
    ),
    memory.BackupDamaged: lambda e: Explained(
        "backup_damaged",
        "The backup is damaged",
        f"It was refused: {e.detail}. Nothing was changed.",
        "Use another backup, or copy this one again from where it came from.",
        Exit.DAMAGED,
    ),
    memory.FutureBackup: lambda e: Explained(
        "future_backup",
        "This backup was made by a newer Atlas",
        f"Its format is {e.found}; this program knows up to {e.known}. Nothing was changed.",
        "Install the newer version of Atlas to restore it.",
    ),
    memory.WrongBackupPassphrase: named(
        "wrong_backup_passphrase",
        "That does not open the backup",
        "The backup is sound, but it was made when another passphrase or recovery key was in force. "
        "Nothing was changed.",
        "Give the passphrase of the time of the backup, or its recovery key with --recovery-key.",
        Exit.LOCKED,
    ),
    memory.OutputRefused: lambda e: Explained(
        "output_refused",
        "The backup cannot be written there",
        f"The system says: {e.detail}. No backup was made; older ones are as they were.",
        "Choose a folder that you may write to, with --output or the setting backup.folder.",
    ),
    memory.NothingToSalvage: named(
        "nothing_to_salvage",
        "There is nothing to salvage",
        "Every page and every reference of the room is sound. Nothing was changed.",
        "Use it as before; `atlas vault verify` tells more.",
    ),
    memory.ExchangeUnfinished: named(
        "exchange_unfinished",
        "Another Atlas is putting rooms in place",
        "A restore, a new key or a salvage is under way in this home. Nothing was changed.",
        "Wait until it is done, then try again.",
    ),
}
