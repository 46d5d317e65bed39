"""Errors in the interface name keys, and the status says when there is no model."""

import ast
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from atlas_desktop import phrases, tui
from atlas_desktop.error_table import explain, refusal_text
from atlas_desktop.error_texts import ERRORS
from atlas_desktop.errors import Explained, Refusal, explanation
from atlas_desktop.tui.base import with_keys
from atlas_desktop.tui.keymap import how_to, shown_keys
from docs.translations import texts_of
from memory.documents.entities import DocumentError
from models.errors import NoModel
from tests.tui.desk import NamedModel, Stage
from tests.tui.driving import assert_until, say, settle, shown
from tests.unit.test_error_table import every_error, make

Make = Callable[..., Stage]


def _error(code: str) -> Explained:
    names = re.findall(r"{(\w+)}", f"{ERRORS[code].title} {ERRORS[code].what} {ERRORS[code].next_step}")
    facts: dict[str, Any] = dict.fromkeys(names, 1)
    return explanation(code, **facts)


_COMMAND = re.compile(r"`(atlas(?: [a-z][a-z-]*)*)[^`]*`|--[a-z]")
_COMMANDS_ONLY = {
    "atlas doctor": "no screen checks the whole installation",
    "atlas vault restore": "a room that cannot be opened has no screen; a restore replaces it from outside",
    "atlas vault salvage": "as for a restore",
    "atlas vault verify": "no screen checks every page of a room",
    "atlas sessions retention": "no screen erases what is due while the clock is in doubt",
    "atlas notes import": "no screen imports a folder of notes",
    "atlas docs add": "no key puts a document into a project",
}
"""Commands that the interface may name, with the reason why there is no key."""
_NEVER_HERE = {
    "usage": "of the command line",
    "declined": "of the command line",
    "no_such_home": "before the interface starts",
    "not_a_backup": "only a restore reads backups",
    "wrong_backup_passphrase": "only a restore reads backups",
    "nothing_to_salvage": "of a salvage",
    "nothing_readable": "of a salvage",
}
"""Errors that the interface cannot show."""
_TO_PROGRAMS = {code for code in ERRORS if code.startswith("door_")} - {"door_address", "door_port"}
"""Answers to other programs: whoever reads them is not at a screen of Atlas."""


def _commands_in(text: str) -> set[str]:
    return {match.group(1) or match.group() for match in _COMMAND.finditer(text)} - set(_COMMANDS_ONLY)


@pytest.mark.parametrize("code", sorted(ERRORS.keys() - _NEVER_HERE.keys() - _TO_PROGRAMS))
def test_a_next_step_names_no_command(code: str) -> None:
    error = with_keys(_error(code), {})
    assert not _commands_in(f"{error.message} {error.next_step}")


@pytest.mark.parametrize("code", sorted(code for code, text in ERRORS.items() if text.here))
def test_a_next_step_names_the_key_of_the_user(code: str) -> None:
    text = ERRORS[code]
    assert ("{key}" in text.here) is bool(text.action)
    if text.action:
        assert how_to(text.action, {}) in with_keys(_error(code), {}).next_step
        changed = with_keys(_error(code), {text.action: "ctrl+t"})
        assert shown_keys(text.action, {text.action: "ctrl+t"}) in changed.next_step


@pytest.mark.parametrize("kind", every_error(), ids=lambda kind: kind.__name__)
def test_an_error_with_facts_names_no_command(kind: type[Exception]) -> None:
    error = with_keys(explain(make(kind)), {})
    if error.code not in _NEVER_HERE and error.code not in _TO_PROGRAMS:
        assert not _commands_in(f"{error.message} {error.next_step}")


@pytest.mark.parametrize("reason", Refusal)
def test_what_is_said_of_a_file_names_no_command(reason: Refusal) -> None:
    assert not _commands_in(refusal_text("a.txt", DocumentError(reason.value, 3)).next_step)


_IN_A_TERMINAL = {"tui/launch.py": "there is no terminal for the interface, so it is the command line's"}
_OF_COMMANDS = {"spoilt", "status_text", "engine_report_text"}
"""Functions of the shared texts that only commands use."""


def test_no_text_of_the_interface_names_a_command() -> None:
    package = Path(tui.__file__).parent
    named = {}
    for path in package.rglob("*.py"):
        place = path.relative_to(package.parent).as_posix()
        for _line, message in texts_of(path):
            for text in [message] if isinstance(message, str) else message:
                if place not in _IN_A_TERMINAL and (commands := _commands_in(text)):
                    named[text] = commands
    assert named == {}


def test_only_commands_show_shared_texts_with_commands() -> None:
    path = Path(phrases.__file__)
    tree = ast.parse(path.read_text())
    spans = {
        node.name: (node.lineno, node.end_lineno or 0)
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
    }
    found = set()
    for line, message in texts_of(path):
        if any(_commands_in(text) for text in ([message] if isinstance(message, str) else message)):
            found |= {name for name, (first, last) in spans.items() if first <= line <= last} or {str(line)}
    assert found <= _OF_COMMANDS
    for module in Path(tui.__file__).parent.rglob("*.py"):
        assert not [name for name in _OF_COMMANDS if re.search(rf"\b{name}\(", module.read_text())], module


def test_errors_are_explained_through_the_application() -> None:
    package = Path(tui.__file__).parent
    direct = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if re.search(r"from atlas_desktop.error_table import .*\bexplain\b", path.read_text())
    }
    # The second program of a home has no application yet, and its only error names no command.
    assert direct == {"base.py", "crash_recovery.py"}


def test_other_errors_stay_as_they_are() -> None:
    assert with_keys(explanation("disk_full"), {}) == explanation("disk_full")


async def test_without_a_model_the_status_says_so(make: Make) -> None:
    place = make(model=NamedModel(["x"], missing=True))
    async with place.app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("ctrl+s")
        await assert_until(pilot, lambda: "F6 chooses one" in shown(place))
        place.model.missing = False
        place.app.switcher.start()
        await assert_until(pilot, lambda: "F6 chooses one" not in shown(place))


async def test_a_reply_without_a_model_names_the_key(make: Make) -> None:
    place = make(model=NamedModel(["x y"], failure=NoModel("chat"), fail_after=1))
    async with place.app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await say(pilot, "Why tides?")
        await assert_until(pilot, lambda: "No model installed" in shown(place))
        await pilot.press("ctrl+s")
        await assert_until(pilot, lambda: "F6 shows what fits this computer" in shown(place))
        assert "atlas models" not in shown(place)
