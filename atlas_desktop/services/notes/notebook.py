"""The notes of one room: writes, changes, renames, links, finds and removes them."""

import asyncio
import posixpath
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Protocol

from atlas_desktop.parsing.plain import structure
from atlas_desktop.services.background import BackgroundService
from atlas_desktop.services.cleaning import clean, clean_line
from atlas_desktop.services.documents.search import DocumentSearchService
from atlas_desktop.services.recall import QueryEmbedder
from atlas_desktop.settings.schema import RetentionSettings
from memory.clock import Clock
from memory.documents.chunking import chunks
from memory.documents.entities import DocumentKind, DocumentQuery, ErasedDocuments, ParsedText
from memory.documents.search import FoundChunks
from memory.entities import RoomKind
from memory.errors import NoteTitleTaken, TitleMissing
from memory.jobs.queue import Job
from memory.jobs.runner import Duty
from memory.notes.entities import LinkKind, LinkSuggestion, LinkTarget, NewNote, Note, NoteEntry, NoteVersion
from memory.notes.markup import file_name, folded, front_matter, read_markup, renamed
from memory.notes.names import Mention, NoteText
from memory.notes.suggesting import LinkSuggester
from memory.storage.store import Store
from memory.vectors.entities import StoredVector
from models.ports import Embedder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


_PAGE = 500


class NoteSuggestions:
    """Compares the notes of one room. The first question reads all of them, also with a new embedding model;
    later ones read only the changes. Without such a model, only words and titles count."""

    def __init__(self, store: Store, embedder: Callable[[], Embedder | None]) -> None:
        self._store = store
        self._model = QueryEmbedder(embedder).model
        self._suggester = LinkSuggester()
        self._known: set[str] = set()
        self._vectors_of: str | None = None
        self._notes: int | None = None
        self._vectors: int | None = None
        self._lock = asyncio.Lock()

    async def suggest(self, note_id: str, k: int = 10) -> list[LinkSuggestion]:
        """Returns up to `k` notes that this one could link to, best first, without those that it already
        links to."""
        async with self._lock:
            await self._follow()
            if note_id not in self._known:
                return []
            return await asyncio.to_thread(self._suggester.suggest, note_id, k)

    async def mentions(self, note_id: str) -> list[Mention]:
        """Returns the places where other notes mention this one's title or an alias without a link."""
        async with self._lock:
            await self._follow()
            if note_id not in self._known:
                return []
            return await asyncio.to_thread(self._suggester.mentions, note_id)

    async def _follow(self) -> None:
        """Applies the changes since the last call."""
        model = await self._model()
        is_new_model = model is not None and model != self._vectors_of
        if self._notes is None or self._vectors is None or is_new_model:
            self._suggester, self._known, self._vectors_of = LinkSuggester(), set(), model
            self._notes, _ = await self._store.notes.changes(None)
            self._vectors = (await self._store.documents.vectors.changes(None)).version
            changed = {one.id for one in await self._store.notes.list()}
        else:
            self._notes, notes = await self._store.notes.changes(self._notes)
            vectors = await self._store.documents.vectors.changes(self._vectors)
            self._vectors = vectors.version
            changed = set(notes)
            if vectors.owners and model is not None:
                found = await self._store.documents.vectors.of(model, owners=vectors.owners)
                changed.update(one.session_id for one in found if one.session_id in self._known)
        waiting = sorted(changed)
        for at in range(0, len(waiting), _PAGE):
            await self._read(waiting[at : at + _PAGE], model)

    async def _read(self, ids: Sequence[str], model: str | None) -> None:
        found = await self._store.notes.get_many(ids, with_backlinks=False)
        notes = {one.id: one for one in found}
        made = [] if model is None else await self._store.documents.vectors.of(model, sessions=ids)
        await asyncio.to_thread(self._put, ids, notes, made)

    def _put(self, ids: Sequence[str], notes: dict[str, Note], made: Sequence[StoredVector]) -> None:
        vectors: dict[str, list[bytes]] = {}
        for one in made:
            vectors.setdefault(one.session_id or "", []).append(one.data)
        for note_id in ids:
            note = notes.get(note_id)
            if note is None or note.deleted_at is not None:
                if note_id in self._known:
                    self._suggester.remove(note_id)
                    self._known.discard(note_id)
                continue
            links = {link.to for link in note.links if link.kind is LinkKind.NOTE and link.to is not None}
            self._suggester.put(_as_ranked(note), _matrix(vectors.get(note_id, ())), links)
            self._known.add(note_id)


