"""The JSON shapes of the command line. Scripts rely on these names: only add new ones."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import takewhile
from math import ceil
from typing import TYPE_CHECKING, Any

from atlas_desktop.error_table import document_error
from atlas_desktop.locale import N_, _, ngettext
from atlas_desktop.phrases import copies, part_text
from atlas_desktop.services.cleaning import clean_line
from atlas_desktop.services.events import Accepted, Delta, Notice, Replied, TurnEvent
from atlas_desktop.shapes import at as at
from atlas_desktop.shapes import citation as citation
from atlas_desktop.shapes import document_hit as document_hit
from atlas_desktop.shapes import recalled as recalled
from memory.clients import Scope
from memory.entities import Affected, RoomKind, StoredReceipt, counts, places

if TYPE_CHECKING:
    from atlas_desktop.services.background import DutyState
    from atlas_desktop.services.engines import Engine
    from atlas_desktop.services.forgetting import Receipt
    from atlas_desktop.services.memories import MemoryDetails, MemoryView, SourceView
    from memory.attachments import Attachment
    from memory.clients import AccessEntry, Client
    from memory.context.entities import Summary, TierUse
    from memory.context.epochs import ContextView
    from memory.context.library import DocumentUse
    from memory.documents.entities import Chunk, Document, ErasedDocuments
    from memory.entities import Message, SearchHit, Session
    from memory.jobs.queue import Job
    from memory.jobs.runner import RunReport
    from memory.memories.entities import Memory, MemoryChange, MemoryUse, MemoryVersion
    from memory.notes.entities import Backlink, Note, NoteLink
    from memory.skills.entities import Skill, SkillVersion, UsedSkill
    from memory.sync.entities import SyncReport, SyncStatus
    from models.engines.spec import EngineReport


SHORTEST_ID = 13
"""Characters of an ID in a list: a moment in milliseconds. What was stored together shares them."""


def short_ids(ids: Sequence[str]) -> dict[str, str]:
    """Returns for each ID its beginning, as long as none of the others begins in the same way."""
    found: dict[str, str] = {}
    ordered = sorted(ids)
    for place, one in enumerate(ordered):
        neighbours = (*ordered[max(0, place - 1) : place], *ordered[place + 1 : place + 2])
        shared = max((_shared(one, other) for other in neighbours), default=0)
        found[one] = one[: max(SHORTEST_ID, shared + 1)]
    return found


def _shared(one: str, other: str) -> int:
    """Returns with how many of the same characters both begin."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def tiers(value: "Sequence[TierUse]") -> list[dict[str, Any]]:
    return [{"tier": t.tier, "tokens": t.tokens, "ids": list(t.ids)} for t in value]


def document(value: "DocumentUse") -> dict[str, Any]:
    """How much of an attachment the prompt contained; `passages` and `of` are 0 for the whole document."""
    return {
        "id": value.id,
        "name": value.name,
        "reading": value.reading,
        "tokens": value.tokens,
        "passages": value.passages,
        "of": value.of,
    }


def library_document(value: "Document", room: str) -> dict[str, Any]:
    """A document of the library, without its text."""
    error = None if value.error is None else document_error(value).as_json()["error"]
    made = value.summary
    return {
        "id": value.id,
        "title": value.title,
        "author": value.author,
        "created": value.created,
        "path": value.path,
        "media_type": value.media_type,
        "bytes": value.size,
        "pages": value.pages,
        "project": value.project,
        "room": room,
        "folder": value.folder,
        "state": value.state,
        "error": error,
        "sha256": value.sha256,
        "parser": value.parser,
        "copied": value.copied,
        "chunks": value.chunks,
        "added_at": at(value.added_at),
        "modified_at": at(value.modified_at),
        "indexed_at": at(value.indexed_at),
        "summary": None
        if made is None
        else {"text": made.text, "fallback": made.fallback, "model": made.model},
        "sessions": list(value.sessions),
    }


def chunk(value: "Chunk") -> dict[str, Any]:
    return {
        "id": value.id,
        "number": value.number,
        "page": value.page,
        "lines": None if value.page is not None else list(value.lines),
        "chars": [value.begin, value.end],
        "heading": list(value.heading),
        "text": value.text,
    }


