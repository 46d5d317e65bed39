"""Claude's export: `conversations.json` and `projects.json`, alone or in the zip archive they come in.

A conversation's messages name the one that they answer (in newer exports) or stand one after another. A
project becomes a session that holds its documents. Artifacts, and what was asked of tools, are shown as text.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from atlas_desktop.services.importing import reading
from atlas_desktop.services.importing.claude_content import words_of
from atlas_desktop.services.importing.entities import Said, Talk, Unreadable
from atlas_desktop.services.importing.scanning import Note, objects
from atlas_desktop.services.importing.sources import Part
from atlas_desktop.services.importing.values import digest, identifier, mapping, moment, sequence, text
from atlas_desktop.services.importing.wording import aside, joined
from atlas_desktop.words.catalogue import tr
from memory.transfer.entities import TravellingSession
from models.messages import Role

_ROLES = {"human": Role.USER, "user": Role.USER, "assistant": Role.ASSISTANT, "system": Role.SYSTEM}
_REASONS = {"stop_sequence": "stop", "end_turn": "stop", "max_tokens": "length"}
_ROOT = "00000000-0000-4000-8000-000000000000"


def read(parts: Sequence[Part], note: Note) -> Iterator[tuple[str, TravellingSession]]:
    """Raises `Unreadable`, `OSError`."""
    names: dict[str, str] = {}
    # Conversations name their project by its id; which files tell of projects is seen from the beginning.
    for part in parts:
        if not _holds_conversations(part):
            before = part.meter.done
            names.update(_projects(part))
            part.meter.done, part.meter.ahead = before, 0
    yield from reading.sessions(parts, note, lambda value: talk_of(value, names))


def _holds_conversations(part: Part) -> bool:
    return b'"chat_messages"' in part.head(1024 * 1024)


def _projects(part: Part) -> Iterator[tuple[str, str]]:
    for _, value in objects(part, lambda _where, _why: None):
        fields = mapping(value)
        if "docs" in fields:
            yield identifier(fields.get("uuid")), text(fields.get("name"))


def talk_of(value: Any, projects: dict[str, str]) -> Talk | None:
    """None for a project without documents and instructions. Raises `Unreadable`."""
    fields = mapping(value)
    if "chat_messages" not in fields:
        if "docs" in fields or "prompt_template" in fields:
            return _project(fields)
        raise Unreadable(tr("left_out.claude"))
    if not isinstance(fields["chat_messages"], list):
        raise Unreadable(tr("left_out.claude.list"))
    said = list(_said(fields["chat_messages"]))
    project = mapping(fields.get("project"))
    known = projects.get(identifier(fields.get("project_uuid")) or identifier(project.get("uuid")), "")
    summary = text(fields.get("summary")).strip()
    return Talk(
        id=identifier(fields.get("uuid")),
        said=said,
        title=text(fields.get("name")),
        created_at=moment(fields.get("created_at")),
        updated_at=moment(fields.get("updated_at")),
        head=text(fields.get("current_leaf_message_uuid")) or None,
        project=text(project.get("name")) or known or None,
        model=text(fields.get("model")) or None,
        starred=fields.get("is_starred") is True,
        meta={"imported_from": "claude", **({"summary": summary} if summary else {})},
    )


def _said(messages: list[Any]) -> Iterator[Said]:
    before: str | None = None
    tree = any(text(mapping(one).get("parent_message_uuid")) for one in messages)
    for one in messages:
        fields = mapping(one)
        role = _ROLES.get(text(fields.get("sender")) or text(fields.get("role")))
        if role is None:
            continue
        words = words_of(fields)
        parent = text(fields.get("parent_message_uuid"))
        above = before if not tree else None if parent == _ROOT else parent or None
        key = identifier(fields.get("uuid")) or digest(above or "", role, words)
        said = Said(key, above, role, words, moment(fields.get("created_at")))
        if role is Role.ASSISTANT:
            said.model = text(fields.get("model")) or None
            reason = text(fields.get("stop_reason"))
            said.stop_reason = _REASONS.get(reason)
        yield said
        before = key


def _project(fields: dict[str, Any]) -> Talk | None:
    """A project as a session of its own: its instructions, and each document as a message."""
    name = text(fields.get("name"))
    begun = moment(fields.get("created_at"))
    key = identifier(fields.get("uuid"))
    said: list[Said] = []
    described = text(fields.get("description")).strip()
    if described:
        said.append(Said(f"{key}#description", None, Role.USER, described, begun))
    for place, one in enumerate(sequence(fields.get("docs"))):
        document = mapping(one)
        words = text(document.get("content"))
        if not words.strip():
            continue
        parent = said[-1].id if said else None
        content = joined((aside("Document", text(document.get("filename"))), words))
        own = identifier(document.get("uuid")) or f"{key}#{place}"
        said.append(Said(own, parent, Role.USER, content, moment(document.get("created_at")) or begun))
    if not said:
        return None
    return Talk(
        id=key or digest("project", name),
        said=said,
        title=f"Project: {name}" if name else "Project",
        created_at=begun,
        updated_at=moment(fields.get("updated_at")),
        project=name or None,
        system_prompt=text(fields.get("prompt_template")) or None,
        meta={"imported_from": "claude"},
    )
