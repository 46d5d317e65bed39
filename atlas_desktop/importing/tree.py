"""From a conversation as its origin tells of it to a tree of messages that holds together."""

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

from atlas_desktop.importing.entities import Said, Talk, Unreadable
from atlas_desktop.importing.json_reading import Note, digest, json_text, objects
from atlas_desktop.importing.sources import Part
from atlas_desktop.services.cleaning import clean, clean_line
from atlas_desktop.services.summaries import first_words
from atlas_desktop.words.catalogue import tr
from memory.entities import TitleSource
from memory.transfer import TravellingMessage, TravellingSession
from models.messages import Role

_LONGEST_NAME = 200
_LONGEST_TITLE = 500


def session_of(talk: Talk, *, otherwise: datetime) -> TravellingSession:
    """The conversation as a session. `otherwise` is its time when it tells of none (aware).

    Raises `Unreadable` when nothing was said in it.
    """
    said = _distinct(talk.said)
    kept = {one.id: one for one in said.values() if one.content.strip()}
    if not kept:
        raise Unreadable(tr("left_out.nothing_said"))
    tree = _Tree(_parents(said), kept)
    parents = {name: tree.nearest(tree.parents[name]) for name in kept}
    begun = talk.created_at or min(_moments(kept.values()), default=otherwise)
    order = _grown(kept, parents, begun)
    messages = tuple(
        TravellingMessage(
            id=one.id,
            parent=parents[one.id],
            role=one.role,
            speaker=_name(one.speaker),
            content=one.content,
            created_at=at,
            status=one.status,
            stop_reason=one.stop_reason,
            important=one.important,
            model=_name(one.model or "") or None,
            meta=json_text(one.meta),
        )
        for one, at in order
    )
    latest = max(one.created_at for one in messages)
    used = max(talk.updated_at or latest, begun)
    head = tree.nearest(talk.head)
    title = clean_line(talk.title)[:_LONGEST_TITLE]
    return TravellingSession(
        id=talk.id or digest(messages[0].id, messages[0].content),
        title=title or first_words(_first(messages)),
        created_at=begun,
        updated_at=used,
        messages=messages,
        title_source=TitleSource.IMPORTED if title else TitleSource.FIRST_WORDS,
        project=_name(talk.project or "") or None,
        tags=tuple(dict.fromkeys(tag for one in talk.tags if (tag := _name(one)))),
        memory_mode=talk.memory_mode,
        system_prompt=clean(talk.system_prompt or "").strip() or None,
        model=_name(talk.model or "") or _last_model(messages),
        starred=talk.starred,
        important=talk.important,
        head=head or messages[-1].id,
        meta=json_text(talk.meta),
        # When it was done is told nowhere; at its last use at the latest is near enough to keep the order.
        pinned_at=used if talk.pinned else None,
        archived_at=used if talk.archived else None,
    )


def _distinct(given: Iterable[Said]) -> dict[str, Said]:
    """By id; what says something else under an id that is taken gets one of its own."""
    found: dict[str, Said] = {}
    for one in given:
        one.content = clean(one.content)
        one.id = one.id or digest(one.parent or "", one.role, one.content)
        before = found.get(one.id)
        if before is not None and before.content != one.content:
            one.id = f"{one.id}#{digest(one.role, one.content)}"
        found.setdefault(one.id, one)
    return found


def _parents(said: dict[str, Said]) -> dict[str, str | None]:
    """The parent of each that is there, and no circles: each is cut where it is first come upon."""
    parents = {name: one.parent if one.parent in said else None for name, one in said.items()}
    safe: set[str] = set()
    for name in said:
        path: set[str] = set()
        at: str | None = name
        while at is not None and at not in safe:
            path.add(at)
            if parents[at] in path:
                parents[at] = None
            at = parents[at]
        safe |= path
    return parents


class _Tree:
    """Leads from any message up to the nearest that is kept."""

    def __init__(self, parents: dict[str, str | None], kept: dict[str, Said]) -> None:
        self.parents = parents
        self._nearest: dict[str, str | None] = dict(zip(kept, kept, strict=True))

    def nearest(self, name: str | None) -> str | None:
        """The message, or the nearest above it, that is kept."""
        passed = []
        while name is not None and name not in self._nearest:
            passed.append(name)
            name = self.parents.get(name)
        found = None if name is None else self._nearest[name]
        self._nearest.update(dict.fromkeys(passed, found))
        return found


def _moments(said: Iterable[Said]) -> Iterable[datetime]:
    return (one.created_at for one in said if one.created_at is not None)


def _grown(
    kept: dict[str, Said], parents: dict[str, str | None], begun: datetime
) -> list[tuple[Said, datetime]]:
    """Parents before their children, else by time and then as told; with times, which may be a parent's."""
    children: dict[str | None, list[int]] = {}
    names = list(kept)
    for place, name in enumerate(names):
        children.setdefault(parents[name], []).append(place)
    waiting: list[tuple[datetime, int]] = []

    def add(parent: str | None, at: datetime) -> None:
        for place in children.get(parent, ()):
            heapq.heappush(waiting, (kept[names[place]].created_at or at, place))

    grown: list[tuple[Said, datetime]] = []
    add(None, begun)
    while waiting:
        at, place = heapq.heappop(waiting)
        grown.append((kept[names[place]], at))
        add(names[place], at)
    return grown


def _first(messages: Iterable[TravellingMessage]) -> str:
    """The first words of the person, or of anybody."""
    every = list(messages)
    return next((one.content for one in every if one.role is Role.USER), every[0].content)


def _last_model(messages: tuple[TravellingMessage, ...]) -> str | None:
    return next((one.model for one in reversed(messages) if one.model), None)


def _name(given: str) -> str:
    return clean_line(given)[:_LONGEST_NAME]


def sessions(
    parts: Sequence[Part], note: Note, talk_of: Callable[[Any], Talk | None]
) -> Iterator[tuple[str, TravellingSession]]:
    """The sessions of files whose objects are a conversation each; `talk_of` gives None for one that is none.

    `talk_of` may raise `Unreadable`, which is noted. Raises `Unreadable`, `OSError`.
    """
    for part in parts:
        for where, value in objects(part, note):
            try:
                talk = talk_of(value)
                session = None if talk is None else session_of(talk, otherwise=part.changed_at)
            except Unreadable as fault:
                note(where, fault.why)
                continue
            if session is not None:
                yield where, session
