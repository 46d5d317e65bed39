"""`atlas memory consolidate|gc|promote`: the work that else comes round by itself."""

import argparse
from typing import TYPE_CHECKING, Any

from atlas_desktop.cli import memory_shapes as shapes
from atlas_desktop.cli.context import Context
from atlas_desktop.explain import Exit

if TYPE_CHECKING:
    from atlas_desktop.cli.memory_browse import Add
    from atlas_desktop.services.room import OpenRoom
    from memory.knowledge.expiry import Fate

_DRY = "only say what would be done"


def register(add: "Add") -> None:
    add(
        "consolidate", consolidate, "merge memories that say nearly the same; the originals are archived"
    ).add_argument("--dry-run", action="store_true", help=_DRY)
    add("gc", collect, "archive what has run out or faded; it can be undone").add_argument(
        "--dry-run", action="store_true", help=_DRY
    )
    add("promote", promote, "keep for good what was used often, matters much, or belongs to what lasts")


async def consolidate(ctx: Context, args: argparse.Namespace) -> int:
    room = await ctx.unlock()
    found = await room.upkeep.consolidate(dry_run=args.dry_run)
    merged = []
    for one in found if ctx.json else ():
        made = None if one.made is None else shapes.memory((await room.knowledge.views([one.made]))[0])
        parts = [{"id": part.id, "text": part.text} for part in one.cluster.members]
        merged.append({"text": one.cluster.text, "memory": made, "parts": parts})

    def text() -> str:
        rows = []
        for one in found:
            rows.append(one.cluster.text)
            rows += [f"    from {part.id}  {part.text}" for part in one.cluster.members]
        would = "would be merged" if args.dry_run else "were merged; `atlas memory undo` takes it back"
        count = sum(len(one.cluster.members) for one in found)
        return "\n".join([*rows, f"{count} memories {would}." if count else "Nothing says the same twice."])

    ctx.emit({"dry_run": args.dry_run, "merged": merged}, text)
    return Exit.DONE


async def collect(ctx: Context, args: argparse.Namespace) -> int:
    room = await ctx.unlock()
    found = await room.upkeep.collect(dry_run=args.dry_run)
    parts = {"archive": found.archive, "prolong": found.prolong, "erase": found.erase}
    told: dict[str, Any] = {"dry_run": args.dry_run}
    if ctx.json:
        told |= {name: await _fates(room, fates) for name, fates in parts.items()}

    def text() -> str:
        would = "Would" if args.dry_run else "Did"
        rows = [
            f"{would} {name}: {shapes.line(fate.memory)}\n    ({shapes.WHY[fate.why]})"
            for name, fates in parts.items()
            for fate in fates
        ]
        return "\n".join(rows) or "Nothing has run out or faded."

    ctx.emit(told, text)
    return Exit.DONE


async def _fates(room: "OpenRoom", fates: "tuple[Fate, ...]") -> list[dict[str, Any]]:
    views = await room.knowledge.views([fate.memory for fate in fates])
    return [{**shapes.memory(view), "why": fate.why} for view, fate in zip(views, fates, strict=True)]


async def promote(ctx: Context, _args: argparse.Namespace) -> int:
    room = await ctx.unlock()
    found = await room.upkeep.promote()
    views = await room.knowledge.views([one.memory for one in found]) if ctx.json else []
    ctx.emit(
        [{**shapes.memory(view), "ground": one.ground} for view, one in zip(views, found, strict=False)],
        lambda: "\n".join(shapes.line(one.memory) for one in found) or "Nothing is to be promoted.",
    )
    return Exit.DONE
