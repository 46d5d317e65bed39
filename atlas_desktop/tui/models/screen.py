"""The list of models: download, import, choose, measure, verify and remove them."""

import asyncio
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import OptionList, ProgressBar, Static
from textual.widgets.option_list import Option

from atlas_desktop.errors import size
from atlas_desktop.locale import N_, _, formats, ngettext
from atlas_desktop.phrases import engine_line, fit_text, stage_text
from atlas_desktop.services.cleaning import clean_line
from atlas_desktop.tui.actions import Where, bindings
from atlas_desktop.tui.dialogs.forms import PathScreen
from atlas_desktop.tui.dialogs.questions import ChoiceScreen, ConfirmScreen
from atlas_desktop.tui.models.onboarding import FIT_STYLES
from atlas_desktop.tui.textual_workarounds import SparingScreen
from atlas_desktop.tui.widgets import Covering, KeyLine, fit
from models.errors import ModelsError

if TYPE_CHECKING:
    from atlas_desktop.services.models import ModelService, ModelSummary
    from atlas_desktop.tui.base import BaseApp
    from atlas_desktop.tui.models.jobs import ModelJobs
    from atlas_desktop.tui.models.switcher import ModelSwitcher
    from models.library.files import Progress
    from models.library.installed import FoundModel
_FIT_TEXTS = {
    "fits": N_("Fits: needs about {needed} of memory and leaves enough for other programs."),
    "may be slow": N_(
        "May be slow: needs about {needed} of memory and leaves little for other programs, or "
        "writes fewer than 4 tokens per second."
    ),
    "won't fit": N_("Won't fit: needs about {needed} of memory, more than this computer can provide."),
}
_ROLE_TEXTS = {"chat": N_("chat"), "embed": N_("search by meaning")}


@dataclass(frozen=True, slots=True)
class Row:
    """A model that is installed or in the catalogue (`summary`), or a file of another program (`found`).

    `host` is where a download comes from; empty for the index of Python packages, or if unknown.
    """

    id: str
    summary: "ModelSummary | None" = None
    found: "FoundModel | None" = None
    licence: tuple[str, bool] | None = None
    linked: bool = False
    host: str = ""
    recommended: bool = False
    """Whether it is the chat model that suits this computer best."""

    @property
    def installed(self) -> bool:
        return self.summary is not None and self.summary.installed

    @property
    def used(self) -> bool:
        return self.summary is not None and bool(self.summary.used_for)

    @property
    def chats(self) -> bool:
        return self.summary is not None and "chat" in self.summary.roles

    @property
    def used_for_chat(self) -> bool:
        return self.summary is not None and "chat" in self.summary.used_for

    @property
    def path(self) -> "Path | None":
        return None if self.found is None else self.found.path


Groups = tuple[tuple[str, tuple[Row, ...]], ...]
"""Headings and their rows; groups without any are left out."""


