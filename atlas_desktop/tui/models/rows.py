"""The models as rows of a list: installed ones, downloads, files of other programs."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size
from textual.content import Content

from atlas_desktop.errors import size
from atlas_desktop.services.cleaning import clean_line
from atlas_desktop.words.catalogue import tr
from atlas_desktop.words.formats import formats

if TYPE_CHECKING:
    from pathlib import Path

    from atlas_desktop.services.models import ModelService, ModelSummary
    from atlas_desktop.tui.models.jobs import ModelJobs
    from models.library.discovery import FoundModel
    from models.library.files import Progress

FIT_STYLES = {"fits": "$success", "may be slow": "$warning", "won't fit": "$error"}


@dataclass(frozen=True, slots=True)
class Row:
    """A model that is installed or in the catalogue (`summary`), or a file of another program (`found`).
    `host` is where a download comes from; empty for the index of Python packages, or where none is known."""

    id: str
    summary: "ModelSummary | None" = None
    found: "FoundModel | None" = None
    licence: tuple[str, bool] | None = None
    linked: bool = False
    host: str = ""
    recommended: bool = False
    """Whether it is what suits this computer best, for chat."""

    @property
    def installed(self) -> bool:
        return self.summary is not None and self.summary.installed

    @property
    def used(self) -> bool:
        return self.summary is not None and bool(self.summary.used_for)

    @property
    def used_for_chat(self) -> bool:
        return self.summary is not None and "chat" in self.summary.used_for

    @property
    def path(self) -> "Path | None":
        return None if self.found is None else self.found.path


Groups = tuple[tuple[str, tuple[Row, ...]], ...]
"""Headings and their rows; groups without any are left out."""


def read(service: "ModelService") -> Groups:
    """Reads everything. Blocking: it looks for files."""
    here = {model.path.resolve(): model for model in service.installed()}
    linked = {model.id for model in here.values() if model.linked}
    best = next((one.entry.id for one in service.recommend() if one.runs), "")
    rows = [
        Row(
            one.id,
            summary=one,
            licence=service.licence(one.id),
            linked=one.id in linked,
            host=service.host(one.id),
            recommended=one.id == best,
        )
        for one in service.summaries(everything=True)
    ]
    found = [
        Row(f"file:{one.path}", found=one) for one in service.discover() if one.path.resolve() not in here
    ]
    groups = (
        (tr("models.here"), tuple(row for row in rows if row.installed)),
        (tr("models.catalogue"), tuple(row for row in rows if not row.installed)),
        (tr("models.found"), tuple(found)),
    )
    return tuple((name, members) for name, members in groups if members)


def title(groups: Groups) -> str:
    here = [row.summary for _, rows in groups for row in rows if row.installed and row.summary is not None]
    return tr("models.title", count=len(here), bytes=size(sum(one.bytes for one in here)))


def line(row: Row, work: "ModelJobs", width: int) -> Content:
    """Returns the name at the left; at the right progress, use, or suitability, and the size."""
    if row.found is not None:
        name, fit, amount = clean_line(row.found.name), clean_line(row.found.program), size(row.found.bytes)
    else:
        assert row.summary is not None
        name, fit, amount = clean_line(row.summary.name), str(row.summary.fit), size(row.summary.bytes)
    state, style = fit, FIT_STYLES.get(fit, "$quiet")
    if now := under_way(row, work):
        state, style = now, "bold $accent"
    elif row.summary is not None and row.used:
        state, style = tr("models.used", roles=_roles(row.summary.used_for)), "bold $success"
    elif row.recommended:
        state = tr("models.recommended", fit=fit)
    room = width - cell_len(state) - 11 - 3
    if cell_len(name) > room:
        name = set_cell_size(name, max(room - 1, 1)).rstrip() + "…"
    gap = " " * max(width - cell_len(name) - cell_len(state) - 11, 1)
    return Content.assemble(name, gap, (state, style), (f"{amount:>11}", "$quiet"))


def under_way(row: Row, work: "ModelJobs") -> str:
    """Returns what is being done with a model, and the progress; empty for nothing."""
    if work.busy and work.model == row.id:
        return _progress(work.progress, "bench" if work.kind == "bench" else "start")
    if row.id in work.paused:
        held = work.paused[row.id]
        if held is None or held.total is None:
            return tr("models.paused_early")
        return tr("models.paused", done=size(held.done), total=size(held.total))
    return ""


def _progress(progress: "Progress | None", otherwise: str) -> str:
    if progress is None:
        return tr(f"models.stage.{otherwise}")
    stage = tr(f"models.stage.{progress.stage}")
    if progress.total:
        return f"{stage} {tr('models.of', done=size(progress.done), total=size(progress.total))}"
    return f"{stage} {size(progress.done)}"


def details(row: Row) -> Content:
    """Returns everything about a model."""
    if row.found is not None:
        found = row.found
        what = tr(
            "models.found_is", bytes=size(found.bytes), architecture=clean_line(found.header.architecture)
        )
        where = tr("models.found_in", program=clean_line(found.program), path=clean_line(str(found.path)))
        return Content.assemble((what, "$foreground"), "\n", (where, "$quiet"))
    one = row.summary
    assert one is not None
    amount, roles = size(one.bytes), _roles(one.roles)
    if one.context_length:
        context = formats().number(one.context_length)
        told = tr("models.is_for", roles=roles, bytes=amount, context=context)
    else:
        told = tr("models.is_for_no_context", roles=roles, bytes=amount)
    fit = str(one.fit)
    parts: list[tuple[str, str]] = [
        (clean_line(one.id), "bold"),
        (f"  {clean_line(one.note)}" if one.note else "", "$foreground"),
        (f"\n{told}\n", "$foreground"),
        (tr(f"models.fit.{fit}", needed=size(one.memory_needed)), FIT_STYLES.get(fit, "$quiet")),
        (f"\n{_licence(row)}", "$quiet"),
    ]
    if one.verified:
        parts.append((f" {tr('models.checked')}", "$quiet"))
    if one.tuned:
        parts.append((f"\n{tr('models.tuned', result=one.tuned)}", "$quiet"))
    return Content.assemble(*parts)


def _licence(row: Row) -> str:
    assert row.summary is not None
    if row.licence is not None and not row.licence[1]:
        return tr("models.licence_not_open", licence=clean_line(row.licence[0]))
    licence = clean_line(row.summary.licence)
    return tr("models.licence", licence=licence) if licence else tr("models.licence_unknown")


def _roles(roles: Iterable[str]) -> str:
    return tr("models.and").join(tr(f"models.role.{role}") for role in roles)
