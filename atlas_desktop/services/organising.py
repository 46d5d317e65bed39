"""Conversations of a room put in order: marks of many at once, suggestions, merging."""

from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import replace
from datetime import datetime

from atlas_desktop.services.background import BackgroundService
from atlas_desktop.services.cleaning import clean_line
from atlas_desktop.services.epochs import EpochService
from atlas_desktop.services.projects import tidy_name
from atlas_desktop.words.catalogue import tr
from memory.entities import CategorySource, Session
from memory.organising.entities import MarksPatch, Merged, Organised, TagCount, TagSuggestion
from memory.ports import SessionStore

LONGEST_TAG = 40
"""Characters of a tag, or of a category."""

Told = Callable[[str], Awaitable[object]]
"""Called with the id of a session."""


class OrganisingService:
    """Of one room. `remember` is told of sessions that hold something new, `important` of those that became
    so.

    Ids are full ones. Raises `SessionNotFound`, with nothing changed.
    """

    def __init__(
        self,
        store: SessionStore,
        background: BackgroundService,
        epochs: EpochService,
        *,
        remember: Told,
        important: Told,
    ) -> None:
        self._store = store
        self._background = background
        self._epochs = epochs
        self._remember = remember
        self._important = important

    async def apply(
        self, session_ids: Sequence[str], patch: MarksPatch, *, at: datetime | None = None
    ) -> list[Organised]:
        """Changes all of them in one step; `put_back` undoes it. Raises ValueError for a tag, category or
        project that is empty or too long. `at` as in `OrganisingStore.apply`."""
        made = await self._store.organising.apply(session_ids, tidy(patch), at=at)
        for one in made:
            if one.after.important and not one.before.important:
                await self._important(one.session_id)
        return made

    async def put_back(self, changes: Sequence[Organised]) -> list[Organised]:
        """Undoes changes where nobody has changed the same mark since. Returns what was changed."""
        return await self._store.organising.put_back(changes)

    async def last_changed(self) -> datetime | None:
        """When the last change was made; None when nothing is remembered."""
        return await self._store.organising.last_changed()

    async def undo_last(self) -> list[Organised]:
        """Undoes the last change, whoever made it; empty when nothing is remembered."""
        return await self._store.organising.undo_last()

    async def tags(self) -> list[TagCount]:
        """The most used first."""
        return await self._store.organising.tags()

    async def suggestions(self, ref: str | None = None) -> list[TagSuggestion]:
        """What waits for an answer, of a session or of all."""
        session = None if ref is None else (await self._store.get_session(ref)).id
        return await self._store.organising.suggestions(session)

    async def accept(self, session_id: str, tags: Collection[str] = ()) -> list[Organised]:
        """Gives the session suggested tags: these, or all that wait."""
        found = tuple(one.tag for one in await self._store.organising.suggestions(session_id))
        wanted = tuple(one for one in found if not tags or one in tags)
        return await self._store.organising.apply([session_id], MarksPatch(add_tags=wanted))

    async def reject(self, session_id: str, tags: Collection[str] = ()) -> int:
        """Takes suggestions away for good: these, or all that wait. Returns how many."""
        wanted = tags or [one.tag for one in await self._store.organising.suggestions(session_id)]
        return await self._store.organising.reject(session_id, wanted)

    async def categorise_again(self, session_ids: Sequence[str]) -> None:
        """Gives categories back to the program, which looks for one when there is time."""
        for session_id in session_ids:
            session = await self._store.get_session(session_id)
            if session.category_source is CategorySource.PERSON:
                await self._store.organising.release(session.id)

    async def merge(self, ref: str, others: Sequence[str]) -> tuple[Session, Merged]:
        """Appends other sessions, the earliest begun first, to one. Restoring one of them from the bin takes
        its messages out again. No reply may be under way in any. Raises `CannotMerge`."""
        target = await self._store.get_session(ref)
        found = [await self._store.get_session(one) for one in others]
        ordered = [one.id for one in sorted(found, key=lambda one: (one.created_at, one.id))]
        # A job in mid-work could write down what it has read of a session that is empty by then.
        async with self._background.stopped():
            await self._epochs.forget([target.id, *ordered])
            merged = await self._store.organising.merge(target.id, ordered)
        await self._remember(target.id)
        return await self._store.get_session(target.id), merged


def tidy(patch: MarksPatch) -> MarksPatch:
    """The patch with its words cleaned. Raises ValueError for a word that is empty or too long."""
    return replace(
        patch,
        add_tags=tuple(map(tidy_tag, patch.add_tags)),
        # A tag that came in from elsewhere may be anything; whatever it is, it can be taken away.
        remove_tags=tuple(
            tag for given in patch.remove_tags for tag in (given, clean_line(given).lstrip("#"))
        ),
        category=tidy_tag(patch.category) if patch.category else patch.category,
        project=tidy_name(patch.project) if patch.project else patch.project,
    )


def tidy_tag(text: str) -> str:
    """One line without the # that others write in front. Raises ValueError when empty or too long."""
    tag = clean_line(text).lstrip("#").strip()
    if not tag or len(tag) > LONGEST_TAG:
        raise ValueError(tr("history.tag.length", most=LONGEST_TAG))
    return tag
