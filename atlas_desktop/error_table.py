"""The table of errors: for each type its code, its text and the facts filled in."""

import errno
import shlex
import signal
from collections.abc import Callable
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from atlas_desktop.errors import (
    AlreadyRunning,
    AttachmentRefused,
    BadClient,
    BadRecipient,
    Declined,
    DocumentRefused,
    DoorRefused,
    Exit,
    Explained,
    FileRefused,
    NothingToExport,
    Refusal,
    TargetExists,
    TargetRefused,
    UnknownExport,
    UsageError,
    Words,
    aside,
    explanation,
    named,
    room_name,
    size,
)
from atlas_desktop.importing.formats import programs
from atlas_desktop.locale import N_, _, number
from atlas_desktop.paths import NoSuchHome, UnsafeHome
from atlas_desktop.services.cleaning import clean_line
from atlas_desktop.settings.file import KEYS, SettingsError, UnknownSetting
from memory import errors as memory
from memory.tasks.entities import TaskState
from models import errors as models

if TYPE_CHECKING:
    from memory.documents.entities import Document, DocumentError

_FAULTS = {
    "name": N_("A name has at most 64 characters: lower-case letters, digits, and hyphens between them."),
    "no_description": N_(
        "The description is missing. It should say what the skill is for and when to use it."
    ),
    "long_description": N_("The description is longer than 1,024 characters."),
    "no_body": N_("There are no instructions."),
    "long_body": N_("The instructions are longer than 100,000 characters."),
    "front_matter": N_("It does not begin with front matter: `---`, `name:`, `description:`, `---`."),
}
_TASK_STATES = {
    TaskState.PLANNED: N_("planned"),
    TaskState.RUNNING: N_("running"),
    TaskState.PAUSED: N_("paused"),
    TaskState.WAITING: N_("waits for you"),
    TaskState.DONE: N_("done"),
    TaskState.FAILED: N_("failed"),
    TaskState.CANCELLED: N_("cancelled"),
}
_KEYRING_TEXTS = {
    "none": N_("No system keyring is available"),
    "untrusted": N_("This keyring does not protect its contents, or is not known to protect them"),
    "timeout": N_("The keyring did not answer in time (it may be waiting for its own password)"),
    "locked": N_("The keyring is locked"),
    "failed": N_("The keyring failed"),
    "changed": N_("This is not the keyring that holds this vault's key"),
    "lost": N_("The keyring no longer holds this vault's key"),
    "not_kept": N_("The keyring did not store the key"),
    "not_for_this_room": N_("The keyring cannot unlock this room"),
}
_BAD_ENGINE_TEXTS = {
    "name": N_("{engine} is not a valid name: use up to 60 letters, digits, `.`, `_` and `-`."),
    "url": N_("The address of {engine} is not valid: it has to look like http://127.0.0.1:11434."),
    "model": N_("No model named: write {engine}:MODEL."),
    "key": N_("The key of {engine} is not valid: it has to be one line of printable characters."),
}
_ENGINE_ANSWER_TEXTS = {
    "json": N_("Its answer is not JSON. Nothing was lost."),
    "shape": N_("Its answer does not follow the OpenAI API. Nothing was lost."),
    "size": N_("Its answer is too large. Nothing was lost."),
    "line": N_("A line of its answer is too long. Nothing was lost."),
    "encoding": N_("Its answer is compressed, although that was not asked for. Nothing was lost."),
    "redirect": N_("It points to another address, which is not followed. Nothing was lost."),
    "vectors": N_("Its vectors cannot be used: their number, length or values are wrong. Nothing was lost."),
}
_REFUSAL_TEXTS = {
    "missing": N_("The file does not exist."),
    "unreadable": N_("The file cannot be opened."),
    "not_a_file": N_("It is not a regular file."),
    "not_a_folder": N_("It is not a folder."),
    "too_large": N_("It is larger than {limit}."),
    "too_much_text": N_("It contains more than {limit} characters of text."),
    "too_many_pages": N_("It has more than {limit} pages."),
    "too_slow": N_("It could not be read within {limit} seconds."),
    "too_much_memory": N_("Reading it needs more than {limit} of memory."),
    "not_text": N_("It is not text."),
    "empty": N_("It contains no text."),
    "pictures": N_("Its pages are pictures without text."),
    "partly_pictures": N_("{limit} pages are pictures without text."),
    "encrypted": N_("It is password-protected."),
    "damaged": N_("It is damaged."),
    "changed": N_("It was changed while it was read."),
    "outdated": N_("It has changed since it was read as a document."),
    "unknown_format": N_("Atlas does not read this format."),
    "no_text": N_("It contains no text."),
    "too_many_rows": N_("It has more than {limit} rows."),
    "too_deep": N_("Its parts are nested too deeply."),
    "unpacks_too_large": N_(
        "It contains more than {limit} of packed data, or data that is packed suspiciously."
    ),
    "xml_entities": N_("It declares XML entities, which documents of this kind do not need."),
    "crashed": N_("Reading it crashed the reader, which has been restarted."),
}
_REFUSAL_NEXT_TEXTS = {
    "missing": N_("Check the path."),
    "unreadable": N_("Check that you can read it."),
    "not_a_file": N_("Add the file that it points to."),
    "not_a_folder": N_("Add it as a single file."),
    "too_large": N_("Add a part of it."),
    "too_much_text": N_("Add a part of it."),
    "too_many_pages": N_("Add a part of it."),
    "too_slow": N_("Add a part of it, or its text."),
    "too_much_memory": N_("Add a part of it, or its text."),
    "not_text": N_("docs/documents.md lists the formats that Atlas reads."),
    "empty": N_("Nothing needs to be done."),
    "pictures": N_("Run text recognition in another program first."),
    "partly_pictures": N_("Run text recognition in another program first."),
    "encrypted": N_("Save a copy without a password and add it."),
    "damaged": N_("Save it again in the original program."),
    "changed": N_("Try again when it is no longer being written."),
    "outdated": N_("Add the file again to read what it contains now."),
    "unknown_format": N_("docs/documents.md lists the formats that Atlas reads."),
    "no_text": N_("Run text recognition in another program first."),
    "too_many_rows": N_("Add a part of it."),
    "too_deep": N_("Save it again in the original program."),
    "unpacks_too_large": N_("Add a part of it, or its text."),
    "xml_entities": N_("Save it again in the original program."),
    "crashed": N_("Save it again in the original program."),
}
_ATTACHMENT_NEXT_TEXTS = {
    "not_a_file": N_("Attach its files one by one."),
    "too_large": N_("Attach a part of it."),
    "too_much_text": N_("Attach a part of it."),
    "too_many_pages": N_("Attach a part of it."),
    "too_many_rows": N_("Attach a part of it."),
    "too_slow": N_("Attach a part of it, or its text."),
    "too_much_memory": N_("Attach a part of it, or its text."),
    "unpacks_too_large": N_("Attach a part of it, or its text."),
    "not_text": N_("Attach text, code, a PDF or a document of an office program."),
    "empty": N_("Attach text, code, a PDF or a document of an office program."),
    "encrypted": N_("Save a copy without a password and attach it."),
}
"""Where the next step differs from that of a document of the library."""
_MODEL_DAMAGED_TEXTS = {
    "title": N_("The model file is damaged"),
    "chat": N_("{file} is no longer a complete model{detail}. You can still read your conversations."),
    "embedding": N_(
        "{file} is no longer a complete model{detail}. Until you replace it, search finds "
        "messages by words, not by meaning."
    ),
    "next": N_(
        "`atlas models pull {ref}` downloads it again. If it came from your own file, `atlas "
        "models import FILE --name {ref}` imports it again."
    ),
}
_MERGE_TEXTS = {
    "same": N_("Name at least two different conversations, each only once."),
    "mode": N_(
        "Their memory modes differ. A merge would mix content kept out of memory with content that is not."
    ),
    "binned": N_("One of them is in the bin."),
    "writing": N_("One of them is still receiving a reply."),
    "room": N_("They are in different rooms, and private content cannot leave its room this way."),
}
_UNSAFE_HOME_TEXTS = {
    "title": N_("The home folder is not safe to use"),
    "writable": N_(
        "Other users of this computer can write to {path}, so its contents cannot be trusted. No "
        "changes were made."
    ),
    "writable_next": N_("Remove write access: chmod go-w {path}"),
    "owner": N_("{path} belongs to another user. No changes were made."),
    "owner_next": N_(
        'Take ownership (sudo chown -R "$(id -un)" {path}), or choose another home folder with --home.'
    ),
    "link": N_("{path} is a symbolic link, so Atlas would write somewhere else. No changes were made."),
    "link_next": N_("Remove the link: rm {path}"),
    "kind": N_("{path} should be a file, but it is a folder, pipe, socket or device. No changes were made."),
    "kind_next": N_("Move it away: mv {path} {path}.aside"),
}
_UNSAFE_HOME_NEXT_TEXTS = {
    "writable": N_("Remove write access: chmod go-w {path}"),
    "owner": N_(
        'Take ownership (sudo chown -R "$(id -un)" {path}), or choose another home folder with --home.'
    ),
    "link": N_("Remove the link: rm {path}"),
    "kind": N_("Move it away: mv {path} {path}.aside"),
}
_QUERY_TEXTS = {
    "try": N_("{what}. Try: {options}."),
    "no_word": N_("It contains no word to search for"),
    "no_question": N_("A question is missing after ~"),
    "nothing_beside_or": N_("OR needs a term on each side; one side is empty"),
    "nothing_after_not": N_("NOT excludes what follows it, but nothing follows"),
    "unknown_field": N_("Unknown condition"),
    "unknown_value": N_("Unknown value for this condition"),
    "no_value": N_("A value is missing after the colon"),
    "not_a_date": N_("Invalid date"),
    "too_long": N_("It is too long"),
    "too_many": N_("It has too many parts"),
    "too_deep": N_("Its brackets are nested too deeply"),
}


