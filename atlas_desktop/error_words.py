"""The one place where errors become words."""

import signal
from collections.abc import Callable
from typing import Any

from atlas_desktop.explain import AlreadyRunning, Exit, Explained, UsageError, size
from atlas_desktop.settings import SettingsError, UnknownSetting
from memory import errors as memory
from models import errors as models


def _named(code: str, title: str, message: str, next_step: str, status: Exit = Exit.FAILED) -> Any:
    explained = Explained(code, title, message, next_step, status)
    return lambda _error: explained


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
        "Put back the file that belongs here, or a backup of the whole home.",
        Exit.DAMAGED,
    )


def _crashed(e: models.WorkerCrashed) -> Explained:
    how = ""
    if e.code is not None and e.code < 0:
        try:
            how = f" ({signal.Signals(-e.code).name})"
        except ValueError:
            how = f" (signal {-e.code})"
    elif e.code is not None:
        how = f" (status {e.code})"
    return Explained(
        "model_crashed",
        "The model process stopped",
        f"The process that runs the model ended unexpectedly{how}. Your words are saved, and so is the part "
        "of the reply that had come.",
        "Send again: the model is started anew by itself. If it keeps happening, try a smaller model.",
    )


def _file(code: str, title: str, text: str, next_step: str) -> Callable[[models.ModelFileError], Explained]:
    def words(e: models.ModelFileError) -> Explained:
        detail = f" ({e.detail})" if e.detail else ""
        return Explained(code, title, f"{e.path.name} {text}{detail}.", next_step)

    return words


def _future(e: memory.FutureSchema) -> Explained:
    return Explained(
        "future_schema",
        "This vault was written by a newer Atlas",
        f"Its format is {e.found}; this program knows up to {e.known}. It was not changed.",
        "Install the newer version of Atlas to open it.",
    )


def _ambiguous(e: memory.AmbiguousId) -> Explained:
    return Explained(
        "ambiguous_id",
        "More than one thing has an id like that",
        f"{e.matches} ids begin with {e.ref}.",
        "Give more characters of the id.",
        Exit.USAGE,
    )


def _not_found(what: str) -> Callable[[Any], Explained]:
    def words(e: Any) -> Explained:
        return Explained(
            f"{what}_not_found",
            f"There is no such {what}",
            f"Nothing here has the id {e.ref}.",
            "`atlas sessions list` shows what there is; `--binned` shows the bin.",
        )

    return words


def _too_small(e: memory.ContextTooSmall) -> Explained:
    return Explained(
        "message_too_long",
        "This message is too long for the model",
        f"With the instructions and room for a reply it needs {e.needed} tokens; the model reads {e.limit}. "
        "The message is saved; nothing was cut.",
        "Send it in parts, allow a shorter reply, or choose a model with a longer context.",
    )


def _prompt_too_long(e: models.PromptTooLong) -> Explained:
    return Explained(
        "prompt_too_long",
        "The conversation is too long for the model",
        f"The prompt has {e.tokens} tokens; the model reads {e.limit}. Your message is saved.",
        "Start a new conversation, or choose a model with a longer context.",
    )


def _unknown_model(e: models.UnknownModel) -> Explained:
    hint = f" Did you mean {', '.join(e.suggestions)}?" if e.suggestions else ""
    return Explained(
        "unknown_model",
        "There is no such model",
        f"No model called {e.ref} is installed or in the catalogue.{hint}",
        "`atlas models list --all` shows the catalogue; `atlas models import FILE` adds a file of yours.",
    )


def _no_model(e: models.NoModel) -> Explained:
    kind = "chat" if e.role == "chat" else "embedding"
    return Explained(
        "no_model",
        "There is no model yet",
        f"No {kind} model is installed in this home. Your conversations can still be read.",
        "`atlas models recommend` shows what fits this machine; `atlas models pull ID` fetches it.",
        Exit.NO_MODEL,
    )


def _space(e: models.NotEnoughDisk) -> Explained:
    return Explained(
        "disk_space",
        "There is not enough disk space",
        f"{size(e.needed)} are needed, {size(e.free)} are free. Nothing was written.",
        "Free some space, or choose a smaller model.",
    )


def _ram(e: models.NotEnoughMemory) -> Explained:
    return Explained(
        "not_enough_memory",
        "The model is too large for this machine's memory",
        f"It needs about {size(e.needed)}; {size(e.available)} are available.",
        "Choose a smaller model: `atlas models recommend` shows what fits.",
    )


