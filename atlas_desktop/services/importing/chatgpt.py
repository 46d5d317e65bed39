"""ChatGPT's export: `conversations.json`, alone or in the zip archive it comes in.

A conversation is a `mapping` of nodes by id, each with its parent and perhaps a message; `current_node` is
the end of the branch that was shown. What the site does not show is left out, except for the person's custom
instructions, which become the session's instructions.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from atlas_desktop.services.importing import reading
from atlas_desktop.services.importing.chatgpt_content import words_of
from atlas_desktop.services.importing.entities import Said, Talk, Unreadable
from atlas_desktop.services.importing.scanning import Note
from atlas_desktop.services.importing.sources import Part
from atlas_desktop.services.importing.values import identifier, mapping, moment, number, sequence, text
from atlas_desktop.services.importing.wording import joined
from atlas_desktop.words.catalogue import tr
from memory.entities import MessageStatus
from memory.transfer.entities import TravellingSession
from models.messages import Role

_ROLES = {"user": Role.USER, "system": Role.SYSTEM}
_REASONS = {"stop": "stop", "max_tokens": "length", "interrupted": "cancelled"}
_UNFINISHED = frozenset({"in_progress", "finished_partial_completion"})


def read(parts: Sequence[Part], note: Note) -> Iterator[tuple[str, TravellingSession]]:
    """Raises `Unreadable`, `OSError`."""
    return reading.sessions(parts, note, talk_of)


def talk_of(value: Any) -> Talk:
    """Raises `Unreadable`."""
    fields = mapping(value)
    if not isinstance(fields.get("mapping"), dict):
        raise Unreadable(tr("left_out.chatgpt"))
    nodes = {key: mapping(node) for key, node in mapping(fields["mapping"]).items()}
    parents = {child: key for key, node in nodes.items() for child in sequence(node.get("children"))
               if isinstance(child, str)}  # fmt: skip
    said = [
        _said(identifier(key), text(node.get("parent")) or parents.get(key), mapping(node.get("message")))
        for key, node in nodes.items()
    ]
    instructions = [_instructions(mapping(node.get("message"))) for node in nodes.values()]
    return Talk(
        id=identifier(fields.get("conversation_id")) or identifier(fields.get("id")),
        said=said,
        title=text(fields.get("title")),
        created_at=moment(fields.get("create_time")),
        updated_at=moment(fields.get("update_time")),
        head=text(fields.get("current_node")) or None,
        system_prompt=next(filter(None, reversed(instructions)), None),
        model=text(fields.get("default_model_slug")) or None,
        starred=fields.get("is_starred") is True,
        pinned=number(fields.get("pinned_time")) is not None,
        archived=fields.get("is_archived") is True,
        meta={"imported_from": "chatgpt"},
    )


def _said(key: str, parent: str | None, message: dict[str, Any]) -> Said:
    author = mapping(message.get("author"))
    about = mapping(message.get("metadata"))
    role = _ROLES.get(text(author.get("role")), Role.ASSISTANT)
    said = Said(key, parent, role, "", moment(message.get("create_time")))
    if _is_hidden(message, role):
        return said
    said.content = words_of(message)
    said.speaker = text(author.get("name"))
    if role is Role.ASSISTANT:
        said.model = text(about.get("model_slug")) or None
        said.stop_reason = _REASONS.get(text(mapping(about.get("finish_details")).get("type")))
        if text(message.get("status")) in _UNFINISHED or said.stop_reason == "cancelled":
            said.status = MessageStatus.PARTIAL
    return said


def _is_hidden(message: dict[str, Any], role: Role) -> bool:
    about = mapping(message.get("metadata"))
    kind = text(mapping(message.get("content")).get("content_type"))
    return (
        about.get("is_visually_hidden_from_conversation") is True
        or kind in ("user_editable_context", "model_editable_context")
        or (
            role is Role.SYSTEM
            and (number(message.get("weight")) == 0 or about.get("is_user_system_message") is True)
        )
    )


def _instructions(message: dict[str, Any]) -> str:
    """The person's custom instructions, if the message holds them."""
    content = mapping(message.get("content"))
    about = mapping(mapping(message.get("metadata")).get("user_context_message_data"))
    if not about and "user_profile" not in content and "user_instructions" not in content:
        return ""
    person = text(about.get("about_user_message")) or text(content.get("user_profile"))
    wished = text(about.get("about_model_message")) or text(content.get("user_instructions"))
    return joined(
        f"{heading}\n{words.strip()}"
        for heading, words in (("About the person:", person), ("How to answer:", wished))
        if words.strip()
    )