def _keyring(e: memory.KeyringUnavailable) -> Explained:
    reason = e.reason if e.reason in _KEYRING_TEXTS else "failed"
    trouble = _(_KEYRING_TEXTS[reason])
    return explanation("keyring_unavailable", Exit.LOCKED, trouble=trouble, where=aside(e.backend))


def _upgrade(e: memory.UpgradeFailed) -> Explained:
    return explanation(
        "upgrade_failed",
        sessions_held=e.held[0],
        messages_held=e.held[1],
        sessions_made=e.made[0],
        messages_made=e.made[1],
    )


def _not_found(code: str) -> Callable[[Any], Explained]:
    return lambda e: explanation(code, what=_("There is nothing with the ID {ref}.", ref=e.ref))


_MEMORY: Words = {
    memory.VaultMissing: named("no_vault", Exit.LOCKED),
    memory.VaultExists: named("vault_exists"),
    memory.WrongPassphrase: named("wrong_passphrase", Exit.LOCKED),
    memory.TooManyAttempts: lambda e: explanation("too_many_attempts", Exit.LOCKED, seconds=e.seconds),
    memory.RecoveryKeyMistyped: named("recovery_key_mistyped", Exit.LOCKED),
    memory.WrongRecoveryKey: named("wrong_recovery_key", Exit.LOCKED),
    memory.KeyslotsMissing: lambda e: explanation("keyslots_missing", Exit.DAMAGED, file=f"{e.room}.keys"),
    memory.KeyslotsDamaged: named("keyslots_damaged", Exit.DAMAGED),
    memory.WeakPassphrase: lambda e: explanation("weak_passphrase", Exit.USAGE, minimum=e.minimum),
    memory.KeyringUnavailable: _keyring,
    memory.KeyringOff: named("locked", Exit.LOCKED),
    memory.RoomMissing: named("room_missing", Exit.DAMAGED),
    memory.NotARoom: lambda e: explanation("not_a_room", Exit.DAMAGED, file=e.path.name),
    memory.FutureSchema: lambda e: explanation("future_schema", found=e.found, known=e.known),
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
    memory.AmbiguousId: lambda e: explanation("ambiguous_id", Exit.USAGE, matches=e.matches, ref=e.ref),
    memory.BadQuery: lambda e: explanation("bad_query", Exit.USAGE, detail=e.detail),
    memory.ContextTooSmall: lambda e: explanation(
        "message_too_long" if e.in_parts else "instructions_too_long", needed=e.needed, limit=e.limit
    ),
}


