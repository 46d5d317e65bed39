"""What a chat template may use: it is a program that comes with a model file, and may be a trap."""

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

# A template that needs more processor time than this is taken for a trap, and its process ends.
TIME_S = 10.0
# One that needs so many bytes more than the process had before runs out of memory, which is an error.
MEMORY = 1 << 30
_EXIT_STATUS = 86
# How the process of such a template ends.
ENDED = frozenset({_EXIT_STATUS, -signal.SIGPROF} if sys.platform != "win32" else {_EXIT_STATUS})
_sizes: list[int] = []


def open_sizes() -> None:
    """Opens what tells the size of this process, before it may open no more files."""
    if sys.platform == "linux" and not _sizes:
        _sizes.append(os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC))


@contextmanager
def template_limits() -> Iterator[None]:
    """Ends the process when what is in it takes too long: Python cannot stop a template in any other way.

    The kernel does it, by a signal that is left to do what it does by default. A thread of ours would wait
    for the interpreter's lock, which a single operation on a large number or text can hold for ever. The time
    of the processor counts: a machine that is busy or was put to sleep proves nothing.
    """
    if sys.platform == "win32":
        with _watched():
            yield
        return
    with _less_memory():
        signal.setitimer(signal.ITIMER_PROF, TIME_S)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)


@contextmanager
def _less_memory() -> Iterator[None]:
    if not _sizes or sys.platform != "linux":
        yield
        return
    import resource

    before, hard = resource.getrlimit(resource.RLIMIT_AS)
    now = int(os.pread(_sizes[0], 100, 0).split()[0]) * resource.getpagesize()
    soft = now + MEMORY
    if before == resource.RLIM_INFINITY or soft < before:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (before, hard))


@contextmanager
def _watched() -> Iterator[None]:
    """Where there is no such signal: a thread, which the bounds of single operations give a chance to run."""
    began, done = time.process_time(), threading.Event()

    def watch() -> None:
        left = TIME_S
        while not done.wait(left):
            left = TIME_S - (time.process_time() - began)
            if left <= 0:
                os._exit(_EXIT_STATUS)

    threading.Thread(target=watch, name="template-limits", daemon=True).start()
    try:
        yield
    finally:
        done.set()
