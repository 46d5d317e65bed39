"""The errors of the vault and its rooms.

The exceptions carry facts, never content or keys. The application chooses the text that the user reads.
"""

from pathlib import Path


class MemoryFault(Exception):
    """Base of all errors of this package."""


# --- vault -----------------------------------------------------------------------------------------


class VaultMissing(MemoryFault):
    """No vault has been created in this home."""


class VaultExists(MemoryFault):
    """A vault, or a database whose keys would be lost, already exists."""


class WrongPassphrase(MemoryFault):
    """The passphrase opens no keyslot (the file itself is sound)."""


class TooManyAttempts(MemoryFault):
    """Too many wrong passphrases or recovery keys: the next attempt is accepted only after `seconds`."""

    def __init__(self, seconds: int) -> None:
        super().__init__(seconds)
        self.seconds = seconds


class RecoveryKeyMistyped(MemoryFault):
    """The recovery key fails its own checksum: it was mistyped."""


class WrongRecoveryKey(MemoryFault):
    """The recovery key is well formed but opens no keyslot."""


class KeyslotsMissing(MemoryFault):
    """A room's database exists or existed, but no copy of its keyslot file does."""

    def __init__(self, room: str = "open") -> None:
        super().__init__(room)
        self.room = room


class KeyslotsDamaged(MemoryFault):
    """No copy of the keyslot file can be read."""

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail


class WeakPassphrase(MemoryFault):
    """The passphrase is refused: it is empty or too short."""

    def __init__(self, minimum: int) -> None:
        super().__init__(f"at least {minimum} characters are needed")
        self.minimum = minimum


class KeyringUnavailable(MemoryFault):
    """The system keyring cannot be used: it is absent, refused, locked, slow or untrusted."""

    def __init__(self, backend: str, reason: str) -> None:
        super().__init__(f"{backend}: {reason}")
        self.backend = backend
        self.reason = reason


class KeyringOff(MemoryFault):
    """No keyring slot exists, so a passphrase is needed."""


# --- rooms -----------------------------------------------------------------------------------------


class RoomMissing(MemoryFault):
    """The keyslots exist but the database does not."""

    def __init__(self, path: Path) -> None:
        super().__init__(path.name)
        self.path = path


class NotARoom(MemoryFault):
    """The file does not open with this room's key: it is foreign, damaged or truncated."""

    def __init__(self, path: Path, detail: str = "") -> None:
        super().__init__(detail or path.name)
        self.path = path
        self.detail = detail


class FutureSchema(MemoryFault):
    """The room was written by a newer version of the program."""

    def __init__(self, found: int, known: int) -> None:
        super().__init__(f"schema {found} is newer than {known}")
        self.found = found
        self.known = known


class UpgradeFailed(MemoryFault):
    """The migration of an older room changed its counts; the room was restored.

    `held` and `made` are the numbers of sessions and messages before and after.
    """

    def __init__(self, held: tuple[int, int], made: tuple[int, int]) -> None:
        super().__init__(f"held {held}, made {made}")
        self.held = held
        self.made = made


class RoomDamaged(MemoryFault):
    """The database reported damage during a read or a write."""

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail


class RoomMoved(MemoryFault):
    """The file of an open room was removed or replaced: further writes would be lost at program end."""


class StorageFull(MemoryFault):
    """The disk is full or refuses writes; nothing that was acknowledged is lost."""

    def __init__(self, detail: str = "") -> None:
        super().__init__(detail or "the disk is full")
        self.detail = detail


class StorageBusy(MemoryFault):
    """Another program has locked the database."""


class RoomClosed(MemoryFault):
    """The room was closed (locked) while work was in progress."""


# --- backups ---------------------------------------------------------------------------------------


class NotABackup(MemoryFault):
    """The file is not a backup of this program; `detail` gives the reason."""

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail


class BackupDamaged(MemoryFault):
    """The backup is truncated, or parts of it have changed since they were written."""

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail


class FutureBackup(MemoryFault):
    """The backup was made by a newer version of the program."""

    def __init__(self, found: int, known: int) -> None:
        super().__init__(f"format {found} is newer than {known}")
        self.found = found
        self.known = known


class WrongBackupPassphrase(MemoryFault):
    """The passphrase does not open the backup (the backup itself is sound)."""


class OutputRefused(MemoryFault):
    """The output cannot be written where the user wants it."""

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail


class ProjectNotFound(MemoryFault):
    """No project has this name or id."""

    def __init__(self, ref: str) -> None:
        super().__init__()
        self.ref = ref


