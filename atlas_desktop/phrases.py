"""Texts that the command line and the interface share."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import TYPE_CHECKING

from atlas_desktop.errors import Skipped, room_name, size
from atlas_desktop.importing.entities import ImportReport
from atlas_desktop.importing.formats import FORMATS, MEMORIES, Format
from atlas_desktop.locale import N_, _, formats, ngettext, number, plural, quoted
from atlas_desktop.services.cleaning import clean_line
from memory.clients import AccessEntry, AccessKind, AccessOutcome, Client, Scope
from memory.clock import LocalZone
from memory.entities import ChosenBy, MemoryMode, RoomKind, StoredReceipt, counts, places
from memory.notes.entities import LinkReason, Reason
from memory.tasks.entities import Asked, EventKind, Team
from memory.transfer import Losses
from memory.vault.status import VaultStatus

if TYPE_CHECKING:
    from atlas_desktop.services.documents.scanning import SkipReason
    from atlas_desktop.services.engines import Engine
    from atlas_desktop.services.forgetting import Receipt
    from atlas_desktop.services.memories import ProjectLifetime
    from atlas_desktop.services.projects import ProjectDefaults
    from atlas_desktop.services.retention import HeldBack
    from memory.documents.entities import CitedReply, StoredCitation, StoredPassage
    from memory.entities import Affected, Copy, Erased
    from memory.organising import Project, ProjectContents
    from memory.skills.entities import UsedSkill
    from memory.sync.entities import Device, Problem, SyncReport, SyncStatus
    from memory.tasks.entities import Step, Task, TaskEvent
    from memory.vault.upkeep import BackupMade
    from models.engines.spec import EngineReport


_SCOPE_TEXTS = {
    Scope.CHAT: N_("use your models"),
    Scope.RECALL: N_("read your memories and conversations"),
    Scope.DOCUMENTS: N_("read your documents and notes"),
    Scope.REMEMBER: N_("propose memories"),
}
_KIND_TEXTS = {
    AccessKind.MODELS: N_("list of models"),
    AccessKind.CHAT: N_("replies"),
    AccessKind.EMBEDDINGS: N_("vectors"),
    AccessKind.RECALL: N_("memories"),
    AccessKind.SESSIONS: N_("conversations"),
    AccessKind.DOCUMENTS: N_("documents"),
    AccessKind.NOTES: N_("notes"),
    AccessKind.TEMPLATES: N_("templates"),
    AccessKind.REMEMBER: N_("proposed memories"),
}
_OUTCOME_TEXTS = {
    AccessOutcome.DONE: N_("done"),
    AccessOutcome.REFUSED: N_("refused"),
    AccessOutcome.LIMITED: N_("too many requests"),
    AccessOutcome.FAILED: N_("failed"),
}


def scope_text(scope: Scope) -> str:
    """Returns what a scope allows, as in: may use your models."""
    return _(_SCOPE_TEXTS[scope])


def scopes_text(scopes: Collection[Scope]) -> str:
    """Returns the names of scopes, in the order in which they are documented."""
    return ", ".join(scope.value for scope in Scope if scope in scopes)


def kind_text(kind: AccessKind) -> str:
    return _(_KIND_TEXTS[kind])


def client_line(client: Client) -> str:
    """Returns a client in one line."""
    parts = [client.name, scopes_text(client.scopes)]
    if client.bound:
        parts.append(_("project {project}", project=client.project or "–"))
    if client.revoked_at is not None:
        parts.append(_("revoked {when:%Y-%m-%d %H:%M}", when=client.revoked_at.astimezone()))
    elif client.used_at is None:
        parts.append(_("never used"))
    else:
        parts.append(_("last used {when:%Y-%m-%d %H:%M}", when=client.used_at.astimezone()))
    return " · ".join(parts)


def access_line(entry: AccessEntry) -> str:
    """Returns an entry of the log in one line."""
    parts = [
        f"{entry.at.astimezone():%Y-%m-%d %H:%M}",
        entry.client,
        kind_text(entry.kind),
        _(_OUTCOME_TEXTS[entry.outcome]),
        ngettext("1 request", "{count} requests", entry.requests),
    ]
    if entry.items:
        parts.append(ngettext("1 item", "{count} items", entry.items))
    if entry.tokens:
        parts.append(ngettext("1 token", "{count} tokens", entry.tokens))
    return " · ".join(parts)


_SCAN_TEXTS = {
    "link": N_("is a link"),
    "special": N_("is not a regular file"),
    "hidden": N_("is hidden"),
    "temporary": N_("is a temporary file"),
    "ignored": N_("is excluded by a rule"),
    "unknown_format": N_("has an unknown format"),
    "too_large": N_("is too large"),
    "unreadable": N_("cannot be opened"),
    "vanished": N_("is not there any more"),
    "bad_name": N_("has a name that is not valid text"),
    "too_deep": N_("is nested too deeply"),
    "too_many": N_("has too many entries"),
    "bad_pattern": N_("is not a valid rule and was ignored"),
}


def scan_reason(reason: "SkipReason | str") -> str:
    """Returns why a scan skipped something, after its name."""
    return _(_SCAN_TEXTS[str(reason)])


_FORGETTING_TEXTS = {
    "sessions": N_("Conversations:"),
    "messages": N_("Messages, each with its whole text:"),
    "memories": N_("Memories:"),
    "documents": N_("Documents, each with its whole text:"),
    "notes": N_("Notes, each with its whole text:"),
}
_CHOSEN_BY = {
    ChosenBy.ITEMS: N_("Chosen one by one."),
    ChosenBy.WORDS: N_("Everything with certain words."),
    ChosenBy.PROJECT: N_("Everything in a project."),
    ChosenBy.TIME: N_("Everything of a time."),
    ChosenBy.EVERYTHING: N_("Everything in the room."),
}
_PLACE_COUNTS = {
    "title": plural("1 title", "{count} titles"),
    "tag": plural("1 tag", "{count} tags"),
    "category": plural("1 category", "{count} categories"),
    "project": plural("1 project", "{count} projects"),
    "saved_search": plural("1 saved search", "{count} saved searches"),
    "attachment": plural("1 attachment", "{count} attachments"),
    "folder": plural("1 watched folder", "{count} watched folders"),
    "skill": plural("1 skill", "{count} skills"),
    "task": plural("1 task", "{count} tasks"),
    "persona": plural("1 persona", "{count} personas"),
    "client": plural("1 client", "{count} clients"),
    "template": plural("1 template", "{count} templates"),
    "draft": plural("1 draft", "{count} drafts"),
    "instructions": plural("1 set of instructions", "{count} sets of instructions"),
}
_KIND_COUNTS = {
    "messages": plural("1 message", "{count} messages"),
    "summaries": plural("1 summary", "{count} summaries"),
    "memories": plural("1 memory", "{count} memories"),
    "documents": plural("1 document", "{count} documents"),
    "notes": plural("1 note", "{count} notes"),
    "chunks": plural("1 passage", "{count} passages"),
    "vectors": plural("1 vector", "{count} vectors"),
    "fulltext": plural("1 full-text entry", "{count} full-text entries"),
    "snapshots": plural("1 model state", "{count} model states"),
    "jobs": plural("1 queued job", "{count} queued jobs"),
}


def preview_text(
    affected: "Affected", *, shown: int = 8, ids: bool = True, backups: int = 0, open_only: bool = False
) -> str:
    """Returns the counts and, of each kind, the first `shown` items, with or without their `ids`; that
    `backups` may contain it; and, with `open_only`, that a locked private room was not searched."""
    elsewhere = [*_in_backups(backups), *_in_locked(open_only)]
    went = _counted(counts(affected.erased))
    besides = _places(affected.erased)
    if not went:
        if not besides:
            return "\n".join([_("No matches. Nothing would be forgotten."), *_in_locked(open_only)])
        return "\n".join([*besides, *elsewhere])
    # What goes as a whole comes first: the list below may be long.
    rows = [_("This would be forgotten: {what}.", what=went), *besides]
    for name, found, total in (
        ("sessions", affected.sessions, affected.whole_sessions),
        ("messages", affected.messages, len(affected.messages)),
        ("memories", affected.memories, affected.erased.memories),
        ("documents", affected.documents, affected.erased.documents),
        ("notes", affected.notes, affected.erased.notes),
    ):
        if found:
            rows.append(_(_FORGETTING_TEXTS[name]))
            rows += [f"  {f'{one.id}  ' if ids else ''}{clean_line(one.text)}" for one in found[:shown]]
            more = total - min(len(found), shown)
            rows += [f"  {_('… and {count} more', count=number(more))}"] if more > 0 else []
    if affected.erased.stale:
        rows.append(_("Summaries to rewrite without it: {count}.", count=number(len(affected.erased.stale))))
    rows += _files_left(affected.erased)
    rows += _copies_left(affected.erased.copies)
    return "\n".join([*rows, *elsewhere])


def _in_backups(count: int) -> list[str]:
    text = ngettext(
        "A backup made before may still contain it.",
        "{count} backups made before may still contain it.",
        count,
    )
    return [text] if count else []


def _in_locked(open_only: bool) -> list[str]:  # noqa: FBT001 - a fact that is told
    # The same if there is no private room: nobody shall learn from it whether there is one.
    return [_("A locked private room was not searched.")] if open_only else []


def _files_left(erased: "Erased") -> list[str]:
    return [_("The files of documents stay where they are.")] if erased.documents else []


def _copies_left(copies: "Sequence[Copy]") -> list[str]:
    """Returns what stays in other conversations, and in titles that the user wrote."""
    texts = [one for one in copies if not one.title_only]
    titles = [one for one in copies if one.title_only]
    told = []
    if texts:
        told.append(_("The same text also exists in {where} and stays there.", where=where(texts)))
    return [*told, _titles_left(titles)] if titles else told


def _titles_left(titles: "Sequence[Copy]") -> str:
    return _("Titles you wrote yourself stay: {where}.", where=where(titles))


def receipt_text(value: "Receipt") -> str:
    """Returns what was erased, and whether anything is left, in one line."""
    went = _counted(counts(value.erased, value.snapshots))
    told = [_("Forgotten: {what}.", what=went)] if went else []
    told += _placed(places(value.erased))
    told = told or [_("There was nothing to forget.")]
    told += (
        [_("Summaries rewritten without it: {count}.", count=number(value.rewritten))]
        if value.rewritten
        else []
    )
    told.append(left_text(value))
    told += [*_files_left(value.erased), *_in_backups(value.backups), *_in_locked(value.open_only)]
    return " ".join(told)


def stored_text(receipt: "StoredReceipt") -> str:
    """Returns what a stored receipt says, in one line: how it was chosen, how much, whether it is gone."""
    what = receipt.what
    went = _counted(what.counts)
    told = [_(_CHOSEN_BY[what.chosen_by])]
    told += [_("Forgotten: {what}.", what=went)] if went else []
    told += _placed(what.cleared)
    told += (
        [_("Summaries rewritten without it: {count}.", count=number(what.rewritten))]
        if what.rewritten
        else []
    )
    gone = _("A second check found nothing left.")
    told.append(gone if what.verified else _("Some of it was still found afterwards."))
    return " ".join(told)


def left_text(value: "Receipt") -> str:
    """Describes whether anything is left, here or as the same text elsewhere."""
    if not value.verified:
        return _("Some of it was still found afterwards.")
    texts = [one for one in value.erased.copies if not one.title_only]
    titles = [one for one in value.erased.copies if one.title_only]
    if texts:
        told = _(
            "A second check found nothing left of these messages. The same text still exists in {where}.",
            where=where(texts),
        )
    else:
        told = _("A second check found nothing left.")
    return f"{told} {_titles_left(titles)}" if titles else told


def where(copies: "Sequence[Copy]") -> str:
    """Returns the titles of the first two, and how many others there are."""
    one, *others = map(_title, copies[:2])
    if not others:
        return one
    if len(copies) == 2:
        return _("{one} and {other}", one=one, other=others[0])
    return ngettext(
        "{one}, {other} and 1 other conversation",
        "{one}, {other} and {count} other conversations",
        len(copies) - 2,
        one=one,
        other=others[0],
    )


def _title(copy: "Copy") -> str:
    title = clean_line(copy.title)
    if not title:
        return _("a conversation without a title")
    return _("“{title}” (in the bin)", title=title) if copy.binned else _("“{title}”", title=title)


def copies(erased: "Erased") -> list[dict[str, object]]:
    """Returns where else the same text exists, for programs."""
    return [{"session": one.session_id, "title": one.title, "binned": one.binned} for one in erased.copies]


_FATES = {
    "project": "renamed",
    "client": "renamed",
    "instructions": "emptied",
    "folder": "left",
    "title": "untitled",
}
"""What happens to places with the text; all others are deleted."""
_WOULD_TEXTS = {
    "deleted": N_("It would also delete as a whole: {places}."),
    "emptied": N_("It would also empty: {places}."),
    "untitled": N_("It would also delete, but not their conversations: {places}."),
    "renamed": N_("It would also rename: {places}."),
    "left": N_("It would also stop watching: {places}."),
}
_DID_TEXTS = {
    "deleted": N_("Deleted as a whole: {places}."),
    "emptied": N_("Emptied: {places}."),
    "untitled": N_("Deleted, but not their conversations: {places}."),
    "renamed": N_("Renamed: {places}."),
    "left": N_("No longer watched: {places}."),
}
_PLACES_NAMED = 5
"""So many places of a kind are named in a preview."""


def _places(erased: "Erased") -> list[str]:
    """Returns what would happen to other places with the text, by what that is, with their names."""
    names: dict[str, list[str]] = {}
    for place in erased.places:
        names.setdefault(place.kind, []).append(clean_line(place.name))
    texts = {kind: _place_text(kind, len(found), found) for kind, found in sorted(names.items())}
    return _by_fate(texts, _WOULD_TEXTS)


def _placed(found: Mapping[str, int]) -> list[str]:
    """Returns what happened to them, without their names."""
    return _by_fate({kind: _place_text(kind, count) for kind, count in found.items()}, _DID_TEXTS)


def _place_text(kind: str, count: int, names: "Sequence[str]" = ()) -> str:
    text = ngettext(*_PLACE_COUNTS[kind.replace(" ", "_")], count)
    known = [quoted(name) for name in names if name][:_PLACES_NAMED]
    if not known:
        return text
    return f"{text} ({', '.join(known)}{', …' if count > len(known) else ''})"


def _by_fate(texts: Mapping[str, str], sentences: Mapping[str, str]) -> list[str]:
    """Returns a sentence for each fate that some of the kinds have."""
    told = []
    for fate, sentence in sentences.items():
        own = [text for kind, text in texts.items() if _FATES.get(kind, "deleted") == fate]
        if own:
            told.append(_(sentence, places=", ".join(own)))
    return told


def _counted(numbers: Mapping[str, int]) -> str:
    return ", ".join(ngettext(*_KIND_COUNTS[name], n) for name, n in numbers.items() if n)


_TOPIC_TEXTS = {
    "tag": N_("Tags"),
    "project": N_("Projects"),
    "category": N_("Categories"),
    "cluster": N_("Found by meaning"),
}
_STORED_TEXTS = {
    "messages": N_("messages"),
    "full_text": N_("word index"),
    "vectors": N_("vectors"),
    "memories": N_("memories"),
    "summaries": N_("summaries"),
    "attachments": N_("attachments"),
    "sessions": N_("conversations"),
    "epochs": N_("epochs"),
    "snapshots": N_("saved model states"),
    "models": N_("models"),
    "backups": N_("backups"),
    "other": N_("other"),
}
TOPIC_KINDS = tuple(_TOPIC_TEXTS)


_CATEGORIES = frozenset(
    {
        N_("Work"),
        N_("Programming"),
        N_("Writing"),
        N_("Learning"),
        N_("Health"),
        N_("Food"),
        N_("Travel"),
        N_("Home"),
        N_("Money"),
        N_("People"),
        N_("Animals"),
        N_("Leisure"),
    }
)
"""The built-in categories: stored by these names, shown in the language of the interface."""


def category_text(name: str) -> str:
    """Returns the name of a category as it is shown; one that the user named stays as it is."""
    return _(name) if name in _CATEGORIES else clean_line(name)


def topic_name_text(kind: str, name: str) -> str:
    """Returns the name of a topic of a kind (of `TOPIC_KINDS`) as it is shown."""
    return category_text(name) if kind == "category" else clean_line(name)


def topic_text(kind: str) -> str:
    """Returns the heading of the topics of a kind (of `TOPIC_KINDS`)."""
    return _(_TOPIC_TEXTS[kind])


def storage_text(kind: str) -> str:
    """Returns what a part of the storage is used for; a table that is not listed has its own name."""
    return _(_STORED_TEXTS[kind]) if kind in _STORED_TEXTS else clean_line(kind).replace("_", " ")


_FIT_TEXTS = {"fits": N_("fits"), "may be slow": N_("may be slow"), "won't fit": N_("won't fit")}
_STAGE_TEXTS = {
    "download": N_("downloading"),
    "verify": N_("checking"),
    "convert": N_("converting"),
    "place": N_("installing"),
    "bench": N_("measuring"),
    "start": N_("starting"),
}


def fit_text(fit: str) -> str:
    """Returns how well a model fits this computer; the name of a program is returned unchanged."""
    return _(_FIT_TEXTS[fit]) if fit in _FIT_TEXTS else fit


def stage_text(stage: str) -> str:
    """Returns the stage of an installation, a measurement or a start."""
    return _(_STAGE_TEXTS[stage])


def reason_text(reason: Reason, titles: Mapping[str, str]) -> str:
    """Returns the reason of a suggestion as a sentence; `titles` are those of notes, by id."""
    match reason.why:
        case LinkReason.MENTION:
            return _("This note mentions it.")
        case LinkReason.MENTIONED:
            return _("It mentions this note.")
        case LinkReason.LINKED if reason.notes:
            names = ", ".join(quoted(clean_line(titles[one])) for one in reason.notes if one in titles)
            return ngettext(
                "Both are linked with {notes}.",
                "Both are linked with {notes}.",
                len(reason.notes),
                notes=names,
            )
        case LinkReason.WORDS if reason.words:
            return _("Both say: {words}.", words=", ".join(map(clean_line, reason.words)))
        case LinkReason.PROPERTY:
            return _("It is about a property of this note.")
        case _:
            return _("Both are about similar things.")


MODES = {
    "normal": N_("uses memories and adds to them"),
    "reads": N_("uses memories, adds none"),
    "blank": N_("neither uses memories nor adds any"),
}
"""What a memory mode means, in a few words."""

_TIERS = {
    "working": plural("1 for this session", "{count} for this session"),
    "short_term": plural("1 short-term", "{count} short-term"),
    "episodic": plural("1 for as long as the project", "{count} for as long as the project"),
    "long_term": plural("1 long-term", "{count} long-term"),
    "procedural": plural("1 how-to", "{count} how-tos"),
}


def defaults_line(name: str, defaults: "ProjectDefaults") -> str:
    """Returns what a new session of a project begins with, in one line."""
    parts = []
    if defaults.persona is not None:
        parts.append(_("persona {name}", name=clean_line(defaults.persona.name)))
    if defaults.model is not None:
        parts.append(_("model {model}", model=defaults.model))
    if defaults.memory_mode is not None:
        parts.append(_("memory {mode}", mode=defaults.memory_mode.value))
    return _("Defaults of the project “{name}”: {parts}.", name=clean_line(name), parts=", ".join(parts))


def said_of_opening_up() -> str:
    """Returns what happens to the contents of an isolated project when the project is deleted."""
    return _("It is isolated. Without it, its conversations and memories are recalled like all others.")


def contents_line(contents: "ProjectContents") -> str:
    """Returns how much belongs to a project; what there is none of is left out."""
    memories = sum(contents.tiers.values())
    parts = (
        (contents.sessions, ngettext("1 conversation", "{count} conversations", contents.sessions)),
        (contents.documents, ngettext("1 document", "{count} documents", contents.documents)),
        (contents.notes, ngettext("1 note", "{count} notes", contents.notes)),
        (memories, ngettext("1 memory", "{count} memories", memories)),
    )
    return ", ".join(text for count, text in parts if count) or _("empty")


def tiers_line(tiers: Mapping[str, int]) -> str:
    """Returns how many memories there are by how long they last; "" without any."""
    return ", ".join(ngettext(*_TIERS[tier], tiers[tier]) for tier in _TIERS if tiers.get(tier))


def lifetime_lines(
    project: "Project", lifetime: "ProjectLifetime", days: float, *, preview: bool = False
) -> list[str]:
    """Returns in words what expires when. `days` is the setting; with `preview`, what archiving would do."""
    episodes = [one for one in lifetime.ending if one.memory.tier == "episodic"]
    others = [one for one in lifetime.ending if one.memory.tier != "episodic"]
    last = episodes[-1].at if episodes else lifetime.ends_at
    found = []
    if lifetime.ends_at is None:
        found.append(
            ngettext(
                "Its episodic memories last as long as the project, and {days:g} day after you archive it.",
                "Its episodic memories last as long as the project, and {days:g} days after you archive it.",
                round(days),
                days=days,
            )
        )
    elif preview:
        found.append(
            ngettext(
                "1 episodic memory would expire on {when}.",
                "{count} episodic memories would expire on {when}.",
                len(episodes),
                when=_day(last or lifetime.ends_at),
            )
            if episodes
            else _("No memory would expire.")
        )
    else:
        if project.archived_at is not None:
            found.append(_("Archived on {when}.", when=_day(project.archived_at)))
        if episodes:
            found.append(
                ngettext(
                    "1 episodic memory expires on {when}, unless you reopen the project.",
                    "{count} episodic memories expire on {when}, unless you reopen the project.",
                    len(episodes),
                    when=_day(last or lifetime.ends_at),
                )
            )
    if lifetime.returning:
        found.append(
            ngettext(
                "1 memory is in the archive; reopening brings it back.",
                "{count} memories are in the archive; reopening brings them back.",
                len(lifetime.returning),
            )
        )
    if others:
        found.append(
            ngettext(
                "1 other memory expires on {when}.",
                "{count} other memories expire, the first on {when}.",
                len(others),
                when=_day(others[0].at),
            )
        )
    return found


def _day(moment: datetime) -> str:
    return formats().date(moment.astimezone(LocalZone()))


_HIDDEN_TEXTS = {
    "superseded": N_("A newer memory replaced it."),
    "archived": N_("It is archived."),
    "rejected": N_("You rejected it."),
    "expired": N_("It has expired."),
    "unapproved": N_("It needs your approval."),
}
_RECALL_OUTCOMES = {
    "told": N_("in the prompt"),
    "repeats": N_("left out: its source was already in the prompt"),
    "echo": N_("left out: it adds nothing to your message"),
    "too_far": N_("left out: not relevant enough"),
    "no_room": N_("left out: no space left"),
}
_PART_TEXTS = {
    "lexical": N_("same words"),
    "semantic": N_("same meaning"),
    "neighbour": N_("nearby messages"),
    "session": N_("its conversation"),
    "speaker": N_("who said it"),
    "time": N_("time asked about"),
    "dated": N_("has a date"),
    "machine": N_("not your words (–)"),
    "question": N_("only a question (–)"),
    "stated": N_("a preference"),
    "standing": N_("a standing instruction"),
    "topic": N_("same topic"),
    "recency": N_("how recent"),
    "importance": N_("importance"),
}


def hidden_text(reason: str) -> str:
    """Returns why a memory is not used (`Why.hidden`)."""
    return _(_HIDDEN_TEXTS[reason])


def outcome_text(outcome: str) -> str:
    """Returns what happened to something that recall found (an `Outcome`)."""
    return _(_RECALL_OUTCOMES[outcome])


def part_text(name: str) -> str:
    """Returns what a part of a hit's score stands for; an unknown name is returned unchanged."""
    return _(_PART_TEXTS[name]) if name in _PART_TEXTS else name


