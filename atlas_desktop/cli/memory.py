"""`atlas memory`: the commands for memories, and recall of earlier messages."""

import argparse
import gc
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from atlas_desktop.cli import memory_change, memory_view, provenance
from atlas_desktop.cli.context import Context, dumps, unchanged, whole
from atlas_desktop.errors import Exit, UsageError
from atlas_desktop.locale import _

if TYPE_CHECKING:
    from atlas_desktop.services.room import RoomServices
    from memory.recall.entities import Hit, Recalled


class Question(msgspec.Struct, frozen=True):
    """What to look for, and where. `kinds` is a comma-separated list."""

    query: str
    k: int
    kinds: str
    project: str | None
    session: str | None


class _Line(msgspec.Struct, frozen=True):
    query: Annotated[str, msgspec.Meta(min_length=1)]
    k: int | None = None
    kinds: str | None = None
    project: str | None = None
    session: str | None = None


def read_question(line: str, usual: Question, number: int) -> Question:
    """Reads one line; missing fields come from `usual`. Raises `UsageError`, which names the line."""
    text = line.strip()
    if not text.startswith("{"):
        return msgspec.structs.replace(usual, query=text)
    try:
        given = msgspec.json.decode(text, type=_Line)
    except (msgspec.DecodeError, UnicodeError):
        raise UsageError(
            _("Line {number} is not a valid query.", number=number),
            _('Give plain text, or {"query": …, "project": …, "k": …}.'),
        ) from None
    return Question(
        given.query,
        usual.k if given.k is None else given.k,
        usual.kinds if given.kinds is None else given.kinds,
        usual.project if given.project is None else given.project,
        usual.session if given.session is None else given.session,
    )


_MOST = 1000


def register(subparsers: Any, common: argparse.ArgumentParser) -> None:
    group = subparsers.add_parser("memory", parents=[common], help=_("manage memories"))
    commands = group.add_subparsers(dest="memory_command", required=True, metavar="COMMAND")

    def add(name: str, handler: Any, text: str) -> argparse.ArgumentParser:
        parser: argparse.ArgumentParser = commands.add_parser(
            name, parents=[common], help=text, description=f"{text[0].upper()}{text[1:]}."
        )
        parser.set_defaults(handler=handler, exclusive=True)
        return parser

    recall = add(
        "recall", recall_hits, _("find messages by words, meaning and time, and show why they match")
    )
    recall.add_argument("query", metavar="QUERY", nargs="?", help=_("what to look for"))
    recall.add_argument(
        "-k", dest="k", metavar="N", type=int, default=10, help=_("at most N hits (default: 10)")
    )
    recall.add_argument(
        "--kinds", metavar="KIND,…", default="message", help=_("kinds of hits (default: message)")
    )
    recall.add_argument("--project", metavar="P", help=_("only in this project"))
    recall.add_argument("--session", metavar="ID", help=_("only in this session"))
    recall.add_argument("--stdin", action="store_true", help=_("read one query per line from standard input"))
    recall.set_defaults(hand_over=unchanged)
    recall.add_argument("--jsonl", action="store_true", help=_("print one object per line"))
    memory_view.register(add)
    memory_change.register(add)
    memory_change.add_upkeep(add)
    memory_view.add_search(add)
    memory_change.add_forget(add)
    memory_change.add_receipts(add)
    provenance.register(add)
    provenance.register_memory(add)


async def recall_hits(ctx: Context, args: argparse.Namespace) -> int:
    from atlas_desktop.cli import output

    if args.stdin == (args.query is not None):
        raise UsageError(_("It is not clear what to look for."), _("Give either a QUERY or --stdin."))
    _check(args.k, args.kinds)
    room = await ctx.unlock()
    ctx.tell_damage(room)
    await room.recall.load()
    if args.stdin:
        await room.recall.warm_questions()
        await room.recall.warm_wordings()
        if not ctx.shared:
            # The loaded room data stays, so the garbage collector need not scan it between queries.
            gc.freeze()
    spelt: dict[str, str] = {}
    async for question in _questions(ctx, args):
        found = await _ask(room, question, spelt)
        answer = {
            "query": question.query,
            "took_ms": round(found.took_ms, 3),
            "hits": [output.recalled(hit) for hit in found.hits],
        }
        if args.jsonl or args.stdin:
            ctx.write(dumps(answer))
        else:
            ctx.emit(answer, "\n".join(map(_described, found.hits)) or _("No matches."))
    return Exit.DONE


async def _questions(ctx: Context, args: argparse.Namespace) -> "AsyncIterator[Question]":

    usual = Question(args.query or "", args.k, args.kinds, args.project, args.session)
    if not args.stdin:
        yield usual
        return
    number = 0
    async for line in ctx.lines():
        number += 1
        if line.strip():
            question = read_question(whole(line, line=number), usual, number)
            _check(question.k, question.kinds)
            yield question


def _check(k: int, kinds: str) -> None:
    if not 1 <= k <= _MOST:
        raise UsageError(
            _("The number of hits is out of range."), _("Give a number from 1 to {most}.", most=_MOST)
        )
    unknown = set(kinds.split(",")) - {"message", "memory", "summary", "chunk"}
    if unknown:
        raise UsageError(_("Unknown kind of hit."), _("The kinds are message, memory, summary and chunk."))


async def _ask(room: "RoomServices", question: "Question", spelt: dict[str, str]) -> "Recalled":
    """`spelt` caches the stored spelling of the project names in the queries."""
    from memory.recall.entities import RecallQuery

    session = None
    if question.session is not None:
        session = (await room.store.get_session(question.session)).id
    project = question.project
    if project is not None:
        if project not in spelt:
            spelt[project] = await room.projects.spelt(project) or project
        project = spelt[project]
    return await room.recall.answer(
        RecallQuery(
            question.query, k=question.k, kinds=question.kinds.split(","), project=project, session=session
        )
    )


def _described(hit: "Hit") -> str:
    from atlas_desktop.cli.output import reasons

    who = f", {hit.source.speaker}" if hit.source.speaker else ""
    when = f"{hit.source.created_at.astimezone():%Y-%m-%d %H:%M}"
    passage, why = " ".join(hit.passage.split()), reasons(hit.parts, 0.01)
    return f"{hit.score:.2f}  {hit.id}  {when}{who}\n    {passage}\n    ({why})"
