"""Notes as rows: their texts are documents; names, links, tags and versions have tables of their own."""
# ruff: noqa: S608  # the names put into SQL are all written in this module

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from memory.clock import micros, moment
from memory.documents.entities import DocumentKind, FileFacts, NewDocument
from memory.errors import AmbiguousId, NoteNotFound, VersionNotFound
from memory.notes.entities import (
    Backlink,
    ImportedNote,
    LinkKind,
    LinkTarget,
    NewNote,
    Note,
    NoteEntry,
    NoteFile,
    NoteFolder,
    NoteLink,
    NoteVersion,
    WrittenLink,
)
from memory.notes.markup import folded, path_name, resolved_path, snippet
from memory.storage.connection import Connection, id_range, new_id, one_line, storable
from memory.storage.queries import documents, projects

MEDIA_TYPE = "text/markdown"
PARSER = "note 1"
VERSIONS = 50
"""How many earlier texts of a note are kept."""
_LISTED = "(SELECT value FROM json_each(?))"
_BEGINNING = 300

# --- storing ----------------------------------------------------------------------------------------


def put(conn: Connection, new: Sequence[NewNote], now: datetime) -> list[str]:
    """Stores notes and resolves their links, and those of other notes that named them before they existed.
    Returns the ids. Raises `NoteNotFound`.
    """
    ids = [_put(conn, one, now) for one in new]
    by_id = dict(zip(ids, new, strict=True))
    _resolve_links(conn, by_id)
    _resolve_others(conn, ids)
    return ids


def _put(conn: Connection, new: NewNote, now: datetime) -> str:
    text = new.parsed.text
    title = one_line(new.title)
    known = None
    if new.note is not None:
        known = conn.execute(
            """
            SELECT n.version, d.title, d.text, n.updated_at FROM notes AS n
            JOIN documents AS d ON d.id = n.document_id WHERE n.document_id = ?
            """,
            (new.note,),
        ).fetchone()
        if known is None:
            raise NoteNotFound(new.note)
    data = text.encode()
    note_id = documents.put(
        conn,
        NewDocument(
            path=new.external_id,
            facts=FileFacts("", len(data), 0),
            sha256=hashlib.sha256(data).hexdigest(),
            media_type=MEDIA_TYPE,
            parser=PARSER,
            title=title,
            parsed=new.parsed,
            chunks=new.chunks,
            project=new.project,
            content=new.content,
            document=new.note,
            kind=DocumentKind.NOTE,
        ),
        now,
    )
    updated = micros(new.updated_at or now)
    disk = "" if new.edited else hashlib.sha256(data if new.content is None else new.content).hexdigest()
    if known is None:
        conn.execute(
            """
            INSERT INTO notes (document_id, note_folder_id, external_id, version, edited, disk_path,
                disk_sha256, created_at, updated_at)
            VALUES (?, ?, ?, 1, ?, ?, ?, ?, ?)
            """,
            (
                note_id,
                new.folder,
                storable(new.external_id),
                int(new.edited),
                storable(new.external_id) if disk else "",
                disk,
                micros(new.created_at or now),
                updated,
            ),
        )
    else:
        if (known[1], known[2]) != (title, text):
            if new.keep_version:
                _keep_version(conn, note_id, *known)
            conn.execute(
                "UPDATE notes SET version = version + 1, updated_at = ? WHERE document_id = ?",
                (updated, note_id),
            )
        conn.execute(
            "UPDATE notes SET edited = ?, external_id = ? WHERE document_id = ?",
            (int(new.edited), storable(new.external_id), note_id),
        )
        if disk:
            on_disk(conn, note_id, new.external_id, disk, edited=False)
    _put_names(conn, note_id, new, title)
    return note_id


def _keep_version(
    conn: Connection, note_id: str, version: int, title: str, text: str, written_at: int
) -> None:
    conn.execute(
        "INSERT INTO note_versions (document_id, version, title, text, written_at) VALUES (?, ?, ?, ?, ?)",
        (note_id, version, title, text, written_at),
    )
    conn.execute(
        """
        DELETE FROM note_versions WHERE document_id = ?1 AND version NOT IN (
            SELECT version FROM note_versions WHERE document_id = ?1 ORDER BY version DESC LIMIT ?2
        )
        """,
        (note_id, VERSIONS),
    )