NO_LOSSES = Losses()

_NOW_TEXTS = {
    "normal": N_("From here on, Atlas uses memories and may learn from what you say."),
    "reads": N_("From here on, Atlas uses memories but adds none."),
    "blank": N_("From here on, no memories are used or added. The conversation itself is saved."),
    "off": N_(
        "No memories are used and nothing is written anywhere. The conversation is gone when "
        "Atlas closes unless you /keep it."
    ),
}
_ROOM_TEXTS = {"open": N_("the open room"), "private": N_("the private room"), "off": N_("memory")}
_FRESHNESS_TEXTS = {
    "rolled_back": N_(
        "The {room} room is older than when you last used it: an older file replaced it, or the "
        "last changes were lost. If you did not do this, restore a backup."
    ),
    "missing": N_(
        "The {room} room cannot be opened: its database or its key file is missing. Backups made "
        "now do not contain it. Restore one that does (`atlas vault restore`), or start with an "
        "empty room: `atlas vault salvage --new-private`."
    ),
    "unknown": N_(
        "Cannot tell whether the {room} room holds its latest data: its counter is missing or invalid."
    ),
    "read_only": N_(
        "The {room} room is read-only: the disk is full or cannot be written to. You can read, "
        "search and export. Free some space to write again."
    ),
}
_DOCTOR_TEXTS = {
    "empty": N_("The database is empty: {file} has 0 bytes."),
    "cut": N_("The database is damaged: {file} is cut off mid-page."),
    "foreign": N_("The database is damaged: the start of {file} was altered, or it belongs to other keys."),
}


