"""`atlas insights`: your own statistics, computed on this computer."""

import argparse
import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from atlas_desktop.cli.context import Context
from atlas_desktop.errors import Exit, UsageError, size
from atlas_desktop.locale import _, ngettext, number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atlas_desktop.services.insights import Insights
    from memory.insights import DayCount, Topic

_SPAN = re.compile(r"(\d{1,4})([dwmy])")
_DAYS = {"d": 1, "w": 7, "m": 30, "y": 365}
_BARS = "▁▂▃▄▅▆▇█"
_WEEKS = 26
_SHOWN = 6


def register(subparsers: Any, common: argparse.ArgumentParser) -> None:
    parser = subparsers.add_parser(
        "insights",
        parents=[common],
        help=_("show your statistics, computed locally"),
        description=_(
            "Show your statistics, computed on this computer and never saved. The private room is "
            "included only with --private."
        ),
    )
    parser.add_argument("--since", metavar="D", help=_("since this day, or for the last 30d, 12w, 6m, 1y"))
    parser.set_defaults(handler=insights, exclusive=True)


async def insights(ctx: Context, args: argparse.Namespace) -> int:
    from atlas_desktop.services.insights import insights as compute

    since = _since(args.since)
    await ctx.unlock()
    stores = [room.store for room in ctx.desk.open_rooms]
    found = await compute(stores, since=since, home=ctx.paths.home, backups=ctx.desk.backups)
    ctx.emit(shape(found), lambda: text(found))
    return Exit.DONE


def _since(given: str | None) -> datetime | None:
    """The start of the period; a day starts at local midnight. Raises `UsageError`."""
    if given is None:
        return None
    span = _SPAN.fullmatch(given.strip().lower())
    try:
        if span is not None:
            return datetime.now(UTC) - timedelta(days=int(span[1]) * _DAYS[span[2]])
        return datetime.fromisoformat(given).astimezone()
    except (ValueError, OverflowError):
        raise UsageError(_("Invalid date or period."), _("Write 2026-03-12, 30d, 12w, 6m or 1y.")) from None


def shape(value: "Insights") -> dict[str, Any]:
    """The statistics as JSON. Scripts rely on the names: add new ones, but never change or remove one."""
    totals = value.totals
    return {
        "rooms": list(value.rooms),
        "since": value.since.isoformat() if value.since else None,
        "totals": {
            "sessions": totals.sessions,
            "archived": totals.archived,
            "messages": totals.messages,
            "memories": totals.memories,
            "projects": totals.projects,
            "tokens_written": totals.tokens_written,
            "tokens_read": totals.tokens_read,
            "first_at": totals.first_at.isoformat() if totals.first_at else None,
            "last_at": totals.last_at.isoformat() if totals.last_at else None,
        },
        "days": [_count("day", one) for one in value.days],
        "weeks": [_count("week", one) for one in value.weeks],
        "topics": [
            {
                "kind": one.kind,
                "name": one.name,
                "sessions": one.sessions,
                "months": dict(one.months),
                "words": list(one.words),
                "ids": list(one.session_ids),
            }
            for one in value.topics
        ],
        "speed": [
            {
                "model": one.model,
                "week": one.week.isoformat(),
                "replies": one.replies,
                "first_token_ms": round(one.first_token_ms, 1),
                "tokens_per_second": round(one.tokens_per_second, 2),
                "guessed": round(one.guessed, 3),
                "guesses_accepted": round(one.accepted, 3),
            }
            for one in value.speed
        ],
        "storage": [{"kind": one.kind, "bytes": one.bytes, "rows": one.rows} for one in value.storage],
        "memory_growth": [
            {"week": one.week.isoformat(), "added": one.added, "total": one.total} for one in value.growth
        ],
        "most_used": [
            {
                "id": one.memory_id,
                "kind": one.kind,
                "text": one.text,
                "uses": one.uses,
                "used_at": one.used_at.isoformat() if one.used_at else None,
            }
            for one in value.most_used
        ],
        "took_ms": round(value.took_ms, 1),
    }


