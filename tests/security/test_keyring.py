"""A real keyring of the system, and real buses on which it is broken. Keyrings that are missing, refuse,
forget, hang or change by themselves are met in `tests/unit/vault`."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.security.figures import Figures

ROOT = Path(__file__).parents[2]
BUS = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>session</type><listen>unix:tmpdir=/tmp</listen><policy context="default">
<allow send_destination="*"/><allow receive_sender="*"/><allow own="*"/></policy></busconfig>"""
"""One that starts no services by itself."""


def in_a_session(tmp_path: Path, module: str, *options: str, needed: tuple[str, ...] = ()) -> Any:
    """What a module of this package prints, run on a bus of its own, with a home of its own."""
    missing = [name for name in ("dbus-run-session", *needed) if shutil.which(name) is None]
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
        ["dbus-run-session", *options, "--", sys.executable, "-m", module, str(tmp_path)],
        cwd=ROOT,
        env={**environment, "HOME": str(home), "XDG_RUNTIME_DIR": str(home)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def test_a_real_secret_service_opens_the_vault_and_keeps_no_key(tmp_path: Path, figures: Figures) -> None:
    told = in_a_session(tmp_path, "tests.security.secret_service", needed=("gnome-keyring-daemon",))
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


def test_a_broken_secret_service_is_told_and_never_waited_for(tmp_path: Path) -> None:
    """No bus, no service on it, a prompt that is dismissed or left alone, a service that dies or falls silent
    in the middle of a call, or says what nobody understands."""
    bus = tmp_path / "bus.conf"
    bus.write_text(BUS)
    told = in_a_session(tmp_path, "tests.security.broken_secret_service", f"--config-file={bus}")
    assert {way: reason for way, (reason, _) in told.items()} == {
        "is not there": "none",
        "dismisses": "locked",
        "keeps waiting": "timeout",
        "dies": "failed",
        "says nothing": "timeout",
        "says nonsense": "failed",
        "has no bus": "none",
    }
    assert max(seconds for _, seconds in told.values()) < 30
