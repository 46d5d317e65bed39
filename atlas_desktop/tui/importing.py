"""The window for importing conversations, and the import that continues in the background."""

import time
from collections.abc import Coroutine, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Button, Checkbox, Input, Label, Select, Static
from textual.worker import Worker, WorkerState

from atlas_desktop.error_table import explain
from atlas_desktop.importing.entities import ImportOptions, ImportReport, Meter
from atlas_desktop.importing.importer import Importer
from atlas_desktop.locale import N_, _, number
from atlas_desktop.phrases.transfer import left, passed_over, remaining, summary
from atlas_desktop.services.cleaning import clean
from atlas_desktop.tui import importing
from atlas_desktop.tui.overlays import Covering
from atlas_desktop.tui.widgets.inputs import CleanInput, Tick
from memory.entities import MemoryMode, RoomKind

if TYPE_CHECKING:
    from atlas_desktop.services.room import RoomServices
    from atlas_desktop.tui.base import BaseApp
_MEMORY_TEXTS = {
    "given": N_("As in the file"),
    "normal": N_("Normal"),
    "reads": N_("Read only"),
    "blank": N_("Blank"),
}
_ROOM_TEXTS = {"open": N_("Open room"), "private": N_("Private room")}
_IMPORTING_TEXTS = {"where": N_("From"), "project": N_("Project"), "memory": N_("Memory"), "room": N_("Room")}


_GROUP = "import-look"
_SHOWN = 50
_MODES = (MemoryMode.NORMAL, MemoryMode.READS, MemoryMode.BLANK)


