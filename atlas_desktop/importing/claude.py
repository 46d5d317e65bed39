"""Reads Claude's export: `conversations.json` and `projects.json`, alone or in its zip archive."""

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
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
    objects,
    readable_json,
    sequence,
    text,
)
from atlas_desktop.importing.tree import (
    Element,
    aside,
    attached,
    elements,
    fenced,
    joined,
    quoted,
    replaced,
)
from atlas_desktop.locale import _
from memory.transfer import TravellingSession
from models.messages import Role

_THINKING = re.compile(r"<antThinking>.*?(?:</antThinking>|\Z)", re.DOTALL)
_ATTRIBUTE = re.compile(r'\b(\w+)="([^"]*)"')
_PLAIN_KINDS = ("text/markdown", "text/plain", "")
_PLAIN_ENDINGS = ("md", "txt", "")
_WRITTEN = frozenset({"file_text", "old_str", "new_str"})
"""Arguments of the tools that write and change files."""
_LANGUAGES = {
    "text/html": "html",
    "image/svg+xml": "svg",
    "application/vnd.ant.mermaid": "mermaid",
    "application/vnd.ant.react": "jsx",
}


def words_of(message: dict[str, Any]) -> str:
    """Returns the full text of a message, including attached text; other files are named."""
    blocks = [mapping(one) for one in sequence(message.get("content"))]
    words = joined(map(_block, blocks)) or _with_artifacts(text(message.get("text")))
    return joined((words, *_attachments(message)))


def _attachments(message: dict[str, Any]) -> list[str]:
    shown = []
    for one in sequence(message.get("attachments")):
        fields = mapping(one)
        name = text(fields.get("file_name"))
        if held := fenced(text(fields.get("extracted_content"))):
            shown.append(joined((aside("Attached", name), held)))
        elif name:
            shown.append(attached([name]))
    files = [mapping(one) for key in ("files", "files_v2") for one in sequence(message.get(key))]
    names = dict.fromkeys(text(one.get("file_name")) or text(one.get("name")) for one in files)
    return [*shown, attached(names)]


def _block(block: dict[str, Any]) -> str:
    kind = text(block.get("type"))
    if kind == "thinking":
        return quoted(text(block.get("thinking")))
    if kind == "tool_use":
        return _asked(block)
    if kind == "tool_result":
        return _result(block)
    if kind == "image":
        return aside("Image", text(block.get("file_name")))
    return _with_artifacts(text(block.get("text")))


def _asked(block: dict[str, Any]) -> str:
    """Shows artifacts and written files as their content, and other tool calls as code or JSON."""
    given = mapping(block.get("input"))
    name = text(block.get("name"))
    if name != "artifacts" and not _WRITTEN & given.keys():
        code = text(given.get("code")) or text(given.get("command"))
        body = fenced(code, "") if code else fenced(readable_json(given), "json")
        return joined((aside("Asked", name), body))
    path = PurePosixPath(text(given.get("path")))
    title = text(given.get("title")) or text(given.get("id")) or path.name
    if (content := text(given.get("content")) or text(given.get("file_text"))).strip():
        kind = path.suffix.removeprefix(".")
        about = given if name == "artifacts" or kind in _PLAIN_ENDINGS else {"language": kind, **given}
        return joined((aside("Artifact", title), _shown(content, about)))
    old, new = text(given.get("old_str")), text(given.get("new_str"))
    if not old and not new:
        return aside("Artifact", title)
    return joined((aside("Artifact changed", title), fenced(old), "became", fenced(new) or "nothing"))


def _shown(content: str, about: dict[str, Any]) -> str:
    kind, language = text(about.get("type")), text(about.get("language"))
    if kind in _PLAIN_KINDS and not language:
        return content
    return fenced(content, language or _LANGUAGES.get(kind, ""))


def _result(block: dict[str, Any]) -> str:
    content = block.get("content")
    if isinstance(content, str):
        words = content
    else:
        parts = [mapping(one) for one in sequence(content)]
        words = joined(text(one.get("text")) or _source(one) for one in parts)
    # An artifact's result only confirms that it exists, which is visible anyway.
    if text(block.get("name")) == "artifacts" and len(words) < 20:
        return ""
    failed = "Error" if block.get("is_error") is True else "Result"
    return joined((aside(failed, text(block.get("name"))), words)) if words else ""


def _source(one: dict[str, Any]) -> str:
    title, address = text(one.get("title")), text(one.get("url"))
    return aside("Source", title, address) if title or address else ""


