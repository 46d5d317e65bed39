"""Parts of the window that exports, and what it says."""

from pathlib import Path

from textual.containers import Horizontal
from textual.content import Content
from textual.widgets import Checkbox, Input, Label, Select

from atlas_desktop.exporting.service import Order, Report
from atlas_desktop.services.cleaning import clean_line
from atlas_desktop.words.amounts import held
from atlas_desktop.words.catalogue import tr

_SHOWN = 200


def preview_words(report: Report, order: Order) -> Content:
    """What would go out, and what would be taken out."""
    lines: list[Content | str | tuple[str, str]] = [
        tr("exporting.would", what=held(report.sessions, report.messages)) + "\n"
    ]
    if order.redaction is None:
        lines.append(tr("exporting.not_redacted"))
    elif not report.found:
        lines.append(tr("exporting.nothing_found"))
    else:
        lines.append((tr("exporting.taken_out"), "bold"))
        for one in report.found[:_SHOWN]:
            lines += [f"\n{one.count:>4} × ", (clean_line(one.text), "bold"), f" → {one.mark}"]
        if len(report.found) > _SHOWN:
            lines.append("\n" + tr("exporting.and_more", count=len(report.found) - _SHOWN))
    return Content.assemble(*lines)


def done_words(report: Report, path: Path) -> str:
    """What was written, and what could not be shown in it."""
    told = tr("exporting.done", count=report.sessions, where=path)
    return f"{told}\n{tr('exporting.missing', count=report.missing)}" if report.missing else told


class Tick(Checkbox):
    """Empty when it is off: Textual's own shows the same sign in another colour."""

    def _get_inner(self) -> str:
        return "X" if self.value else " "

    BUTTON_INNER = property(_get_inner)


def field_line(name: str, field: Input | Select[str], *, margin: bool = False) -> Horizontal:
    """A field with its name in front; with a `margin` there is an empty line above it."""
    line = Horizontal(Label(tr(f"exporting.{name}")), field, classes="line")
    if margin:
        line.styles.margin = (1, 0, 1, 0)
    return line