@dataclass(frozen=True, slots=True)
class Consequence:
    """What will happen. `asks`: it cannot be undone, so the user is asked first."""

    words: str
    asks: bool = False


def _now(mode: MemoryMode) -> str:
    return _(_NOW_TEXTS[mode.value])


def room_text(room: RoomKind) -> str:
    """Returns what a room is called within a sentence."""
    return _(_ROOM_TEXTS[room.value])


def of_mode(now: MemoryMode, then: MemoryMode, *, room: RoomKind, begun: bool) -> Consequence:
    """Returns the effect of another memory mode on a session in `room`; `begun`: it has messages."""
    if then is now:
        return Consequence(_("Nothing changes: this mode is already set."))
    if not begun:
        return Consequence(_now(then))
    if then is MemoryMode.OFF:
        words = _(
            "The conversation so far stays saved in {room}, with everything learned from it. You "
            "continue in a copy. {now}",
            room=room_text(room),
            now=_now(then),
        )
        return Consequence(
            f"{words} {_('/keep saves the copy to the open room.')}" if room is RoomKind.PRIVATE else words
        )
    if room is RoomKind.OFF_RECORD:
        return Consequence(
            _(
                "Everything said off the record here is saved to the open room, where you can list and "
                "find it. {now}",
                now=_now(then),
            ),
            asks=True,
        )
    if then is MemoryMode.NORMAL:
        return Consequence(
            _(
                "Atlas will not learn from what was said here so far, but other conversations may recall it. "
                "{now}",
                now=_now(then),
            )
        )
    return Consequence(_("What Atlas learned here so far stays until you forget it. {now}", now=_now(then)))


