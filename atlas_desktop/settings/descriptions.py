"""Describes every setting: its type, bounds, default, texts and environment variable."""

import types
import typing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal

import msgspec
from msgspec import Meta

from atlas_desktop.locale import N_, _
from atlas_desktop.settings.schema import (
    BackupSettings,
    ChatSettings,
    ContextSettings,
    DoorSettings,
    JobSettings,
    MemorySettings,
    ModelSettings,
    PrivacySettings,
    RetentionSettings,
    SessionSettings,
    UiSettings,
)

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
    "jobs": Effect.START,
}


@dataclass(frozen=True, slots=True)
class SettingInfo:
    """One setting as docs and forms show it; `most` is the maximum length of a text, 0 for no bound."""

    key: str
    type: str
    default: Any
    limits: tuple[str, Mapping[str, Any]]
    """The text of its bounds in English, and the values in it."""
    name: str
    description: str
    """What it does, in a sentence or two."""
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
        """Describes what a value has to be."""
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
