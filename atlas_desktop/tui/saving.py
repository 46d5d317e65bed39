"""Saves pictures and tables of what is shown in the exports folder of the home, and says where."""

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING

from atlas_desktop.locale import _
from atlas_desktop.paths import PRIVATE_DIR, PRIVATE_FILE

if TYPE_CHECKING:
    from atlas_desktop.tui.base import BaseApp


async def save_export(app: "BaseApp", name: str, ending: str, text: str) -> Path:
    """Saves a file that only the user can read, under the name, date and time. Raises `OSError`."""
    folder = app.desk.paths.exports
    stem = f"atlas-{name}-{app.now():%Y-%m-%d-%H%M%S}"
    path = await asyncio.to_thread(_write, folder, stem, ending, text)
    app.say(_("Saved, not encrypted: {path}", path=path))
    return path


def _write(folder: Path, stem: str, ending: str, text: str) -> Path:
    folder.mkdir(mode=PRIVATE_DIR, parents=True, exist_ok=True)
    number = 1
    while True:
        path = folder / f"{stem}{'' if number == 1 else f'-{number}'}.{ending}"
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_FILE)
        except FileExistsError:
            number += 1
            continue
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        return path
