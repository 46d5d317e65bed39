"""The JSON shapes that the command line and the doors share: only add new names."""

from datetime import datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memory.documents.entities import DocumentHit, StoredCitation
    from memory.recall.entities import Hit


def at(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()


def recalled(value: "Hit") -> dict[str, Any]:
    """A recalled item with its score parts."""
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


def document_hit(value: "DocumentHit") -> dict[str, Any]:
    """A chunk that was found, with its score parts."""
    found = value.chunk
    return {
        "id": found.id,
        "kind": "chunk",
        "text": found.text,
        "score": round(value.score, 6),
        "parts": {name: round(part, 6) for name, part in value.parts.items()},
        "source": {
            "document": found.document,
            "title": value.title,
            "path": value.path,
            "page": found.page,
            "lines": None if found.page is not None else list(found.lines),
            "chars": [found.begin, found.end],
            "heading": list(found.heading),
            "created_at": at(value.created_at),
        },
    }


def citation(value: "StoredCitation") -> dict[str, Any]:
    return {
        "marker": value.marker,
        value.kind.value: value.document,
        "title": value.title,
        "page": value.page,
        "lines": None if value.page is not None else list(value.lines),
        "chars": [value.begin, value.end],
        "quote": value.quote,
        "verified": value.verified,
        "current": value.current,
    }
