"""Converts a conversation as given by its origin into a consistent tree of messages."""

import heapq
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from atlas_desktop.importing.entities import ImportedMessage, ImportedSession, Unreadable
from atlas_desktop.importing.formats import program_named
from atlas_desktop.importing.sources import Note, Part, digest, json_text, objects
from atlas_desktop.locale import _
from atlas_desktop.services.cleaning import clean, clean_line
from atlas_desktop.services.summaries import first_words
from memory.entities import TitleSource
from memory.transfer import TravellingMessage, TravellingSession
from models.messages import Role

_LONGEST_NAME = 200
_LONGEST_TITLE = 500


def session_of(talk: ImportedSession, *, otherwise: datetime) -> TravellingSession:
    """Returns the conversation as a session; `otherwise` is its time if it has none (aware).

    Raises `Unreadable` if it contains no messages.
    """
    said = _distinct(talk.messages)
    kept = {one.id: one for one in said.values() if one.content.strip()}
    if not kept:
        raise Unreadable(_("it contains no messages"))
    tree = _Tree(_parents(said), kept)
    parents = {name: tree.nearest(tree.parents[name]) for name in kept}
    # A reply without a model gets that of the conversation, or the name of the program.
    whose = talk.model or program_named(str(talk.meta.get("imported_from", "")))
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
            model=_name(one.model or (whose if one.role is Role.ASSISTANT else "")) or None,
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
        model=_name(talk.model or "") or _last_model(kept[one.id] for one in messages),
        starred=talk.starred,
        important=talk.important,
        head=head or messages[-1].id,
        meta=json_text(talk.meta),
        # The time of pinning or archiving is unknown; the last use is close enough to keep the order.
        pinned_at=used if talk.pinned else None,
        archived_at=used if talk.archived else None,
    )


def _distinct(given: Iterable[ImportedMessage]) -> dict[str, ImportedMessage]:
    """Returns the messages by id; other content under an id already taken gets a separate id."""
    found: dict[str, ImportedMessage] = {}
    for one in given:
        one.content = clean(one.content)
        one.id = one.id or digest(one.parent or "", one.role, one.content)
        before = found.get(one.id)
        if before is not None and before.content != one.content:
            one.id = f"{one.id}#{digest(one.role, one.content)}"
        found.setdefault(one.id, one)
    return found


def _parents(said: dict[str, ImportedMessage]) -> dict[str, str | None]:
    """Returns the known parents without cycles; each cycle is cut where it is first found."""
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
    """Finds the nearest kept message above any message."""

    def __init__(self, parents: dict[str, str | None], kept: dict[str, ImportedMessage]) -> None:
        self.parents = parents
        self._nearest: dict[str, str | None] = dict(zip(kept, kept, strict=True))

    def nearest(self, name: str | None) -> str | None:
        """Returns the message itself or its nearest ancestor that is kept."""
        passed = []
        while name is not None and name not in self._nearest:
            passed.append(name)
            name = self.parents.get(name)
        found = None if name is None else self._nearest[name]
        self._nearest.update(dict.fromkeys(passed, found))
        return found


def _moments(said: Iterable[ImportedMessage]) -> Iterable[datetime]:
    return (one.created_at for one in said if one.created_at is not None)


def _grown(
    kept: dict[str, ImportedMessage], parents: dict[str, str | None], begun: datetime
) -> list[tuple[ImportedMessage, datetime]]:
    """Returns messages with times: parents before their children, then by time, then in the given order.

    A message without a time gets its parent's.
    """
    children: dict[str | None, list[int]] = {}
    names = list(kept)
    for place, name in enumerate(names):
        children.setdefault(parents[name], []).append(place)
    waiting: list[tuple[datetime, int]] = []

    def add(parent: str | None, at: datetime) -> None:
        for place in children.get(parent, ()):
            heapq.heappush(waiting, (kept[names[place]].created_at or at, place))

    grown: list[tuple[ImportedMessage, datetime]] = []
    add(None, begun)
    while waiting:
        at, place = heapq.heappop(waiting)
        grown.append((kept[names[place]], at))
        add(names[place], at)
    return grown


