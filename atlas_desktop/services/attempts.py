"""Wrong passphrases make the next attempt wait, so that nobody tries many at an unattended keyboard.

Argon2id alone is what slows someone who has copied the files; this is for the screen. What is kept is a count
and a time, in a file that its owner could remove.
"""

import math
import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from atlas_desktop.paths import PRIVATE_DIR, PRIVATE_FILE

FREE = 3
LONGEST_S = 60.0


def delay_after(wrong: int) -> float:
    """Seconds to wait after so many wrong attempts in a row: none for the first three, then 2, 4, 8 … 60."""
    return 0.0 if wrong < FREE else min(2.0 ** min(wrong - FREE + 1, 16), LONGEST_S)


@dataclass(slots=True)
class Attempts:
    """Counts wrong attempts, across restarts. `now` tells seconds that also pass while nothing runs."""

    path: Path
    now: Callable[[], float] = time.time

    def left(self) -> int:
        """Whole seconds until the next attempt may be made; 0: now."""
        wrong, last = self._read()
        now = self.now()
        if last > now:
            # A clock that was set back must not lock anyone out for longer: the wait begins now.
            with suppress(OSError):
                self._write(wrong)
            last = now
        return math.ceil(max(0.0, last + delay_after(wrong) - now))

    def wrong(self) -> None:
        """Counts one. Raises OSError."""
        self._write(self._read()[0] + 1)

    def right(self) -> None:
        """Begins anew. Raises OSError."""
        self.path.unlink(missing_ok=True)

    def _read(self) -> tuple[int, float]:
        try:
            count, last = self.path.read_text(encoding="ascii").split()
            return max(0, int(count)), float(last)
        except (OSError, ValueError):
            return 0, 0.0

    def _write(self, wrong: int) -> None:
        self.path.parent.mkdir(mode=PRIVATE_DIR, parents=True, exist_ok=True)
        handle = os.open(
            self.path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0), PRIVATE_FILE
        )
        with os.fdopen(handle, "w", encoding="ascii") as out:
            out.write(f"{wrong} {self.now():.0f}\n")