class ImportDialog(Covering, ModalScreen[None]):
    """Checks the files first and says what they contain; the import itself runs in the background."""

    CSS = """
    ImportDialog {
        align: center middle;
        background: $background 70%;
        .box {
            width: 76; max-width: 96%; height: auto; max-height: 96%; padding: 1 2 0 2;
            background: $surface; border: round $primary;
            border-title-color: $primary; border-title-style: bold;
        }
        .line { height: auto; margin-bottom: 1; }
        .line > Label { width: 10; }
        .line > .next { margin-left: 2; }
        .line > Input, .line > Select { width: 1fr; }
        .line > Input { height: 1; border: none; padding: 0 1; background: $panel; }
        .line > Input:focus { background: $primary 25%; }
        Checkbox { height: 1; background: transparent; border: none; padding: 0; }
        #found { height: auto; max-height: 6; margin-top: 1; display: none; scrollbar-size-vertical: 1; }
        #found.-on { display: block; }
        #state { height: auto; color: $quiet; margin-top: 1; }
        #state.-wrong { color: $error; }
        .buttons { height: auto; margin: 1 0; align-horizontal: right; }
        Button { margin-left: 2; min-width: 10; }
    }
    """
    AUTO_FOCUS = "#where"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", _("Cancel")),
        Binding("ctrl+s", "import", _("Import"), priority=True),
    ]

    def __init__(self, path: str = "") -> None:
        super().__init__()
        self._given = path
        self._looked_at = ""
        self._work: Worker[None] | None = None

    @property
    def atlas(self) -> "BaseApp":
        return cast("BaseApp", self.app)

    # --- display ----------------------------------------------------------------------------------

    def compose(self) -> ComposeResult:
        with Vertical(classes="box") as box:
            box.border_title = _("Import conversations")
            yield from self._choices()
            yield VerticalScroll(Static("", id="found-text", markup=False), id="found", can_focus=False)
            yield Static(
                _(
                    "Exports from ChatGPT, Claude, Open WebUI, LM Studio, Jan, llm, Markdown and Atlas. "
                    "Existing data does not change. Nothing leaves this computer."
                ),
                id="state",
                markup=False,
            )
            with Horizontal(classes="buttons"):
                yield Button(_("Cancel"), id="cancel", compact=True)
                yield Button(_("Scan"), id="look", compact=True)
                yield Button(_("Import"), id="import", variant="primary", compact=True)

    def _choices(self) -> Iterator[Horizontal | Checkbox]:
        where = CleanInput(
            self._given,
            id="where",
            compact=True,
            placeholder=_("A file, an archive or a folder: ~/Downloads/export.zip"),
            select_on_focus=False,
        )
        yield _line("where", where)
        yield _line("project", CleanInput(id="project", compact=True, placeholder=_("Empty: as in the file")))
        boxes = {"memory": [(_(_MEMORY_TEXTS[mode or "given"]), mode) for mode in ("", *_MODES)]}
        rooms = [one.store.room for one in self._rooms()]
        if len(rooms) > 1:
            boxes = {"room": [(_(_ROOM_TEXTS[room]), str(room)) for room in rooms], **boxes}
        fields: list[Label | Select[str]] = []
        for name, options in boxes.items():
            fields.append(Label(_(_IMPORTING_TEXTS[name]), classes="next" if fields else ""))
            fields.append(Select(options, value=options[0][1], allow_blank=False, id=name, compact=True))
        yield Horizontal(*fields, classes="line")
        yield Tick(_("Learn from your messages there"), id="learn", compact=True)

    def on_mount(self) -> None:
        if self._given:
            self._start(self._look())

    def _tell(self, text: str, *, wrong: bool = False) -> None:
        state = self.query_one("#state", Static)
        state.set_class(wrong, "-wrong")
        state.update(clean(text))

    # --- chosen options ---------------------------------------------------------------------------

    def _rooms(self) -> "list[RoomServices]":
        """Returns the rooms that can be imported into, the open one first."""
        kept = [one for one in self.atlas.desk.open_rooms if one.store.room is not RoomKind.OFF_RECORD]
        return sorted(kept, key=lambda one: one.store.room is RoomKind.PRIVATE)

    def _room(self) -> "RoomServices":
        chosen = next((str(box.value) for box in self.query("#room").results(Select)), None)
        return next((one for one in self._rooms() if str(one.store.room) == chosen), self._rooms()[0])

    def _path(self) -> Path | None:
        """Returns the path; None, with a notice, if nothing has that name."""
        given = self.query_one("#where", Input).value.strip()
        if not given:
            self._tell(_("Enter a path."), wrong=True)
            return None
        try:
            path = Path(given).expanduser().absolute()
            if path.exists():
                return path
        except (RuntimeError, OSError, ValueError):
            path = Path(given)
        self._tell(_("{where} does not exist.", where=path), wrong=True)
        return None

    def _options(self, *, dry_run: bool) -> ImportOptions:
        return ImportOptions(
            project=self.query_one("#project", Input).value.strip() or None,
            memory_mode=next(
                (mode for mode in _MODES if mode == self.query_one("#memory", Select).value), None
            ),
            dry_run=dry_run,
            learn=self.query_one("#learn", Checkbox).value,
        )

    # --- events -----------------------------------------------------------------------------------

    @on(Input.Submitted)
    def _submitted(self) -> None:
        """Checks the files the first time, imports the next time."""
        if self._looked_at and self._looked_at == self.query_one("#where", Input).value:
            self.action_import()
        else:
            self._start(self._look())

    @on(Input.Changed, "#where")
    def _changed(self) -> None:
        self.query_one("#found").remove_class("-on")
        self._tell(
            _(
                "Exports from ChatGPT, Claude, Open WebUI, LM Studio, Jan, llm, Markdown and Atlas. "
                "Existing data does not change. Nothing leaves this computer."
            )
        )

    def on_button_pressed(self, event: Button.Pressed) -> None:
        event.stop()
        match event.button.id:
            case "import":
                self.action_import()
            case "look":
                self._start(self._look())
            case _:
                self.action_cancel()

    def action_cancel(self) -> None:
        """Stops the check, or closes the window."""
        if self._work is not None and self._work.is_running:
            self._work.cancel()
            self._tell(
                _(
                    "Exports from ChatGPT, Claude, Open WebUI, LM Studio, Jan, llm, Markdown and Atlas. "
                    "Existing data does not change. Nothing leaves this computer."
                )
            )
        else:
            self.dismiss(None)

    def action_import(self) -> None:
        path = self._path()
        if path is None:
            return
        if importing.is_under_way(self.atlas):
            self._tell(_("An import is already running."), wrong=True)
            return
        if self._work is not None:
            self._work.cancel()
        work = importing.carry_out(self.atlas, self._room(), [path], self._options(dry_run=False))
        self.atlas.attempt(work, group=importing.GROUP)
        self.dismiss(None)

    # --- checking the files -----------------------------------------------------------------------

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        self._work = self.run_worker(work, group=_GROUP, exclusive=True, exit_on_error=False)

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        event.stop()
        error = event.worker.error
        if event.state is not WorkerState.ERROR or error is None:
            return
        if isinstance(error, OSError):
            self._tell(_("{where} cannot be read.", where=error.filename), wrong=True)
        else:
            words = explain(error)
            self._tell(f"{words.title}. {words.message}\n{words.next_step}", wrong=True)

    async def _look(self) -> None:
        path = self._path()
        if path is None:
            return
        self._tell(_("Scanning…"))
        given = self.query_one("#where", Input).value
        importer = Importer(self._room().store.transfer, self._looking)
        report = await importer.take([path], self._options(dry_run=True))
        report.require_known()
        self.query_one("#found-text", Static).update(_found_words(report))
        self.query_one("#found").add_class("-on")
        self._looked_at = given
        self._tell(
            _("Press Enter to import. You can keep chatting meanwhile.")
            if report.messages
            else _("Nothing new to import.")
        )

    def _looking(self, _report: ImportReport, meter: Meter) -> None:
        self._tell(_("Scanning… {share}", share=importing.share_of(meter)))


