"""`atlas sessions related|memories|timeline`, `atlas memory links`: what leads from one thing to others."""

import argparse
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from atlas_desktop.cli import output
from atlas_desktop.cli.context import Context
from atlas_desktop.errors import Exit, UsageError
from atlas_desktop.services.cleaning import clean_line

if TYPE_CHECKING:
    from atlas_desktop.services.provenance import Why
    from atlas_desktop.services.related import Related, Timeline
    from memory.attachments.entities import Document
    from memory.entities import Session
    from memory.organising.links import Backlink

Add = Callable[..., argparse.ArgumentParser]


def register(add: Add) -> None:
    """Adds the subcommands of `sessions`; `add(name, handler, text)` makes the parser of one."""
    related = add("related", list_related, "list sessions that have to do with a session, and why")
    related.add_argument("session", metavar="ID")
    related.add_argument("--limit", metavar="N", type=int, default=10, help="at most N (10)")
    add("memories", list_memories, "list what was learned in a session").add_argument("session", metavar="ID")
    documents = add("documents", list_documents, "list attached documents and the sessions that have them")
    documents.add_argument(
        "name", metavar="NAME", nargs="?", help="only this one; or the id of an attachment"
    )
    timeline = add("timeline", show_timeline, "what was said of a topic, by month")
    timeline.add_argument("topic", metavar="TOPIC", nargs="+")
    timeline.add_argument("--project", metavar="P", help="only in this project")


def register_memory(add: Add) -> None:
    """As `register`, those of `memory`."""
    links = add("links", list_links, "list where a memory was learned, used or also mentioned, both ways")
    links.add_argument("id", metavar="ID", help="of a memory; of a message: what was learned from it")


async def list_related(ctx: Context, args: argparse.Namespace) -> int:
    room = await ctx.unlock_for(args.session)
    session = (await ctx.desk.rooms.find(args.session))[1]
    ctx.tell_damage(room)
    await room.recall.load()
    found = await room.related.related(session.id, limit=args.limit)
    ctx.emit(
        {"session": session.id, "related": [shape(one) for one in found]},
        lambda: "\n".join(map(_told, found)) or "Nothing that has to do with it was found.",
    )
    return Exit.DONE


def shape(value: "Related") -> dict[str, Any]:
    return {
        "id": value.session.id,
        "title": value.session.title,
        "room": value.session.room,
        "updated_at": value.session.updated_at.isoformat(),
        "score": round(value.score, 4),
        "why": {
            "parts": dict(value.parts),
            "words": list(value.words),
            "memories": [{"id": one.memory_id, "text": one.text} for one in value.memories],
            "tags": list(value.tags),
        },
    }


def _told(value: "Related") -> str:
    why = []
    if value.parts["meaning"] >= 0.3:
        why.append(f"alike in meaning ({value.parts['meaning']:.2f})")
    if value.words:
        why.append(f"words: {', '.join(value.words)}")
    if value.memories:
        why.append(f"{len(value.memories)} memories in common")
    if value.tags:
        why.append(f"tags: {', '.join(value.tags)}")
    return f"{value.score:.2f}  {value.session.id}  {clean_line(value.session.title)}\n    {'; '.join(why)}"


async def list_memories(ctx: Context, args: argparse.Namespace) -> int:
    from atlas_desktop.cli import output

    room = await ctx.unlock_for(args.session)
    found = await room.knowledge.views(await room.related.memories(args.session))
    ctx.emit(
        [output.memory(one) for one in found],
        lambda: (
            "\n".join(f"{one.memory.id}  {one.memory.kind:<10}  {one.memory.text}" for one in found)
            or "Nothing was learned in it."
        ),
    )
    return Exit.DONE


async def list_documents(ctx: Context, args: argparse.Namespace) -> int:
    await ctx.unlock()
    found = []
    for room in ctx.desk.open_rooms:
        for one in await room.store.attachments.documents():
            if args.name is None or one.name == args.name or any(args.name == own for _, own in one.places):
                sessions = [(await room.store.get_session(session), own) for session, own in one.places]
                found.append(_document(one, sessions))
    ctx.emit(found, lambda: "\n".join(map(_document_text, found)) or "No such document is attached.")
    return Exit.DONE


