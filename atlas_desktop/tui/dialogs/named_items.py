"""The base of windows that list named things, with keys to add, edit and remove them."""

from abc import abstractmethod
from collections.abc import Coroutine, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from atlas_desktop.locale import _
from atlas_desktop.services.cleaning import clean_line
from atlas_desktop.tui.dialogs.messages import ConfirmScreen
from atlas_desktop.tui.overlays import Covering

if TYPE_CHECKING:
    from atlas_desktop.services.room import RoomServices
    from atlas_desktop.tui.base import BaseApp

GROUP = "kept"
_LONGEST = 200


class Kept(Protocol):
    @property
    def id(self) -> str: ...

    @property
    def name(self) -> str: ...


T = TypeVar("T", bound=Kept)


class NamedItemsScreen(Covering, ModalScreen[T | None], Generic[T]):
    """Dismissed with the chosen thing, or None."""

    DEFAULT_CSS = """
    NamedItemsScreen {
        align: center middle;
        background: $background 70%;
        .box {
            width: 84; max-width: 96%; height: auto; max-height: 90%; padding: 1 2;
            background: $surface; border: round $primary;
            border-title-color: $primary; border-title-style: bold; border-subtitle-color: $quiet;
        }
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
        """Returns the question before one is removed."""
        return "\n".join(
            part for part in (_("“{name}” will be removed permanently.", name=one.name), self.stays) if part
        )

    @abstractmethod
    async def things(self) -> Sequence[T]:
        """Returns what is listed."""

    @abstractmethod
    def described(self, one: T) -> str:
        """Returns the line below a name."""

    @abstractmethod
    async def edited(self, old: T | None) -> T | None:
        """Asks for a new one, or for changes to an old one, and saves it. Returns None if cancelled."""

    @abstractmethod
    async def removed(self, one: T) -> None:
        """Removes one permanently; the user has confirmed."""


def _line(name: str, text: str) -> Content:
    return Content.assemble((clean_line(name), "bold"), "\n  ", (clean_line(text[:_LONGEST]), "$quiet"))
