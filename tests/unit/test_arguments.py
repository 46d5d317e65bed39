"""The interface starts without the modules of the commands, and takes the same arguments."""

import argparse
import os
import subprocess
import sys
from pathlib import Path

import pytest

from atlas_desktop.__main__ import COMMANDS, _for_the_interface, build_parser, language, queried


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


@pytest.mark.parametrize(
    ("given", "query"),
    [
        (["sessions", "search", "bread", "-herons", "--json"], ["bread", " -herons"]),
        (["--home", "/x", "sessions", "search", "-rye", "OR", "-", "-y"], [" -rye", "OR", " -"]),
        (["sessions", "list", "--query", "-rye", "--json"], " -rye"),
        (["export", "--query", "-is:starred"], " -is:starred"),
    ],
)
def test_what_a_query_leaves_out_is_no_option(given: list[str], query: object) -> None:
    assert build_parser().parse_args(queried(given)).query == query


def test_the_locked_door_stands_before_what_lies_behind_it_is_loaded() -> None:
    code = (
        "from atlas_desktop.__main__ import _for_the_interface; _for_the_interface(['--locked'])\n"
        "import atlas_desktop.cli.context, atlas_desktop.tui.launch, atlas_desktop.bootstrap\n"
        "import atlas_desktop.tui.app, atlas_desktop.tui.setup.unlock, sys; print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "atlas_desktop.tui.setup.unlock" in loaded
    assert (
        not {"memory.entities", "memory.memories", "atlas_desktop.cli.ask", "sqlcipher3", "msgpack"} & loaded
    )


def test_the_quick_help_is_the_whole_one() -> None:
    assert build_parser(()).format_help() == build_parser().format_help()


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_is_understood_without_the_others(name: str) -> None:
    quick, whole = build_parser((name,)), build_parser()
    helps = [_helped(parser, name) for parser in (quick, whole)]
    assert helps[0] == helps[1]


def _helped(parser: argparse.ArgumentParser, name: str) -> str:
    commands = next(a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    return str(commands.choices[name].format_help())


def test_everything_that_is_loaded_behind_the_unlock_screen_is_there() -> None:
    code = (
        "from atlas_desktop.tui import app as preload; preload.load_conversation(); print(len(preload.AHEAD))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) > 20


@pytest.mark.parametrize(
    ("config", "environ", "language_"),
    [
        ("", {}, ""),
        ("", {"LANG": "es_ES.UTF-8"}, "es_ES"),
        ('[ui]\nlocale = "de_DE"\n', {"LANG": "es_ES.UTF-8"}, "de_DE"),
        ('[ui]\nlocale = "de_DE"\n', {"ATLAS_UI_LOCALE": "es"}, "es"),
        ("[ui]\nlocale = 7\n", {"LANG": "es_ES.UTF-8"}, "es_ES"),
        ("locale", {"LANG": "es_ES.UTF-8"}, "es_ES"),
    ],
)
@pytest.mark.parametrize("form", ["--home {}", "--home={}"])
def test_the_language_is_the_settings_else_the_environments(
    tmp_path: Path, config: str, environ: dict[str, str], language_: str, form: str
) -> None:
    (tmp_path / "config.toml").write_text(config)
    assert language([*form.format(tmp_path).split(), "jobs", "list"], environ) == language_


def test_without_arguments_it_is_the_language_of_the_usual_home() -> None:
    assert language([], {"LANG": "de_DE"}) == "de_DE"


def test_a_config_that_is_a_pipe_keeps_nobody_waiting_for_the_language(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "config.toml")
    assert language(["--home", str(tmp_path)], {"LANG": "de_DE"}) == "de_DE"


def test_argparse_and_tables_speak_the_language_of_the_home(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text('[ui]\nlocale = "de"\n')
    program = Path(sys.executable).with_name("atlas")
    command = [str(program), "--home", str(tmp_path), "jobs", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("Aufruf: atlas jobs")
    assert "Hintergrundarbeit" in done.stdout
