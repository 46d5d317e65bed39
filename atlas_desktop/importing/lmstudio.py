"""Reads LM Studio's conversation files: messages in several versions, each of one or more steps.

They contain no ids: a conversation is identified by its creation time, a message by its text and parent.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from atlas_desktop.importing import tree
from atlas_desktop.importing.entities import ImportedMessage, ImportedSession, Unreadable
from atlas_desktop.importing.sources import (
    Note,
    Part,
    digest,
    mapping,
    moment,
    number,
    readable_json,
    sequence,
    text,
)
from atlas_desktop.importing.tree import aside, attached, fenced, joined, quoted
from atlas_desktop.locale import _
from memory.entities import MessageStatus
from memory.transfer import TravellingSession
from models.messages import Role

_ROLES = {"user": Role.USER, "assistant": Role.ASSISTANT, "system": Role.SYSTEM}
_REASONS = {
    "eosFound": "stop",
    "stopStringFound": "stop",
    "maxPredictedTokensReached": "length",
    "contextLengthReached": "length",
    "userStopped": "cancelled",
}
_STEP = re.compile(r"(\d{13})-")


def read(parts: Sequence[Part], note: Note) -> Iterator[tuple[str, TravellingSession]]:
    """Yields sessions with their places. Raises `Unreadable`, `OSError`."""
    return tree.sessions(parts, note, talk_of)


def talk_of(value: Any) -> ImportedSession:
    """Returns a conversation from its JSON value. Raises `Unreadable`."""
    fields = mapping(value)
    if not isinstance(fields.get("messages"), list):
        raise Unreadable(_("not a conversation: no `messages`, where LM Studio stores messages"))
    said: list[ImportedMessage] = []
    head: str | None = None
    for one in sequence(fields["messages"]):
        # Early versions of the format stored the only version of a message directly.
        versions = [mapping(version) for version in sequence(mapping(one).get("versions")) or [one]]
        made = [_said(version, head) for version in versions]
        said += made
        chosen = number(mapping(one).get("currentlySelected"))
        if made:
            at = int(chosen) if chosen is not None and 0 <= chosen < len(made) else len(made) - 1
            head = made[at].id
    begun = moment(fields.get("createdAt"))
    used = [moment(fields.get(f"{who}LastMessagedAt")) for who in ("user", "assistant")]
    title = text(fields.get("name"))
    stamp = number(fields.get("createdAt"))
    return ImportedSession(
        id=f"lmstudio-{stamp:.0f}" if stamp else digest("lmstudio", title, said[0].id if said else ""),
        messages=said,
        title=title,
        created_at=begun,
        updated_at=max((one for one in used if one is not None), default=None),
        head=head,
        system_prompt=text(fields.get("systemPrompt")) or _configured(fields) or None,
        model=text(mapping(fields.get("lastUsedModel")).get("identifier")) or None,
        pinned=fields.get("pinned") is True,
        meta={"imported_from": "lmstudio"},
    )


def _configured(fields: dict[str, Any]) -> str:
    settings = sequence(mapping(fields.get("perChatPredictionConfig")).get("fields"))
    for one in settings:
        if mapping(one).get("key") == "llm.prediction.systemPrompt":
            return text(mapping(one).get("value"))
    return ""


def _said(version: dict[str, Any], parent: str | None) -> ImportedMessage:
    role = _ROLES.get(text(version.get("role")), Role.ASSISTANT)
    steps = [mapping(one) for one in sequence(version.get("steps"))]
    words = joined((_content(version.get("content")), *map(_step, steps)))
    said = ImportedMessage(digest(parent or "", role, words), parent, role, words)
    if role is Role.ASSISTANT:
        said.model = text(mapping(version.get("senderInfo")).get("senderName")) or None
    for step in steps:
        if begun := _STEP.match(text(step.get("stepIdentifier"))):
            said.created_at = said.created_at or moment(int(begun[1]))
        stats = mapping(mapping(step.get("genInfo")).get("stats"))
        said.stop_reason = _REASONS.get(text(stats.get("stopReason"))) or said.stop_reason
    if said.stop_reason == "cancelled":
        said.status = MessageStatus.PARTIAL
    return said


def _step(step: dict[str, Any]) -> str:
    kind = text(step.get("type"))
    if kind == "debugInfoBlock":
        return ""
    words = _content(step.get("content"))
    return quoted(words) if text(mapping(step.get("style")).get("type")) == "thinking" else words


def _content(value: Any) -> str:
    """Joins text as it came; files are named, and tool calls are described."""
    if isinstance(value, str):
        return value
    said, remarks, names = "", [], []
    for one in sequence(value):
        fields = mapping(one)
        kind = text(fields.get("type"))
        if kind == "text":
            said += text(fields.get("text"))
        elif kind == "file":
            names.append(text(fields.get("fileIdentifier")) or text(fields.get("name")))
        elif kind == "toolCallRequest":
            given = mapping(fields.get("parameters")) or mapping(fields.get("arguments"))
            remarks.append(aside("Asked", text(fields.get("name"))))
            remarks.append(fenced(readable_json(given), "json"))
        elif kind == "toolCallResult":
            remarks.append(text(fields.get("content")))
    return joined((said, *remarks, attached(names)))
