"""Words for imports and exports: what comes in, what goes out, and what is said before."""

from datetime import datetime

from atlas_desktop.errors import Skipped
from atlas_desktop.importing.entities import Format, ImportReport
from atlas_desktop.words.catalogue import tr
from atlas_desktop.words.formats import formats


def leaving(sessions: int, where: str, *, sealed: bool, private: int, redacted: bool) -> str:
    """What is said before anything is written. `private` counts sessions of the private room."""
    what = tr("exporting.leaving.sessions", count=sessions) if sessions else tr("exporting.leaving.memories")
    if private and private == sessions:
        what = tr("exporting.leaving.all_private", what=what)
    elif private and private < sessions:
        what = tr("exporting.leaving.some_private", what=what, private=private)
    if sealed:
        return tr("exporting.leaving.sealed", what=what, where=where)
    plain = tr("exporting.leaving.plain", what=what, where=where)
    return f"{plain} {tr('exporting.leaving.redacted')}" if redacted else plain


_NAMED = 3
_PASSED_OVER = 10


def summary(report: ImportReport, *, dry_run: bool) -> str:
    """What an import came to, or would."""
    lines = [tr("importing.is", where=name, whose=whose(kind)) for name, kind in report.formats.items()]
    messages = tr("amounts.messages", count=report.messages)
    sessions = tr("importing.sessions", count=report.sessions)
    if dry_run:
        counted = tr("importing.would", messages=messages, sessions=sessions)
    else:
        counted = tr("importing.taken_in", messages=messages, sessions=sessions)
    if report.already_there or report.known_sessions:
        counted = tr("importing.known", count=report.already_there, counted=counted)
    lines.append(f"{counted}.")
    if report.memories or report.known_memories:
        memories = tr("importing.memories", count=report.memories)
        lines.append(tr("importing.memories.known", memories=memories, count=report.known_memories))
    if report.first is not None and report.last is not None:
        first, last = _day(report.first), _day(report.last)
        lines.append(
            tr("importing.from_to", first=first, last=last)
            if first != last
            else tr("importing.of_day", day=first)
        )
    return "\n".join(lines)


def whose(kind: Format) -> str:
    """What a format is called."""
    return tr(f"importing.whose.{kind.value}")


def _left(one: Skipped) -> str:
    return tr("importing.left", where=one.where, why=one.why or tr("importing.unknown"))


def left(report: ImportReport) -> list[str]:
    """What was left out, one by one, and why."""
    lines = [_left(one) for one in report.skipped]
    if report.more_skipped:
        lines.append(tr("importing.left.more", count=report.more_skipped))
    return [*lines, *(_left(one) for one in report.unexplained)]


def left_out(report: ImportReport) -> list[str]:
    """A line for each thing that was left out, which says so."""
    return [tr("importing.left.line", what=what) for what in left(report)]


def passed_over(report: ImportReport) -> list[str]:
    """A line for the files beside those with conversations, if there are any."""
    if not report.passed_over:
        return []
    number = len(report.passed_over) + report.more_passed_over
    names = ", ".join(report.passed_over[:_PASSED_OVER])
    if number > _PASSED_OVER:
        return [tr("importing.passed_over.more", names=names, count=number - _PASSED_OVER)]
    return [tr("importing.passed_over", names=names)]


def remaining(seconds: float) -> str:
    """How long something will still take, as roughly as it is known."""
    if seconds < 50:
        return tr("importing.seconds_left", number=max(round(seconds / 5) * 5, 5))
    return tr("importing.minutes_left", number=round(seconds / 60) or 1)


def _day(moment: datetime) -> str:
    return formats().date(moment)
