"""`atlas insights`: a person's own statistics, computed here."""

import argparse
import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from atlas_desktop.cli.context import Context
from atlas_desktop.errors import Exit, UsageError, size

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atlas_desktop.services.insights import Insights
    from memory.insights import DayCount, Topic

_SPAN = re.compile(r"(\d{1,4})([dwmy])")
_DAYS = {"d": 1, "w": 7, "m": 30, "y": 365}
_BARS = "▁▂▃▄▅▆▇█"
_WEEKS = 26
_SHOWN = 6
_KINDS = {"tag": "Tags", "project": "Projects", "category": "Categories", "cluster": "Found by meaning"}


def register(subparsers: Any, common: argparse.ArgumentParser) -> None:
    parser = subparsers.add_parser(
        "insights",
        parents=[common],
        help="your own statistics, computed here",
        description="Your own statistics, computed here and kept nowhere. The private room counts only with "
        "--private.",
    )
    parser.add_argument("--since", metavar="D", help="from this day on, or of so long: 30d, 12w, 6m, 1y")
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
    """A day begins at midnight here. Raises `UsageError`."""
    if given is None:
        return None
    span = _SPAN.fullmatch(given.strip().lower())
    try:
        if span is not None:
            return datetime.now(UTC) - timedelta(days=int(span[1]) * _DAYS[span[2]])
        return datetime.fromisoformat(given).astimezone()
    except (ValueError, OverflowError):
        raise UsageError("That is not a date or a span.", "Write 2026-03-12, 30d, 12w, 6m or 1y.") from None


def shape(value: "Insights") -> dict[str, Any]:
    """Scripts rely on the names: they are only ever added to."""
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
    """A page of it."""
    totals = value.totals
    if not totals.sessions:
        return "There is nothing to count yet."
    since = f" since {value.since.astimezone():%Y-%m-%d}" if value.since else ""
    rows = [
        f"{totals.sessions:,} conversations with {totals.messages:,} messages, {totals.memories:,} memories.",
        f"Tokens{since}: {totals.tokens_read:,} read, {totals.tokens_written:,} written.",
    ]
    rows += _weeks(value.weeks, since)
    for kind, title in _KINDS.items():
        rows += _topics(title, [one for one in value.topics if one.kind == kind])
    if value.speed:
        rows += ["", "Speed (median)"]
        latest = {one.model: one for one in value.speed}
        rows += [
            f"  {one.model}: first token after {one.first_token_ms:,.0f} ms, "
            f"{one.tokens_per_second:,.0f} tokens a second ({one.replies} replies, week of {one.week})"
            for one in latest.values()
        ]
    rows += ["", "Storage"]
    rows += [f"  {size(one.bytes):>10}  {one.kind.replace('_', ' ')}" for one in value.storage if one.bytes]
    if value.most_used:
        rows += ["", "Most used memories"]
        rows += [f"  {one.uses:>5}  {' '.join(one.text.split())[:80]}" for one in value.most_used]
    return "\n".join(rows)


def _weeks(weeks: "Sequence[DayCount]", since: str) -> list[str]:
    """A bar a week, also for those on which nothing was said."""
    if not weeks:
        return [f"Nothing was said{since}."]
    known = {one.day: one.messages for one in weeks}
    last = weeks[-1].day
    first = max(weeks[0].day, last - timedelta(weeks=_WEEKS - 1))
    counts = [known.get(first + timedelta(weeks=n), 0) for n in range((last - first).days // 7 + 1)]
    most = max(counts)
    bars = "".join(_BARS[round(count / most * (len(_BARS) - 1))] if count else " " for count in counts)
    return ["", f"Messages a week, {first} to {last} (at most {most:,})", f"  {bars}"]


def _topics(title: str, topics: "Sequence[Topic]") -> list[str]:
    if not topics:
        return []
    rows = ["", title]
    rows += [f"  {one.sessions:>5}  {one.name}" for one in topics[:_SHOWN]]
    more = len(topics) - _SHOWN
    return rows + ([f"         … and {more} more"] if more > 0 else [])