def _first(messages: Iterable[TravellingMessage]) -> str:
    """Returns the first message of the user, or of anyone."""
    every = list(messages)
    return next((one.content for one in every if one.role is Role.USER), every[0].content)


def _last_model(said: Iterable[ImportedMessage]) -> str | None:
    models = [_name(one.model) for one in said if one.model]
    return models[-1] if models else None


def _name(given: str) -> str:
    return clean_line(given)[:_LONGEST_NAME]


def sessions(
    parts: Sequence[Part], note: Note, talk_of: Callable[[Any], ImportedSession | None]
) -> Iterator[tuple[str, TravellingSession]]:
    """Yields the sessions of files with one conversation per object; `talk_of` gives None for other objects.

    `talk_of` may raise `Unreadable`, which is recorded. Raises `Unreadable`, `OSError`.
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


_FENCES = re.compile(r"`{3,}")
_LANGUAGE = re.compile(r"[A-Za-z0-9_+#.-]{1,30}")
_LONGEST_TAG = 20_000


@dataclass(frozen=True, slots=True)
class Element:
    """An element in a text: the attributes in its tag, its body and its position."""

    attributes: str = field(repr=False)
    body: str = field(repr=False)
    begin: int
    end: int


def elements(text: str, name: str, *, unclosed: bool = False, spaces: bool = False) -> Iterator[Element]:
    """Yields the elements `<name …>…</name>`, none inside another.

    With `unclosed` the last one may extend to the end; with `spaces` the whitespace after one belongs to it.
    This is a scan because a regular expression would read to the end of the text from each unclosed tag.
    """
    opening, closing = f"<{name}", f"</{name}>"
    begin, bracket = text.find(opening), -1
    while begin >= 0:
        at = begin + len(opening)
        if bracket < at and (bracket := text.find(">", at)) < 0:
            return
        if text[at : at + 1].isalnum() or bracket - at > _LONGEST_TAG:
            begin = text.find(opening, at)
            continue
        close = text.find(closing, bracket + 1)
        if close < 0 and not unclosed:
            return
        body_end, end = (len(text), len(text)) if close < 0 else (close, close + len(closing))
        while spaces and text[end : end + 1].isspace():
            end += 1
        yield Element(text[at:bracket], text[bracket + 1 : body_end], begin, end)
        begin = text.find(opening, end)


def replaced(text: str, found: Iterable[Element], shown: Callable[[Element], str]) -> str:
    """Returns the text with each element replaced by the result of `shown`."""
    parts: list[str] = []
    at = 0
    for one in found:
        parts += (text[at : one.begin], shown(one))
        at = one.end
    return "".join((*parts, text[at:]))


def joined(parts: Iterable[str]) -> str:
    """Joins the parts that are not empty with an empty line between them."""
    return "\n\n".join(part for one in parts if (part := one.strip("\n").rstrip()))


def fenced(text: str, language: str = "") -> str:
    """Returns a code block whose fences are longer than any in it; empty for empty text."""
    if not text.strip():
        return ""
    longest = max((len(found) for found in _FENCES.findall(text)), default=2)
    fence = "`" * max(longest + 1, 3)
    known = language if _LANGUAGE.fullmatch(language) else ""
    return f"{fence}{known}\n{text.strip(chr(10))}\n{fence}"


def quoted(text: str) -> str:
    """Returns text as a Markdown quote, which marks reasoning and citations."""
    return "\n".join(f"> {line}".rstrip() for line in text.strip().split("\n")) if text.strip() else ""


def aside(kind: str, *names: str) -> str:
    """Returns a remark in square brackets, such as the names of attached files."""
    named = ", ".join(name for one in names if (name := clean_line(one)))
    return f"[{kind}: {named}]" if named else f"[{kind}]"


def attached(names: Iterable[str]) -> str:
    """Returns the names of attached files as a remark; empty if there are none."""
    given = [name for one in names if (name := clean_line(one))]
    return aside("Attached", *given) if given else ""