def read(service: "ModelService", by_engines: Collection[str] = ()) -> Groups:
    """Reads all groups. Blocking: it searches for files. `by_engines` are the roles that engines have."""
    here = {model.path.resolve(): model for model in service.installed()}
    linked = {model.id for model in here.values() if model.linked}
    best = next((one.entry.id for one in service.recommend() if one.runs), "")
    rows = [
        Row(
            one.id,
            summary=replace(one, used_for=tuple(r for r in one.used_for if r not in by_engines)),
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
        (_("Installed"), tuple(row for row in rows if row.installed)),
        (_("Can be downloaded"), tuple(row for row in rows if not row.installed and row.chats)),
        (
            _("Can be downloaded, to search by meaning"),
            tuple(row for row in rows if not row.installed and not row.chats),
        ),
        (_("On this computer, from other programs"), tuple(found)),
    )
    return tuple((name, members) for name, members in groups if members)


def title(groups: Groups) -> str:
    here = [
        row.summary for _unused, rows in groups for row in rows if row.installed and row.summary is not None
    ]
    return ngettext(
        "Models · {count} installed, {bytes}",
        "Models · {count} installed, {bytes}",
        len(here),
        bytes=size(sum(one.bytes for one in here)),
    )


def line(row: Row, work: "ModelJobs", width: int) -> Content:
    """Returns the name at the left; at the right progress, use, or suitability, and the size."""
    if row.found is not None:
        name, fit, amount = clean_line(row.found.name), clean_line(row.found.program), size(row.found.bytes)
    else:
        assert row.summary is not None
        name, fit, amount = clean_line(row.summary.name), str(row.summary.fit), size(row.summary.bytes)
    state, style = fit_text(fit), FIT_STYLES.get(fit, "$quiet")
    if now := under_way(row, work):
        state, style = now, "bold $accent"
    elif row.summary is not None and row.used:
        state, style = _("in use: {roles}", roles=_roles(row.summary.used_for)), "bold $success"
    elif row.recommended:
        state = _("recommended, {fit}", fit=fit_text(fit))
    room = width - cell_len(state) - 11 - 3
    name = _shortened(name, room)
    gap = " " * max(width - cell_len(name) - cell_len(state) - 11, 1)
    return Content.assemble(name, gap, (state, style), (f"{amount:>11}", "$quiet"))


def _shortened(text: str, room: int) -> str:
    return text if cell_len(text) <= room else set_cell_size(text, max(room - 1, 1)).rstrip() + "…"


def under_way(row: Row, work: "ModelJobs") -> str:
    """Returns what a job is doing with a model, and its progress; empty for nothing."""
    if work.busy and work.model == row.id:
        return _progress(work.progress, "bench" if work.kind == "bench" else "start")
    if row.id in work.paused:
        held = work.paused[row.id]
        if held is None or held.total is None:
            return _("paused")
        return _("paused at {done} of {total}", done=size(held.done), total=size(held.total))
    return ""


def _progress(progress: "Progress | None", otherwise: str) -> str:
    if progress is None:
        return stage_text(otherwise)
    stage = stage_text(progress.stage)
    if progress.total:
        return f"{stage} {_('{done} of {total}', done=size(progress.done), total=size(progress.total))}"
    return f"{stage} {size(progress.done)}"


def details(row: Row) -> Content:
    """Returns everything about a model."""
    if row.found is not None:
        found = row.found
        what = _(
            "{bytes}, {architecture}.",
            bytes=size(found.bytes),
            architecture=clean_line(found.header.architecture),
        )
        where = _(
            "A file from {program}: {path}",
            program=clean_line(found.program),
            path=clean_line(str(found.path)),
        )
        return Content.assemble((what, "$foreground"), "\n", (where, "$quiet"))
    one = row.summary
    assert one is not None
    amount, roles = size(one.bytes), _roles(one.roles)
    if one.context_length:
        context = formats().number(one.context_length)
        told = _(
            "For {roles}. {bytes}, context of {context} tokens.", roles=roles, bytes=amount, context=context
        )
    else:
        told = _("For {roles}. {bytes}.", roles=roles, bytes=amount)
    fit = str(one.fit)
    parts: list[tuple[str, str]] = [
        (clean_line(one.id), "bold"),
        (f"  {clean_line(_(one.note))}" if one.note else "", "$foreground"),
        (f"\n{told}\n", "$foreground"),
        (_(_FIT_TEXTS[fit], needed=size(one.memory_needed)), FIT_STYLES.get(fit, "$quiet")),
        (_speed(one), "$quiet"),
        (f"\n{_licence(row)}", "$quiet"),
    ]
    if one.verified:
        parts.append((f" {_('Its checksum matches the catalogue.')}", "$quiet"))
    if one.tuned:
        parts.append((f"\n{_('Tuned here: {result}.', result=one.tuned)}", "$quiet"))
    return Content.assemble(*parts)


def _speed(one: "ModelSummary") -> str:
    """Returns how fast a chat model writes here, or is expected to; empty for others."""
    if not one.speed:
        return ""
    value = formats().decimal(one.speed, 0 if one.speed >= 10 else 1)
    if one.measured:
        return f" {_('It wrote {value} tokens a second here when it was measured.', value=value)}"
    return f" {_('About {value} tokens a second here, by its size.', value=value)}"


def _licence(row: Row) -> str:
    assert row.summary is not None
    if row.licence is not None and not row.licence[1]:
        return _(
            "Licence: {licence}. It is not an open-source licence and sets conditions.",
            licence=clean_line(row.licence[0]),
        )
    licence = clean_line(row.summary.licence)
    return _("Licence: {licence}.", licence=licence) if licence else _("The file states no licence.")


def _roles(roles: Iterable[str]) -> str:
    return _(" and ").join(_(_ROLE_TEXTS[role]) for role in roles)


_DRAW_S = 0.2
LINK, COPY = "link", "copy"


class ModelsScreen(Covering, SparingScreen[None]):
    """A list, with details of the marked model below; jobs continue when the screen is closed."""

    of_rooms = False
    CSS_PATH = "models.tcss"
    where = Where.MODELS
    AUTO_FOCUS = "#models"
    BINDINGS = list(bindings(Where.MODELS))  # noqa: RUF012

    def __init__(self, app: "BaseApp", work: "ModelJobs", switcher: "ModelSwitcher") -> None:
        super().__init__()
        self.atlas = app
        self.work = work
        self._switcher = switcher
        self._list = OptionList(id="models", markup=False)
        self._groups: Groups = ()
        self._rows: dict[str, Row] = {}
        self._was_busy = False
        self._engines: list[str] = []

    def compose(self) -> ComposeResult:
        yield Static("", id="title", markup=False)
        yield self._list
        with Vertical(id="about"):
            yield Static("", id="details", markup=False)
            yield ProgressBar(id="amount", show_eta=False)
            yield Static("", id="said", markup=False)
        yield KeyLine(self._word)

    def on_mount(self) -> None:
        self.work.changed = self._changed
        fit(self, self._list, self._show)
        self.read()
        self.set_interval(_DRAW_S, self._draw)

    def on_unmount(self) -> None:
        self.work.changed = lambda: None
        self.work.unsay()

    @property
    def marked(self) -> Row | None:
        """The model under the cursor."""
        at = self._list.highlighted
        return None if at is None else self._rows.get(str(self._list.get_option_at_index(at).id))

    # --- display ---------------------------------------------------------------------------------

    def read(self) -> None:
        """Reads everything again."""
        self.atlas.attempt(self._read, group="models-list", exclusive=True)

    async def _read(self) -> None:
        desk = self.atlas.desk
        chosen = {"chat": desk.settings.models.chat_engine, "embed": desk.settings.models.embed_engine}
        by_engines = [role for role, ref in chosen.items() if ref]
        self._groups = await asyncio.to_thread(read, desk.models, by_engines)
        listed = desk.engines.list() if desk.settings.engines else ()
        self._engines = [engine_line(one, chosen) for one in listed]
        if self.is_attached:
            self._show()

    def _show(self) -> None:
        kept = self.marked
        self._rows = {row.id: row for _unused, rows in self._groups for row in rows}
        width = max(self._list.size.width - 5, 30)
        options: list[Option | None] = []
        if self._engines:
            options.append(Option(Content(_("Engines (e: choose or add)")), disabled=True))
            options += [Option(Content(_shortened(text, width)), disabled=True) for text in self._engines]
        for name, rows in self._groups:
            if options:
                options.append(Option("", disabled=True))
            options.append(Option(Content(name), disabled=True))
            options += [Option(line(row, self.work, width), id=row.id) for row in rows]
        with self.app.batch_update():
            self._list.clear_options()
            self._list.add_options(options)
            arrived, self.work.arrived = self.work.arrived, ""
            if arrived in self._rows:
                self._list.highlighted = self._list.get_option_index(arrived)
            elif kept is not None and kept.id in self._rows:
                self._list.highlighted = self._list.get_option_index(kept.id)
            elif kept is None and self.work.said_of in self._rows:
                # Selects the row of a job that ended while another screen was shown.
                self._list.highlighted = self._list.get_option_index(self.work.said_of)
            elif self._rows:
                self._list.highlighted = self._list.get_option_index(next(iter(self._rows)))
            self.query_one("#title", Static).update(Content(title(self._groups)))
        self._tell()

    def _tell(self) -> None:
        row = self.marked
        self.query_one("#details", Static).update(Content("") if row is None else details(row))
        said = self.query_one("#said", Static)
        here = self.work.said_of in ("", row.id if row is not None else "")
        words = self.work.said if here else ""
        said.update(Content.styled(words, "bold $error" if self.work.bad else "$success"))
        said.set_class(bool(words), "-shown")
        self.refresh_bindings()

    def _changed(self) -> None:
        """Called when a job has started or ended."""
        if self.is_attached:
            self._draw()
            self._tell()
            self.read()

    def _draw(self) -> None:
        """Updates the progress line and bar."""
        bar = self.query_one("#amount", ProgressBar)
        bar.set_class(self.work.busy, "-shown")
        progress = self.work.progress
        bar.update(
            total=None if progress is None else progress.total,
            progress=0 if progress is None else progress.done,
        )
        row = self._rows.get(self.work.model)
        if row is not None and (self.work.busy or self._was_busy):
            width = max(self._list.size.width - 5, 30)
            self._list.replace_option_prompt(row.id, line(row, self.work, width))
        self._was_busy = self.work.busy

    def on_option_list_option_highlighted(self) -> None:
        self._tell()

    def on_option_list_option_selected(self) -> None:
        self.action_model_choose()

    def _word(self, verb: str) -> str:
        """Returns the label of a key for the marked model, if it differs from that of its action."""
        row = self.marked
        downloads = row is not None and not row.installed and row.found is None
        return _("Download") if verb == "model_choose" and downloads else ""

    # --- actions ---------------------------------------------------------------------------------

    def action_model_choose(self) -> None:
        row = self.marked
        if row is None:
            return
        if row.installed:
            self.atlas.attempt(self._use(row), group="model-choice")
        elif row.found is not None:
            self.run_worker(self._import(row.found.path), group="ask", exclusive=True)
        elif self.work.busy:
            # The job reports that another one is running, before the user is asked anything.
            self.work.download(row.id)
        else:
            self.run_worker(self._download(row), group="ask", exclusive=True)

    async def _download(self, row: Row) -> None:
        if await self.app.push_screen_wait(before_download(row)):
            self.work.download(row.id)

    async def _use(self, row: Row) -> None:
        try:
            self.work.say(await self._switcher.use(row.id), of=row.id)
        except ModelsError as error:
            words = self.atlas.explain(error)
            self.work.say(f"{words.title}. {words.message} {words.next_step}", of=row.id, bad=True)

    def action_model_pause(self) -> None:
        row = self.marked
        if self.work.kind == "download":
            self.work.pause()
        elif row is not None and row.id in self.work.paused:
            self.work.download(row.id)

    def action_model_cancel(self) -> None:
        row = self.marked
        if self.work.busy:
            self.work.cancel()
        elif row is not None and row.id in self.work.paused:
            del self.work.paused[row.id]
            self.work.say(_("Stopped. The partial download is kept; download again to resume it."), of=row.id)

    def action_model_import(self) -> None:
        self.run_worker(self._ask_path(), group="ask", exclusive=True)

    async def _ask_path(self) -> None:
        window = PathScreen(
            _("Import a GGUF file"),
            placeholder=_("Path to a .gguf file"),
            hint=_("Enter continues · Esc cancels"),
        )
        typed = await self.app.push_screen_wait(window)
        if typed:
            await self._import(Path(typed))

    async def _import(self, given: Path) -> None:
        of = "" if self.marked is None else self.marked.id
        try:
            path, amount = await asyncio.to_thread(_file, given)
        except OSError as error:
            words = self.atlas.explain(error)
            self.work.say(f"{words.title}. {words.message} {words.next_step}", of=of, bad=True)
            return
        ways = {
            LINK: _("Leave the file where it is"),
            COPY: _("Copy to the home folder ({bytes})", bytes=size(amount)),
        }
        asked = ChoiceScreen(_("Where to store it?"), ways, LINK, hint=_("Enter selects · Esc cancels"))
        how = await self.app.push_screen_wait(asked)
        if how is not None:
            self.work.take_in(path, link=how == LINK, of=of)

    def action_engines(self) -> None:
        self.run_worker(self._show_engines(), group="ask", exclusive=True)

    async def _show_engines(self) -> None:
        from atlas_desktop.tui.models.engines import EnginesScreen

        await self.app.push_screen_wait(EnginesScreen(self.atlas, self._switcher))
        self.read()

    def action_model_bench(self) -> None:
        row = self.marked
        if row is None or row.summary is None:
            return
        if "chat" not in row.summary.roles and not row.used:
            self.work.say(_("Choose this embedding model before you measure it."), of=row.id, bad=True)
        else:
            self.work.bench(row.id)

    def action_model_tune(self) -> None:
        if (row := self.marked) is not None:
            self.atlas.attempt(self._tune(row.id), group="tune")

    async def _tune(self, model_id: str) -> None:
        from atlas_desktop.services.tuning import KIND

        # Jobs in the open room are kept, whichever room the conversation is in.
        room = self.atlas.desk.room
        if room is None:
            self.work.say(
                _("Tuning runs in the open room, which is not available now."), of=model_id, bad=True
            )
            return
        await room.background.add(KIND, model_id, payload={"model": model_id})
        self.work.say(
            _(
                "{model} will be tuned in the background when Atlas is idle. This takes some minutes.",
                model=model_id,
            ),
            of=model_id,
        )

    def action_model_verify(self) -> None:
        if (row := self.marked) is not None:
            self.work.verify(row.id)

    def action_model_remove(self) -> None:
        if self.atlas.is_demo:
            self.work.say(_("The demo uses your own models and does not remove any of them."))
        elif (row := self.marked) is not None:
            self.run_worker(self._remove(row), group="ask", exclusive=True)

    async def _remove(self, row: Row) -> None:
        if not await self.app.push_screen_wait(before_removal(row)):
            return
        await asyncio.to_thread(self.atlas.desk.models.remove, row.id)
        if row.used and not self.atlas.replying:
            await self.atlas.desk.switch_model()
        self.work.say(_("{model} removed.", model=row.id))

    def action_model_back(self) -> None:
        self.dismiss(None)
        here = any(row.used_for_chat for _unused, rows in self._groups for row in rows)
        if here and self.atlas.choosing_model:
            self.atlas.attempt(self.atlas.model_chosen(), group="model")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        row = self.marked if self._rows else None
        chat = row is not None and row.summary is not None and "chat" in row.summary.roles
        match action:
            case "model_choose":
                return row is not None and not under_way(row, self.work)
            case "model_pause":
                return self.work.kind == "download" or (row is not None and row.id in self.work.paused)
            case "model_cancel":
                return self.work.busy or (row is not None and row.id in self.work.paused)
            case "model_bench" | "model_verify" | "model_remove":
                return row is not None and row.installed and not self.work.busy
            case "model_tune":
                return row is not None and row.installed and chat
            case "model_import":
                return not self.work.busy
        return super().check_action(action, parameters)


def _file(given: Path) -> tuple[Path, int]:
    """Returns a file that the user named, and its size in bytes. Raises OSError."""
    path = given.expanduser()
    return path, path.stat().st_size


def before_download(row: Row) -> ConfirmScreen:
    """Returns the question before a download: it takes gigabytes, and is the only time this computer contacts
    another."""
    assert row.summary is not None
    host = row.host or _("the Python Package Index (PyPI)")
    text = _("{model} comes from {host}. Nothing you wrote is sent there.", model=row.id, host=host)
    if row.summary.fit != "fits":
        needed = size(row.summary.memory_needed)
        text = f"{text}\n\n{_(_FIT_TEXTS[row.summary.fit], needed=needed)}"
    return ConfirmScreen(
        _("Download {bytes}?", bytes=size(row.summary.bytes)),
        text,
        agree=_("Download"),
        refuse=_("Not now"),
    )


def before_removal(row: Row) -> ConfirmScreen:
    assert row.summary is not None
    text = (
        _("Only the entry is removed. The file stays in place.", bytes=size(row.summary.bytes))
        if row.linked
        else _("This deletes its file ({bytes}). You can download it again.", bytes=size(row.summary.bytes))
    )
    if row.used:
        text = f"{text} {_('It is in use: another model, if there is one, replaces it.')}"
    return ConfirmScreen(
        _("Remove {model}?", model=row.id),
        text,
        agree=_("Remove"),
        refuse=_("Keep"),
    )
