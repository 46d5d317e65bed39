"""Summaries, epochs and turns in dictionaries: what becomes of them when what they were made of goes."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from memory.context.copies import Kept, copied
from memory.context.decisions import RecallDecision
from memory.context.entities import TOLD, Epoch, Summary, SummaryState, TierUse, TurnRecord
from memory.entities import Message
from memory.ports import Clock
from memory.storage.values import new_id
from memory.testing.rows import Rows


class ContextRows:
    """What is kept of the sessions and messages of `rows`."""

    def __init__(self, rows: Rows, clock: Clock) -> None:
        self._rows = rows
        self._clock = clock
        self._summaries: dict[str, Summary] = {}
        self._epochs: dict[str, Epoch] = {}
        self._turns: dict[str, TurnRecord] = {}
        self._considered: dict[str, list[RecallDecision]] = {}
        rows.followers.append(self)

    def standing(self) -> list[Summary]:
        """All that are not out of date, in the order of storing."""
        return [one for one in self._summaries.values() if one.state is not SummaryState.STALE and one.text]

    def all_summaries(self) -> list[Summary]:
        return list(self._summaries.values())

    def age(self, message_ids: Sequence[str]) -> list[Summary]:
        """As `age_summaries`, for the session store beside this one."""
        changed = set(message_ids)
        aged = [
            self._keep(replace(one, state=SummaryState.STALE))
            for one in list(self._summaries.values())
            if not changed.isdisjoint(one.covers)
        ]
        sessions = {self._rows.messages[one].session_id for one in changed if one in self._rows.messages}
        self._end_epochs(changed | {one.id for one in aged}, sessions)
        return aged

    def copy(self, source: str, target: str, ids: Mapping[str, str], outside: Collection[str]) -> None:
        """Copies what belongs to a branch whose messages have been copied."""
        kept = Kept(
            [one for one in self._summaries.values() if one.session_id == source],
            [one for one in self._epochs.values() if one.session_id == source],
            [one for one in self._turns.values() if one.session_id == source],
        )
        taken = copied(kept, target, ids, outside, new_id)
        self._summaries.update({one.id: one for one in taken.summaries})
        self._epochs.update({one.id: one for one in taken.epochs})
        self._turns.update({one.reply_id: one for one in taken.turns})

    def emptied(self, message_ids: Sequence[str]) -> list[Summary]:
        """Summaries of messages that were forgotten: stale, and without a word."""
        aged = [replace(one, text="", topics=()) for one in self.age(message_ids)]
        return [self._keep(one) for one in aged]

    def recalled_in(self, session_id: str) -> tuple[str, ...]:
        """The other sessions in which something of this one was recalled, or stands in an epoch's head."""
        ids = self._ids_of(session_id)
        owners = [turn.session_id for turn in self._recalling(ids)]
        owners += [one.session_id for one in self._epochs.values() if _holds(one.parts, ids)]
        return tuple(owner for owner in dict.fromkeys(owners) if owner != session_id)

    def erased(self, session_id: str) -> Mapping[str, int]:
        gone = self._ids_of(session_id)
        counts = {
            "summaries": _remove(self._summaries, session_id),
            "epochs": _remove(self._epochs, session_id),
            "turns": _remove(self._turns, session_id),
        }
        self._drop([one for one in self._epochs.values() if _holds(one.parts, gone)])
        for turn in self._forget_recalled(gone):
            parts = tuple(
                replace(part, ids=tuple(held for held in part.ids if held not in gone)) for part in turn.parts
            )
            self._turns[turn.reply_id] = replace(turn, epoch_id=None, parts=parts)
        return counts

    def forgotten(self, message: Message) -> Mapping[str, int]:
        touched = self._forget_recalled({message.id})
        self._rows.touched += tuple(turn.session_id for turn in touched)
        ended = [one for one in self._epochs.values() if one.session_id == message.session_id]
        return {"epochs": self._drop(ended)}

    def let_go(self, ids: set[str], *, gone: set[str]) -> tuple[str, ...]:
        """Gives up what was recalled of memories and the epochs that hold them; no turn names those that are
        `gone` any more. Returns the sessions."""
        touched = [turn.session_id for turn in self._forget_recalled(ids)]
        held = [one.session_id for one in self._epochs.values() if _holds(one.parts, ids)]
        self._end_epochs(ids, set(self._rows.sessions))
        for key, turn in self._turns.items():
            if _holds(turn.parts, gone):
                parts = tuple(
                    replace(p, ids=tuple(one for one in p.ids if one not in gone)) for p in turn.parts
                )
                self._turns[key] = replace(turn, parts=parts)
        return tuple(dict.fromkeys([*touched, *held]))

    def _ids_of(self, session_id: str) -> set[str]:
        return {session_id, *_of(self._rows.messages, session_id), *_of(self._summaries, session_id)}

    def _recalling(self, ids: set[str]) -> list[TurnRecord]:
        return [
            turn
            for turn in self._turns.values()
            if any(part.tier in TOLD and not ids.isdisjoint(part.ids) for part in turn.parts)
        ]

    def _forget_recalled(self, ids: set[str]) -> list[TurnRecord]:
        recalling = self._recalling(ids)
        for turn in recalling:
            said = self._rows.message(turn.reply_id).parent_id
            if said is not None:
                self._rows.messages[said] = replace(self._rows.messages[said], preface="")
            self._drop([one for one in self._epochs.values() if one.session_id == turn.session_id])
        return recalling

    def considered_of(self, session_id: str) -> dict[str, list[RecallDecision]]:
        """What was looked at for the replies of a session."""
        return {
            reply: list(found)
            for reply, found in self._considered.items()
            if reply in self._rows.messages and self._rows.messages[reply].session_id == session_id
        }

    def take_in(self, summaries: Sequence[Summary], considered: Mapping[str, list[RecallDecision]]) -> None:
        """Keeps what comes from another room."""
        for one in summaries:
            self._keep(one)
        self._considered.update(considered)

    def _is_there(self, item_id: str) -> bool:
        message = self._rows.messages.get(item_id)
        return (
            (message is not None and message.content != "")
            or item_id in self._rows.memories
            or item_id in self._summaries
        )

    def _keep(self, summary: Summary) -> Summary:
        self._summaries[summary.id] = summary
        return summary

    def _end_epochs(self, held: set[str], sessions: set[str]) -> None:
        self._drop(
            [
                one
                for one in self._epochs.values()
                if one.session_id in sessions and any(not held.isdisjoint(part.ids) for part in one.parts)
            ]
        )

    def _drop(self, ended: Sequence[Epoch]) -> int:
        gone = {one.id for one in ended}
        self._epochs = {key: one for key, one in self._epochs.items() if key not in gone}
        for reply_id, record in self._turns.items():
            if record.epoch_id in gone:
                self._turns[reply_id] = replace(record, epoch_id=None)
        return len(gone)


def _holds(parts: Sequence[TierUse], ids: set[str]) -> bool:
    return any(not ids.isdisjoint(part.ids) for part in parts)


Row = TypeVar("Row", Message, Summary, Epoch, TurnRecord)


def _of(table: Mapping[str, Row], session_id: str) -> list[str]:
    return [key for key, one in table.items() if one.session_id == session_id]


def _remove(table: dict[str, Row], session_id: str) -> int:
    gone = _of(table, session_id)
    for key in gone:
        del table[key]
    return len(gone)
