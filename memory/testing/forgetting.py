"""Forgetting whatever is meant, in dictionaries. Knows words as they are, not their stems."""

from collections.abc import Iterable
from dataclasses import replace

from memory.entities import Erased, Message, TitleSource
from memory.errors import AmbiguousId, BadQuery, MemoryNotFound, MessageNotFound, SessionNotFound
from memory.forgetting import Affected, Excerpt, Target
from memory.memories.wording import names, particulars, rests_on
from memory.storage.queries.forgetting import NOTHING, beginning, combined
from memory.storage.values import id_range
from memory.testing.erasing import Erasing
from memory.testing.finding import words_of
from memory.testing.knowledge import InMemoryMemoryStore
from memory.testing.rows import Rows
from models.messages import Role


class Forgetting:
    """As `memory.storage.queries.forgetting`."""

    def __init__(self, rows: Rows, erasing: Erasing, memories: InMemoryMemoryStore) -> None:
        self._rows = rows
        self._erasing = erasing
        self._memories = memories

    async def forget(self, target: Target) -> Affected:
        sessions, messages, memories = self._chosen(target)
        known = {key: one.text for key, one in self._rows.memories.items()}
        touched = [*sessions, *(self._rows.message(one).session_id for one in messages)]
        affected = Affected(
            NOTHING,
            len(sessions),
            tuple(Excerpt(one, beginning(self._rows.session(one).title)) for one in sessions),
            tuple(Excerpt(one, beginning(self._rows.message(one).content)) for one in messages),
            touched=tuple(dict.fromkeys(touched)),
        )
        same = self._erasing.same(sessions, messages)
        done: list[Erased] = [self._erasing.erase_session(one) for one in sessions]
        if messages:
            done.append(self._erasing.forget_messages(messages))
        if memories:
            done.append(await self._memories.erase(memories))
        erased = combined(done)
        if target.about.strip() and not (target.project or target.since or target.before):
            erased = replace(
                erased, untitled=tuple(dict.fromkeys([*erased.untitled, *self._untitle(target)]))
            )
        gone = [
            Excerpt(key, beginning(text)) for key, text in known.items() if key not in self._rows.memories
        ]
        kept = tuple(one for one in erased.recalled_in if one in self._rows.sessions)
        erased = replace(erased, recalled_in=kept, copies=self._erasing.copies(same))
        return replace(affected, erased=erased, memories=tuple(gone))

    def _chosen(self, target: Target) -> tuple[list[str], list[str], list[str]]:
        if target.everything:
            return list(self._rows.sessions), [], list(self._rows.memories)
        whole = [_one(ref, self._rows.sessions, SessionNotFound) for ref in target.sessions]
        said = [_one(ref, self._rows.messages, MessageNotFound) for ref in target.messages]
        known = [_one(ref, self._rows.memories, MemoryNotFound) for ref in target.memories]
        for ref in target.ids:
            self._sort_in(ref, known, said, whole)
        if target.by_criteria:
            said += [
                one.id for one in self._rows.messages.values() if one.content and self._fits(one, target)
            ]
            known += self._fitting_memories(target)
        said = self._with_repeats(said)
        if target.by_criteria:
            found = [self._rows.message(one) for one in said]
            if target.project is not None and not (target.about or target.since or target.before):
                whole += [one.id for one in self._rows.sessions.values() if one.project == target.project]
            whole += [one for one in {m.session_id for m in found} if self._emptied(one, set(said))]
        whole = list(dict.fromkeys(whole))
        messages = [one for one in dict.fromkeys(said) if self._rows.message(one).session_id not in whole]
        return whole, messages, list(dict.fromkeys(known))

    def _sort_in(self, ref: str, known: list[str], said: list[str], whole: list[str]) -> None:
        span = id_range(ref)
        found = [
            (key, place)
            for keys, place in (
                (self._rows.memories, known),
                (self._rows.messages, said),
                (self._rows.sessions, whole),
            )
            for key in keys
            if span is not None and span[0] <= key <= span[1]
        ]
        if not found:
            raise MemoryNotFound(ref)
        if len(found) > 1:
            raise AmbiguousId(ref, len(found))
        found[0][1].append(found[0][0])

    def _with_repeats(self, ids: list[str]) -> list[str]:
        family = {(one.session_id, one.parent_id, one.role) for one in map(self._rows.message, ids)}
        rows = list(self._rows.messages.values())
        found = ids + [one.id for one in rows if (one.session_id, one.parent_id, one.role) in family]
        found = list(dict.fromkeys(found))
        asked = {one for one in found if self._rows.message(one).role is Role.USER}
        answers = [one for one in rows if one.role is Role.ASSISTANT and one.parent_id in asked]
        heard = {one.id for one in answers}
        for answer in answers:
            said = [one for one in rows if one.session_id == answer.session_id]
            gone = [one.content for one in said if one.id in found]
            left = [one.content for one in said if one.id not in found and one.id not in heard]
            if answer.content and answer.id not in found and rests_on(answer.content, gone, left):
                found.append(answer.id)
        return found + self._later_replies(found, heard)

    def _later_replies(self, found: list[str], answers: set[str]) -> list[str]:
        rows = list(self._rows.messages.values())
        first: dict[str, int] = {}
        for at, one in enumerate(rows):
            if one.id in found:
                first.setdefault(one.session_id, at)
        later = [
            one
            for at, one in enumerate(rows)
            if one.role is Role.ASSISTANT and first.get(one.session_id, at) < at
            if one.id not in found and one.id not in answers
        ]
        wanted = particulars(one.content for one in rows if one.id in found)
        heard = {*found, *answers, *(one.id for one in later)}
        return [
            reply.id
            for reply in later
            if names(
                reply.content,
                wanted,
                [one.content for one in rows if one.session_id == reply.session_id and one.id not in heard],
            )
        ]

    def _fits(self, message: Message, target: Target) -> bool:
        return (
            (target.project is None or self._rows.session(message.session_id).project == target.project)
            and (target.since is None or message.created_at >= target.since)
            and (target.before is None or message.created_at < target.before)
            and (_speaks(message.content, target.about) or _speaks(message.speaker, target.about))
        )

    def _fitting_memories(self, target: Target) -> list[str]:
        dated = target.since is not None or target.before is not None
        return [
            one.id
            for one in self._rows.memories.values()
            if (target.project is None or one.project == target.project)
            and (target.since is None or one.created_at >= target.since)
            and (target.before is None or one.created_at < target.before)
            and not (dated and self._rows.learned_in(one.id))
            and _speaks(f"{one.subject} {one.text}", target.about)
        ]

    def _emptied(self, session_id: str, said: set[str]) -> bool:
        own = [one for one in self._rows.messages.values() if one.session_id == session_id and one.content]
        return all(one.id in said for one in own)

    def _untitle(self, target: Target) -> list[str]:
        found = [
            one for one in self._rows.sessions.values() if one.title and _speaks(one.title, target.about)
        ]
        for one in found:
            self._rows.keep(replace(one, title="", title_source=TitleSource.FIRST_WORDS))
        return [one.id for one in found]


def _speaks(text: str, about: str) -> bool:
    """Whether a text holds all the words; any text does when there are none."""
    if not about.strip():
        return True
    wanted, words = words_of(about), words_of(text)
    if not wanted:
        raise BadQuery("no word to search for")
    return all(word in words for word in wanted)


def _one(ref: str, rows: Iterable[str], missing: type[Exception]) -> str:
    span = id_range(ref)
    found = [key for key in rows if span is not None and span[0] <= key <= span[1]]
    if not found:
        raise missing(ref)
    if len(found) > 1:
        raise AmbiguousId(ref, len(found))
    return found[0]