def note(value: "Note", room: str) -> dict[str, Any]:
    """A note with its text, links and backlinks."""
    return {
        "id": value.id,
        "external_id": value.external_id or None,
        "title": value.title,
        "aliases": list(value.aliases),
        "text": value.text,
        "project": value.project,
        "room": room,
        "tags": list(value.tags),
        "version": value.version,
        "created_at": at(value.created_at),
        "updated_at": at(value.updated_at),
        "deleted_at": at(value.deleted_at),
        "links": [note_link(one) for one in value.links],
        "backlinks": [backlink(one) for one in value.backlinks],
    }


def note_link(value: "NoteLink") -> dict[str, Any]:
    return {
        "to": value.to,
        "kind": value.kind,
        "text": value.text,
        "title": value.title,
        "at": [value.begin, value.end],
    }


def backlink(value: "Backlink") -> dict[str, Any]:
    return {"from": value.note, "kind": "note", "title": value.title, "snippet": value.snippet}


def erased_notes(*values: "ErasedDocuments") -> dict[str, Any]:
    """The receipt of permanently deleted notes."""
    found = erased_documents(*values)
    counts = found["forgotten"]
    return {**found, "forgotten": {"notes": counts.pop("documents"), **counts}}


def moved(titles: Sequence[str], room: RoomKind) -> list[str]:
    """The room that each document or note is in now, one line each."""
    if room is RoomKind.PRIVATE:
        return [
            _("“{title}” is now in the private room. It is shown only with --private.", title=title)
            for title in titles
        ]
    return [_("“{title}” is now in the open room.", title=title) for title in titles]


def erased_documents(*values: "ErasedDocuments") -> dict[str, Any]:
    """The receipt of removed documents."""
    names = ("documents", "chunks", "vectors", "summaries", "citations", "jobs")
    return {
        "forgotten": {name: sum(getattr(value, name) for value in values) for name in names},
        "verified": all(value.verified for value in values),
    }


def summary(value: "Summary") -> dict[str, Any]:
    return {
        "id": value.id,
        "text": value.text,
        "covers": list(value.covers),
        "level": value.level,
        "state": value.state,
        "topics": list(value.topics),
        "fallback": value.fallback,
        "edited": value.edited,
        "model": value.model,
        "merged_into": value.merged_into,
        "created_at": value.created_at.isoformat(),
        "updated_at": value.updated_at.isoformat(),
    }


def context(value: "ContextView") -> dict[str, Any]:
    """The context that a session's next prompt starts with."""
    budget = value.budget
    return {
        "session": value.session.id,
        "model": value.info.id,
        "append_only": value.info.prefix_stable,
        "tokens": value.tokens,
        "budget": {
            "limit": budget.limit,
            "reply": budget.reply,
            "working": budget.working,
            "target": budget.target,
            "recall": budget.recall,
        },
        "context": tiers(value.tiers),
        "prompt": [{"role": m.role, "content": m.content} for m in value.messages],
    }


def session(value: "Session") -> dict[str, Any]:
    """A session without its messages."""
    return {
        "id": value.id,
        "title": value.title,
        "title_source": value.title_source,
        "project": value.project,
        "room": value.room,
        "memory_mode": value.memory_mode,
        "starred": value.starred,
        "important": value.important,
        "tags": list(value.tags),
        "category": value.category or None,
        "category_source": value.category_source,
        "pinned": value.pinned_at is not None,
        "archived": value.archived_at is not None,
        "created_at": value.created_at.isoformat(),
        "updated_at": value.updated_at.isoformat(),
        "archived_at": value.archived_at.isoformat() if value.archived_at else None,
        "deleted_at": value.deleted_at.isoformat() if value.deleted_at else None,
        "message_count": value.message_count,
    }


def message(value: "Message") -> dict[str, Any]:
    return {
        "id": value.id,
        "external_id": value.external_id,
        "role": value.role,
        "speaker": value.speaker,
        "content": value.content,
        "created_at": value.created_at.isoformat(),
        "status": value.status,
        "stop_reason": value.stop_reason,
        "important": value.important,
        "model": value.model,
        "parent": value.parent_id,
    }


def attachment(value: "Attachment") -> dict[str, Any]:
    """A file attached to a session, without its text; `characters` is the length of the text."""
    return {
        "id": value.id,
        "name": value.name,
        "media_type": value.media_type,
        "bytes": value.size,
        "characters": len(value.text),
        "added_at": value.added_at.isoformat(),
    }