class ProjectExists(MemoryFault):
    """Another project, whose id is `project_id`, has this name (case ignored)."""

    def __init__(self, project_id: str) -> None:
        super().__init__(project_id)
        self.project_id = project_id


class CannotMerge(MemoryFault):
    """These sessions cannot be merged: `reason` is one of same, mode, binned, writing, room."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class NothingToSalvage(MemoryFault):
    """The room is sound: there is nothing to salvage."""


class NothingReadable(MemoryFault):
    """Nothing can be salvaged from a damaged room; it was not replaced."""

    def __init__(self, room: str, pages: int, bad_pages: int) -> None:
        super().__init__(f"{bad_pages} of {pages} pages")
        self.room = room
        self.pages = pages
        self.bad_pages = bad_pages


class ExchangeUnfinished(MemoryFault):
    """Another process is replacing these rooms."""


# --- content ---------------------------------------------------------------------------------------


class ParcelUnreadable(MemoryFault):
    """The parcel of a session that was moving between rooms is sealed with another room's key."""


class SessionNotFound(MemoryFault):
    def __init__(self, ref: str) -> None:
        super().__init__(ref)
        self.ref = ref


class SessionBinned(MemoryFault):
    """The session is in the bin; it accepts no new turns until it is restored."""

    def __init__(self, ref: str) -> None:
        super().__init__(ref)
        self.ref = ref


class SummaryNotFound(MemoryFault):
    def __init__(self, ref: str) -> None:
        super().__init__(ref)
        self.ref = ref


class SummaryStale(MemoryFault):
    """A summary whose source has changed was about to enter a new prompt."""

    def __init__(self, ref: str) -> None:
        super().__init__(ref)
        self.ref = ref


class AttachmentNotFound(MemoryFault):
    """The session has no attachment of this name or id."""

    def __init__(self, ref: str) -> None:
        super().__init__()
        self.ref = ref


class DocumentNotFound(MemoryFault):
    """No document of the room has this id or path."""

    def __init__(self, ref: str) -> None:
        super().__init__()
        self.ref = ref


class DocumentEmpty(MemoryFault):
    """The document has no text."""

    def __init__(self, ref: str) -> None:
        super().__init__()
        self.ref = ref


class DocumentHasFile(MemoryFault):
    """The document comes from a file, so its text can be changed only there."""

    def __init__(self, ref: str) -> None:
        super().__init__()
        self.ref = ref


class NothingToWrite(MemoryFault):
    """A conversation from which no document can be made: it has no statement, code or summary."""

    def __init__(self, ref: str) -> None:
        super().__init__()
        self.ref = ref


class FolderNotFound(MemoryFault):
    """No watched folder has this id or path."""

    def __init__(self, ref: str) -> None:
        super().__init__()
        self.ref = ref


class PersonaNotFound(MemoryFault):
    """No persona has this name or id."""

    def __init__(self, ref: str) -> None:
        super().__init__()
        self.ref = ref


class TemplateNotFound(MemoryFault):
    """No template has this name or id."""

    def __init__(self, ref: str) -> None:
        super().__init__()
        self.ref = ref


class ClientNotFound(MemoryFault):
    """No client of the room has this name or id."""

    def __init__(self, ref: str) -> None:
        super().__init__()
        self.ref = ref


class NameTaken(MemoryFault):
    """Another persona, template or client has this name."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name


class MessageNotFound(MemoryFault):
    def __init__(self, ref: str) -> None:
        super().__init__(ref)
        self.ref = ref


class NothingToAnswer(MemoryFault):
    """The user's newest message does not exist, or was forgotten."""


class MemoryNotFound(MemoryFault):
    def __init__(self, ref: str) -> None:
        super().__init__(ref)
        self.ref = ref


class ChangeNotFound(MemoryFault):
    """No change of memories has this id."""

    def __init__(self, ref: str) -> None:
        super().__init__(ref)
        self.ref = ref


class NoteNotFound(MemoryFault):
    """No note has this id, path or title."""

    def __init__(self, ref: str) -> None:
        super().__init__()
        self.ref = ref


class TitleMissing(MemoryFault):
    """A note needs a title, because links use it."""


class NoteTitleTaken(MemoryFault):
    """Another note already has this title, so links would be ambiguous."""

    def __init__(self, title: str, note_id: str) -> None:
        super().__init__(note_id)
        self.title = title
        self.note_id = note_id


