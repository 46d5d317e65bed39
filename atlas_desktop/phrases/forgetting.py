"""Texts of the preview and the receipt of forgetting."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from atlas_desktop.locale import N_, _, ngettext, number, plural
from atlas_desktop.services.cleaning import clean_line
from memory.entities import ChosenBy, StoredReceipt, counts, places

if TYPE_CHECKING:
    from atlas_desktop.services.forgetting import Receipt
    from memory.entities import Affected, Copy, Erased
_FORGETTING_TEXTS = {
    "sessions": N_("Conversations:"),
    "messages": N_("Messages:"),
    "memories": N_("Memories:"),
    "documents": N_("Documents:"),
    "notes": N_("Notes:"),
}
_CHOSEN_BY = {
    ChosenBy.ITEMS: N_("Chosen one by one."),
    ChosenBy.WORDS: N_("Everything with certain words."),
    ChosenBy.PROJECT: N_("Everything in a project."),
    ChosenBy.TIME: N_("Everything of a time."),
    ChosenBy.EVERYTHING: N_("Everything in the room."),
}
_PLACE_COUNTS = {
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
    "instructions": plural("{count} instructions", "{count} instructions"),
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


def preview_text(affected: "Affected", *, shown: int = 8, ids: bool = True) -> str:
    """Returns the counts and, of each kind, the first `shown` items, with or without their `ids`."""
    went = _counted(counts(affected.erased))
    besides = _places(affected.erased)
    if besides and not went:
        return _("Text would be removed from: {places}.", places=besides)
    if not went:
        return _("No matches. Nothing would be forgotten.")
    rows = [_("This would be forgotten: {what}.", what=went)]
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
    if besides:
        rows.append(_("Text would also be removed from: {places}.", places=besides))
    if affected.erased.copies:
        rows.append(
            _("The same text also exists in {where} and stays there.", where=where(affected.erased.copies))
        )
    return "\n".join(rows)


def receipt_text(value: "Receipt") -> str:
    """Returns what was erased, and whether anything is left, in one line."""
    went = _counted(counts(value.erased, value.snapshots))
    besides = _places(value.erased)
    told = [_("Forgotten: {what}.", what=went)] if went else []
    told += [_("Text removed from: {places}.", places=besides)] if besides else []
    told = told or [_("There was nothing to forget.")]
    told += (
        [_("Summaries rewritten without it: {count}.", count=number(value.rewritten))]
        if value.rewritten
        else []
    )
    told.append(left_text(value))
    return " ".join(told)


def stored_text(receipt: "StoredReceipt") -> str:
    """Returns what a stored receipt says, in one line: how it was chosen, how much, whether it is gone."""
    what = receipt.what
    went = _counted(what.counts)
    besides = _placed(what.cleared)
    told = [_(_CHOSEN_BY[what.chosen_by])]
    told += [_("Forgotten: {what}.", what=went)] if went else []
    told += [_("Text removed from: {places}.", places=besides)] if besides else []
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
    if not value.erased.copies:
        return _("A second check found nothing left.")
    return _(
        "A second check found nothing left of these messages. The same text still exists in {where}.",
        where=where(value.erased.copies),
    )


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


def _places(erased: "Erased") -> str:
    return _placed(places(erased))


def _placed(found: Mapping[str, int]) -> str:
    told = {name.replace(" ", "_"): count for name, count in found.items()}
    return ", ".join(ngettext(*_PLACE_COUNTS[name], count) for name, count in told.items())


def _counted(numbers: Mapping[str, int]) -> str:
    return ", ".join(ngettext(*_KIND_COUNTS[name], n) for name, n in numbers.items() if n)