_BACKUPS: Words = {
    memory.NotABackup: lambda e: explanation("not_a_backup", Exit.DAMAGED, detail=e.detail),
    memory.BackupDamaged: lambda e: explanation("backup_damaged", Exit.DAMAGED, detail=e.detail),
    memory.FutureBackup: lambda e: explanation("future_backup", found=e.found, known=e.known),
    memory.WrongBackupPassphrase: named("wrong_backup_passphrase", Exit.LOCKED),
    memory.OutputRefused: lambda e: explanation("output_refused", detail=e.detail),
    memory.NothingToSalvage: named("nothing_to_salvage"),
    memory.NothingReadable: lambda e: explanation(
        "nothing_readable", Exit.DAMAGED, room=room_name(e.room), pages=e.pages, bad_pages=e.bad_pages
    ),
    memory.ExchangeUnfinished: named("exchange_unfinished"),
}


_SYNC: Words = {
    memory.NotSynced: named("not_synced"),
    memory.AlreadySynced: named("already_synced", Exit.USAGE),
    memory.SyncFolderMissing: lambda e: explanation("sync_folder_missing", path=e.path),
    memory.SyncFolderUnusable: lambda e: explanation("sync_folder_unusable", path=e.path, detail=e.detail),
    memory.SyncFolderInHome: named("sync_folder_in_home", Exit.USAGE),
    memory.SyncCodeMistyped: named("sync_code_mistyped", Exit.USAGE),
    memory.InvitationNotFound: named("invitation_not_found"),
    memory.InvitationExpired: named("invitation_expired"),
    memory.InvitationWithoutPrivate: named("invitation_without_private"),
    memory.SyncDeviceNotFound: lambda e: explanation("sync_device_not_found", Exit.USAGE, ref=e.ref),
    memory.SyncDeviceIsOwn: named("sync_device_is_own", Exit.USAGE),
    memory.SyncDeviceRemoved: named("sync_device_removed"),
    memory.SyncPaused: named("sync_paused"),
}