def of_words(score: float, *, importance: float = 0.0) -> dict[str, float]:
    """The score parts of a hit found by words only; the other parts are 0."""
    nothing = dict.fromkeys(("semantic", "neighbour", "recency"), 0.0)
    return {"lexical": round(score, 6), **nothing, "importance": importance}


def hit(value: "SearchHit") -> dict[str, Any]:
    found = value.message
    return {
        "id": found.id,
        "kind": "message",
        "text": found.content,
        "snippet": value.snippet,
        "score": round(value.score, 6),
        "parts": of_words(value.score, importance=float(found.important)),
        "source": {
            "session": found.session_id,
            "session_title": value.session_title,
            "message": found.id,
            "external_id": found.external_id,
            "document": None,
            "created_at": found.created_at.isoformat(),
            "speaker": found.speaker,
        },
    }


def job(value: "Job") -> dict[str, Any]:
    """A job of the background queue; `error` is an error type with its numbers."""
    return {
        "id": value.id,
        "kind": value.kind,
        "session": value.session_id,
        "state": value.state,
        "attempts": value.attempts,
        "not_before": value.not_before.isoformat(),
        "error": value.error,
        "created_at": value.created_at.isoformat(),
    }


def duty(value: "DutyState") -> dict[str, Any]:
    return {
        "name": value.duty.name,
        "every_hours": round(value.duty.every.total_seconds() / 3600, 3),
        "done_at": value.done_at.isoformat() if value.done_at else None,
        "due": value.due,
    }


def run(value: "RunReport") -> dict[str, Any]:
    """The result of `jobs run`; `held` is the reason it stopped early, if it did."""
    return {"done": value.done, "failed": value.failed, "remaining": value.remaining, "held": value.held}


def receipt(value: "Receipt") -> dict[str, Any]:
    """What was permanently erased, by kind."""
    return {
        "forgotten": counts(value.erased, value.snapshots),
        "rewritten": {"summaries": value.rewritten},
        "cleared": places(value.erased),
        "copies": copies(value.erased),
        "verified": value.verified,
    }


def reply(event: Replied) -> dict[str, Any]:
    """The end of a turn; `recalled` lists the memories in the prompt."""
    timings = event.completion.timings
    return {
        "type": "reply",
        "session": event.session.id,
        "message": event.message.id,
        "text": event.message.content,
        "stop_reason": event.completion.stop_reason,
        "model": event.message.model,
        "memory_mode": event.session.memory_mode,
        "timings": {
            "first_token_ms": round(timings.first_token_ms, 3),
            "prepare_ms": round(event.prepare_ms, 3),
            "total_ms": round(timings.total_ms, 3),
            "prompt_tokens": timings.prompt_tokens,
            "cached_tokens": timings.cached_tokens,
            "evaluated_tokens": timings.evaluated_tokens,
            "completion_tokens": timings.completion_tokens,
            "tokens_per_second": round(timings.tokens_per_second, 2),
            "drafted_tokens": timings.drafted_tokens,
            "accepted_tokens": timings.accepted_tokens,
        },
        "context": tiers(event.context),
        "recalled": [recalled(hit) for hit in event.recalled],
        "documents": [document(use) for use in event.documents],
        **cited(event),
        **({"skills": [used_skill(one) for one in event.skills]} if event.skills else {}),
    }


def used_skill(value: "UsedSkill") -> dict[str, Any]:
    """A skill that a reply used."""
    return {"id": value.skill, "name": value.name, "version": value.version}


def skill(value: "Skill", room: str) -> dict[str, Any]:
    """A skill; `pending` is the version that waits for approval; with `retire`, Atlas suggests retiring
    it."""
    return {
        "id": value.id,
        "name": value.name,
        "description": value.description,
        "body": value.body,
        "version": value.version,
        "state": value.state,
        "author": value.author,
        "approved_at": at(value.approved_at),
        "sources": [one.id for one in value.sources],
        "uses": value.uses,
        "helped": value.helped,
        "harmed": value.harmed,
        "pending": value.pending,
        "retire": value.should_retire,
        "room": room,
        "created_at": at(value.created_at),
        "updated_at": at(value.updated_at),
    }


def skill_version(value: "SkillVersion", of: "Skill") -> dict[str, Any]:
    """One version of a skill; `current` is the one in use."""
    return {
        "version": value.version,
        "current": value.version == of.version,
        "description": value.text.description,
        "body": value.text.body,
        "author": value.author,
        "written_at": at(value.written_at),
        "approved_at": at(value.approved_at),
        "sources": [one.id for one in value.sources],
    }