class VersionNotFound(MemoryFault):
    """There is no such earlier version."""

    def __init__(self, number: int) -> None:
        super().__init__(str(number))
        self.number = number


class TaskNotFound(MemoryFault):
    """No task has this id."""

    def __init__(self, ref: str) -> None:
        super().__init__()
        self.ref = ref


class TaskInState(MemoryFault):
    """The task is in a `state` that does not allow this."""

    def __init__(self, state: str) -> None:
        super().__init__(state)
        self.state = state


class BriefMissing(MemoryFault):
    """A task needs a brief."""


class SkillNotFound(MemoryFault):
    """No skill has this id or name."""

    def __init__(self, ref: str) -> None:
        super().__init__()
        self.ref = ref


class SkillInvalid(MemoryFault):
    """This is not a valid skill; `fault` is one of `memory.skills.entities.SkillFault`."""

    def __init__(self, fault: str) -> None:
        super().__init__(fault)
        self.fault = fault


class SkillNameTaken(MemoryFault):
    """Another skill has this name."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name


class SkillHasNoDraft(MemoryFault):
    """No version of the skill is waiting for approval."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name


class SkillVersionNotFound(MemoryFault):
    """The skill has no approved version of this number; with 0, none before the one in use."""

    def __init__(self, number: int) -> None:
        super().__init__(str(number))
        self.number = number


class CannotUndo(MemoryFault):
    """A change of memories cannot be undone: it was undone already, or its memories have been changed or
    forgotten since.
    """

    def __init__(self, change_id: str) -> None:
        super().__init__(change_id)
        self.change_id = change_id


class AmbiguousId(MemoryFault):
    """A prefix that matches more than one id."""

    def __init__(self, ref: str, matches: int) -> None:
        super().__init__(ref)
        self.ref = ref
        self.matches = matches


class BadQuery(MemoryFault):
    """A search that cannot be parsed; `detail` gives the reason."""

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail


class QueryUnclear(BadQuery):
    """A query that breaks the rules of its language.

    `trouble` is one of `memory.search.entities.Trouble`. `at` and `until` are character offsets in the text.
    `options` are words of the language that would be valid there. The error contains none of the text.
    """

    def __init__(self, trouble: str, at: int, until: int, options: tuple[str, ...] = ()) -> None:
        super().__init__(trouble)
        self.trouble = trouble
        self.at = at
        self.until = until
        self.options = options


class SavedSearchNotFound(MemoryFault):
    """No query is saved under this name."""

    def __init__(self, ref: str) -> None:
        super().__init__()
        self.ref = ref


class ContextTooSmall(MemoryFault):
    """A single message does not fit the model's context; counts are in tokens.

    `in_parts` says whether it would fit in parts; if not, the instructions before it are too long.
    """

    def __init__(self, needed: int, limit: int, *, in_parts: bool = True) -> None:
        super().__init__(f"{needed} tokens do not fit into {limit}")
        self.needed = needed
        self.limit = limit
        self.in_parts = in_parts


# --- sync ------------------------------------------------------------------------------------------


class NotSynced(MemoryFault):
    """The room is not synced."""


class AlreadySynced(MemoryFault):
    """The room already syncs with another folder."""


class SyncFolderMissing(MemoryFault):
    """The folder to sync with is missing: its stick is not plugged in, or its drive is not mounted."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.path = path


class SyncFolderUnusable(MemoryFault):
    """The folder to sync with cannot be read or written."""

    def __init__(self, path: Path, detail: str) -> None:
        super().__init__(path, detail)
        self.path = path
        self.detail = detail


class SyncFolderInHome(MemoryFault):
    """The folder to sync with is inside the home folder of this program, or contains it."""


class SyncCodeMistyped(MemoryFault):
    """The code fails its own checksum: it was mistyped."""


class InvitationNotFound(MemoryFault):
    """The folder has no invitation for the code: it has expired, or has not been copied yet."""


class InvitationExpired(MemoryFault):
    """The invitation for the code has expired."""


class InvitationWithoutPrivate(MemoryFault):
    """The invitation does not include the private room."""


class SyncDeviceNotFound(MemoryFault):
    """No device of the folder has this id or name."""

    def __init__(self, ref: str) -> None:
        super().__init__(ref)
        self.ref = ref


class SyncDeviceIsOwn(MemoryFault):
    """The device is this one: it can leave the folder, but not be removed from it."""


class SyncDeviceRemoved(MemoryFault):
    """This device was removed from the folder by another one."""


class SyncPaused(MemoryFault):
    """Sync is paused."""
