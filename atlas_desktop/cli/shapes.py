"""JSON shapes of the command line. Scripts rely on the names: they are only ever added to."""

from typing import TYPE_CHECKING, Any

from atlas_desktop.cli import context_shapes
from atlas_desktop.services.events import Accepted, Delta, Notice, Replied, TurnEvent
from atlas_desktop.services.forgetting_told import copies, counts, places

if TYPE_CHECKING:
    from atlas_desktop.services.background import DutyState
    from atlas_desktop.services.forgetting import Receipt
    from memory.attachments.entities import Attachment
    from memory.background import RunReport
    from memory.entities import Message, SearchHit, Session
    from memory.jobs import Job


def session(value: "Session") -> dict[str, Any]:
    """A session without its messages."""
    return {
        "id": value.id,
        "title": value.title,
        "title_source": value.title_source,
        "project": value.project,
        "room": value.room,
        "memory_mode": value.memory_mode,
        "starred": value.starred,
        "important": value.important,
        "tags": list(value.tags),
        "category": value.category or None,
        "category_source": value.category_source,
        "pinned": value.pinned_at is not None,
        "archived": value.archived_at is not None,
        "created_at": value.created_at.isoformat(),
        "updated_at": value.updated_at.isoformat(),
        "archived_at": value.archived_at.isoformat() if value.archived_at else None,
        "deleted_at": value.deleted_at.isoformat() if value.deleted_at else None,
        "message_count": value.message_count,
    }


def message(value: "Message") -> dict[str, Any]:
    return {
        "id": value.id,
        "external_id": value.external_id,
        "role": value.role,
        "speaker": value.speaker,
        "content": value.content,
        "created_at": value.created_at.isoformat(),
        "status": value.status,
        "stop_reason": value.stop_reason,
        "important": value.important,
        "model": value.model,
        "parent": value.parent_id,
    }


def attachment(value: "Attachment") -> dict[str, Any]:
    """A file that a session reads, without its text; `characters` is how long that is."""
    return {
        "id": value.id,
        "name": value.name,
        "media_type": value.media_type,
        "bytes": value.size,
        "characters": len(value.text),
        "added_at": value.added_at.isoformat(),
    }


def of_words(score: float, *, importance: float = 0.0) -> dict[str, float]:
    """The parts of a hit that was found by its words alone: the others are there, and say nothing."""
    nothing = dict.fromkeys(("semantic", "neighbour", "recency"), 0.0)
    return {"lexical": round(score, 6), **nothing, "importance": importance}


def hit(value: "SearchHit") -> dict[str, Any]:
    found = value.message
    return {
        "id": found.id,
        "kind": "message",
        "text": found.content,
        "snippet": value.snippet,
        "score": round(value.score, 6),
        "parts": of_words(value.score, importance=float(found.important)),
        "source": {
            "session": found.session_id,
            "session_title": value.session_title,
            "message": found.id,
            "external_id": found.external_id,
            "document": None,
            "created_at": found.created_at.isoformat(),
            "speaker": found.speaker,
        },
    }


def job(value: "Job") -> dict[str, Any]:
    """A job of the background queue; `error` is a type of error with its numbers."""
    return {
        "id": value.id,
        "kind": value.kind,
        "session": value.session_id,
        "state": value.state,
        "attempts": value.attempts,
        "not_before": value.not_before.isoformat(),
        "error": value.error,
        "created_at": value.created_at.isoformat(),
    }


def duty(value: "DutyState") -> dict[str, Any]:
    return {
        "name": value.duty.name,
        "every_hours": round(value.duty.every.total_seconds() / 3600, 3),
        "done_at": value.done_at.isoformat() if value.done_at else None,
        "due": value.due,
    }


def run(value: "RunReport") -> dict[str, Any]:
    """What `jobs run` did; `held` says what kept it from going on, if anything did."""
    return {"done": value.done, "failed": value.failed, "remaining": value.remaining, "held": value.held}


def receipt(value: "Receipt") -> dict[str, Any]:
    """What was removed for good, by kind."""
    return {
        "forgotten": counts(value.erased, value.snapshots),
        "rewritten": {"summaries": value.rewritten},
        "cleared": places(value.erased),
        "copies": copies(value.erased),
        "verified": value.verified,
    }


def reply(event: Replied) -> dict[str, Any]:
    """The end of a turn; `recalled` lists the memories that the prompt was given."""
    timings = event.completion.timings
    return {
        "type": "reply",
        "session": event.session.id,
        "message": event.message.id,
        "text": event.message.content,
        "stop_reason": event.completion.stop_reason,
        "model": event.message.model,
        "memory_mode": event.session.memory_mode,
        "timings": {
            "first_token_ms": round(timings.first_token_ms, 3),
            "prepare_ms": round(event.prepare_ms, 3),
            "total_ms": round(timings.total_ms, 3),
            "prompt_tokens": timings.prompt_tokens,
            "cached_tokens": timings.cached_tokens,
            "evaluated_tokens": timings.evaluated_tokens,
            "completion_tokens": timings.completion_tokens,
            "tokens_per_second": round(timings.tokens_per_second, 2),
        },
        "context": context_shapes.tiers(event.context),
        "recalled": [context_shapes.recalled(hit) for hit in event.recalled],
        "documents": [context_shapes.document(use) for use in event.documents],
    }


def event(value: TurnEvent) -> dict[str, Any]:
    """One event of a turn, as `chat --jsonl` prints it."""
    match value:
        case Accepted():
            return {
                "type": "accepted",
                "session": value.session.id,
                "message": value.message.id,
                "reply": value.reply.id,
            }
        case Delta():
            return {"type": "delta", "text": value.text}
        case Notice():
            return {"type": "notice", "code": value.code, "text": value.text}
        case Replied():
            return reply(value)
