import os
import stat
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atlas_desktop.settings.file import (
    SettingsError,
    SettingsFile,
    UnknownSetting,
    describe,
    from_environment,
    parse,
    read_value,
)
from atlas_desktop.settings.schema import ChatSettings, Settings


@pytest.fixture
def file(tmp_path: Path) -> SettingsFile:
    return SettingsFile(tmp_path / "config.toml", environ={})


def test_without_a_file_everything_is_at_its_default(file: SettingsFile) -> None:
    assert file.load() == Settings()


def test_a_value_is_written_and_every_comment_kept(file: SettingsFile) -> None:
    file.path.write_text("# mine\n[chat]\n# warm\ntemperature = 0.9 # just so\n")
    file.load()
    file.set("chat.max_tokens", 99)
    assert file.path.read_text() == ("# mine\n[chat]\n# warm\ntemperature = 0.9 # just so\nmax_tokens = 99\n")
    assert file.settings.chat.max_tokens == 99
    assert file.settings.chat.temperature == 0.9


def test_the_file_is_for_its_owner_alone(file: SettingsFile) -> None:
    file.set("ui.theme", "light")
    assert stat.S_IMODE(file.path.stat().st_mode) == 0o600
    assert [path.name for path in file.path.parent.iterdir()] == ["config.toml"]


def test_taking_a_value_back_restores_the_default(file: SettingsFile) -> None:
    file.set("chat.max_tokens", 99)
    file.set("chat.max_tokens", None)
    assert file.settings == Settings()


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("chat.max_tokens", 0),
        ("chat.temperature", 3.5),
        ("chat.temperature", "warm"),
        ("ui.theme", "pink"),
        ("chat.stop", ["x"] * 17),
        ("context.immediate_turns", 0),
        ("context.relevance_decay", 0.0),
        ("context.summary_target", 100),
        ("sessions.new_session", "sometimes"),
        ("jobs.cpu_cap", 1.5),
    ],
)
def test_a_bad_value_is_refused_with_its_name_and_the_file_is_left(
    file: SettingsFile, key: str, value: Any
) -> None:
    file.set("chat.seed", 5)
    before = file.path.read_bytes()
    with pytest.raises(SettingsError) as caught:
        file.set(key, value)
    assert caught.value.where == key
    assert file.path.read_bytes() == before
    assert file.settings.chat.seed == 5


@pytest.mark.parametrize("text", ["[chat\n", "\xff\xfe", "[chat]\nmax_tokens = 0\n", "[nothing]\nx = 1\n"])
def test_a_broken_file_is_named_and_left(file: SettingsFile, text: str) -> None:
    file.path.write_bytes(text.encode("latin-1"))
    with pytest.raises(SettingsError):
        file.load()
    assert file.path.read_bytes() == text.encode("latin-1")


@pytest.mark.parametrize("key", ["chat", "chat.nothing", "nothing.x", "", "chat.max_tokens.x"])
def test_a_setting_that_does_not_exist_is_said_so(file: SettingsFile, key: str) -> None:
    with pytest.raises(UnknownSetting):
        file.set(key, 1)


def test_the_environment_goes_before_the_file(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text("[chat]\nmax_tokens = 5\n")
    file = SettingsFile(path, environ={"ATLAS_CHAT_MAX_TOKENS": "7", "ATLAS_UI_THEME": "light"})
    assert file.load().chat.max_tokens == 7
    assert file.settings.ui.theme == "light"
    assert from_environment({"ATLAS_HOME": "/x"}) == {}


def test_a_bad_environment_variable_is_refused() -> None:
    with pytest.raises(SettingsError):
        SettingsFile(Path("/nowhere/config.toml"), environ={"ATLAS_CHAT_MAX_TOKENS": "many"}).load()


def test_every_setting_has_words_a_default_within_its_bounds_and_a_variable() -> None:
    infos = list(describe())
    assert len({i.key for i in infos}) == len({i.env for i in infos}) == len(infos)
    for info in infos:
        assert info.description.endswith("."), info.key
        section, name = info.key.split(".")
        if info.default is not None:
            parse({section: {name: info.default}})


def test_makers_recommend_the_person_decides() -> None:
    settings = parse({"chat": {"top_p": 0.5}, "sampling": {"m": {"min_p": 0.2}}})
    chat = settings.chat_for("m", {"temperature": 0.2, "min_p": 0.0, "top_k": 20})
    assert (chat.temperature, chat.top_p, chat.min_p, chat.top_k) == (0.2, 0.5, 0.2, 20)
    assert Settings().chat_for("other") == ChatSettings()


def test_a_setting_that_a_person_gave_is_known_even_when_it_equals_the_default(tmp_path: Path) -> None:
    file = SettingsFile(tmp_path / "config.toml", environ={"ATLAS_UI_THEME": "dark"})
    file.set("chat.temperature", Settings().chat.temperature)
    assert file.given == {"chat.temperature", "ui.theme"}


def test_a_bad_override_for_one_model_is_refused() -> None:
    with pytest.raises(SettingsError):
        parse({"sampling": {"m": {"temperature": 9.0}}})


@given(st.text())
def test_any_text_is_some_value(raw: str) -> None:
    assert read_value(raw) is not None


def _folder(path: Path) -> None:
    path.mkdir()


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _holding(text: str) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        path.write_bytes(text.encode())

    return write


HOSTILE: dict[str, Callable[[Path], None]] = {
    "a folder": _folder,
    "a pipe": _pipe,
    "NUL": _holding("chat = \0"),
    "deep lists": _holding(f"x = {'[' * 50_000}"),
    "deep tables": _holding(f"[{'.'.join('a' * 50_000)}]"),
    "deep inline tables": _holding(f"x = {'{a=' * 20_000}"),
    "huge": _holding("# words\n" * 2_000_000),
    "a million keys": _holding("".join(f"k{n} = 1\n" for n in range(1_000_000))),
    "many keys of keys": _holding("[keys]\n" + "".join(f"k{n} = 'x'\n" for n in range(8_100))),
    "wrong types": _holding("chat = 1\nui = [1]\n[keys]\nx = {y = 1}"),
    "a list for a section": _holding("[[chat]]\n[[chat]]"),
    "a date": _holding("chat.max_tokens = 2020-01-01"),
    "infinite": _holding("chat.temperature = inf"),
    "a long number": _holding(f"chat.max_tokens = {'9' * 100_000}"),
    "a lone quote": _holding('chat.system_prompt = """'),
}


@pytest.mark.alone
@pytest.mark.parametrize("make", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_file_is_refused_in_words_and_at_once(tmp_path: Path, make: Callable[[Path], None]) -> None:
    path = tmp_path / "config.toml"
    make(path)
    file = SettingsFile(path, environ={})
    began = time.process_time()
    for attempt in (file.load, lambda: file.set("chat.max_tokens", 5)):
        with suppress(SettingsError):
            attempt()
    assert time.process_time() - began < 2


def test_several_bad_settings_can_be_mended_one_by_one(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text("# mine\n[chat]\nmax_tokens = 'x'\ntemperature = 'y'\n")
    file = SettingsFile(path, environ={})
    with pytest.raises(SettingsError):
        file.set("chat.max_tokens", -1)
    file.set("chat.max_tokens", 50)
    file.set("chat.temperature", None)
    assert file.load().chat.max_tokens == 50
    assert path.read_text() == "# mine\n[chat]\nmax_tokens = 50\n"
