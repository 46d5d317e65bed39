"""The tables that are synced: how devices name their rows, and how changes of several devices are
resolved."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from memory.sync.entities import Stamp


@dataclass(frozen=True, slots=True)
class Reference:
    """A column that names a row of another table, with `within` if that row's key has two parts. Until that
    row arrives, an optional column stays empty; for a required one, the whole row waits."""

    table: str
    column: str
    optional: bool = False
    within: str | None = None


@dataclass(frozen=True, slots=True)
class SyncedTable:
    """A table. `key` are the columns that name a row, `columns` the others that travel.

    A deleted row of a table that is `lasting` never comes back; others come back when they are written again,
    as tags do. `digested` columns of the key are words: the log of changes has only a digest of them.
    `unique` is a name that two rows cannot share. `only` limits the rows; it names the row as `{row}`.
    """

    name: str
    key: tuple[str, ...]
    columns: tuple[str, ...] = ()
    refers: tuple[Reference, ...] = ()
    lasting: bool = False
    digested: tuple[str, ...] = ()
    unique: str | None = None
    only: str = ""
    changed_at: str | None = None


_SESSION = Reference("sessions", "session_id")
_MEMORY = Reference("memories", "memory_id")
_DOCUMENT = Reference("documents", "document_id")
_NOTE = Reference("notes", "document_id")
_PROJECT = Reference("projects", "project_id", optional=True)


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


ALL: tuple[SyncedTable, ...] = (
    SyncedTable(
        "personas",
        ("id",),
        _words("name system_prompt model temperature created_at updated_at"),
        lasting=True,
        unique="name",
        changed_at="updated_at",
    ),
    SyncedTable(
        "templates",
        ("id",),
        _words("name text created_at updated_at"),
        lasting=True,
        unique="name",
        changed_at="updated_at",
    ),
    SyncedTable(
        "saved_searches",
        ("id",),
        _words("name query created_at"),
        lasting=True,
        unique="name",
        changed_at="created_at",
    ),
    SyncedTable(
        "projects",
        ("id",),
        _words("name created_at archived_at instructions persona_id model memory_mode isolated"),
        (Reference("personas", "persona_id", optional=True),),
        lasting=True,
        unique="name",
        changed_at="created_at",
    ),
    SyncedTable("sync_merged", ("id",), ("into_id",)),
    SyncedTable(
        "sessions",
        ("id",),
        _words(
            "project_id title title_source memory_mode system_prompt model head_id starred important"
            " created_at updated_at deleted_at external_id meta archived_at pinned_at category"
            " category_source"
        ),
        (_PROJECT, Reference("messages", "head_id", optional=True)),
        lasting=True,
        changed_at="updated_at",
    ),
    SyncedTable("session_tags", ("session_id", "tag"), (), (_SESSION,), digested=("tag",)),
    SyncedTable(
        "messages",
        ("id",),
        _words(
            "session_id parent_id role speaker content created_at status stop_reason important model"
            " external_id meta"
        ),
        (_SESSION, Reference("messages", "parent_id")),
        lasting=True,
        only="{row}.status <> 'streaming'",
        changed_at="created_at",
    ),
    SyncedTable(
        "attachments",
        ("id",),
        _words("session_id name media_type bytes text added_at"),
        (_SESSION,),
        lasting=True,
        changed_at="added_at",
    ),
    SyncedTable(
        "summaries",
        ("id",),
        _words("session_id level text topics state fallback edited model merged_into created_at updated_at"),
        (_SESSION, Reference("summaries", "merged_into", optional=True)),
        lasting=True,
        changed_at="updated_at",
    ),
    SyncedTable(
        "summary_messages",
        ("summary_id", "position"),
        _words("message_id session_id"),
        (Reference("summaries", "summary_id"), Reference("messages", "message_id")),
    ),
    SyncedTable(
        "memories",
        ("id",),
        _words(
            "kind tier state origin subject text confidence importance pinned version uses used_at valid_from"
            " valid_until expires_at superseded_by project_id model own_words worded_at created_at updated_at"
        ),
        (_PROJECT, Reference("memories", "superseded_by", optional=True)),
        lasting=True,
        changed_at="updated_at",
    ),
    SyncedTable("memory_versions", ("memory_id", "version"), _words("subject text created_at"), (_MEMORY,)),
    SyncedTable(
        "memory_sources",
        ("memory_id", "message_id"),
        _words("session_id quote"),
        (_MEMORY, Reference("messages", "message_id")),
    ),
    SyncedTable("memory_parts", ("memory_id", "part_id"), (), (_MEMORY, Reference("memories", "part_id"))),
    SyncedTable(
        "memory_uses",
        ("memory_id", "reply_id", "how"),
        _words("session_id used_at"),
        (_MEMORY, Reference("messages", "reply_id")),
    ),
    SyncedTable("memory_kept_in", ("memory_id",), ("session_id",), (_MEMORY, _SESSION)),
    SyncedTable(
        "documents",
        ("id",),
        _words(
            "project_id path title author created media_type bytes sha256 parser state error error_limit text"
            " pages headings blank_pages content added_at indexed_at kind"
        ),
        (_PROJECT,),
        lasting=True,
        changed_at="added_at",
    ),
    SyncedTable(
        "notes",
        ("document_id",),
        _words("external_id version edited learned created_at updated_at deleted_at"),
        (_DOCUMENT,),
        changed_at="updated_at",
    ),
    SyncedTable("note_names", ("document_id", "name", "kind"), ("written",), (_NOTE,), digested=("name",)),
    SyncedTable("note_tags", ("document_id", "tag"), (), (_NOTE,), digested=("tag",)),
    SyncedTable(
        "note_links", ("document_id", "number"), _words("begin end target name shown kind to_id"), (_NOTE,)
    ),
    SyncedTable("note_versions", ("document_id", "version"), _words("title text written_at"), (_NOTE,)),
    SyncedTable("memory_note_sources", ("memory_id", "document_id"), ("quote",), (_MEMORY, _NOTE)),
    SyncedTable(
        "chunks",
        ("id",),
        _words("document_id number begin end page first_line last_line heading header context text key"),
        (_DOCUMENT,),
    ),
    SyncedTable(
        "document_summaries", ("document_id",), _words("text fallback model sha256 created_at"), (_DOCUMENT,)
    ),
    SyncedTable("session_documents", ("session_id", "document_id"), ("added_at",), (_SESSION, _DOCUMENT)),
    SyncedTable(
        "passages",
        ("session_id", "marker"),
        _words("message_id document_id begin end page first_line last_line heading header text sha256"),
        (_SESSION, Reference("messages", "message_id"), _DOCUMENT),
    ),
    SyncedTable(
        "citations",
        ("reply_id", "number"),
        _words("session_id marker document_id begin end page first_line last_line quote verified sha256"),
        (Reference("messages", "reply_id"), _DOCUMENT),
    ),
    SyncedTable(
        "unsupported", ("reply_id", "begin"), _words("session_id end"), (Reference("messages", "reply_id"),)
    ),
    SyncedTable(
        "skills",
        ("id",),
        _words("name state current pending uses helped harmed created_at updated_at approved_at"),
        lasting=True,
        unique="name",
        changed_at="updated_at",
    ),
    SyncedTable(
        "skill_versions",
        ("skill_id", "version"),
        _words("description body front author written_at approved_at"),
        (Reference("skills", "skill_id"),),
    ),
    SyncedTable(
        "skill_sources",
        ("skill_id", "version", "source_id"),
        ("kind",),
        (Reference("skill_versions", "version", within="skill_id"),),
    ),
    SyncedTable(
        "skill_uses",
        ("reply_id", "skill_id"),
        _words("session_id version name message_id tokens counted verdict"),
        (Reference("messages", "reply_id"),),
    ),
    SyncedTable("meta", ("key",), ("value",), only="{row}.key GLOB 'merged:*'"),
    SyncedTable("sync_settings", ("name",), ("value",)),
)
"""In an order in which every row comes after the rows it refers to, where such an order exists."""

BY_NAME: Mapping[str, SyncedTable] = {one.name: one for one in ALL}
PLACES: Mapping[str, int] = {one.name: number for number, one in enumerate(ALL)}

EMPTIED = "emptied_messages"
"""In the log of changes, replaces the text of a message that was forgotten but stays in its tree."""


@dataclass(frozen=True, slots=True)
class RowChange:
    """One device's state of a row. `base` are the columns as they were written at `born`, `fields` those
    that were changed at another time."""

    born: Stamp | None = None
    gone: Stamp | None = None
    forgotten: Stamp | None = None
    base: Mapping[str, Any] = field(default_factory=dict)
    fields: Mapping[str, tuple[Stamp, Any]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Marks:
    """The stamps of a row: `fields` has those of columns that were changed after it was born."""

    born: Stamp | None = None
    gone: Stamp | None = None
    forgotten: Stamp | None = None
    fields: Mapping[str, Stamp] = field(default_factory=dict)

    @property
    def exists(self) -> bool:
        if self.forgotten is not None or self.born is None:
            return False
        return self.gone is None or self.born > self.gone

    def of(self, name: str) -> Stamp | None:
        """Returns the stamp of a column's value."""
        return latest(self.fields.get(name), self.born)


