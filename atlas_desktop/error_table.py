"""The table of errors: for each type its code, its words and the facts that are put in."""

import errno
import shlex
import signal
from collections.abc import Callable
from typing import Any

from atlas_desktop.errors import (
    AlreadyRunning,
    AttachmentRefused,
    BadRecipient,
    Declined,
    Exit,
    Explained,
    NothingToExport,
    Refusal,
    TargetExists,
    TargetRefused,
    UnknownExport,
    UsageError,
    Words,
    aside,
    named,
    size,
    told,
)
from atlas_desktop.paths import NoSuchHome, UnsafeHome
from atlas_desktop.settings.file import KEYS, SettingsError, UnknownSetting
from atlas_desktop.words.catalogue import texts, tr
from memory import errors as memory
from models import errors as models


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


_MEMORY: Words = {
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


_BACKUPS: Words = {
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


_SIZES = {Refusal.TOO_LARGE, Refusal.TOO_MUCH_MEMORY}


def _attachment(e: AttachmentRefused) -> Explained:
    limit = size(e.limit) if e.reason in _SIZES else f"{e.limit:,}"
    why = tr(f"errors.attachment.{e.reason.value}", limit=limit)
    return Explained(
        f"attachment_{e.reason.value}",
        tr("errors.attachment.title"),
        tr("errors.attachment.what", name=e.name, why=why),
        tr(f"errors.attachment.{e.reason.value}.next"),
        Exit.USAGE,
    )


def _no_such(code: str) -> Callable[[Any], Explained]:
    return lambda e: told(code, what=tr("errors.none_called", ref=e.ref))


_CONVERSATION: Words = {
    AttachmentRefused: _attachment,
    memory.AttachmentNotFound: _no_such("attachment_not_found"),
    memory.PersonaNotFound: _no_such("persona_not_found"),
    memory.TemplateNotFound: _no_such("template_not_found"),
    memory.NameTaken: lambda e: told("name_taken", Exit.USAGE, name=e.name),
}


_EXPORTING: Words = {
    TargetExists: lambda e: told("target_exists", Exit.USAGE, path=e.path),
    TargetRefused: lambda e: told("target_refused", Exit.USAGE, path=e.path, reason=e.reason),
    BadRecipient: named("bad_recipient", Exit.USAGE),
    NothingToExport: named("nothing_to_export", Exit.FAILED),
}


_NAMED = 3


def _unknown_export(e: UnknownExport) -> Explained:
    next_step = tr("errors.unknown_export.name_it") if e.alien else None
    return told("unknown_export", next_step=next_step, reasons=_reasons(e))


_IMPORTING: Words = {UnknownExport: _unknown_export}


def _reasons(error: UnknownExport) -> str:
    """What is wrong with each, as far as it is known."""
    lines = [tr("errors.unknown_export.of", names=one.where, why=one.why) for one in error.broken[:_NAMED]]
    if (more := len(error.broken) - len(lines) + error.more) > 0:
        lines.append(tr("errors.unknown_export.more", count=more))
    natures: dict[str, list[str]] = {}
    for one in error.alien:
        natures.setdefault(one.why or tr("errors.unknown_export.alien"), []).append(one.where)
    lines += [tr("errors.unknown_export.of", names=_some(names), why=why) for why, names in natures.items()]
    return " ".join(lines)


def _some(names: list[str]) -> str:
    some = ", ".join(names[:_NAMED])
    more = len(names) - _NAMED
    return tr("errors.unknown_export.some", names=some, more=more) if more > 0 else some


def _crashed(e: models.WorkerCrashed) -> Explained:
    how = ""
    if e.code is not None and e.code < 0:
        try:
            how = signal.Signals(-e.code).name
        except ValueError:
            how = tr("errors.model_crashed.signal", number=-e.code)
    elif e.code is not None:
        how = tr("errors.model_crashed.status", number=e.code)
    return told("model_crashed", how=aside(how))


def _file(code: str) -> Callable[[models.ModelFileError], Explained]:
    return lambda e: told(code, file=e.path.name, detail=aside(e.detail))


def _unknown_model(e: models.UnknownModel) -> Explained:
    if not e.suggestions:
        return told("unknown_model", ref=e.ref)
    near = ", ".join(e.suggestions)
    return told("unknown_model", what=tr("errors.unknown_model.meant", ref=e.ref, near=near))


def _no_model(e: models.NoModel) -> Explained:
    what = tr("errors.no_model.chat") if e.role == "chat" else tr("errors.no_model.embedding")
    return told("no_model", Exit.NO_MODEL, what=what)


def _damaged_model(e: models.ModelDamaged) -> Explained:
    role = "chat" if e.role == "chat" else "embedding"
    what = tr(f"errors.model_damaged.{role}", file=e.path.name, detail=aside(e.detail))
    return told("model_damaged", Exit.NO_MODEL, what=what, ref=e.ref)


_MODELS: Words = {
    models.ModelFileMissing: _file("model_file_missing"),
    models.NotGguf: _file("not_gguf"),
    models.DamagedGguf: _file("damaged_gguf"),
    models.TruncatedGguf: _file("truncated_gguf"),
    models.WrongChecksum: _file("wrong_checksum"),
    models.UnknownArchitecture: _file("unknown_architecture"),
    models.ModelLoadFailed: _file("model_load_failed"),
    models.NotEnoughMemory: lambda e: told(
        "not_enough_memory", needed=size(e.needed), available=size(e.available)
    ),
    models.NotEnoughDisk: lambda e: told("disk_space", needed=size(e.needed), free=size(e.free)),
    models.UnknownModel: _unknown_model,
    models.ModelNotInstalled: lambda e: told("model_not_installed", ref=e.ref),
    models.NoModel: _no_model,
    models.ModelDamaged: _damaged_model,
    models.ModelExists: lambda e: told("model_exists", ref=e.ref),
    models.DownloadFailed: lambda e: told("download_failed", source=e.source, detail=e.detail),
    models.WorkerCrashed: _crashed,
    models.WorkerUnresponsive: named("model_unresponsive"),
    models.PromptTooLong: lambda e: told("prompt_too_long", tokens=e.tokens, limit=e.limit),
    models.TemplateFailed: named("template_failed"),
    models.BadGrammar: named("bad_grammar"),
    models.WorkerFault: lambda e: told("model_fault", detail=e.detail),
    models.StateNotHeld: named("state_not_held"),
    models.StateRefused: lambda e: told("state_refused", detail=e.detail),
    models.ProtocolError: named("model_protocol"),
}


def _cannot_merge(e: memory.CannotMerge) -> Explained:
    reason = e.reason if f"merge.{e.reason}" in texts("errors") else "same"
    return told("cannot_merge", Exit.USAGE, why=tr(f"errors.merge.{reason}"))


_ORGANISING: Words = {
    memory.ProjectNotFound: named("project_not_found", Exit.USAGE),
    memory.ProjectExists: named("project_exists", Exit.USAGE),
    memory.CannotMerge: _cannot_merge,
}


def _system(error: OSError) -> Explained:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return told("disk_full")
    return told("system", reason=error.strerror or type(error).__name__)


def _running(e: AlreadyRunning) -> Explained:
    who = aside(e.holder and tr("errors.already_running.who", id=e.holder))
    return told("already_running", who=who)


def _unsafe(e: UnsafeHome) -> Explained:
    where = shlex.quote(str(e.path))
    return told(
        "unsafe_home",
        what=tr(f"errors.unsafe_home.{e.danger}", path=e.path),
        next_step=tr(f"errors.unsafe_home.{e.danger}_next", path=where),
    )


def _setting(e: SettingsError) -> Explained:
    if not e.variable and e.where.startswith(f"{KEYS}."):
        next_step = tr("errors.bad_setting.key_next", where=e.where)
        return told("bad_setting", Exit.USAGE, next_step=next_step, where=e.where, reason=e.reason)
    if not e.variable:
        return told("bad_setting", Exit.USAGE, where=e.where, reason=e.reason)
    return told(
        "bad_setting",
        Exit.USAGE,
        what=tr("errors.bad_setting.variable", variable=e.variable, where=e.where, reason=e.reason),
        next_step=tr("errors.bad_setting.unset"),
    )


_PROGRAM: Words = {
    SettingsError: _setting,
    UnknownSetting: lambda e: told("unknown_setting", Exit.USAGE, where=e.where),
    UsageError: lambda e: told("usage", Exit.USAGE, what=str(e), next_step=e.next_step),
    AlreadyRunning: _running,
    NoSuchHome: named("no_such_home", Exit.USAGE),
    UnsafeHome: _unsafe,
    Declined: named("declined"),
    KeyboardInterrupt: named("interrupted", Exit.INTERRUPTED),
    OSError: _system,
    MemoryError: named("out_of_memory"),
}


# Values of `memory.search.entities.Trouble`, which the first screen need not load.
_OF_A_COLON = {"unknown_field", "no_value", "unknown_value"}


def unclear(fault: memory.QueryUnclear) -> str:
    """What is wrong with a query and what would be understood, in one line."""
    what = tr(f"errors.query.{fault.trouble}")
    if fault.options:
        return tr("errors.query.try", what=what, options=", ".join(fault.options))
    return tr("errors.query", what=what)


def _unclear(fault: Any) -> Explained:
    at, what = fault.at + 1, unclear(fault)
    far = fault.until > at
    return told(
        "bad_query",
        Exit.USAGE,
        what=tr("errors.bad_query.from", at=at, until=fault.until, what=what)
        if far
        else tr("errors.bad_query.at", at=at, what=what),
        next_step=tr("errors.bad_query.literally")
        if fault.trouble in _OF_A_COLON
        else tr("errors.bad_query.parts"),
    )


_SEARCH: Words = {
    memory.QueryUnclear: _unclear,
    memory.SavedSearchNotFound: lambda fault: told("saved_search_not_found", ref=fault.ref),
}


WORDS: Words = {
    **_MEMORY,
    **_BACKUPS,
    **_CONVERSATION,
    **_EXPORTING,
    **_IMPORTING,
    **_MODELS,
    **_ORGANISING,
    **_PROGRAM,
    **_SEARCH,
}


def explain(error: BaseException) -> Explained:
    """The words for any error. Unknown ones get an honest general text with the type's name, no content."""
    for kind in type(error).__mro__:
        words = WORDS.get(kind)
        if words is not None:
            return words(error)
    return told("unexpected", kind=type(error).__name__)
