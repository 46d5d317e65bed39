"""`atlas memory why|profile|links` and `atlas sessions related|memories|timeline`: sources and links."""

import argparse
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from atlas_desktop.cli import memory_view as rooms
from atlas_desktop.cli import output
from atlas_desktop.cli.context import Context
from atlas_desktop.errors import Exit, UsageError
from atlas_desktop.locale import N_, _, ngettext
from atlas_desktop.phrases.provenance import hidden_text, outcome_text
from atlas_desktop.phrases.skills import used_skill_text
from atlas_desktop.services.cleaning import clean, clean_line

if TYPE_CHECKING:
    from atlas_desktop.services.provenance import Item, Related, Timeline, Why
    from memory.attachments import Document
    from memory.context.decisions import RecallDecision
    from memory.entities import Session
    from memory.organising.entities import Backlink
    from memory.recall.entities import Hit


AddCommand = Callable[..., argparse.ArgumentParser]


def add_related(add: AddCommand) -> None:
    """Adds the subcommands of `sessions`; `add(name, handler, text)` creates a parser."""
    related = add("related", list_related, _("list sessions related to a session, and why"))
    related.add_argument("session", metavar="ID")
    related.add_argument("--limit", metavar="N", type=int, default=10, help=_("show at most N (default: 10)"))
    add("memories", list_memories, _("list the memories learned in a session")).add_argument(
        "session", metavar="ID"
    )
    documents = add("documents", list_documents, _("list attached documents and their sessions"))
    documents.add_argument(
        "name", metavar="NAME", nargs="?", help=_("only this document, by name or attachment ID")
    )
    timeline = add("timeline", show_timeline, _("show messages about a topic by month"))
    timeline.add_argument("topic", metavar="TOPIC", nargs="+")
    timeline.add_argument("--project", metavar="P", help=_("only in this project"))


def register_memory(add: AddCommand) -> None:
    """As `add_related`, for the subcommands of `memory`."""
    links = add("links", list_links, _("list the sessions where a memory was learned, used or mentioned"))
    links.add_argument("id", metavar="ID", help=_("a memory, or a message to list what was learned from it"))


async def list_related(ctx: Context, args: argparse.Namespace) -> int:
    room = await ctx.unlock_for(args.session)
    session = (await ctx.desk.rooms.find(args.session))[1]
    ctx.tell_damage(room)
    await room.recall.load()
    found = await room.related.related(session.id, limit=args.limit)
    ctx.emit(
        {"session": session.id, "related": [shape(one) for one in found]},
        lambda: "\n".join(map(_told, found)) or _("No related sessions."),
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
        why.append(_("similar meaning ({score:.2f})", score=value.parts["meaning"]))
    if value.words:
        why.append(_("words: {words}", words=", ".join(value.words)))
    if value.memories:
        why.append(_("shared memories: {count}", count=len(value.memories)))
    if value.tags:
        why.append(_("tags: {tags}", tags=", ".join(value.tags)))
    return f"{value.score:.2f}  {value.session.id}  {clean_line(value.session.title)}\n    {'; '.join(why)}"


async def list_memories(ctx: Context, args: argparse.Namespace) -> int:
    from atlas_desktop.cli import output

    room = await ctx.unlock_for(args.session)
    found = await room.knowledge.views(await room.related.memories(args.session))
    ctx.emit(
        [output.memory(one) for one in found],
        lambda: (
            "\n".join(f"{one.memory.id}  {_kind(one.memory.kind):<10}  {one.memory.text}" for one in found)
            or _("No memories were learned in it.")
        ),
    )
    return Exit.DONE


async def list_documents(ctx: Context, args: argparse.Namespace) -> int:
    await ctx.unlock()
    found = []
    for room in ctx.desk.open_rooms:
        for one in await room.store.attachments.documents():
            if (
                args.name is None
                or one.name == args.name
                or any(args.name == own for _unused, own in one.places)
            ):
                sessions = [(await room.store.get_session(session), own) for session, own in one.places]
                found.append(_document(one, sessions))
    ctx.emit(found, lambda: "\n".join(map(_document_text, found)) or _("No matching documents."))
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
    length = ngettext("1 character", "{count} characters", shape["characters"])
    head = f"{clean_line(shape['name'])}  {shape['media_type']}, {length}"
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
    lines = [f"{one.id}  {_kind(one.kind):<10}  {clean_line(one.text)}" for one in why.memories]
    lines += [
        f"{one.session_id}  {one.at.astimezone():%Y-%m-%d}  {output.word(_HOW, one.how):<9}  "
        f"{clean_line(one.title)}"
        for one in found
    ]
    return "\n".join(lines) or _("No links found.")


def _kind(kind: str) -> str:
    return output.word(output.KIND_WORDS, kind)


async def show_timeline(ctx: Context, args: argparse.Namespace) -> int:
    topic = " ".join(args.topic).strip()
    if not topic:
        raise UsageError(_("No topic given."), _("Give one or more words."))
    ctx.tell_damage(await ctx.unlock())
    each = []
    for room in ctx.desk.open_rooms:
        await room.recall.load()
        each.append(await room.related.timeline(topic, project=args.project))
    ctx.emit(timeline_shape(topic, each), lambda: timeline_text(each))
    return Exit.DONE


def timeline_shape(topic: str, each: "list[Timeline]") -> dict[str, Any]:
    """The months of several rooms, merged."""
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
    return "\n".join(text for _unused, text in sorted(rows)) or _("No messages about this topic.")


Add = Callable[[str, Any, str], argparse.ArgumentParser]

_HOW = {
    "learned": N_("learned"),
    "recalled": N_("recalled"),
    "cited": N_("cited"),
    "confirmed": N_("confirmed"),
    "opened": N_("opened"),
}
_HEADS = {
    "memory": N_("Memory {id}"),
    "message": N_("Message {id}"),
    "reply": N_("Reply {id}"),
    "summary": N_("Summary {id}"),
}
_SHORT = 200
_LEAST = 0.01


def register(add: Add) -> None:
    why = add("why", why_of, _("show where a memory, message or reply comes from, and what was left out"))
    why.add_argument(
        "id",
        metavar="ID",
        help=_("a memory, message or reply ID, or its first characters; last: the latest reply"),
    )
    profile = add("profile", profile_of, _("print your profile page"))
    profile.add_argument("--project", metavar="P", help=_("include memories of this project"))


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
    ctx.emit({"memories": told}, clean("\n".join(lines)) or _("Your profile is empty."))
    return Exit.DONE


def as_json(why: "Why") -> dict[str, Any]:
    """Scripts rely on these names: only add new ones."""
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
            "skills": [output.used_skill(one) for one in why.skills],
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
        "fate": one.outcome,
        "score": round(one.score, 6),
        "parts": {name: round(part, 6) for name, part in one.parts.items()},
    }