_SIZES = {Refusal.TOO_LARGE, Refusal.TOO_MUCH_MEMORY, Refusal.UNPACKS_TOO_LARGE}


def _refusal(e: FileRefused) -> str:
    limit = size(e.limit) if e.reason in _SIZES else number(e.limit)
    return _(_REFUSAL_TEXTS[e.reason.value], limit=limit)


def _attachment(e: AttachmentRefused) -> Explained:
    reason = e.reason.value
    return Explained(
        f"attachment_{reason}",
        _("This file cannot be attached"),
        _("{name}: {why} No changes were made.", name=e.name, why=_refusal(e)),
        _(_ATTACHMENT_NEXT_TEXTS.get(reason, _REFUSAL_NEXT_TEXTS[reason])),
        Exit.USAGE,
    )


def _document(e: DocumentRefused) -> Explained:
    partly = e.reason is Refusal.PARTLY_PICTURES
    return Explained(
        f"document_{e.reason.value}",
        _("Some pages cannot be read") if partly else _("This file cannot be read"),
        f"{e.name}: {_refusal(e)}",
        _(_REFUSAL_NEXT_TEXTS[e.reason.value]),
        Exit.USAGE,
    )


def _no_such(code: str) -> Callable[[Any], Explained]:
    return lambda e: explanation(code, what=_("There is nothing called “{ref}”.", ref=e.ref))


def _skill_version(e: memory.SkillVersionNotFound) -> Explained:
    earlier = None if e.number else _("The skill has no earlier version. No changes were made.")
    return explanation("skill_version_not_found", Exit.USAGE, what=earlier, number=e.number)


_CONVERSATION: Words = {
    AttachmentRefused: _attachment,
    DocumentRefused: _document,
    memory.AttachmentNotFound: _no_such("attachment_not_found"),
    memory.DocumentNotFound: _no_such("document_not_found"),
    memory.DocumentEmpty: named("document_empty"),
    memory.DocumentHasFile: named("document_has_file", Exit.USAGE),
    memory.FolderNotFound: _no_such("folder_not_found"),
    memory.NothingToWrite: named("nothing_to_write"),
    memory.NoteNotFound: _no_such("note_not_found"),
    memory.NoteTitleTaken: lambda e: explanation("note_title_taken", Exit.USAGE, title=e.title),
    memory.TitleMissing: named("title_missing", Exit.USAGE),
    memory.VersionNotFound: lambda e: explanation("version_not_found", Exit.USAGE, number=e.number),
    memory.TaskNotFound: _no_such("task_not_found"),
    memory.TaskInState: lambda e: explanation(
        "task_in_state", Exit.USAGE, state=task_state_text(TaskState(e.state))
    ),
    memory.BriefMissing: named("brief_missing", Exit.USAGE),
    memory.SkillNotFound: _no_such("skill_not_found"),
    memory.SkillInvalid: lambda e: explanation("skill_invalid", Exit.USAGE, reason=fault_text(e.fault)),
    memory.SkillNameTaken: lambda e: explanation("skill_name_taken", Exit.USAGE, name=e.name),
    memory.SkillHasNoDraft: lambda e: explanation("skill_has_no_draft", Exit.USAGE, name=e.name),
    memory.SkillVersionNotFound: _skill_version,
    memory.PersonaNotFound: _no_such("persona_not_found"),
    memory.TemplateNotFound: _no_such("template_not_found"),
    memory.ClientNotFound: _no_such("client_not_found"),
    memory.NameTaken: lambda e: explanation("name_taken", Exit.USAGE, name=e.name),
}


