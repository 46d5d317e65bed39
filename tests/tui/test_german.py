"""The interface in another language: ten screens, in a program that was started with that language."""

import os
import subprocess
import sys
from pathlib import Path

SCREENS = Path(__file__).with_name("screens_in_german.py")


def test_ten_screens_look_as_they_did_in_german() -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", str(SCREENS)]
    done = subprocess.run(
        command, env={**os.environ, "ATLAS_TEST_LANGUAGE": "de_DE"}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout
    assert done.stdout.startswith("." * 10 + " "), done.stdout
