import sys
from pathlib import Path

import pytest

from atlas_desktop.process import command

HOME = Path("/somewhere/home")


@pytest.mark.parametrize(
    ("started", "own"),
    [
        (["python", "/usr/bin/atlas"], ["/usr/bin/atlas"]),
        (["/venv/bin/python3", "-P", "-m", "atlas_desktop"], ["-P", "-m", "atlas_desktop"]),
        (["/opt/atlas"], []),
    ],
)
@pytest.mark.parametrize(
    "arguments", [[], ["--continue", "0192f"], ["--passphrase-file", "/secret", "--off-record"]]
)
def test_it_is_started_as_it_was_but_tells_nothing(
    started: list[str], own: list[str], arguments: list[str]
) -> None:
    made = command(HOME, off_record=False, started=[*started, *arguments], arguments=arguments)
    assert made == [sys.executable, *own, "--home", str(HOME), "--locked"]


def test_sample_conversations_come_before_the_locked_door() -> None:
    made = command(HOME, demo=True, started=["atlas", "--off-record"], arguments=["--off-record"])
    assert made[1:] == ["--home", str(HOME), "demo", "--and-back"]


def test_off_the_record_stays_so() -> None:
    assert command(HOME, off_record=True, started=["atlas"], arguments=[])[-2:] == [
        "--locked",
        "--off-record",
    ]
