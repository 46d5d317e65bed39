"""The settings in force: defaults, then `config.toml`, then the environment."""

import os
import tempfile
import tomllib
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Meta

from atlas_desktop.setting_types import (
    BackupSettings,
    ChatSettings,
    ContextSettings,
    JobSettings,
    MemorySettings,
    ModelSettings,
    PrivacySettings,
    RetentionSettings,
    SessionSettings,
    Settings,
)
from atlas_desktop.setting_ui import UiSettings

ENV_PREFIX = "ATLAS_"


class SettingsError(Exception):
    """A setting that cannot be used; the file on disk is left as it was."""

    def __init__(self, where: str, reason: str) -> None:
        super().__init__(f"{where}: {reason}")
        self.where = where
        self.reason = reason


class UnknownSetting(SettingsError):
    """There is no setting of that name."""


_TYPE_WORDS = {
    "bool": "true or false",
    "int": "a whole number",
    "int or nothing": "a whole number",
    "float": "a number",
    "str": "a text",
    "choice": "one of these",
    "list of str": "a list of texts",
}


class Effect(StrEnum):
    """From when on a change is followed."""

    AT_ONCE = "at once"
    MODEL = "from the next start of the model"
    START = "from the next start of Atlas"


# Everything else is asked for when it is needed.
EFFECTS = {
    "models": Effect.MODEL,
    "context.snapshots": Effect.START,
    "context.snapshots_mb": Effect.START,
    "memory.vector_index": Effect.START,
    "jobs": Effect.START,
}


@dataclass(frozen=True, slots=True)
class SettingInfo:
    """One setting as docs and forms show it; `most` is the longest that a text may be, 0 for no bound."""

    key: str
    type: str
    default: Any
    bounds: str
    description: str
    most: int = 0

    @property
    def env(self) -> str:
        return ENV_PREFIX + self.key.replace(".", "_").upper()

    @property
    def wanted(self) -> str:
        """What a value has to be, in words."""
        bounds = {"choice": f": {self.bounds}", "str": f", {self.bounds} characters"}
        of = bounds.get(self.type, f", {self.bounds}") if self.bounds else ""
        return f"expected {_TYPE_WORDS.get(self.type, self.type)}{of}"

    @property
    def effect(self) -> Effect:
        return EFFECTS.get(self.key, EFFECTS.get(self.key.partition(".")[0], Effect.AT_ONCE))


KEYS = "keys"
"""The table of the keymap: action ids and their keys. Only the interface knows which there are."""

_SECTIONS: dict[str, type[msgspec.Struct]] = {
    "chat": ChatSettings,
    "models": ModelSettings,
    "context": ContextSettings,
    "sessions": SessionSettings,
    "memory": MemorySettings,
    "jobs": JobSettings,
    "backup": BackupSettings,
    "retention": RetentionSettings,
    "privacy": PrivacySettings,
    "ui": UiSettings,
}


def describe() -> Iterator[SettingInfo]:
    """Every single setting (the per-model tables have the same fields as `chat`)."""
    for section, struct in _SECTIONS.items():
        hints = typing.get_type_hints(struct, include_extras=True)
        defaults = struct()
        for name, hint in hints.items():
            kind, meta = typing.get_args(hint)
            yield SettingInfo(
                f"{section}.{name}",
                _type_name(kind),
                getattr(defaults, name),
                _bounds(kind, meta),
                meta.description or "",
                meta.max_length or 0,
            )


def _type_name(kind: Any) -> str:
    if isinstance(kind, types.UnionType):
        return " or ".join("nothing" if k is type(None) else k.__name__ for k in typing.get_args(kind))
    if typing.get_origin(kind) is Literal:
        return "choice"
    if typing.get_origin(kind) is list:
        return "list of str"
    return str(kind.__name__)


def _bounds(kind: Any, meta: Meta) -> str:
    if typing.get_origin(kind) is Literal:
        return ", ".join(typing.get_args(kind))
    if meta.ge is not None:
        return f"{meta.ge} to {meta.le}"
    if meta.gt is not None:
        return f"above {meta.gt} to {meta.le}"
    return f"at most {meta.max_length}" if meta.max_length else ""


