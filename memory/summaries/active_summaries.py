"""Which summaries represent the beginning of a branch, and which messages stay verbatim."""

from collections.abc import Sequence
from dataclasses import dataclass

from memory.context.entities import Summary, SummaryState
from memory.entities import Message


@dataclass(frozen=True, slots=True)
class Stretch:
    """Messages `[start, end)` of a branch, and the summary that represents them (None: there is none)."""

    start: int
    end: int
    summary: Summary | None = None


def active_summaries(ids: Sequence[str], summaries: Sequence[Summary], *, keep: int = 0) -> list[Stretch]:
    """Returns the beginning of a branch as adjacent stretches, up to the end of the last summary that fits.

    A summary fits when its messages are contiguous on the branch. Of several with one start the widest is
    used, so a merged summary is used again on a branch that forked before the end of the wider one. Stale
    ones are used too: their messages were read. A summary that reaches into the last `keep` messages does not
    fit.
    """
    branch = tuple(ids)
    place = {id_: index for index, id_ in enumerate(branch)}
    last = len(branch) - keep
    fitting: dict[int, Summary] = {}
    for summary in summaries:
        start = place.get(summary.covers[0]) if summary.covers else None
        if start is None or start + len(summary.covers) > last:
            continue
        if branch[start : start + len(summary.covers)] != summary.covers:
            continue
        other = fitting.get(start)
        if other is None or _preference(summary) > _preference(other):
            fitting[start] = summary
    found: list[Stretch] = []
    at = 0
    for start in sorted(fitting):
        if start < at:
            continue
        if start > at:
            found.append(Stretch(at, start))
        at = start + len(fitting[start].covers)
        found.append(Stretch(start, at, fitting[start]))
    return found


def _preference(summary: Summary) -> tuple[int, bool, bool, bool]:
    return (
        len(summary.covers),
        summary.state is SummaryState.CURRENT,
        summary.edited,
        not summary.fallback,
    )


MAX_ARCHIVED_IN_VIEW = 50


@dataclass(frozen=True, slots=True)
class TieredHistory:
    """`active` messages are verbatim, `archived` ones are represented by `summaries`; all oldest first.

    `archived` contains at most the requested number, the newest; `archived_total` counts all.
    """

    active: tuple[Message, ...]
    summaries: tuple[Summary, ...]
    archived: tuple[Message, ...]
    archived_total: int


def tiers(
    branch: Sequence[Message],
    summaries: Sequence[Summary],
    *,
    recent_messages_min: int = 4,
    max_archived_in_view: int = MAX_ARCHIVED_IN_VIEW,
) -> TieredHistory:
    """Returns the history of a branch (root to leaf), given all summaries of its session."""
    found = active_summaries([m.id for m in branch], summaries, keep=recent_messages_min)
    # A message without a summary is still verbatim: a later summary does not hide it.
    archived = [m for stretch in found if stretch.summary for m in branch[stretch.start : stretch.end]]
    hidden = {m.id for m in archived}
    return TieredHistory(
        active=tuple(m for m in branch if m.id not in hidden),
        summaries=tuple(stretch.summary for stretch in found if stretch.summary),
        archived=tuple(archived[max(0, len(archived) - max_archived_in_view) :]),
        archived_total=len(archived),
    )
