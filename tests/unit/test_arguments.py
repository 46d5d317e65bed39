"""The interface starts without the modules of the commands, and takes the same arguments."""

import subprocess
import sys

import pytest

from atlas_desktop.__main__ import _for_the_interface, build_parser


@pytest.mark.parametrize(
    "given",
    [
        [],
        ["--continue"],
        ["--continue", "0192"],
        ["--off-record", "--home", "/somewhere"],
        ["--passphrase-file", "/somewhere/secret", "--json"],
        ["--locked", "--home", "/somewhere"],
    ],
)
def test_without_a_command_both_understand_the_same(given: list[str]) -> None:
    quick = _for_the_interface(given)
    assert quick is not None
    assert vars(quick) | {"command": None} == vars(build_parser().parse_args(given))


@pytest.mark.parametrize(
    "given",
    [["ask", "Hello"], ["--home", "/somewhere", "demo"], ["-h"], ["--nonsense"], ["--passphrase-fd", "x"]],
)
def test_the_rest_is_left_to_the_parser_that_knows_everything(given: list[str]) -> None:
    assert _for_the_interface(given) is None


def test_the_locked_door_stands_before_what_lies_behind_it_is_loaded() -> None:
    code = (
        "from atlas_desktop.__main__ import _for_the_interface; _for_the_interface(['--locked'])\n"
        "import atlas_desktop.cli.context, atlas_desktop.tui.launch, atlas_desktop.bootstrap\n"
        "import atlas_desktop.tui.app, atlas_desktop.tui.screens.unlock, sys; print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "atlas_desktop.tui.screens.unlock" in loaded
    assert not {"memory.ports", "memory.knowledge", "atlas_desktop.cli.ask", "sqlcipher3", "msgpack"} & loaded
