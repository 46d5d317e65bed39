"""Erasing in dictionaries: every store beside the sessions gives up what it has."""

from collections import Counter
from collections.abc import Collection
from dataclasses import replace

from memory.entities import Copy, Erased, Message, MessageStatus, TitleSource
from memory.memories.wording import repeats, rests_on
from memory.summaries.passages import counts as counts_as_said
from memory.testing.context import InMemoryContext
from memory.testing.rows import Rows


class Erasing:
    """As `memory.storage.queries.erasure`."""

    def __init__(self, rows: Rows, context: InMemoryContext) -> None:
        self._rows = rows
        self._context = context

    def erase_session(self, session_id: str) -> Erased:
        self._rows.session(session_id)
        same = self.same([session_id], ())
        gone = [m for m in self._rows.messages.values() if m.session_id == session_id]
        recalled_in = self._context.recalled_in(session_id)
        self._rows.touched = ()
        counts: Counter[str] = Counter()
        for follower in self._rows.followers:
            counts.update(follower.erased(session_id))
        for message in gone:
            del self._rows.messages[message.id]
        del self._rows.sessions[session_id]
        counts["full_text"] += sum(message.status is not MessageStatus.STREAMING for message in gone)
        erased = _erased(counts, len(gone), self._touched(recalled_in, {session_id}))
        return replace(erased, copies=self.copies(same))

    def same(self, session_ids: Collection[str], message_ids: Collection[str]) -> list[str]:
        """As `memory.storage.queries.copies.of`, by id."""
        rows = self._rows.messages.values()
        gone = [one for one in rows if one.session_id in session_ids or one.id in message_ids]
        said = {one.content for one in gone if counts_as_said(one.role, one.content)}
        ids = {one.id for one in gone}
        return [one.id for one in rows if one.content in said and one.id not in ids]

    def copies(self, message_ids: Collection[str]) -> tuple[Copy, ...]:
        rows = [self._rows.messages[one] for one in message_ids if one in self._rows.messages]
        found = [self._rows.session(one) for one in {row.session_id for row in rows if row.content}]
        found.sort(key=lambda one: (one.updated_at, one.id), reverse=True)
        return tuple(Copy(one.id, one.title, one.deleted_at is not None) for one in found)

    def forget_messages(self, message_ids: Collection[str]) -> Erased:
        gone = [self._rows.message(one) for one in dict.fromkeys(message_ids)]
        held_in = {one.session_id for one in gone}
        untitled = [one for one in sorted(held_in) if self._rests(one, gone)]
        self._rows.touched = ()
        said = sum(bool(one.content) and one.status is not MessageStatus.STREAMING for one in gone)
        counts = self._rows.empty(gone)
        aged = self._context.emptied([one.id for one in gone])
        for session_id in untitled:
            self._rows.keep(
                replace(self._rows.session(session_id), title="", title_source=TitleSource.FIRST_WORDS)
            )
        counts["full_text"] += said
        erased = _erased(counts, len(gone), self._touched((), held_in))
        return replace(erased, stale=tuple(one.id for one in aged), untitled=tuple(untitled))

    def _touched(self, known: tuple[str, ...], own: set[str]) -> tuple[str, ...]:
        return tuple(one for one in dict.fromkeys([*known, *self._rows.touched]) if one not in own)

    def _rests(self, session_id: str, gone: list[Message]) -> bool:
        session = self._rows.session(session_id)
        ids = {one.id for one in gone}
        said = [one for one in self._rows.messages.values() if one.session_id == session_id]
        own = session.title_source is TitleSource.PERSON or not session.title
        last = [one.content for one in said if one.id in ids]
        left = [one.content for one in said if one.id not in ids]
        return not own and (rests_on(session.title, last, left) or repeats(session.title, last, left))


def _erased(counts: Counter[str], messages: int, recalled_in: tuple[str, ...]) -> Erased:
    return Erased(
        messages=messages,
        summaries=counts["summaries"],
        epochs=counts["epochs"],
        turns=counts["turns"],
        vectors=counts["vectors"],
        full_text=counts["full_text"],
        jobs=counts["jobs"],
        results=counts["results"],
        verified=True,
        recalled_in=recalled_in,
        memories=counts["memories"],
        versions=counts["versions"],
    )
