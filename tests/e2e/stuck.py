"""The program with a key (F4) that its event loop does not survive: `-m tests.e2e.stuck HOW ATLAS…`."""

import re
import sys
import time

from atlas_desktop.__main__ import main
from atlas_desktop.paths import Paths


def in_python() -> None:
    while True:
        pass


def in_c() -> None:
    """One call that keeps Python's lock to its end, which is not to be lived to see."""
    re.match(r"(a+)+$", "a" * 60 + "b")


def get_stuck(how: str) -> None:
    from atlas_desktop import process
    from atlas_desktop.tui import shutdown
    from atlas_desktop.tui.chat.screen import ChatScreen

    remove = process.remove_private_temporary_folder

    def on_a_slow_disk(paths: Paths) -> None:
        """Takes longer than the alarm of a stuck program stops it."""
        time.sleep(0.5)
        remove(paths)

    shutdown.remove_private_temporary_folder = on_a_slow_disk  # type: ignore[attr-defined]
    stuck = {"python": in_python, "c": in_c}[how]
    ChatScreen.action_show_insights = lambda _: stuck()  # type: ignore[method-assign,assignment]


if __name__ == "__main__":
    get_stuck(sys.argv[1])
    sys.argv = [sys.argv[0], *sys.argv[2:]]
    sys.exit(main())
