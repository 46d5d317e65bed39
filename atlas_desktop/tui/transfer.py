"""The windows for importing and exporting conversations."""

import time
from collections.abc import Coroutine, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, ItemGrid, Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Button, Checkbox, Input, Label, Select, Static
from textual.worker import Worker, WorkerState

from atlas_desktop.errors import TargetExists, TargetRefused
from atlas_desktop.exporting.formats import FORMATS, format_of, stem_of
from atlas_desktop.exporting.redaction import KINDS, Redaction
from atlas_desktop.exporting.service import (
    Chosen,
    ExportService,
    FileTarget,
    FolderTarget,
    Order,
    Report,
    Seal,
    SealedTarget,
    Target,
)
from atlas_desktop.importing.entities import ImportOptions, ImportReport, Meter
from atlas_desktop.importing.importer import Importer
from atlas_desktop.locale import N_, _, ngettext, number
from atlas_desktop.phrases import held, importable, left, passed_over, remaining, summary
from atlas_desktop.services.cleaning import clean, clean_line
from atlas_desktop.tui.dialogs.questions import ConfirmScreen
from atlas_desktop.tui.widgets import CleanInput, Tick, Window, field_line
from memory.entities import MemoryMode, RoomKind, Session

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


class ImportDialog(Window[None]):
    """Checks the files first and says what they contain; the import itself runs in the background."""

    CSS = """
    ImportDialog {
        .box { width: 76; padding: 1 2 0 2; }
        .line { height: auto; margin-bottom: 1; }
        .line > Label { width: 12; }
        .line > .next { margin-left: 2; }
        .line > Input, .line > Select { width: 1fr; }
        .line > Input { height: 1; border: none; padding: 0 1; background: $panel; }
        .line > Input:focus { background: $primary 25%; }
        .line > Button { margin-left: 1; }
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
        Binding("ctrl+o", "choose", _("Choose"), priority=True),
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
            box.border_subtitle = _("Esc closes")
            yield from self._choices()
            yield VerticalScroll(Static("", id="found-text", markup=False), id="found", can_focus=False)
            yield Static(
                importable(),
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
        choose = Button(_("Choose…"), id="choose", compact=True, tooltip="Ctrl+O")
        yield _line("where", where, choose)
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
        self._tell(importable())

    def on_button_pressed(self, event: Button.Pressed) -> None:
        event.stop()
        match event.button.id:
            case "import":
                self.action_import()
            case "look":
                self._start(self._look())
            case "choose":
                self.action_choose()
            case _:
                self.action_cancel()

    def action_cancel(self) -> None:
        """Stops the check, or closes the window."""
        if self._work is not None and self._work.is_running:
            self._work.cancel()
            self._tell(importable())
        else:
            self.dismiss(None)

    def action_choose(self) -> None:
        """Shows the files and folders to choose from, then checks what was chosen."""
        from atlas_desktop.tui.paths import PathPicker

        def chosen(path: str | None) -> None:
            if path is not None:
                with self.prevent(Input.Changed):
                    self.query_one("#where", Input).value = path
                self.query_one("#found").remove_class("-on")
                self._start(self._look())

        hint = _("A file, an archive, or a folder of exports.")
        self.app.push_screen(PathPicker(_("Import conversations"), hint=hint, folders=True), chosen)

    def action_import(self) -> None:
        path = self._path()
        if path is None:
            return
        if is_under_way(self.atlas):
            self._tell(_("An import is already running."), wrong=True)
            return
        if self._work is not None:
            self._work.cancel()
        work = carry_out(self.atlas, self._room(), [path], self._options(dry_run=False))
        self.atlas.attempt(work, group=GROUP)
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
            words = self.atlas.explain(error)
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
        if report.messages and self.focused is self.query_one("#look"):
            # Enter there would scan again.
            self.query_one("#import").focus()

    def _looking(self, _report: ImportReport, meter: Meter) -> None:
        self._tell(_("Scanning… {share}", share=share_of(meter)))


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


def _line(name: str, *fields: Input | Button) -> Horizontal:
    return Horizontal(Label(_(_IMPORTING_TEXTS[name])), *fields, classes="line")


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


_KINDS_TEXTS = {
    "names": N_("Names"),
    "emails": N_("Email"),
    "phones": N_("Phone"),
    "addresses": N_("Addresses"),
    "cards": N_("Cards"),
    "ids": N_("ID numbers"),
}

_USUAL = "md"
_OWN_KINDS = tuple(kind for kind in KINDS if kind != "words")
_EXPORTING_GROUP = "export"
_EXPORTING_SHOWN = 200


class ExportDialog(Window[Report | None]):
    """Exports the sessions with these ids from all open rooms; those of the private room only if the user
    asks for it. `path` is the file to begin with. Dismissed with a report, or None."""

    CSS_PATH = "exporting.tcss"
    AUTO_FOCUS = "#format"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", _("Cancel")),
        Binding("ctrl+s", "export", _("Export"), priority=True),
    ]

    def __init__(self, ids: Sequence[str], path: str = "") -> None:
        super().__init__()
        self._given = path
        self._ids = tuple(dict.fromkeys(ids))
        self._found: list[tuple[RoomServices, Session]] = []
        self._path_shown = ""
        self._work: Worker[None] | None = None

    @property
    def atlas(self) -> "BaseApp":
        return cast("BaseApp", self.app)

    # --- display ----------------------------------------------------------------------------------

    def compose(self) -> ComposeResult:
        with Vertical(classes="box") as box:
            box.border_title = ngettext(
                "Export this conversation", "Export {count} conversations", len(self._ids)
            )
            box.border_subtitle = _("Tab goes on · Ctrl+S exports · Esc cancels")
            with VerticalScroll(id="choices", can_focus=False):
                yield from self._choices()
            yield Static(
                _("The export is not encrypted. Anyone with access to the file can read it."),
                id="state",
                markup=False,
            )
            with Horizontal(classes="buttons"):
                yield Button(_("Cancel"), id="cancel", compact=True)
                yield Button(_("Preview"), id="preview", compact=True)
                yield Button(_("Export"), id="export", variant="primary", compact=True)

    def _choices(self) -> Iterator[Horizontal | Vertical | VerticalScroll | Checkbox]:
        formats = [(one.title, one.name) for one in FORMATS.values()]
        named = format_of(Path(self._given).suffix) or _USUAL
        yield field_line("format", Select(formats, value=named, allow_blank=False, id="format", compact=True))
        yield field_line("where", CleanInput(self._given, id="where", compact=True))
        if len(self._ids) > 1:
            yield Tick(_("One file per conversation"), id="each", compact=True)
        yield Tick(_("Include related memories"), id="memories", compact=True)
        private = Tick("", id="private", compact=True)
        private.display = False
        yield private
        yield Tick(_("Remove personal data"), id="redact", compact=True)
        kinds = [Tick(_(_KINDS_TEXTS[k]), True, id=f"kind-{k}", compact=True) for k in _OWN_KINDS]  # noqa: FBT003 - Textual's own
        words = CleanInput(
            id="words", compact=True, placeholder=_("Your own, separated by commas: Project Heron, Dana")
        )
        yield Vertical(
            ItemGrid(*kinds, id="kinds", min_column_width=16), field_line("words", words), id="personal"
        )
        secret = CleanInput(password=True, id="secret", compact=True, placeholder=_("Empty: no encryption"))
        yield field_line("seal", secret, margin=True)
        again = field_line("seal.again", CleanInput(password=True, id="again", compact=True))
        again.id = "again-line"
        again.display = False
        yield again
        yield VerticalScroll(Static("", id="found-text", markup=False), id="found")

    def on_mount(self) -> None:
        self._start(self._look())

    async def _look(self) -> None:
        rooms = self.atlas.desk.rooms
        self._found = [await rooms.find(session_id) for session_id in self._ids]
        private = sum(session.room is RoomKind.PRIVATE for _unused, session in self._found)
        if private:
            box = self.query_one("#private", Checkbox)
            only = len(self._found) == 1
            box.label = (
                _("Export from the private room")
                if only
                else ngettext("Include the private one", "Include the {count} private ones", private)
            )
            box.display = True
        self._suggest()
        self._tell()

    def _suggest(self) -> None:
        """Suggests a path for the chosen options; of one that the user has typed, only the ending changes."""
        field = self.query_one("#where", Input)
        if field.value != self._path_shown:
            typed = Path(field.value)
            if format_of(typed.suffix) not in (None, self._format):
                field.value = str(typed.with_suffix(FORMATS[self._format].suffix))
            return
        one = self._found[0][1].title if len(self._found) == 1 and self._named else ""
        stem = stem_of(clean_line(one) or f"Atlas {self.atlas.now():%Y-%m-%d}")
        suffix = FORMATS[self._format].suffix
        if self._each:
            suffix = ".tar.age" if self._secret else ""
        elif self._secret:
            suffix += ".age"
        self._path_shown = field.value = str(Path("~") / f"{stem}{suffix}")

    @property
    def _named(self) -> bool:
        """Whether the title may be in the file name; a private one only if that conversation is exported
        itself."""
        return self._found[0][1].room is not RoomKind.PRIVATE or self._ticked("#private")

    def _tell(self, text: str = "", *, wrong: bool = False) -> None:
        state = self.query_one("#state", Static)
        state.set_class(wrong, "-wrong")
        usual = (
            _("Encrypted with age. You need this passphrase to open it.")
            if self._secret
            else _("The export is not encrypted. Anyone with access to the file can read it.")
        )
        if not text and not self._going:
            usual = ngettext(
                "It is in the private room. Tick the box to export it.",
                "They are all in the private room. Tick the box to export them.",
                len(self._found),
            )
        elif not text and any(session.room is RoomKind.OFF_RECORD for _unused, session in self._found):
            usual = f"{usual} {_('It is off the record: the file will be the only copy.')}"
        if not text and self._ticked("#redact"):
            usual = f"{usual} {_('Not every name is recognised: read the file before you share it.')}"
        state.update(clean(text or usual))

    # --- chosen options ---------------------------------------------------------------------------

    def _ticked(self, name: str) -> bool:
        return any(box.value for box in self.query(name).results(Checkbox))

    @property
    def _format(self) -> str:
        return str(self.query_one("#format", Select).value)

    @property
    def _each(self) -> bool:
        return self._ticked("#each")

    @property
    def _secret(self) -> str:
        return self.query_one("#secret", Input).value

    @property
    def _going(self) -> "list[tuple[RoomServices, Session]]":
        private = self._ticked("#private")
        return [one for one in self._found if private or one[1].room is not RoomKind.PRIVATE]

    def _path(self) -> Path:
        """Returns the path. Raises `TargetRefused` if it starts with an unknown user."""
        given = self.query_one("#where", Input).value.strip()
        try:
            return Path(given).expanduser().absolute()
        except RuntimeError:
            raise TargetRefused(Path(given), _("no such user")) from None

    def _order(self) -> Order:
        redaction = None
        if self._ticked("#redact"):
            kinds = frozenset(kind for kind in _OWN_KINDS if self._ticked(f"#kind-{kind}"))
            words = self.query_one("#words", Input).value.split(",")
            redaction = Redaction(kinds, tuple(word.strip() for word in words if word.strip()))
        return Order(self._format, self._each, self._ticked("#memories"), redaction)

    def _service(self) -> ExportService:
        chosen: list[Chosen] = []
        for room in self.atlas.desk.open_rooms:
            ids = tuple(session.id for store, session in self._going if store is room)
            chosen += [Chosen(room.store, ids)] if ids else []
        return ExportService(chosen, progress=self._progressed)

    def _progressed(self, done: int, total: int) -> None:
        self._tell(_("Writing: {done} of {total}", done=done, total=total))

    def _target(self, path: Path, *, force: bool) -> Target:
        secret = self._secret
        if self._each and not secret:
            return FolderTarget(path, force=force)
        target = FileTarget(path, force=force)
        return SealedTarget(target, Seal(passphrase=secret)) if secret else target

    # --- events -----------------------------------------------------------------------------------

    @on(Select.Changed, "#format")
    @on(Checkbox.Changed)
    @on(Input.Changed, "#secret")
    def _chosen_anew(self) -> None:
        self.query_one("#personal").set_class(self._ticked("#redact"), "-on")
        self.query_one("#again-line").display = bool(self._secret)
        self.query_one("#found").remove_class("-on")
        if self._found:
            self._suggest()
            self._tell()

    @on(Input.Changed, "#where")
    def _path_typed(self, event: Input.Changed) -> None:
        """A path that ends with another format's ending chooses that format."""
        named = format_of(Path(event.value).suffix)
        if event.value != self._path_shown and named not in (None, self._format):
            self.query_one("#format", Select).value = named

    def on_input_submitted(self) -> None:
        """Goes on to the button: what is not encrypted is not exported with the first Enter."""
        self.query_one("#export", Button).focus()

    def on_button_pressed(self, event: Button.Pressed) -> None:
        event.stop()
        match event.button.id:
            case "export":
                self.action_export()
            case "preview":
                self._start(self._preview())
            case _:
                self.action_cancel()

    def action_cancel(self) -> None:
        """Stops an export and removes what it wrote; otherwise closes the window."""
        if self._work is not None and self._work.is_running:
            self._work.cancel()
            self._tell()
        else:
            self.dismiss(None)

    def action_export(self) -> None:
        if not self._going:
            self._tell(
                ngettext(
                    "It is in the private room. Tick the box to export it.",
                    "They are all in the private room. Tick the box to export them.",
                    len(self._found),
                ),
                wrong=True,
            )
        elif self._secret and self._secret != self.query_one("#again", Input).value:
            self._tell(_("The passphrases do not match."), wrong=True)
            self.query_one("#again").focus()
        elif not self.query_one("#where", Input).value.strip():
            self._tell(_("Enter a path."), wrong=True)
        else:
            self._start(self._export())

    # --- running an export ------------------------------------------------------------------------

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        self._work = self.run_worker(work, group=_EXPORTING_GROUP, exclusive=True, exit_on_error=False)

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        event.stop()
        if event.state is WorkerState.ERROR and event.worker.error is not None:
            words = self.atlas.explain(event.worker.error)
            self._tell(f"{words.title}. {words.message}", wrong=True)

    async def _preview(self) -> None:
        self._tell(_("Reading…"))
        order = self._order()
        report = await self._service().preview(order)
        self.query_one("#found-text", Static).update(preview_words(report, order))
        found = self.query_one("#found")
        found.add_class("-on")
        self.call_after_refresh(found.scroll_visible)
        self._tell()

    async def _export(self) -> None:
        path = self._path()
        try:
            report = await self._write(path, force=False)
        except TargetExists as there:
            if not await self._may_replace(there.path):
                self._tell()
                return
            report = await self._write(path, force=True)
        self.atlas.say(done_words(report, path), anywhere=True)
        self.dismiss(report)

    async def _write(self, path: Path, *, force: bool) -> Report:
        return await self._service().write(self._order(), self._target(path, force=force))

    async def _may_replace(self, path: Path) -> bool:
        text = _("{where} already exists. Replaced files are lost.", where=path)
        return await self.atlas.push_screen_wait(
            ConfirmScreen(
                _("Replace existing files?"),
                text,
                agree=_("Replace"),
                refuse=_("Keep it"),
            )
        )


