import errno
import inspect
from pathlib import Path
from typing import Any

import pytest

from atlas_desktop.error_table import explain
from atlas_desktop.errors import Exit, size
from atlas_desktop.settings.file import SettingsError, UnknownSetting
from memory import errors as memory
from memory.vault.keyring import KeyringTrouble
from models import errors as models

_SAMPLES: dict[str, Any] = {
    "engine": "box",
    "others": ("desk",),
    "problem": "",
    "host": "box:80",
    "status": 500,
    "model": "small",
    "name": "x",
    "state": "running",
    "title": "Boats",
    "note_id": "abc",
    "fault": "name",
    "number": 3,
    "path": Path("/x/file.gguf"),
    "folder": Path("/x"),
    "detail": "detail",
    "expected": 5,
    "actual": 3,
    "needed": 5_000_000_000,
    "available": 1_000_000,
    "free": 10,
    "ref": "abc",
    "change_id": "0192",
    "suggestions": ("abcd",),
    "role": "chat",
    "room": "private",
    "seconds": 8,
    "pages": 12,
    "bad_pages": 12,
    "source": "somewhere",
    "code": -11,
    "tokens": 9,
    "limit": 5,
    "in_parts": True,
    "minimum": 8,
    "backend": "x",
    "reason": "none",
    "project_id": "01",
    "found": 9,
    "held": (2, 9),
    "made": (2, 8),
    "known": 1,
    "matches": 2,
    "trouble": "not_a_date",
    "at": 3,
    "until": 7,
    "options": ("2024-05",),
    "where": "chat.x",
    "variable": "",
    "args": (),
    "kwargs": {},
}


def every_error() -> list[type[Exception]]:
    found: list[type[Exception]] = [SettingsError, UnknownSetting]
    for module in (memory, models):
        for _, kind in inspect.getmembers(module, inspect.isclass):
            if (
                issubclass(kind, Exception)
                and kind.__module__ == module.__name__
                and not kind.__subclasses__()
            ):
                found.append(kind)
    return found


def make(kind: type[Exception]) -> Exception:
    names = [n for n in inspect.signature(kind.__init__).parameters if n not in ("self", "args", "kwargs")]
    return kind(**{name: _SAMPLES[name] for name in names})


@pytest.mark.parametrize("kind", every_error(), ids=lambda k: k.__name__)
def test_every_error_has_its_own_words(kind: type[Exception]) -> None:
    words = explain(make(kind))
    assert words.code != "unexpected", kind
    assert all((words.title, words.message, words.next_step))
    assert not words.title.endswith(".")
    assert words.message.rstrip().endswith((".", "?"))
    assert set(words.as_json()["error"]) == {"code", "title", "message", "next_step"}


def test_a_variable_that_cannot_be_used_is_named() -> None:
    words = explain(SettingsError("chat.x", "none", "ATLAS_CHAT_X"))
    assert "ATLAS_CHAT_X" in words.message
    assert "file was left" not in words.message


def test_codes_are_the_errors_own() -> None:
    codes = [explain(make(kind)).code for kind in every_error()]
    assert len(set(codes)) == len(codes)


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (memory.WrongPassphrase(), Exit.LOCKED),
        (memory.KeyslotsDamaged("x"), Exit.DAMAGED),
        (memory.NotARoom(Path("open.db")), Exit.DAMAGED),
        (models.NoModel("chat"), Exit.NO_MODEL),
        (KeyboardInterrupt(), Exit.INTERRUPTED),
        (ZeroDivisionError("secret words"), Exit.FAILED),
    ],
)
def test_exit_statuses(error: BaseException, status: Exit) -> None:
    assert explain(error).status is status


def test_an_unknown_error_tells_its_type_and_none_of_its_content() -> None:
    words = explain(ValueError("the secret is plover"))
    assert "plover" not in str(words)
    assert "ValueError" in words.message


def test_sizes_read_well() -> None:
    assert [size(n) for n in (0, 999, 98_362_432, 4_700_000_000)] == [
        "0 bytes",
        "999 bytes",
        "98.4 MB",
        "4.7 GB",
    ]


def test_every_trouble_of_the_keyring_has_its_own_words() -> None:
    messages = [explain(memory.KeyringUnavailable("Some", t)).message for t in KeyringTrouble]
    assert len(set(messages)) == len(messages)
    assert all("(Some)" in message for message in messages)


def test_a_full_disk_is_called_so_whoever_met_it() -> None:
    assert explain(OSError(errno.ENOSPC, "No space left on device")).code == "disk_full"
    assert explain(OSError(errno.EACCES, "Permission denied")).code == "system"
