"""The end of a worker whose template runs for too long."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

# A template that runs longer than this is taken for a trap; the process ends with this status.
TEMPLATE_LIMIT_S = 10.0
EXIT_TEMPLATE = 86


@contextmanager
def time_limit() -> Iterator[None]:
    """Ends the process when what is in it takes too long: Python cannot stop a template in any other way."""
    timer = threading.Timer(TEMPLATE_LIMIT_S, os._exit, (EXIT_TEMPLATE,))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
