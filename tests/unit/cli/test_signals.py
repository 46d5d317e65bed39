"""What is pressed in the instant before the program goes to sleep is noticed."""

import argparse
import asyncio
import signal
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from atlas_desktop.__main__ import _command


@pytest.mark.skipif(sys.platform == "win32", reason="Windows wakes its loop by itself")
def test_while_a_command_runs_every_signal_wakes_its_loop() -> None:
    woken_by: list[int] = []

    async def look(_ctx: Any, _args: argparse.Namespace) -> int:
        descriptor = signal.set_wakeup_fd(-1)
        signal.set_wakeup_fd(descriptor)
        woken_by.append(descriptor)
        return 0

    async def close() -> None:
        """Nothing was opened."""

    assert asyncio.run(_command(SimpleNamespace(close=close), argparse.Namespace(), look)) == 0
    assert woken_by[0] >= 0
