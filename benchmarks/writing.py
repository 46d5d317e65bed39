"""Measures typing in a long note: `python -m benchmarks.writing`.

Runs the Notes view without a terminal, on an encrypted room. Measures from a key press in a note of 200 KB to
its picture, while the text is stored and the preview is drawn, and opening such a note.
"""

import argparse
import asyncio
import tempfile
import time
from pathlib import Path
from typing import Any, cast

from textual.events import Key
from textual.pilot import Pilot

from atlas_desktop.services.notes.notebook import read_note
from atlas_desktop.tui.notes.screen import NotesScreen
from benchmarks.desk import painted, room, said, until
from tests.tui.desk import NamedModel, Stage, stage
from tests.tui.watchdog import watched

PARAGRAPH = (
    "The moon pulls the water, and the Earth turns under **two bulges** of it. See [[Ferries]] and #tides. "
    * 4
)


def long_note(size: int) -> str:
    """Returns a note with a heading after every fifth paragraph."""
    parts: list[str] = []
    while sum(map(len, parts)) < size:
        if len(parts) % 6 == 0:
            parts.append(f"## Section {len(parts) // 6}")
        parts.append(PARAGRAPH)
    return "\n\n".join(parts)


async def opening(pilot: Pilot[None], screen: NotesScreen, rounds: int) -> None:
    """Measures from choosing a note in the list to its text on the screen."""
    took = []
    for number in range(2 * rounds):
        began = time.perf_counter()
        screen._list.highlighted = number % 2
        wanted = screen._list.rows[number % 2].note
        assert wanted is not None
        await until(lambda wanted=wanted: screen._note is not None and screen._note.id == wanted.id)
        await painted(pilot)
        if wanted.title == "Tides":
            took.append(time.perf_counter() - began)
        await asyncio.sleep(0.3)
    said("open a note of 200 KB, to its picture", took)


async def typing(pilot: Pilot[None], place: Stage, screen: NotesScreen, keys: int) -> None:
    """Measures from a key press to its picture, in the middle of the note."""
    editor, took, work = screen.editor, [], []
    editor.go_to(len(editor.text) // 2)
    await painted(pilot)
    async with watched() as dog:
        for number in range(keys):
            began, worked = time.perf_counter(), time.thread_time()
            before = editor.cursor_location
            # As the terminal sends it: Pilot's own `press` waits until nothing happens any more.
            place.app.post_message(Key("space", " ") if number % 6 == 5 else Key("x", "x"))
            await until(lambda before=before: editor.cursor_location != before)
            await painted(pilot)
            took.append(time.perf_counter() - began)
            work.append(time.thread_time() - worked)
            await asyncio.sleep(0.08)
    said("key press to picture", took)
    said("  processor time of it", work)
    said("  gaps of the loop meanwhile", dog.late)


async def measure(size: tuple[int, int], keys: int, rounds: int, length: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = await room(Path(folder), ())
        await store.notes.put(
            [read_note("Ferries", "They leave at eight."), read_note("Tides", long_note(length))]
        )
        place = stage(Path(folder), store=cast("Any", store), model=NamedModel(["Yes."]))
        async with place.app.run_test(size=size) as pilot:
            await until(lambda: place.app.chat is not None and place.app.chat.is_mounted)
            await pilot.press("f8")
            await until(lambda: isinstance(place.app.screen, NotesScreen))
            screen = cast("NotesScreen", place.app.screen)
            await until(lambda: screen._list.rows)
            print(f"{size[0]}×{size[1]}")
            await opening(pilot, screen, rounds)
            index = next(
                i for i, row in enumerate(screen._list.rows) if row.note and row.note.title == "Tides"
            )
            screen._list.highlighted = index
            await until(lambda: screen._note is not None and screen._note.title == "Tides")
            screen.action_notes_open()
            await until(lambda: screen.editor.has_focus)
            await asyncio.sleep(1)
            await typing(pilot, place, screen, keys)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keys", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--length", type=int, default=200_000)
    args = parser.parse_args()
    for size in ((80, 24), (140, 40), (200, 60)):
        asyncio.run(measure(size, args.keys, args.rounds, args.length))


if __name__ == "__main__":
    main()
