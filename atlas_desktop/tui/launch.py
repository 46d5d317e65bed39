"""From the command line into the interface."""

import asyncio
import os
from typing import TYPE_CHECKING

from atlas_desktop.hardening import remove_private_temporary_folder
from atlas_desktop.instance import InstanceLock

if TYPE_CHECKING:
    from atlas_desktop.cli.context import Context
    from memory.vault.keys import RoomKey


def launch(ctx: "Context", *, resume: str | None = None, off_record: bool = False) -> int:
    """Shows the interface until the person leaves. Raises `AlreadyRunning`, `UsageError` or `MemoryFault`.

    With a passphrase from a file or descriptor the room is unlocked before anything is drawn.
    """
    ctx.paths.ensure()
    with InstanceLock(ctx.paths):
        key = asyncio.run(ctx.key()) if ctx.has_passphrase and not off_record else None
        return show(ctx, resume=resume, key=key, off_record=off_record)


def show(
    ctx: "Context", *, resume: str | None = None, key: "RoomKey | None" = None, off_record: bool = False
) -> int:
    """Runs the interface; temporary files end with it."""
    # Textual paints at the next tick of this clock: at its usual 60 a key can wait 17 ms for nothing.
    os.environ.setdefault("TEXTUAL_FPS", "120")
    from atlas_desktop.tui.app import AtlasApp

    app = AtlasApp(ctx.desk, resume=resume, key=key, off_record=off_record)
    try:
        app.run()
    finally:
        remove_private_temporary_folder(ctx.paths)
    return app.return_code or 0
