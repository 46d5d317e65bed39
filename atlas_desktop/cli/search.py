"""`atlas sessions list`, `search` and `searches`: find sessions and messages with the query language."""

import argparse
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from atlas_desktop.cli import output
from atlas_desktop.cli.context import Context, unchanged
from atlas_desktop.errors import Exit, UsageError
from atlas_desktop.locale import _, number
from atlas_desktop.services.cleaning import clean_line

if TYPE_CHECKING:
    from atlas_desktop.services.search import Asked, FindingService
    from memory.entities import Session
    from memory.search.entities import MessageHit, Page, SavedSearch, SessionHit, Snippet

_MOST = 10_000_000


def register(add: Callable[[str, Any, str], argparse.ArgumentParser]) -> None:
    """`add` creates the parser of one command."""
    listing = add("list", list_sessions, _("list sessions, latest first"))
    listing.add_argument("--query", metavar="QUERY", help=_("only sessions that match a query, as in search"))
    listing.add_argument("--binned", action="store_true", help=_("sessions in the bin"))
    listing.add_argument("--archived", action="store_true", help=_("archived sessions"))
    listing.add_argument(
        "--containing", metavar="WORDS", default="", help=_("only sessions with these words")
    )
    listing.add_argument("--limit", metavar="N", type=int, help=_("show at most N"))
    search = add("search", search_messages, _("find messages by words, filters and meaning"))
    search.set_defaults(hand_over=unchanged)
    search.add_argument(
        "query", metavar="QUERY", nargs="+", help=_('words, "phrases", -word, tag:x, ~question, @saved')
    )
    search.add_argument("--limit", metavar="N", type=int, default=20, help=_("show at most N (default: 20)"))
    search.add_argument("--recent", action="store_true", help=_("show the latest first instead of the best"))
    searches = add("searches", saved_searches, _("list, save or remove searches"))
    searches.add_argument("action", metavar="add|remove", nargs="?", choices=("add", "remove"))
    searches.add_argument("name", metavar="NAME", nargs="?", help=_("its name; `search @NAME` runs it"))
    searches.add_argument("query", metavar="QUERY", nargs="*", help=_("the query to save"))


# --- list ------------------------------------------------------------------------------------------


async def list_sessions(ctx: Context, args: argparse.Namespace) -> int:
    if args.limit is not None and args.limit < 0:
        raise UsageError(_("The number of sessions is out of range."), _("Use 0 or more."))
    await ctx.unlock()
    if args.query is not None:
        return await _list_by_query(ctx, args)
    wanted = {
        "containing": args.containing,
        "binned": args.binned,
        "archived": args.archived,
        "limit": args.limit,
    }
    found = [s for room in ctx.desk.open_rooms for s in await room.sessions.recent(**wanted)]
    first = not (args.binned or args.archived)
    found.sort(key=lambda s: (first and s.pinned_at is not None, s.updated_at, s.id), reverse=True)
    return _print_sessions(ctx, found[: args.limit])


async def _list_by_query(ctx: Context, args: argparse.Namespace) -> int:
    finding, asked = await _understood(ctx, args.query)
    limit = _MOST if args.limit is None else args.limit
    if args.archived:
        asked = await finding.understand(f"is:archived {asked.text}")
    page: Page[SessionHit] = await finding.sessions(
        asked.query, limit=limit, binned=args.binned, snippets=False, exhaustive=True
    )
    return _print_sessions(ctx, [hit.session for hit in page.hits])


def _print_sessions(ctx: Context, found: "Sequence[Session]") -> int:
    ctx.emit(
        [output.session(s) for s in found],
        lambda: (
            "\n".join(
                f"{s.id}  {s.updated_at.astimezone():%Y-%m-%d %H:%M}  {s.message_count:>4}  {marked(s)}"
                for s in found
            )
            or _("No sessions.")
        ),
    )
    return Exit.DONE


def marked(session: "Session") -> str:
    """The title of a session; `[private]` marks the private room."""
    # Titles stored by older versions may contain line breaks, which would look like several rows.
    title = clean_line(session.title)
    return f"[{_('private')}] {title}" if session.room == "private" else title


# --- search ----------------------------------------------------------------------------------------