def of_move(source: RoomKind, destination: RoomKind, losses: Losses = NO_LOSSES) -> Consequence:
    """Returns the effect of moving a session from one room to another, where it loses something."""
    told = _of_move(source, destination)
    if source is destination or losses == NO_LOSSES:
        return told
    return Consequence(f"{told.words} {losing(losses, source)}", told.asks or losses.tasks > 0)


def losing(losses: Losses, source: RoomKind) -> str:
    """Tells what is lost when sessions leave their room."""
    found = [_losing_documents(losses.documents, source)] if losses.documents else []
    if losses.tasks:
        found.append(
            ngettext(
                "A task that has read it is deleted with its report, for good: its text would stay behind.",
                "{count} tasks that have read it are deleted with their reports, for good: its text would "
                "stay behind.",
                losses.tasks,
            )
        )
    if losses.notes:
        found.append(
            ngettext(
                "A note that links to it stays in {room}, with the words of its link.",
                "{count} notes that link to it stay in {room}, with the words of their links.",
                losses.notes,
                room=room_text(source),
            )
        )
    return " ".join(found)


def _losing_documents(documents: int, source: RoomKind) -> str:
    return ngettext(
        "A document in use stays in {room}: what moves loses the link to it, its passages and its citations.",
        "{count} documents in use stay in {room}: what moves loses the links to them, their passages and "
        "their citations.",
        documents,
        room=room_text(source),
    )


