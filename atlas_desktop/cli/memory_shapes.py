"""Memories as JSON and as text. Scripts rely on the names: they are only ever added to."""

from datetime import datetime
from typing import TYPE_CHECKING, Any

from atlas_desktop.services.cleaning import clean_line

if TYPE_CHECKING:
    from atlas_desktop.services.knowledge_views import MemoryDetails, MemoryView, SourceView
    from memory.knowledge.entities import Memory, MemoryChange, MemoryUse, MemoryVersion

KINDS = ("fact", "preference", "decision", "event", "procedure", "code", "question", "digest")
STATES = ("inbox", "kept", "rejected", "superseded", "archived")
TIERS = ("working", "short_term", "episodic", "long_term", "procedural")

WHY = {
    "expired": "its time is over",
    "faded": "it has faded",
    "fading": "it is fading",
    "faint": "it hardly weighs any more, and stays",
    "expires_soon": "its time is nearly over",
    "old_archive": "it has been in the archive for long",
    "comes_up": "its topic comes up often",
}


def at(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()


def memory(view: "MemoryView") -> dict[str, Any]:
    """`weight` is by the published formula; `half_life_days` is that of its tier, without use."""
    one = view.memory
    return {
        "id": one.id,
        "kind": one.kind,
        "text": one.text,
        "subject": one.subject,
        "state": one.state,
        "tier": one.tier,
        "origin": one.origin,
        "confidence": round(one.confidence, 4),
        "importance": round(one.importance, 4),
        "pinned": one.pinned,
        "version": one.version,
        "uses": one.uses,
        "used_at": at(one.used_at),
        "half_life_days": round(view.half_life_days, 3),
        "weight": round(view.weight, 6),
        "valid_from": at(one.valid_from),
        "valid_until": at(one.valid_until),
        "expires_at": at(one.expires_at),
        "created_at": at(one.created_at),
        "updated_at": at(one.updated_at),
        "project": one.project,
        "model": one.model,
        "sources": [source(each) for each in view.sources],
        "superseded_by": one.superseded_by,
    }


def source(value: "SourceView") -> dict[str, Any]:
    message = value.message
    return {
        "session": value.source.session_id,
        "message": value.source.message_id,
        "external_id": None if message is None else message.external_id,
        "quote": value.source.quote,
        "created_at": None if message is None else at(message.created_at),
    }


def details(value: "MemoryDetails") -> dict[str, Any]:
    return {
        **memory(value.view),
        "versions": [version(each) for each in value.versions],
        "used_in": [use(each) for each in value.uses],
        "parts": [{"id": each.id, "text": each.text, "state": each.state} for each in value.parts],
        "changes": [change(each) for each in value.changes],
    }


def version(value: "MemoryVersion") -> dict[str, Any]:
    return {
        "version": value.version,
        "subject": value.subject,
        "text": value.text,
        "created_at": at(value.created_at),
    }


def use(value: "MemoryUse") -> dict[str, Any]:
    return {
        "reply": value.reply_id,
        "session": value.session_id,
        "how": value.how,
        "used_at": at(value.used_at),
    }


def change(value: "MemoryChange") -> dict[str, Any]:
    return {
        "id": value.id,
        "action": value.action,
        "automatic": value.automatic,
        "memories": list(value.memory_ids),
        "created_at": at(value.created_at),
        "undone_at": at(value.undone_at),
    }


# --- for people ------------------------------------------------------------------------------------


def line(one: "Memory", *, private: bool = False) -> str:
    marks = ["private"] if private else []
    marks += [str(one.state)] if one.state != "kept" else []
    marks += ["pinned"] if one.pinned else []
    told = f" ({', '.join(marks)})" if marks else ""
    return f"{one.id}  {one.kind}{told}\n    {clean_line(one.text)}"


def described(value: "MemoryDetails") -> str:
    one, view = value.view.memory, value.view
    about = f"{one.tier}, {one.state}, from {one.origin}"
    told = [
        line(one),
        f"    {about}; importance {one.importance:.2f}, confidence {one.confidence:.2f}",
        f"    used {one.uses} times; half-life {view.half_life_days:.3g} days; weight {view.weight:.3f}",
        f"    learned {local(one.created_at)}, changed {local(one.updated_at)}",
    ]
    told += [f"    about {clean_line(one.subject)}"] if one.subject else []
    told += [f"    project {clean_line(one.project)}"] if one.project else []
    told += [f"    until {local(one.expires_at)}"] if one.expires_at else []
    for each in view.sources:
        when = f" ({local(each.message.created_at)})" if each.message else ""
        told.append(f"    said: “{clean_line(each.source.quote)}”{when}")
    told += [f"    before: {clean_line(each.text)} (version {each.version})" for each in value.versions]
    told += [f"    merged from: {clean_line(each.text)}" for each in value.parts]
    return "\n".join(told)


def local(moment: datetime) -> str:
    return f"{moment.astimezone():%Y-%m-%d %H:%M}"