def described(why: "Why") -> str:
    """The same information as text."""
    lines = [_(_HEADS[why.kind], id=why.id), f"    {_line(why.text)}"]
    if why.hidden:
        how = _("Accept it with `atlas memory accept`.") if why.hidden == "unapproved" else ""
        lines.append(f"{hidden_text(why.hidden)} {how}".rstrip())
    if why.kind == "memory":
        quotes = [f"“{_line(source.quote)}”  {source.message_id}" for source, _unused in why.sources]
        lines += _part(_("Learned from"), quotes)
        uses = [_("{how} in {reply}", how=output.word(_HOW, use.how), reply=use.reply_id) for use in why.uses]
        lines += _part(_("Used"), uses)
    learned = [
        f"{_line(one.text)}  {one.id} ({output.word(output.STATE_WORDS, one.state)})" for one in why.memories
    ]
    lines += _part(_("Learned from this"), learned)
    if why.kind == "reply":
        lines += _part(_("From your profile"), [f"{_line(one.text)}  {one.id}" for one in why.profile])
        lines += _part(_("Used skill"), [f"{used_skill_text(one)}  {one.skill}" for one in why.skills])
        lines += _part(_("Recalled for this reply"), list(map(_profile_told, why.told)))
        lines += _part(_("Considered but left out"), list(map(_profile_told, why.left_out)))
        lines.append(
            ngettext(
                "1 earlier message was in the prompt verbatim.",
                "{count} earlier messages were in the prompt verbatim.",
                why.shown,
            )
        )
    lines += _part(
        _("Considered for"), [f"{one.reply}: {outcome_text(one.considered.outcome)}" for one in why.looked]
    )
    lines += _part(_("Also mentioned in"), list(map(_mention, why.mentions)))
    return "\n".join(lines)


def _part(heading: str, lines: list[str]) -> list[str]:
    return [f"{heading}:", *(f"    {line}" for line in lines)] if lines else []


def _profile_told(item: "Item") -> str:
    one = item.considered
    reasons = output.reasons(one.parts, _LEAST)
    return f"{one.score:.2f}  {_line(item.text)}  {one.id}\n        {outcome_text(one.outcome)} ({reasons})"


def _mention(hit: "Hit") -> str:
    when = f"{hit.source.created_at.astimezone():%Y-%m-%d}"
    return f"{when}  {_line(hit.passage)}  ({_('session {id}', id=hit.source.session)})"


def _line(text: str) -> str:
    line = clean_line(text)
    return line if len(line) <= _SHORT else line[:_SHORT].rpartition(" ")[0] + " …"