def lost_documents(documents: int, source: RoomKind) -> str:
    """Tells what became of the documents that a session used before it left their room."""
    return ngettext(
        "A document in use stayed in {room}: the session lost the link to it, its passages and its "
        "citations.",
        "{count} documents in use stayed in {room}: the session lost the links to them, their passages and "
        "their citations.",
        documents,
        room=room_text(source),
    )


def lost_tasks(tasks: int) -> str:
    """Tells what became of the tasks that had read a session that left their room."""
    return ngettext(
        "A task that had read it was deleted with its report.",
        "{count} tasks that had read it were deleted with their reports.",
        tasks,
    )


def _of_move(source: RoomKind, destination: RoomKind) -> Consequence:
    if source is destination:
        return Consequence(_("Nothing changes: it is already in {room}.", room=room_text(source)))
    if destination is RoomKind.PRIVATE:
        return Consequence(
            _(
                "It moves to the private room with its summaries and everything learned only from it. "
                "Nobody can see it while that room is closed. Replies in other conversations that had it "
                "in context keep their text."
            )
        )
    if source is RoomKind.PRIVATE:
        return Consequence(
            _(
                "It moves to the open room with its summaries and everything learned only from it. There "
                "it is listed, found and recalled whenever Atlas is unlocked."
            ),
            asks=True,
        )
    return Consequence(
        _(
            "Everything said off the record here is saved to the open room, where you can list and "
            "find it. {now}",
            now=_now(MemoryMode.NORMAL),
        ),
        asks=True,
    )


def of_beginning(destination: RoomKind) -> Consequence:
    """Describes where a session without messages will begin."""
    if destination is RoomKind.PRIVATE:
        return Consequence(
            _("This conversation starts in the private room. Nobody can see it while that room is closed.")
        )
    return Consequence(_("This conversation starts in {room}.", room=room_text(destination)))


def leaving_off_record() -> str:
    """Warns when a session off the record is left."""
    return _(
        "The conversation you left is off the record. It stays in memory until Atlas closes, and "
        "then it is gone. Go back and use /keep to save it."
    )


def stuck(conversations: int) -> str:
    """Describes sessions whose move was interrupted by the loss of the room with their key."""
    return ngettext(
        "A conversation that was being moved between rooms cannot be opened: its key was lost "
        "with a damaged room.",
        "{count} conversations that were being moved between rooms cannot be opened: their key "
        "was lost with a damaged room.",
        conversations,
    )


def held(sessions: int, messages: int) -> str:
    """Returns text such as: 1 conversation with 4 messages."""
    return _(
        "{sessions} with {messages}",
        sessions=ngettext("1 conversation", "{count} conversations", sessions),
        messages=ngettext("1 message", "{count} messages", messages),
    )


def lost(
    sessions: int, messages: int, memories: int, documents: int, others: Mapping[str, int] | None = None
) -> str:
    """Returns text such as: 4 messages, 1 whole conversation and 2 memories. What is none is left out.

    `others` are numbers of smaller things, by the names of their tables.
    """
    more = others or {}
    parts = [
        ngettext("1 message", "{count} messages", messages) if messages else "",
        ngettext("1 whole conversation", "{count} whole conversations", sessions) if sessions else "",
        ngettext("1 memory", "{count} memories", memories) if memories else "",
        ngettext("1 document", "{count} documents", documents) if documents else "",
        *(ngettext(one, several, more[table]) for table, (one, several) in _SMALLER.items() if table in more),
    ]
    return formats().listed([part for part in parts if part])


_SMALLER = {
    "skills": plural("1 skill", "{count} skills"),
    "tasks": plural("1 task", "{count} tasks"),
    "projects": plural("1 project", "{count} projects"),
    "personas": plural("1 persona", "{count} personas"),
    "templates": plural("1 template", "{count} templates"),
    "saved_searches": plural("1 saved search", "{count} saved searches"),
    "clients": plural("1 program", "{count} programs"),
}