def cited(event: Replied) -> dict[str, Any]:
    """The citations of a reply; empty if its session is not about documents."""
    if event.cited is None:
        return {}
    return {
        "citations": [citation(one) for one in event.cited.citations],
        "unsupported": [list(one) for one in event.cited.unsupported],
    }


def event(value: TurnEvent) -> dict[str, Any]:
    """One event of a turn, as `chat --jsonl` prints it."""
    match value:
        case Accepted():
            return {
                "type": "accepted",
                "session": value.session.id,
                "message": value.message.id,
                "reply": value.reply.id,
            }
        case Delta():
            return {"type": "delta", "text": value.text}
        case Notice():
            return {"type": "notice", "code": value.code, "text": value.text}
        case Replied():
            return reply(value)


KINDS = ("fact", "preference", "decision", "event", "procedure", "code", "question", "digest")
STATES = ("inbox", "kept", "rejected", "superseded", "archived")
TIERS = ("working", "short_term", "episodic", "long_term", "procedural")

# The words of the options --kind, --state and --tier; the interface has longer ones.
KIND_WORDS = {
    "fact": N_("fact"),
    "preference": N_("preference"),
    "decision": N_("decision"),
    "event": N_("event"),
    "procedure": N_("procedure"),
    "code": N_("code"),
    "question": N_("question"),
    "digest": N_("digest"),
}
STATE_WORDS = {
    "inbox": N_("inbox"),
    "kept": N_("kept"),
    "rejected": N_("rejected"),
    "superseded": N_("superseded"),
    "archived": N_("archived"),
}
TIER_WORDS = {
    "working": N_("working"),
    "short_term": N_("short-term"),
    "episodic": N_("episodic"),
    "long_term": N_("long-term"),
    "procedural": N_("procedural"),
}
ORIGIN_WORDS = {
    "person": N_("added by you"),
    "pattern": N_("found by a pattern"),
    "model": N_("found by a model"),
    "consolidation": N_("merged from other memories"),
}
ACTION_WORDS = {
    "accept": N_("accept"),
    "add": N_("add"),
    "archive": N_("archive"),
    "consolidate": N_("consolidate"),
    "digest": N_("digest"),
    "edit": N_("edit"),
    "learn": N_("learn"),
    "pin": N_("pin"),
    "project_ended": N_("project ended"),
    "project_reopened": N_("project reopened"),
    "prolong": N_("prolong"),
    "promote": N_("promote"),
    "reject": N_("reject"),
    "rescue": N_("rescue"),
    "unpin": N_("unpin"),
}
NOTE_WORDS = {
    "memory": N_("memory"),
    "message": N_("message"),
    "summary": N_("summary"),
    "chunk": N_("chunk"),
}
ROLE_WORDS = {"system": N_("system"), "user": N_("user"), "assistant": N_("assistant")}

WHY = {
    "expired": _("it has expired"),
    "faded": _("it has faded"),
    "fading": _("it is fading"),
    "faint": _("its weight is very low, but it stays"),
    "expires_soon": _("it expires soon"),
    "old_archive": _("it was archived long ago"),
    "comes_up": _("its topic comes up often"),
}


def memory(view: "MemoryView") -> dict[str, Any]:
    """`weight` follows the documented formula; `half_life_days` is the half-life of the tier without use."""
    one = view.memory
    return {
        "id": one.id,
        "kind": one.kind,
        "text": one.text,
        "subject": one.subject,
        "state": one.state,
        "tier": one.tier,
        "origin": one.origin,
        "confidence": round(one.confidence, 4),
        "importance": round(one.importance, 4),
        "pinned": one.pinned,
        "version": one.version,
        "uses": one.uses,
        "used_at": at(one.used_at),
        "half_life_days": round(view.half_life_days, 3),
        "weight": round(view.weight, 6),
        "valid_from": at(one.valid_from),
        "valid_until": at(one.valid_until),
        "expires_at": at(one.expires_at),
        "created_at": at(one.created_at),
        "updated_at": at(one.updated_at),
        "project": one.project,
        "model": one.model,
        "proposed_by": one.proposed_by,
        "sources": [source(each) for each in view.sources],
        "superseded_by": one.superseded_by,
    }


