"""`memory.organising.links.LinkStore` in memory."""

from memory.memories.wording import reading
from memory.organising.links import Backlink, SharedMemory
from memory.testing.known import Known
from memory.testing.rows import Rows

_ORDER = ("recalled", "cited", "confirmed", "opened")


class InMemoryLinkStore:
    def __init__(self, rows: Rows, known: Known) -> None:
        self._rows = rows
        self._known = known

    async def shared(self, session_id: str) -> list[SharedMemory]:
        self._rows.require_open()
        found = []
        for key, memory in self._known.memories.items():
            ties = self._known.learned_in(key)
            ties |= {one.session_id for one in self._known.uses[key] if one.how != "recalled"}
            if session_id in ties and memory.state in ("inbox", "kept"):
                text = reading(memory.subject, memory.text)
                found += [
                    SharedMemory(other, key, text) for other in ties - {session_id} if self._shown(other)
                ]
        return sorted(found, key=lambda one: one.session_id)

    async def backlinks(self, memory_id: str) -> list[Backlink]:
        self._rows.require_open()
        found = []
        for session in self._known.learned_in(memory_id):
            ids = [one.message_id for one in self._known.sources[memory_id] if one.session_id == session]
            first = min((self._rows.message(one) for one in ids), key=lambda one: one.created_at)
            found.append(
                Backlink(session, self._title(session), "learned", first.id, first.created_at, len(ids))
            )
        uses = self._known.uses[memory_id]
        for session in {one.session_id for one in uses}:
            own = [one for one in uses if one.session_id == session]
            earliest = min(own, key=lambda one: one.used_at)
            how = max((one.how.value for one in own), key=_ORDER.index)
            count = len({one.reply_id for one in own})
            found.append(
                Backlink(session, self._title(session), how, earliest.reply_id, earliest.used_at, count)
            )
        kept = [one for one in found if self._shown(one.session_id)]
        return sorted(kept, key=lambda one: (one.how != "learned", one.at, one.session_id))

    def _shown(self, session_id: str) -> bool:
        return self._rows.session(session_id).deleted_at is None

    def _title(self, session_id: str) -> str:
        return self._rows.session(session_id).title
