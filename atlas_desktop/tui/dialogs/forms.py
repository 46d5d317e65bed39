"""Windows that ask for text, and the list of named texts with keys to add, edit and remove."""

from abc import abstractmethod
from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input, OptionList, Static, TextArea
from textual.widgets.option_list import Option

from atlas_desktop.locale import _
from atlas_desktop.services.cleaning import clean, clean_line
from atlas_desktop.tui.dialogs.questions import ConfirmScreen
from atlas_desktop.tui.widgets import CleanInput, CompletionMenu, Offer, Tick, Window

if TYPE_CHECKING:
    from atlas_desktop.services.room import RoomServices
    from atlas_desktop.tui.base import BaseApp


_CSS = """
{name} {{
    .box {{ width: 84; height: 70%; }}
    .hint {{ color: $quiet; height: auto; margin-bottom: 1; }}
    .problem {{ color: $error; height: auto; }}
    TextArea {{ height: 1fr; min-height: 4; border: round $border-blurred; }}
    TextArea:focus {{ border: round $border; }}
}}
"""
_LINE_LONGEST = 2000


class TextEditScreen(Window[str | None]):
    """Dismissed with the text, or None if cancelled. `missing` is said when the text is empty; without it an
    empty text can be saved."""

    DEFAULT_CSS = _CSS.format(name="TextEditScreen")
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", _("Cancel")),
        Binding("ctrl+s", "save", _("Save"), priority=True),
    ]

    def __init__(self, title: str, text: str, *, hint: str = "", missing: str = "") -> None:
        super().__init__()
        self._heading, self._text, self._hint, self._missing = title, text, hint, missing

    def compose(self) -> ComposeResult:
        with Vertical(classes="box") as box:
            box.border_title = clean_line(self._heading)
            box.border_subtitle = _("Ctrl+S saves · Esc cancels")
            if self._hint:
                yield Static(Content(self._hint), classes="hint", markup=False)
            yield TextArea(clean(self._text), soft_wrap=True, id="text")
            if self._missing:
                yield Static("", classes="problem", markup=False)

    def on_mount(self) -> None:
        self.query_one(TextArea).focus()

    def action_save(self) -> None:
        text = self.query_one(TextArea).text.strip()
        if text or not self._missing:
            self.dismiss(text)
        else:
            self.query_one(".problem", Static).update(self._missing)

    def action_cancel(self) -> None:
        self.dismiss(None)


class NamedTextScreen(Window[tuple[str, str] | None]):
    """As `TextEditScreen`, with a name: dismissed with both."""

    DEFAULT_CSS = _CSS.format(name="NamedTextScreen")
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", _("Cancel")),
        Binding("ctrl+s", "save", _("Save"), priority=True),
    ]

    def __init__(self, title: str, name: str, text: str, *, hint: str = "") -> None:
        super().__init__()
        self._heading, self._name_now, self._text, self._hint = title, name, text, hint

    def compose(self) -> ComposeResult:
        with Vertical(classes="box") as box:
            box.border_title = clean_line(self._heading)
            box.border_subtitle = _("Ctrl+S saves · Esc cancels")
            yield Static(Content(self._hint), classes="hint", markup=False)
            yield CleanInput(clean_line(self._name_now), placeholder=_("Name"), id="name", max_length=60)
            yield TextArea(clean(self._text), soft_wrap=True, id="text")
            yield Static("", classes="problem", markup=False)

    def on_input_submitted(self) -> None:
        self.query_one(TextArea).focus()

    def action_save(self) -> None:
        name = self.query_one(CleanInput).value.strip()
        text = self.query_one(TextArea).text.strip()
        if name and text:
            self.dismiss((name, text))
        else:
            self.query_one(".problem", Static).update(_("Enter a name and a text."))

    def action_cancel(self) -> None:
        self.dismiss(None)


class NamedLineScreen(Window[tuple[str, str] | None]):
    """As `NamedTextScreen`, for one line of text: Enter saves from either field. `label` is the placeholder
    of the text field, `missing` the notice while a field is empty."""

    DEFAULT_CSS = _CSS.format(name="NamedLineScreen").replace("height: 70%", "height: auto")
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", _("Cancel")),
        Binding("ctrl+s", "save", _("Save"), priority=True),
    ]

    def __init__(self, title: str, name: str, line: str, *, label: str, missing: str) -> None:
        super().__init__()
        self._heading, self._name_now, self._line = title, name, line
        self._label, self._missing = label, missing

    def compose(self) -> ComposeResult:
        with Vertical(classes="box") as box:
            box.border_title = clean_line(self._heading)
            box.border_subtitle = _("Enter saves · Esc cancels")
            yield CleanInput(
                clean_line(self._name_now),
                placeholder=_("Name"),
                id="name",
                max_length=60,
                select_on_focus=False,
            )
            yield CleanInput(
                clean_line(self._line),
                placeholder=self._label,
                id="line",
                max_length=_LINE_LONGEST,
                select_on_focus=False,
            )
            yield Static("", classes="problem", markup=False)

    def on_input_submitted(self) -> None:
        self.action_save()

    def action_save(self) -> None:
        """Saves, or moves to the empty field."""
        fields = list(self.query(CleanInput))
        empty = next((field for field in fields if not field.value.strip()), None)
        if empty is None:
            name, line = (field.value.strip() for field in fields)
            self.dismiss((name, line))
        else:
            self.query_one(".problem", Static).update(self._missing)
            empty.focus()

    def action_cancel(self) -> None:
        self.dismiss(None)