_EXPORTING: Words = {
    TargetExists: lambda e: explanation("target_exists", Exit.USAGE, path=e.path),
    TargetRefused: lambda e: explanation("target_refused", Exit.USAGE, path=e.path, reason=e.reason),
    BadRecipient: named("bad_recipient", Exit.USAGE),
    NothingToExport: named("nothing_to_export", Exit.FAILED),
}


_NAMED = 3


def _unknown_export(e: UnknownExport) -> Explained:
    next_step = (
        _(
            "Use an unmodified export from {programs}, or Markdown or JSON lines; --format selects which.",
            programs=_either(programs()),
        )
        if e.alien
        else None
    )
    return explanation("unknown_export", next_step=next_step, reasons=_reasons(e))


def _either(names: list[str]) -> str:
    return _("{names} or {last}", names=", ".join(names[:-1]), last=names[-1])


_IMPORTING: Words = {UnknownExport: _unknown_export}


def _reasons(error: UnknownExport) -> str:
    """Returns what is wrong with each file, as far as it is known."""
    lines = [_("{names}: {why}.", names=one.where, why=one.why) for one in error.broken[:_NAMED]]
    if (more := len(error.broken) - len(lines) + error.more) > 0:
        lines.append(_("{count} more cannot be read either.", count=number(more)))
    natures: dict[str, list[str]] = {}
    for one in error.alien:
        natures.setdefault(one.why or _("Atlas cannot read its format"), []).append(one.where)
    lines += [_("{names}: {why}.", names=_some(names), why=why) for why, names in natures.items()]
    return " ".join(lines)


def _some(names: list[str]) -> str:
    some = ", ".join(names[:_NAMED])
    more = len(names) - _NAMED
    return _("{names} and {more} more", names=some, more=more) if more > 0 else some


def _crashed(e: models.WorkerCrashed) -> Explained:
    how = ""
    if e.code is not None and e.code < 0:
        try:
            how = signal.Signals(-e.code).name
        except ValueError:
            how = _("signal {number}", number=-e.code)
    elif e.code is not None:
        how = _("status {number}", number=e.code)
    return explanation("model_crashed", how=aside(how))


def _file(code: str) -> Callable[[models.ModelFileError], Explained]:
    return lambda e: explanation(code, file=e.path.name, detail=aside(e.detail))


def _unknown_model(e: models.UnknownModel) -> Explained:
    if not e.suggestions:
        return explanation("unknown_model", ref=e.ref)
    near = ", ".join(e.suggestions)
    return explanation(
        "unknown_model",
        what=_(
            "No model called {ref} is installed or in the catalogue. Did you mean {near}?",
            ref=e.ref,
            near=near,
        ),
    )


def _no_model(e: models.NoModel) -> Explained:
    what = (
        _("This home folder has no chat model. You can still read your conversations.")
        if e.role == "chat"
        else _("This home folder has no embedding model. You can still read your conversations.")
    )
    return explanation("no_model", Exit.NO_MODEL, what=what)


def _damaged_model(e: models.ModelDamaged) -> Explained:
    role = "chat" if e.role == "chat" else "embedding"
    what = _(_MODEL_DAMAGED_TEXTS[role], file=e.path.name, detail=aside(e.detail))
    return explanation("model_damaged", Exit.NO_MODEL, what=what, ref=e.ref)


def _unknown_engine(e: models.UnknownEngine) -> Explained:
    if not e.others:
        return explanation("unknown_engine", Exit.USAGE, engine=e.engine)
    what = _(
        "No engine called {engine} is in the settings. There are: {others}.",
        engine=e.engine,
        others=", ".join(e.others),
    )
    return explanation("unknown_engine", Exit.USAGE, what=what)