def freshness_text(room: str, freshness: str) -> str:
    """Describes a room that is not current; empty for one that is."""
    return _(_FRESHNESS_TEXTS[freshness], room=room_name(room)) if freshness in _FRESHNESS_TEXTS else ""


def held_back_text(held: "HeldBack") -> str:
    return _(
        "{sessions} would now be erased because of age, but the clock is {days} later than "
        "expected, so nothing was erased. If the date is right, `atlas sessions retention "
        "--apply` erases what is due. Otherwise, correct the clock.",
        sessions=ngettext("1 conversation", "{count} conversations", held.sessions),
        days=ngettext("1 day", "{count} days", max(held.ahead.days, 1)),
    )


def unknown_variable(name: str, near: str) -> str:
    """Describes a variable that resembles a setting's but is none; `near` is the most similar one, if any."""
    if near:
        return _("{name} has no effect: there is no such setting. Did you mean {near}?", name=name, near=near)
    return _("{name} has no effect: there is no such setting.", name=name)


def spoilt(room: VaultStatus) -> tuple[str, str] | None:
    """Returns what is visibly wrong with a room's file, and what to do; None if nothing is.

    A room that was never made is not a fault: the next unlock makes it.
    """
    name = f"{room.room.value}.db"
    if not room.database_present:
        return (
            (
                _("Key file found, but the database is missing ({file}).", file=name),
                _("Restore a backup: `atlas vault restore`."),
            )
            if room.room_made
            else None
        )
    if room.flaw is None:
        return None
    return _(_DOCTOR_TEXTS[room.flaw.value], file=name), _(
        "Restore a backup (`atlas vault restore`), or see what is still readable: `atlas vault salvage`."
    )


_SKILL_STATES = {"draft": N_("draft"), "approved": N_("approved"), "retired": N_("retired")}
_AUTHORS = {"user": N_("written by you"), "atlas": N_("drafted by Atlas"), "import": N_("imported")}


def skill_state_text(state: str) -> str:
    return _(_SKILL_STATES[state])


def author_text(author: str) -> str:
    return _(_AUTHORS[author])


def place_text(page: int | None, lines: tuple[int, int]) -> str:
    """Returns a place in a document: its page, or its lines."""
    if page is not None:
        return _("page {page}", page=number(page))
    first, last = lines
    if first == last:
        return _("line {first}", first=number(first))
    return _("lines {first}–{last}", first=number(first), last=number(last))


def citation_text(citation: "StoredCitation") -> str:
    """Returns the label of a citation: its number, the document, the place, and a warning if there is one."""
    place = place_text(citation.page, citation.lines)
    label = f"[{citation.marker}] {clean_line(citation.title) or _('Untitled')}, {place}"
    if not citation.verified:
        return f"{label} · {_('quotation not found there')}"
    return label if citation.current else f"{label} · {_('document has changed since')}"


def sources_text(content: str, cited: "CitedReply") -> str:
    """Returns what a reply rests on, a line each: its citations, and its sentences that are not in them."""
    lines = [
        f"{'✓' if one.verified else '✗'} {citation_text(one)}: {quoted(clean_line(one.quote))}"
        for one in cited.citations
    ]
    lines += [
        "✗ " + _("Not in the sources: “{sentence}”", sentence=clean_line(content[begin:end]))
        for begin, end in cited.unsupported
    ]
    return "\n".join(dict.fromkeys(lines))


def passage_place(passage: "StoredPassage") -> str:
    """Returns where a passage in a prompt is from, after the number under which a reply can cite it."""
    return f"[{passage.marker}] {clean_line(passage.title)}, {place_text(passage.page, passage.lines)}"


def used_skill_text(used: "UsedSkill") -> str:
    """Returns a skill in a reply, with its version."""
    return _("{name}, version {version}", name=used.name, version=used.version)


_WHY = {
    "foreign": N_("not a file of sync, or a second copy that the copying tool made; it is ignored"),
    "incomplete": N_("not completely copied yet; it is read when the rest is there"),
    "damaged": N_("damaged; the device that wrote it writes it again"),
    "missing": N_("not copied yet; it is read when it is there"),
    "rolled_back": N_("an older copy of a file that was read already; it is ignored"),
    "newer": N_(
        "written by a newer version of Atlas; update Atlas on this computer to read it. Nothing is lost"
    ),
    "not_signed": N_("not written by the device that it is said to be of; it is ignored"),
    "key_unknown": N_("encrypted with a key that this device does not have (yet); it is left alone"),
    "removed": N_("of a device that was removed; it is ignored"),
}


def why_text(problem: "Problem") -> str:
    return _(_WHY[problem.why.value])


def problem_text(problem: "Problem") -> str:
    return _("{file}: {why}.", file=problem.file, why=why_text(problem))


def report_text(report: "SyncReport") -> str:
    """What a sync did, and what it left alone."""
    lines = [
        _(
            "Sent: {sent} ({sent_size}). Received: {received} ({received_size}).",
            sent=_changes(report.sent_changes),
            sent_size=size(report.sent_bytes),
            received=_changes(report.received_changes),
            received_size=size(report.received_bytes),
        )
    ]
    if report.joined:
        lines.append(_("New devices: {names}.", names=", ".join(report.joined)))
    if report.forgotten:
        lines.append(
            ngettext(
                "1 thing that was forgotten on another device was erased here, too.",
                "{count} things that were forgotten on another device were erased here, too.",
                report.forgotten,
            )
        )
    if report.new_identity:
        lines.append(
            _("This room was restored or copied, so it has become a device of its own. Nothing is lost.")
        )
    lines += [problem_text(one) for one in report.problems]
    return "\n".join(lines)


def _changes(count: int) -> str:
    return ngettext("1 change", "{count} changes", count)


def when_text(moment: "datetime | None") -> str:
    return _("never") if moment is None else f"{moment.astimezone():%Y-%m-%d %H:%M}"


def status_text(status: "SyncStatus") -> str:
    lines = [
        _("Folder: {folder}", folder=status.folder),
        _("Last sync: {when}", when=when_text(status.last_sync)),
        _(
            "This device was removed by another one: nothing is sent or received. `atlas sync leave` ends "
            "sync here; with a new code you can join again."
        )
        if status.removed
        else _("To be sent: {what}", what=_changes(status.pending_out)),
    ]
    if status.paused and not status.removed:
        lines.append(_("Sync is paused. `atlas sync resume` continues it."))
    if status.waiting:
        lines.append(
            ngettext(
                "1 change waits for something that has not been copied yet.",
                "{count} changes wait for something that has not been copied yet.",
                status.waiting,
            )
        )
    lines.append(_("Devices:"))
    lines += [device_text(one, status) for one in (status.device, *status.devices)]
    return "\n".join(lines)


