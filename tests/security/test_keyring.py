"""A real keyring of the system. Those that are missing, refuse, forget, hang or change are met in
`tests/unit/vault`."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.security.figures import Figures

ROOT = Path(__file__).parents[2]
NEEDED = ("dbus-run-session", "gnome-keyring-daemon")


def test_a_real_secret_service_opens_the_vault_and_keeps_no_key(tmp_path: Path, figures: Figures) -> None:
    missing = [name for name in NEEDED if shutil.which(name) is None]
    if missing:
        pytest.skip(f"{' and '.join(missing)} not installed (Debian: gnome-keyring, dbus)")
    home = tmp_path / "person"
    home.mkdir()
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("XDG_", "DBUS_", "GNOME_", "PYTHON_KEYRING"))
    }
    done = subprocess.run(
        ["dbus-run-session", "--", sys.executable, "-m", "tests.security.secret_service", str(tmp_path)],
        cwd=ROOT,
        env={**environment, "HOME": str(home), "XDG_RUNTIME_DIR": str(home)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    told = json.loads(done.stdout)
    assert told["backend"] == "keyring.backends.SecretService.Keyring"
    assert told["opens"]
    assert told["files"] > 0
    assert told["hits"] == []
    # Locked, it neither opens nor keeps anybody waiting; the other ways in are there.
    assert told["locked"] in {"locked", "timeout", "failed"}
    assert told["seconds"] < 10
    assert told["passphrase opens"]
    assert told["recovery key opens"]
    figures.add("a real Secret Service", attempts=1, hits=0)