def _put_names(conn: Connection, note_id: str, new: NewNote, title: str) -> None:
    for table in ("note_names", "note_tags"):
        conn.execute(f"DELETE FROM {table} WHERE document_id = ?", (note_id,))
    names = {(folded(title), "title"): title}
    for alias in (*new.markup.aliases, new.markup.title):
        if folded(alias):
            names.setdefault((folded(alias), "alias"), alias)
    if new.external_id:
        names[(path_name(new.external_id), "path")] = new.external_id
    conn.executemany(
        "INSERT INTO note_names (document_id, name, kind, written) VALUES (?, ?, ?, ?)",
        [
            (note_id, storable(name), kind, one_line(written))
            for (name, kind), written in names.items()
            if name
        ],
    )
    conn.executemany(
        "INSERT OR IGNORE INTO note_tags (document_id, tag) VALUES (?, ?)",
        [(note_id, one_line(tag)) for tag in new.markup.tags],
    )


def _resolve_links(conn: Connection, new: Mapping[str, NewNote]) -> None:
    """Stores the links of notes. A link that existed before keeps its target, whatever that is called now."""
    wanted: set[str] = set()
    lookups: dict[str, list[str]] = {}
    for note_id, one in new.items():
        lookups[note_id] = [_lookup(link, one.external_id) for link in one.markup.links]
        wanted.update(
            name for name, link in zip(lookups[note_id], one.markup.links, strict=True) if link.kind is None
        )
    targets = _targets(conn, wanted)
    for note_id, one in new.items():
        before = {
            name: (to_id, kind)
            for name, to_id, kind in conn.execute(
                "SELECT name, to_id, kind FROM note_links WHERE document_id = ? AND to_id IS NOT NULL",
                (note_id,),
            )
        }
        conn.execute("DELETE FROM note_links WHERE document_id = ?", (note_id,))
        rows = []
        for number, (link, name) in enumerate(zip(one.markup.links, lookups[note_id], strict=True)):
            to_id, kind = before.get(name, (None, None))
            if to_id is None:
                to_id, kind = _led_to(conn, link, name, note_id, one, targets)
            rows.append(
                (
                    note_id,
                    number,
                    link.begin,
                    link.end,
                    storable(link.target),
                    storable(name),
                    storable(link.shown),
                    kind,
                    to_id,
                )
            )
        conn.executemany(
            """
            INSERT INTO note_links (document_id, number, begin, "end", target, name, shown, kind, to_id)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            rows,
        )


def _lookup(link: WrittenLink, external_id: str) -> str:
    """Returns the key by which a link is looked up."""
    if link.kind is not None:
        return f"{link.kind}:{link.target}"
    if not link.target:
        return ""
    if link.relative:
        return path_name(resolved_path(link.target, external_id))
    return path_name(link.target)


def _led_to(
    conn: Connection,
    link: WrittenLink,
    name: str,
    note_id: str,
    note: NewNote,
    targets: Mapping[str, Sequence["_Named"]],
) -> tuple[str | None, str]:
    """Returns the id and the kind of a link's target."""
    if link.kind is not None:
        return _by_id(conn, link.kind, link.target), link.kind.value
    if not name:
        return note_id, LinkKind.NOTE.value
    found = targets.get(name, ())
    if not found:
        return None, LinkKind.NOTE.value
    folder = note.external_id.rpartition("/")[0]
    best = min(
        found,
        key=lambda one: (
            one.kind is not LinkKind.NOTE,
            one.folder != note.folder,
            one.order,
            one.path.rpartition("/")[0] != folder,
            one.path.count("/"),
            one.id,
        ),
    )
    return best.id, best.kind.value


class _Named:
    """An item with a name that a link can use. `order`: paths before titles before aliases."""

    __slots__ = ("folder", "id", "kind", "order", "path")

    def __init__(self, id_: str, kind: LinkKind, order: int, folder: str | None = None, path: str = ""):
        self.id = id_
        self.kind = kind
        self.order = order
        self.folder = folder
        self.path = path


_ORDER = {"path": 0, "title": 1, "alias": 2}


def _targets(conn: Connection, names: Collection[str]) -> dict[str, list[_Named]]:
    """Returns the items with each of these names. Sessions and other documents are looked up if no note has
    the name.
    """
    found: dict[str, list[_Named]] = {}
    rows = conn.execute(
        f"""
        SELECT m.name, m.document_id, m.kind, n.note_folder_id, n.external_id FROM note_names AS m
        JOIN notes AS n ON n.document_id = m.document_id
        WHERE m.name IN {_LISTED} AND n.deleted_at IS NULL
        """,
        (json.dumps(sorted(names)),),
    )
    for name, id_, kind, folder, path in rows.fetchall():
        found.setdefault(name, []).append(_Named(id_, LinkKind.NOTE, _ORDER[kind], folder, path))
    rest = set(names).difference(found)
    if rest:
        for kind, query in (
            (LinkKind.DOCUMENT, "SELECT id, title FROM documents WHERE kind = 'document'"),
            (LinkKind.SESSION, "SELECT id, title FROM sessions WHERE deleted_at IS NULL AND title <> ''"),
        ):
            for id_, title in conn.execute(query):
                name = folded(title)
                if name in rest:
                    found.setdefault(name, []).append(_Named(id_, kind, 1))
    return found


_TABLES = {
    LinkKind.NOTE: "documents",
    LinkKind.DOCUMENT: "documents",
    LinkKind.SESSION: "sessions",
    LinkKind.MESSAGE: "messages",
    LinkKind.MEMORY: "memories",
}


def _by_id(conn: Connection, kind: LinkKind, ref: str) -> str | None:
    """Returns the id of that kind that equals `ref`, or the only one that begins with it."""
    span = id_range(ref)
    if span is None:
        return None
    count, first = conn.execute(
        f"SELECT count(*), min(id) FROM {_TABLES[kind]} WHERE id BETWEEN ? AND ?", span
    ).fetchone()
    return str(first) if count == 1 else None


def _resolve_others(conn: Connection, ids: Sequence[str]) -> None:
    """Resolves links that led nowhere to new notes, or to notes with a new name."""
    listed = json.dumps(list(ids))
    waiting = conn.execute(
        f"""
        SELECT l.document_id, l.number, l.name, n.note_folder_id, n.external_id FROM note_links AS l
        JOIN notes AS n ON n.document_id = l.document_id
        WHERE l.to_id IS NULL AND l.name IN (SELECT name FROM note_names WHERE document_id IN {_LISTED})
        """,
        (listed,),
    ).fetchall()
    if not waiting:
        return
    targets = _targets(conn, {name for _, _, name, _, _ in waiting})
    changes = []
    for note_id, number, name, folder, path in waiting:
        found = [one for one in targets.get(name, ()) if one.kind is LinkKind.NOTE]
        if found:
            best = min(
                found,
                key=lambda one: (
                    one.folder != folder,
                    one.order,
                    one.path.rpartition("/")[0] != path.rpartition("/")[0],
                    one.path.count("/"),
                    one.id,
                ),
            )
            changes.append((best.id, note_id, number))
    conn.executemany(
        "UPDATE note_links SET to_id = ?, kind = 'note' WHERE document_id = ? AND number = ?", changes
    )


# --- reading ----------------------------------------------------------------------------------------


def resolve(conn: Connection, ref: str) -> str:
    """Returns the id of a note by its id, a unique prefix of it, its path below an imported folder, or its
    title. Raises `NoteNotFound`, `AmbiguousId`."""
    span = id_range(ref)
    for query, parameters in (
        ("SELECT document_id FROM notes WHERE document_id BETWEEN ? AND ?", span),
        ("SELECT document_id FROM notes WHERE external_id = ? AND deleted_at IS NULL", (storable(ref),)),
        (
            """
            SELECT m.document_id FROM note_names AS m JOIN notes AS n ON n.document_id = m.document_id
            WHERE m.name = ? AND m.kind = 'title' AND n.deleted_at IS NULL
            """,
            (folded(storable(ref)),),
        ),
    ):
        if parameters is None:
            continue
        found = conn.execute(f"{query} LIMIT 2", parameters).fetchall()
        if len(found) > 1:
            raise AmbiguousId(ref, len(found))
        if found:
            return str(found[0][0])
    raise NoteNotFound(ref)


def unlearned(conn: Connection, limit: int) -> list[tuple[str, int]]:
    """Returns notes, by id with their version, whose own words were not learned from since they changed.

    Text that came from a file and was not edited in this program may be anybody's.
    """
    rows = conn.execute(
        """
        SELECT document_id, version FROM notes
        WHERE learned < version AND deleted_at IS NULL AND edited = 1 ORDER BY document_id LIMIT ?
        """,
        (limit,),
    )
    return [(row[0], row[1]) for row in rows.fetchall()]


def mark_learned(conn: Connection, note_id: str, version: int) -> None:
    conn.execute("UPDATE notes SET learned = max(learned, ?) WHERE document_id = ?", (version, note_id))


def any_note(conn: Connection) -> bool:
    """Whether there is a note outside the bin."""
    row = conn.execute("SELECT EXISTS (SELECT 1 FROM notes WHERE deleted_at IS NULL)").fetchone()
    return bool(row[0])


def titled(conn: Connection, title: str) -> str | None:
    """Returns the note of that title, if there is one that is not in the bin."""
    row = conn.execute(
        """
        SELECT m.document_id FROM note_names AS m JOIN notes AS n ON n.document_id = m.document_id
        WHERE m.name = ? AND m.kind = 'title' AND n.deleted_at IS NULL ORDER BY m.document_id LIMIT 1
        """,
        (folded(storable(title)),),
    ).fetchone()
    return None if row is None else str(row[0])


def is_only(conn: Connection, name: str) -> bool:
    """Whether one note outside the bin has this name, and no other."""
    (count,) = conn.execute(
        """
        SELECT count(DISTINCT m.document_id) FROM note_names AS m
        JOIN notes AS n ON n.document_id = m.document_id WHERE m.name = ? AND n.deleted_at IS NULL
        """,
        (folded(storable(name)),),
    ).fetchone()
    return bool(count == 1)


_NOTES = """
    SELECT d.id, d.title, d.text, p.name, n.created_at, n.updated_at, n.version, n.external_id,
        n.note_folder_id, n.edited, n.deleted_at
    FROM notes AS n JOIN documents AS d ON d.id = n.document_id
    LEFT JOIN projects AS p ON p.id = d.project_id
"""


def get(conn: Connection, note_id: str) -> Note:
    """Returns a note with its links and backlinks. Raises `NoteNotFound`."""
    found = get_many(conn, [note_id])
    if not found:
        raise NoteNotFound(note_id)
    return found[0]


def get_many(conn: Connection, ids: Sequence[str], *, with_backlinks: bool = True) -> list[Note]:
    """Returns notes in the requested order; those that do not exist are left out."""
    listed = json.dumps(list(ids))
    rows = conn.execute(f"{_NOTES} WHERE n.document_id IN {_LISTED}", (listed,)).fetchall()
    tags = _grouped(
        conn.execute(
            f"SELECT document_id, tag FROM note_tags WHERE document_id IN {_LISTED} ORDER BY tag", (listed,)
        )
    )
    aliases = _grouped(
        conn.execute(
            f"""
            SELECT document_id, written FROM note_names
            WHERE document_id IN {_LISTED} AND kind = 'alias' ORDER BY name
            """,
            (listed,),
        )
    )
    links = links_of(conn, ids)
    back = backlinks(conn, ids) if with_backlinks else {}
    notes = {
        row[0]: Note(
            id=row[0],
            title=row[1],
            text=row[2],
            aliases=tuple(aliases.get(row[0], ())),
            project=row[3],
            tags=tuple(tags.get(row[0], ())),
            created_at=moment(row[4]),
            updated_at=moment(row[5]),
            version=row[6],
            links=tuple(links.get(row[0], ())),
            backlinks=tuple(back.get(row[0], ())),
            external_id=row[7],
            folder=row[8],
            edited=bool(row[9]),
            deleted_at=None if row[10] is None else moment(row[10]),
        )
        for row in rows
    }
    return [notes[one] for one in ids if one in notes]


def _grouped(rows: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for key, value in rows:
        found.setdefault(key, []).append(value)
    return found


def select(
    conn: Connection, *, project: str | None = None, tag: str | None = None, binned: bool = False
) -> list[NoteEntry]:
    """Returns notes, latest change first; only those of a project (by name), with a tag (or one below it),
    or in the bin. Raises `ProjectNotFound`."""
    conditions = [f"n.deleted_at IS {'NOT ' if binned else ''}NULL"]
    parameters: list[Any] = []
    if project is not None:
        conditions.append("d.project_id = ?")
        parameters.append(projects.resolve(conn, project))
    if tag is not None:
        conditions.append(
            "n.document_id IN (SELECT document_id FROM note_tags WHERE tag = ? OR tag LIKE ? ESCAPE '~')"
        )
        tag = tag.lstrip("#")
        pattern = tag.replace("~", "~~").replace("%", "~%").replace("_", "~_")
        parameters += [tag, f"{pattern}/%"]
    rows = conn.execute(
        f"""
        SELECT d.id, d.title, substr(d.text, 1, {_BEGINNING}), p.name, n.updated_at, n.external_id,
            n.deleted_at,
            (SELECT json_group_array(tag) FROM note_tags WHERE document_id = d.id)
        FROM notes AS n JOIN documents AS d ON d.id = n.document_id
        LEFT JOIN projects AS p ON p.id = d.project_id
        WHERE {" AND ".join(conditions)} ORDER BY n.updated_at DESC, d.seq DESC
        """,
        parameters,
    )
    return [
        NoteEntry(
            id=row[0],
            title=row[1],
            words=row[2],
            project=row[3],
            tags=tuple(sorted(json.loads(row[7]))),
            updated_at=moment(row[4]),
            external_id=row[5],
            deleted_at=None if row[6] is None else moment(row[6]),
        )
        for row in rows.fetchall()
    ]


def links_of(conn: Connection, ids: Sequence[str]) -> dict[str, list[NoteLink]]:
    """Returns the links of notes, by note, in the order of their text."""
    rows = conn.execute(
        f"""
        SELECT l.document_id, l.to_id, l.kind, l.target, l.begin, l."end", l.shown,
            coalesce(d.title, s.title, substr(k.text, 1, 80), substr(m.content, 1, 80), '')
        FROM note_links AS l
        LEFT JOIN documents AS d ON d.id = l.to_id
        LEFT JOIN sessions AS s ON s.id = l.to_id
        LEFT JOIN memories AS k ON k.id = l.to_id
        LEFT JOIN messages AS m ON m.id = l.to_id
        WHERE l.document_id IN {_LISTED} ORDER BY l.document_id, l.number
        """,
        (json.dumps(list(ids)),),
    )
    found: dict[str, list[NoteLink]] = {}
    for row in rows.fetchall():
        found.setdefault(row[0], []).append(
            NoteLink(row[1], LinkKind(row[2]), row[3], row[4], row[5], one_line(row[7]), row[6])
        )
    return found


def backlinks(conn: Connection, ids: Sequence[str]) -> dict[str, list[Backlink]]:
    """Returns the notes that link to something, by its id: each note once, with its first link."""
    rows = conn.execute(
        f"""
        SELECT l.to_id, l.document_id, d.title, d.text, min(l.begin), l."end"
        FROM note_links AS l JOIN documents AS d ON d.id = l.document_id
        JOIN notes AS n ON n.document_id = l.document_id
        WHERE l.to_id IN {_LISTED} AND n.deleted_at IS NULL AND l.document_id <> l.to_id
        GROUP BY l.to_id, l.document_id ORDER BY l.to_id, n.updated_at DESC, l.document_id
        """,
        (json.dumps(list(ids)),),
    )
    found: dict[str, list[Backlink]] = {}
    for to_id, note_id, title, text, begin, end in rows.fetchall():
        found.setdefault(to_id, []).append(Backlink(note_id, title, snippet(text, begin, end), begin))
    return found


def linking_to(conn: Connection, session_ids: Collection[str]) -> int:
    """Returns how many notes link to these sessions, or to a message in one of them."""
    ids = json.dumps(list(session_ids))
    row = conn.execute(
        """
        SELECT count(DISTINCT l.document_id) FROM note_links AS l
        JOIN notes AS n ON n.document_id = l.document_id
        WHERE n.deleted_at IS NULL
            AND l.to_id IN (SELECT value FROM json_each(?1)
                UNION ALL SELECT id FROM messages WHERE session_id IN (SELECT value FROM json_each(?1)))
        """,
        (ids,),
    ).fetchone()
    return int(row[0])


def link_counts(conn: Connection, ids: Sequence[str]) -> tuple[int, int]:
    """Returns how many links these notes have, and how many of them lead nowhere."""
    row = conn.execute(
        f"SELECT count(*), count(*) - count(to_id) FROM note_links WHERE document_id IN {_LISTED}",
        (json.dumps(list(ids)),),
    ).fetchone()
    return int(row[0]), int(row[1])


def linked(conn: Connection, ids: Collection[str]) -> frozenset[str]:
    """Returns those of these ids that a note links to."""
    rows = conn.execute(
        f"""
        SELECT DISTINCT l.to_id FROM note_links AS l JOIN notes AS n ON n.document_id = l.document_id
        WHERE l.to_id IN {_LISTED} AND n.deleted_at IS NULL
        """,
        (json.dumps(list(ids)),),
    )
    return frozenset(row[0] for row in rows.fetchall())


def targets(conn: Connection, words: str, *, limit: int) -> list[LinkTarget]:
    """Returns possible targets of links: notes, documents and sessions whose title or alias contains every
    word, those that begin with the first of them first.
    """
    pieces = folded(words).split()
    found: list[tuple[tuple[bool, int, str], LinkTarget]] = []

    def consider(id_: str, kind: LinkKind, title: str, name: str, alias: str = "") -> None:
        if all(piece in name for piece in pieces):
            begins = bool(pieces) and name.startswith(pieces[0])
            found.append(
                ((not begins, list(LinkKind).index(kind), name), LinkTarget(id_, kind, title, alias))
            )

    for id_, title, name, kind, written in conn.execute(
        """
        SELECT m.document_id, d.title, m.name, m.kind, m.written FROM note_names AS m
        JOIN notes AS n ON n.document_id = m.document_id JOIN documents AS d ON d.id = m.document_id
        WHERE n.deleted_at IS NULL AND m.kind <> 'path'
        """
    ):
        consider(id_, LinkKind.NOTE, title, name, written if kind == "alias" else "")
    for kind, query in (
        (LinkKind.DOCUMENT, "SELECT id, title FROM documents WHERE kind = 'document'"),
        (LinkKind.SESSION, "SELECT id, title FROM sessions WHERE deleted_at IS NULL AND title <> ''"),
    ):
        for id_, title in conn.execute(query):
            consider(id_, kind, title, folded(title))
    return [one for _, one in sorted(found, key=lambda one: one[0])[:limit]]


def tags(conn: Connection) -> dict[str, int]:
    """Returns the tags of notes and how many have each, most used first."""
    return dict(
        conn.execute(
            """
            SELECT t.tag, count(*) AS many FROM note_tags AS t
            JOIN notes AS n ON n.document_id = t.document_id
            WHERE n.deleted_at IS NULL GROUP BY t.tag ORDER BY many DESC, t.tag
            """
        ).fetchall()
    )


# --- versions ---------------------------------------------------------------------------------------


def versions(conn: Connection, note_id: str) -> list[NoteVersion]:
    """Returns the earlier texts of a note, latest first."""
    rows = conn.execute(
        """
        SELECT version, title, text, written_at FROM note_versions WHERE document_id = ?
        ORDER BY version DESC
        """,
        (note_id,),
    )
    return [NoteVersion(row[0], row[1], row[2], moment(row[3])) for row in rows.fetchall()]


def version(conn: Connection, note_id: str, number: int) -> NoteVersion:
    """Raises `VersionNotFound`."""
    for one in versions(conn, note_id):
        if one.version == number:
            return one
    raise VersionNotFound(number)


# --- bin --------------------------------------------------------------------------------------------


def bin_notes(conn: Connection, ids: Collection[str], now: datetime) -> int:
    """Moves notes to the bin. Links to them lead nowhere until they are restored."""
    listed = json.dumps(list(ids))
    count = conn.execute(
        f"UPDATE notes SET deleted_at = ? WHERE document_id IN {_LISTED} AND deleted_at IS NULL",
        (micros(now), listed),
    ).rowcount
    return int(count)


def restore(conn: Connection, ids: Collection[str]) -> int:
    """Takes notes out of the bin again."""
    listed = json.dumps(list(ids))
    count = conn.execute(
        f"UPDATE notes SET deleted_at = NULL WHERE document_id IN {_LISTED} AND deleted_at IS NOT NULL",
        (listed,),
    ).rowcount
    _resolve_others(conn, list(ids))
    return int(count)


def binned_before(conn: Connection, when: datetime) -> list[str]:
    """Returns the notes that were moved to the bin before a time."""
    rows = conn.execute("SELECT document_id FROM notes WHERE deleted_at < ?", (micros(when),))
    return [row[0] for row in rows.fetchall()]


# --- imported folders -------------------------------------------------------------------------------


def add_folder(conn: Connection, path: str, location: str, now: datetime) -> NoteFolder:
    """Returns the folder of that location; adds it if it is new."""
    conn.execute(
        """
        INSERT INTO note_folders (id, path, location, added_at) VALUES (?, ?, ?, ?)
        ON CONFLICT (location) DO UPDATE SET path = excluded.path
        """,
        (new_id(), storable(path), storable(location), micros(now)),
    )
    (found,) = [one for one in folders(conn) if one.location == storable(location)]
    return found


def folders(conn: Connection) -> list[NoteFolder]:
    rows = conn.execute(
        "SELECT id, path, location, in_step, added_at FROM note_folders ORDER BY added_at, id"
    )
    return [NoteFolder(row[0], row[1], row[2], bool(row[3]), moment(row[4])) for row in rows.fetchall()]


def keep_in_step(conn: Connection, folder_id: str, *, wanted: bool) -> None:
    conn.execute("UPDATE note_folders SET in_step = ? WHERE id = ?", (int(wanted), folder_id))


def imported(conn: Connection, folder_id: str) -> list[ImportedNote]:
    """Returns the files of the notes of an imported folder, including those in the bin."""
    rows = conn.execute(
        """
        SELECT document_id, external_id, disk_path, disk_sha256, edited, deleted_at IS NOT NULL FROM notes
        WHERE note_folder_id = ? AND external_id <> ''
        """,
        (folder_id,),
    )
    return [
        ImportedNote(
            note=row[0],
            external_id=row[1],
            disk_path=row[2],
            sha256=row[3],
            edited=bool(row[4]),
            deleted=bool(row[5]),
        )
        for row in rows.fetchall()
    ]


def on_disk(conn: Connection, note_id: str, path: str, sha256: str, *, edited: bool) -> None:
    """Records the place of a note's file, and a digest of its content."""
    conn.execute(
        "UPDATE notes SET disk_path = ?, disk_sha256 = ?, edited = ? WHERE document_id = ?",
        (storable(path), sha256, int(edited), note_id),
    )


def put_files(conn: Connection, folder_id: str, files: Sequence[NoteFile]) -> None:
    """Stores other files of an imported folder; replaces those of the same path."""
    conn.executemany(
        "INSERT OR REPLACE INTO note_files (folder_id, path, content, sha256) VALUES (?, ?, ?, ?)",
        [
            (folder_id, storable(one.path), one.content, hashlib.sha256(one.content).hexdigest())
            for one in files
        ],
    )


def files(conn: Connection, folder_id: str) -> list[NoteFile]:
    rows = conn.execute(
        "SELECT path, content, sha256 FROM note_files WHERE folder_id = ? ORDER BY path", (folder_id,)
    )
    return [NoteFile(row[0], bytes(row[1]), row[2]) for row in rows.fetchall()]


def file_digests(conn: Connection, folder_id: str) -> dict[str, str]:
    """Returns the digests of the other files of an imported folder, by path."""
    return dict(
        conn.execute("SELECT path, sha256 FROM note_files WHERE folder_id = ?", (folder_id,)).fetchall()
    )