def preview_words(report: Report, order: Order) -> Content:
    """Returns what the export would contain, and what it would leave out."""
    lines: list[Content | str | tuple[str, str]] = [
        _("{what}.", what=held(report.sessions, report.messages)) + "\n"
    ]
    if order.redaction is None:
        lines.append(_("Nothing will be removed."))
    elif not report.found:
        lines.append(_("No personal data found. Anything missed stays in the export."))
    else:
        lines.append((_("To be removed:"), "bold"))
        for one in report.found[:_EXPORTING_SHOWN]:
            lines += [f"\n{one.count:>4} × ", (clean_line(one.text), "bold"), f" → {one.mark}"]
        if len(report.found) > _EXPORTING_SHOWN:
            lines.append("\n" + _("… and {count} more", count=number(len(report.found) - _EXPORTING_SHOWN)))
    return Content.assemble(*lines)


def done_words(report: Report, path: Path) -> str:
    """Returns what was written, and what the format could not show."""
    told = ngettext(
        "Exported to {where}", "{count} conversations exported to {where}", report.sessions, where=path
    )
    if not report.missing:
        return told
    return f"{told}\n" + ngettext(
        "1 character is missing from the fonts here and shown as a box.",
        "{count} characters are missing from the fonts here and shown as boxes.",
        report.missing,
    )
