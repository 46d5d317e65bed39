"""Handling of interruptions: Ctrl-C before there is work to clean up and after it is done, and cancellation
of work that must not end halfway.

During imports and at exit, an exception would end in a traceback. This module imports almost nothing, because
it is imported first.
"""

import atexit
import os
import signal
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from typing import Any, Never, TypeVar

    T = TypeVar("T")

INTERRUPTED = 130
STOPPED = "Stopped: The command was interrupted. Everything saved earlier is safe."
_is_program = False


def as_program(work: "Callable[[], int]") -> int:
    """Runs `work` as the program `atlas` and returns its exit status; `work` may import anything."""
    be_the_program()
    try:
        status: int | str | None = work()
    except KeyboardInterrupt:
        stop()
    except SystemExit as leaving:
        status = leaving.code
    # The work is done, and its status stays even if Ctrl-C is pressed during interpreter shutdown.
    code = status if isinstance(status, int) else 1
    _end_with(code)
    return code


def be_the_program() -> None:
    """Marks this process as the program `atlas`, as opposed to another one that uses its modules.

    Ctrl-C ends it at once.
    """
    global _is_program
    _is_program = True
    stop_at_once()


def stop_at_once() -> None:
    """Makes Ctrl-C end the program, until `raise_interrupts`. If it is ignored (`nohup`), it stays ignored.

    During imports and at exit, an exception would end in a traceback.
    """
    if _is_program and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, stop)


def raise_interrupts() -> None:
    """Makes Ctrl-C raise KeyboardInterrupt, and cancel the work of an event loop, so that it can clean up."""
    if signal.getsignal(signal.SIGINT) is stop:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _end_with(status: int) -> None:
    if _is_program and signal.getsignal(signal.SIGINT) in (stop, signal.default_int_handler):
        signal.signal(signal.SIGINT, lambda *_: os._exit(status))
        from contextlib import suppress

        for stream in (sys.stdout, sys.stderr):
            # Python reports output that cannot be written when it flushes again.
            with suppress(OSError, ValueError, AttributeError):
                stream.flush()
        # The last steps of shutdown run without handlers written in Python.
        atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)


def stop(*_: object) -> "Never":
    """Ends the process like Ctrl-C, with status 130."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        os.write(2, f"{STOPPED}\n".encode())
    finally:
        os._exit(INTERRUPTED)


async def run_to_completion(work: "Coroutine[Any, Any, T]") -> "T":
    """Returns what `work` returns. If the caller is cancelled meanwhile, the cancellation takes effect only
    after the work has ended.

    An error of the work is raised in either case, because nothing else would report it.
    """
    import asyncio

    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})
        if not task.cancelled():
            task.result()
        raise