TICKED = "x"


class _EnterConfirms(Tick, inherit_bindings=False):
    """A tick box in which Enter confirms the window, as in the fields next to it; Space ticks it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "toggle_button", show=False),
        Binding("enter", "screen.confirm", show=False),
    ]


class FieldsScreen(Window[dict[str, str] | None]):
    """Dismissed with the text of each field by its name, or None. Enter moves to the next field; in the last
    one it confirms, as Ctrl+S does anywhere.

    `hidden` names the fields whose text is not shown while it is typed. `ticks` are boxes below the fields,
    not ticked at first, each with its explanation; the text of one is `TICKED` or empty. `placeholders` are
    shown in empty fields; `values` is what fields contain at first. `offers` return completions of what is
    typed in a field: the new text of the field is inserted; in fields that `unlisted` names, other texts are
    as good, so none is marked until the user moves to one. `check` returns what is wrong, or nothing.
    """

    DEFAULT_CSS = """
    FieldsScreen {
        .box { width: 72; max-width: 94%; max-height: 90%; scrollbar-size-vertical: 1; }
        .name { height: 1; padding-left: 1; color: $foreground; }
        .hint { color: $quiet; height: auto; margin-bottom: 1; padding-left: 1; }
        Tick { height: 1; background: transparent; border: none; padding: 0; margin: 1 0 0 1; }
        .meaning { color: $quiet; height: auto; padding-left: 5; }
        .problem { color: $error; height: auto; padding-left: 1; display: none; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", _("Cancel")),
        Binding("ctrl+s", "confirm", show=False, priority=True),
        Binding("up", "step(-1)", show=False),
        Binding("down", "step(1)", show=False),
    ]

    def __init__(
        self,
        title: str,
        names: Sequence[str],
        *,
        hint: str = "",
        hidden: Collection[str] = (),
        ticks: Mapping[str, str] | None = None,
        placeholders: Mapping[str, str] | None = None,
        values: Mapping[str, str] | None = None,
        offers: Mapping[str, Callable[[str], Sequence[Offer]]] | None = None,
        unlisted: Collection[str] = (),
        check: Callable[[Mapping[str, str]], str] | None = None,
    ) -> None:
        super().__init__()
        self._offers = offers or {}
        self._unlisted = unlisted
        self._check = check
        self._values = values or {}
        self._heading = title
        self._names = list(names)
        self._hint = hint
        self._hidden = hidden
        self._ticks = ticks or {}
        self._placeholders = placeholders or {}

    def compose(self) -> ComposeResult:
        with VerticalScroll(classes="box", can_focus=False) as box:
            box.border_title = clean_line(self._heading)
            if self._ticks:
                box.border_subtitle = _("Space ticks · Ctrl+S confirms · Esc cancels")
            elif len(self._names) > 1:
                box.border_subtitle = _("Enter: next field · Ctrl+S confirms · Esc cancels")
            else:
                box.border_subtitle = _("Enter confirms · Esc cancels")
            if self._hint:
                yield Static(Content(self._hint), classes="hint", markup=False)
            for number, name in enumerate(self._names):
                yield Static(Content(clean_line(name)), classes="name", markup=False)
                yield CleanInput(
                    self._values.get(name, ""),
                    id=f"field-{number}",
                    password=name in self._hidden,
                    placeholder=self._placeholders.get(name, ""),
                )
                if name in self._offers:
                    yield CompletionMenu(id=f"offers-{number}")
            yield Static("", classes="problem", markup=False)
            for name, meaning in self._ticks.items():
                yield _EnterConfirms(clean_line(name), compact=True)
                yield Static(Content(meaning), classes="meaning", markup=False)

    def _menu(self, field: Widget | None) -> CompletionMenu | None:
        """Returns the list of completions of a field that has some."""
        for number, name in enumerate(self._names):
            if name in self._offers and field is not None and field.id == f"field-{number}":
                return self.query_one(f"#offers-{number}", CompletionMenu)
        return None

    def _complete(self, field: Input) -> None:
        """Shows the completions of what is typed. While nothing is typed, none is marked: Enter goes on."""
        if (menu := self._menu(field)) is not None:
            name = self._names[int((field.id or "").rpartition("-")[2])]
            menu.offer(self._offers[name](field.value), field.value)
            if name in self._unlisted or not field.value.strip() or field.value.rstrip().endswith(","):
                menu.highlighted = None

    def on_input_changed(self, event: Input.Changed) -> None:
        self.query_one(".problem").display = False
        if event.input.has_focus:
            self._complete(event.input)

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        for menu in self.query(CompletionMenu):
            menu.offer(())
        if isinstance(event.widget, Input):
            self._complete(event.widget)

    def action_step(self, by: int) -> None:
        """Moves the mark in the list of completions."""
        if (menu := self._menu(self.focused)) is not None:
            menu.step(by)

    def on_completion_menu_picked(self, event: CompletionMenu.Picked) -> None:
        if isinstance(field := self.focused, Input):
            self._put(field, event.offer)

    def _put(self, field: Input, offer: Offer) -> None:
        field.value = offer.insert
        field.cursor_position = len(offer.insert)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        menu = self._menu(event.input)
        if menu is not None and menu.picked is not None and menu.offered_for == event.input.value:
            self._put(event.input, menu.picked)
            return
        fields = list(self.query(Input))
        at = fields.index(event.input)
        if at + 1 < len(fields):
            fields[at + 1].focus()
        else:
            self.action_confirm()

    def action_confirm(self) -> None:
        given = [field.value for field in self.query(Input)]
        given += [TICKED if box.value else "" for box in self.query(Tick)]
        fields = dict(zip([*self._names, *self._ticks], given, strict=True))
        if self._check is not None and (problem := self._check(fields)):
            shown = self.query_one(".problem", Static)
            shown.update(Content(problem))
            shown.display = True
        else:
            self.dismiss(fields)

    def action_cancel(self) -> None:
        self.dismiss(None)


class PathScreen(Window[str | None]):
    """Dismissed with the typed path, without the quotes that terminals put around it, or None."""

    of_rooms = False
    DEFAULT_CSS = """
    PathScreen {
        .box { width: 72; max-width: 94%; }
        .hint { color: $quiet; height: auto; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "cancel", show=False)]

    def __init__(self, title: str, *, placeholder: str, hint: str) -> None:
        super().__init__()
        self._heading = title
        self._placeholder = placeholder
        self._hint = hint

    def compose(self) -> ComposeResult:
        with Vertical(classes="box") as box:
            box.border_title = self._heading
            yield CleanInput(placeholder=self._placeholder)
            yield Static(self._hint, classes="hint", markup=False)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self.dismiss(event.value.strip().strip("'\"") or None)

    def action_cancel(self) -> None:
        self.dismiss(None)


class EnterSaves(TextArea):
    """A text area in which Enter saves; Shift+Enter or Ctrl+J breaks the line."""

    class Saved(Message):
        """The user pressed Enter."""

    async def on_key(self, event: events.Key) -> None:
        if event.key == "enter":
            event.stop()
            event.prevent_default()
            self.post_message(self.Saved())
        elif event.key in ("shift+enter", "ctrl+j", "alt+enter"):
            event.stop()
            event.prevent_default()
            self.replace("\n", *self.selection, maintain_selection_offset=False)


class MemoryEditScreen(Window[str | None]):
    """Dismissed with the new text, or None if it is unchanged.

    With `enter_saves`, for a text of a sentence or two, Enter saves it.
    """

    DEFAULT_CSS = """
    MemoryEditScreen {
        .box { width: 72; max-width: 94%; max-height: 90%; }
        TextArea {
            height: auto; min-height: 4; max-height: 14; margin-bottom: 1;
            border: round $border-blurred;
        }
        TextArea:focus { border: round $border; }
        .hint { color: $quiet; height: auto; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", _("Cancel")),
        Binding("ctrl+s", "save", _("Save"), priority=True),
    ]

    def __init__(self, title: str, text: str, *, enter_saves: bool = False) -> None:
        super().__init__()
        self._heading = title
        self._text = clean(text)
        self._enter_saves = enter_saves

    def compose(self) -> ComposeResult:
        field = EnterSaves if self._enter_saves else TextArea
        hint = (
            _("Enter saves · Shift+Enter or Ctrl+J: new line · Esc cancels")
            if self._enter_saves
            else _("Ctrl+S saves · Esc cancels")
        )
        with Vertical(classes="box") as box:
            box.border_title = self._heading
            yield field(self._text, id="memory-text", soft_wrap=True)
            yield Static(hint, classes="hint", markup=False)

    def on_mount(self) -> None:
        field = self.query_one(TextArea)
        field.move_cursor(field.document.end)

    def on_enter_saves_saved(self) -> None:
        self.action_save()

    def action_save(self) -> None:
        text = clean(self.query_one(TextArea).text).strip()
        self.dismiss(text if text and text != self._text.strip() else None)

    def action_cancel(self) -> None:
        self.dismiss(None)


GROUP = "kept"
_LONGEST = 200


class Kept(Protocol):
    @property
    def id(self) -> str: ...

    @property
    def name(self) -> str: ...


T = TypeVar("T", bound=Kept)


class NamedItemsScreen(Window[T | None], Generic[T]):
    """Dismissed with the chosen item, or None."""

    DEFAULT_CSS = """
    NamedItemsScreen {
        .box { width: 84; max-height: 90%; }
        OptionList {
            height: auto; max-height: 20; border: none; padding: 0; background: $surface;
            scrollbar-size-vertical: 1; text-wrap: nowrap; text-overflow: ellipsis;
        }
        OptionList:focus { border: none; background-tint: transparent; }
        .hint { color: $quiet; height: auto; margin-bottom: 1; }
        .none { height: auto; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", _("Close")),
        Binding("a", "add", _("Add")),
        Binding("e", "edit", _("Edit")),
        Binding("delete,d", "remove", _("Remove")),
    ]
    heading = ""
    hint = ""
    none = ""
    keys_hint = _("Enter uses it · a adds · e edits · d removes · Esc closes")
    stays = ""
    """Says what is kept when an item is removed."""

    def __init__(self, app: "BaseApp", room: "RoomServices") -> None:
        super().__init__()
        self.atlas = app
        self.room = room
        self._things: list[T] = []

    def compose(self) -> ComposeResult:
        with Vertical(classes="box") as box:
            box.border_title = self.heading
            box.border_subtitle = self.keys_hint
            yield Static(Content(self.hint), classes="hint", markup=False)
            yield OptionList(markup=False)
            yield Static(Content(self.none), classes="none", markup=False)

    def on_mount(self) -> None:
        self._do(self._show())

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        self.atlas.attempt(work, group=GROUP)

    async def _show(self, marked: str | None = None) -> None:
        self._things = list(await self.things())
        listing = self.query_one(OptionList)
        listing.clear_options()
        listing.add_options([Option(_line(one.name, self.described(one))) for one in self._things])
        listing.display = bool(self._things)
        self.query_one(".none", Static).display = not self._things
        if self._things:
            listed = list(enumerate(self._things))
            at = next(
                (i for i, one in listed if (self.in_use(one) if marked is None else one.id == marked)), 0
            )
            listing.highlighted = at
            listing.focus()

    @property
    def marked(self) -> T | None:
        at = self.query_one(OptionList).highlighted
        return None if at is None or at >= len(self._things) else self._things[at]

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.dismiss(self._things[event.option_index])

    def action_add(self) -> None:
        self._do(self._edit(None))

    def action_edit(self) -> None:
        if (one := self.marked) is not None:
            self._do(self._edit(one))

    async def _edit(self, old: T | None) -> None:
        made = await self.edited(old)
        if made is not None:
            await self._show(made.id)

    def action_remove(self) -> None:
        if (one := self.marked) is not None:
            self._do(self._remove(one))

    async def _remove(self, one: T) -> None:
        question = ConfirmScreen(
            _("Remove?"),
            self.said_of_removal(one),
            agree=_("Remove"),
            refuse=_("Keep"),
        )
        if await self.atlas.push_screen_wait(question):
            await self.removed(one)
            await self._show()

    def action_cancel(self) -> None:
        self.dismiss(None)

    # --- what subclasses define -------------------------------------------------------------------

    def in_use(self, _one: T) -> bool:
        """Whether the conversation uses it; the cursor starts there."""
        return False

    def said_of_removal(self, one: T) -> str:
        """Returns the question that is asked before an item is removed."""
        return "\n".join(
            part for part in (_("“{name}” will be removed permanently.", name=one.name), self.stays) if part
        )

    @abstractmethod
    async def things(self) -> Sequence[T]:
        """Returns the items."""

    @abstractmethod
    def described(self, one: T) -> str:
        """Returns the line below a name."""

    @abstractmethod
    async def edited(self, old: T | None) -> T | None:
        """Asks for a new item, or for changes to an existing one, and saves it. Returns None if cancelled."""

    @abstractmethod
    async def removed(self, one: T) -> None:
        """Removes an item permanently; the user has confirmed."""


def _line(name: str, text: str) -> Content:
    return Content.assemble((clean_line(name), "bold"), "\n  ", (clean_line(text[:_LONGEST]), "$quiet"))
