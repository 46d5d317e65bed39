"""Starts the interface from the command line.

This module imports nothing from Textual: `show` sets its frame rate first.
"""

import asyncio
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, NoReturn, TextIO

from atlas_desktop.errors import AlreadyRunning, UsageError
from atlas_desktop.interrupts import INTERRUPTED
from atlas_desktop.locale import _
from atlas_desktop.process import (
    InstanceLock,
    can_relaunch,
    relaunch_demo,
    relaunch_locked,
    remove_private_temporary_folder,
)

if TYPE_CHECKING:
    from atlas_desktop.cli.context import Context
    from atlas_desktop.tui.doors import Commands
    from atlas_desktop.tui.shutdown import Relaunch
    from memory.vault.keys import RoomKey


def launch(
    ctx: "Context",
    *,
    resume: str | None = None,
    off_record: bool = False,
    locked: bool = False,
    commands: "Commands | None" = None,
) -> int:
    """Shows the interface until the user leaves. Raises `AlreadyRunning`, `UsageError` or `MemoryFault`.

    With a passphrase from a file or descriptor it unlocks the room before it draws anything, and the private
    room too if `ctx.private` is set. `locked` is for the program that replaces another one at a lock.
    `commands` carries out what other terminals hand over.
    """

    def relaunch() -> NoReturn:
        remove_private_temporary_folder(ctx.paths)
        relaunch_locked(ctx.paths.home, off_record=off_record)

    def demo() -> NoReturn:
        remove_private_temporary_folder(ctx.paths)
        relaunch_demo(ctx.paths.home)

    ctx.paths.ensure()
    with held(ctx):
        key: RoomKey | None = None
        private: RoomKey | bool = ctx.private and not off_record
        if ctx.has_passphrase and not off_record:
            key = asyncio.run(ctx.key())
            if private:
                with ctx.attempt():
                    private = asyncio.run(ctx.vault().unlock_private(ctx.passphrase()))
        again = relaunch if can_relaunch() else None
        return show(
            ctx,
            resume=resume,
            key=key,
            off_record=off_record,
            private=private,
            locked=locked,
            relaunch=again,
            demo=demo if again is not None and not off_record else None,
            commands=commands,
        )


def needs_a_terminal() -> None:
    """Raises `UsageError` without a terminal: nobody could see the interface or type into it."""

    def is_one(stream: TextIO | None) -> bool:
        return stream is not None and stream.isatty()

    if not is_one(sys.__stdin__) or not (is_one(sys.__stdout__) or is_one(sys.__stderr__)):
        raise UsageError(
            _("The interface needs a terminal for display and input, and there is none here."),
            _("Run `atlas` in a terminal. In scripts, use `atlas ask` or `atlas chat --jsonl`."),
        )


@contextmanager
def held(ctx: "Context") -> Iterator[None]:
    """Locks the home. If another program holds it, a screen in the terminal says so and offers another try.

    Raises `AlreadyRunning`.
    """
    with ExitStack() as stack:
        try:
            stack.enter_context(InstanceLock(ctx.paths))
        except AlreadyRunning as refusal:
            if not (sys.stdin.isatty() and sys.stdout.isatty()):
                raise
            from atlas_desktop.settings.file import SettingsError, SettingsFile
            from atlas_desktop.tui.crash_recovery import AlreadyRunningApp

            def take() -> None:
                stack.enter_context(InstanceLock(ctx.paths, wait_s=0))

            settings = SettingsFile(ctx.paths.config)
            with suppress(SettingsError, OSError):
                # If the settings cannot be read, the default theme is used; the fault is reported once the
                # home is free.
                settings.load()
            if not AlreadyRunningApp(settings.settings.ui.theme, refusal, take).run():
                raise
        yield


def show(
    ctx: "Context",
    *,
    resume: str | None = None,
    key: "RoomKey | None" = None,
    off_record: bool = False,
    private: "RoomKey | bool" = False,
    locked: bool = False,
    relaunch: "Relaunch | None" = None,
    demo: "Relaunch | None" = None,
    demo_passphrase: str = "",
    commands: "Commands | None" = None,
) -> int:
    """Runs the interface, then removes temporary files."""
    # Textual paints at ticks of this clock. At its default of 60 a second, a key can wait 17 ms for nothing.
    os.environ.setdefault("TEXTUAL_FPS", "120")
    from atlas_desktop.tui.app import AtlasApp
    from atlas_desktop.tui.images import inquire

    app = AtlasApp(
        ctx.desk,
        resume=resume,
        key=key,
        off_record=off_record,
        private=private,
        locked=locked,
        relaunch=relaunch,
        demo=demo,
        demo_passphrase=demo_passphrase,
        commands=commands,
        inquiry=inquire(ctx.desk.settings.ui.images, os.environ),
    )
    try:
        app.run()
    finally:
        remove_private_temporary_folder(ctx.paths)
    if app.return_code == INTERRUPTED:
        raise KeyboardInterrupt
    return app.return_code or 0