def parse(data: Mapping[str, Any]) -> Settings:
    """Checks a whole configuration. Raises `SettingsError` naming the setting and the reason."""
    try:
        settings = msgspec.convert(data, Settings)
        for model_id in settings.sampling:
            settings.chat_for(model_id)
        if settings.ui.locale:
            _check_locale(settings.ui.locale)
    except msgspec.ValidationError as error:
        reason, _, place = str(error).partition(" - at `$.")
        where = place.rstrip("`")
        wanted = next((info.wanted for info in describe() if info.key == where.partition("[")[0]), reason)
        raise SettingsError(where or "config.toml", wanted) from None
    return settings


def _check_locale(name: str) -> None:
    from babel import Locale, UnknownLocaleError

    try:
        Locale.parse(name.replace("-", "_"))
    except (ValueError, UnknownLocaleError):
        raise SettingsError("ui.locale", "no such language is known; examples: de_DE, en_GB") from None


def from_environment(environ: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """Settings given as `ATLAS_SECTION_NAME`, as nested raw values."""
    found: dict[str, dict[str, Any]] = {}
    for info in describe():
        raw = environ.get(info.env)
        if raw is not None:
            section, name = info.key.split(".")
            found.setdefault(section, {})[name] = read_value(raw)
    return found


def read_value(raw: str) -> Any:
    """A value as TOML would read it; anything that is not TOML is a plain text."""
    try:
        return tomllib.loads(f"v = {raw}")["v"]
    except tomllib.TOMLDecodeError:
        return raw


CheckKeys = Callable[[Mapping[str, str]], None]
"""Raises `SettingsError` for a keymap that cannot be used."""


def any_keys(_keys: Mapping[str, str]) -> None:
    """Takes every keymap: for what never listens to keys."""


@dataclass(slots=True)
class SettingsFile:
    """`config.toml` and the settings in force: defaults, then the file, then the environment.

    `given` are the keys that the file or the environment set, whatever their values. `check_keys` judges the
    table `[keys]`, of which the actions of the interface are the measure.
    """

    path: Path
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    settings: Settings = field(default_factory=Settings)
    given: frozenset[str] = frozenset()
    check_keys: CheckKeys = any_keys

    def load(self) -> Settings:
        """Reads the file, if there is one. Raises `SettingsError`; the settings in force stay then."""
        self.settings = self._with_environment(self._read())
        return self.settings

    def get(self, key: str) -> Any:
        """The value in force of `section.name`."""
        section, name = self._split(key)
        if section == KEYS:
            return self.settings.keys.get(name)
        return getattr(getattr(self.settings, section), name)

    @property
    def given_by_environment(self) -> frozenset[str]:
        """The keys that the environment sets: what the file says of them is not in force."""
        found = from_environment(self.environ)
        return frozenset(f"{section}.{name}" for section, values in found.items() for name in values)

    def set(self, key: str, value: Any) -> Settings:
        """Checks one value and writes it, keeping every comment; `value` None goes back to the default."""
        import tomlkit

        section, name = self._split(key)
        text = self.path.read_text(encoding="utf-8") if self.path.exists() else ""
        document = tomlkit.parse(text)
        table = document.setdefault(section, tomlkit.table())
        if value is None:
            table.pop(name, None)
        else:
            table[name] = value
        checked = self._with_environment(tomllib.loads(document.as_string()))
        self._write(document.as_string())
        self.settings = checked
        return checked

    def _read(self) -> dict[str, Any]:
        try:
            return tomllib.loads(self.path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise SettingsError(self.path.name, f"this is not TOML: {error}") from None

    def _with_environment(self, data: dict[str, Any]) -> Settings:
        parse(data)
        merged = dict(data)
        for section, values in from_environment(self.environ).items():
            merged[section] = {**merged.get(section, {}), **values}
        settings = parse(merged)
        self.check_keys(settings.keys)
        self.given = frozenset(
            f"{section}.{name}" for section in _SECTIONS for name in merged.get(section, {})
        )
        return settings

    def _split(self, key: str) -> tuple[str, str]:
        section, _, name = key.partition(".")
        if section == KEYS and name:
            return section, name
        if section not in _SECTIONS or name not in _SECTIONS[section].__struct_fields__:
            raise UnknownSetting(key, "there is no such setting")
        return section, name

    def _write(self, text: str) -> None:
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # mkstemp makes the file 0600 from the start.
        handle, name = tempfile.mkstemp(dir=self.path.parent, prefix=".config-")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as out:
                out.write(text)
                out.flush()
                os.fsync(out.fileno())
            Path(name).replace(self.path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