@dataclass(frozen=True, slots=True)
class Resolution:
    """The stamps after a change, the columns that get a new value, and the fields that wait for the row.

    A change of a row that does not exist here waits: the row may be on its way. `kept` are columns of a row
    that is removed now whose present values wait as well, because they are newer than its removal.
    """

    marks: Marks
    values: Mapping[str, Any]
    waiting: Mapping[str, tuple[Stamp, Any]]
    kept: Mapping[str, Stamp] = field(default_factory=dict)


def latest(one: Stamp | None, other: Stamp | None) -> Stamp | None:
    if one is None or other is None:
        return one or other
    return max(one, other)


def resolve(known: Marks, change: RowChange) -> Resolution:
    """Returns the result of applying a change to a row with the stamps `known`."""
    forgotten = latest(known.forgotten, change.forgotten)
    born = latest(known.born, change.born)
    gone = latest(known.gone, change.gone)
    if forgotten is not None:
        return Resolution(Marks(born, gone, forgotten), {}, {})
    if not Marks(born, gone).exists:
        kept = {name: at for name, at in known.fields.items() if gone is not None and at > gone}
        waiting = {
            name: (at, value)
            for name, (at, value) in _after(change.fields, born).items()
            if name not in kept or at > kept[name]
        }
        kept = {name: at for name, at in kept.items() if name not in waiting}
        return Resolution(Marks(born, gone), {}, waiting, kept)
    values: dict[str, Any] = {}
    # Without the row, no value of it is known, so even an older one is better than none.
    there = known.exists
    for name, value in change.base.items():
        mine = known.of(name) if there else None
        if change.born is not None and change.born == born and (mine is None or change.born > mine):
            values[name] = value
    fields = {name: at for name, at in known.fields.items() if there and born is not None and at > born}
    for name, (at, value) in change.fields.items():
        mine = latest(fields.get(name), born)
        if mine is None or at > mine:
            values[name] = value
            fields[name] = at
    return Resolution(Marks(born, gone, None, fields), values, {})


def _after(fields: Mapping[str, tuple[Stamp, Any]], born: Stamp | None) -> Mapping[str, tuple[Stamp, Any]]:
    return {name: (at, value) for name, (at, value) in fields.items() if born is None or at > born}