def _document(value: "Document", sessions: "Sequence[tuple[Session, str]]") -> dict[str, Any]:
    return {
        "name": value.name,
        "media_type": value.media_type,
        "bytes": value.size,
        "characters": value.characters,
        "sessions": [
            {"id": one.id, "title": one.title, "room": one.room.value, "attachment": own}
            for one, own in sessions
        ],
    }


def _document_text(shape: dict[str, Any]) -> str:
    head = f"{clean_line(shape['name'])}  {shape['media_type']}, {shape['characters']:,} characters"
    return "\n".join([head, *(f"    {one['id']}  {clean_line(one['title'])}" for one in shape["sessions"])])


async def list_links(ctx: Context, args: argparse.Namespace) -> int:
    from atlas_desktop.cli import memory_view
    from memory.errors import MemoryNotFound

    for room in await memory_view.opened(ctx):
        await room.recall.load()
        try:
            why = await room.why.why(args.id)
        except MemoryNotFound:
            continue
        found = await room.related.links(why)
        ctx.emit({**links_shape(why, found), "room": room.store.room.value}, links_text(why, found))
        return Exit.DONE
    raise MemoryNotFound(args.id)


def links_shape(why: "Why", found: "Sequence[Backlink]") -> dict[str, Any]:
    return {
        "id": why.id,
        "kind": why.kind,
        "text": why.text,
        "sessions": [
            {
                "id": one.session_id,
                "title": one.title,
                "how": one.how,
                "message": one.message_id,
                "at": one.at.isoformat(),
                "count": one.count,
            }
            for one in found
        ],
        "memories": [
            {"id": one.id, "kind": one.kind, "text": one.text, "state": one.state} for one in why.memories
        ],
    }


def links_text(why: "Why", found: "Sequence[Backlink]") -> str:
    lines = [f"{one.id}  {one.kind:<10}  {clean_line(one.text)}" for one in why.memories]
    lines += [
        f"{one.session_id}  {one.at.astimezone():%Y-%m-%d}  {one.how:<9}  {clean_line(one.title)}"
        for one in found
    ]
    return "\n".join(lines) or "It leads to no session."


async def show_timeline(ctx: Context, args: argparse.Namespace) -> int:
    topic = " ".join(args.topic).strip()
    if not topic:
        raise UsageError("No topic is named.", "Give a word or a few.")
    ctx.tell_damage(await ctx.unlock())
    each = []
    for room in ctx.desk.open_rooms:
        await room.recall.load()
        each.append(await room.related.timeline(topic, project=args.project))
    ctx.emit(timeline_shape(topic, each), lambda: timeline_text(each))
    return Exit.DONE


def timeline_shape(topic: str, each: "list[Timeline]") -> dict[str, Any]:
    """Months of several rooms beside each other."""
    months: dict[str, dict[str, Any]] = {}
    for found in each:
        for one in found.months:
            here = months.setdefault(
                one.month, {"month": one.month, "messages": 0, "sessions": [], "hits": []}
            )
            here["messages"] += one.messages
            here["sessions"] += [
                {"id": session, "title": found.titles.get(session, ""), "messages": count}
                for session, count in one.sessions.items()
            ]
            here["hits"] += [output.recalled(hit) for hit in one.hits]
    return {
        "topic": topic,
        "messages": sum(one["messages"] for one in months.values()),
        "months": [months[month] for month in sorted(months)],
        "more": any(one.more for one in each),
    }


def timeline_text(each: "list[Timeline]") -> str:
    rows: list[tuple[str, str]] = []
    for found in each:
        most = max((one.messages for one in found.months), default=1)
        for one in found.months:
            bar = "█" * max(round(20 * one.messages / most), 1)
            lines = [f"{one.month}  {bar} {one.messages}"]
            lines += [f"    {count:>3}  {found.titles.get(own, '')}" for own, count in one.sessions.items()]
            rows.append((one.month, "\n".join(lines)))
    return "\n".join(text for _, text in sorted(rows)) or "Nothing was said of it."
