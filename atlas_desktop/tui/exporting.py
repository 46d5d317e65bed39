"""The window to export conversations: format, target, and what to leave out."""

from collections.abc import Coroutine, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, ItemGrid, Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Button, Checkbox, Input, Select, Static
from textual.worker import Worker, WorkerState

from atlas_desktop.error_table import explain
from atlas_desktop.errors import TargetExists, TargetRefused
from atlas_desktop.exporting.formats import FORMATS, stem_of
from atlas_desktop.exporting.redaction import KINDS, Redaction
from atlas_desktop.exporting.service import Chosen, ExportService, Order, Report
from atlas_desktop.exporting.targets import FileTarget, FolderTarget, Seal, SealedTarget, Target
from atlas_desktop.locale import N_, _, ngettext, number
from atlas_desktop.phrases.rooms import held
from atlas_desktop.services.cleaning import clean, clean_line
from atlas_desktop.tui.dialogs.messages import ConfirmScreen
from atlas_desktop.tui.overlays import Covering
from atlas_desktop.tui.widgets.inputs import CleanInput, Tick, field_line
from memory.entities import RoomKind, Session

if TYPE_CHECKING:
    from atlas_desktop.services.room import RoomServices
    from atlas_desktop.tui.base import BaseApp
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
_GROUP = "export"
_SHOWN = 200


class ExportDialog(Covering, ModalScreen[Report | None]):
    """Exports the sessions with these ids from all open rooms; those of the private room only if the user
    asks for it. Dismissed with a report, or None."""

    CSS_PATH = "exporting.tcss"
    AUTO_FOCUS = "#format"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", _("Cancel")),
        Binding("ctrl+s", "export", _("Export"), priority=True),
    ]

    def __init__(self, ids: Sequence[str]) -> None:
        super().__init__()
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
        yield field_line(
            "format", Select(formats, value=_USUAL, allow_blank=False, id="format", compact=True)
        )
        yield field_line("where", CleanInput(id="where", compact=True))
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
        """Suggests a path for the chosen options, unless the user has typed another."""
        field = self.query_one("#where", Input)
        if field.value != self._path_shown:
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

    def on_input_submitted(self) -> None:
        self.action_export()

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
        self._work = self.run_worker(work, group=_GROUP, exclusive=True, exit_on_error=False)

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        event.stop()
        if event.state is WorkerState.ERROR and event.worker.error is not None:
            words = explain(event.worker.error)
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
        for one in report.found[:_SHOWN]:
            lines += [f"\n{one.count:>4} × ", (clean_line(one.text), "bold"), f" → {one.mark}"]
        if len(report.found) > _SHOWN:
            lines.append("\n" + _("… and {count} more", count=number(len(report.found) - _SHOWN)))
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
