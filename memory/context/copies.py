"""What a copy of a branch takes along from the session it was copied from."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from memory.context.entities import Epoch, Summary, SummaryState, TierUse, TurnRecord


@dataclass(frozen=True, slots=True)
class Kept:
    """What is kept for the prompts of one session, each list in the order of storing."""

    summaries: Sequence[Summary]
    epochs: Sequence[Epoch]
    turns: Sequence[TurnRecord]


def copied(
    kept: Kept, target: str, messages: Mapping[str, str], outside: Collection[str], new_id: Callable[[], str]
) -> Kept:
    """Copies for the session `target`, under new ids; texts and times stay.

    `messages` leads from the ids of the branch to those of its copies; `outside` are the source's other
    messages. A summary is copied when all that it covers is; an epoch when it begins in the branch and its
    head holds nothing of the source that is not copied, so that the copy goes on with the very prompt that a
    model has read; a turn with its reply.
    """
    taken = [one for one in kept.summaries if all(message_id in messages for message_id in one.covers)]
    ids = dict(messages) | {one.id: new_id() for one in taken}
    lost = {*outside, *(one.id for one in kept.summaries if one.id not in ids)}
    summaries = [
        replace(
            one,
            id=ids[one.id],
            session_id=target,
            covers=tuple(ids[message_id] for message_id in one.covers),
            merged_into=ids.get(one.merged_into or ""),
            state=_state(one, merged=one.merged_into in ids),
        )
        for one in taken
    ]
    epochs = [
        replace(
            one,
            id=ids.setdefault(one.id, new_id()),
            session_id=target,
            start_id=ids[one.start_id],
            parts=_parts(one.parts, ids),
        )
        for one in kept.epochs
        if one.start_id in ids and lost.isdisjoint(held for part in one.parts for held in part.ids)
    ]
    turns = [
        replace(
            one,
            reply_id=ids[one.reply_id],
            session_id=target,
            epoch_id=ids.get(one.epoch_id or ""),
            parts=_parts(one.parts, ids),
        )
        for one in kept.turns
        if one.reply_id in ids
    ]
    return Kept(summaries, epochs, turns)


def _state(summary: Summary, *, merged: bool) -> SummaryState:
    if summary.state is SummaryState.STALE:
        return summary.state
    return SummaryState.MERGED if merged else SummaryState.CURRENT


def _parts(parts: Sequence[TierUse], ids: Mapping[str, str]) -> tuple[TierUse, ...]:
    return tuple(replace(part, ids=tuple(ids.get(held, held) for held in part.ids)) for part in parts)