def _with_artifacts(words: str) -> str:
    """Formats the artifact elements that earlier exports have in the text."""
    if "<ant" not in words:
        return words

    def shown(found: Element) -> str:
        about: dict[str, Any] = dict(_ATTRIBUTE.findall(found.attributes))
        title = text(about.get("title")) or text(about.get("identifier"))
        return f"\n\n{joined((aside('Artifact', title), _shown(found.body, about)))}\n\n"

    said = _THINKING.sub("", words)
    return replaced(said, elements(said, "antArtifact", unclosed=True), shown).strip()


_ROLES = {"human": Role.USER, "user": Role.USER, "assistant": Role.ASSISTANT, "system": Role.SYSTEM}
_REASONS = {"stop_sequence": "stop", "end_turn": "stop", "max_tokens": "length"}
_ROOT = "00000000-0000-4000-8000-000000000000"


def read(parts: Sequence[Part], note: Note) -> Iterator[tuple[str, TravellingSession]]:
    """Yields sessions with their places. Raises `Unreadable`, `OSError`."""
    names: dict[str, str] = {}
    # Conversations name their project by id, so project files, recognised by their first bytes, are read
    # first.
    for part in parts:
        if not _holds_conversations(part):
            before = part.meter.done
            names.update(_projects(part))
            part.meter.done, part.meter.ahead = before, 0
    yield from tree.sessions(parts, note, lambda value: talk_of(value, names))


def _holds_conversations(part: Part) -> bool:
    return b'"chat_messages"' in part.head(1024 * 1024)


def _projects(part: Part) -> Iterator[tuple[str, str]]:
    for _unused, value in objects(part, lambda _where, _why: None):
        fields = mapping(value)
        if "docs" in fields:
            yield identifier(fields.get("uuid")), text(fields.get("name"))


def talk_of(value: Any, projects: dict[str, str]) -> ImportedSession | None:
    """Returns a conversation or project; None for a project without documents and description.

    Raises `Unreadable`.
    """
    fields = mapping(value)
    if "chat_messages" not in fields:
        if "docs" in fields or "prompt_template" in fields:
            return _project(fields)
        raise Unreadable(_("not a conversation: no `chat_messages`, where Claude stores messages"))
    if not isinstance(fields["chat_messages"], list):
        raise Unreadable(_("not a conversation: `chat_messages` is not a list"))
    said = list(_said(fields["chat_messages"]))
    project = mapping(fields.get("project"))
    known = projects.get(identifier(fields.get("project_uuid")) or identifier(project.get("uuid")), "")
    summary = text(fields.get("summary")).strip()
    return ImportedSession(
        id=identifier(fields.get("uuid")),
        messages=said,
        title=text(fields.get("name")),
        created_at=moment(fields.get("created_at")),
        updated_at=moment(fields.get("updated_at")),
        head=text(fields.get("current_leaf_message_uuid")) or None,
        project=text(project.get("name")) or known or None,
        model=text(fields.get("model")) or None,
        starred=fields.get("is_starred") is True,
        meta={"imported_from": "claude", **({"summary": summary} if summary else {})},
    )


def _said(messages: list[Any]) -> Iterator[ImportedMessage]:
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
        said = ImportedMessage(key, above, role, words, moment(fields.get("created_at")))
        if role is Role.ASSISTANT:
            said.model = text(fields.get("model")) or None
            reason = text(fields.get("stop_reason"))
            said.stop_reason = _REASONS.get(reason)
        yield said
        before = key


def _project(fields: dict[str, Any]) -> ImportedSession | None:
    """Returns a project as a separate session, with its description and documents as messages.

    Its instructions become the system prompt. Returns None if there are no messages.
    """
    name = text(fields.get("name"))
    begun = moment(fields.get("created_at"))
    key = identifier(fields.get("uuid"))
    said: list[ImportedMessage] = []
    described = text(fields.get("description")).strip()
    if described:
        said.append(ImportedMessage(f"{key}#description", None, Role.USER, described, begun))
    for place, one in enumerate(sequence(fields.get("docs"))):
        document = mapping(one)
        words = text(document.get("content"))
        if not words.strip():
            continue
        parent = said[-1].id if said else None
        content = joined((aside("Document", text(document.get("filename"))), words))
        own = identifier(document.get("uuid")) or f"{key}#{place}"
        said.append(
            ImportedMessage(own, parent, Role.USER, content, moment(document.get("created_at")) or begun)
        )
    if not said:
        return None
    return ImportedSession(
        id=key or digest("project", name),
        messages=said,
        title=f"Project: {name}" if name else "Project",
        created_at=begun,
        updated_at=moment(fields.get("updated_at")),
        project=name or None,
        system_prompt=text(fields.get("prompt_template")) or None,
        meta={"imported_from": "claude"},
    )
