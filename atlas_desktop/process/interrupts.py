"""What Ctrl-C does before there is work to bring to an end, and after there was.

While modules are imported, and when all is done, an exception would leave as a traceback. This module imports
next to nothing, because it is imported first.
"""

import atexit
import os
import signal
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Never

INTERRUPTED = 130
STOPPED = "Stopped: The command was interrupted. What was saved before is saved."
_is_program = False


def as_program(work: "Callable[[], int]") -> int:
    """The exit status of the program `atlas`, whose `work` may import what it likes."""
    be_the_program()
    try:
        status: int | str | None = work()
    except KeyboardInterrupt:
        stop()
    except SystemExit as leaving:
        status = leaving.code
    # All is said, and it stays so however often Ctrl-C comes while Python puts its things away.
    code = status if isinstance(status, int) else 1
    _end_with(code)
    return code


def be_the_program() -> None:
    """This process is the program `atlas`, and no other that uses its modules. Ctrl-C ends it at once."""
    global _is_program
    _is_program = True
    stop_at_once()


def stop_at_once() -> None:
    """From now on Ctrl-C ends the program, until `raise_interrupts`: while modules are imported, and when all
    is done, an exception would leave as a traceback. Where it is ignored (`nohup`), it stays so."""
    if _is_program and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, stop)


def raise_interrupts() -> None:
    """From now on Ctrl-C raises KeyboardInterrupt, and cancels the work of an event loop, so that what is
    under way is brought to an end."""
    if signal.getsignal(signal.SIGINT) is stop:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _end_with(status: int) -> None:
    if _is_program and signal.getsignal(signal.SIGINT) in (stop, signal.default_int_handler):
        signal.signal(signal.SIGINT, lambda *_: os._exit(status))
        from contextlib import suppress

        for stream in (sys.stdout, sys.stderr):
            # What cannot be written is told when Python flushes it once more.
            with suppress(OSError, ValueError, AttributeError):
                stream.flush()
        # The last steps go without handlers written in Python.
        atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)


def stop(*_: object) -> "Never":
    """Ends the process as Ctrl-C does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        os.write(2, f"{STOPPED}\n".encode())
    finally:
        os._exit(INTERRUPTED)
