"""Where files cannot grow, nothing is done by halves, and what was there is there still."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.upkeep.conftest import Home

ROOT = Path(__file__).parents[2]


@pytest.mark.skipif(sys.platform == "win32", reason="the size of files cannot be limited")
def test_no_space_for_a_backup_a_restore_new_keys_or_a_salvage(made: Home) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.upkeep.cramped"],
        cwd=ROOT,
        input=f"{made.folder}\n",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    *cramped, enough = [line.split() for line in done.stdout.splitlines()]
    assert len(cramped) == 5
    for n, (_, backup, *others, left, backups) in enumerate(cramped):
        assert backup in ({"StorageFull", "OutputRefused"} if n < 4 else {"StorageFull", "done"})
        assert set(others) <= {"StorageFull", "done"}
        assert set(left.split(",")) <= {"backups", "rooms", "rooms.lock", "whole"}
        assert int(backups) == (backup == "done")
    assert {"StorageFull"} == {word for line in cramped[:3] for word in line[2:5]}
    assert enough[1:5] == ["done"] * 4