def _engine(code: str) -> Callable[[models.EngineError], Explained]:
    return lambda e: explanation(code, engine=e.engine)


def _engine_failed(e: models.EngineFailed) -> Explained:
    code = "engine_busy" if isinstance(e, models.EngineBusy) else "engine_failed"
    return explanation(code, engine=e.engine, status=e.status, detail=aside(clean_line(e.detail)))


def _bad_engine(e: models.BadEngine) -> Explained:
    return explanation(
        "bad_engine",
        Exit.USAGE,
        what=_(_BAD_ENGINE_TEXTS.get(e.reason, _BAD_ENGINE_TEXTS["url"]), engine=e.engine),
    )


def _engine_answer(e: models.EngineBadAnswer) -> Explained:
    what = _(_ENGINE_ANSWER_TEXTS.get(e.detail, _ENGINE_ANSWER_TEXTS["shape"]))
    return explanation("engine_bad_answer", engine=e.engine, what=what)


_MODELS: Words = {
    models.ModelFileMissing: _file("model_file_missing"),
    models.NotGguf: _file("not_gguf"),
    models.DamagedGguf: _file("damaged_gguf"),
    models.TruncatedGguf: _file("truncated_gguf"),
    models.WrongChecksum: _file("wrong_checksum"),
    models.UnknownArchitecture: _file("unknown_architecture"),
    models.ModelLoadFailed: _file("model_load_failed"),
    models.NotEnoughMemory: lambda e: explanation(
        "not_enough_memory", needed=size(e.needed), available=size(e.available)
    ),
    models.NotEnoughDisk: lambda e: explanation("disk_space", needed=size(e.needed), free=size(e.free)),
    models.UnknownModel: _unknown_model,
    models.ModelNotInstalled: lambda e: explanation("model_not_installed", ref=e.ref),
    models.NoModel: _no_model,
    models.ModelDamaged: _damaged_model,
    models.ModelExists: lambda e: explanation("model_exists", ref=e.ref),
    models.DownloadFailed: lambda e: explanation("download_failed", source=e.source, detail=e.detail),
    models.WorkerCrashed: _crashed,
    models.WorkerUnresponsive: named("model_unresponsive"),
    models.PromptTooLong: lambda e: explanation("prompt_too_long", tokens=e.tokens, limit=e.limit),
    models.TemplateFailed: named("template_failed"),
    models.BadGrammar: named("bad_grammar"),
    models.WorkerFault: lambda e: explanation("model_fault", detail=e.detail),
    models.StateNotHeld: named("state_not_held"),
    models.StateRefused: lambda e: explanation("state_refused", detail=e.detail),
    models.ProtocolError: named("model_protocol"),
    models.UnknownEngine: _unknown_engine,
    models.BadEngine: _bad_engine,
    models.EngineUnreachable: lambda e: explanation("engine_unreachable", engine=e.engine, host=e.host),
    models.EngineSilent: lambda e: explanation(
        "engine_silent", engine=e.engine, seconds=number(round(e.seconds))
    ),
    models.EngineCutOff: _engine("engine_cut_off"),
    models.EngineBadAnswer: _engine_answer,
    models.EngineFailed: _engine_failed,
    models.EngineBusy: _engine_failed,
    models.EngineKeyRefused: _engine("engine_key_refused"),
    models.EngineModelUnknown: lambda e: explanation(
        "engine_model_unknown", Exit.NO_MODEL, engine=e.engine, model=clean_line(e.model)
    ),
    models.EngineNotAllowed: lambda e: explanation("engine_not_allowed", engine=e.engine, host=e.host),
    models.EngineNotLocal: _engine("engine_not_local"),
}


def _cannot_merge(e: memory.CannotMerge) -> Explained:
    reason = e.reason if e.reason in _MERGE_TEXTS else "same"
    return explanation("cannot_merge", Exit.USAGE, why=_(_MERGE_TEXTS[reason]))


_ORGANISING: Words = {
    memory.ProjectNotFound: named("project_not_found", Exit.USAGE),
    memory.ProjectExists: named("project_exists", Exit.USAGE),
    memory.CannotMerge: _cannot_merge,
}


def _system(error: OSError) -> Explained:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return explanation("disk_full")
    return explanation("system", reason=error.strerror or type(error).__name__)


def _running(e: AlreadyRunning) -> Explained:
    who = aside(e.holder and _("process {id}", id=e.holder))
    return explanation("already_running", who=who)


