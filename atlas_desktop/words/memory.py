"""Words for what can go wrong with the vault and its rooms."""

from collections.abc import Callable
from typing import Any

from atlas_desktop.explain import Exit, Explained, Words, aside, named, told
from atlas_desktop.words.catalogue import texts, tr
from memory import errors as memory


def _keyring(e: memory.KeyringUnavailable) -> Explained:
    reason = e.reason if f"keyring.{e.reason}" in texts("errors") else "failed"
    trouble = tr(f"errors.keyring.{reason}")
    return told("keyring_unavailable", Exit.LOCKED, trouble=trouble, where=aside(e.backend))


def _upgrade(e: memory.UpgradeFailed) -> Explained:
    return told(
        "upgrade_failed",
        sessions_held=e.held[0],
        messages_held=e.held[1],
        sessions_made=e.made[0],
        messages_made=e.made[1],
    )


def _not_found(code: str) -> Callable[[Any], Explained]:
    return lambda e: told(code, what=tr("errors.none_with_id", ref=e.ref))


WORDS: Words = {
    memory.VaultMissing: named("no_vault", Exit.LOCKED),
    memory.VaultExists: named("vault_exists"),
    memory.WrongPassphrase: named("wrong_passphrase", Exit.LOCKED),
    memory.TooManyAttempts: lambda e: told("too_many_attempts", Exit.LOCKED, seconds=e.seconds),
    memory.RecoveryKeyMistyped: named("recovery_key_mistyped", Exit.LOCKED),
    memory.WrongRecoveryKey: named("wrong_recovery_key", Exit.LOCKED),
    memory.KeyslotsMissing: lambda e: told("keyslots_missing", Exit.DAMAGED, file=f"{e.room}.keys"),
    memory.KeyslotsDamaged: named("keyslots_damaged", Exit.DAMAGED),
    memory.WeakPassphrase: lambda e: told("weak_passphrase", Exit.USAGE, minimum=e.minimum),
    memory.KeyringUnavailable: _keyring,
    memory.KeyringOff: named("locked", Exit.LOCKED),
    memory.RoomMissing: named("room_missing", Exit.DAMAGED),
    memory.NotARoom: lambda e: told("not_a_room", Exit.DAMAGED, file=e.path.name),
    memory.FutureSchema: lambda e: told("future_schema", found=e.found, known=e.known),
    memory.UpgradeFailed: _upgrade,
    memory.RoomDamaged: named("room_damaged", Exit.DAMAGED),
    memory.RoomMoved: named("room_moved", Exit.DAMAGED),
    memory.StorageFull: named("storage_full"),
    memory.StorageBusy: named("storage_busy"),
    memory.RoomClosed: named("room_closed", Exit.LOCKED),
    memory.ParcelUnreadable: named("parcel_unreadable", Exit.DAMAGED),
    memory.SessionBinned: named("session_binned"),
    memory.SessionNotFound: _not_found("session_not_found"),
    memory.MessageNotFound: _not_found("message_not_found"),
    memory.NothingToAnswer: named("nothing_to_answer"),
    memory.SummaryNotFound: _not_found("summary_not_found"),
    memory.MemoryNotFound: _not_found("memory_not_found"),
    memory.ChangeNotFound: _not_found("change_not_found"),
    memory.CannotUndo: named("cannot_undo"),
    memory.SummaryStale: named("summary_stale"),
    memory.AmbiguousId: lambda e: told("ambiguous_id", Exit.USAGE, matches=e.matches, ref=e.ref),
    memory.BadQuery: lambda e: told("bad_query", Exit.USAGE, detail=e.detail),
    memory.ContextTooSmall: lambda e: told("message_too_long", needed=e.needed, limit=e.limit),
}