def _download(e: models.DownloadFailed) -> Explained:
    return Explained(
        "download_failed",
        "The download did not finish",
        f"{e.source}: {e.detail}. What came is kept.",
        "Try again with the same command: it goes on where it stopped.",
    )


def _running(e: AlreadyRunning) -> Explained:
    who = f" (process {e.holder})" if e.holder else ""
    return Explained(
        "already_running",
        "Atlas is already open with this home",
        f"Another Atlas{who} holds it, and two would write over each other. Nothing was changed.",
        "Use the other window, or close it first.",
    )


def _setting(e: SettingsError) -> Explained:
    return Explained(
        "bad_setting",
        "A setting cannot be used",
        f"{e.where}: {e.reason}. The file was left as it is.",
        "`atlas config list` shows every setting with its bounds; `atlas config edit` opens the file.",
        Exit.USAGE,
    )


_OTHER_WAY_IN = "Try again, or use your recovery key: `atlas vault change-passphrase --recovery-key`."

WORDS: dict[type[BaseException], Callable[[Any], Explained]] = {
    memory.VaultMissing: _named(
        "no_vault",
        "There is no vault yet",
        "Nothing has been set up in this home.",
        "Run `atlas` for the guided start, or `atlas vault create`.",
        Exit.LOCKED,
    ),
    memory.VaultExists: _named(
        "vault_exists",
        "There already is a vault",
        "This home holds a vault or its data; a new key would make it unreadable. Nothing was changed.",
        "Unlock it, or choose another home with --home.",
    ),
    memory.WrongPassphrase: _named(
        "wrong_passphrase",
        "That passphrase does not open the vault",
        "The key file is sound, the passphrase is another one. Nothing was changed.",
        _OTHER_WAY_IN,
        Exit.LOCKED,
    ),
    memory.RecoveryKeyMistyped: _named(
        "recovery_key_mistyped",
        "The recovery key has a typing error",
        "Its built-in checksum does not hold. Nothing was changed.",
        "Compare it with your note, group by group.",
        Exit.LOCKED,
    ),
    memory.WrongRecoveryKey: _named(
        "wrong_recovery_key",
        "That recovery key belongs to another vault",
        "It is well formed but opens nothing here; a newer one may have replaced it. Nothing was changed.",
        "Look for the newest recovery key of this vault, or use the passphrase.",
        Exit.LOCKED,
    ),
    memory.KeyslotsMissing: _named(
        "keyslots_missing",
        "The key file is missing",
        "There is a database, but neither copy of its key file, without which nobody can open it. "
        "Nothing was changed.",
        "Put rooms/open.keys back from a backup of this home.",
        Exit.DAMAGED,
    ),
    memory.KeyslotsDamaged: _named(
        "keyslots_damaged",
        "The key file is damaged",
        "Neither copy of it can be read, so no passphrase can be checked. Nothing was changed.",
        "Put rooms/open.keys back from a backup of this home.",
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
    memory.KeyringOff: _named(
        "locked",
        "The vault is locked",
        "No passphrase was given, and this vault is not unlocked by the system keyring.",
        "Give --passphrase-file or --passphrase-fd, or run the command in a terminal.",
        Exit.LOCKED,
    ),
    memory.RoomMissing: _named(
        "room_missing",
        "The database is missing",
        "The key file is there, the database it opens is not. Nothing was changed.",
        "Put rooms/open.db back from a backup of this home.",
        Exit.DAMAGED,
    ),
    memory.NotARoom: _not_a_room,
    memory.FutureSchema: _future,
    memory.RoomDamaged: _named(
        "room_damaged",
        "The database is damaged",
        "A page of it cannot be read as it was written. Atlas stopped rather than write over it.",
        "Copy the home to a safe place, then run `atlas vault verify`.",
        Exit.DAMAGED,
    ),
    memory.StorageFull: _named(
        "storage_full",
        "The disk does not take any more",
        "Writing failed: the disk is full or refuses. Everything acknowledged before is saved.",
        "Free some space, then send again.",
    ),
    memory.StorageBusy: _named(
        "storage_busy",
        "Another program holds the database",
        "It stayed locked for too long. Nothing was changed.",
        "Close the other program and try again.",
    ),
    memory.RoomClosed: _named(
        "room_closed",
        "The room is closed",
        "It was locked while this was under way.",
        "Unlock it and try again.",
        Exit.LOCKED,
    ),
    memory.SessionNotFound: _not_found("session"),
    memory.MessageNotFound: _not_found("message"),
    memory.AmbiguousId: _ambiguous,
    memory.BadQuery: lambda e: Explained(
        "bad_query",
        "That search cannot be understood",
        f"{e.detail}.",
        "Search for one or more words; put a phrase in double quotes.",
        Exit.USAGE,
    ),
    memory.ContextTooSmall: _too_small,
    models.ModelFileMissing: _file(
        "model_file_missing",
        "The model file is not there",
        "cannot be found, or is not a file",
        "Check the path; `atlas models list` shows what is installed.",
    ),
    models.NotGguf: _file(
        "not_gguf",
        "This is not a GGUF model",
        "does not begin like a GGUF file",
        "Atlas runs models in the GGUF format; look for a .gguf download of the model.",
    ),
    models.DamagedGguf: _file(
        "damaged_gguf",
        "The model file is damaged",
        "has a header that contradicts itself",
        "Download it again.",
    ),
    models.TruncatedGguf: _file(
        "truncated_gguf",
        "The model file is incomplete",
        "ends too early",
        "Its download was cut short: download it again.",
    ),
    models.WrongChecksum: _file(
        "wrong_checksum",
        "The model file is not what it should be",
        "has another checksum than its source states, so it was not used",
        "Download it again; if it happens again, the source has changed.",
    ),
    models.UnknownArchitecture: _file(
        "unknown_architecture",
        "This kind of model is not known here",
        "is of an architecture that the built-in llama.cpp does not know",
        "Update Atlas, or choose a model from `atlas models list --all`.",
    ),
    models.ModelLoadFailed: _file(
        "model_load_failed",
        "The model could not be loaded",
        "was refused by llama.cpp",
        "`atlas models verify` checks the file; try another model if it is sound.",
    ),
    models.NotEnoughMemory: _ram,
    models.NotEnoughDisk: _space,
    models.UnknownModel: _unknown_model,
    models.NoModel: _no_model,
    models.ModelExists: lambda e: Explained(
        "model_exists",
        "A model of that name is already there",
        f"{e.ref} is installed and its content differs.",
        "Give the new one another name with --name, or remove the old one first.",
    ),
    models.DownloadFailed: _download,
    models.WorkerCrashed: _crashed,
    models.WorkerUnresponsive: _named(
        "model_unresponsive",
        "The model does not answer",
        "Its process gave no sign of life in time and was ended. Your words are saved.",
        "Send again; a smaller model loads faster. models.load_timeout_s sets the limit.",
    ),
    models.PromptTooLong: _prompt_too_long,
    models.TemplateFailed: _named(
        "template_failed",
        "The model's chat template cannot be used",
        "The template inside the model file refuses this conversation or takes too long.",
        "Choose another model; this one was not made for chat.",
    ),
    models.WorkerFault: lambda e: Explained(
        "model_fault",
        "The model could not do that",
        f"The model process met an error ({e.detail}). Your words are saved, and so is what had come.",
        "Send again; if it keeps happening, try another model.",
    ),
    models.ProtocolError: _named(
        "model_protocol",
        "The model process and Atlas disagree",
        "A message between them could not be read; the process was ended. Your words are saved.",
        "Send again. If it keeps happening, reinstall Atlas.",
    ),
    SettingsError: _setting,
    UnknownSetting: lambda e: Explained(
        "unknown_setting",
        "There is no such setting",
        f"Nothing is called {e.where}.",
        "`atlas config list` shows every setting.",
        Exit.USAGE,
    ),
    UsageError: lambda e: Explained("usage", "That does not work", str(e), e.next_step, Exit.USAGE),
    AlreadyRunning: _running,
    KeyboardInterrupt: _named(
        "interrupted",
        "Stopped",
        "The command was interrupted. What was saved before is saved.",
        "Run it again when you like.",
        Exit.INTERRUPTED,
    ),
    OSError: lambda e: Explained(
        "system",
        "The system refused something",
        f"{e.strerror or type(e).__name__}.",
        "Check the permissions and the free space of the home folder.",
    ),
}
