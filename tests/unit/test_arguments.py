"""The interface starts without the modules of the commands, and takes the same arguments."""

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
