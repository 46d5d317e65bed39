"""JSON shapes of what a prompt is made of. Scripts rely on the names: they are only ever added to."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memory.context.documents import DocumentUse
    from memory.context.entities import Summary, TierUse
    from memory.context.prepared import ContextView
    from memory.recall.entities import Hit


def tiers(value: "Sequence[TierUse]") -> list[dict[str, Any]]:
    return [{"tier": t.tier, "tokens": t.tokens, "ids": list(t.ids)} for t in value]


def document(value: "DocumentUse") -> dict[str, Any]:
    """How much of an attachment stood in a prompt; `passages` and `of` are 0 when it was whole."""
    return {
        "id": value.id,
        "name": value.name,
        "reading": value.reading,
        "tokens": value.tokens,
        "passages": value.passages,
        "of": value.of,
    }


def recalled(value: "Hit") -> dict[str, Any]:
    """Something that was found in memory, with the reasons."""
    source = value.source
    return {
        "id": value.id,
        "kind": value.kind,
        "text": value.text,
        "score": round(value.score, 6),
        "parts": {name: round(part, 6) for name, part in value.parts.items()},
        "source": {
            "session": source.session,
            "message": source.message,
            "external_id": source.external_id,
            "document": source.document,
            "created_at": source.created_at.isoformat(),
            "speaker": source.speaker,
        },
    }


def summary(value: "Summary") -> dict[str, Any]:
    return {
        "id": value.id,
        "text": value.text,
        "covers": list(value.covers),
        "level": value.level,
        "state": value.state,
        "topics": list(value.topics),
        "fallback": value.fallback,
        "edited": value.edited,
        "model": value.model,
        "merged_into": value.merged_into,
        "created_at": value.created_at.isoformat(),
        "updated_at": value.updated_at.isoformat(),
    }


def context(value: "ContextView") -> dict[str, Any]:
    """What a session's next prompt begins with."""
    budget = value.budget
    return {
        "session": value.session.id,
        "model": value.info.id,
        "append_only": value.info.prefix_stable,
        "tokens": value.tokens,
        "budget": {
            "limit": budget.limit,
            "reply": budget.reply,
            "working": budget.working,
            "target": budget.target,
            "recall": budget.recall,
        },
        "context": tiers(value.tiers),
        "prompt": [{"role": m.role, "content": m.content} for m in value.messages],
    }
