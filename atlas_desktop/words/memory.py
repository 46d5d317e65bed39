"""Words for what can go wrong with the vault and its rooms."""

from collections.abc import Callable
from typing import Any

from atlas_desktop.explain import Exit, Explained, Words, named
from memory import errors as memory

_KEYRING_TROUBLES = {
    "none": "No system keyring answers here",
    "untrusted": "The keyring found here does not protect what it keeps, or is not one that is known to",
    "timeout": "The keyring did not answer in time (it may be waiting for its own password)",
    "locked": "The keyring is locked",
    "failed": "The keyring refused",
    "changed": "Another keyring answers than the one that holds this vault's key",
    "lost": "The keyring no longer holds this vault's key",
    "not_kept": "The keyring did not keep what it was given",
    "not_for_this_room": "This room is never opened by the keyring",
}

_OTHER_WAY_IN = "Try again, or use your recovery key: `atlas vault change-passphrase --recovery-key`."


def _keyring(e: memory.KeyringUnavailable) -> Explained:
    trouble = _KEYRING_TROUBLES.get(e.reason, "The keyring refused")
    where = f" ({e.backend})" if e.backend else ""
    return Explained(
        "keyring_unavailable",
        "The system keyring cannot be used",
        f"{trouble}{where}. Nothing was changed.",
        "Unlock with your passphrase or recovery key; `atlas vault keyring off` forgets the keyring slot.",
        Exit.LOCKED,
    )


def _not_a_room(e: memory.NotARoom) -> Explained:
    return Explained(
        "not_a_room",
        "The database cannot be opened",
        f"{e.path.name} does not open with this vault's key: it belongs to another vault, is damaged, or is "
        "cut short. It was not changed.",
        "Put a backup back with `atlas vault restore`, or bring out what can be read: `atlas vault salvage`.",
        Exit.DAMAGED,
    )


def _future(e: memory.FutureSchema) -> Explained:
    return Explained(
        "future_schema",
        "This vault was written by a newer Atlas",
        f"Its format is {e.found}; this program knows up to {e.known}. It was not changed.",
        "Install the newer version of Atlas to open it.",
    )


def _upgrade(e: memory.UpgradeFailed) -> Explained:
    return Explained(
        "upgrade_failed",
        "This vault could not be brought up to date",
        f"Of {e.held[0]} sessions with {e.held[1]} messages, {e.made[0]} with {e.made[1]} came out. "
        "So it was put back as it was, and nothing is lost.",
        "Go on with the Atlas that you had, and report this as a fault of the new one.",
        Exit.FAILED,
    )


def _ambiguous(e: memory.AmbiguousId) -> Explained:
    return Explained(
        "ambiguous_id",
        "More than one thing has an id like that",
        f"{e.matches} ids begin with {e.ref}.",
        "Give more characters of the id.",
        Exit.USAGE,
    )


_SESSIONS = "`atlas sessions list` shows what there is; `--binned` shows the bin."
_MEMORIES = "`atlas memory list --state all` shows what there is."
_CHANGES = "`atlas memory changes` shows what there is."


def _not_found(what: str, next_step: str = _SESSIONS) -> Callable[[Any], Explained]:
    def words(e: Any) -> Explained:
        return Explained(
            f"{what}_not_found",
            f"There is no such {what}",
            f"Nothing here has the id {e.ref}.",
            next_step,
        )

    return words


def _too_small(e: memory.ContextTooSmall) -> Explained:
    return Explained(
        "message_too_long",
        "This message is too long for the model",
        f"With the instructions and room for a reply it needs {e.needed} tokens; the model reads {e.limit}. "
        "The message is saved; nothing was cut.",
        "Say it in parts (`atlas ask --split`, or /split in a chat), allow a shorter reply, or "
        "choose a model with a longer context.",
    )


