"""Everything that can go wrong with the vault and its rooms.

The exceptions carry facts, never content or keys; the words a person reads are chosen in the application.
"""

from pathlib import Path


class MemoryFault(Exception):
    """Base of all errors of this package."""


# --- vault -----------------------------------------------------------------------------------------


class VaultMissing(MemoryFault):
    """No vault has been created in this home."""


class VaultExists(MemoryFault):
    """A vault, or a database whose keys would be lost, is already there."""


class WrongPassphrase(MemoryFault):
    """The passphrase opens no slot (the file itself is sound)."""


class TooManyAttempts(MemoryFault):
    """After several wrong passphrases or recovery keys the next may be given in so many seconds only."""

    def __init__(self, seconds: int) -> None:
        super().__init__(seconds)
        self.seconds = seconds


class RecoveryKeyMistyped(MemoryFault):
    """The recovery key's own checksum does not hold: it was mistyped."""


class WrongRecoveryKey(MemoryFault):
    """A well-formed recovery key that opens no slot."""


class KeyslotsMissing(MemoryFault):
    """A room's database exists, or did, but no copy of its keyslot file does."""

    def __init__(self, room: str = "open") -> None:
        super().__init__(room)
        self.room = room


class KeyslotsDamaged(MemoryFault):
    """No copy of the keyslot file can be read."""

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail


class WeakPassphrase(MemoryFault):
    """The passphrase is refused (empty or too short)."""

    def __init__(self, minimum: int) -> None:
        super().__init__(f"at least {minimum} characters are needed")
        self.minimum = minimum


class KeyringUnavailable(MemoryFault):
    """The system keyring cannot be used: absent, refused, locked, slow, or not one that we trust."""

    def __init__(self, backend: str, reason: str) -> None:
        super().__init__(f"{backend}: {reason}")
        self.backend = backend
        self.reason = reason


class KeyringOff(MemoryFault):
    """No keyring slot exists, so a passphrase is needed."""


# --- rooms -----------------------------------------------------------------------------------------


class RoomMissing(MemoryFault):
    """The keyslots are there and the database is not."""

    def __init__(self, path: Path) -> None:
        super().__init__(path.name)
        self.path = path


class NotARoom(MemoryFault):
    """The file does not open with this room's key: it is foreign, damaged or cut short."""

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
    """A room of an earlier schema came out of the upgrade with other than it held; it was put back as it was.

    `held` and `made` are the sessions and messages before and after.
    """

    def __init__(self, held: tuple[int, int], made: tuple[int, int]) -> None:
        super().__init__(f"held {held}, made {made}")
        self.held = held
        self.made = made


class RoomDamaged(MemoryFault):
    """The database reports damage while it is read or written."""

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail


class RoomMoved(MemoryFault):
    """The file of an open room was removed or replaced: what is written would go with the program."""


class StorageFull(MemoryFault):
    """The disk is full or refuses writes; nothing that was acknowledged is lost."""

    def __init__(self, detail: str = "") -> None:
        super().__init__(detail or "the disk is full")
        self.detail = detail


class StorageBusy(MemoryFault):
    """Another program holds the database."""


class RoomClosed(MemoryFault):
    """The room was closed (locked) while work was under way."""


# --- backups ---------------------------------------------------------------------------------------


class NotABackup(MemoryFault):
    """The file is not a backup of this program; `detail` says why."""

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail


class BackupDamaged(MemoryFault):
    """A backup that is cut short, or whose parts are not as they were written."""

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
    """Nothing can be written where the person wants it."""

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail


class ProjectNotFound(MemoryFault):
    """There is no project of this name or id."""

    def __init__(self, ref: str) -> None:
        super().__init__()
        self.ref = ref


class ProjectExists(MemoryFault):
    """Another project has this name, in these or other capitals; `project_id` is that one's."""

    def __init__(self, project_id: str) -> None:
        super().__init__(project_id)
        self.project_id = project_id


class CannotMerge(MemoryFault):
    """These sessions cannot become one: `reason` is one of same, mode, binned, writing, room."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class NothingToSalvage(MemoryFault):
    """The room is sound: there is nothing to be recovered from it."""


class NothingReadable(MemoryFault):
    """Nothing can be brought out of a damaged room: no new one was put in its place."""

    def __init__(self, room: str, pages: int, bad_pages: int) -> None:
        super().__init__(f"{bad_pages} of {pages} pages")
        self.room = room
        self.pages = pages
        self.bad_pages = bad_pages


class ExchangeUnfinished(MemoryFault):
    """Another process is putting other rooms in place of these."""


# --- content ---------------------------------------------------------------------------------------


class ParcelUnreadable(MemoryFault):
    """A session that was on its way between rooms is sealed with another room's key."""


class SessionNotFound(MemoryFault):
    def __init__(self, ref: str) -> None:
        super().__init__(ref)
        self.ref = ref


class SessionBinned(MemoryFault):
    """The session is in the bin; it takes no new turns until it is restored."""

    def __init__(self, ref: str) -> None:
        super().__init__(ref)
        self.ref = ref


class SummaryNotFound(MemoryFault):
    def __init__(self, ref: str) -> None:
        super().__init__(ref)
        self.ref = ref


class SummaryStale(MemoryFault):
    """A summary whose source has changed was about to go into a new prompt."""

    def __init__(self, ref: str) -> None:
        super().__init__(ref)
        self.ref = ref


class AttachmentNotFound(MemoryFault):
    """The session has no attachment of this name or id."""

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


class NameTaken(MemoryFault):
    """Another persona or template is called so."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name


class MessageNotFound(MemoryFault):
    def __init__(self, ref: str) -> None:
        super().__init__(ref)
        self.ref = ref


class NothingToAnswer(MemoryFault):
    """The person's newest words are not there, or were forgotten."""


class MemoryNotFound(MemoryFault):
    def __init__(self, ref: str) -> None:
        super().__init__(ref)
        self.ref = ref


class ChangeNotFound(MemoryFault):
    """No change of memories has this id."""

    def __init__(self, ref: str) -> None:
        super().__init__(ref)
        self.ref = ref


class CannotUndo(MemoryFault):
    """A change of memories that cannot be taken back: undone already, or changed or forgotten since."""

    def __init__(self, change_id: str) -> None:
        super().__init__(change_id)
        self.change_id = change_id


class AmbiguousId(MemoryFault):
    """A prefix that fits more than one id."""

    def __init__(self, ref: str, matches: int) -> None:
        super().__init__(ref)
        self.ref = ref
        self.matches = matches


class BadQuery(MemoryFault):
    """A search that cannot be understood; `detail` says why."""

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail


class QueryUnclear(BadQuery):
    """A query that breaks the rules of its language.

    `trouble` is one of `memory.search.entities.Trouble`; `at` and `until` are where in the text, in
    characters; `options` are words of the language that would be understood there. It holds nothing of the
    text itself.
    """

    def __init__(self, trouble: str, at: int, until: int, options: tuple[str, ...] = ()) -> None:
        super().__init__(trouble)
        self.trouble = trouble
        self.at = at
        self.until = until
        self.options = options


class SavedSearchNotFound(MemoryFault):
    """No query is kept under this name."""

    def __init__(self, ref: str) -> None:
        super().__init__()
        self.ref = ref


class ContextTooSmall(MemoryFault):
    """A single message does not fit the model's context; counts are tokens."""

    def __init__(self, needed: int, limit: int) -> None:
        super().__init__(f"{needed} tokens do not fit into {limit}")
        self.needed = needed
        self.limit = limit
