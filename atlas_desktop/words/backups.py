"""Words for what can go wrong with backups and repairs."""

from atlas_desktop.explain import Exit, Words, named, told
from memory import errors as memory

WORDS: Words = {
    memory.NotABackup: lambda e: told("not_a_backup", Exit.DAMAGED, detail=e.detail),
    memory.BackupDamaged: lambda e: told("backup_damaged", Exit.DAMAGED, detail=e.detail),
    memory.FutureBackup: lambda e: told("future_backup", found=e.found, known=e.known),
    memory.WrongBackupPassphrase: named("wrong_backup_passphrase", Exit.LOCKED),
    memory.OutputRefused: lambda e: told("output_refused", detail=e.detail),
    memory.NothingToSalvage: named("nothing_to_salvage"),
    memory.NothingReadable: lambda e: told(
        "nothing_readable", Exit.DAMAGED, room=e.room, pages=e.pages, bad_pages=e.bad_pages
    ),
    memory.ExchangeUnfinished: named("exchange_unfinished"),
}
