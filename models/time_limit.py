"""The end of a worker whose template runs for too long."""

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

# A template that needs more processor time than this is taken for a trap; the process ends with this status.
TEMPLATE_LIMIT_S = 10.0
EXIT_TEMPLATE = 86


@contextmanager
def time_limit() -> Iterator[None]:
    """Ends the process when what is in it takes too long: Python cannot stop a template in any other way.

    The time of the processor counts: a machine that is busy or was put to sleep proves nothing.
    """
    began, done = time.process_time(), threading.Event()

    def watch() -> None:
        left = TEMPLATE_LIMIT_S
        while not done.wait(left):
            left = TEMPLATE_LIMIT_S - (time.process_time() - began)
            if left <= 0:
                os._exit(EXIT_TEMPLATE)

    threading.Thread(target=watch, name="time-limit", daemon=True).start()
    try:
        yield
    finally:
        done.set()