def source(value: "SourceView") -> dict[str, Any]:
    message = value.message
    if not value.source.session_id:
        return {"note": value.source.message_id, "title": value.note, "quote": value.source.quote}
    return {
        "session": value.source.session_id,
        "message": value.source.message_id,
        "external_id": None if message is None else message.external_id,
        "quote": value.source.quote,
        "created_at": None if message is None else at(message.created_at),
    }


def details(value: "MemoryDetails") -> dict[str, Any]:
    return {
        **memory(value.view),
        "versions": [version(each) for each in value.versions],
        "used_in": [use(each) for each in value.uses],
        "parts": [{"id": each.id, "text": each.text, "state": each.state} for each in value.parts],
        "changes": [change(each) for each in value.changes],
    }


def version(value: "MemoryVersion") -> dict[str, Any]:
    return {
        "version": value.version,
        "subject": value.subject,
        "text": value.text,
        "created_at": at(value.created_at),
    }


def use(value: "MemoryUse") -> dict[str, Any]:
    return {
        "reply": value.reply_id,
        "session": value.session_id,
        "how": value.how,
        "used_at": at(value.used_at),
    }


def change(value: "MemoryChange") -> dict[str, Any]:
    return {
        "id": value.id,
        "action": value.action,
        "automatic": value.automatic,
        "memories": list(value.memory_ids),
        "created_at": at(value.created_at),
        "undone_at": at(value.undone_at),
    }


# --- for people ------------------------------------------------------------------------------------


def word(table: Mapping[str, str], name: str) -> str:
    """The table's name for this in the user's language, or the plain name if the table does not have it."""
    return _(table[name]) if name in table else name.replace("_", " ")


def who(message: "Message") -> str:
    """The name of the speaker, or the role."""
    return message.speaker or word(ROLE_WORDS, message.role)


def reasons(parts: Mapping[str, float], least: float) -> str:
    """The parts of a score that are at least `least`."""
    return ", ".join(f"{part_text(name)} {part:.2f}" for name, part in parts.items() if part >= least)


def line(one: "Memory", *, private: bool = False) -> str:
    marks = [_("private")] if private else []
    marks += [word(STATE_WORDS, one.state)] if one.state != "kept" else []
    marks += [_("pinned")] if one.pinned else []
    told = f" ({', '.join(marks)})" if marks else ""
    return f"{one.id}  {word(KIND_WORDS, one.kind)}{told}\n    {clean_line(one.text)}"


def described(value: "MemoryDetails") -> str:
    return "\n    ".join([line(value.view.memory), *_facts(value)])


def _facts(value: "MemoryDetails") -> list[str]:
    one, view = value.view.memory, value.view
    about = (word(TIER_WORDS, one.tier), word(STATE_WORDS, one.state), word(ORIGIN_WORDS, one.origin))
    told = [
        _(
            "{about}; importance {importance:.2f}, confidence {confidence:.2f}",
            about=", ".join(about),
            importance=one.importance,
            confidence=one.confidence,
        ),
        "; ".join(
            [
                ngettext("used once", "used {count} times", one.uses),
                ngettext(
                    "half-life {days:.3g} day",
                    "half-life {days:.3g} days",
                    ceil(view.half_life_days),
                    days=view.half_life_days,
                ),
                _("weight {weight:.3f}", weight=view.weight),
            ]
        ),
        _(
            "learned {learned}, changed {changed}",
            learned=local(one.created_at),
            changed=local(one.updated_at),
        ),
    ]
    told += [_("about {subject}", subject=clean_line(one.subject))] if one.subject else []
    told += [_("project {project}", project=clean_line(one.project))] if one.project else []
    told += [_("expires {when}", when=local(one.expires_at))] if one.expires_at else []
    for each in view.sources:
        when = f" ({local(each.message.created_at)})" if each.message else ""
        when = f" ({_('note “{title}”', title=clean_line(each.note))})" if each.note else when
        told.append(_("quote: “{quote}”", quote=clean_line(each.source.quote)) + when)
    told += [
        _("before: {text} (version {version})", text=clean_line(each.text), version=each.version)
        for each in value.versions
    ]
    return told + [_("merged from: {text}", text=clean_line(each.text)) for each in value.parts]


def local(moment: datetime) -> str:
    return f"{moment.astimezone():%Y-%m-%d %H:%M}"