def device_text(device: "Device", status: "SyncStatus") -> str:
    return f"{device.id}  {device.name}  {device_state(device, status)}"


def device_state(device: "Device", status: "SyncStatus") -> str:
    """Whether it is this device, whether it was removed, when another one was seen, and whether it has
    forgotten all it should."""
    if device.id == status.device.id:
        return _("this device, removed by another one") if status.removed else _("this device")
    if device.removed_at is not None:
        return _("removed")
    seen = _("last seen {when}", when=when_text(device.seen_at))
    left = status.not_forgotten.get(device.id, 0)
    if not left:
        return seen
    told = ngettext(
        "has not heard yet that 1 thing was forgotten",
        "has not heard yet that {count} things were forgotten",
        left,
    )
    return f"{seen}, {told}"


def forgotten_text(status: "SyncStatus") -> str:
    """Which other devices have carried out all that was forgotten here; empty without other devices."""
    others = [one for one in status.devices if one.removed_at is None]
    if not others:
        return ""
    done = [one.name for one in others if not status.not_forgotten.get(one.id, 0)]
    left = [one.name for one in others if status.not_forgotten.get(one.id, 0)]
    lines = []
    if done:
        lines.append(_("Also forgotten on: {names}.", names=", ".join(done)))
    if left:
        lines.append(_("Not yet on: {names}. It follows when they sync.", names=", ".join(left)))
    return " ".join(lines)


def unheard_text(count: int) -> str:
    """Says that a device keeps what it has not heard is forgotten, if it is removed; or returns ""."""
    if not count:
        return ""
    return ngettext(
        "It has not heard yet that 1 thing was forgotten, and would keep it. Sync both devices first.",
        "It has not heard yet that {count} things were forgotten, and would keep them. Sync both devices "
        "first.",
        count,
    )


_SYNC_PROBLEMS = {"folder": N_("sync: folder missing"), "failed": N_("sync failed")}


def short_status(*, running: bool, paused: bool, pending: int, problem: str) -> str:
    """For the status line. `problem` is that of the last run: `folder`, `failed`, or empty."""
    if running:
        return _("syncing")
    if paused:
        return _("sync paused")
    if problem:
        return _(_SYNC_PROBLEMS[problem])
    return _("sync: {count} to send", count=number(pending)) if pending else _("synced")


_TEAMS = {
    Team.RESEARCH: N_("research"),
    Team.ANALYSIS: N_("analysis"),
    Team.WRITING: N_("writing"),
    Team.RATING: N_("rating"),
}
_RETURNS = {
    "found": plural("{count} passage found", "{count} passages found"),
    "stated": plural("{count} statement read", "{count} statements read"),
    "written": plural("report with {count} citation", "report with {count} citations"),
    "rated": plural("{count} citation is true", "{count} citations are true"),
}


def team_text(team: Team) -> str:
    return _(_TEAMS[team])


def question_text(task: "Task") -> str:
    """Returns what a task that waits asks; "" for others."""
    if task.asked is Asked.NOTHING_FOUND:
        return _("Nothing was found for this. Say where to look, or in other words what you want.")
    if task.asked is Asked.PARTS_MISSING:
        return _(
            "Nothing was found for: {parts}. Say more, or take the report as it is.",
            parts="; ".join(task.missing),
        )
    return ""


def event_text(event: "TaskEvent") -> str:
    """Returns what happened, in a line."""
    if event.kind is EventKind.PLAN:
        return ngettext("Planned for {count} team.", "Planned for {count} teams.", event.count)
    if event.kind is EventKind.ASSIGNED and event.team is not None:
        return _("The supervisor's rules chose {team}.", team=team_text(event.team))
    if event.kind is EventKind.RETURNED:
        return returned_text(event.code, event.count)
    if event.kind is EventKind.REVISION:
        return _("Revision {number}: parts are missing, or you asked for it.", number=event.count)
    if event.kind is EventKind.ESCALATED:
        return _("It asks you, and waits.")
    if event.kind is EventKind.APPROVED:
        return _("You approved the report.") if event.code == "user" else _("The checks passed.")
    return _("Done. The report is in the library.")


def returned_text(code: str, count: int) -> str:
    if code == "rated" and not count:
        return _("no citation to check")
    return ngettext(*_RETURNS[code], count) if code in _RETURNS else ""


def step_line(step: "Step") -> str:
    """Returns a step in a line: number, team, what it used."""
    tokens = ngettext("{count} token read", "{count} tokens read", step.context_tokens)
    found = ngettext("{count} passage", "{count} passages", len(step.evidence)) if step.evidence else ""
    return "  ".join(filter(None, [f"{step.number}.", team_text(step.team), tokens, found]))


def leaving(sessions: int, where: str, *, sealed: bool, private: int, redacted: bool) -> str:
    """Returns the notice shown before an export. `private` counts sessions of the private room."""
    what = ngettext("1 conversation", "{count} conversations", sessions) if sessions else _("Memories")
    if private and private == sessions:
        what = _("{what} from the private room", what=what)
    elif private and private < sessions:
        what = _("{what} ({private} from the private room)", what=what, private=private)
    if sealed:
        return _(
            "{what} will be written to {where}, encrypted with the passphrase or key you chose.",
            what=what,
            where=where,
        )
    plain = _(
        "{what} will be written to {where} unencrypted. Anyone with access to it can read everything.",
        what=what,
        where=where,
    )
    return (
        f"{plain} {_('Personal data that was found is removed. Anything missed stays.')}"
        if redacted
        else plain
    )


_NAMED = 3
_PASSED_OVER = 10


def summary(report: ImportReport, *, dry_run: bool) -> str:
    """Returns the result of an import, or of a dry run."""
    lines = [_("{where}: {whose}", where=name, whose=whose(kind)) for name, kind in report.formats.items()]
    messages = ngettext("1 message", "{count} messages", report.messages)
    sessions = ngettext("1 new conversation", "{count} new conversations", report.sessions)
    if dry_run:
        counted = _("{messages} to import, {sessions}", messages=messages, sessions=sessions)
    else:
        counted = _("{messages} imported, {sessions}", messages=messages, sessions=sessions)
    if report.already_there or report.known_sessions:
        counted = _("{counted}; {count} already there", count=number(report.already_there), counted=counted)
    lines.append(f"{counted}.")
    if report.memories or report.known_memories:
        memories = ngettext("1 new memory", "{count} new memories", report.memories)
        lines.append(
            _("{memories}, {count} already known.", count=number(report.known_memories), memories=memories)
        )
    if report.first is not None and report.last is not None:
        first, last = _span_day(report.first), _span_day(report.last)
        lines.append(
            _("From {first} to {last}.", first=first, last=last)
            if first != last
            else _("From {day}.", day=first)
        )
    return "\n".join(lines)