WORDS: Words = {
    memory.VaultMissing: named(
        "no_vault",
        "There is no vault yet",
        "Nothing has been set up in this home.",
        "Run `atlas` for the guided start, or `atlas vault create`.",
        Exit.LOCKED,
    ),
    memory.VaultExists: named(
        "vault_exists",
        "There already is a vault",
        "This home holds a vault or its data; a new key would make it unreadable. Nothing was changed.",
        "Unlock it, or choose another home with --home.",
    ),
    memory.WrongPassphrase: named(
        "wrong_passphrase",
        "That passphrase does not open the vault",
        "The key file is sound, the passphrase is another one. Nothing was changed.",
        _OTHER_WAY_IN,
        Exit.LOCKED,
    ),
    memory.RecoveryKeyMistyped: named(
        "recovery_key_mistyped",
        "The recovery key has a typing error",
        "Its built-in checksum does not hold. Nothing was changed.",
        "Compare it with your note, group by group.",
        Exit.LOCKED,
    ),
    memory.WrongRecoveryKey: named(
        "wrong_recovery_key",
        "That recovery key belongs to another vault",
        "It is well formed but opens nothing here; a newer one may have replaced it. Nothing was changed.",
        "Look for the newest recovery key of this vault, or use the passphrase.",
        Exit.LOCKED,
    ),
    memory.KeyslotsMissing: named(
        "keyslots_missing",
        "The key file is missing",
        "There is a database, but neither copy of its key file, without which nobody can open it. "
        "Nothing was changed.",
        "Put a backup back: `atlas vault restore FILE` says what would be lost.",
        Exit.DAMAGED,
    ),
    memory.KeyslotsDamaged: named(
        "keyslots_damaged",
        "The key file is damaged",
        "Neither copy of it can be read, so no passphrase can be checked. Nothing was changed.",
        "Put a backup back: `atlas vault restore FILE` says what would be lost.",
        Exit.DAMAGED,
    ),
    memory.WeakPassphrase: lambda e: Explained(
        "weak_passphrase",
        "The passphrase is too short",
        f"It needs at least {e.minimum} characters.",
        "Four or five words that mean something only to you are good and easy to type.",
        Exit.USAGE,
    ),
    memory.KeyringUnavailable: _keyring,
    memory.KeyringOff: named(
        "locked",
        "The vault is locked",
        "No passphrase was given, and this vault is not unlocked by the system keyring.",
        "Give --passphrase-file or --passphrase-fd, or run the command in a terminal.",
        Exit.LOCKED,
    ),
    memory.RoomMissing: named(
        "room_missing",
        "The database is missing",
        "The key file is there, the database it opens is not. Nothing was changed.",
        "Put a backup back: `atlas vault restore FILE` says what would be lost.",
        Exit.DAMAGED,
    ),
    memory.NotARoom: _not_a_room,
    memory.FutureSchema: _future,
    memory.UpgradeFailed: _upgrade,
    memory.RoomDamaged: named(
        "room_damaged",
        "The database is damaged",
        "A page of it cannot be read as it was written. Atlas stopped rather than write over it.",
        "`atlas vault salvage` brings out what can be read and keeps the old files; or restore a backup.",
        Exit.DAMAGED,
    ),
    memory.StorageFull: named(
        "storage_full",
        "The disk does not take any more",
        "Writing failed: the disk is full or refuses. Everything acknowledged before is saved.",
        "Free some space, then try again.",
    ),
    memory.StorageBusy: named(
        "storage_busy",
        "Another program holds the database",
        "It stayed locked for too long. Nothing was changed.",
        "Close the other program and try again.",
    ),
    memory.RoomClosed: named(
        "room_closed",
        "The room is closed",
        "It was locked while this was under way.",
        "Unlock it and try again.",
        Exit.LOCKED,
    ),
    memory.ParcelUnreadable: named(
        "parcel_unreadable",
        "A conversation that was being moved cannot be opened",
        "It was on its way between the rooms, and these rooms do not belong together: one of them was put "
        "back from a backup. Nothing was changed.",
        "Put both rooms back from the same backup.",
        Exit.DAMAGED,
    ),
    memory.SessionBinned: named(
        "session_binned",
        "This conversation is in the bin",
        "Nothing was said or changed.",
        "`atlas sessions restore` brings it back first.",
    ),
    memory.SessionNotFound: _not_found("session"),
    memory.MessageNotFound: _not_found("message"),
    memory.NothingToAnswer: named(
        "nothing_to_answer",
        "There is nothing to answer again",
        "Your newest words were forgotten, or none are here. Nothing was changed.",
        "Say something new, or put other words in their place: /edit.",
    ),
    memory.SummaryNotFound: _not_found("summary"),
    memory.MemoryNotFound: _not_found("memory", _MEMORIES),
    memory.ChangeNotFound: _not_found("change", _CHANGES),
    memory.CannotUndo: named(
        "cannot_undo",
        "This change cannot be undone",
        "It was undone before, or what it changed has been changed or forgotten since. Nothing was changed.",
        "Edit the memory itself instead.",
    ),
    memory.SummaryStale: named(
        "summary_stale",
        "The conversation changed meanwhile",
        "A summary was about to be used whose messages have been changed. Nothing of it was sent.",
        "Send again.",
    ),
    memory.AmbiguousId: _ambiguous,
    memory.BadQuery: lambda e: Explained(
        "bad_query",
        "That search cannot be understood",
        f"{e.detail}.",
        "Search for one or more words; put a phrase in double quotes.",
        Exit.USAGE,
    ),
    memory.ContextTooSmall: _too_small,
}