def stored_receipt(receipt: "StoredReceipt", room: RoomKind) -> dict[str, Any]:
    """A stored receipt: counts, but none of the forgotten content."""
    return {
        "id": receipt.id,
        "forgotten_at": receipt.forgotten_at,
        "room": room,
        "chosen_by": receipt.what.chosen_by,
        "forgotten": dict(receipt.what.counts),
        "rewritten": {"summaries": receipt.what.rewritten},
        "cleared": dict(receipt.what.cleared),
        "verified": receipt.what.verified,
    }


def forget_preview(affected: "Affected") -> dict[str, Any]:
    """What would be erased: counts as in the receipt, and the first items of each kind."""
    return {
        "dry_run": True,
        "forgotten": counts(affected.erased),
        "rewritten": {"summaries": len(affected.erased.stale)},
        "cleared": places(affected.erased),
        "copies": copies(affected.erased),
        "sessions": [{"id": one.id, "title": one.text} for one in affected.sessions],
        "messages": [{"id": one.id, "text": one.text} for one in affected.messages],
        "memories": [{"id": one.id, "text": one.text} for one in affected.memories],
        "documents": [{"id": one.id, "title": one.text} for one in affected.documents],
        "notes": [{"id": one.id, "title": one.text} for one in affected.notes],
    }


def client(value: "Client") -> dict[str, Any]:
    """A program that may send requests to Atlas, without its token."""
    return {
        "id": value.id,
        "name": value.name,
        "scopes": [scope.value for scope in Scope if scope in value.scopes],
        "project": value.project,
        "rate": value.rate,
        "created_at": at(value.created_at),
        "used_at": at(value.used_at),
        "revoked_at": at(value.revoked_at),
    }


def engine(value: "Engine", chosen: Mapping[str, str]) -> dict[str, Any]:
    """Another model server, without its key. `chosen` maps roles to the engines' models that serve them."""
    return {
        "name": value.name,
        "url": value.url,
        "local": value.local,
        "allowed": value.allowed,
        "key": value.key_in or None,
        "used_for": [role for role, ref in chosen.items() if ref.partition(":")[0] == value.name],
    }


def engine_report(value: "Engine", report: "EngineReport") -> dict[str, Any]:
    """What another model server can do; `context` is null if it does not report it."""
    return {
        "name": value.name,
        "url": value.url,
        "local": value.local,
        "server": report.family.value or None,
        "models": list(report.models),
        "supports": {
            "stream": report.stream,
            "json_schema": report.json_schema,
            "embeddings": report.embeddings,
            "context": report.context or None,
            "exact_tokens": report.exact_tokens,
        },
    }


def access(value: "AccessEntry") -> dict[str, Any]:
    """The requests of a program within one minute: kinds and numbers."""
    return {
        "client": value.client,
        "at": at(value.at),
        "kind": value.kind,
        "outcome": value.outcome,
        "requests": value.requests,
        "items": value.items,
        "tokens": value.tokens,
    }


def sync_report(value: "SyncReport") -> dict[str, Any]:
    from atlas_desktop.phrases import why_text

    return {
        "sent": {"changes": value.sent_changes, "bytes": value.sent_bytes},
        "received": {"changes": value.received_changes, "bytes": value.received_bytes},
        "forgotten": value.forgotten,
        "problems": [
            {"file": one.file, "code": one.why.value, "why": why_text(one)} for one in value.problems
        ],
    }


def sync_status(value: "SyncStatus") -> dict[str, Any]:
    return {
        "folder": value.folder,
        "device": value.device.id,
        "devices": sync_devices(value),
        "pending_out": value.pending_out,
        "waiting": value.waiting,
        "last_sync": at(value.last_sync),
        "paused": value.paused,
        "removed": value.removed,
        "invited_until": at(value.invited_until),
    }


def sync_devices(value: "SyncStatus") -> list[dict[str, Any]]:
    return [
        {
            "id": one.id,
            "name": one.name,
            "last_seen": at(value.last_sync if one is value.device else one.seen_at),
            "own": one is value.device,
            "removed": one.removed_at is not None,
            "not_forgotten": value.not_forgotten.get(one.id, 0),
        }
        for one in (value.device, *value.devices)
    ]


def sync_code(code: str) -> str:
    return "\n".join(
        (
            _("Code for other devices, valid for an hour or until you ask for another:"),
            "",
            f"    {code}",
            "",
            _("There: `atlas sync join FOLDER`, or `/sync`, then j. Code and folder let anyone join."),
        )
    )
