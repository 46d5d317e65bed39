"""Completes paths of files and folders while they are typed, and a window to choose one."""

import asyncio
import os
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, cast

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, OptionList, Static

from atlas_desktop.locale import _
from atlas_desktop.services.cleaning import clean_line
from atlas_desktop.tui.dialogs.questions import SearchedListScreen
from atlas_desktop.tui.widgets import CleanInput

if TYPE_CHECKING:
    from atlas_desktop.tui.base import BaseApp

MOST = 200


@dataclass(frozen=True, slots=True)
class Place:
    """A file or folder: the text that names it as it was begun, and its name."""

    text: str
    name: str
    is_folder: bool


def places(typed: str) -> list[Place]:
    """Returns the files and folders that a path begun with `typed` can become, folders first.

    Hidden ones are returned only if the dot at their start is typed. Nothing is returned for a folder that
    cannot be read. Blocks while the folder is read.
    """
    begun, beginning = os.path.split(typed)
    try:
        folder = Path(begun or ".").expanduser()
        with os.scandir(folder) as entries:
            found = [
                (entry.name, entry.is_dir())
                for entry in entries
                if entry.name.casefold().startswith(beginning.casefold())
                and (beginning.startswith(".") or not entry.name.startswith("."))
                and clean_line(entry.name) == entry.name
            ]
    except (OSError, RuntimeError, ValueError):
        return []
    found.sort(key=lambda one: (not one[1], one[0].casefold()))
    before = begun if begun in ("", "/") else f"{begun.rstrip('/')}/"
    return [
        Place(f"{before}{name}{'/' if is_folder else ''}", name, is_folder)
        for name, is_folder in found[:MOST]
    ]


class PathPicker(SearchedListScreen):
    """Dismissed with the path of a file, or None. Tab completes; Enter opens a folder or takes a file.

    With `folders`, the last row takes the folder whose files are listed.
    """

    of_rooms = False
    BINDINGS: ClassVar[list[BindingType]] = [Binding("tab", "complete", show=False, priority=True)]

    def __init__(self, title: str, *, hint: str = "", begun: str = "~/", folders: bool = False) -> None:
        super().__init__(begun)
        self._heading = title
        self._hint = hint
        self._folders = folders
        self._places: list[Place] = []

    def compose(self) -> ComposeResult:
        with Vertical(classes="box") as box:
            box.border_title = clean_line(self._heading)
            box.border_subtitle = _("Enter opens · Tab completes · Esc cancels")
            if self._hint:
                yield Static(Content(self._hint), classes="hint", markup=False)
            yield CleanInput(self._begun, id="path", select_on_focus=False)
            yield self._list

    @property
    def _field(self) -> Input:
        return self.query_one("#path", Input)

    def seek(self, typed: str) -> None:
        cast("BaseApp", self.app).attempt(partial(self._show, typed), group="places", exclusive=True)

    async def _show(self, typed: str) -> None:
        self._places = await asyncio.to_thread(places, typed)
        if self._folders and typed.endswith("/"):
            self._places.append(Place(typed, _("Take this folder"), is_folder=False))
        self.fill(
            [
                Content.styled(f"{one.name}/", "bold")
                if one.is_folder
                else Content.styled(one.name, "$primary" if one.text.endswith("/") else "")
                for one in self._places
            ]
        )

    @property
    def _marked(self) -> Place | None:
        at = self._list.highlighted
        return None if at is None or at >= len(self._places) else self._places[at]

    def action_complete(self) -> None:
        if (place := self._marked) is not None:
            self._put(place.text)

    def _put(self, text: str) -> None:
        self._field.value = text
        self._field.cursor_position = len(text)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        typed = event.value.strip()
        place = self._marked
        if place is None or (typed and Path(typed).expanduser().is_file()):
            self.dismiss(typed or None)
        else:
            self._take(place)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self._take(self._places[event.option_index])

    def _take(self, place: Place) -> None:
        if place.is_folder:
            self._put(place.text)
            self._field.focus()
        else:
            self.dismiss(place.text)