def importable() -> str:
    """Returns what an import reads, in one sentence."""
    *names, last = (_(one.title) for one in FORMATS.values() if one is not MEMORIES)
    return _(
        "Exports from {names} and {last}. Existing data does not change. Nothing leaves this computer.",
        names=", ".join(names),
        last=last,
    )


def whose(kind: Format) -> str:
    """Returns the name of a format."""
    return _(kind.title)


def _left(one: Skipped) -> str:
    return _("{where}: {why}", where=one.where, why=one.why or _("not a supported format"))


def left(report: ImportReport) -> list[str]:
    """Returns each item that was left out, and why."""
    lines = [_left(one) for one in report.skipped]
    if report.more_skipped:
        lines.append(_("{count} more", count=number(report.more_skipped)))
    return [*lines, *(_left(one) for one in report.unexplained)]


def left_out(report: ImportReport) -> list[str]:
    """Returns a "Skipped" line for each item that was left out."""
    return [_("Skipped: {what}", what=what) for what in left(report)]


def passed_over(report: ImportReport) -> list[str]:
    """Returns a line for the files without conversations, if there are any."""
    if not report.passed_over:
        return []
    total = len(report.passed_over) + report.more_passed_over
    names = ", ".join(report.passed_over[:_PASSED_OVER])
    if total > _PASSED_OVER:
        return [
            _(
                "Ignored (no conversations): {names} and {count} more",
                count=number(total - _PASSED_OVER),
                names=names,
            )
        ]
    return [_("Ignored (no conversations): {names}", names=names)]


def remaining(seconds: float) -> str:
    """Returns the remaining time, as roughly as it is known."""
    if seconds < 50:
        return _("{number} s left", number=max(round(seconds / 5) * 5, 5))
    return _("{number} min left", number=round(seconds / 60) or 1)


def _span_day(moment: datetime) -> str:
    return formats().date(moment)


_ENGINE_MODELS = 12
_ROLE_TEXTS = {"chat": N_("chat"), "embed": N_("search by meaning")}


def before_leaving(name: str, url: str) -> str:
    """Returns the question that is asked once before text leaves this computer."""
    text = _(
        "{name} is not on this computer. What you write, and what is recalled for it, will be sent to {url}. "
        "The private room is never sent. Use it?",
        name=name,
        url=url,
    )
    if url.startswith("http://"):
        return f"{_('The way there is not encrypted.')} {text}"
    return text


def engine_place(engine: "Engine") -> str:
    """Returns where an engine is: on this computer, or that text leaves it."""
    if engine.local:
        return _("on this computer")
    return _("leaves this computer") if engine.allowed else _("not agreed to yet")


def engine_roles(engine: "Engine", chosen: Mapping[str, str]) -> list[tuple[str, str]]:
    """Returns the roles that an engine has, each with its model."""
    split = {role: ref.partition(":") for role, ref in chosen.items()}
    return [(role, model) for role, (name, _colon, model) in split.items() if name == engine.name]


def engine_line(engine: "Engine", chosen: Mapping[str, str] = MappingProxyType({})) -> str:
    """Returns an engine in one line, with the models that are `chosen` for roles."""
    uses = [
        _("{role}: {model}", role=_(_ROLE_TEXTS[role]), model=clean_line(model))
        for role, model in engine_roles(engine, chosen)
    ]
    return " · ".join([engine.name, engine.url, engine_place(engine), *uses])


def can_text(name: str, report: "EngineReport") -> str:
    """Returns what a server can do, in one line."""
    can = [
        (report.stream, _("streams replies"), _("sends replies as a whole")),
        (report.json_schema, _("follows JSON schemas"), _("does not follow JSON schemas")),
        (report.embeddings, _("makes vectors"), _("makes no vectors")),
        (report.exact_tokens, _("counts tokens exactly"), _("tokens are estimated")),
    ]
    context = (
        _("context of {tokens} tokens", tokens=formats().number(report.context))
        if report.context
        else _("does not say its context: set context_length in [engines.{name}]", name=name)
    )
    server = [report.family.value] if report.family else []
    return " · ".join([*server, *(yes if does else no for does, yes, no in can), context])


def engine_report_text(engine: "Engine", report: "EngineReport") -> str:
    """Returns what a server can do, with its models, a line each."""
    lines = [f"{engine.name} · {engine.url} · {engine_place(engine)}", can_text(engine.name, report)]
    names = [f"{engine.name}:{clean_line(one)}" for one in report.models]
    lines += names[:_ENGINE_MODELS]
    if len(names) > _ENGINE_MODELS:
        lines.append(ngettext("and 1 more", "and {count} more", len(names) - _ENGINE_MODELS))
    if report.chat_model:
        ref = f"{engine.name}:{clean_line(report.chat_model)}"
        lines.append(_("To chat with it: `atlas models use {ref}`.", ref=ref))
    return "\n".join(lines)


def import_line(added: int, updated: int, unchanged: int, missing: int) -> str:
    """Returns how many files of a folder were added, updated, unchanged and missing."""
    return _(
        "Added {added}, updated {updated}, unchanged {unchanged}, missing {missing}.",
        added=number(added),
        updated=number(updated),
        unchanged=number(unchanged),
        missing=number(missing),
    )


_LEFT_OUT_TEXTS = {
    "open": N_(
        "The open room is not included: its database or key file is missing. Older backups that "
        "contain it stay in the folder."
    ),
    "private": N_(
        "The private room is not included: its database or key file is missing. Older backups that "
        "contain it stay in the folder."
    ),
}


def backup_text(made: "BackupMade", *, private: bool) -> str:
    """Returns what a backup contains; the private room's size only if `private`."""
    held = (
        size(made.bytes if private else made.sizes[RoomKind.OPEN])
        if private or RoomKind.PRIVATE not in made.rooms
        else _("Open room: {size}", size=size(made.sizes[RoomKind.OPEN]))
    )
    lines = [
        str(made.path),
        _("{size}, encrypted, read back and verified. Your passphrase unlocks it.", size=held)
        if made.verified
        else _("{size}, encrypted, read back, but incomplete. Your passphrase unlocks it.", size=held),
    ]
    lines += [_(_LEFT_OUT_TEXTS[room]) for room in made.missing]
    if set(made.rooms) - set(made.checked):
        lines.append(_("The private room is included in encrypted form. Checking it needs the passphrase."))
    return "\n".join(lines)
