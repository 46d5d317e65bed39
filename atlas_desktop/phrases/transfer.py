"""Texts for imports and exports: previews, results, and what was skipped."""

from datetime import datetime

from atlas_desktop.errors import Skipped
from atlas_desktop.importing.entities import Format, ImportReport
from atlas_desktop.locale import N_, _, formats, ngettext, number

_WHOSE_TEXTS = {
    "chatgpt": N_("ChatGPT"),
    "claude": N_("Claude"),
    "openwebui": N_("Open WebUI"),
    "lmstudio": N_("LM Studio"),
    "jan": N_("Jan"),
    "llm": N_("llm"),
    "jsonl": N_("Atlas"),
    "markdown": N_("Markdown"),
    "memories": N_("memories from Atlas"),
}


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
        first, last = _day(report.first), _day(report.last)
        lines.append(
            _("From {first} to {last}.", first=first, last=last)
            if first != last
            else _("From {day}.", day=first)
        )
    return "\n".join(lines)


def whose(kind: Format) -> str:
    """Returns the name of a format."""
    return _(_WHOSE_TEXTS[kind.value])


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


def _day(moment: datetime) -> str:
    return formats().date(moment)
