"""Reads Open WebUI's export of chats: an array of records, each with its `chat`, or a single `chat`.

Messages form a tree in `chat.history`; the oldest versions have a plain list instead.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from atlas_desktop.importing import tree
from atlas_desktop.importing.entities import ImportedMessage, ImportedSession, Unreadable
from atlas_desktop.importing.sources import (
    Note,
    Part,
    digest,
    identifier,
    mapping,
    moment,
    sequence,
    text,
    texts,
)
from atlas_desktop.importing.tree import Element, attached, elements, joined, quoted, replaced
from atlas_desktop.locale import _
from memory.entities import MessageStatus
from memory.transfer import TravellingSession
from models.messages import Role

_ROLES = {"user": Role.USER, "assistant": Role.ASSISTANT, "system": Role.SYSTEM, "tool": Role.ASSISTANT}


def read(parts: Sequence[Part], note: Note) -> Iterator[tuple[str, TravellingSession]]:
    """Yields sessions with their places. Raises `Unreadable`, `OSError`."""
    return tree.sessions(parts, note, talk_of)


def talk_of(value: Any) -> ImportedSession:
    """Returns a conversation from its JSON value. Raises `Unreadable`."""
    fields = mapping(value)
    chat = mapping(fields.get("chat")) or fields
    history = mapping(chat.get("history"))
    nodes = mapping(history.get("messages"))
    if not nodes and not isinstance(chat.get("messages"), list):
        raise Unreadable(
            _("not a conversation: no `history` or `messages`, where Open WebUI stores messages")
        )
    said = [_said(key, mapping(one)) for key, one in nodes.items()] or list(
        _one_after_another(sequence(chat.get("messages")))
    )
    models = texts(chat.get("models"))
    tags = [*_names(chat.get("tags")), *_names(mapping(fields.get("meta")).get("tags"))]
    return ImportedSession(
        id=identifier(fields.get("id")) or identifier(chat.get("id")),
        messages=said,
        title=text(chat.get("title")) or text(fields.get("title")),
        created_at=moment(fields.get("created_at")) or moment(chat.get("timestamp")),
        updated_at=moment(fields.get("updated_at")),
        head=text(history.get("currentId")) or None,
        project=text(mapping(fields.get("folder")).get("name")) or None,
        tags=list(dict.fromkeys(tags)),
        system_prompt=text(chat.get("system")) or text(mapping(chat.get("params")).get("system")) or None,
        model=models[0] if models else None,
        pinned=fields.get("pinned") is True,
        archived=fields.get("archived") is True,
        meta={"imported_from": "openwebui"},
    )


def _names(value: Any) -> list[str]:
    """Returns the names of tags, which are strings or, in older versions, objects with a name."""
    return [name for one in sequence(value) if (name := text(one) or text(mapping(one).get("name")))]


def _said(key: str, fields: dict[str, Any]) -> ImportedMessage:
    role = _ROLES.get(text(fields.get("role")), Role.ASSISTANT)
    said = ImportedMessage(
        identifier(key),
        text(fields.get("parentId")) or None,
        role,
        _words(fields),
        moment(fields.get("timestamp")),
    )
    if role is Role.ASSISTANT:
        said.model = text(fields.get("model")) or text(fields.get("modelName")) or None
        if fields.get("error") or fields.get("done") is False:
            said.status = MessageStatus.PARTIAL
    return said


def _one_after_another(messages: list[Any]) -> Iterator[ImportedMessage]:
    before: str | None = None
    for one in messages:
        fields = mapping(one)
        said = _said(text(fields.get("id")), {"parentId": before, **fields})
        said.id = said.id or digest(before or "", said.role, said.content)
        yield said
        before = said.id


def _words(fields: dict[str, Any]) -> str:
    content = fields.get("content")
    if not isinstance(content, str):
        content = joined(text(mapping(part).get("text")) for part in sequence(content))
    files = [mapping(one) for one in sequence(fields.get("files"))]
    names = [
        text(one.get("name")) or text(mapping(one.get("file")).get("filename")) or text(one.get("type"))
        for one in files
    ]
    error = fields.get("error")
    failed = text(mapping(error).get("content")) or text(error)
    return joined((_without_details(content), f"[Error: {failed}]" if failed else "", attached(names)))


def _without_details(words: str) -> str:
    """Quotes reasoning; tool calls, which are folded too, keep their one-line summary."""
    if "<details" not in words:
        return words

    def shown(found: Element) -> str:
        summaries = list(elements(found.body, "summary"))
        body = replaced(found.body, summaries, lambda _unused: "")
        lines = "\n".join(line.removeprefix("> ").removeprefix("&gt; ") for line in body.strip().split("\n"))
        return f"{quoted(joined((summaries[0].body if summaries else '', lines)))}\n\n"

    return replaced(words, elements(words, "details", spaces=True), shown)
