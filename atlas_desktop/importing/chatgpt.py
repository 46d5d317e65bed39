"""Reads ChatGPT's export: `conversations.json`, alone or in its zip archive."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from atlas_desktop.importing import tree
from atlas_desktop.importing.entities import ImportedMessage, ImportedSession, Unreadable
from atlas_desktop.importing.sources import (
    Note,
    Part,
    identifier,
    mapping,
    moment,
    number,
    sequence,
    text,
    texts,
)
from atlas_desktop.importing.tree import aside, attached, fenced, joined, quoted
from atlas_desktop.locale import _
from memory.entities import MessageStatus
from memory.transfer import TravellingSession
from models.messages import Role

_MARKER = re.compile("\ue200[^\ue200\ue201]{0,2000}\ue201|[\ue200-\ue206]")
_EVERYBODY = ("all", "")


def words_of(message: dict[str, Any]) -> str:
    """Returns the full text of a message, followed by the names of its attachments."""
    content = mapping(message.get("content"))
    about = mapping(message.get("metadata"))
    kind = text(content.get("content_type"))
    recipient = text(message.get("recipient"))
    render = _KINDS.get(kind, _text)
    words = render(content)
    if recipient not in _EVERYBODY:
        words = _asked(recipient, content, words)
    names = [text(mapping(one).get("name")) for one in sequence(about.get("attachments"))]
    return joined((_without_markers(words, about), attached(names)))


def _asked(recipient: str, content: dict[str, Any], words: str) -> str:
    """Returns the model's request to a tool; a document written in it is shown as a document."""
    said = text(content.get("text")) or "\n".join(texts(content.get("parts")))
    try:
        given = mapping(msgspec.json.decode(said)) if said.startswith("{") else {}
    except (msgspec.MsgspecError, RecursionError, UnicodeEncodeError):
        given = {}
    if written := text(given.get("content")):
        kind = text(given.get("type"))
        body = fenced(written, kind.removeprefix("code/")) if kind.startswith("code/") else written
        return joined((aside("Document", text(given.get("name"))), body))
    language = text(content.get("language"))
    if recipient == "python":
        language = "python"
    elif given:
        language = "json"
    elif language == "unknown":
        language = ""
    body = fenced(said, language) if content.get("content_type") in ("code", "text") else words
    return joined((aside("Asked", recipient), body))


def _text(content: dict[str, Any]) -> str:
    """Returns the text of `parts`, `text` and `result`; also used for unknown kinds of content."""
    parts = [_part(part) for part in sequence(content.get("parts"))]
    return joined([*parts, text(content.get("text")), text(content.get("result"))])


def _part(part: Any) -> str:
    if isinstance(part, str):
        return part
    fields = mapping(part)
    kind = text(fields.get("content_type"))
    if kind == "image_asset_pointer":
        return _image(fields)
    if kind == "audio_transcription":
        return text(fields.get("text"))
    if "video" in kind:
        return aside("Voice and video")
    if "audio" in kind:
        return aside("Voice")
    return text(fields.get("text"))


def _image(fields: dict[str, Any]) -> str:
    prompt = text(mapping(mapping(fields.get("metadata")).get("dalle")).get("prompt"))
    width, height = number(fields.get("width")), number(fields.get("height"))
    size = f"{width:.0f}×{height:.0f}" if width and height else ""
    return aside("Image made", prompt) if prompt else aside("Image", size)


def _code(content: dict[str, Any]) -> str:
    language = text(content.get("language"))
    return fenced(text(content.get("text")), "" if language == "unknown" else language)


def _output(content: dict[str, Any]) -> str:
    return fenced(text(content.get("text")))


def _browsed(content: dict[str, Any]) -> str:
    return joined((text(content.get("summary")), text(content.get("result"))))


def _cited(content: dict[str, Any]) -> str:
    source = [text(content.get("title")) or text(content.get("domain")), text(content.get("url"))]
    return joined((aside("Source", *source), quoted(text(content.get("text")))))


def _failed(content: dict[str, Any]) -> str:
    return joined((aside("Error", text(content.get("name"))), text(content.get("text"))))


def _thought(content: dict[str, Any]) -> str:
    thoughts = [mapping(one) for one in sequence(content.get("thoughts"))]
    return joined(quoted(joined((text(one.get("summary")), text(one.get("content"))))) for one in thoughts)


def _recap(content: dict[str, Any]) -> str:
    return quoted(text(content.get("content")))


_KINDS: dict[str, Callable[[dict[str, Any]], str]] = {
    "code": _code,
    "execution_output": _output,
    "citable_code_output": lambda content: fenced(text(content.get("output_str"))),
    "tether_browsing_display": _browsed,
    "tether_quote": _cited,
    "system_error": _failed,
    "thoughts": _thought,
    "reasoning_recap": _recap,
}


def _without_markers(words: str, about: dict[str, Any]) -> str:
    """Replaces source references, which are private-use characters in the text, with their meaning."""
    if "\ue200" not in words:
        return words
    for one in sequence(about.get("content_references"))[:1000]:
        fields = mapping(one)
        found, shown = text(fields.get("matched_text")), text(fields.get("alt"))
        if found and "\ue200" in found:
            words = words.replace(found, shown)
    return _MARKER.sub("", words)


_ROLES = {"user": Role.USER, "system": Role.SYSTEM}
_REASONS = {"stop": "stop", "max_tokens": "length", "interrupted": "cancelled"}
_UNFINISHED = frozenset({"in_progress", "finished_partial_completion"})


def read(parts: Sequence[Part], note: Note) -> Iterator[tuple[str, TravellingSession]]:
    """Yields sessions with their places. Raises `Unreadable`, `OSError`."""
    return tree.sessions(parts, note, talk_of)


def talk_of(value: Any) -> ImportedSession:
    """Returns a conversation from its JSON value. Raises `Unreadable`."""
    fields = mapping(value)
    if not isinstance(fields.get("mapping"), dict):
        raise Unreadable(_("not a conversation: no `mapping`, where ChatGPT stores messages"))
    nodes = {key: mapping(node) for key, node in mapping(fields["mapping"]).items()}
    parents = {child: key for key, node in nodes.items() for child in sequence(node.get("children"))
               if isinstance(child, str)}  # fmt: skip
    said = [
        _said(identifier(key), text(node.get("parent")) or parents.get(key), mapping(node.get("message")))
        for key, node in nodes.items()
    ]
    instructions = [_instructions(mapping(node.get("message"))) for node in nodes.values()]
    return ImportedSession(
        id=identifier(fields.get("conversation_id")) or identifier(fields.get("id")),
        messages=said,
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


def _said(key: str, parent: str | None, message: dict[str, Any]) -> ImportedMessage:
    author = mapping(message.get("author"))
    about = mapping(message.get("metadata"))
    role = _ROLES.get(text(author.get("role")), Role.ASSISTANT)
    said = ImportedMessage(key, parent, role, "", moment(message.get("create_time")))
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
    """Returns the user's custom instructions, if the message contains them."""
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
