"""Writes that fail, one after another: a clear error, nothing acknowledged is lost, nothing hangs."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from memory.vault.keys import RoomKey
from tests.security.faulty import FAULTS, SOUND, WORKS
from tests.security.figures import Figures

ROOT = Path(__file__).parents[2]
CLEAR = {"done", "StorageFull", "RoomDamaged", "NotARoom"}
"""What a work may come to when a write has failed: each has words for the person."""


@pytest.fixture(scope="module")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("cc")
    if sys.platform != "linux" or compiler is None:
        pytest.skip("faults are made on Linux, where there is a C compiler")
    library = tmp_path_factory.mktemp("shim") / "faults.so"
    source = Path(__file__).with_name("faults.c")
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
    return library


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """In memory where the system offers that: a fault needs no disk, and thousands of tries wait for one."""
    memory = Path("/dev/shm")
    if not os.access(memory, os.W_OK):
        yield tmp_path / "home"
        return
    with tempfile.TemporaryDirectory(prefix="faults-", dir=memory) as folder:
        yield Path(folder) / "home"


def outcomes(shim: Path, home: Path, asked: list[tuple[str, str, bool, int]]) -> list[list[str]]:
    lines = [str(home), RoomKey.generate().sqlcipher_hex(), *("\t".join(map(str, one)) for one in asked)]
    child = subprocess.run(
        [sys.executable, "-m", "tests.security.faulty"],
        cwd=ROOT,
        env={**os.environ, "LD_PRELOAD": str(shim), "FAULTS_BELOW": f"{home}/"},
        input="\n".join(lines),
        capture_output=True,
        text=True,
        check=False,
    )
    assert child.returncode == 0, child.stderr[-3000:]
    return [line.split("\t") for line in child.stdout.splitlines()]


def assert_survived(found: list[list[str]], figures: Figures, *, every: bool) -> None:
    wrong = [line for line in found if line[-2] not in CLEAR or line[-1] != SOUND]
    assert wrong == []
    tried = Counter((work, fault) for work, fault, *_ in found)
    for (work, fault), attempts in tried.items():
        figures.add(f"a write fails ({fault}): {work}", attempts=attempts, lost=0)
    # The faults were felt: some work was refused.
    assert any(line[-2] == "StorageFull" for line in found)
    if every:
        assert tried["turn", "EIO"] > 10


def test_each_write_of_a_turn_fails(shim: Path, home: Path, figures: Figures) -> None:
    asked = [("turn", "EIO", False, 1)]
    assert_survived(outcomes(shim, home, asked), figures, every=True)


def test_writes_fail_in_every_way_and_in_every_work(shim: Path, home: Path, figures: Figures) -> None:
    asked = [
        ("turn", "ENOSPC", True, 29),
        ("turn", "short", False, 47),
        ("turn", "short", True, 37),
        ("import", "EIO", False, 59),
        ("import", "ENOSPC", True, 61),
        ("forget", "EIO", False, 31),
        ("forget", "ENOSPC", True, 41),
        ("passphrase change", "EIO", False, 7),
        ("passphrase change", "ENOSPC", True, 13),
        ("creation", "ENOSPC", False, 199),
        ("creation", "EIO", True, 271),
    ]
    assert_survived(outcomes(shim, home, asked), figures, every=False)


@pytest.mark.soak
@pytest.mark.parametrize("work", WORKS)
def test_every_write_of_a_work_fails(shim: Path, home: Path, figures: Figures, work: str) -> None:
    asked = [(work, fault, lasting, 1) for fault in FAULTS for lasting in (False, True)]
    assert_survived(outcomes(shim, home, asked), figures, every=work == "turn")
