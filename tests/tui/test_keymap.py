"""The person's own keys: what is taken, what is refused and why, and what Textual is told."""

import re
from pathlib import Path

import pytest

from atlas_desktop import tui
from atlas_desktop.settings.file import SettingsError, SettingsFile
from atlas_desktop.tui.actions import ACTIONS, BY_ID, Where
from atlas_desktop.tui.keymap import UNBOUND, KeyTaken, bound, check, how_to, keys_of, shown_keys
from docs.translations import texts_of


def test_keys_are_taken_as_people_write_them() -> None:
    new = BY_ID["session.new"]
    assert keys_of(new, {}) == "ctrl+n"
    assert keys_of(new, {"session.new": "Alt+N, F7"}) == "alt+n,f7"
    assert keys_of(new, {"session.new": "Alt+PgUp"}) == "alt+pageup"
    assert keys_of(BY_ID["memories.accept"], {"memories.accept": "Shift+K"}) == "K"
    assert keys_of(new, {"session.new": ""}) == ""


@pytest.mark.parametrize(
    ("action", "keys", "reason"),
    [
        ("session.new", "ctrl+o", "session.list (Conversations)"),
        ("session.new", "ctrl+q", "app.quit (Quit)"),
        ("session.delete_marked", "ctrl+n", "session.new"),
        ("memories.accept", "ctrl+p", "app.palette"),
        ("memories.accept", "r", "memories.reject"),
        ("session.new", "ctrl+c", "is reserved"),
        ("session.new", "enter", "is reserved"),
        ("session.new", "k", "is used for typing here"),
        ("app.help", "?", "is used for typing here"),
        ("session.new", "hyper+k", "unknown key"),
        ("session.new", "f99", "unknown key"),
        ("app.quit", "", "needs a key"),
        ("session.nothing", "ctrl+k", "no such action"),
    ],
)
def test_what_cannot_be_had_is_refused_with_the_reason(action: str, keys: str, reason: str) -> None:
    with pytest.raises(SettingsError) as caught:
        check({action: keys})
    assert caught.value.where == f"keys.{action}"
    assert reason in caught.value.reason


@pytest.mark.parametrize(
    ("action", "keys"),
    [
        ("memory.show", "ctrl+s"),  # saved searches, in the history
        ("history.save", "f4"),
        ("message.copy", "ctrl+n"),
        ("session.new", "f3"),
    ],
)
def test_a_key_that_is_listened_to_on_the_same_screen_is_taken(action: str, keys: str) -> None:
    with pytest.raises(KeyTaken):
        check({action: keys})


def test_keys_can_change_places_and_places_share_keys() -> None:
    for wanted in (
        {"session.new": "ctrl+o", "session.list": "ctrl+n"},
        {"memories.accept": "ctrl+n"},
        {"chat.back": "f11"},
        {"models.bench": "f3"},
    ):
        check(wanted)
        made = bound(wanted)
        assert {action: made[action] for action in wanted} == wanted


def test_the_key_of_a_view_may_be_its_way_back_too() -> None:
    check({"history.back": "escape,f2"})
    check({"memory.show": "f11", "memories.back": "f11"})
    with pytest.raises(KeyTaken):
        check({"memories.back": "f2"})


def test_one_action_is_judged_by_itself() -> None:
    bad = {"session.new": "ctrl+o", "memories.reject": "a", "session.nothing": "ctrl+k"}
    check(bad, "view.theme")
    check(bad, "session.gone")
    for one in (*bad, "session.list"):
        with pytest.raises(SettingsError) as caught:
            check(bad, one)
        assert caught.value.where == f"keys.{one}"


