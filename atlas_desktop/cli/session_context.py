"""What `atlas sessions` can show and do about a session's context."""

import argparse
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from atlas_desktop.cli import output
from atlas_desktop.cli.context import Context
from atlas_desktop.errors import Exit, UsageError

if TYPE_CHECKING:
    from memory.context.entities import Summary
    from memory.context.epochs import Compaction
    from memory.entities import Message
    from memory.summaries.active_summaries import TieredHistory

Add = Callable[..., argparse.ArgumentParser]


def register(add: Add) -> None:
    """Adds the subcommands; `add(name, handler, text)` makes the parser of one."""
    context = add("context", show_context, "what the model is given of a session, by tier")
    context.add_argument("session", metavar="ID")
    context.add_argument("--prompt", action="store_true", help="print the exact next prompt too")
    add("history", show_history, "a session by tier: verbatim, summaries, archived").add_argument(
        "session", metavar="ID"
    )
    add("summarise", summarise, "summarise all but the newest messages now").add_argument(
        "session", metavar="ID"
    )
    summary = add("summary", summary_command, "print a summary, or put your own text in its place")
    summary.add_argument("summary", metavar="SUMMARY")
    summary.add_argument("--set", metavar="TEXT", dest="text", help="your own text")
    important = add("important", mark_important, "keep a session, or one message, in sight longest")
    important.add_argument("session", metavar="ID")
    important.add_argument("--message", metavar="ID|last", help="one message instead of the session")
    important.add_argument("--off", "--not", dest="off", action="store_true", help="take the mark away")


async def show_context(ctx: Context, args: argparse.Namespace) -> int:
    from atlas_desktop.services.context import meter, next_prompt

    room = await ctx.unlock_for(args.session)
    session = (await room.sessions.view(args.session)).session
    view = await room.chat.context.view(session.id, reply=ctx.desk.turn_options().params.max_tokens)
    if view is None:
        raise UsageError("Nothing has been said in that session yet.", "Say something first.")
    found = view
    ctx.emit(
        output.context(found),
        lambda: "\n\n".join([meter(found), *([next_prompt(found)] if args.prompt else [])]),
    )
    return Exit.DONE


async def show_history(ctx: Context, args: argparse.Namespace) -> int:
    room = await ctx.unlock_for(args.session)
    settings = ctx.desk.settings.context
    found = await room.sessions.history(
        args.session,
        recent_messages_min=settings.recent_messages_min,
        most_archived=settings.max_archived_in_view,
    )
    ctx.emit(
        {
            "active": [output.message(m) for m in found.active],
            "summaries": [output.summary(s) for s in found.summaries],
            "archived": [output.message(m) for m in found.archived],
            "archived_total": found.archived_total,
        },
        lambda: history_text(found),
    )
    return Exit.DONE


def history_text(found: "TieredHistory") -> str:
    """What summaries stand for, the summaries, and what is verbatim; each message as one line."""

    def lines(messages: "Sequence[Message]") -> list[str]:
        return [f"  {m.speaker or m.role}: {' '.join(m.content.split())[:100]}" for m in messages]

    return "\n".join(
        [
            f"Archived: the newest {len(found.archived)} of {found.archived_total}",
            *lines(found.archived),
            f"Summaries: {len(found.summaries)}",
            *(f"  {' '.join(s.text.split())}" for s in found.summaries),
            f"Word for word: {len(found.active)}",
            *lines(found.active),
        ]
    )


async def summarise(ctx: Context, args: argparse.Namespace) -> int:
    room = await ctx.unlock_for(args.session)
    session = (await room.sessions.view(args.session)).session
    made = await room.epochs.summarise_now(session.id)
    ctx.emit(compaction_shape(made), compaction_text(made))
    return Exit.DONE


def compaction_shape(made: "Compaction | None") -> dict[str, object]:
    if made is None:
        return {"compacted": False}
    return {
        "compacted": True,
        "session": made.session_id,
        "before": made.before,
        "after": made.after,
        "context": output.tiers(made.epoch.parts),
    }


def compaction_text(made: "Compaction | None") -> str:
    if made is None:
        return "Nothing has been said in that session yet."
    return f"Older turns are summarised: {made.before:,} → {made.after:,} tokens."


async def summary_command(ctx: Context, args: argparse.Namespace) -> int:
    room = await ctx.unlock()
    if args.text is None:
        found = await room.sessions.summary(args.summary)
    else:
        try:
            found = await room.sessions.edit_summary(args.summary, args.text)
        except ValueError:
            raise UsageError("The text is empty.", "Give at least one visible character.") from None
    ctx.emit(output.summary(found), lambda: summary_text(found))
    return Exit.DONE


def summary_text(value: "Summary") -> str:
    """A summary with what it is: `3f2a…  10 messages, without a model:` and its text."""
    marks = [f"{len(value.covers)} messages", f"level {value.level}", str(value.state)]
    if value.fallback:
        marks.append("made without a model")
    if value.edited:
        marks.append("your own words")
    return f"{value.id}  {', '.join(marks)}\n{value.text}"


async def mark_important(ctx: Context, args: argparse.Namespace) -> int:
    room = await ctx.unlock_for(args.session)
    session = await room.sessions.mark_important(args.session, args.message, important=not args.off)
    if session.important:
        await room.learning.important(session.id)
    what = "The message" if args.message else f"“{session.title}”"
    text = f"{what} is no longer marked as important." if args.off else f"{what} is marked as important."
    ctx.emit(output.session(session), text)
    return Exit.DONE
