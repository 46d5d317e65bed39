"""`atlas sessions retention`: how long conversations are kept, and what would go."""

import argparse
from typing import TYPE_CHECKING, Any

from atlas_desktop.cli.context import Context
from atlas_desktop.explain import Exit, UsageError
from atlas_desktop.services.cleaning import clean_line
from atlas_desktop.words.amounts import held
from atlas_desktop.words.catalogue import tr

if TYPE_CHECKING:
    from atlas_desktop.services.retention import Removed
    from memory.retention import Expired, RetentionPolicy

_WHY = {"unused": "not used since", "bin": "in the bin since"}


def register(add: Any) -> None:
    """`add(name, handler, text)` makes the parser of one command."""
    parser = add("retention", retention, "show how long sessions are kept, and what would be removed now")
    parser.add_argument(
        "--dry-run", action="store_true", help="remove nothing (it does so only with --apply)"
    )
    parser.add_argument(
        "--apply", action="store_true", help="remove it now, and believe the clock from now on"
    )
    parser.add_argument("--project", metavar="NAME", help="set the days of this project")
    parser.add_argument(
        "--days", metavar="N", help="days since the last use; `forever`, or `default` for the room's own"
    )


async def retention(ctx: Context, args: argparse.Namespace) -> int:
    if (args.project is None) != (args.days is None):
        raise UsageError(
            "--project and --days go together.",
            "The days of a whole room are settings: `atlas config set retention.open_days N`.",
        )
    if args.apply and args.dry_run:
        raise UsageError("--apply and --dry-run contradict each other.")
    days = None if args.days is None else _days(args.days)
    room = await ctx.unlock()
    if args.project is not None:
        await room.retention.set_project(args.project, None if days is None or days < 0 else days)
    policy = await room.retention.policy()
    due = [expired for one in ctx.opened for expired in await one.retention.preview()]
    waiting = [await one.retention.held_back() for one in ctx.opened]
    held = sum(one.sessions for one in waiting if one is not None)
    removed = None
    if args.apply:
        if due:
            ctx.confirm(f"{len(due)} conversations would be erased for good. Go on?")
        removed = [await one.retention.apply() for one in ctx.opened]
    ctx.emit({**_json(policy, due, removed), "held_back": held}, lambda: _text(policy, due, removed))
    return Exit.DONE


def _days(given: str) -> int:
    """-1 stands for the room's own. Raises `UsageError`."""
    named = {"forever": 0, "default": -1}
    if given in named:
        return named[given]
    if not given.isdigit() or not 0 < int(given) <= 36_500:
        raise UsageError(f"{given} is no number of days.", "Give 1 to 36500, `forever` or `default`.")
    return int(given)


def _json(
    policy: "RetentionPolicy", found: "list[Expired]", removed: "list[Removed] | None"
) -> dict[str, Any]:
    return {
        "policy": {"days": policy.days, "bin_days": policy.bin_days, "projects": dict(policy.projects)},
        "would_remove": [
            {
                "session": one.candidate.session_id,
                "title": one.candidate.title,
                "project": one.candidate.project,
                "messages": one.candidate.messages,
                "why": one.why.value,
                "used_at": one.candidate.used_at.isoformat(),
                "since": one.since.isoformat(),
            }
            for one in found
        ],
        "removed": None
        if removed is None
        else {
            "sessions": sum(one.sessions for one in removed),
            "messages": sum(one.messages for one in removed),
            "verified": all(one.verified for one in removed),
        },
    }


def _text(policy: "RetentionPolicy", found: "list[Expired]", removed: "list[Removed] | None") -> str:
    since = " since the last use" if policy.days else ""
    lines = [f"Conversations are kept {_for(policy.days)}{since}, in the bin {_for(policy.bin_days)}."]
    lines += [f"{name}: {_for(days)}." for name, days in policy.projects.items()]
    lines.append("Starred, important and pinned ones stay, and those that a pinned memory rests on.")
    if removed is not None:
        erased = held(sum(one.sessions for one in removed), sum(one.messages for one in removed))
        lines.append(f"Erased: {erased}.")
        return "\n".join(lines)
    for one in found:
        begun = one.candidate.binned_at or one.candidate.used_at
        lines.append(
            f"{one.candidate.session_id}  {_WHY[one.why]} {begun.astimezone():%Y-%m-%d}  "
            f"{clean_line(one.candidate.title)}"
        )
    lines.append(f"{len(found)} would be removed now." if found else "Nothing would be removed now.")
    return "\n".join(lines)


def _for(days: int) -> str:
    return tr("amounts.for_days", count=days) if days else "for ever"
