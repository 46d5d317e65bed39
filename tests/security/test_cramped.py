"""A disk that fills up while somebody talks."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from memory.vault.keys import RoomKey
from tests.security.cramped_turn import LEFT
from tests.security.figures import Figures
from tests.storage.test_cramped import OWN_MOUNTS

ROOT = Path(__file__).parents[2]


def test_a_full_disk_is_told_of_and_takes_nothing_that_was_acknowledged(
    tmp_path: Path, figures: Figures
) -> None:
    if shutil.which("unshare") is None or subprocess.run([*OWN_MOUNTS, "true"], check=False).returncode:
        pytest.skip("no small disk can be mounted")
    child = subprocess.run(
        [*OWN_MOUNTS, sys.executable, "-m", "tests.security.cramped_turn"],
        cwd=ROOT,
        input=f"{tmp_path}\n{RoomKey.generate().sqlcipher_hex()}\n",
        capture_output=True,
        text=True,
        check=True,
        timeout=240,
    )
    lines = [line.split() for line in child.stdout.splitlines()]
    assert {(outcome, found) for _, outcome, found in lines} == {("StorageFull", "sound")}
    assert len(lines) == len(LEFT)
    figures.add("disk full in mid-talk", attempts=len(lines), lost=0)