def test_bad_keys_in_a_file_are_mended_one_by_one(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text('[keys]\n"session.new" = "ctrl+o"\n"session.nothing" = "f7"\n"app.help" = "f5"\n')
    with pytest.raises(SettingsError):
        SettingsFile(path, environ={}, check_keys=check).load()
    file = SettingsFile(path, environ={}, check_keys=check)
    file.set("keys.session.nothing", None)
    with pytest.raises(KeyTaken):
        file.set("keys.app.help", "f9")
    file.set("keys.app.help", "f11")
    file.set("keys.session.new", None)
    assert SettingsFile(path, environ={}, check_keys=check).load().keys == {"app.help": "f11"}


def test_the_default_is_not_taken_back_from_another(tmp_path: Path) -> None:
    file = SettingsFile(tmp_path / "config.toml", environ={}, check_keys=check)
    file.set("keys.session.new", "f11")
    file.set("keys.session.list", "ctrl+n")
    with pytest.raises(KeyTaken) as caught:
        file.set("keys.session.new", None)
    assert caught.value.where == "keys.session.new"


def test_the_defaults_are_a_keymap_that_can_be_had() -> None:
    defaults = {action.id: action.key for action in ACTIONS if action.key}
    check(defaults)
    assert [keys_of(action, defaults) for action in ACTIONS] == [action.key for action in ACTIONS]


def test_what_textual_is_told_leaves_nobody_without_a_key() -> None:
    made = bound({"chat.stop": "ctrl+x", "session.new": ""})
    assert made["chat.stop"] == "ctrl+x"
    # It shares Esc with the action that moved.
    assert made["chat.back"] == "escape"
    assert made["session.new"].startswith(UNBOUND)
    assert bound({}) == {}


def test_the_file_refuses_a_keymap_and_stays_as_it_was(tmp_path: Path) -> None:
    file = SettingsFile(tmp_path / "config.toml", environ={}, check_keys=check)
    file.set("keys.session.new", "alt+n")
    before = file.path.read_text()
    assert file.get("keys.session.new") == "alt+n"
    with pytest.raises(SettingsError):
        file.set("keys.session.rename", "alt+n")
    assert file.path.read_text() == before
    file.set("keys.session.new", None)
    assert file.settings.keys == {}


def test_everything_can_be_reached_where_keys_are_taken_away() -> None:
    for action in ACTIONS:
        typing = action.where in (Where.CHAT, Where.VIEWS, Where.EVERYWHERE)
        assert action.in_palette or action.slash or not typing or action.key, action.id


def test_an_action_is_named_by_its_keys_or_how_else_it_is_started() -> None:
    assert shown_keys("chat.regenerate", {}) == "Ctrl+R"
    assert shown_keys("chat.regenerate", {"chat.regenerate": ""}) == ""
    assert how_to("chat.regenerate", {"chat.regenerate": "Ctrl+K, F7"}) == "Ctrl+K or F7"
    assert how_to("chat.regenerate", {"chat.regenerate": ""}) == "/regenerate"
    assert how_to("models.show", {"models.show": ""}) == "“Models” in the palette"


FIXED = {
    "Ctrl+S saves · Esc cancels",
    "Tab goes on · Ctrl+S exports · Esc cancels",
    "Enter: next field · Ctrl+S confirms · Esc cancels",
    "Space ticks · Ctrl+S confirms · Esc cancels",
    "Enter saves · Shift+Enter or Ctrl+J: new line · Esc cancels",
    "Linked to “{title}”. Ctrl+Z in the text takes it back.",
    "Try again, or use your passphrase (Ctrl+R).",
    "Try again, or use your recovery key (Ctrl+R).",
    "{stop} stops the reply, {quit} quits. Ctrl+C copies the selection.",
    "{quit} quits. Ctrl+C copies the selection.",
    "Send your message. During a reply, it is queued. Shift+Enter or Ctrl+J: new line.",
}
"""Texts that name keys of a window or of the prompt, which the user cannot change."""


def test_no_text_names_a_key_that_the_user_may_have_changed() -> None:
    named = {
        text
        for path in Path(tui.__file__).parent.rglob("*.py")
        for _line, message in texts_of(path)
        for text in ([message] if isinstance(message, str) else message)
        if re.search(r"\b(Ctrl|Alt|Shift)\+|\bF[1-9][0-9]?\b", text)
    }
    assert named == FIXED
