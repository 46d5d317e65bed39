"""The settings in effect, described and read: defaults, then `config.toml`, then the environment."""

import os
import re
import stat
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

from atlas_desktop.locale import N_, _
from atlas_desktop.locale.formats import known_locale
from atlas_desktop.settings.schema import (
    BackupSettings,
    ChatSettings,
    ContextSettings,
    DoorSettings,
    EngineSettings,
    JobSettings,
    MemorySettings,
    ModelSettings,
    PrivacySettings,
    RetentionSettings,
    SessionSettings,
    Settings,
    UiSettings,
)
from models.engines.spec import full_url, is_name

_WANTED_TEXTS = {
    "bool": N_("expected true or false"),
    "int": N_("expected a whole number"),
    "int or nothing": N_("expected a whole number"),
    "float": N_("expected a number"),
    "str": N_("expected text"),
    "list of str": N_("expected a list of texts"),
}
_WANTED_WITHIN_TEXTS = {
    "int": N_("expected a whole number, {bounds}"),
    "float": N_("expected a number, {bounds}"),
    "str": N_("expected text, {bounds} characters"),
    "choice": N_("expected one of these: {bounds}"),
    "list of str": N_("expected a list of texts, {bounds}"),
}

ENV_PREFIX = "ATLAS_"


class Effect(StrEnum):
    """When a change takes effect."""

    AT_ONCE = "at_once"
    MODEL = "model"
    START = "start"


# Everything else is read when it is needed.
EFFECTS = {
    "models": Effect.MODEL,
    "context.snapshots": Effect.START,
    "context.snapshots_mb": Effect.START,
    "memory.vector_index": Effect.START,
    "ui.locale": Effect.START,
    "ui.images": Effect.START,
    "jobs": Effect.START,
}


@dataclass(frozen=True, slots=True)
class SettingInfo:
    """One setting for docs and forms; `most` is the maximum length of a text, 0 for no bound."""

    key: str
    type: str
    default: Any
    limits: tuple[str, Mapping[str, Any]]
    """The text of its bounds in English, with its values."""
    name: str
    description: str
    """A description in a sentence or two."""
    most: int = 0

    @property
    def bounds(self) -> str:
        """The bounds in English, which scripts read; empty without any."""
        text, values = self.limits
        return text.format(**values) if values else text

    @property
    def bounds_text(self) -> str:
        """The bounds in the user's language."""
        text, values = self.limits
        return _(text, **values)

    @property
    def env(self) -> str:
        return ENV_PREFIX + self.key.replace(".", "_").upper()

    @property
    def wanted(self) -> str:
        """Describes the values that are allowed."""
        if not self.bounds:
            return _(_WANTED_TEXTS[self.type])
        return _(_WANTED_WITHIN_TEXTS[self.type], bounds=self.bounds_text)

    @property
    def effect(self) -> Effect:
        return EFFECTS.get(self.key, EFFECTS.get(self.key.partition(".")[0], Effect.AT_ONCE))


SECTIONS: dict[str, type[msgspec.Struct]] = {
    "chat": ChatSettings,
    "models": ModelSettings,
    "context": ContextSettings,
    "sessions": SessionSettings,
    "memory": MemorySettings,
    "jobs": JobSettings,
    "backup": BackupSettings,
    "retention": RetentionSettings,
    "privacy": PrivacySettings,
    "doors": DoorSettings,
    "ui": UiSettings,
}


