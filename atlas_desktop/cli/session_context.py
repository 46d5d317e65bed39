"""Commands of `atlas sessions` that show and change a session's context."""

import argparse
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from atlas_desktop.cli import output
from atlas_desktop.cli.context import Context
from atlas_desktop.errors import Exit, UsageError
from atlas_desktop.locale import N_, _, ngettext, number

if TYPE_CHECKING:
    from memory.context.entities import Summary
    from memory.context.epochs import Compaction
    from memory.entities import Message
    from memory.summaries.active_summaries import TieredHistory

Add = Callable[..., argparse.ArgumentParser]


def register(add: Add) -> None:
    """Adds the subcommands; `add(name, handler, text)` creates a parser."""
    context = add("context", show_context, _("show the context of a session, by tier"))
    context.add_argument("session", metavar="ID")
    context.add_argument("--prompt", action="store_true", help=_("also print the exact next prompt"))
    add("history", show_history, _("show a session by tier: verbatim, summaries, archived")).add_argument(
        "session", metavar="ID"
    )
    add("summarise", summarise, _("summarise all but the latest messages now")).add_argument(
        "session", metavar="ID"
    )
    summary = add("summary", summary_command, _("print a summary or replace it with your own text"))
    summary.add_argument("summary", metavar="SUMMARY")
    summary.add_argument("--set", metavar="TEXT", dest="text", help=_("your own text"))
    important = add(
        "important", mark_important, _("mark a session or message as important (longest in context)")
    )
    important.add_argument("session", metavar="ID")
    important.add_argument("--message", metavar="ID|last", help=_("a message instead of the session"))
    important.add_argument("--off", "--not", dest="off", action="store_true", help=_("remove the mark"))


async def show_context(ctx: Context, args: argparse.Namespace) -> int:
    from atlas_desktop.services.context import meter, next_prompt

    room = await ctx.unlock_for(args.session)
    session = (await room.sessions.view(args.session)).session
    view = await room.chat.context.view(session.id, reply=ctx.desk.turn_options().params.max_tokens)
    if view is None:
        raise UsageError(_("This session has no messages yet."), _("Send a message first."))
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
    """Archived messages, summaries and verbatim messages, one line each."""

    def lines(messages: "Sequence[Message]") -> list[str]:
        return [f"  {output.who(m)}: {' '.join(m.content.split())[:100]}" for m in messages]

    return "\n".join(
        [
            _(
                "Archived: the latest {shown} of {total}",
                shown=number(len(found.archived)),
                total=number(found.archived_total),
            ),
            *lines(found.archived),
            _("Summaries: {count}", count=number(len(found.summaries))),
            *(f"  {' '.join(s.text.split())}" for s in found.summaries),
            _("Verbatim: {count}", count=number(len(found.active))),
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
        return _("This session has no messages yet.")
    return _(
        "Older messages summarised: {before} → {after} tokens.",
        before=number(made.before),
        after=number(made.after),
    )


async def summary_command(ctx: Context, args: argparse.Namespace) -> int:
    room = await ctx.unlock()
    if args.text is None:
        found = await room.sessions.summary(args.summary)
    else:
        try:
            found = await room.sessions.edit_summary(args.summary, args.text)
        except ValueError:
            raise UsageError(_("The text is empty."), _("Give at least one visible character.")) from None
    ctx.emit(output.summary(found), lambda: summary_text(found))
    return Exit.DONE


_STATES = {"current": N_("current"), "merged": N_("merged"), "stale": N_("stale")}


def summary_text(value: "Summary") -> str:
    """A summary: a line such as `3f2a…  10 messages, level 1, active`, then its text."""
    marks = [
        ngettext("1 message", "{count} messages", len(value.covers)),
        _("level {level}", level=value.level),
        output.word(_STATES, value.state),
    ]
    if value.fallback:
        marks.append(_("made without a model"))
    if value.edited:
        marks.append(_("edited by you"))
    return f"{value.id}  {', '.join(marks)}\n{value.text}"


async def mark_important(ctx: Context, args: argparse.Namespace) -> int:
    room = await ctx.unlock_for(args.session)
    session = await room.sessions.mark_important(args.session, args.message, important=not args.off)
    if session.important:
        await room.learning.important(session.id)
    if args.message:
        text = (
            _("The message is no longer marked as important.")
            if args.off
            else _("The message is marked as important.")
        )
    elif args.off:
        text = _("“{title}” is no longer marked as important.", title=session.title)
    else:
        text = _("“{title}” is marked as important.", title=session.title)
    ctx.emit(output.session(session), text)
    return Exit.DONE