def _as_ranked(note: Note) -> NoteText:
    markup = read_markup(note.text)
    return NoteText(
        id=note.id,
        title=note.title,
        text=note.text,
        aliases=note.aliases,
        tags=note.tags,
        path=note.external_id,
        quiet=markup.quiet,
        properties=markup.properties,
    )


def _matrix(data: Sequence[bytes]) -> "NDArray[np.float32] | None":
    """Returns float32[n, dim]; None without vectors."""
    import numpy as np

    return np.stack([np.frombuffer(one, "<f4") for one in data]) if data else None


MEDIA_TYPE = "text/markdown"


def read_note(
    title: str,
    text: str,
    *,
    note: str | None = None,
    project: str | None = None,
    folder: str | None = None,
    external_id: str = "",
    content: bytes | None = None,
    edited: bool = True,
    keep_version: bool = True,
    created_at: datetime | None = None,
    updated_at: datetime | None = None,
) -> NewNote:
    """Returns a note with its structure, links and chunks. Takes some milliseconds for a long text."""
    text = cleaned(text)
    headings, tables = structure(text, front_matter(text)[1])
    parsed = ParsedText(text, headings=headings, tables=tables, title=title)
    return NewNote(
        title=clean_line(title),
        parsed=parsed,
        markup=read_markup(text),
        chunks=tuple(chunks(parsed, MEDIA_TYPE)),
        note=note,
        project=project,
        folder=folder,
        external_id=external_id,
        content=content,
        edited=edited,
        keep_version=keep_version,
        created_at=created_at,
        updated_at=updated_at,
    )


def rewritten(note: Note, text: str, *, title: str | None = None, external_id: str | None = None) -> NewNote:
    """Returns a stored note with another text, or another title."""
    return read_note(
        note.title if title is None else title,
        text,
        note=note.id,
        project=note.project,
        folder=note.folder,
        external_id=note.external_id if external_id is None else external_id,
    )


def cleaned(text: str) -> str:
    r"""Returns text without control characters, whose lines end with \n."""
    return clean(text.replace("\r\n", "\n").replace("\r", "\n"))


KIND = "empty_note_bin"


class Remove(Protocol):
    """Erases documents and everything made from them, also from prompts."""

    async def __call__(
        self, document_ids: Sequence[str], /, *, for_good: bool = False
    ) -> ErasedDocuments: ...


class NoteBin:
    """The bin of one room's notes. Registers its daily duty with `background`.

    As for sessions, a clock that may have been set ahead erases nothing.
    """

    def __init__(
        self,
        store: Store,
        clock: Clock,
        background: BackgroundService,
        erase: Remove,
        settings: Callable[[], RetentionSettings],
    ) -> None:
        self._store = store
        self._clock = clock
        self._erase = erase
        self._settings = settings
        if store.room is not RoomKind.OFF_RECORD:
            background.register(KIND, self._empty)
            background.register_duty(Duty(KIND, timedelta(days=1), KIND))

    async def _empty(self, _job: Job) -> None:
        days = self._settings().bin_days
        if not days:
            return
        seen = await self._store.retention.look_at_clock(self._clock.now())
        due = await self._store.notes.binned_before(seen.passed - timedelta(days=days))
        if due:
            await self._erase(due, for_good=True)


_SAME_WRITING = timedelta(minutes=5)
"""Changes within this time count as one: only the text before the first can be restored, and a text of which
a change removes at least half."""


