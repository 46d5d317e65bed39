"""`atlas memory search`: what was said and what is remembered, by words alone."""

import argparse
from typing import TYPE_CHECKING, Any

from atlas_desktop.cli import shapes
from atlas_desktop.cli.context import Context
from atlas_desktop.explain import Exit, UsageError
from atlas_desktop.services.cleaning import clean_line

if TYPE_CHECKING:
    from memory.recall.entities import FoundNote

KINDS = ("message", "memory", "summary")


def register(add: Any) -> None:
    search = add("search", search_words, "find messages, memories and summaries by their words alone")
    search.add_argument("query", metavar="WORDS", help='words, "phrases" and beginnings*')
    search.add_argument("--kinds", metavar="KIND,…", default=",".join(KINDS), help="kinds of hits (all)")
    search.add_argument("--limit", metavar="N", type=int, default=20, help="at most N (20)")


async def search_words(ctx: Context, args: argparse.Namespace) -> int:
    kinds = frozenset(args.kinds.split(","))
    if not kinds <= set(KINDS):
        raise UsageError("There is no such kind of hit.", f"Kinds are {', '.join(KINDS)}.")
    room = await ctx.unlock()
    told: list[tuple[dict[str, Any], str]] = []
    if "message" in kinds:
        said = await room.sessions.search(args.query, limit=args.limit)
        best = max((hit.score for hit in said), default=0.0)
        told += [
            (_scaled(shapes.hit(hit), best), f"{hit.message.id}  {hit.session_title}\n    {hit.snippet}")
            for hit in said
        ]
    if notes := kinds - {"message"}:
        found = await room.store.evidence.notes_matching(args.query, kinds=notes, limit=args.limit)
        best = max((one.score for one in found), default=0.0)
        told += [(_scaled(_shape(one), best), _line(one)) for one in found]
    # The scores of messages and of the others are of different collections: each is a share of its best.
    told = sorted(told, key=lambda one: -one[0]["score"])[: max(args.limit, 0)]
    ctx.emit(
        {"hits": [shape for shape, _ in told]},
        lambda: "\n".join(line for _, line in told) or "Nothing was found.",
    )
    return Exit.DONE


def _scaled(shape: dict[str, Any], best: float) -> dict[str, Any]:
    return {**shape, "score": round(shape["parts"]["lexical"] / best, 6) if best > 0 else 1.0}


def _shape(found: "FoundNote") -> dict[str, Any]:
    note = found.note
    return {
        "id": note.id,
        "kind": note.kind,
        "text": note.text,
        "snippet": note.text,
        "parts": shapes.of_words(found.score),
        "source": {
            "session": note.sessions[0] if note.sessions else None,
            "message": note.messages[0] if note.messages else None,
            "external_id": None,
            "document": None,
            "created_at": note.created.isoformat(),
            "speaker": "",
        },
    }


def _line(found: "FoundNote") -> str:
    return f"{found.note.id}  {found.note.kind}\n    {clean_line(found.note.text)}"