async def search_messages(ctx: Context, args: argparse.Namespace) -> int:
    from memory.search.entities import ItemKind, Order
    from memory.search.language import of_kind

    if args.limit < 0:
        raise UsageError(_("The number of results is out of range."), _("Use 0 or more."))
    await ctx.unlock()
    finding, asked = await _understood(ctx, " ".join(map(str.strip, args.query)))
    if asked.query.empty:
        raise UsageError(_("The query is empty."), _("Give words or filters, such as tag:work."))
    if of_kind(asked.query, ItemKind.MESSAGE) is None:
        raise UsageError(
            _("This command finds messages, and the query is about documents only."),
            _("To find passages of documents: `atlas docs search`."),
        )
    order = Order.RECENT if args.recent else Order.BEST
    page = await finding.messages(asked.query, limit=args.limit, order=order)
    ctx.emit(
        {
            "total": page.total,
            "more": page.more,
            "hits": [hit_shape(hit) for hit in page.hits],
        },
        lambda: _told(page),
    )
    return Exit.DONE


async def _understood(ctx: Context, text: str) -> "tuple[FindingService, Asked]":
    from atlas_desktop.services.search import FindingService

    finding = FindingService(ctx.desk)
    asked = await finding.understand(text)
    if asked.query.question:
        ctx.tell_damage(ctx.desk.open_rooms[0])
        for room in ctx.desk.open_rooms:
            await room.recall.load()
    return finding, asked


def hit_shape(value: "MessageHit") -> dict[str, Any]:
    """The JSON shape of a hit; `marks` are the ranges of the snippet that match the query."""
    found = value.message
    return {
        "id": found.id,
        "kind": "message",
        "text": found.content,
        "snippet": value.snippet.text,
        "marks": [list(mark) for mark in value.snippet.marks],
        "score": round(value.score, 6),
        "parts": {name: round(part, 6) for name, part in value.parts},
        "source": {
            "session": value.session.id,
            "session_title": value.session.title,
            "room": value.session.room,
            "message": found.id,
            "external_id": found.external_id,
            "document": None,
            "created_at": found.created_at.isoformat(),
            "speaker": found.speaker,
        },
    }


def _told(page: "Page[MessageHit]") -> str:
    if not page.hits:
        return _("No matches.")
    lines = []
    for hit in page.hits:
        when = f"{hit.message.created_at.astimezone():%Y-%m-%d %H:%M}"
        who = output.who(hit.message)
        lines += [f"{hit.session.id}  {marked(hit.session)}", f"    {when}  {who}: {_shown(hit.snippet)}"]
    if page.total > len(page.hits) or page.more:
        shown, total = number(len(page.hits)), number(page.total)
        lines.append(
            _("{shown} of {total} or more.", shown=shown, total=total)
            if page.more
            else _("{shown} of {total}.", shown=shown, total=total)
        )
    return "\n".join(lines)


def _shown(snippet: "Snippet") -> str:
    """The snippet with matches between asterisks, because output cleaning would remove escape sequences."""
    text, shown, at = snippet.text, [], 0
    for begin, end in snippet.marks:
        shown += [text[at:begin], "*", text[begin:end], "*"]
        at = end
    return "".join([*shown, text[at:]])


# --- searches --------------------------------------------------------------------------------------


async def saved_searches(ctx: Context, args: argparse.Namespace) -> int:
    if (args.action is None) != (args.name is None) or (args.action == "add") != bool(args.query):
        raise UsageError(
            _("Invalid arguments."),
            _("List: `searches`. Save: `searches add NAME QUERY`. Remove: `searches remove NAME`."),
        )
    from atlas_desktop.services.search import FindingService

    room = await ctx.unlock()
    finding = FindingService(ctx.desk)
    if args.action == "add":
        try:
            kept = await finding.save(args.name, " ".join(map(str.strip, args.query)), room)
        except ValueError:
            raise UsageError(_("The name or the query is empty."), _("Give both.")) from None
        ctx.emit(
            saved_shape(kept),
            _("Saved. To run it: `atlas sessions search @{name}`.", name=_quoted(kept.name)),
        )
        return Exit.DONE
    if args.action == "remove":
        await finding.remove(args.name)
        ctx.emit({"removed": args.name}, _("Removed: {name}.", name=args.name))
        return Exit.DONE
    found = await finding.saved()
    ctx.emit(
        [saved_shape(one) for one in found],
        lambda: "\n".join(f"@{_quoted(one.name)}  {one.query}" for one in found) or _("No saved searches."),
    )
    return Exit.DONE


def saved_shape(value: "SavedSearch") -> dict[str, Any]:
    return {
        "id": value.id,
        "name": value.name,
        "query": value.query,
        "created_at": value.created_at.isoformat(),
    }


def _quoted(name: str) -> str:
    return f'"{name}"' if " " in name else name