class NoteService:
    """The notes of one room. Raises what the store raises; texts are cleaned before they are stored.

    `queue` is called after texts have changed: their vectors are made in the background.
    """

    def __init__(
        self,
        store: Store,
        clock: Clock,
        search: DocumentSearchService,
        queue: Callable[[], Awaitable[None]],
        remove: Remove,
        suggestions: NoteSuggestions,
    ) -> None:
        self._store = store
        self._clock = clock
        self._search = search
        self._queue = queue
        self._remove = remove
        self.suggest = suggestions.suggest
        self.mentions = suggestions.mentions
        self.writing = asyncio.Lock()
        self.on_change: Callable[[], None] = lambda: None
        """Called after notes have changed."""

    # --- reading ----------------------------------------------------------------------------------

    async def get(self, ref: str) -> Note:
        """Returns a note by id, unique prefix, path below an imported folder, or title."""
        return await self._store.notes.get(ref)

    async def list(
        self, *, project: str | None = None, tag: str | None = None, binned: bool = False
    ) -> list[NoteEntry]:
        """Returns notes, latest change first. Raises `ProjectNotFound`."""
        return await self._store.notes.list(project=project, tag=tag, binned=binned)

    async def targets(self, words: str = "", *, limit: int = 20) -> "Sequence[LinkTarget]":
        """Returns the possible targets of a link: notes, documents and sessions, by the words of their
        titles."""
        return await self._store.notes.targets(words, limit=limit)

    async def search(self, query: str, k: int = 10, *, project: str | None = None) -> FoundChunks:
        """Returns the passages of notes that fit a query best, by words and meaning."""
        await self._search.load()
        return await self._search.answer(
            DocumentQuery(query, k, project=project, kinds=frozenset({DocumentKind.NOTE}))
        )

    # --- writing ----------------------------------------------------------------------------------

    async def new(self, title: str, text: str = "", *, project: str | None = None) -> Note:
        """Stores a note. Raises `TitleMissing`, `NoteTitleTaken`."""
        title = await self._free_title(title)
        async with self.writing:
            # If exactly one folder is synchronised, new notes belong to it.
            homes = [one.id for one in await self._store.notes.folders() if one.in_step]
            home, path = (homes[0], file_name(title)) if len(homes) == 1 else (None, "")
            made = await asyncio.to_thread(
                read_note, title, text, project=project, folder=home, external_id=path
            )
            return await self._stored(made)

    async def edit(self, ref: str, text: str, *, keep_version: bool | None = None) -> Note:
        """Replaces the text of a note; an unchanged text changes nothing.

        `keep_version`: the previous text can be restored. By default it can, unless it was written within the
        last minutes and more than half of it stays.
        """
        async with self.writing:
            note = await self._store.notes.get(ref)
            if keep_version is None:
                keep_version = await self._is_new_writing(note)
            new = await asyncio.to_thread(_edited, note, text, keep_version)
            if not keep_version and await asyncio.to_thread(_removes_half, note.text, new.parsed.text):
                # The earlier text may exist nowhere else.
                new = replace(new, keep_version=True)
            if new.parsed.text == note.text:
                return note
            return await self._stored(new)

    async def _is_new_writing(self, note: Note) -> bool:
        kept = await self._store.notes.versions(note.id)
        begun = kept[0].written_at if kept else note.created_at
        now = self._clock.now()
        return now - note.updated_at > _SAME_WRITING or now - begun > 2 * _SAME_WRITING

    async def extend(self, ref: str, addition: str) -> Note:
        """Adds a paragraph at the end of a note."""
        note = await self._store.notes.get(ref)
        text = (
            f"{note.text.rstrip()}\n\n{addition.strip()}\n" if note.text.strip() else f"{addition.strip()}\n"
        )
        return await self.edit(note.id, text, keep_version=True)

    async def link(self, ref: str, target: str, at: tuple[int, int] | None = None) -> Note:
        """Links a note to another: at a place of its text, which becomes the text of the link, or at its end.

        An existing link is not repeated.
        """
        note, other = await self._store.notes.get(ref), await self._store.notes.get(target)
        if at is None:
            if any(one.to == other.id for one in note.links):
                return note
            return await self.edit(
                note.id, _with_link(note.text, await self._link_to(other)), keep_version=True
            )
        begin, end = at
        words = note.text[begin:end]
        link = await self._link_to(other, words)
        return await self.edit(note.id, f"{note.text[:begin]}{link}{note.text[end:]}", keep_version=True)

    async def _link_to(self, note: Note, shown: str = "") -> str:
        """Returns a link to a note: by its title, or by its id if others have the same title."""
        names = [note.title, *note.aliases]
        alone = await self._store.notes.is_only(note.title) and not set(note.title) & set("[]|#\n")
        if not alone:
            return f"[[note:{note.id}|{shown or note.title}]]"
        if not shown or folded(shown) in map(folded, names):
            return f"[[{shown or note.title}]]"
        return f"[[{note.title}|{shown}]]"

    async def rename(self, ref: str, title: str) -> Note:
        """Renames a note and rewrites the links that name it, in one step.

        Raises `TitleMissing`, `NoteTitleTaken`.
        """
        async with self.writing:
            note = await self._store.notes.get(ref)
            title = await self._free_title(title, but=note.id)
            if title == note.title:
                return note
            path = note.external_id
            if path:
                ending = posixpath.splitext(path)[1]
                name = file_name(title, ending)
                path = posixpath.join(posixpath.dirname(path), name)
            others = [one.note for one in note.backlinks]
            linking = await self._store.notes.get_many([one for one in others if one != note.id])
            new = await asyncio.to_thread(_renamed_everywhere, note, title, path, linking)
            await self._store.notes.put(new)
            await self._queue()
            self.on_change()
            return await self._store.notes.get(note.id)

    async def file(self, refs: Sequence[str], project: str | None) -> None:
        """Puts notes into a project, which is created if needed; None removes them from their project."""
        async with self.writing:
            notes = [await self._store.notes.get(ref) for ref in refs]
            filed = [replace(rewritten(note, note.text), project=project) for note in notes]
            await self._store.notes.put(filed)

    async def versions(self, ref: str) -> "Sequence[NoteVersion]":
        """Returns the earlier texts of a note, latest first."""
        return await self._store.notes.versions((await self.get(ref)).id)

    async def revert(self, ref: str, version: int | None = None) -> Note:
        """Restores an earlier text, by default the latest; the current text is kept as a version.

        Raises `VersionNotFound`.
        """
        note = await self.get(ref)
        if version is None:
            kept = await self._store.notes.versions(note.id)
            version = kept[0].version if kept else 0
        before = await self._store.notes.version(note.id, version)
        return await self.edit(note.id, before.text, keep_version=True)

    # --- removing ---------------------------------------------------------------------------------

    async def delete(self, refs: Sequence[str]) -> int:
        """Moves notes to the bin; returns how many."""
        count = await self._store.notes.bin([(await self.get(ref)).id for ref in refs])
        self.on_change()
        return count

    async def restore(self, refs: Sequence[str]) -> int:
        """Restores notes from the bin. Raises `NoteTitleTaken`."""
        notes = [await self.get(ref) for ref in refs]
        for note in notes:
            if not note.external_id:
                await self._free_title(note.title, but=note.id)
        count = await self._store.notes.restore([note.id for note in notes])
        self.on_change()
        return count

    async def forget(self, refs: Sequence[str]) -> ErasedDocuments:
        """Erases notes and everything made from them; links to them lose their target."""
        return await self._remove([(await self.get(ref)).id for ref in refs], for_good=True)

    # --- parts ------------------------------------------------------------------------------------

    async def _stored(self, new: NewNote) -> Note:
        (note_id,) = await self._store.notes.put([new])
        await self._queue()
        self.on_change()
        return await self._store.notes.get(note_id)

    async def _free_title(self, title: str, *, but: str | None = None) -> str:
        """Returns the title as one line. Raises `TitleMissing`, `NoteTitleTaken`."""
        title = clean_line(title)
        if not folded(title):
            raise TitleMissing
        taken = await self._store.notes.titled(title)
        if taken is not None and taken != but:
            raise NoteTitleTaken(title, taken)
        return title


