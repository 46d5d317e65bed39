"""Words for imports: what came in, what would, and what is no export."""

from datetime import datetime

from atlas_desktop.explain import Exit, Explained, Words
from atlas_desktop.services.importing.entities import Format, ImportReport, UnknownExport
from atlas_desktop.words.formats import formats

NAMES = {
    Format.CHATGPT: "ChatGPT",
    Format.CLAUDE: "Claude",
    Format.OPEN_WEBUI: "Open WebUI",
    Format.LM_STUDIO: "LM Studio",
    Format.JAN: "Jan",
    Format.LLM: "llm",
    Format.JSONL: "Atlas",
    Format.MARKDOWN: "Markdown",
}

UNKNOWN = "no format that Atlas reads"
_NAMED = 3
_PASSED_OVER = 10
_NAMES_A_FORMAT = (
    "Give the export of ChatGPT, Claude, Open WebUI, LM Studio, Jan or llm as it is, Markdown or JSON lines; "
    "--format says which it is."
)
_FETCHES_IT_AGAIN = (
    "Export it once more where it comes from; `atlas import --format` says whose it is, and then what is "
    "whole in it is read."
)

WORDS: Words = {
    UnknownExport: lambda e: Explained(
        "unknown_export",
        "No conversations were found there",
        f"{_reasons(e)} Nothing was changed.",
        _NAMES_A_FORMAT if e.alien else _FETCHES_IT_AGAIN,
        Exit.FAILED,
    ),
}


def summary(report: ImportReport, *, dry_run: bool) -> str:
    """What an import came to, or would."""
    lines = [f"{name}: {NAMES[kind]}" for name, kind in report.formats.items()]
    verb = "would be taken in" if dry_run else "taken in"
    counted = f"{_count(report.messages, 'message')} {verb}, in {_count(report.sessions, 'new conversation')}"
    known = ""
    if report.already_there or report.known_sessions:
        known = f"; {report.already_there:,} were there already"
    lines.append(f"{counted}{known}.")
    if report.first is not None and report.last is not None:
        first, last = _day(report.first), _day(report.last)
        lines.append(f"From {first} to {last}." if first != last else f"Of {first}.")
    return "\n".join(lines)


LEFT_OUT = "Left out: "


def left_out(report: ImportReport) -> list[str]:
    """A line for each thing that was left out."""
    lines = [f"{LEFT_OUT}{one.where}: {one.why}" for one in report.skipped]
    if report.more_skipped:
        lines.append(f"{LEFT_OUT}{report.more_skipped:,} more")
    return [*lines, *(f"{LEFT_OUT}{one.where}: {one.why or UNKNOWN}" for one in report.unexplained)]


def passed_over(report: ImportReport) -> list[str]:
    """A line for the files beside those with conversations, if there are any."""
    if not report.passed_over:
        return []
    number = len(report.passed_over) + report.more_passed_over
    names = ", ".join(report.passed_over[:_PASSED_OVER])
    more = f" and {number - _PASSED_OVER:,} more" if number > _PASSED_OVER else ""
    return [f"Passed over, for it holds no conversation: {names}{more}"]


def remaining(seconds: float) -> str:
    """How long something will still take, as roughly as it is known."""
    if seconds < 50:
        return f"{max(round(seconds / 5) * 5, 5)} s left"
    return f"{round(seconds / 60) or 1} min left"


def _count(number: int, noun: str) -> str:
    return f"1 {noun}" if number == 1 else f"{number:,} {noun}s"


def _day(moment: datetime) -> str:
    return formats().date(moment)


def _reasons(error: UnknownExport) -> str:
    """What is wrong with each, as far as it is known."""
    lines = [f"{one.where}: {one.why}." for one in error.broken[:_NAMED]]
    if (more := len(error.broken) - len(lines) + error.more) > 0:
        lines.append(f"{more:,} more cannot be read either.")
    natures: dict[str, list[str]] = {}
    for one in error.alien:
        natures.setdefault(one.why or "nothing in it is in a format that Atlas reads", []).append(one.where)
    return " ".join([*lines, *(f"{_some(names)}: {why}." for why, names in natures.items())])


def _some(names: list[str]) -> str:
    return ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")
