"""Conversations of a room as lines, one session a line: what `importing` reads."""

import json
import re
from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from typing import Any

from memory.storage.transfer import TransferStore
from memory.transfer.entities import TravellingMessage, TravellingSession

# JSON itself escapes only the first of the characters that steer a terminal or turn text around.
_STEERING = re.compile("[\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


class Exporter:
    """Writes sessions as lines; imported into an empty room they give the same lines again."""

    def __init__(self, store: TransferStore) -> None:
        self._store = store

    async def jsonl(self, session_ids: Sequence[str] | None = None) -> AsyncIterator[str]:
        """One line a session, without its line end; all sessions that are not in the bin when None."""
        for session_id in await self._store.all_ids() if session_ids is None else session_ids:
            yield line_of(await self._store.give(session_id))


def line_of(session: TravellingSession) -> str:
    """A session as one line; what is as it would be without being said is left out."""
    return dumps(fields_of(session))


def dumps(value: Any, *, indent: int | None = None) -> str:
    """JSON in UTF-8 in which nothing steers whatever shows it."""
    separators = (", ", ": ") if indent is None else (",", ": ")
    text = json.dumps(value, ensure_ascii=False, separators=separators, indent=indent)
    return _STEERING.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def fields_of(session: TravellingSession) -> dict[str, Any]:
    """A session as the fields of its line."""
    fields: dict[str, Any] = {
        "id": session.id,
        "title": session.title,
        "project": session.project,
        "created_at": session.created_at.isoformat(),
        "updated_at": session.updated_at.isoformat(),
        "tags": list(session.tags),
    }
    last = session.messages[-1].id if session.messages else None
    fields |= _unusual(
        {
            "title_source": (session.title_source.value, "imported"),
            "memory_mode": (session.memory_mode.value, "normal"),
            "system_prompt": (session.system_prompt, None),
            "model": (session.model, None),
            "starred": (session.starred, False),
            "important": (session.important, False),
            "pinned_at": (_moment(session.pinned_at), None),
            "archived_at": (_moment(session.archived_at), None),
            "category": (session.category, ""),
            "category_source": (session.category_source.value, "none"),
            "head": (session.head, last),
        }
    )
    fields |= json.loads(session.meta)
    before: str | None = None
    lines = []
    for message in session.messages:
        lines.append(_message(message, before))
        before = message.id
    fields["messages"] = lines
    return fields


def _moment(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat()


def _message(message: TravellingMessage, before: str | None) -> dict[str, Any]:
    return {
        "id": message.id,
        "role": message.role.value,
        "speaker": message.speaker,
        "content": message.content,
        "created_at": message.created_at.isoformat(),
        **_unusual(
            {
                "parent": (message.parent, before),
                "status": (message.status.value, "complete"),
                "stop_reason": (message.stop_reason, None),
                "important": (message.important, False),
                "model": (message.model, None),
            }
        ),
        **json.loads(message.meta),
    }


def _unusual(fields: dict[str, tuple[Any, Any]]) -> dict[str, Any]:
    return {name: value for name, (value, usual) in fields.items() if value != usual}
