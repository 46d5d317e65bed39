"""Reads Jan's threads: `thread.json` and `messages.jsonl` in one folder, or an archive of it."""

from collections.abc import Iterator, Sequence
from operator import itemgetter
from pathlib import PurePosixPath
from typing import Any

from atlas_desktop.importing.entities import ImportedMessage, ImportedSession, Unreadable
from atlas_desktop.importing.sources import (
    Note,
    Part,
    digest,
    identifier,
    mapping,
    moment,
    objects,
    sequence,
    text,
)
from atlas_desktop.importing.tree import aside, attached, fenced, joined, quoted, session_of
from atlas_desktop.locale import _
from memory.entities import MessageStatus
from memory.transfer import TravellingSession
from models.messages import Role

_ROLES = {"user": Role.USER, "assistant": Role.ASSISTANT, "system": Role.SYSTEM, "tool": Role.ASSISTANT}
_UNFINISHED = frozenset({"pending", "stopped", "error"})


def read(parts: Sequence[Part], note: Note) -> Iterator[tuple[str, TravellingSession]]:
    """Yields sessions with their places; one folder is one thread. Raises `Unreadable`, `OSError`."""
    threads: dict[str, list[Part]] = {}
    for part in parts:
        threads.setdefault(str(PurePosixPath(part.name.replace("\\", "/")).parent), []).append(part)
    for beside in threads.values():
        yield from _threads(beside, note)


def _threads(parts: Sequence[Part], note: Note) -> Iterator[tuple[str, TravellingSession]]:
    """Yields the threads of one folder: usually one, with its messages in another file."""
    about: dict[str, dict[str, Any]] = {}
    messages: dict[str, list[dict[str, Any]]] = {}
    places: dict[str, str] = {}
    for part in parts:
        for where, value in objects(part, note):
            fields = mapping(value)
            if text(fields.get("object")) == "thread.message" or "thread_id" in fields:
                key = identifier(fields.get("thread_id"))
                messages.setdefault(key, []).append(fields)
            elif fields and "id" in fields:
                key = identifier(fields.get("id"))
                about[key] = fields
            else:
                note(where, _("neither a thread nor a message"))
                continue
            places.setdefault(key, where)
    if len(about) == 1 and len(messages) == 1:
        # The ids need not agree: files in one folder belong together.
        (key,) = about
        messages = {key: next(iter(messages.values()))}
    otherwise = max(part.changed_at for part in parts)
    for key in dict.fromkeys([*about, *messages]):
        try:
            talk = _talk(key, about.get(key, {}), messages.get(key, []))
            yield places.get(key, parts[0].where), session_of(talk, otherwise=otherwise)
        except Unreadable as fault:
            note(places.get(key, parts[0].where), fault.why)


def _talk(key: str, thread: dict[str, Any], messages: list[dict[str, Any]]) -> ImportedSession:
    assistants = [mapping(one) for one in sequence(thread.get("assistants"))]
    first = assistants[0] if assistants else {}
    said: list[ImportedMessage] = []
    moments = [moment(fields.get("created_at")) for fields in messages]
    if all(one is not None for one in moments):
        # Early versions wrote the newest message first.
        messages = [one for _unused, one in sorted(zip(moments, messages, strict=True), key=itemgetter(0))]
    for fields in messages:
        said.append(_said(fields, said[-1].id if said else None))
    return ImportedSession(
        id=key,
        messages=said,
        title=text(thread.get("title")) or text(mapping(thread.get("metadata")).get("title")),
        created_at=moment(thread.get("created")) or moment(thread.get("created_at")),
        updated_at=moment(thread.get("updated")),
        system_prompt=text(first.get("instructions")) or None,
        model=_model(first) or _model(thread),
        starred=True in (mapping(thread.get("metadata")).get("is_favorite"), thread.get("isFavorite")),
        meta={"imported_from": "jan"},
    )


def _model(fields: dict[str, Any]) -> str | None:
    return text(mapping(fields.get("model")).get("id")) or None


def _said(fields: dict[str, Any], parent: str | None) -> ImportedMessage:
    role = _ROLES.get(text(fields.get("role")), Role.ASSISTANT)
    about = mapping(fields.get("metadata"))
    names = [
        text(mapping(one).get("name")) or text(mapping(one).get("file_id"))
        for one in sequence(fields.get("attachments"))
    ]
    calls = map(_call, map(mapping, sequence(about.get("tool_calls"))))
    words = joined((*calls, _content(fields.get("content")), attached(names)))
    key = identifier(fields.get("id")) or digest(parent or "", role, words)
    said = ImportedMessage(
        key, parent, role, words, moment(fields.get("created_at")) or moment(fields.get("created"))
    )
    if role is Role.ASSISTANT:
        said.model = text(about.get("modelId")) or _model(about)
        if text(fields.get("status")) in _UNFINISHED:
            said.status = MessageStatus.PARTIAL
    return said


def _call(fields: dict[str, Any]) -> str:
    """Returns a tool call and its result as text."""
    asked = mapping(mapping(fields.get("tool")).get("function"))
    answer = _content(mapping(fields.get("response")).get("content"))
    given = fenced(text(asked.get("arguments")), "json")
    return joined((aside("Asked", text(asked.get("name"))), given, aside("Result") if answer else "", answer))


def _content(value: Any) -> str:
    if isinstance(value, str):
        return value
    return joined(map(_piece, map(mapping, sequence(value))))


def _piece(fields: dict[str, Any]) -> str:
    kind = text(fields.get("type"))
    held = fields.get("text")
    words = text(mapping(held).get("value")) or text(held)
    if kind == "reasoning":
        return quoted(words)
    if kind in ("image", "image_url"):
        return aside("Image")
    if kind == "tool_call":
        return aside("Asked", text(fields.get("tool_name")) or text(fields.get("name")))
    return words