def _count(name: str, value: "DayCount") -> dict[str, Any]:
    return {
        name: value.day.isoformat(),
        "sessions": value.sessions,
        "begun": value.begun,
        "messages": value.messages,
        "questions": value.questions,
        "characters": value.characters,
        "tokens_written": value.tokens_written,
        "tokens_read": value.tokens_read,
    }


# --- for people ------------------------------------------------------------------------------------


def text(value: "Insights") -> str:
    """The statistics as one page of text."""
    from atlas_desktop.phrases import TOPIC_KINDS, held, storage_text, topic_text

    totals = value.totals
    if not totals.sessions:
        return _("No conversations yet.")
    since = None if value.since is None else value.since.astimezone()
    memories = ngettext("1 memory", "{count} memories", totals.memories)
    read, written = number(totals.tokens_read), number(totals.tokens_written)
    rows = [f"{held(totals.sessions, totals.messages)}, {memories}."]
    if since is None:
        rows.append(_("Tokens: {read} read, {written} written.", read=read, written=written))
    else:
        rows.append(
            _(
                "Tokens since {since:%Y-%m-%d}: {read} read, {written} written.",
                since=since,
                read=read,
                written=written,
            )
        )
    rows += _weeks(value.weeks, since)
    for kind in TOPIC_KINDS:
        rows += _topics(topic_text(kind), [one for one in value.topics if one.kind == kind])
    if value.speed:
        rows += ["", _("Speed (median)")]
        latest = {one.model: one for one in value.speed}
        rows += [
            "  "
            + ngettext(
                "{model}: first token after {wait} ms, {speed} tokens per second (1 reply, week of {week})",
                "{model}: first token after {wait} ms, {speed} tokens per second "
                "({count} replies, week of {week})",
                one.replies,
                model=one.model,
                wait=number(round(one.first_token_ms)),
                speed=number(round(one.tokens_per_second)),
                week=one.week,
            )
            + (
                _(
                    "; {guessed} % of the tokens were guessed, {accepted} % of the guesses were right",
                    guessed=number(round(100 * one.guessed)),
                    accepted=number(round(100 * one.accepted)),
                )
                if one.guessed
                else ""
            )
            for one in latest.values()
        ]
    rows += ["", _("Storage")]
    rows += [f"  {size(one.bytes):>10}  {storage_text(one.kind)}" for one in value.storage if one.bytes]
    if value.most_used:
        rows += ["", _("Most used memories")]
        rows += [f"  {one.uses:>5}  {' '.join(one.text.split())[:80]}" for one in value.most_used]
    return "\n".join(rows)


def _weeks(weeks: "Sequence[DayCount]", since: datetime | None) -> list[str]:
    """One bar per week, including weeks without messages."""
    if not weeks:
        return [_("No messages since {since:%Y-%m-%d}.", since=since) if since else _("No messages.")]
    known = {one.day: one.messages for one in weeks}
    last = weeks[-1].day
    first = max(weeks[0].day, last - timedelta(weeks=_WEEKS - 1))
    counts = [known.get(first + timedelta(weeks=n), 0) for n in range((last - first).days // 7 + 1)]
    most = max(counts)
    bars = "".join(_BARS[round(count / most * (len(_BARS) - 1))] if count else " " for count in counts)
    return [
        "",
        _("Messages per week, {first} to {last} (maximum {most})", first=first, last=last, most=number(most)),
        f"  {bars}",
    ]


def _topics(title: str, topics: "Sequence[Topic]") -> list[str]:
    from atlas_desktop.phrases import topic_name_text

    if not topics:
        return []
    rows = ["", title]
    rows += [f"  {one.sessions:>5}  {topic_name_text(one.kind, one.name)}" for one in topics[:_SHOWN]]
    more = len(topics) - _SHOWN
    return rows + ([f"         {_('… and {count} more', count=number(more))}"] if more > 0 else [])