def _with_link(text: str, link: str) -> str:
    """Returns the text with a link at its end, next to any links that are already alone there."""
    body = text.rstrip()
    last = body.rpartition("\n")[2]
    if not body:
        return f"{link}\n"
    if last.startswith("[[") and last.endswith("]]") and "\n\n" in body:
        return f"{body} {link}\n"
    return f"{body}\n\n{link}\n"


def _edited(note: Note, text: str, keep_version: bool) -> NewNote:  # noqa: FBT001 - called in a thread
    return read_note(
        note.title,
        text,
        note=note.id,
        project=note.project,
        folder=note.folder,
        external_id=note.external_id,
        keep_version=keep_version,
    )


def _removes_half(before: str, after: str) -> bool:
    """Whether at least half of a text is gone after one change. Takes some milliseconds for a long text."""
    begin = _same(before, after)
    removed = len(before) - begin - _same(before[begin:][::-1], after[begin:][::-1])
    return removed > 0 and 2 * removed >= len(before)


def _same(one: str, other: str) -> int:
    """Returns how many characters at the beginning of two texts are the same."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (left, right) in pairs if left != right), min(len(one), len(other)))


def _renamed_everywhere(note: Note, title: str, path: str, linking: Sequence[Note]) -> list[NewNote]:
    """Returns the note under its new title, and the notes whose links name it."""
    found = []
    for one in linking:
        # Other notes can have the same name: only links to this note change.
        here = {(link.begin, link.end) for link in one.links if link.to == note.id}
        own = [link for link in read_markup(one.text).links if (link.begin, link.end) in here]
        text = renamed(one.text, own, note.title, title)
        if text != one.text:
            found.append(rewritten(one, text))
    own = [
        link
        for link in read_markup(note.text).links
        if any(known.to == note.id and known.begin == link.begin for known in note.links)
    ]
    return [
        rewritten(note, renamed(note.text, own, note.title, title), title=title, external_id=path),
        *found,
    ]
