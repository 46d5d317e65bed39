"""Every setting can be given by its variable, and every bad value is refused with the setting's name."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from atlas_desktop.settings.file import SettingInfo, SettingsError, SettingsFile, describe, unknown_variables

INFOS = {info.key: info for info in describe()}


def limits(info: SettingInfo) -> tuple[float, float] | None:
    """The least and the most of a number; the least itself may be out of bounds."""
    found = re.fullmatch(r"(?:above )?(-?[\d.]+) to (-?[\d.]+)", info.bounds)
    return None if found is None else (float(found[1]), float(found[2]))


def another(info: SettingInfo) -> Any:
    """A good value other than the default."""
    span = limits(info)
    if info.key == "ui.locale":
        return "de_DE"
    match info.type:
        case "bool":
            return not info.default
        case "choice":
            return next(choice for choice in info.bounds.split(", ") if choice != info.default)
        case "list of str":
            return ["END"]
        case "str":
            return "Speak like a sailor."
        case "int or nothing":
            return 7
        case "int":
            assert span is not None
            return int(span[1])
        case "float":
            assert span is not None
            return next(value for value in (sum(span) / 2, span[1]) if value != info.default)
    raise AssertionError(f"{info.key} has an unknown type, {info.type}")


def bad(info: SettingInfo) -> Iterator[str]:
    """Raw values that must be refused."""
    span = limits(info)
    match info.type:
        case "bool":
            yield from ("perhaps", "1", "")
        case "choice":
            yield from ("nonsense", "3", "")
        case "list of str":
            yield from ("5", json.dumps([1]), json.dumps(["x"] * 17))
        case "str":
            yield from ("5", json.dumps("x" * 20_001))
        case _:
            yield from ("many", "[]", "nan" if info.type == "int" else "true", "")
    if span is not None:
        step = 1 if info.type == "int" else 0.001
        yield from (str(span[1] + step).removesuffix(".0"), str(span[0] - step).removesuffix(".0"))
        if info.type == "int":
            yield "1.5"
        if info.bounds.startswith("above"):
            yield str(span[0])


def settings_with(info: SettingInfo, raw: str) -> SettingsFile:
    file = SettingsFile(Path("/nowhere/config.toml"), environ={info.env: raw})
    file.load()
    return file


@pytest.mark.parametrize("key", INFOS)
def test_a_setting_is_given_by_its_variable(key: str) -> None:
    info = INFOS[key]
    value = another(info)
    assert value != info.default
    raw = value if isinstance(value, str) else json.dumps(value)
    file = settings_with(info, raw)
    section, name = key.split(".")
    assert getattr(getattr(file.settings, section), name) == value
    assert file.given == {key}
    assert info.env == f"ATLAS_{section}_{name}".upper()


@pytest.mark.parametrize(("key", "raw"), [(key, raw) for key, info in INFOS.items() for raw in bad(info)])
def test_a_bad_variable_is_refused_with_the_name_and_a_reason(key: str, raw: str) -> None:
    with pytest.raises(SettingsError) as caught:
        settings_with(INFOS[key], raw)
    assert caught.value.where.partition("[")[0] == key
    assert caught.value.variable == INFOS[key].env
    assert caught.value.reason


def test_a_variable_without_a_setting_is_named_with_the_one_that_is_meant() -> None:
    given = dict.fromkeys(("ATLAS_HOME", "ATLAS_CHAT_SEED", "ATLAS_CHAT_MAX_TOKEN", "ATLAS_UI_QQQQ"), "1")
    assert unknown_variables(given) == {"ATLAS_CHAT_MAX_TOKEN": "ATLAS_CHAT_MAX_TOKENS", "ATLAS_UI_QQQQ": ""}
