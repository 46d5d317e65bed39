"""`atlas memory why` and `atlas memory profile`: where a memory comes from, and the profile."""

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from atlas_desktop.cli import memory_view as rooms
from atlas_desktop.cli import output
from atlas_desktop.cli.context import Context
from atlas_desktop.errors import Exit
from atlas_desktop.services.cleaning import clean, clean_line

if TYPE_CHECKING:
    from atlas_desktop.services.provenance import Item, Why
    from memory.context.decisions import RecallDecision
    from memory.recall.entities import Hit

Add = Callable[[str, Any, str], argparse.ArgumentParser]

FATES = {
    "told": "it was told",
    "repeats": "the words it was learned from were there already",
    "echo": "it says nothing that was not said just then",
    "too_far": "it was too far from what was asked",
    "no_room": "there was no room for it",
}
HIDDEN = {
    "superseded": "Something newer holds instead.",
    "archived": "It is in the archive.",
    "rejected": "You rejected it.",
    "expired": "Its time is over.",
    "unapproved": "Nobody has approved it: `atlas memory accept` does.",
}
_SHORT = 200
_LEAST = 0.01


def register(add: Add) -> None:
    why = add("why", why_of, "tell where a memory, a message or a reply comes from, and what else there was")
    why.add_argument(
        "id",
        metavar="ID",
        help="of a memory, a message or a reply, or the beginning of it; last: the latest reply",
    )
    profile = add("profile", profile_of, "print the page of what is known of you")
    profile.add_argument("--project", metavar="P", help="with the memories of this project")


async def why_of(ctx: Context, args: argparse.Namespace) -> int:
    from memory.errors import MemoryNotFound

    opened = await rooms.opened(ctx)
    if args.id == "last":
        room, session = await ctx.desk.rooms.find(args.id)
        await room.recall.load()
        found = await room.why.of_last_reply(session.id)
        ctx.emit({**as_json(found), "room": room.store.room.value}, described(found))
        return Exit.DONE
    for room in opened:
        await room.recall.load()
        try:
            found = await room.why.why(args.id)
        except MemoryNotFound:
            continue
        ctx.emit({**as_json(found), "room": room.store.room.value}, described(found))
        return Exit.DONE
    raise MemoryNotFound(args.id)


async def profile_of(ctx: Context, args: argparse.Namespace) -> int:
    told: list[dict[str, Any]] = []
    lines: list[str] = []
    for room in await rooms.opened(ctx):
        page = await room.profile.page(None, project=args.project)
        told += await rooms.as_json((room, one) for one in page.memories)
        lines += page.lines
    ctx.emit({"memories": told}, clean("\n".join(lines)) or "Nothing is known that lasts.")
    return Exit.DONE


def as_json(why: "Why") -> dict[str, Any]:
    """Scripts rely on the names: they are only ever added to."""
    memory, message = why.memory, why.message
    found: dict[str, Any] = {"id": why.id, "kind": why.kind, "text": why.text, "hidden": why.hidden or None}
    if memory is not None:
        found |= {
            "state": memory.state,
            "superseded_by": memory.superseded_by,
            "sources": [
                {
                    "session": source.session_id,
                    "message": source.message_id,
                    "external_id": None if said is None else said.external_id,
                    "quote": source.quote,
                    "created_at": None if said is None else said.created_at.isoformat(),
                }
                for source, said in why.sources
            ],
            "uses": [{"reply": use.reply_id, "session": use.session_id, "how": use.how} for use in why.uses],
        }
    if message is not None:
        found |= {
            "session": message.session_id,
            "speaker": message.speaker,
            "created_at": message.created_at.isoformat(),
            "memories": [
                {"id": one.id, "kind": one.kind, "text": one.text, "state": one.state} for one in why.memories
            ],
        }
    if why.kind == "reply":
        found |= {
            "recalled": [_item(item) for item in why.told],
            "considered": [_item(item) for item in why.left_out],
            "profile": [{"id": one.id, "kind": one.kind, "text": one.text} for one in why.profile],
            "shown": why.shown,
        }
    return found | {
        "mentions": [output.recalled(hit) for hit in why.mentions],
        "looked_at_for": [{"reply": one.reply, **_considered(one.considered)} for one in why.looked],
    }


def _item(item: "Item") -> dict[str, Any]:
    one = item.considered
    return {"id": one.id, "kind": one.kind, "text": item.text, **_considered(one)}


def _considered(one: "RecallDecision") -> dict[str, Any]:
    return {
        "fate": one.fate,
        "score": round(one.score, 6),
        "parts": {name: round(part, 6) for name, part in one.parts.items()},
    }


def described(why: "Why") -> str:
    """The same for people."""
    lines = [f"{why.kind.capitalize()} {why.id}", f"    {_line(why.text)}"]
    if why.hidden:
        lines.append(HIDDEN[why.hidden])
    if why.kind == "memory":
        quotes = [f"“{_line(source.quote)}”  {source.message_id}" for source, _ in why.sources]
        lines += _part("Learned from", quotes)
        lines += _part("Served", [f"{use.how} in {use.reply_id}" for use in why.uses])
    learned = [f"{_line(one.text)}  {one.id} ({one.state})" for one in why.memories]
    lines += _part("Learned from this", learned)
    if why.kind == "reply":
        lines += _part("On the page about you", [f"{_line(one.text)}  {one.id}" for one in why.profile])
        lines += _part("Told to the model from memory", list(map(_told, why.told)))
        lines += _part("Looked at and left out", list(map(_told, why.left_out)))
        lines.append(f"{why.shown} earlier messages stood in the prompt word for word.")
    lines += _part("Looked at for", [f"{one.reply}: {FATES[one.considered.fate]}" for one in why.looked])
    lines += _part("Also mentioned in", list(map(_mention, why.mentions)))
    return "\n".join(lines)


def _part(heading: str, lines: list[str]) -> list[str]:
    return [f"{heading}:", *(f"    {line}" for line in lines)] if lines else []


def _told(item: "Item") -> str:
    one = item.considered
    reasons = ", ".join(f"{name} {part:.2f}" for name, part in one.parts.items() if part >= _LEAST)
    return f"{one.score:.2f}  {_line(item.text)}  {one.id}\n        {FATES[one.fate]} ({reasons})"


def _mention(hit: "Hit") -> str:
    when = f"{hit.source.created_at.astimezone():%Y-%m-%d}"
    return f"{when}  {_line(hit.passage)}  (session {hit.source.session})"


def _line(text: str) -> str:
    line = clean_line(text)
    return line if len(line) <= _SHORT else line[:_SHORT].rpartition(" ")[0] + " …"