def _found_words(report: ImportReport) -> Content:
    lines: list[str | tuple[str, str]] = [(clean(summary(report, dry_run=True)), "bold")]
    told = left(report)
    if told:
        lines.append("\n" + _("{count} skipped:", count=number(len(report.skipped) + report.more_skipped)))
        lines += [f"\n{clean(line)}" for line in told[:_SHOWN]]
        if len(told) > _SHOWN:
            lines.append("\n" + _("… and {count} more", count=number(len(told) - _SHOWN)))
    lines += [f"\n{clean(line)}" for line in passed_over(report)]
    return Content.assemble(*lines)


def _line(name: str, field: Input) -> Horizontal:
    return Horizontal(Label(_(_IMPORTING_TEXTS[name])), field, classes="line")


GROUP = "import"
_EVERY_S = 0.25
# Messages in a batch. New messages of the user are stored between two batches; the import pauses while they
# are answered.
_AT_ONCE = 300


def is_under_way(app: "BaseApp") -> bool:
    return any(worker.group == GROUP and not worker.is_finished for worker in app.workers)


async def carry_out(
    app: "BaseApp", room: "RoomServices", paths: Sequence[Path], options: ImportOptions
) -> ImportReport:
    """Imports everything; what has been imported stays if it is interrupted.

    Raises `UnknownExport`, `OSError`, and what the store raises.
    """
    progress = _Progress(app, room)
    elsewhere = [one.store.transfer for one in app.desk.open_rooms if one is not room]
    try:
        importer = Importer(
            room.store.transfer,
            progress.told,
            elsewhere,
            at_once=_AT_ONCE,
            between=app.desk.gate.checkpoint,
        )
        report = await importer.take(paths, options)
    finally:
        progress.end()
    report.require_known()
    if report.messages:
        await room.remember()
        if options.learn:
            await room.learning.everything()
    app.say(_told_at_the_end(report), anywhere=True)
    return report


def _told_at_the_end(report: ImportReport) -> str:
    """Returns what was imported, and what was left out."""
    words = _("Imported: {summary}", summary=summary(report, dry_run=False))
    if not report.skipped:
        return words
    first = report.skipped[0]
    count = len(report.skipped) + report.more_skipped
    return f"{words}\n" + _(
        "{count} skipped, the first one {where}: {why}.",
        count=number(count),
        where=first.where,
        why=first.why,
    )


class _Progress:
    """Shows progress in the status line; updates the list of conversations at the end."""

    def __init__(self, app: "BaseApp", room: "RoomServices") -> None:
        self._app = app
        self._room = room
        self._told_at = 0.0

    def told(self, report: ImportReport, meter: Meter) -> None:
        now = time.monotonic()
        if now - self._told_at < _EVERY_S:
            return
        self._told_at = now
        if self._room.store.room is RoomKind.PRIVATE:
            # The room stays open as long as something is imported into it.
            self._app.desk.rooms.used()
        count = report.messages + report.already_there
        left = meter.remaining
        if left is None:
            self._show(_("importing {share}, {count} messages", count=number(count), share=share_of(meter)))
        else:
            words = remaining(left)
            self._show(
                _(
                    "importing {share}, {count} messages, {left}",
                    count=number(count),
                    share=share_of(meter),
                    left=words,
                )
            )

    def end(self) -> None:
        self._show("")
        if (chat := self._app.chat) is not None and chat.is_mounted:
            chat.refresh_list()

    def _show(self, text: str) -> None:
        self._app.background = text
        if (chat := self._app.chat) is not None and chat.is_mounted:
            chat.tell()


def share_of(meter: Meter) -> str:
    return f"{meter.share:.0%}"
