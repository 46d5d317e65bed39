"""A disk that is full, or cannot be written to, keeps nobody from what is on it."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.conftest import Program
from tests.storage.test_cramped import OWN_MOUNTS, ROOT


@pytest.mark.parametrize("kind", ["full", "read-only"])
def test_everything_can_be_read_and_a_talk_goes_on(vault: Program, tmp_path: Path, kind: str) -> None:
    if shutil.which("unshare") is None or subprocess.run([*OWN_MOUNTS, "true"], check=False).returncode:
        pytest.skip("no small disk can be mounted")
    disk = tmp_path / "disk"
    disk.mkdir()
    given = (kind, vault.executable, vault.paths.rooms, vault.passphrase_file, disk)
    child = subprocess.run(
        [*OWN_MOUNTS, sys.executable, "-m", "tests.e2e.full_disk"],
        cwd=ROOT,
        input="\n".join(map(str, given)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert child.returncode == 0, child.stderr
    found = json.loads(child.stdout)
    assert found["came"] == {
        "sessions list": [0, False, True],
        "sessions show": [0, True, True],
        "sessions search": [0, True, True],
        "memory recall": [0, True, True],
        "export --all": [0, True, True],
        "memory add": [1, False, True],
    }
    # The first message is refused in words; the second is kept, and only then a model is missing.
    assert found["said"] == ["notice", "storage_full", "accepted", "no_model"]
    assert found["status"] == 0