def _unsafe(e: UnsafeHome) -> Explained:
    where = shlex.quote(str(e.path))
    return explanation(
        "unsafe_home",
        what=_(_UNSAFE_HOME_TEXTS[e.danger], path=e.path),
        next_step=_(_UNSAFE_HOME_NEXT_TEXTS[e.danger], path=where),
    )


def _setting(e: SettingsError) -> Explained:
    if not e.variable and e.where.startswith(f"{KEYS}."):
        next_step = _(
            "`atlas config set {where}` resets it to its default; `atlas config edit` opens the file.",
            where=e.where,
        )
        return explanation("bad_setting", Exit.USAGE, next_step=next_step, where=e.where, reason=e.reason)
    if not e.variable:
        return explanation("bad_setting", Exit.USAGE, where=e.where, reason=e.reason)
    return explanation(
        "bad_setting",
        Exit.USAGE,
        what=_(
            "Environment variable {variable} ({where}): {reason}.",
            variable=e.variable,
            where=e.where,
            reason=e.reason,
        ),
        next_step=_("Set a valid value or unset the variable. Without it, the file or the default applies."),
    )


_CLIENT_TEXTS = {
    "name": N_("A name may have up to 40 characters: letters, digits, `.`, `_` and `-`."),
    "scopes": N_("The scopes are chat, recall, documents and remember; give at least one."),
    "rate": N_("The rate is between 1 and 6,000 requests a minute."),
}


_PROGRAM: Words = {
    SettingsError: _setting,
    UnknownSetting: lambda e: explanation("unknown_setting", Exit.USAGE, where=e.where),
    UsageError: lambda e: explanation("usage", Exit.USAGE, what=str(e), next_step=e.next_step),
    AlreadyRunning: _running,
    BadClient: lambda e: explanation("bad_client", Exit.USAGE, why=_(_CLIENT_TEXTS[e.reason])),
    DoorRefused: lambda e: explanation(f"door_{e.reason}", **e.facts),
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
    """Returns what is wrong with a query and what would be understood, in one line."""
    what = _(_QUERY_TEXTS[fault.trouble])
    if fault.options:
        return _("{what}. Try: {options}.", what=what, options=", ".join(fault.options))
    return _("{what}.", what=what)


def _unclear(fault: Any) -> Explained:
    at, what = fault.at + 1, unclear(fault)
    far = fault.until > at
    return explanation(
        "bad_query",
        Exit.USAGE,
        what=_("Character {at} to {until}: {what}", at=at, until=fault.until, what=what)
        if far
        else _("Character {at}: {what}", at=at, what=what),
        next_step=_("To search for a word with a colon, put it in double quotes.")
        if fault.trouble in _OF_A_COLON
        else _('A search can contain words, "phrases", -word, OR, and conditions such as tag:work.'),
    )


_SEARCH: Words = {
    memory.QueryUnclear: _unclear,
    memory.SavedSearchNotFound: lambda fault: explanation("saved_search_not_found", ref=fault.ref),
}


WORDS: Words = {
    **_MEMORY,
    **_BACKUPS,
    **_SYNC,
    **_CONVERSATION,
    **_EXPORTING,
    **_IMPORTING,
    **_MODELS,
    **_ORGANISING,
    **_PROGRAM,
    **_SEARCH,
}


def explain(error: BaseException) -> Explained:
    """Returns the text for any error.

    An unknown error gets a general text with the type's name, and no content.
    """
    for kind in type(error).__mro__:
        words = WORDS.get(kind)
        if words is not None:
            return words(error)
    return explanation("unexpected", kind=type(error).__name__)


_REFUSALS = frozenset(one.value for one in Refusal)


def document_error(document: "Document") -> Explained:
    """Returns why a document could not be read, in full or in part. It must have an error."""
    if document.error is None:
        raise ValueError(document.id)
    return refusal_text(PurePath(document.path).name, document.error)


def refusal_text(name: str, error: "DocumentError") -> Explained:
    # A newer version of Atlas may have stored a reason that this one does not know.
    reason = Refusal(error.reason) if error.reason in _REFUSALS else Refusal.UNREADABLE
    return explain(DocumentRefused(name, reason, error.limit))


def fault_text(fault: str) -> str:
    """Returns why something cannot be a skill."""
    return _(_FAULTS[fault])


def task_state_text(state: TaskState) -> str:
    return _(_TASK_STATES[state])