def describe() -> Iterator[SettingInfo]:
    """Yields every setting (the per-model tables have fields of `chat`)."""
    for section, struct in SECTIONS.items():
        hints = typing.get_type_hints(struct, include_extras=True)
        defaults = struct()
        for name, hint in hints.items():
            bounded = typing.get_origin(hint) is typing.Annotated
            kind, meta = typing.get_args(hint) if bounded else (hint, Meta())
            yield SettingInfo(
                f"{section}.{name}",
                _type_name(kind),
                getattr(defaults, name),
                _bounds(kind, meta),
                _(meta.title),
                _(meta.description),
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


def _bounds(kind: Any, meta: Meta) -> tuple[str, Mapping[str, Any]]:
    if typing.get_origin(kind) is Literal:
        return ", ".join(typing.get_args(kind)), {}
    if meta.ge is not None:
        return N_("{least} to {most}"), {"least": meta.ge, "most": meta.le}
    if meta.gt is not None:
        return N_("above {least} to {most}"), {"least": meta.gt, "most": meta.le}
    return (N_("at most {most}"), {"most": meta.max_length}) if meta.max_length else ("", {})


_LIKE = 0.8


def from_environment(environ: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """Returns the settings given by environment variables, as nested raw values."""
    found: dict[str, dict[str, Any]] = {}
    for info in describe():
        raw = environ.get(info.env)
        if raw is not None:
            section, name = info.key.split(".")
            found.setdefault(section, {})[name] = read_value(raw)
    return found


def unknown_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """Returns variables of a known section but an unknown setting, each with the most similar known one."""
    from difflib import get_close_matches

    known = {info.env for info in describe()}
    sections = tuple(f"{ENV_PREFIX}{section}_".upper() for section in SECTIONS)
    strange = sorted(name for name in environ if name.startswith(sections) and name not in known)
    return {name: next(iter(get_close_matches(name, known, n=1, cutoff=_LIKE)), "") for name in strange}


def read_value(raw: str) -> Any:
    """Returns a value as TOML would read it; anything that is not TOML is plain text."""
    try:
        return tomllib.loads(f"v = {raw}")["v"]
    except tomllib.TOMLDecodeError:
        return raw


class SettingsError(Exception):
    """A setting that cannot be used; the file on disk is unchanged.

    `variable` is the environment variable that sets it; empty if the file or the user does.
    """

    def __init__(self, where: str, reason: str, variable: str = "") -> None:
        super().__init__(f"{variable or where}: {reason}")
        self.where = where
        self.reason = reason
        self.variable = variable


class UnknownSetting(SettingsError):
    """There is no setting with that name."""


_LARGEST = 96 * 1024
_DEEP_KEY = re.compile(r"^[ \t]*\[*(?:[\w-]+[ \t]*\.[ \t]*){50}", re.MULTILINE)
KEYS = "keys"
"""The table of the keymap: action ids and their keys. Only the interface knows the action ids."""


def parse(data: Mapping[str, Any]) -> Settings:
    """Checks a whole configuration. Raises `SettingsError` with the setting and the reason."""
    try:
        settings = msgspec.convert(data, Settings)
        for model_id in settings.sampling:
            settings.chat_for(model_id)
        if settings.ui.locale:
            _check_locale(settings.ui.locale)
        for name, engine in settings.engines.items():
            _check_engine(name, engine.url)
    except msgspec.ValidationError as error:
        reason, _unused, place = str(error).partition(" - at `$.")
        where = place.rstrip("`")
        info = _info_of(where)
        raise SettingsError(where or "config.toml", reason if info is None else info.wanted) from None
    return settings


def _info_of(place: str) -> SettingInfo | None:
    """Returns the setting at a place in the configuration, or the setting that contains the place."""
    return next((info for info in describe() if info.key == place.partition("[")[0]), None)


def _check_locale(name: str) -> None:
    if not known_locale(name):
        raise SettingsError("ui.locale", _("unknown locale; examples: de_DE, en_GB"))


def _check_engine(name: str, url: str) -> None:
    if not is_name(name):
        raise SettingsError(f"engines.{name}", _("expected letters, digits, `.`, `_` and `-`"))
    try:
        full_url(url)
    except ValueError:
        raise SettingsError(
            f"engines.{name}.url", _("expected an address like http://127.0.0.1:11434/v1")
        ) from None


CheckKeys = Callable[[Mapping[str, str], str | None], None]
"""Raises `SettingsError` for an unusable keymap; if an action is named, only for faults in its keys."""


def any_keys(_keys: Mapping[str, str], _only: str | None = None) -> None:
    """Accepts every keymap, for code that never reads keys."""


@dataclass(slots=True)
class SettingsFile:
    """`config.toml` and the settings in effect: defaults, then the file, then the environment.

    `given` are the keys that the file or the environment set, whatever their values. `check_keys` checks the
    table `[keys]` against the actions of the interface.
    """

    path: Path
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    settings: Settings = field(default_factory=Settings)
    given: frozenset[str] = frozenset()
    check_keys: CheckKeys = any_keys

    def load(self) -> Settings:
        """Reads the file, if there is one. If it raises `SettingsError`, the settings in effect do not
        change."""
        settings = self._with_environment(self._read())
        self.check_keys(settings.keys, None)
        self.settings = settings
        return self.settings

    def get(self, key: str) -> Any:
        """Returns the value in effect of `section.name`."""
        section, name = self._split(key)
        if section == KEYS:
            return self.settings.keys.get(name)
        return getattr(getattr(self.settings, section), name)

    @property
    def given_by_environment(self) -> frozenset[str]:
        """The keys that the environment sets: their values in the file are not in effect."""
        found = from_environment(self.environ)
        return frozenset(f"{section}.{name}" for section, values in found.items() for name in values)

    def set(self, key: str, value: Any) -> Settings:
        """Checks one value and writes it, keeping every comment; `value` None restores the default.

        The keys of other actions are not checked: several bad keys can be fixed one by one.
        """
        import tomlkit

        section, name = self._split(key)
        before = self._read()
        document = tomlkit.parse(self._text())
        if not isinstance(before.get(section, {}), dict):
            # Raises the fault: it is not a table.
            self._with_environment(before)
        table = document.setdefault(section, tomlkit.table())
        if value is None:
            table.pop(name, None)
        else:
            table[name] = value
        try:
            checked = self._with_environment(tomllib.loads(document.as_string()))
        except SettingsError as error:
            if error.where == key or not self._is_refused(before):
                raise
            # Several bad settings can be fixed one by one.
            self._write(document.as_string())
            return self.settings
        if section == KEYS:
            self.check_keys(checked.keys, name)
        self._write(document.as_string())
        self.settings = checked
        return checked

    def put_engine(self, name: str, engine: EngineSettings | None) -> Settings:
        """Writes the table of an engine, or removes it, keeping every comment. Raises `SettingsError`."""
        import tomlkit

        self._with_environment(self._read())
        document = tomlkit.parse(self._text())
        tables = document.setdefault("engines", tomlkit.table(is_super_table=True))
        values = {} if engine is None else msgspec.to_builtins(engine)
        table = tables.setdefault(name, tomlkit.table())
        for gone in [key for key in table if key not in values]:
            del table[gone]
        table.update(values)
        if engine is None:
            del tables[name]
        if not tables:
            del document["engines"]
        checked = self._with_environment(tomllib.loads(document.as_string()))
        self._write(document.as_string())
        self.settings = checked
        return checked

    def _read(self) -> dict[str, Any]:
        try:
            text = self._text()
            if _DEEP_KEY.search(text):
                # The parser takes seconds for such a key.
                raise RecursionError
            return tomllib.loads(text)
        except ValueError as error:
            # Not TOML, not UTF-8, or a number with more digits than Python reads.
            raise SettingsError(self.path.name, _("invalid TOML: {fault}", fault=error)) from None
        except RecursionError:
            raise SettingsError(self.path.name, _("its tables and lists are nested too deeply")) from None

    def _text(self) -> str:
        """Returns the file's text; empty if there is none. Does not block on a folder, a pipe or a device."""
        try:
            descriptor = os.open(self.path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        except FileNotFoundError:
            return ""
        except (IsADirectoryError, PermissionError):
            if not self.path.is_dir():
                raise
            raise SettingsError(self.path.name, _("this is not a regular file")) from None
        try:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                raise SettingsError(self.path.name, _("this is not a regular file"))
            if found.st_size > _LARGEST:
                raise SettingsError(
                    self.path.name, _("the file is too large ({bytes} bytes)", bytes=found.st_size)
                )
            return os.read(descriptor, _LARGEST).decode("utf-8")
        finally:
            os.close(descriptor)

    def _is_refused(self, data: dict[str, Any]) -> bool:
        try:
            self._with_environment(data)
        except SettingsError:
            return True
        return False

    def _with_environment(self, data: dict[str, Any]) -> Settings:
        parse(data)
        merged = dict(data)
        for section, values in from_environment(self.environ).items():
            merged[section] = {**merged.get(section, {}), **values}
        try:
            settings = parse(merged)
        except SettingsError as error:
            # The file alone is valid.
            info = _info_of(error.where)
            raise SettingsError(error.where, error.reason, "" if info is None else info.env) from None
        self.given = frozenset(
            f"{section}.{name}" for section in SECTIONS for name in merged.get(section, {})
        )
        return settings

    def _split(self, key: str) -> tuple[str, str]:
        section, _unused, name = key.partition(".")
        if section == KEYS and name:
            return section, name
        if section not in SECTIONS or name not in SECTIONS[section].__struct_fields__:
            raise UnknownSetting(key, _("there is no such setting"))
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
