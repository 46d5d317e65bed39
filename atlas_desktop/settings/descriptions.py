"""What there is to be set: every setting with its type, bounds, default, words and variable."""

import types
import typing
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal

import msgspec
from msgspec import Meta

from atlas_desktop.settings.schema import (
    BackupSettings,
    ChatSettings,
    ContextSettings,
    JobSettings,
    MemorySettings,
    ModelSettings,
    PrivacySettings,
    RetentionSettings,
    SessionSettings,
    UiSettings,
)
from atlas_desktop.words.catalogue import tr

ENV_PREFIX = "ATLAS_"


class Effect(StrEnum):
    """From when on a change is followed."""

    AT_ONCE = "at_once"
    MODEL = "model"
    START = "start"


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
    most: int = 0

    @property
    def name(self) -> str:
        return tr(f"setting.{self.key}.name")

    @property
    def description(self) -> str:
        """What it does, in a sentence or two."""
        return tr(f"setting.{self.key}.about")

    @property
    def env(self) -> str:
        return ENV_PREFIX + self.key.replace(".", "_").upper()

    @property
    def wanted(self) -> str:
        """What a value has to be, in words."""
        if not self.bounds:
            return tr(f"setting.wanted.{self.type}")
        return tr(f"setting.wanted.{self.type}.within", bounds=self.bounds)

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
    "ui": UiSettings,
}


def describe() -> Iterator[SettingInfo]:
    """Every single setting (the per-model tables have the same fields as `chat`)."""
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
        return tr("setting.bounds.from", least=meta.ge, most=meta.le)
    if meta.gt is not None:
        return tr("setting.bounds.above", least=meta.gt, most=meta.le)
    return tr("setting.bounds.length", most=meta.max_length) if meta.max_length else ""
